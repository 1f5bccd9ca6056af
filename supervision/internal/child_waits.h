// Parts of RestartPlan about waits: ChildTimers for a time that must pass, and Predecessors for an earlier life that
// must be gone before a child's next one may begin.
//
// No clock. Owner only.
#ifndef UNDERSTUDY_SUPERVISION_INTERNAL_CHILD_WAITS_H_
#define UNDERSTUDY_SUPERVISION_INTERNAL_CHILD_WAITS_H_

#include <cstdint>
#include <functional>
#include <map>
#include <string>
#include <utility>

#include "absl/strings/string_view.h"
#include "absl/types/optional.h"
#include "understudy/supervision/internal/child_table.h"

namespace understudy {

// The timers of the children, at most one for each. A timer is forgotten when it is cancelled or has elapsed.
class ChildTimers {
 public:
  using Key = ChildTable::Key;
  using TimerId = uint64_t;

  // Returns a new timer for that child. Requires that it has none.
  TimerId Arm(Key child) {
    const TimerId timer = ++last_timer_;
    of_child_[child] = timer;
    children_[timer] = child;
    return timer;
  }
  // Returns the timer to cancel, or 0 if the child has none.
  TimerId Cancel(Key child) {
    const auto found = of_child_.extract(child);
    if (found.empty()) return 0;
    children_.erase(found.mapped());
    return found.mapped();
  }
  // Returns the child whose timer has elapsed, or 0 for an unknown timer.
  Key Elapsed(TimerId timer) {
    const auto found = children_.extract(timer);
    if (found.empty()) return 0;
    of_child_.erase(found.mapped());
    return found.mapped();
  }

 private:
  std::map<TimerId, Key> children_;
  std::map<Key, TimerId> of_child_;
  TimerId last_timer_ = 0;
};

// The lives of exclusive children that have ended but are not gone: a killed handler, of the child or of an actor below
// it, still runs. At most one for each id; it is kept when the child with that id is forgotten.
class Predecessors {
 public:
  using LifeId = ChildTable::LifeId;

  // Call just before the life is reported as ended, if it will not be gone then.
  void Lingers(LifeId life) { lingering_ = life; }
  // Call when the life has ended. Returns true if Lingers was called for it.
  [[nodiscard]] bool EndedLingering(LifeId life) { return std::exchange(lingering_, 0) == life; }

  // Adds an ended life of the child `id` that is not gone.
  void Add(absl::string_view id, LifeId life) {
    lives_[std::string(id)] = life;
    ids_[life] = std::string(id);
  }
  // Removes a life that is gone. Returns the id of its child, or nullopt for a life that was not added.
  absl::optional<std::string> Gone(LifeId life) {
    auto found = ids_.extract(life);
    if (found.empty()) return absl::nullopt;
    lives_.erase(found.mapped());
    return std::move(found.mapped());
  }

  bool Has(absl::string_view id) const { return lives_.contains(id); }
  // All lives here, by the child's id.
  const std::map<std::string, LifeId, std::less<>>& lives() const { return lives_; }

 private:
  std::map<std::string, LifeId, std::less<>> lives_;
  std::map<LifeId, std::string> ids_;
  LifeId lingering_ = 0;
};

}  // namespace understudy

#endif  // UNDERSTUDY_SUPERVISION_INTERNAL_CHILD_WAITS_H_
