#include "understudy/actors/internal/scheduling/polling.h"

#include <algorithm>

#include "absl/synchronization/mutex.h"
#include "understudy/actors/check.h"
#include "understudy/actors/event_source.h"

namespace understudy {

void InstallEventSource(EventSource& source) { internal::Polling::Process().Install(source); }

namespace internal {

Polling& Polling::Process() {
  static auto* const polling = new Polling;
  return *polling;
}

void Polling::Install(EventSource& source) {
  absl::MutexLock lock(&mu_);
  UNDERSTUDY_CHECK(this->source() == nullptr, "an event source is installed already; a process has one");
  source_.store(&source, std::memory_order_release);
  if (!pools_.empty()) pools_.front()->OfferTurn();
  StartThreadIfAlone();
}

void Polling::Join(Pool& pool) {
  absl::MutexLock lock(&mu_);
  pools_.push_back(&pool);
  // The source's own thread gives the turn back when it sees is_alone_ false, and offers it to a pool. seq_cst: pairs
  // with the load in ServeAlone.
  if (is_alone_.exchange(false, std::memory_order_seq_cst) && has_thread_) source()->Wake();
}

void Polling::Leave(Pool& pool) {
  absl::MutexLock lock(&mu_);
  pools_.erase(std::find(pools_.begin(), pools_.end(), &pool));
  if (!pools_.empty()) {
    if (is_wanted()) pools_.front()->OfferTurn();
    return;
  }
  is_alone_.store(true, std::memory_order_seq_cst);
  if (has_thread_) alone_changed_.Signal();
  StartThreadIfAlone();
}

void Polling::StartThreadIfAlone() {
  if (source() == nullptr || !pools_.empty() || has_thread_) return;
  has_thread_ = true;
  source()->StartThread([this] { ServeAlone(); });
}

void Polling::ServeAlone() {
  for (;;) {
    {
      absl::MutexLock lock(&mu_);
      while (!pools_.empty()) alone_changed_.Wait(&mu_);
    }
    // Only pools and this thread take the turn. TryTake fails if a pool that has just joined was quicker.
    if (!TryTake()) continue;
    // seq_cst: pairs with the exchange in Join, which then wakes the source. Either this load sees the exchange, or the
    // Poll that follows returns because of the Wake.
    while (is_alone_.load(std::memory_order_seq_cst)) (void)source()->Poll(EventSource::Wait::kUntil);
    GiveBack();
    absl::MutexLock lock(&mu_);
    if (!pools_.empty()) pools_.front()->OfferTurn();
  }
}

}  // namespace internal
}  // namespace understudy
