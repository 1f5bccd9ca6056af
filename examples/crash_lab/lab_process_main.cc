// lab_process: the process child of the lab. It has one worker. The worker's first crash
// ends the process, because its supervisor allows no restart.
#include <iostream>
#include <memory>
#include <string>

#include "absl/status/statusor.h"
#include "absl/strings/str_cat.h"
#include "absl/time/time.h"
#include "understudy/actors/actor_system.h"
#include "understudy/actors/log_sink.h"
#include "understudy/examples/crash_lab/lab_worker.h"
#include "understudy/supervision/builders.h"
#include "understudy/transport/node.h"

int main() {
  const std::string name = understudy::Node::GivenName("nobody");
  understudy::ActorSystem system({.name = name, .log = &understudy::LogSink::Null()});
  absl::StatusOr<std::unique_ptr<understudy::Node>> node = understudy::Node::FromParent(system);
  if (!node.ok()) {
    std::cerr << "lab_process: " << node.status() << "\n";
    return 2;
  }
  const auto worker = understudy::Of<crash_lab::LabWorker>(std::string("told to"));
  return (*node)->RunTree(
      understudy::OneForOne()
          .Intensity(0, absl::Seconds(1))
          .Child("worker", understudy::ChildBuilder(worker).PublishedAs(absl::StrCat("lab/", name))));
}
