// Tells a plain object of an actor's end.
#ifndef UNDERSTUDY_TRANSPORT_TREE_WATCH_H_
#define UNDERSTUDY_TRANSPORT_TREE_WATCH_H_

#include <functional>
#include <utility>

#include "absl/time/time.h"
#include "understudy/actors/actor.h"
#include "understudy/actors/actor_system.h"
#include "understudy/actors/events.h"
#include "understudy/actors/exit_reason.h"
#include "understudy/actors/pid.h"

namespace understudy::internal {

class TreeWatch final : public Actor {
 public:
  TreeWatch(Pid tree, std::function<void(const ExitReason&)> on_end) : tree_(tree), on_end_(std::move(on_end)) {}

  Next Start() override {
    monitor_ = context().Monitor(tree_, &TreeWatch::Ended);
    return Behavior("watching", After(absl::InfiniteDuration(), [] {}));
  }

 private:
  void Ended(const Down& down) {
    on_end_(down.reason);
    context().Stop();
  }

  const Pid tree_;
  const std::function<void(const ExitReason&)> on_end_;
  MonitorHandle monitor_;
};

// Calls `on_end` once, in a turn, when `tree` has ended; not when `system` is
// shut down before.
inline void WatchTree(ActorSystem& system, Pid tree, std::function<void(const ExitReason&)> on_end) {
  system.Spawn<TreeWatch>(tree, std::move(on_end));
}

}  // namespace understudy::internal

#endif  // UNDERSTUDY_TRANSPORT_TREE_WATCH_H_
