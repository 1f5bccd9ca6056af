// FailedStarts: why the last actors whose starts failed did, for those that ask afterwards. Any thread.
#ifndef UNDERSTUDY_ACTORS_INTERNAL_SYSTEM_FAILED_STARTS_H_
#define UNDERSTUDY_ACTORS_INTERNAL_SYSTEM_FAILED_STARTS_H_

#include <deque>
#include <utility>

#include "absl/base/thread_annotations.h"
#include "absl/synchronization/mutex.h"
#include "absl/types/optional.h"
#include "understudy/actors/exit_reason.h"
#include "understudy/actors/pid.h"

namespace understudy::internal {

class FailedStarts {
 public:
  // The start of `actor` ended with `reason`; `parent` is null if it has none. Ignores reasons that are not abnormal:
  // an actor that was told to end, or that declined to start, has not failed. Of the others, the last
  // limits::kFailedStartsKeptMax of actors without a parent are kept, and as many of actors with one.
  void Note(Pid actor, Pid parent, const ExitReason& reason);
  absl::optional<ExitReason> Find(Pid actor) const;

 private:
  using Starts = std::deque<std::pair<Pid, ExitReason>>;  // oldest first

  mutable absl::Mutex mu_;
  Starts roots_ ABSL_GUARDED_BY(mu_);
  Starts children_ ABSL_GUARDED_BY(mu_);
};

}  // namespace understudy::internal

#endif  // UNDERSTUDY_ACTORS_INTERNAL_SYSTEM_FAILED_STARTS_H_
