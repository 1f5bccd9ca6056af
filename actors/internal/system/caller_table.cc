#include "understudy/actors/internal/system/caller_table.h"

#include <cstddef>
#include <memory>
#include <utility>

#include "absl/container/flat_hash_map.h"
#include "absl/synchronization/mutex.h"
#include "understudy/actors/pid.h"

namespace understudy::internal {

struct CallerTable::Entries {
  absl::flat_hash_map<Pid, std::shared_ptr<const Caller>> of;
};

CallerTable::CallerTable() : entries_(std::make_unique<Entries>()) {}
CallerTable::~CallerTable() = default;

std::shared_ptr<const Caller> CallerTable::Find(Pid asker) const {
  absl::MutexLock lock(&mu_);
  const auto found = entries_->of.find(asker);
  return found == entries_->of.end() ? nullptr : found->second;
}

void CallerTable::Add(Pid asker, std::shared_ptr<const Caller> caller) {
  absl::MutexLock lock(&mu_);
  entries_->of.insert_or_assign(asker, std::move(caller));
}

void CallerTable::Remove(Pid asker) {
  absl::MutexLock lock(&mu_);
  entries_->of.erase(asker);
}

size_t CallerTable::size() const {
  absl::MutexLock lock(&mu_);
  return entries_->of.size();
}

}  // namespace understudy::internal
