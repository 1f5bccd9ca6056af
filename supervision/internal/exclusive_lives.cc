#include "understudy/supervision/internal/exclusive_lives.h"

#include <iterator>
#include <memory>
#include <string>
#include <vector>

#include "absl/synchronization/mutex.h"

namespace understudy::internal {

void ExclusiveLives::Add(const std::string& child, Pid life, Why why, IsGone is_gone) {
  const absl::MutexLock lock(&mu_);
  forgotten_.erase(child);
  Entry& entry = entries_[child];
  std::erase_if(entry.lives, is_gone);  // earlier lives are removed here if no supervisor waits for them
  entry.lives.insert(life);
  entry.is_exclusive = why == Why::kIsExclusive;
}

Pid ExclusiveLives::FirstNotGone(const std::string& child, IsGone is_gone) {
  const absl::MutexLock lock(&mu_);
  const auto found = entries_.find(child);
  return found == entries_.end() ? Pid() : FirstOf(found->second, is_gone);
}

std::vector<std::string> ExclusiveLives::NotGone(IsGone is_gone) {
  const absl::MutexLock lock(&mu_);
  std::vector<std::string> children;
  for (auto next = entries_.begin(); next != entries_.end(); next = NextAfterLook(next, is_gone)) {
    if (next->second.is_exclusive && !FirstOf(next->second, is_gone).is_null()) children.push_back(next->first);
  }
  return children;
}

std::shared_ptr<ExclusiveLives> ExclusiveLives::Below(const std::string& child) {
  const absl::MutexLock lock(&mu_);
  forgotten_.erase(child);
  std::shared_ptr<ExclusiveLives>& below = entries_[child].below;
  if (below == nullptr) below = std::make_shared<ExclusiveLives>();
  return below;
}

void ExclusiveLives::Forget(const std::string& child, IsGone is_gone) {
  const absl::MutexLock lock(&mu_);
  if (entries_.contains(child)) forgotten_.insert(child);
  for (auto next = forgotten_.begin(); next != forgotten_.end();) {
    const auto entry = entries_.find(*next++);
    (void)NextAfterLook(entry, is_gone);
  }
}

// Returns the entry after `entry`. Erases `entry` if all its lives are gone and no supervisor uses its `below` any
// more:
// a supervisor whose object still exists may start further children.
ExclusiveLives::Entries::iterator ExclusiveLives::NextAfterLook(Entries::iterator entry, IsGone is_gone) {
  const bool is_used = entry->second.below != nullptr && entry->second.below.use_count() > 1;
  if (is_used || !FirstOf(entry->second, is_gone).is_null()) return std::next(entry);
  forgotten_.erase(entry->first);
  return entries_.erase(entry);
}

Pid ExclusiveLives::FirstOf(Entry& entry, IsGone is_gone) {
  std::erase_if(entry.lives, is_gone);
  if (!entry.lives.empty()) return *entry.lives.begin();
  return entry.below == nullptr ? Pid() : entry.below->First(is_gone);
}

Pid ExclusiveLives::First(IsGone is_gone) {
  const absl::MutexLock lock(&mu_);
  for (auto next = entries_.begin(); next != entries_.end(); next = NextAfterLook(next, is_gone)) {
    if (const Pid life = FirstOf(next->second, is_gone); !life.is_null()) return life;
  }
  return Pid();
}

}  // namespace understudy::internal
