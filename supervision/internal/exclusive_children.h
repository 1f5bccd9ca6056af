// ExclusiveChildren: a supervisor's exclusive children, and those below an exclusive supervisor: their lives that are
// not gone, and the earlier ones among these for which the supervisor waits.
//
// `is_gone` says whether a life is gone (Context::MonitorUntilGone). Owner only, except for what ExclusiveLives says.
#ifndef UNDERSTUDY_SUPERVISION_INTERNAL_EXCLUSIVE_CHILDREN_H_
#define UNDERSTUDY_SUPERVISION_INTERNAL_EXCLUSIVE_CHILDREN_H_

#include <memory>
#include <string>
#include <utility>
#include <vector>

#include "absl/functional/function_ref.h"
#include "understudy/actors/pid.h"
#include "understudy/supervision/child_spec.h"
#include "understudy/supervision/internal/exclusive_lives.h"
#include "understudy/supervision/internal/predecessor_watch.h"
#include "understudy/supervision/internal/restart_plan.h"

namespace understudy::internal {

class ExclusiveChildren {
 public:
  using IsGone = ExclusiveLives::IsGone;

  // From the supervisor above, before the start: the lives of this supervisor's children, which the supervisor above
  // keeps from one life of this supervisor to the next, and whether this supervisor or one above it is exclusive.
  void SetAbove(std::shared_ptr<ExclusiveLives> lives, bool is_below_exclusive) {
    lives_ = std::move(lives);
    is_below_exclusive_ = is_below_exclusive;
  }
  // Call once, at the start. `self` is the supervisor; `has_made_up_ids`: it is a pool, which makes up ids for
  // children.
  void Begin(Pid self, bool has_made_up_ids);

  bool IsBelowExclusive(const ChildSpec& child) const { return is_below_exclusive_ || child.exclusive; }
  // A function for any thread that gives the lives of the children of that child. Call it only if the child is a
  // supervisor.
  auto Below(const std::string& child) const {
    return [lives = lives_, key = KeyOf(child)] { return lives->Below(key); };
  }

  // A life of that child has begun; null if it could not be spawned.
  void Began(const ChildSpec& child, Pid life, IsGone is_gone);
  // A life of that child has ended. Returns true if it, or an earlier one, has to be gone before the next life begins.
  bool Lingers(const ChildSpec& child, IsGone is_gone) const;
  // There is no child with that id any more.
  void Forget(const std::string& child, IsGone is_gone) { lives_->Forget(KeyOf(child), is_gone); }

  // The ids of the children of which an earlier life of this supervisor has left lives that are not gone.
  std::vector<std::string> Inherited(IsGone is_gone) { return lives_->NotGone(is_gone); }
  // Awaits those lives of the child `id`; `life` is their number in the plan.
  void AwaitInherited(RestartPlan::LifeId life, const std::string& id) { predecessors_.Add({life, id, id}); }
  // Awaits a life of this supervisor's own child.
  void Await(RestartPlan::LifeId life, const std::string& child) { predecessors_.Add({life, child, KeyOf(child)}); }

  // Looks at the awaited lives that are due, oldest first. Calls `gone` for each that is gone, and `monitor` with an
  // actor of each that is not; `monitor` returns the id of a monitor that fires when that actor is gone.
  void Look(IsGone is_gone, absl::FunctionRef<void(const Predecessor&)> gone,
            absl::FunctionRef<uint64_t(Pid left)> monitor);
  // Call when a monitor of Look has fired. Returns true if a life is due because of this.
  [[nodiscard]] bool Fired(uint64_t monitor) { return predecessors_.Fired(monitor); }
  // Call for a predecessor that is gone and whose child does not exist.
  void ForgetPredecessor(const Predecessor& predecessor, IsGone is_gone) { lives_->Forget(predecessor.key, is_gone); }

 private:
  // The child's key in ExclusiveLives: its id, which means the same child in the next life of this supervisor. An id
  // that a pool has made up does not, so its key contains the pid of this life.
  std::string KeyOf(const std::string& child) const;

  Pid self_;
  bool has_made_up_ids_ = false;
  bool is_below_exclusive_ = false;
  std::shared_ptr<ExclusiveLives> lives_;  // set from Begin on
  PredecessorWatch predecessors_;
};

}  // namespace understudy::internal

#endif  // UNDERSTUDY_SUPERVISION_INTERNAL_EXCLUSIVE_CHILDREN_H_
