// Ticker: a thread that makes callbacks at times of the monotonic clock. A node has
// one ticker for its timer, and one for heartbeats.
//
// Any thread. Callbacks come one at a time, in the order of their times, and must not
// block. Lifetime: callbacks that are due when the ticker is destroyed still run, and
// the destructor waits for them; later ones never run.
#ifndef UNDERSTUDY_TRANSPORT_CORE_TICKER_H_
#define UNDERSTUDY_TRANSPORT_CORE_TICKER_H_

#include <cstdint>
#include <functional>
#include <map>
#include <thread>
#include <utility>

#include "absl/base/thread_annotations.h"
#include "absl/functional/any_invocable.h"
#include "absl/synchronization/mutex.h"
#include "absl/time/time.h"
#include "understudy/actors/clock.h"

namespace understudy::internal {

class Ticker {
 public:
  // Starts the thread. Times are those of the machine's monotonic clock.
  Ticker();
  ~Ticker();
  Ticker(const Ticker&) = delete;
  Ticker& operator=(const Ticker&) = delete;

  // Calls `callback` once at or soon after `time`, never before this returns.
  void RunAt(MonotonicTime time, absl::AnyInvocable<void()> callback);
  // Returns RunAt as a function. The ticker must outlive it.
  std::function<void(MonotonicTime time, absl::AnyInvocable<void()> callback)> ToFunction() {
    return [this](MonotonicTime time, absl::AnyInvocable<void()> callback) { RunAt(time, std::move(callback)); };
  }
  // How long the callback has been due that is due first, or that runs and has not returned; zero if none is.
  absl::Duration Overdue();
  // Like ToFunction, but rounds each time up to the next point of a grid that begins now (OnGrid). Callbacks that are
  // due soon after one another then run in one wake-up of the thread. Because the grid begins now, the tickers of
  // several processes do not wake up at the same moments.
  std::function<void(MonotonicTime time, absl::AnyInvocable<void()> callback)> ToFunctionOnGrid(absl::Duration grid);
  // Returns the first time at or after `time` that is a multiple of `grid` after `begin`. If `time` is less than eight
  // steps of the grid after `now`, a finer grid is used, so that the delay is at most an eighth of the time from `now`.
  static MonotonicTime OnGrid(MonotonicTime time, MonotonicTime now, MonotonicTime begin, absl::Duration grid);

 private:
  void Run();

  const int wake_;  // an eventfd
  absl::Mutex mu_;
  bool stopping_ ABSL_GUARDED_BY(mu_) = false;
  uint64_t last_ ABSL_GUARDED_BY(mu_) = 0;
  MonotonicTime runs_since_ ABSL_GUARDED_BY(mu_) = MonotonicTime::InfiniteFuture();  // infinite: no callback runs
  std::map<std::pair<MonotonicTime, uint64_t>, absl::AnyInvocable<void()>> due_ ABSL_GUARDED_BY(mu_);
  std::thread thread_;
};

}  // namespace understudy::internal

#endif  // UNDERSTUDY_TRANSPORT_CORE_TICKER_H_
