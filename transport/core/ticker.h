// Ticker: a thread that calls back at times of the monotonic clock. A node has
// one for what is due, one for heartbeats, and one for on_peer.
//
// Any thread. Callbacks come one at a time, in the order of their times, and
// must not wait. Lifetime: callbacks that are due when it is destroyed run, and the
// destructor waits for them; later ones never run.
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
  // By the machine's clock.
  Ticker();
  ~Ticker();
  Ticker(const Ticker&) = delete;
  Ticker& operator=(const Ticker&) = delete;

  // Calls `callback` once at or soon after `time`, never before this returns.
  void RunAt(MonotonicTime time, absl::AnyInvocable<void()> callback);
  // RunAt of this ticker, which outlives it.
  std::function<void(MonotonicTime time, absl::AnyInvocable<void()> callback)> ToFunction() {
    return [this](MonotonicTime time, absl::AnyInvocable<void()> callback) { RunAt(time, std::move(callback)); };
  }
  // The same, with each time put off to the next on a grid that begins now, so that callbacks that are due one soon
  // after another run in one wake-up of the thread, and the tickers of several processes do not run in step.
  std::function<void(MonotonicTime time, absl::AnyInvocable<void()> callback)> ToFunctionOnGrid(absl::Duration grid);
  // The first time at or after `time` that is a multiple of `grid` after `begin`. A time that is less than eight steps
  // of the grid after `now` is put on a finer one, so none is put off by more than an eighth of how far it is ahead.
  static MonotonicTime OnGrid(MonotonicTime time, MonotonicTime now, MonotonicTime begin, absl::Duration grid);

 private:
  void Run();

  const int wake_;  // an eventfd
  absl::Mutex mu_;
  bool stopping_ ABSL_GUARDED_BY(mu_) = false;
  uint64_t last_ ABSL_GUARDED_BY(mu_) = 0;
  std::map<std::pair<MonotonicTime, uint64_t>, absl::AnyInvocable<void()>> due_ ABSL_GUARDED_BY(mu_);
  std::thread thread_;
};

}  // namespace understudy::internal

#endif  // UNDERSTUDY_TRANSPORT_CORE_TICKER_H_
