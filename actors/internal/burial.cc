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

thread_local Burial* collecting = nullptr;
thread_local const Burial* running = nullptr;

}  // namespace

Burial::Burial(SystemCore& system, Pid whose, ExitReason reason)
    : system_(system), whose_(whose), reason_(std::move(reason)) {}

Burial::Scope::Scope(Burial& burial) : outer_(std::exchange(collecting, &burial)) {}
Burial::Scope::~Scope() { collecting = outer_; }

void Burial::Begin(std::unique_ptr<Burial> burial) {
  if (burial->letters_.empty() && burial->envelopes_.empty()) return;
  SystemCore& system = burial->system_;
  // It keeps the system, as an actor does.
  system.live_actors.fetch_add(1, std::memory_order_relaxed);
  system.executor().Schedule(burial.release());
}

void Burial::LetGo(Envelope* envelope) {
  if (collecting != nullptr) {
    collecting->envelopes_.push_back(envelope);
  } else {
    Envelope::Delete(envelope);
  }
}

bool Burial::Takes(const SystemCore& system, const DeadLetter& letter) {
  if (collecting == nullptr || &collecting->system_ != &system) return false;
  collecting->letters_.push_back(letter);
  return true;
}

const Burial* Burial::Running() { return running; }

void Burial::Run() {
  SystemCore& core = system_;
  {
    UserCode user(*ThisWorker());
    // Within a handler that the seeded executor holds there may be another.
    const Burial* const outer = std::exchange(running, this);
    for (const DeadLetter& letter : letters_) core.dead_letters().Publish(letter);
    for (Envelope* envelope : envelopes_) Envelope::Delete(envelope);
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
