// CallWatch: looks for call cycles (call_cycle.h) among the calls of one system. Each cycle is logged, counted and
// passed to the listeners when it closes; the calls themselves are not changed.
//
// Any thread. Only debug builds and simulations have a CallWatch. Without one an ask costs a comparison of a pointer
// with null.
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

  // Each function from Asked to ForgetAll does under a lock what the function of WaitGraph with its name does, and
  // reports the cycle that closes, if any. A call is identified by its asker and by `ask`, the asker's id for it.

  // Call before the call is sent, because its answer may come before the send returns.
  void Asked(Pid asker, uint64_t ask, Pid callee, std::string mailbox);
  void Awaits(Pid asker, uint64_t ask, std::string handler);
  void Moved(Pid asker, uint64_t ask, Pid holder);
  void IsInHand(Pid asker, uint64_t ask);
  void WaitsAgain(Pid asker, uint64_t ask);
  // Call when the call was answered, or its ask has ended without an answer.
  void Forget(Pid asker, uint64_t ask);
  void ForgetAll(Pid asker);

  int64_t cycles() const { return cycles_.load(std::memory_order_relaxed); }
  // Listeners are called one at a time, on the thread that closed the cycle.
  void Subscribe(absl::AnyInvocable<void(const CallCycle&)> listener);

  // While the object lives, this thread sends a message to `to`: a Replier that is moved meanwhile goes to that actor.
  class SendScope {
   public:
    explicit SendScope(Pid to);
    ~SendScope();
    SendScope(const SendScope&) = delete;
    SendScope& operator=(const SendScope&) = delete;
    // The receiver given to the innermost SendScope of this thread; null if the thread has none.
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
