#include "understudy/actors/internal/scheduling/parking.h"

#include <linux/futex.h>
#include <sys/syscall.h>
#include <unistd.h>

#include <algorithm>
#include <atomic>
#include <cstdint>

#include "absl/functional/function_ref.h"
#include "absl/synchronization/mutex.h"
#include "understudy/actors/event_source.h"

namespace understudy::internal {
namespace {

// The spot whose worker polls on this thread; null on all other threads.
thread_local const Parking::Spot* polling_here = nullptr;

}  // namespace

// Not StdAtomics::WaitWhile, which spins before it sleeps: the worker has searched for work that long.
void Parking::Spot::Sleep() {
  int seen = kParked;
  // acquire: pairs with End's release.
  if (!state_.compare_exchange_strong(seen, kSleeps, std::memory_order_acquire)) return;
  while (state_.load(std::memory_order_acquire) == kSleeps) {
    syscall(SYS_futex, &state_, FUTEX_WAIT_PRIVATE, kSleeps, nullptr, nullptr, 0);
  }
}

void Parking::Spot::Wake() { syscall(SYS_futex, &state_, FUTEX_WAKE_PRIVATE, 1, nullptr, nullptr, 0); }

void Parking::AddWorker() {
  workers_.fetch_add(1, std::memory_order_seq_cst);
  // If a worker's OrderAgainstAnnounce loads workers_ before the increment, that load precedes this fence, so Announce
  // on the new thread sees what that worker had written to state_.
  std::atomic_thread_fence(std::memory_order_seq_cst);
}

void Parking::OrderAgainstAnnounce(uint64_t parked) const {
  // seq_cst: the load of workers_ pairs with the increment in AddWorker, that of has_poller_ with the store in Park; a
  // full fence follows both of these writes.
  if (parked + 1 >= workers_.load(std::memory_order_seq_cst) && !has_poller_.load(std::memory_order_seq_cst)) {
    std::atomic_thread_fence(std::memory_order_seq_cst);  // pairs with AnnounceFromOutside's fence
  } else {
    StdAtomics::HeavyBarrier();  // pairs with Announce's LightBarrier
  }
}

bool Parking::StartSearch(int workers) {
  // At most half of the workers search: more would only contend for the same queues. relaxed: an estimate is enough.
  if (Searching(state_.load(std::memory_order_relaxed)) * 2 >= static_cast<uint64_t>(workers)) return false;
  state_.fetch_add(kOneSearching, std::memory_order_seq_cst);
  return true;
}

void Parking::FoundWork(absl::FunctionRef<bool()> has_more) {
  const uint64_t before = state_.fetch_sub(kOneSearching, std::memory_order_seq_cst);
  if (Searching(before) != 1 || Parked(before) == 0) return;
  OrderAgainstAnnounce(Parked(before));
  if (has_more()) WakeOne();
}

void Parking::WakeOne() {
  absl::MutexLock lock(&mu_);
  // A worker that searches began after the work was queued, or will look again (FoundWork, Park).
  if (spots_.empty() || Searching(state_.load(std::memory_order_seq_cst)) != 0) return;
  Spot* spot = spots_.back();
  // The polling worker is the last choice: waking it costs more and interrupts the polling.
  if (spot == poller_ && spots_.size() > 1) spot = spots_[spots_.size() - 2];
  // This thread is the poller, and an event that it handles has queued work. It takes that work itself when it has
  // handled its events (take_own in PollWhileParked).
  if (spot == polling_here) return;
  Wake(*spot);
}

bool Parking::WakeToPoll() {
  absl::MutexLock lock(&mu_);
  if (spots_.empty()) return false;
  if (poller_ == nullptr) Wake(*spots_.back());
  return true;
}

void Parking::Wake(Spot& spot) {
  if (Unpark(spot, Then::kSearches)) spot.Wake();
  if (&spot == poller_) polling_.source()->Wake();
}

bool Parking::Unpark(Spot& spot, Then then) {
  spots_.erase(std::find(spots_.begin(), spots_.end(), &spot));
  state_.fetch_add((then == Then::kSearches ? kOneSearching : 0) - kOneParked, std::memory_order_seq_cst);
  return spot.End();
}

bool Parking::Park(Spot& spot, bool was_searching, absl::FunctionRef<bool()> has_work,
                   absl::FunctionRef<bool()> take_own) {
  uint64_t before = 0;
  {
    absl::MutexLock lock(&mu_);
    if (is_stopping_) {
      if (!was_searching) state_.fetch_add(kOneSearching, std::memory_order_seq_cst);
      return true;
    }
    spots_.push_back(&spot);
    spot.state_.store(Spot::kParked, std::memory_order_relaxed);
    before = state_.fetch_add(kOneParked - (was_searching ? kOneSearching : 0), std::memory_order_seq_cst);
  }
  OrderAgainstAnnounce(Parked(before));
  const bool stays = !has_work();
  bool polls = false;
  if (!stays || polling_.is_wanted()) {
    absl::MutexLock lock(&mu_);
    if (!stays && spot.is_parked()) Unpark(spot, Then::kSearches);
    if (!spot.is_parked()) return true;
    polls = polling_.TryTake();
    if (polls) {
      poller_ = &spot;
      has_poller_.store(true, std::memory_order_seq_cst);
      // Pairs with OrderAgainstAnnounce on another worker's thread. If its load of has_poller_ returns false, that load
      // precedes this fence, so Announce on this thread sees what the other worker had written to state_.
      std::atomic_thread_fence(std::memory_order_seq_cst);
    }
  }
  if (!polls) {
    spot.Sleep();
    return true;
  }
  const bool took = PollWhileParked(spot, take_own);
  absl::MutexLock lock(&mu_);
  poller_ = nullptr;
  has_poller_.store(false, std::memory_order_seq_cst);
  polling_.GiveBack();
  if (!spot.is_parked()) return true;
  Unpark(spot, took ? Then::kRuns : Then::kSearches);
  return !took;
}

bool Parking::PollWhileParked(Spot& spot, absl::FunctionRef<bool()> take_own) {
  EventSource& source = *polling_.source();
  polling_here = &spot;
  bool took = false;
  do {
    (void)source.Poll(EventSource::Wait::kUntil);
    took = take_own();
    // is_parked is relaxed and may be stale, but no wake-up is lost: Unpark ends the parking before EventSource::Wake,
    // which makes Poll return.
  } while (!took && spot.is_parked());
  polling_here = nullptr;
  return took;
}

void Parking::Stop() {
  absl::MutexLock lock(&mu_);
  is_stopping_ = true;
  while (!spots_.empty()) Wake(*spots_.back());
}

}  // namespace understudy::internal
