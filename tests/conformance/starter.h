// Starter: an actor whose start ends in the way that its argument says.
//
//   parent.context().Spawn<Starter>("wait", oracle, &lives);
#ifndef UNDERSTUDY_TESTS_CONFORMANCE_STARTER_H_
#define UNDERSTUDY_TESTS_CONFORMANCE_STARTER_H_

#include <atomic>
#include <string>
#include <utility>

#include "absl/status/status.h"
#include "absl/time/time.h"
#include "understudy/actors/actor.h"

namespace understudy {

// `how` is "run", "fail" or "wait"; "wait" awaits an answer of `oracle` in its start. The constructor adds one to
// `lives`.
class Starter final : public Actor {
 public:
  Mailbox<"unused", int> unused{this};
  Starter(std::string how, Channel<Call<int, int>> oracle, std::atomic<int>* lives)
      : how_(std::move(how)), oracle_(oracle) {
    ++*lives;
  }
  StartResult Start() override {
    if (how_ == "fail") return absl::DataLossError("disk");
    if (how_ == "wait") return Await();
    return running_;
  }

 private:
  Task<StartResult> Await() {
    const auto asked = oracle_.Ask(1, absl::Hours(1));
    (void)co_await asked;
    co_return running_;
  }
  std::string how_;
  Channel<Call<int, int>> oracle_;
  Behavior running_{"running", On(unused, [] {})};
};

}  // namespace understudy

#endif  // UNDERSTUDY_TESTS_CONFORMANCE_STARTER_H_
