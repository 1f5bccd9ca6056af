// The factories that lab_tree.textproto names.
#include <memory>
#include <string>

#include "understudy/examples/crash_lab/crash_lab.pb.h"
#include "understudy/examples/crash_lab/lab_worker.h"
#include "understudy/supervision/actor_factories.h"
#include "understudy/transport/tree_factories.h"

namespace understudy {

ActorFactories TreeFactories() {
  ActorFactories factories;
  factories.Add<crash_lab::WorkerSetup>("worker", [](const crash_lab::WorkerSetup& setup) {
    return std::make_unique<crash_lab::LabWorker>(setup.motto().empty() ? "told to" : setup.motto());
  });
  return factories;
}

}  // namespace understudy
