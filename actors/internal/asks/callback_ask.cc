#include "understudy/actors/internal/asks/callback_ask.h"

#include <atomic>
#include <memory>
#include <string>
#include <utility>

#include "absl/strings/str_cat.h"
#include "understudy/actors/ask_handle.h"
#include "understudy/actors/error.h"
#include "understudy/actors/internal/scheduling/worker.h"
#include "understudy/actors/internal/system/system_core.h"

namespace understudy {
namespace internal {

bool CallbackTurn::Cancel(Pid waiter) {
  if (!TryClaim()) return false;
  SetOutcome(MakeError(ErrorKind::kCancelled, "the asker cancelled the ask"));
  // The waiter's end cancels the call. Posted before Begin, because the system may be destroyed once the turn has run.
  if (!waiter.is_null()) {
    system_.Post({.kind = SignalKind::kExit, .to = waiter, .reason = ExitReason::Shutdown()});
  }
  Begin();
  return true;
}

void CallbackTurn::Begin() {
  self_ = shared_from_this();
  // The turn counts as a live actor, so the system is not destroyed before Run has decremented the count.
  system_.population().live.fetch_add(1, std::memory_order_relaxed);
  system_.executor().Schedule(this);
}

void CallbackTurn::Run() {
  SystemCore& system = system_;
  {
    UserCode user(*ThisWorker());
    Call();
  }
  // Destroys this object, unless an AskHandle still refers to it. In kernel code, so that the watchdog cannot call
  // Describe meanwhile; Call has destroyed all objects of users already.
  (void)std::exchange(self_, nullptr);
  // The decrement allows another thread to destroy the system, so `system` is not used after it. seq_cst: pairs with
  // Executor::BlockUntil, as at the end of an actor (ActorCore).
  Executor& executor = system.executor();
  system.population().live.fetch_sub(1, std::memory_order_seq_cst);
  executor.Notify();
}

std::string CallbackTurn::Describe() { return absl::StrCat("the callback of an ask to ", callee_.ToString()); }

}  // namespace internal

bool AskHandle::Cancel() const { return turn_ != nullptr && turn_->Cancel(waiter_); }

}  // namespace understudy
