// Story: the events of the lab's supervisors, in order, as lines of text.
//
// The lines have neither pids nor times, so that the same script gives the same story.
// Threads: any. Lifetime: the story must outlive the system with the tree.
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
  // Returns `spec` with its supervisors' events added to this story. `name` is the name of
  // the root in the story.
  understudy::SupervisorSpec ToldBy(understudy::SupervisorSpec spec, const std::string& name);
  void RootEnded(const understudy::ExitReason& reason);

  // Returns the lines since the last call.
  std::vector<std::string> Take();
  // The number of events so far.
  int64_t told() const;
  // Waits until there are more than `seen` events. Returns false at the deadline.
  bool AwaitMore(int64_t seen, absl::Time deadline) const;
  // Waits for the event of the end of that life of a child, or for the end of the whole
  // tree. Returns false at the deadline.
  bool AwaitEndOf(understudy::Pid pid, absl::Time deadline) const;
  // The exit reason of the whole tree, if it has ended.
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
