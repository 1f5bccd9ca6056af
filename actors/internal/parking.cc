#include "understudy/actors/internal/parking.h"

#include <algorithm>

#include "absl/functional/function_ref.h"
#include "absl/synchronization/mutex.h"

namespace understudy::internal {

bool Parking::StartSearch(int workers) {
  // Half of them at most: more would only meet at the same queues.
  if (Searching(state_.load(std::memory_order_relaxed)) * 2 >= static_cast<uint64_t>(workers)) return false;
  state_.fetch_add(kOneSearching, std::memory_order_seq_cst);
  return true;
}

void Parking::FoundWork(absl::FunctionRef<bool()> has_more) {
  const uint64_t before = state_.fetch_sub(kOneSearching, std::memory_order_seq_cst);
  if (Searching(before) != 1 || Parked(before) == 0) return;
  StdAtomics::HeavyBarrier();  // pairs with Announce's light one
  if (has_more()) WakeOne();
}

void Parking::WakeOne() {
  absl::MutexLock lock(&mu_);
  // Somebody looks by now: it began after the work was queued, or will look again.
  if (spots_.empty() || Searching(state_.load(std::memory_order_seq_cst)) != 0) return;
  Spot& spot = *spots_.back();
  Unpark(spot);
  spot.woken_.Signal();
}

void Parking::Unpark(Spot& spot) {
  spots_.erase(std::find(spots_.begin(), spots_.end(), &spot));
  spot.is_parked_.store(false, std::memory_order_relaxed);
  state_.fetch_add(kOneSearching - kOneParked, std::memory_order_seq_cst);
}

void Parking::Park(Spot& spot, bool was_searching, absl::FunctionRef<bool()> has_work) {
  {
    absl::MutexLock lock(&mu_);
    if (is_stopping_) {
      if (!was_searching) state_.fetch_add(kOneSearching, std::memory_order_seq_cst);
      return;
    }
    spots_.push_back(&spot);
    spot.is_parked_.store(true, std::memory_order_relaxed);
    state_.fetch_add(kOneParked - (was_searching ? kOneSearching : 0), std::memory_order_seq_cst);
  }
  StdAtomics::HeavyBarrier();  // pairs with Announce's light one
  const bool stays = !has_work();
  absl::MutexLock lock(&mu_);
  if (!stays && spot.is_parked()) Unpark(spot);
  while (spot.is_parked()) spot.woken_.Wait(&mu_);
}

void Parking::Stop() {
  absl::MutexLock lock(&mu_);
  is_stopping_ = true;
  while (!spots_.empty()) {
    Spot& spot = *spots_.back();
    Unpark(spot);
    spot.woken_.Signal();
  }
}

}  // namespace understudy::internal
