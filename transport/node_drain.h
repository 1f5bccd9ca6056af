// NodeDrain: the end of a node's actors, once, however many threads ask for it.
//
// Threads: any. Lifetime: the destructor does what AwaitShutDown does.
#ifndef UNDERSTUDY_TRANSPORT_NODE_DRAIN_H_
#define UNDERSTUDY_TRANSPORT_NODE_DRAIN_H_

#include <atomic>
#include <functional>
#include <thread>

#include "absl/base/thread_annotations.h"
#include "absl/synchronization/mutex.h"
#include "absl/time/time.h"
#include "absl/types/optional.h"
#include "understudy/actors/actor_system.h"

namespace understudy::internal {

class NodeDrain {
 public:
  // What a step may take beyond the time that it was given.
  static constexpr absl::Duration kStuckAfter = absl::Seconds(1);

  // `system` outlives it.
  explicit NodeDrain(ActorSystem& system) : system_(system) {}
  ~NodeDrain() { AwaitShutDown(); }
  NodeDrain(const NodeDrain&) = delete;
  NodeDrain& operator=(const NodeDrain&) = delete;

  // The first call runs `drain`; any other waits until that call has returned. All
  // return what `drain` returned.
  int Once(const std::function<int()>& drain);

  // ActorSystem::Shutdown(within), which may never return where a handler does not.
  // This returns false then, kStuckAfter after `within`. Once.
  bool ShutDown(absl::Duration within);
  // Waits for the handler, if any, that kept ShutDown from returning in time. Not
  // during Once.
  void AwaitShutDown();
  // ShutDown gave up waiting.
  bool is_stuck() const { return is_stuck_.load(std::memory_order_acquire); }

 private:
  ActorSystem& system_;
  absl::Mutex mu_;
  bool has_begun_ ABSL_GUARDED_BY(mu_) = false;
  absl::optional<int> status_ ABSL_GUARDED_BY(mu_);  // once `drain` has returned
  std::thread shutting_down_;                        // ShutDown's, then AwaitShutDown's
  std::atomic<bool> is_stuck_{false};
};

}  // namespace understudy::internal

#endif  // UNDERSTUDY_TRANSPORT_NODE_DRAIN_H_
