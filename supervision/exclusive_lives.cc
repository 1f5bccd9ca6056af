#include "understudy/supervision/exclusive_lives.h"

#include <algorithm>
#include <iterator>
#include <memory>
#include <string>
#include <utility>
#include <vector>

#include "absl/synchronization/mutex.h"

namespace understudy::internal {
namespace {

thread_local const FromAbove* present = nullptr;

}  // namespace

void ExclusiveLives::SetLast(const std::string& child, Token token) {
  const absl::MutexLock lock(&mu_);
  entries_[child].last = std::move(token);
  forgotten_.erase(child);
}

std::vector<std::pair<std::string, ExclusiveLives::Token>> ExclusiveLives::NotGone() {
  const absl::MutexLock lock(&mu_);
  std::vector<std::pair<std::string, Token>> result;
  for (auto next = entries_.begin(); next != entries_.end();) {
    if (!next->second.last.expired()) result.emplace_back(next->first, next->second.last);
    next = IsOver(next->second) ? entries_.erase(next) : std::next(next);
  }
  return result;
}

std::shared_ptr<ExclusiveLives> ExclusiveLives::Below(const std::string& child) {
  const absl::MutexLock lock(&mu_);
  forgotten_.erase(child);
  std::shared_ptr<ExclusiveLives>& below = entries_[child].below;
  if (below == nullptr) below = std::make_shared<ExclusiveLives>();
  return below;
}

void ExclusiveLives::Forget(const std::string& child) {
  const absl::MutexLock lock(&mu_);
  const auto found = entries_.find(child);
  if (found != entries_.end()) {
    found->second.last.reset();
    forgotten_.insert(child);
  }
  for (auto next = forgotten_.begin(); next != forgotten_.end();) {
    const auto entry = entries_.find(*next);
    const bool is_over = entry == entries_.end() || IsOver(entry->second);
    if (is_over && entry != entries_.end()) entries_.erase(entry);
    next = is_over ? forgotten_.erase(next) : std::next(next);
  }
}

bool ExclusiveLives::IsOver(const Entry& entry) {
  return entry.last.expired() && (entry.below == nullptr || entry.below->IsAllOver());
}

bool ExclusiveLives::IsAllOver() const {
  const absl::MutexLock lock(&mu_);
  return std::all_of(entries_.begin(), entries_.end(), [](const auto& entry) { return IsOver(entry.second); });
}

FromAbove::Scope::Scope(const FromAbove& above) : outer_(std::exchange(present, &above)) {}

FromAbove::Scope::~Scope() { present = outer_; }

const FromAbove& FromAbove::Present() {
  static const auto* const none = new FromAbove;
  return present == nullptr ? *none : *present;
}

}  // namespace understudy::internal
