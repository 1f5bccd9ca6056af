// Parts of RestartPlan about its children's names: WatchedNames for names that children wait for, because another
// actor has them; KeptNames for names that are kept for a child while it is down.
//
// Owner only.
#ifndef UNDERSTUDY_SUPERVISION_INTERNAL_CHILD_NAMES_H_
#define UNDERSTUDY_SUPERVISION_INTERNAL_CHILD_NAMES_H_

#include <functional>
#include <set>
#include <string>
#include <utility>

#include "absl/strings/string_view.h"
#include "understudy/supervision/child_spec.h"
#include "understudy/supervision/internal/child_table.h"

namespace understudy {

inline bool HasName(const ChildSpec& child) { return !child.registered_as.empty() || !child.published_as.empty(); }

// The names that are watched, and those that are known to be taken. A watch never ends, so each name is watched once.
class WatchedNames {
 public:
  // Returns true if the name is not watched yet: the caller must set the watch up.
  [[nodiscard]] bool Watch(const std::string& name) { return watched_.insert(name).second; }
  void Taken(absl::string_view name) { taken_.emplace(name); }
  void Freed(absl::string_view name) {
    if (const auto found = taken_.find(name); found != taken_.end()) taken_.erase(found);
  }
  // True if another actor is known to have one of that child's names.
  bool IsTaken(const ChildSpec& child) const {
    return taken_.contains(child.registered_as) || taken_.contains(child.published_as);
  }

 private:
  std::set<std::string> watched_;
  std::set<std::string, std::less<>> taken_;
};

// The children whose names are kept: from a child's start until it is certain that the child will not be started again.
// The owner judges this after each input, for the children whose state the input has changed, and not before, because a
// child that will be started again may be in a stopped state for a moment while an input is handled.
class KeptNames {
 public:
  using Key = ChildTable::Key;

  void Keep(Key child) { kept_.insert(child); }
  // Call when the child's state has changed: the child is to be judged.
  void Doubt(Key child) {
    if (Keeps(child)) in_doubt_.insert(child);
  }
  void DoubtAll() { in_doubt_ = kept_; }
  // The children to judge, in start order.
  std::set<Key> TakeDoubtful() { return std::exchange(in_doubt_, {}); }
  // Returns true if the child's names were kept until now.
  [[nodiscard]] bool Free(Key child) {
    in_doubt_.erase(child);
    return kept_.erase(child) > 0;
  }
  bool Keeps(Key child) const { return kept_.contains(child); }

 private:
  std::set<Key> kept_;
  std::set<Key> in_doubt_;  // a part of kept_
};

}  // namespace understudy

#endif  // UNDERSTUDY_SUPERVISION_INTERNAL_CHILD_NAMES_H_
