// What a RestartPlan remembers of its children's names: WatchedNames for names that children wait for, because another
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

// A watch is never given up, so a name is asked for once.
class WatchedNames {
 public:
  // Returns whether the watch is new, so that it must be set up.
  [[nodiscard]] bool Watch(const std::string& name) { return watched_.insert(name).second; }
  void Taken(absl::string_view name) { taken_.emplace(name); }
  void Freed(absl::string_view name) {
    if (const auto found = taken_.find(name); found != taken_.end()) taken_.erase(found);
  }
  // Whether another actor is known to have a name of that child.
  bool IsTaken(const ChildSpec& child) const {
    return taken_.contains(child.registered_as) || taken_.contains(child.published_as);
  }

 private:
  std::set<std::string> watched_;
  std::set<std::string, std::less<>> taken_;
};

// The names of a child are kept from its start until it will not be started again. Whether it will be is judged after
// each input, for the children whose state the input has changed: on the way there a child that will be started again
// may be stopped for a moment.
class KeptNames {
 public:
  using Key = ChildTable::Key;

  void Keep(Key child) { kept_.insert(child); }
  // The child may have come to be down for good.
  void Doubt(Key child) {
    if (Keeps(child)) in_doubt_.insert(child);
  }
  void DoubtAll() { in_doubt_ = kept_; }
  // The children to judge, in start order.
  std::set<Key> TakeDoubtful() { return std::exchange(in_doubt_, {}); }
  // Returns whether the names were kept until now.
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
