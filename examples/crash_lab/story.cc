#include "understudy/examples/crash_lab/story.h"

#include <cstdint>
#include <memory>
#include <string>
#include <utility>
#include <vector>

#include "absl/base/thread_annotations.h"
#include "absl/strings/str_cat.h"
#include "absl/synchronization/mutex.h"
#include "absl/time/time.h"
#include "absl/types/optional.h"
#include "understudy/supervision/child_spec.h"
#include "understudy/supervision/supervision_event.h"

namespace crash_lab {

using understudy::SupervisionEvent;
using understudy::SupervisorSpec;

SupervisorSpec Story::ToldBy(SupervisorSpec spec, const std::string& name) {
  spec.on_event = [this, name](const SupervisionEvent& event) { Tell(name, event); };
  for (understudy::ChildSpec& child : spec.children) {
    if (child.subtree != nullptr) {
      child.subtree = Subtree(ToldBy(*child.subtree, child.id));
    }
  }
  return spec;
}

void Story::Tell(const std::string& supervisor, const SupervisionEvent& event) {
  SupervisionEvent nameless = event;
  nameless.pid = understudy::Pid();
  const bool is_shutdown = event.kind == SupervisionEvent::Kind::kShutdown;
  std::string text =
      is_shutdown ? absl::StrCat(SupervisionEventName(event.kind), ": ", event.reason.ToString()) : nameless.ToString();
  absl::MutexLock lock(&mu_);
  lines_.push_back(absl::StrCat(supervisor, ": ", text));
  ++told_;
  if (event.kind == SupervisionEvent::Kind::kExited || event.kind == SupervisionEvent::Kind::kStopped ||
      event.kind == SupervisionEvent::Kind::kStartFailed) {
    ended_.insert(event.pid);
  }
}

void Story::RootEnded(const understudy::ExitReason& reason) {
  absl::MutexLock lock(&mu_);
  ++told_;
  root_end_ = reason;
}

std::vector<std::string> Story::Take() {
  absl::MutexLock lock(&mu_);
  return std::exchange(lines_, {});
}

int64_t Story::told() const {
  absl::MutexLock lock(&mu_);
  return told_;
}

bool Story::AwaitMore(int64_t seen, absl::Time deadline) const {
  absl::MutexLock lock(&mu_);
  const auto is_more = [&]() ABSL_SHARED_LOCKS_REQUIRED(mu_) { return told_ > seen; };
  return mu_.AwaitWithDeadline(absl::Condition(&is_more), deadline);
}

bool Story::AwaitEndOf(understudy::Pid pid, absl::Time deadline) const {
  absl::MutexLock lock(&mu_);
  const auto has_ended = [&]()
                             ABSL_SHARED_LOCKS_REQUIRED(mu_) { return ended_.contains(pid) || root_end_.has_value(); };
  return mu_.AwaitWithDeadline(absl::Condition(&has_ended), deadline);
}

absl::optional<understudy::ExitReason> Story::root_end() const {
  absl::MutexLock lock(&mu_);
  return root_end_;
}

}  // namespace crash_lab
