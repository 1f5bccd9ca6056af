#include "understudy/supervision/supervisor_looks.h"

#include <algorithm>
#include <cstddef>
#include <cstdint>
#include <iterator>
#include <map>
#include <memory>
#include <utility>
#include <vector>

#include "absl/base/thread_annotations.h"
#include "absl/strings/string_view.h"
#include "absl/synchronization/mutex.h"
#include "absl/time/time.h"
#include "understudy/actors/clock.h"
#include "understudy/actors/pid.h"
#include "understudy/supervision/child_spec.h"
#include "understudy/supervision/internal/child_info.h"
#include "understudy/supervision/internal/restart_plan.h"
#include "understudy/supervision/internal/supervisor_entry.h"
#include "understudy/supervision/limits.h"

namespace understudy {
namespace internal {

// A look may hold a Listed for longer than its supervisor lives.
class SupervisorEntry::Listed {
 public:
  Listed(Pid self, Pid parent, const SupervisorSpec& spec, const PoolSpec* pool, const RestartPlan& plan)
      : self_(self),
        parent_(parent),
        strategy_(spec.strategy),
        is_pool_(pool != nullptr),
        intensity_(spec.intensity),
        period_(spec.period),
        plan_(&plan) {}

  Pid self() const { return self_; }
  // The supervisor is about to be destroyed.
  void End() {
    absl::MutexLock lock(&mu_);
    plan_ = nullptr;
  }
  // Everything but the number and the children. False if the supervisor is gone.
  bool Read(MonotonicTime now, SupervisorLook& look) const {
    look.pid = self_;
    look.parent = parent_;
    look.strategy = strategy_;
    look.is_pool = is_pool_;
    look.intensity = intensity_;
    look.period = period_;
    absl::MutexLock lock(&mu_);
    if (plan_ != nullptr) look.restarts_in_period = plan_->window().CountAt(now);
    return plan_ != nullptr;
  }
  // Appends at most `at_most` children above `after`. Returns whether there are more.
  bool AddChildren(uint64_t after, size_t at_most, std::vector<ChildLook>& children) const {
    bool has_more = true;
    while (has_more && at_most > 0) {
      absl::MutexLock lock(&mu_);
      if (plan_ == nullptr) return false;
      std::vector<ChildLook> some = plan_->children().Look(after, at_most, has_more);
      if (!some.empty()) after = some.back().info.place;
      at_most -= some.size();
      children.insert(children.end(), std::make_move_iterator(some.begin()), std::make_move_iterator(some.end()));
    }
    return has_more;
  }

  bool IsForgottenWhenDown(absl::string_view child) const {
    absl::MutexLock lock(&mu_);
    if (plan_ == nullptr) return false;
    return is_pool_ || plan_->children().LookAtRestart(child) == RestartType::kTemporary;
  }

 private:
  const Pid self_;
  const Pid parent_;
  const RestartStrategy strategy_;
  const bool is_pool_;
  const int intensity_;
  const absl::Duration period_;
  mutable absl::Mutex mu_;  // held during a read, so that the plan is not destroyed meanwhile
  const RestartPlan* plan_ ABSL_GUARDED_BY(mu_);
};

namespace {

using Listed = SupervisorEntry::Listed;

// The supervisors of all systems of the process.
class Directory {
 public:
  // Returns the supervisor's number.
  uint64_t Add(const std::shared_ptr<const Listed>& supervisor) {
    absl::MutexLock lock(&mu_);
    supervisors_.emplace(std::pair(supervisor->self().node(), ++last_number_), supervisor);
    return last_number_;
  }
  void Remove(uint16_t node, uint64_t number) {
    absl::MutexLock lock(&mu_);
    supervisors_.erase({node, number});
  }
  // The first supervisor of `node` whose number is at least `number`, which is set to its number. Null: there is none.
  std::shared_ptr<const Listed> FirstFrom(uint16_t node, uint64_t& number) const {
    absl::MutexLock lock(&mu_);
    const auto found = supervisors_.lower_bound({node, number});
    if (found == supervisors_.end() || found->first.first != node) return nullptr;
    number = found->first.second;
    return found->second;
  }

 private:
  mutable absl::Mutex mu_;
  uint64_t last_number_ ABSL_GUARDED_BY(mu_) = 0;
  std::map<std::pair<uint16_t, uint64_t>, std::shared_ptr<const Listed>> supervisors_ ABSL_GUARDED_BY(mu_);
};

Directory& AllSupervisors() {
  static auto* const directory = new Directory;
  return *directory;
}

}  // namespace

SupervisorEntry::SupervisorEntry(Pid self, Pid parent, const SupervisorSpec& spec, const PoolSpec* pool,
                                 const RestartPlan& plan)
    : listed_(std::make_shared<Listed>(self, parent, spec, pool, plan)), number_(AllSupervisors().Add(listed_)) {}

SupervisorEntry::~SupervisorEntry() {
  AllSupervisors().Remove(listed_->self().node(), number_);
  listed_->End();
}

}  // namespace internal

TreePage LookAtSupervisors(uint16_t node, TreePlace from, size_t at_most, MonotonicTime now) {
  size_t room = std::clamp(at_most, size_t{2}, limits::kTreePageEntriesMax);
  TreePage page;
  uint64_t number = from.supervisor;
  while (const auto listed = internal::AllSupervisors().FirstFrom(node, number)) {
    const uint64_t after = number == from.supervisor ? from.child : 0;
    if (room < 2) {  // the supervisor and a child
      page.next = {number, after};
      return page;
    }
    SupervisorLook look;
    look.number = number;
    if (listed->Read(now, look)) {
      const bool has_more = listed->AddChildren(after, room - 1, look.children);
      room -= 1 + look.children.size();
      if (has_more) page.next = {number, look.children.back().info.place};
      const bool is_told_already = after != 0 && look.children.empty();
      if (!is_told_already) page.supervisors.push_back(std::move(look));
      if (has_more) return page;
    }
    ++number;
  }
  return page;
}

bool IsForgottenWhenDown(Pid supervisor, absl::string_view child) {
  uint64_t number = 0;
  while (const auto listed = internal::AllSupervisors().FirstFrom(supervisor.node(), number)) {
    if (listed->self() == supervisor) return listed->IsForgottenWhenDown(child);
    ++number;
  }
  return false;
}

}  // namespace understudy
