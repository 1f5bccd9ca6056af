#include "understudy/actors/internal/system/local_registry.h"

#include <cstddef>
#include <limits>
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
#include "understudy/actors/internal/scheduling/worker.h"

// Lock rule: a fence locks change_mu_ during a seizure, which keeps a worker in user code. If that worker held
// change_mu_ there, the two would deadlock. Each function that locks change_mu_ therefore enters kernel code before.
namespace understudy {

void LocalRegistry::TellWatchers(absl::string_view name, const NameRecord* record) {
  for (const absl::string_view watched : {name, absl::string_view()}) {
    const auto listeners = listeners_.find(watched);
    if (listeners == listeners_.end()) continue;
    for (auto& [id, listener] : listeners->second) listener(name, record);
  }
}

absl::Status LocalRegistry::Insert(const NameRecord& record) {
  if (absl::Status valid = ValidateName(record.name); !valid.ok()) return valid;
  const internal::KernelCode kernel;
  absl::MutexLock change(&change_mu_);
  {
    absl::MutexLock lock(&mu_);
    const bool is_own = system_.IsLocal(record.pid);
    const auto kept = kept_.find(record.name);
    if (is_own && kept != kept_.end() && kept->second.is_vacant && !names_.contains(record.name)) {
      if (kept->second.keeper != record.kept_by) {
        return absl::AlreadyExistsError(absl::StrCat("the name ", record.name, " is kept for a child that ",
                                                     kept->second.keeper.ToString(),
                                                     " is restarting; choose another, or wait for it"));
      }
      // A name that is kept for a child on another node stays vacant whenever it has no owner (NameKeep::is_elsewhere).
      kept->second.is_vacant = kept->second.is_elsewhere;
    }
    const auto [place, added] = names_.emplace(record.name, record);
    if (!added) {
      if (place->second.pid == record.pid) {
        // A registered name may become a published one, and is then withdrawn from the cluster when its owner ends.
        if (record.scope == NameScope::kCluster) place->second.scope = NameScope::kCluster;
        return absl::OkStatus();
      }
      // The remote owner takes the name here when the local one gives it up (Take).
      const bool is_remote = record.scope == NameScope::kCluster && !is_own;
      if (is_remote && system_.IsLocal(place->second.pid)) hidden_[record.name] = record;
      return absl::AlreadyExistsError(absl::StrCat("the name ", record.name, " belongs to ",
                                                   place->second.pid.ToString(), "; choose another, or wait for it"));
    }
    by_owner_[record.pid].insert(record.name);
  }
  TellWatchers(record.name, &record);
  return absl::OkStatus();
}

absl::optional<LocalRegistry::Taken> LocalRegistry::Take(absl::string_view name, Pid owner, const ExitReason* end) {
  absl::MutexLock lock(&mu_);
  const auto hidden = hidden_.find(name);
  if (hidden != hidden_.end() && hidden->second.pid == owner) hidden_.erase(hidden);
  const auto place = names_.find(name);
  if (place == names_.end() || place->second.pid != owner) return absl::nullopt;
  Taken taken{.record = std::move(place->second), .next = absl::nullopt};
  names_.erase(place);
  if (Kept* kept = end == nullptr ? nullptr : FindKept(name, taken.record.kept_by); kept != nullptr) {
    kept->is_vacant |= IsVacantAfter(*kept, name, *end);
    taken.is_vacant = kept->is_vacant;
    if (taken.is_vacant && taken.record.scope == NameScope::kCluster) kept->scope = NameScope::kCluster;
  }
  const auto owned = by_owner_.find(owner);
  owned->second.erase(taken.record.name);
  if (owned->second.empty()) by_owner_.erase(owned);
  if (auto next = hidden_.extract(taken.record.name); !next.empty()) {
    taken.next = names_.emplace(next.key(), std::move(next.mapped())).first->second;
    by_owner_[taken.next->pid].insert(taken.record.name);
  }
  return taken;
}

// Tells the publisher, outside all locks but keep_mu_, that a name of this node's own actors has lost its owner.
void LocalRegistry::Withdraw(const Taken& taken) {
  const NameRecord& record = taken.record;
  NamePublisher* publisher = system_.publisher();
  if (publisher == nullptr || record.scope != NameScope::kCluster || !system_.IsLocal(record.pid)) return;
  if (taken.is_vacant) {
    publisher->Vacate(record.name, record.pid);
  } else {
    publisher->Withdraw(record.name, record.pid);
  }
}

void LocalRegistry::Remove(absl::string_view name, Pid owner, const ExitReason* end) {
  absl::optional<Taken> taken;
  {
    const internal::KernelCode kernel;
    absl::MutexLock change(&change_mu_);
    taken = Take(name, owner, end);
    if (taken) TellWatchers(taken->record.name, nullptr);
    if (taken && taken->next) TellWatchers(taken->record.name, &*taken->next);
  }
  if (taken) Withdraw(*taken);
}

void LocalRegistry::Remove(absl::string_view name, Pid owner) { Remove(name, owner, /*end=*/nullptr); }

void LocalRegistry::RemoveAll(Pid owner, const ExitReason& reason) {
  std::set<std::string> owned;
  std::set<std::string, std::less<>> kept;
  {
    absl::MutexLock lock(&mu_);
    if (const auto place = by_owner_.find(owner); place != by_owner_.end()) owned = place->second;
    if (const auto place = by_keeper_.find(owner); place != by_keeper_.end()) kept = place->second;
  }
  for (const std::string& name : kept) Free(name, owner);
  if (owned.empty()) return;
  const internal::KernelCode kernel;
  absl::MutexLock keeping(&keep_mu_);
  for (const std::string& name : owned) Remove(name, owner, &reason);
}

// ---- Names that supervisors keep ----

LocalRegistry::Kept* LocalRegistry::FindKept(absl::string_view name, Pid keeper) {
  const auto found = kept_.find(name);
  return found == kept_.end() || found->second.keeper != keeper ? nullptr : &found->second;
}

bool LocalRegistry::IsVacantAfter(const Kept& kept, absl::string_view name, const ExitReason& end) {
  const bool is_about_a_name =
      end.kind() == ExitReason::Kind::kNameConflict || end.kind() == ExitReason::Kind::kNameLost;
  if (is_about_a_name && end.detail() == name) return false;
  return kept.after == NameKeep::After::kAnyEnd || end.is_abnormal();
}

void LocalRegistry::Keep(const NameKeep& keep) {
  const internal::KernelCode kernel;
  absl::MutexLock keeping(&keep_mu_);
  {
    absl::MutexLock lock(&mu_);
    Kept& kept = kept_.emplace(keep.name, Kept{.keeper = keep.keeper}).first->second;
    if (kept.keeper != keep.keeper) return;
    by_keeper_[keep.keeper].insert(keep.name);
    kept.scope = keep.scope;
    kept.after = keep.after;
    kept.is_elsewhere = keep.is_elsewhere;
    if (!keep.is_elsewhere || std::exchange(kept.is_vacant, true)) return;
  }
  NamePublisher* publisher = system_.publisher();
  if (publisher != nullptr && keep.scope == NameScope::kCluster) publisher->Vacate(keep.name, Pid());
}

void LocalRegistry::Free(absl::string_view name, Pid keeper) {
  const internal::KernelCode kernel;
  absl::MutexLock keeping(&keep_mu_);
  {
    absl::MutexLock lock(&mu_);
    const Kept* kept = FindKept(name, keeper);
    if (kept == nullptr) return;
    const bool is_told = kept->is_vacant && kept->scope == NameScope::kCluster;
    kept_.erase(kept_.find(name));
    const auto names = by_keeper_.find(keeper);
    names->second.erase(names->second.find(name));
    if (names->second.empty()) by_keeper_.erase(names);
    if (!is_told) return;
  }
  if (NamePublisher* publisher = system_.publisher(); publisher != nullptr) publisher->Free(name);
}

Registry::NameLook LocalRegistry::Look(absl::string_view name) {
  absl::MutexLock lock(&mu_);
  if (const auto owned = names_.find(name); owned != names_.end()) return {.owner = owned->second};
  const auto kept = kept_.find(name);
  return {.is_vacant = (kept != kept_.end() && kept->second.is_vacant) || vacant_elsewhere_.contains(name)};
}

void LocalRegistry::SetVacantElsewhere(absl::string_view name, bool is_vacant) {
  absl::MutexLock lock(&mu_);
  if (is_vacant) {
    vacant_elsewhere_.emplace(name);
  } else if (const auto found = vacant_elsewhere_.find(name); found != vacant_elsewhere_.end()) {
    vacant_elsewhere_.erase(found);
  }
}

std::vector<NameRecord> LocalRegistry::List(absl::string_view prefix) {
  return Page(prefix, /*after=*/"", std::numeric_limits<size_t>::max());
}

std::vector<NameRecord> LocalRegistry::Page(absl::string_view prefix, absl::string_view after, size_t at_most) {
  absl::MutexLock lock(&mu_);
  std::vector<NameRecord> records;
  // No name is empty, so an empty `after` leaves none out.
  auto it = after < prefix ? names_.lower_bound(prefix) : names_.upper_bound(after);
  for (; it != names_.end() && records.size() < at_most && absl::StartsWith(it->first, prefix); ++it) {
    records.push_back(it->second);
  }
  return records;
}

std::vector<std::string> LocalRegistry::NamesOf(Pid owner) {
  absl::MutexLock lock(&mu_);
  const auto owned = by_owner_.find(owner);
  if (owned == by_owner_.end()) return {};
  return {owned->second.begin(), owned->second.end()};
}

uint64_t LocalRegistry::Watch(absl::string_view name, Listener listener) {
  const internal::KernelCode kernel;
  absl::MutexLock change(&change_mu_);
  const uint64_t id = ++last_watch_;
  const std::vector<NameRecord> present = [&] {
    absl::MutexLock lock(&mu_);
    std::vector<NameRecord> records;
    if (!name.empty()) {
      if (const auto owned = names_.find(name); owned != names_.end()) records.push_back(owned->second);
      return records;
    }
    for (const auto& [owned, record] : names_) records.push_back(record);
    return records;
  }();
  watched_names_[id] = std::string(name);
  Listener& kept = listeners_[std::string(name)][id] = std::move(listener);
  for (const NameRecord& record : present) kept(record.name, &record);
  return id;
}

void LocalRegistry::Unwatch(uint64_t watch) {
  const internal::KernelCode kernel;
  absl::MutexLock change(&change_mu_);
  const auto watched = watched_names_.extract(watch);
  if (watched.empty()) return;
  const auto listeners = listeners_.find(watched.mapped());
  listeners->second.erase(watch);
  if (listeners->second.empty()) listeners_.erase(listeners);
}

}  // namespace understudy
