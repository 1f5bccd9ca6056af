#include "understudy/actors/internal/system/late_ends.h"

#include <atomic>
#include <cstdint>
#include <memory>
#include <utility>

#include "absl/time/time.h"
#include "understudy/actors/executor.h"
#include "understudy/actors/exit_reason.h"
#include "understudy/actors/internal/send/actor_cell.h"
#include "understudy/actors/internal/send/envelope.h"
#include "understudy/actors/internal/system/system_core.h"
#include "understudy/actors/limits.h"
#include "understudy/actors/pid.h"
#include "understudy/actors/router.h"

namespace understudy::internal {
namespace {

// Fences that life if, after `delay`, its handler or a destructor at its end has not returned. Tries again at intervals
// until the life has ended, because a fence is possible only while the actor is in user code. `has_started` is not null
// if the start is overdue, and null if the actor was killed.
void FenceAfter(Executor& executor, absl::Duration delay, ActorCell* cell, uint64_t life, HasStarted has_started) {
  if (!cell->IsAlive(life)) return;
  const MonotonicTime time = executor.clock().Now() + delay;
  (void)executor.RunAt(time, [&executor, cell, life, has_started = std::move(has_started)]() mutable {
    const bool is_killed = has_started == nullptr;
    // relaxed: a stale false is corrected by is_meant, which runs under a seizure of the worker.
    if (!cell->IsAlive(life) || (!is_killed && has_started->load(std::memory_order_relaxed))) return;
    // Meanwhile the life may have ended, so that the cell's next life runs; or it may have started in time.
    const auto is_meant = [&] { return cell->IsAlive(life) && (is_killed || cell->owner()->IsStarting()); };
    (void)executor.WhileInUserCode(cell->owner(), is_meant, [&] {
      cell->owner()->Fence(is_killed ? ExitReason::KilledHandlerRunning() : ExitReason::StartTimeoutHandlerRunning());
    });
    FenceAfter(executor, limits::kFenceRetry, cell, life, std::move(has_started));
  });
}

}  // namespace

// If several systems share an executor, the timers below may run after the life has ended and the system was destroyed.
// The cell's memory still exists then, and refuses the post, because the life has ended; the system is used only after
// the post was accepted.
uint64_t KillAfter(SystemCore& system, absl::Duration delay, ActorCell& cell, uint64_t life) {
  Executor& executor = system.executor();
  const Pid actor = Pid::OfLife(life, cell.index());
  return executor.RunAt(executor.clock().Now() + delay, [&system, &executor, &cell, life, actor] {
    PostOrDrop(cell, system, life, MakeEnvelope(EnvelopeKind::kSignal, Signal{.kind = SignalKind::kKill, .to = actor}));
    FenceAfter(executor, limits::kFenceAfterKill, &cell, life, /*has_started=*/nullptr);
  });
}

uint64_t EndStartAfter(SystemCore& system, absl::Duration delay, ActorCell& cell, uint64_t life) {
  Executor& executor = system.executor();
  return executor.RunAt(executor.clock().Now() + delay, [&system, &executor, &cell, life] {
    auto has_started = std::make_shared<std::atomic<bool>>(false);
    PostOrDrop(cell, system, life, MakeEnvelope(EnvelopeKind::kOverdue, has_started));
    FenceAfter(executor, limits::kFenceAfterKill, &cell, life, std::move(has_started));
  });
}

void FenceAfterKill(SystemCore& system, ActorCell& cell, uint64_t life) {
  FenceAfter(system.executor(), limits::kFenceAfterKill, &cell, life, /*has_started=*/nullptr);
}

}  // namespace understudy::internal
