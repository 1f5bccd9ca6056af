#include "understudy/actors/internal/system/failed_starts.h"

#include "absl/synchronization/mutex.h"
#include "absl/types/optional.h"
#include "understudy/actors/exit_reason.h"
#include "understudy/actors/limits.h"
#include "understudy/actors/pid.h"

namespace understudy::internal {

void FailedStarts::Note(Pid actor, Pid parent, const ExitReason& reason) {
  if (!reason.is_abnormal()) return;
  absl::MutexLock lock(&mu_);
  Starts& starts = parent.is_null() ? roots_ : children_;
  if (starts.size() >= limits::kFailedStartsKeptMax) starts.pop_front();
  starts.emplace_back(actor, reason);
}

absl::optional<ExitReason> FailedStarts::Find(Pid actor) const {
  absl::MutexLock lock(&mu_);
  for (const Starts* starts : {&roots_, &children_}) {
    for (const auto& [pid, reason] : *starts) {
      if (pid == actor) return reason;
    }
  }
  return absl::nullopt;
}

}  // namespace understudy::internal
