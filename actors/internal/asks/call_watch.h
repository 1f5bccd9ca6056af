// CallWatch: watches the calls of one system for circles, and reports them: a
// log line, a count, and the listeners. It changes nothing.
//
// Any thread. Present in debug builds and simulations only; where it is not,
// an ask costs a look at a null pointer.
#ifndef UNDERSTUDY_ACTORS_INTERNAL_ASKS_CALL_WATCH_H_
#define UNDERSTUDY_ACTORS_INTERNAL_ASKS_CALL_WATCH_H_

#include <atomic>
#include <cstdint>
#include <string>
#include <vector>

#include "absl/base/thread_annotations.h"
#include "absl/functional/any_invocable.h"
#include "absl/synchronization/mutex.h"
#include "understudy/actors/call_cycle.h"
#include "understudy/actors/clock.h"
#include "understudy/actors/internal/asks/wait_graph.h"
#include "understudy/actors/log_sink.h"
#include "understudy/actors/pid.h"

namespace understudy::internal {

class CallWatch {
 public:
  CallWatch(Clock& clock, LogSink& log) : clock_(clock), log_(log) {}
  CallWatch(const CallWatch&) = delete;
  CallWatch& operator=(const CallWatch&) = delete;

  // Before it is sent: the answer may be quick.
  void Asked(Pid asker, uint64_t ask, Pid callee, std::string mailbox);
  void Awaits(Pid asker, uint64_t ask, std::string handler);
  void Moved(Pid asker, uint64_t ask, Pid holder);
  // A handler has it that its actor is not held by.
  void IsInHand(Pid asker, uint64_t ask);
  // That handler has passed it on to a mailbox of its own actor.
  void WaitsAgain(Pid asker, uint64_t ask);
  // Answered or over.
  void Forget(Pid asker, uint64_t ask);
  void ForgetAll(Pid asker);

  int64_t cycles() const { return cycles_.load(std::memory_order_relaxed); }
  void Subscribe(absl::AnyInvocable<void(const CallCycle&)> listener);

  // While it lives, a Replier that is moved on this thread goes to `to`.
  class SendScope {
   public:
    explicit SendScope(Pid to);
    ~SendScope();
    SendScope(const SendScope&) = delete;
    SendScope& operator=(const SendScope&) = delete;
    // Null when none lives on this thread.
    static const Pid* Current();

   private:
    const Pid to_;
    const Pid* const outer_;
  };

 private:
  void Report(const CallCycle& cycle);

  Clock& clock_;
  LogSink& log_;
  std::atomic<int64_t> cycles_{0};
  absl::Mutex mu_;
  WaitGraph graph_ ABSL_GUARDED_BY(mu_);
  absl::Mutex listeners_mu_;
  std::vector<absl::AnyInvocable<void(const CallCycle&)>> listeners_ ABSL_GUARDED_BY(listeners_mu_);
};

}  // namespace understudy::internal

#endif  // UNDERSTUDY_ACTORS_INTERNAL_ASKS_CALL_WATCH_H_
