#include "understudy/actors/internal/memory/deferred_destruction.h"

#include <atomic>
#include <memory>
#include <string>
#include <utility>

#include "absl/strings/str_cat.h"
#include "understudy/actors/internal/scheduling/worker.h"
#include "understudy/actors/internal/system/system_core.h"

namespace understudy::internal {
namespace {

thread_local const DeferredDestruction* running = nullptr;

}  // namespace

DeferredDestruction::DeferredDestruction(SystemCore& system, Pid whose, ExitReason reason)
    : system_(system), whose_(whose), reason_(std::move(reason)) {}

void DeferredDestruction::Begin(std::unique_ptr<DeferredDestruction> destruction) {
  if (destruction->deferred_.empty()) return;
  SystemCore& system = destruction->system_;
  // `destruction` counts as a live actor, so the system is not destroyed before Run has decremented the count.
  system.population().live.fetch_add(1, std::memory_order_relaxed);
  system.executor().Schedule(destruction.release());
}

const DeferredDestruction* DeferredDestruction::Running() { return running; }

void DeferredDestruction::Run() {
  SystemCore& core = system_;
  {
    UserCode user(*ThisWorker());
    // `running` is restored, because Run may nest: to simulate a handler that does not return, the seeded executor runs
    // other turns inside that handler, and one of these may be another Run.
    const DeferredDestruction* const outer = std::exchange(running, this);
    deferred_.End(core);
    running = outer;
  }
  delete this;
  // The decrement allows another thread to destroy the system, so `core` is not used after it. seq_cst: pairs with
  // Executor::BlockUntil, as at the end of an actor (ActorCore).
  Executor& executor = core.executor();
  core.population().live.fetch_sub(1, std::memory_order_seq_cst);
  executor.Notify();
}

std::string DeferredDestruction::Describe() {
  return absl::StrCat("a destructor of a value that waited for ", whose_.ToString());
}

}  // namespace understudy::internal
