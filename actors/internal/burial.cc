#include "understudy/actors/internal/burial.h"

#include <atomic>
#include <memory>
#include <string>
#include <utility>

#include "absl/strings/str_cat.h"
#include "understudy/actors/internal/system_core.h"
#include "understudy/actors/internal/worker.h"

namespace understudy::internal {
namespace {

thread_local const Burial* running = nullptr;

}  // namespace

Burial::Burial(SystemCore& system, Pid whose, ExitReason reason)
    : system_(system), whose_(whose), reason_(std::move(reason)) {}

void Burial::Begin(std::unique_ptr<Burial> burial) {
  if (burial->remains_.empty()) return;
  SystemCore& system = burial->system_;
  // It keeps the system, as an actor does.
  system.live_actors.fetch_add(1, std::memory_order_relaxed);
  system.executor().Schedule(burial.release());
}

const Burial* Burial::Running() { return running; }

void Burial::Run() {
  SystemCore& core = system_;
  {
    UserCode user(*ThisWorker());
    // Within a handler that the seeded executor holds there may be another.
    const Burial* const outer = std::exchange(running, this);
    remains_.End(core);
    running = outer;
  }
  delete this;
  // As when an actor ends: the system may be destroyed at once.
  Executor& executor = core.executor();
  core.live_actors.fetch_sub(1, std::memory_order_seq_cst);
  executor.Notify();
}

std::string Burial::Describe() { return absl::StrCat("a destructor of what waited for ", whose_.ToString()); }

}  // namespace understudy::internal
