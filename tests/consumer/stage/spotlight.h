// Spotlight: follows whoever is on the stage. It breaks when it is to follow nobody.
#ifndef STAGE_SPOTLIGHT_H_
#define STAGE_SPOTLIGHT_H_

#include <string>

#include "absl/status/status.h"
#include "absl/status/statusor.h"
#include "actors/actor.h"  // the workspace's own
#include "understudy/actors/actor.h"

namespace stage {

class Spotlight final : public understudy::Actor {
 public:
  // The answer is how many it has followed since it was switched on.
  understudy::Mailbox<"follow", understudy::Call<StageActor, int>> follow{this};

 private:
  understudy::StartResult Start() override { return shining_; }

  absl::StatusOr<int> Follow(const StageActor& actor) {
    if (actor.name.empty()) return Fail(absl::InvalidArgumentError("there is nobody to follow"));
    return ++followed_;
  }

  int followed_ = 0;
  understudy::Behavior shining_{"shining", On(follow, &Spotlight::Follow)};
};

}  // namespace stage

#endif  // STAGE_SPOTLIGHT_H_
