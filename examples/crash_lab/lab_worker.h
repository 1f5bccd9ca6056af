// LabWorker: the actor that the lab breaks.
#ifndef UNDERSTUDY_EXAMPLES_CRASH_LAB_LAB_WORKER_H_
#define UNDERSTUDY_EXAMPLES_CRASH_LAB_LAB_WORKER_H_

#include <string>
#include <utility>

#include "understudy/actors/actor.h"
#include "understudy/examples/crash_lab/crash_lab.actor.h"
#include "understudy/examples/crash_lab/crash_lab.pb.h"

namespace crash_lab {

class LabWorker final : public LabWorkerActor {
 public:
  explicit LabWorker(std::string motto) : motto_(std::move(motto)) {}
  understudy::StartResult Start() override { return working_; }

 private:
  Pong Answer(const PingRequest&) { return Pong(); }
  void Break(const Breakage& how);

  const std::string motto_;
  understudy::Behavior working_{"working", On(ping, &LabWorker::Answer), On(break_down, &LabWorker::Break)};
};

// Lets all handlers that hang return. Call this before the actor system is destroyed, which waits for them.
void EndHanging();

}  // namespace crash_lab

#endif  // UNDERSTUDY_EXAMPLES_CRASH_LAB_LAB_WORKER_H_
