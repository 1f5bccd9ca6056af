// ProcessBirth: decides whether a process child had started before it ended.
//
// The messages of the process come over its stream and its wait status from the kernel, on
// two threads, so either may be seen first. If a process that has a stream ends before its
// "started" message was seen, its end is therefore reported only after the end of the
// stream, which comes after every message on it (NodeCore::Accept).
//
//   if (birth.Ended(reason, has_stream)) context().Stop(birth.reason());
//
// Owner's turn only.
#ifndef UNDERSTUDY_TRANSPORT_PROCESS_PROCESS_BIRTH_H_
#define UNDERSTUDY_TRANSPORT_PROCESS_PROCESS_BIRTH_H_

#include <utility>

#include "absl/types/optional.h"
#include "understudy/actors/exit_reason.h"

namespace understudy::internal {

class ProcessBirth {
 public:
  // Each of these returns true if the end of the process is to be reported now.

  // The process said that it has started.
  bool Started() {
    is_started_ = true;
    return has_ended();
  }
  // The stream has ended: no further message of the process will come.
  bool StreamOver() {
    is_silent_ = true;
    return has_ended();
  }
  // The process has ended. If it has no stream it cannot have sent a message.
  bool Ended(ExitReason reason, bool has_stream) {
    reason_ = std::move(reason);
    return is_started_ || is_silent_ || !has_stream;
  }

  bool has_ended() const { return reason_.has_value(); }
  // The exit reason of the process. Requires: has_ended().
  const ExitReason& reason() const { return *reason_; }

 private:
  bool is_started_ = false;
  bool is_silent_ = false;
  absl::optional<ExitReason> reason_;
};

}  // namespace understudy::internal

#endif  // UNDERSTUDY_TRANSPORT_PROCESS_PROCESS_BIRTH_H_
