#include "understudy/actors/internal/asks/call_watch.h"

#include <string>
#include <utility>

#include "absl/synchronization/mutex.h"

namespace understudy::internal {
namespace {

const Pid*& CurrentSend() {
  static thread_local const Pid* to = nullptr;
  return to;
}

}  // namespace

CallWatch::SendScope::SendScope(Pid to) : to_(to), outer_(CurrentSend()) { CurrentSend() = &to_; }
CallWatch::SendScope::~SendScope() { CurrentSend() = outer_; }
const Pid* CallWatch::SendScope::Current() { return CurrentSend(); }

void CallWatch::Asked(Pid asker, uint64_t ask, Pid callee, std::string mailbox) {
  absl::MutexLock lock(&mu_);
  graph_.Asked(ask, {.waiter = asker, .holder = callee, .asked = std::move(mailbox), .since = clock_.Now()});
}

void CallWatch::Awaits(Pid asker, uint64_t ask, std::string handler) {
  CallCycle closed;
  {
    absl::MutexLock lock(&mu_);
    closed = graph_.Awaits(asker, ask, std::move(handler));
  }
  Report(closed);
}

void CallWatch::Moved(Pid asker, uint64_t ask, Pid holder) {
  CallCycle closed;
  {
    absl::MutexLock lock(&mu_);
    closed = graph_.Moved(asker, ask, holder);
  }
  Report(closed);
}

void CallWatch::IsInHand(Pid asker, uint64_t ask) {
  absl::MutexLock lock(&mu_);
  graph_.IsInHand(asker, ask);
}

void CallWatch::WaitsAgain(Pid asker, uint64_t ask) {
  CallCycle closed;
  {
    absl::MutexLock lock(&mu_);
    closed = graph_.WaitsAgain(asker, ask);
  }
  Report(closed);
}

void CallWatch::Forget(Pid asker, uint64_t ask) {
  absl::MutexLock lock(&mu_);
  graph_.Forget(asker, ask);
}

void CallWatch::ForgetAll(Pid asker) {
  absl::MutexLock lock(&mu_);
  graph_.ForgetAll(asker);
}

void CallWatch::Subscribe(absl::AnyInvocable<void(const CallCycle&)> listener) {
  absl::MutexLock lock(&listeners_mu_);
  listeners_.push_back(std::move(listener));
}

void CallWatch::Report(const CallCycle& cycle) {
  if (cycle.waits.empty()) return;
  cycles_.fetch_add(1, std::memory_order_relaxed);
  log_.Write(LogSeverity::kWarning, cycle.ToString(clock_.Now()));
  absl::MutexLock lock(&listeners_mu_);
  for (auto& listener : listeners_) listener(cycle);
}

}  // namespace understudy::internal
