// CallbackAsk: the outlet of an ask with a callback, which runs in a turn of its own.
//
// Invariants:
// 1. Whoever claims the turn sets its outcome and schedules it; there is one claim. So the callback runs once.
// 2. The actor that waits for the answer is live until it has given an outcome, and from then on the turn counts as a
//    live actor until the callback has returned. So a system is destroyed after that.
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

  // The outcome is Cancelled, unless there is one: then false. Ends `waiter`, which may be null.
  bool Cancel(Pid waiter);

  // Runnable.
  void Run() override;
  std::string Describe() override;

 protected:
  CallbackTurn(SystemCore& system, Pid callee) : system_(system), callee_(callee) {}
  virtual ~CallbackTurn() = default;

  // True for the first who calls it, who then sets the outcome and calls Begin. relaxed: the others read nothing, and
  // the outcome goes to Run by Schedule.
  bool TryClaim() { return !is_claimed_.exchange(true, std::memory_order_relaxed); }
  void Begin();

 private:
  virtual void SetOutcome(absl::Status error) = 0;
  // Once, in user code. An exception ends the process.
  virtual void Call() noexcept = 0;

  SystemCore& system_;
  const Pid callee_;
  std::atomic<bool> is_claimed_{false};
  std::shared_ptr<CallbackTurn> self_;  // from Begin to the end of Run
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
    // What both hold is destroyed here, in user code.
    absl::optional<absl::StatusOr<R>> outcome = std::move(outcome_);
    outcome_.reset();
    Callback callback = std::move(callback_);
    std::move(callback)(*std::move(outcome));
  }

  absl::optional<absl::StatusOr<R>> outcome_;  // the claimant's, then the turn's
  Callback callback_;                          // the turn's
};

}  // namespace understudy::internal

#endif  // UNDERSTUDY_ACTORS_INTERNAL_ASKS_CALLBACK_ASK_H_
