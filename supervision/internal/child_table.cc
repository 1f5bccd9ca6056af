#include "understudy/supervision/internal/child_table.h"

#include <algorithm>
#include <cstddef>
#include <cstdint>
#include <iterator>
#include <map>
#include <memory>
#include <string>
#include <utility>
#include <vector>

#include "absl/status/status.h"
#include "absl/status/statusor.h"
#include "absl/strings/str_cat.h"
#include "absl/strings/string_view.h"
#include "absl/synchronization/mutex.h"
#include "understudy/actors/clock.h"
#include "understudy/actors/cut_text.h"
#include "understudy/actors/exit_reason.h"
#include "understudy/actors/pid.h"
#include "understudy/supervision/child_spec.h"
#include "understudy/supervision/internal/child_info.h"
#include "understudy/supervision/limits.h"

namespace understudy {
namespace {

using State = ChildTable::State;

// True if a child in this state is down for another reason than a failure. Time in such a state does not count towards
// RestartBackoff::give_up_after.
bool IsDownWithoutFailure(State state) {
  return state == State::kStopped || state == State::kDue || state == State::kHeld || state == State::kParked;
}

ChildState StateForUsers(State state) {
  switch (state) {
    case State::kStopped:
      return ChildState::kStopped;
    case State::kStarting:
      return ChildState::kStarting;
    case State::kRunning:
      return ChildState::kRunning;
    case State::kStopping:
      return ChildState::kStopping;
    case State::kDue:
    case State::kBackoff:
    case State::kHeld:
    case State::kDown:
      return ChildState::kRestarting;
    case State::kParked:
      return ChildState::kParked;
  }
  return ChildState::kStopped;
}

}  // namespace

ChildTable::Child& ChildTable::Add(std::shared_ptr<const ChildSpec> spec, MonotonicTime now) {
  const Key key = ++last_key_;
  const auto insert = [&]() -> Child& {
    absl::MutexLock lock(&looks_mu_);
    Child& added = children_[key];
    added.key = key;
    added.since = now;
    added.spec = std::move(spec);
    ids_.emplace(added.spec->id, &added);
    return added;
  };
  Child& child = insert();
  for (const std::string* const name : NamesOf(*child.spec)) {
    if (!name->empty()) names_.emplace(*name, &child);
  }
  if (child.spec->kind == ChildKind::kSupervisor) ++supervisors_;
  Count(child, 1);
  return child;
}

void ChildTable::Remove(Child& child) {
  Count(child, -1);
  if (child.spec->kind == ChildKind::kSupervisor) --supervisors_;
  for (const std::string* const name : NamesOf(*child.spec)) {
    if (FindName(*name) == &child) names_.erase(*name);
  }
  pids_.erase(child.address);
  std::map<Key, Child>::node_type removed;  // destroyed without the lock
  absl::MutexLock lock(&looks_mu_);
  ids_.erase(child.spec->id);
  removed = children_.extract(child.key);
}

const ChildTable::Child* ChildTable::FindName(absl::string_view name) const {
  const auto found = names_.find(name);
  return found == names_.end() ? nullptr : found->second;
}

void ChildTable::SetState(Child& child, State state, MonotonicTime now) {
  Count(child, -1);
  if (IsDownWithoutFailure(child.state))
    child.history.first_attempt = child.history.first_attempt + (now - child.since);
  {
    absl::MutexLock lock(&looks_mu_);
    child.state = state;
    child.since = now;
  }
  Count(child, 1);
}

void ChildTable::SetNextStart(Child& child, MonotonicTime next_start) {
  absl::MutexLock lock(&looks_mu_);
  child.next_start = next_start;
}

void ChildTable::SetSpec(Child& child, std::shared_ptr<const ChildSpec> spec) {
  absl::MutexLock lock(&looks_mu_);
  child.spec.swap(spec);  // the parameter, with the old spec, is destroyed after the lock
}

void ChildTable::SetLastExit(Child& child, const ExitReason& reason, MonotonicTime now) {
  const bool is_short = reason.cause() == nullptr && reason.bytes() <= limits::kLastExitBytesMax;
  auto last_exit = std::make_unique<const LastExit>(
      is_short ? LastExit{.reason = reason.crash() == nullptr ? reason : reason.WithCrash(nullptr), .time = now}
               : LastExit{.text = CutText(reason.ToString(), limits::kLastExitBytesMax), .time = now});
  absl::MutexLock lock(&looks_mu_);
  child.last_exit.swap(last_exit);  // the old one is destroyed after the lock
}

void ChildTable::CountRestart(Child& child) {
  absl::MutexLock lock(&looks_mu_);
  ++child.restarts;
}

// Adds `n`, 1 or -1, to the counts in which the child's present state appears.
void ChildTable::Count(const Child& child, int n) {
  in_state_[static_cast<size_t>(child.state)] += n;
  if (child.state != State::kStopped && child.spec->significant) significant_ += n;
  if (child.state == State::kParked && n > 0) parked_.insert(child.key);
  if (child.state == State::kParked && n < 0) parked_.erase(child.key);
}

void ChildTable::BeginLife(Child& child) {
  child.life = NewLife();
  lives_[child.life] = &child;
}

void ChildTable::SetPid(LifeId life, Pid pid) {
  Child* const child = FindLife(life);
  if (child == nullptr) return;
  pids_.erase(child->address);
  {
    absl::MutexLock lock(&looks_mu_);
    child->pid = child->address = pid;
  }
  pids_[pid] = child;
}

void ChildTable::EndLife(Child& child) {
  lives_.erase(child.life);
  absl::MutexLock lock(&looks_mu_);
  child.pid = Pid();
}

ChildTable::Child* ChildTable::FindKey(Key key) {
  const auto found = children_.find(key);
  return found == children_.end() ? nullptr : &found->second;
}

ChildTable::Child* ChildTable::FindId(absl::string_view id) {
  const auto found = ids_.find(id);
  return found == ids_.end() ? nullptr : found->second;
}

const ChildTable::Child* ChildTable::FindId(absl::string_view id) const {
  const auto found = ids_.find(id);
  return found == ids_.end() ? nullptr : found->second;
}

ChildTable::Child* ChildTable::FindLife(LifeId life) {
  const auto found = lives_.find(life);
  return found == lives_.end() ? nullptr : found->second;
}

const ChildTable::Child* ChildTable::FindLife(LifeId life) const {
  const auto found = lives_.find(life);
  return found == lives_.end() ? nullptr : found->second;
}

const ChildTable::Child* ChildTable::FindPid(Pid pid) const {
  const auto found = pids_.find(pid);
  return found == pids_.end() ? nullptr : found->second;
}

ChildTable::Child* ChildTable::FirstFrom(Key key) {
  const auto found = children_.lower_bound(key);
  return found == children_.end() ? nullptr : &found->second;
}

ChildTable::Child* ChildTable::LastBefore(Key key) {
  const auto next = children_.lower_bound(key);
  return next == children_.begin() ? nullptr : &std::prev(next)->second;
}

bool ChildTable::IsAnyBeforeWaiting(Key key) const {
  return std::any_of(children_.begin(), children_.lower_bound(key), [](const auto& entry) {
    const State state = entry.second.state;
    return state == State::kDue || state == State::kBackoff || state == State::kHeld || state == State::kParked;
  });
}

ChildInfo ChildTable::InfoOf(const Child& child) {
  return {.id = child.spec->id,
          .state = StateForUsers(child.state),
          .pid = child.pid,
          .kind = child.spec->kind,
          .restart = child.spec->restart,
          .restarts = child.restarts,
          .place = child.key};
}

std::vector<ChildInfo> ChildTable::WhichChildren(uint64_t after, size_t at_most) const {
  std::vector<ChildInfo> result;
  result.reserve(std::min(children_.size(), at_most));
  for (auto next = children_.upper_bound(after); next != children_.end() && result.size() < at_most; ++next) {
    result.push_back(InfoOf(next->second));
  }
  return result;
}

std::vector<ChildLook> ChildTable::Look(uint64_t after, size_t at_most, bool& has_more) const {
  const size_t count = std::min(at_most, limits::kChildrenPerLookMax);
  std::vector<ChildLook> result;
  result.reserve(count);
  std::vector<std::pair<size_t, ExitReason>>
      reasons;  // whose texts are made after the lock, with the places in `result`
  {
    absl::MutexLock lock(&looks_mu_);
    auto next = children_.upper_bound(after);
    for (; next != children_.end() && result.size() < count; ++next) {
      const Child& child = next->second;
      ChildLook& look = result.emplace_back();
      look.info = InfoOf(child);
      look.shutdown = ShutdownOf(*child.spec);
      look.backoff = child.spec->backoff;
      look.budget = child.spec->budget;
      look.significant = child.spec->significant;
      if (child.state == State::kBackoff) look.next_start = child.next_start;
      if (child.last_exit == nullptr) continue;
      look.exited = child.last_exit->time;
      look.last_exit = child.last_exit->text;
      if (look.last_exit.empty()) reasons.emplace_back(result.size() - 1, child.last_exit->reason);
    }
    has_more = next != children_.end();
  }
  for (const auto& [place, reason] : reasons) {
    result[place].last_exit = CutText(reason.ToString(), limits::kLastExitBytesMax);
  }
  return result;
}

absl::optional<RestartType> ChildTable::LookAtRestart(absl::string_view id) const {
  absl::MutexLock lock(&looks_mu_);
  const Child* const child = FindId(id);
  return child == nullptr ? absl::nullopt : absl::make_optional(child->spec->restart);
}

ChildCounts ChildTable::CountChildren() const {
  const int specs = static_cast<int>(children_.size());
  return {
      .specs = specs, .active = CountIn(State::kRunning), .supervisors = supervisors_, .workers = specs - supervisors_};
}

absl::StatusOr<ChildSpec> ChildTable::GetChildSpec(absl::string_view id) const {
  const Child* const child = FindId(id);
  if (child == nullptr) return absl::NotFoundError(absl::StrCat("there is no child '", id, "'"));
  return *child->spec;
}

ChildTable::LifeId ChildTable::LifeOf(Pid pid) const {
  const Child* const child = FindPid(pid);
  return child == nullptr || child->pid != pid ? 0 : child->life;
}

Pid ChildTable::PidOf(LifeId life) const {
  const Child* const child = FindLife(life);
  return child == nullptr ? Pid() : child->pid;
}

}  // namespace understudy
