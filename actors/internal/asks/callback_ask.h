// CallbackAsk: the Outlet of an ask with a callback. The callback runs in a turn of its own.
//
// Invariants:
// 1. The thread whose TryClaim returns true sets the outcome and schedules the turn. TryClaim returns true once, so the
//    callback runs once.
// 2. The actor that waits for the answer is live until it has given an outcome, and from then on the turn counts as a
//    live actor until the callback has returned. So the system is not destroyed before the callback has returned.
// Any thread, unless a method says otherwise.
#ifndef UNDERSTUDY_ACTORS_INTERNAL_ASKS_CALLBACK_ASK_H_
#define UNDERSTUDY_ACTORS_INTERNAL_ASKS_CALLBACK_ASK_H_

#include <atomic>
#include <memory>
#include <string>
#include <utility>

#include "absl/functional/any_invocable.h"
#include "absl/status/status.h"
#include "absl/status/statusor.h"
#include "absl/types/optional.h"
#include "understudy/actors/executor.h"
#include "understudy/actors/internal/asks/thread_waiter.h"
#include "understudy/actors/pid.h"

namespace understudy::internal {

class SystemCore;

class CallbackTurn : public Runnable, public std::enable_shared_from_this<CallbackTurn> {
 public:
  CallbackTurn(const CallbackTurn&) = delete;
  CallbackTurn& operator=(const CallbackTurn&) = delete;

  // Sets the outcome Cancelled, schedules the callback, and ends `waiter`, the actor that waits for the answer, if it
  // is not null. Returns false, and does nothing, if there is an outcome already.
  bool Cancel(Pid waiter);

  // Runnable.
  void Run() override;
  std::string Describe() override;

 protected:
  CallbackTurn(SystemCore& system, Pid callee) : system_(system), callee_(callee) {}
  virtual ~CallbackTurn() = default;

  // Returns true on the first call: the caller then sets the outcome and calls Begin. relaxed: callers that get false
  // read nothing that the first caller wrote, and Schedule publishes the outcome to Run.
  bool TryClaim() { return !is_claimed_.exchange(true, std::memory_order_relaxed); }
  // Schedules Run.
  void Begin();

 private:
  virtual void SetOutcome(absl::Status error) = 0;
  // Calls the callback. Called once, in user code. An exception of the callback ends the process.
  virtual void Call() noexcept = 0;

  SystemCore& system_;
  const Pid callee_;
  std::atomic<bool> is_claimed_{false};
  std::shared_ptr<CallbackTurn> self_;  // keeps this object from Begin to the end of Run
};

template <class R>
class CallbackAsk final : public CallbackTurn, public Outlet<absl::StatusOr<R>> {
 public:
  using Callback = absl::AnyInvocable<void(absl::StatusOr<R>) &&>;

  CallbackAsk(SystemCore& system, Pid callee, Callback callback)
      : CallbackTurn(system, callee), callback_(std::move(callback)) {}

  void Give(absl::StatusOr<R> outcome) override {
    if (!TryClaim()) return;
    outcome_.emplace(std::move(outcome));
    Begin();
  }

 private:
  void SetOutcome(absl::Status error) override { outcome_.emplace(std::move(error)); }
  void Call() noexcept override {
    // Moved into local variables, so that the outcome and the callback are destroyed here, in user code.
    absl::optional<absl::StatusOr<R>> outcome = std::move(outcome_);
    outcome_.reset();
    Callback callback = std::move(callback_);
    std::move(callback)(*std::move(outcome));
  }

  absl::optional<absl::StatusOr<R>> outcome_;  // written by the thread that claimed the turn, then used by the turn
  Callback callback_;                          // used by the turn only
};

}  // namespace understudy::internal

#endif  // UNDERSTUDY_ACTORS_INTERNAL_ASKS_CALLBACK_ASK_H_
