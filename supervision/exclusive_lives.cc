#include "understudy/supervision/exclusive_lives.h"

#include <memory>
#include <string>
#include <utility>

#include "absl/synchronization/mutex.h"

namespace understudy::internal {

ExclusiveLives::Token ExclusiveLives::LastOf(const std::string& child) const {
  const absl::MutexLock lock(&mu_);
  const auto found = entries_.find(child);
  return found == entries_.end() ? Token() : found->second.last;
}

void ExclusiveLives::SetLast(const std::string& child, Token token) {
  const absl::MutexLock lock(&mu_);
  entries_[child].last = std::move(token);
}

std::shared_ptr<ExclusiveLives> ExclusiveLives::Below(const std::string& child) {
  const absl::MutexLock lock(&mu_);
  std::shared_ptr<ExclusiveLives>& below = entries_[child].below;
  if (below == nullptr) below = std::make_shared<ExclusiveLives>();
  return below;
}

void ExclusiveLives::Keep(const std::string& child) {
  const absl::MutexLock lock(&mu_);
  entries_[child].is_kept = true;
}

void ExclusiveLives::Forget(const std::string& child) {
  const absl::MutexLock lock(&mu_);
  const auto found = entries_.find(child);
  if (found != entries_.end() && !found->second.is_kept) entries_.erase(found);
}

}  // namespace understudy::internal
