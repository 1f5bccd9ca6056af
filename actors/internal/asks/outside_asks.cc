#include "understudy/actors/internal/asks/outside_asks.h"

#include <utility>

#include "absl/synchronization/mutex.h"
#include "understudy/actors/internal/scheduling/worker.h"
#include "understudy/actors/internal/system/system_core.h"
#include "understudy/actors/internal/turn/activation.h"
#include "understudy/actors/internal/turn/actor_asks.h"
#include "understudy/actors/internal/turn/actor_core.h"
#include "understudy/actors/internal/turn/current_turn.h"
#include "understudy/actors/pending.h"

namespace understudy::internal {

OutsideAsks::OutsideAsks(ActorCore& core) : system_(&core.system()) {}

PendingId OutsideAsks::Begin(MonotonicTime deadline) {
  const KernelCode kernel;
  if (kernel.is_refused()) return CancelledAsk();
  return NewOutsideAsk(ActorCore::OfThisTurn(), deadline);
}

MonotonicTime OutsideAsks::DeadlineOfCall() {
  const Activation* const current = ActorCore::OfThisTurn().current();
  return current == nullptr ? MonotonicTime::InfiniteFuture() : current->deadline();
}

void OutsideAsks::Post(const PendingId& ask, Payload answer) {
  const KernelCode kernel;
  absl::MutexLock lock(&mu_);
  if (system_ == nullptr) return;
  system_->Post(
      {.kind = SignalKind::kReply, .from = ask.asker, .to = ask.asker, .id = ask.id, .payload = std::move(answer)});
}

void OutsideAsks::Close() {
  absl::MutexLock lock(&mu_);
  system_ = nullptr;
}

}  // namespace understudy::internal
