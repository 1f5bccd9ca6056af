// Story: what the supervisors of the lab did, in order.
//
// Lines have neither pids nor times, so that the same script gives the same
// story. Threads: any. Lifetime: outlives the system whose tree tells it.
#ifndef UNDERSTUDY_EXAMPLES_CRASH_LAB_STORY_H_
#define UNDERSTUDY_EXAMPLES_CRASH_LAB_STORY_H_

#include <cstdint>
#include <set>
#include <string>
#include <vector>

#include "absl/base/thread_annotations.h"
#include "absl/synchronization/mutex.h"
#include "absl/time/time.h"
#include "absl/types/optional.h"
#include "understudy/actors/exit_reason.h"
#include "understudy/actors/pid.h"
#include "understudy/supervision/child_spec.h"
#include "understudy/supervision/supervision_event.h"

namespace crash_lab {

class Story {
 public:
  // `spec` whose supervisors, this one called `name`, tell this story.
  understudy::SupervisorSpec ToldBy(understudy::SupervisorSpec spec, const std::string& name);
  void RootEnded(const understudy::ExitReason& reason);

  // The lines since the last call.
  std::vector<std::string> Take();
  // Lines until now; AwaitMore waits for one more than `seen`. False at the
  // deadline.
  int64_t told() const;
  bool AwaitMore(int64_t seen, absl::Time deadline) const;
  // Waits until the end of that life of a child was told.
  bool AwaitEndOf(understudy::Pid pid, absl::Time deadline) const;
  // Why the whole tree has ended, if it has.
  absl::optional<understudy::ExitReason> root_end() const;

 private:
  void Tell(const std::string& supervisor, const understudy::SupervisionEvent& event);

  mutable absl::Mutex mu_;
  std::vector<std::string> lines_ ABSL_GUARDED_BY(mu_);
  int64_t told_ ABSL_GUARDED_BY(mu_) = 0;
  std::set<understudy::Pid> ended_ ABSL_GUARDED_BY(mu_);
  absl::optional<understudy::ExitReason> root_end_ ABSL_GUARDED_BY(mu_);
};

}  // namespace crash_lab

#endif  // UNDERSTUDY_EXAMPLES_CRASH_LAB_STORY_H_
