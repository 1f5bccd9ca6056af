#include "understudy/supervision/internal/child_table.h"

#include <algorithm>
#include <cstddef>
#include <cstdint>
#include <iterator>
#include <memory>
#include <utility>
#include <vector>

#include "absl/status/status.h"
#include "absl/status/statusor.h"
#include "absl/strings/str_cat.h"
#include "absl/strings/string_view.h"
#include "understudy/actors/clock.h"
#include "understudy/actors/pid.h"
#include "understudy/supervision/child_spec.h"
#include "understudy/supervision/internal/child_info.h"

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
  Child& child = children_[key];
  ids_.emplace(spec->id, &child);
  child.key = key;
  child.since = now;
  child.spec = std::move(spec);
  if (child.spec->kind == ChildKind::kSupervisor) ++supervisors_;
  Count(child, 1);
  return child;
}

void ChildTable::Remove(Child& child) {
  Count(child, -1);
  if (child.spec->kind == ChildKind::kSupervisor) --supervisors_;
  ids_.erase(child.spec->id);
  pids_.erase(child.address);
  children_.erase(child.key);
}

void ChildTable::SetState(Child& child, State state, MonotonicTime now) {
  Count(child, -1);
  if (IsDownWithoutFailure(child.state))
    child.history.first_attempt = child.history.first_attempt + (now - child.since);
  child.state = state;
  child.since = now;
  Count(child, 1);
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
  child->pid = child->address = pid;
  pids_[pid] = child;
}

void ChildTable::EndLife(Child& child) {
  lives_.erase(child.life);
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
