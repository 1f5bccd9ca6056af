// ThreadPool: how busy workers and the watchdog poll the process's EventSource. Idle workers poll in Parking.
#include <cstdint>

#include "absl/time/time.h"
#include "understudy/actors/event_source.h"
#include "understudy/actors/thread_pool.h"

namespace understudy {
namespace {

void PollSome(EventSource& source) {
  for (int i = 0; i < ThreadPool::kEventsPerLook && source.Poll(EventSource::Wait::kNo); ++i) {
  }
}

}  // namespace

void ThreadPool::OfferTurn() { (void)parking_.WakeToPoll(); }

// Called by a worker between two turns.
void ThreadPool::PollInTurn() {
  const int64_t now = clock().Now().nanos();
  if (now - polled_at_.load(std::memory_order_relaxed) < absl::ToInt64Nanoseconds(options_.poll_every)) return;
  polled_at_.store(now, std::memory_order_relaxed);
  if (!polling_.TryTake()) return;
  PollSome(*polling_.source());
  polling_.GiveBack();
}

// Called by the watchdog. If no thread has taken the turn to poll since the last round, and none holds it, wakes an
// idle worker to poll, or polls here.
void ThreadPool::PollIfNobodyDoes() {
  const uint64_t turns = polling_.turns();
  const bool is_neglected = turns == seen_polling_turns_ && polling_.is_wanted();
  seen_polling_turns_ = turns;
  if (!is_neglected || parking_.WakeToPoll() || !polling_.TryTake()) return;
  PollSome(*polling_.source());
  polling_.GiveBack();
}

}  // namespace understudy
