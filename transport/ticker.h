// Ticker: a thread that calls back at times of the monotonic clock. A node has
// one for what is due, one for heartbeats, and one for on_peer.
//
// Any thread. Callbacks come one at a time, in the order of their times, and
// must not wait. Lifetime: callbacks that are due when it is destroyed run, and the
// destructor waits for them; later ones never run.
#ifndef UNDERSTUDY_TRANSPORT_TICKER_H_
#define UNDERSTUDY_TRANSPORT_TICKER_H_

#include <atomic>
#include <cstdint>
#include <functional>
#include <map>
#include <thread>
#include <utility>

#include "absl/base/thread_annotations.h"
#include "absl/functional/any_invocable.h"
#include "absl/synchronization/mutex.h"
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

 private:
  void Run();

  const int wake_;  // an eventfd
  absl::Mutex mu_;
  bool stopping_ ABSL_GUARDED_BY(mu_) = false;
  uint64_t last_ ABSL_GUARDED_BY(mu_) = 0;
  std::map<std::pair<MonotonicTime, uint64_t>, absl::AnyInvocable<void()>> due_ ABSL_GUARDED_BY(mu_);
  std::thread thread_;
};

// CallbackQueue: calls back, one after another and in order, on a thread of its own,
// and keeps a bounded number of callbacks for it: one that does not return costs the
// callbacks beyond the bound, and no memory.
//
// Any thread. Lifetime: callbacks that wait when it is destroyed run, and the
// destructor waits for them.
class CallbackQueue {
 public:
  explicit CallbackQueue(int64_t waiting_max) : waiting_max_(waiting_max) {}

  // When as many as may wait do, or run, `callback` is dropped and counted.
  void Add(absl::AnyInvocable<void()> callback);
  int64_t dropped() const { return dropped_.load(std::memory_order_relaxed); }  // a count alone

 private:
  const int64_t waiting_max_;
  std::atomic<int64_t> waiting_{0};
  std::atomic<int64_t> dropped_{0};
  Ticker ticker_;  // its callbacks use the others
};

}  // namespace understudy::internal

#endif  // UNDERSTUDY_TRANSPORT_TICKER_H_
