// The factories of the trees in this folder.
#include "understudy/transport/tree_factories.h"

#include <memory>

#include "google/protobuf/wrappers.pb.h"
#include "understudy/actors/actor.h"
#include "understudy/supervision/actor_factories.h"

namespace understudy {
namespace {

class Extra final : public Actor {
 public:
  StartResult Start() override { return StartResult::Ignore(); }
};

}  // namespace

ActorFactories TreeFactories() {
  ActorFactories factories;
  factories.Add<Extra>("book").Add<google::protobuf::StringValue>(
      "lot", [](const google::protobuf::StringValue&) { return std::make_unique<Extra>(); });
  return factories;
}

}  // namespace understudy
