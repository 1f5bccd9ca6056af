// NodeDrain: ends a node's actors exactly once, although several threads may ask for it,
// and tells the log that the drain begins and how it ended. It knows the node's state.
//
// Threads: any. Lifetime: the destructor does what AwaitShutDown does.
#ifndef UNDERSTUDY_TRANSPORT_NODE_DRAIN_H_
#define UNDERSTUDY_TRANSPORT_NODE_DRAIN_H_

#include <atomic>
#include <cstdint>
#include <functional>
#include <map>
#include <thread>

#include "absl/base/thread_annotations.h"
#include "absl/synchronization/mutex.h"
#include "absl/time/time.h"
#include "absl/types/optional.h"
#include "understudy/actors/actor_system.h"
#include "understudy/actors/clock.h"
#include "understudy/transport/core/node_core.h"
#include "understudy/transport/node.h"

namespace understudy::internal {

class NodeDrain {
 public:
  // How long a step may exceed its time limit before it counts as stuck.
  static constexpr absl::Duration kStuckAfter = absl::Seconds(1);

  // `system` must outlive this object.
  explicit NodeDrain(ActorSystem& system) : system_(system) {}
  ~NodeDrain() { AwaitShutDown(); }
  NodeDrain(const NodeDrain&) = delete;
  NodeDrain& operator=(const NodeDrain&) = delete;

  // See Node::Ready, Node::state, Node::WatchState and Node::UnwatchState.
  void MarkReady() { (void)Advance(NodeState::kReady); }
  NodeState state() const;
  uint64_t AddWatch(std::function<void(NodeState)> watch);
  void RemoveWatch(uint64_t id);

  // See Node::DrainFirst and Node::ForgetDrainFirst.
  uint64_t AddFirst(std::function<void(absl::Duration within)> step);
  void RemoveFirst(uint64_t id);

  // The first call runs the steps that AddFirst added, then `drain` with the time that is
  // left of `within`; any other call waits until that call has returned. All return what
  // `drain` returned.
  int Once(absl::Duration within, const std::function<int(absl::Duration left)>& drain);

  // Runs ActorSystem::Shutdown(within) on a thread of its own, because it does not return
  // while a handler does not. Returns its result, or false if it has not returned
  // kStuckAfter after `within`, which counts as zero if it is negative. Call at most once.
  bool ShutDown(absl::Duration within);
  // Writes a line to the system's log, before ShutDown: how long the actors have, and what
  // the node still has.
  void LogBegin(absl::Duration within, const NodeCore::OpenWork& work);
  // Writes a line to the system's log, after ShutDown: how long the drain took since
  // LogBegin, and whether the actors ended within their time.
  void LogEnd();

  // Blocks until the Shutdown that ShutDown began has returned. Must not be called during
  // Once.
  void AwaitShutDown();
  // True if ShutDown returned before Shutdown did.
  bool is_stuck() const { return is_stuck_.load(std::memory_order_acquire); }

 private:
  // Tells the watches, if `state` is later than the present one. Returns whether it is.
  bool Advance(NodeState state);

  ActorSystem& system_;
  mutable absl::Mutex mu_;
  NodeState state_ ABSL_GUARDED_BY(mu_) = NodeState::kStarting;
  absl::optional<int> status_ ABSL_GUARDED_BY(mu_);  // once `drain` has returned
  // The next four fields are used only by the call of Once that drains.
  MonotonicTime began_;
  absl::Duration within_;
  absl::Duration took_;  // for ShutDown
  bool in_order_ = true;
  absl::Mutex watches_mu_;  // held while state_ changes and a watch runs, so that each is told of the states in order
  uint64_t last_watch_ ABSL_GUARDED_BY(watches_mu_) = 0;
  std::map<uint64_t, std::function<void(NodeState)>> watches_ ABSL_GUARDED_BY(watches_mu_);
  absl::Mutex first_mu_;  // held while a step of DrainFirst runs
  uint64_t last_first_ ABSL_GUARDED_BY(first_mu_) = 0;
  std::map<uint64_t, std::function<void(absl::Duration)>> first_ ABSL_GUARDED_BY(first_mu_);
  std::thread shutting_down_;  // started by ShutDown, joined by AwaitShutDown
  std::atomic<bool> is_stuck_{false};
};

}  // namespace understudy::internal

#endif  // UNDERSTUDY_TRANSPORT_NODE_DRAIN_H_
