#include "understudy/actors/internal/scheduling/timer_thread.h"

#include <algorithm>
#include <utility>

#include "absl/functional/any_invocable.h"
#include "absl/synchronization/mutex.h"
#include "absl/time/time.h"
#include "understudy/actors/check.h"

namespace understudy::internal {
namespace {

// Cancelled timers are removed from the wheel when there are at least this many of them, and they are at least half of
// all timers there.
constexpr size_t kSweepAt = 1024;

}  // namespace

TimerThread::TimerThread(Clock& clock) : clock_(clock) {
  UNDERSTUDY_CHECK(thread_.Start("actor-timers", [this] { Work(); }),
                   "the operating system refuses the thread for timers");
}

TimerThread::~TimerThread() {
  {
    absl::MutexLock lock(&mu_);
    is_stopping_ = true;
    changed_.Signal();
  }
  thread_.Join();
}

uint64_t TimerThread::RunAt(MonotonicTime time, absl::AnyInvocable<void()> callback) {
  const uint64_t id = table_.Arm(time, std::move(callback));
  // seq_cst: pairs with the store in SleepUntil. Either the timer thread's HasArmed sees the new timer, or this load
  // sees the time until which that thread sleeps.
  if (time.nanos() < sleeps_until_.load(std::memory_order_seq_cst)) Wake();
  return id;
}

bool TimerThread::Cancel(uint64_t timer) {
  if (!table_.Cancel(timer)) return false;
  // The timer thread may sleep for long although many timers were cancelled; woken, it removes them.
  if (table_.cancelled() % kSweepAt == 0) Wake();
  return true;
}

void TimerThread::Work() {
  do {
    for (Table::Entry* entry = table_.TakeArmed(); entry != nullptr;) {
      Table::Entry* const after = entry->next;
      wheel_.Add(*entry);
      entry = after;
    }
    RunDue();
    if (table_.cancelled() >= std::max(kSweepAt, wheel_.size() / 2)) SweepCancelled();
    size_.store(wheel_.size(), std::memory_order_relaxed);
  } while (SleepUntil(wheel_.Next()));
}

void TimerThread::RunDue() {
  const MonotonicTime now = clock_.Now();
  MonotonicTime called = now;  // later than `now` by what the callbacks before took
  TimeSketch lateness;
  while (Table::Entry* const entry = wheel_.PopDue(now)) {
    const absl::Duration late = called - entry->time;
    if (table_.Fire(*entry)) {
      lateness.Add(late);
      entry->value();
      called = clock_.Now();
    }
    table_.Free(*entry);
  }
  if (lateness.samples == 0) return;
  absl::MutexLock lock(&mu_);
  lateness_ += lateness;
}

void TimerThread::SweepCancelled() {
  wheel_.Sweep([this](const Table::Entry& entry) { return table_.IsCancelled(entry); },
               [this](Table::Entry& entry) { table_.Free(entry); });
}

// Returns false when the destructor has begun.
bool TimerThread::SleepUntil(MonotonicTime time) {
  sleeps_until_.store(time.nanos(), std::memory_order_seq_cst);
  // HasArmed is seq_cst, as is the store above: they pair with Arm's swap and the load of sleeps_until_ in RunAt.
  if (!table_.HasArmed()) {
    absl::MutexLock lock(&mu_);
    while (!is_woken_ && !is_stopping_) {
      const absl::Duration left = time - clock_.Now();
      if (left <= absl::ZeroDuration()) break;
      changed_.WaitWithTimeout(&mu_, time.is_infinite() ? absl::InfiniteDuration() : left);
    }
  }
  // relaxed: a RunAt that still loads the old time may call Wake for nothing, which is harmless.
  sleeps_until_.store(0, std::memory_order_relaxed);
  absl::MutexLock lock(&mu_);
  // No wake-up is lost: a RunAt that set the flag has armed its timer before, and Work calls TakeArmed after this.
  is_woken_ = false;
  return !is_stopping_;
}

void TimerThread::Wake() {
  absl::MutexLock lock(&mu_);
  is_woken_ = true;
  changed_.Signal();
}

}  // namespace understudy::internal
