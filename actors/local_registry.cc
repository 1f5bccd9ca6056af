#include "understudy/actors/local_registry.h"

#include <set>
#include <string>
#include <utility>
#include <vector>

#include "absl/status/status.h"
#include "absl/strings/match.h"
#include "absl/strings/str_cat.h"
#include "absl/strings/string_view.h"
#include "absl/synchronization/mutex.h"
#include "absl/types/optional.h"
#include "understudy/actors/internal/worker.h"

// A fence takes change_mu_ while it holds a worker in its user code: none holds it there.
namespace understudy {

void LocalRegistry::TellWatchers(absl::string_view name, const NameRecord* record) {
  for (auto& [id, watcher] : watchers_) {
    if (watcher.name.empty() || watcher.name == name) watcher.listener(name, record);
  }
}

absl::Status LocalRegistry::Insert(const NameRecord& record) {
  if (absl::Status valid = ValidateName(record.name); !valid.ok()) return valid;
  const internal::KernelCode kernel;
  absl::MutexLock change(&change_mu_);
  {
    absl::MutexLock lock(&mu_);
    const auto [place, added] = names_.emplace(record.name, record);
    if (!added) {
      if (place->second.pid == record.pid) {
        // A name of the node may become one of the cluster, and is then withdrawn from it at the end.
        if (record.scope == NameScope::kCluster) place->second.scope = NameScope::kCluster;
        return absl::OkStatus();
      }
      const bool is_remote = record.scope == NameScope::kCluster && !system_.IsLocal(record.pid);
      if (is_remote && system_.IsLocal(place->second.pid)) hidden_[record.name] = record;
      return absl::AlreadyExistsError(absl::StrCat("the name ", record.name, " belongs to ",
                                                   place->second.pid.ToString(), "; choose another, or wait for it"));
    }
    by_owner_[record.pid].insert(record.name);
  }
  TellWatchers(record.name, &record);
  return absl::OkStatus();
}

absl::optional<LocalRegistry::Taken> LocalRegistry::Take(absl::string_view name, Pid owner) {
  absl::MutexLock lock(&mu_);
  const auto hidden = hidden_.find(name);
  if (hidden != hidden_.end() && hidden->second.pid == owner) hidden_.erase(hidden);
  const auto place = names_.find(name);
  if (place == names_.end() || place->second.pid != owner) return absl::nullopt;
  Taken taken{.record = std::move(place->second), .next = absl::nullopt};
  names_.erase(place);
  const auto owned = by_owner_.find(owner);
  owned->second.erase(taken.record.name);
  if (owned->second.empty()) by_owner_.erase(owned);
  if (auto next = hidden_.extract(taken.record.name); !next.empty()) {
    taken.next = names_.emplace(next.key(), std::move(next.mapped())).first->second;
    by_owner_[taken.next->pid].insert(taken.record.name);
  }
  return taken;
}

// Only names of this system's own actors are this node's to withdraw.
void LocalRegistry::Withdraw(const NameRecord& record) {
  NamePublisher* publisher = system_.publisher();
  if (publisher != nullptr && record.scope == NameScope::kCluster && system_.IsLocal(record.pid)) {
    publisher->Withdraw(record.name, record.pid);
  }
}

void LocalRegistry::Remove(absl::string_view name, Pid owner) {
  absl::optional<Taken> taken;
  {
    const internal::KernelCode kernel;
    absl::MutexLock change(&change_mu_);
    taken = Take(name, owner);
    if (taken) TellWatchers(taken->record.name, nullptr);
    if (taken && taken->next) TellWatchers(taken->record.name, &*taken->next);
  }
  if (taken) Withdraw(taken->record);
}

void LocalRegistry::RemoveAll(Pid owner) {
  std::set<std::string> owned;
  {
    absl::MutexLock lock(&mu_);
    const auto place = by_owner_.find(owner);
    if (place == by_owner_.end()) return;
    owned = place->second;
  }
  for (const std::string& name : owned) Remove(name, owner);
}

absl::optional<NameRecord> LocalRegistry::Find(absl::string_view name) {
  absl::MutexLock lock(&mu_);
  const auto place = names_.find(name);
  if (place == names_.end()) return absl::nullopt;
  return place->second;
}

std::vector<NameRecord> LocalRegistry::List(absl::string_view prefix) {
  absl::MutexLock lock(&mu_);
  std::vector<NameRecord> records;
  for (auto it = names_.lower_bound(prefix); it != names_.end() && absl::StartsWith(it->first, prefix); ++it) {
    records.push_back(it->second);
  }
  return records;
}

uint64_t LocalRegistry::Watch(absl::string_view name, Listener listener) {
  const internal::KernelCode kernel;
  absl::MutexLock change(&change_mu_);
  const uint64_t id = ++last_watch_;
  const std::vector<NameRecord> present = [&] {
    absl::MutexLock lock(&mu_);
    std::vector<NameRecord> records;
    for (const auto& [owned, record] : names_) {
      if (name.empty() || owned == name) records.push_back(record);
    }
    return records;
  }();
  Watcher& watcher = watchers_[id];
  watcher.name = std::string(name);
  watcher.listener = std::move(listener);
  for (const NameRecord& record : present) watcher.listener(record.name, &record);
  return id;
}

void LocalRegistry::Unwatch(uint64_t watch) {
  const internal::KernelCode kernel;
  absl::MutexLock change(&change_mu_);
  watchers_.erase(watch);
}

}  // namespace understudy
