// TreeWatch and TreeRoot: actors that tell a node when its tree ends. TreeWatch monitors
// an existing tree; TreeRoot starts the tree.
#ifndef UNDERSTUDY_TRANSPORT_TREE_TREE_WATCH_H_
#define UNDERSTUDY_TRANSPORT_TREE_TREE_WATCH_H_

#include <functional>
#include <memory>
#include <utility>

#include "absl/time/time.h"
#include "understudy/actors/actor.h"
#include "understudy/actors/actor_spec.h"
#include "understudy/actors/events.h"
#include "understudy/actors/exit_reason.h"
#include "understudy/actors/pid.h"

namespace understudy::internal {

// Calls `on_end` once, in this actor's turn, when `tree` has ended, unless the system is
// shut down before.
class TreeWatch final : public Actor {
 public:
  TreeWatch(Pid tree, std::function<void(const ExitReason&)> on_end) : tree_(tree), on_end_(std::move(on_end)) {}

  StartResult Start() override {
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

// The parent of the tree. Calls `on_started` once when the tree has started, and
// `on_end` once when it has ended or did not start.
class TreeRoot final : public Actor {
 public:
  struct Calls {
    std::function<void()> on_started;
    std::function<void(const ExitReason&)> on_end;
  };
  TreeRoot(SpawnOptions options, std::function<std::unique_ptr<Actor>()> make, Calls calls)
      : options_(std::move(options)), make_(std::move(make)), calls_(std::move(calls)) {}

  StartResult Start() override {
    context().TrapExits(&TreeRoot::TreeExited);
    context().SpawnMade(std::move(options_).OnOutcome(&TreeRoot::Outcome), make_);
    return Behavior("rooted", After(absl::InfiniteDuration(), [] {}));
  }

 private:
  void Outcome(const SpawnOutcome& outcome) {
    if (outcome.kind == SpawnOutcome::Kind::kStarted) {
      calls_.on_started();
    } else {
      End(outcome.reason);
    }
  }
  void TreeExited(const ExitEvent& exit) { End(exit.reason); }
  void End(const ExitReason& reason) {
    if (std::exchange(ended_, true)) return;
    calls_.on_end(reason);
    context().Stop();
  }

  SpawnOptions options_;
  const std::function<std::unique_ptr<Actor>()> make_;
  const Calls calls_;
  bool ended_ = false;
};

}  // namespace understudy::internal

#endif  // UNDERSTUDY_TRANSPORT_TREE_TREE_WATCH_H_
