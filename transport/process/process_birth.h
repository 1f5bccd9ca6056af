// ProcessBirth: had a process started when it ended?
//
// What it says comes over its stream, its wait status from the kernel, on two
// threads: either may be first. So the end of a process that has a stream, and
// that has not said that it is started, waits for the end of the stream: what it
// said comes before that (NodeCore::Accept).
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
  // Each is true when the end is now to be told, after what this input means.

  // It said that it is started.
  bool Started() {
    is_started_ = true;
    return has_ended();
  }
  // Nothing more will be heard of it.
  bool StreamOver() {
    is_silent_ = true;
    return has_ended();
  }
  // Its wait status. Without a stream it can have said nothing.
  bool Ended(ExitReason reason, bool has_stream) {
    reason_ = std::move(reason);
    return is_started_ || is_silent_ || !has_stream;
  }

  bool has_ended() const { return reason_.has_value(); }
  // Of its end; requires has_ended().
  const ExitReason& reason() const { return *reason_; }

 private:
  bool is_started_ = false;
  bool is_silent_ = false;
  absl::optional<ExitReason> reason_;
};

}  // namespace understudy::internal

#endif  // UNDERSTUDY_TRANSPORT_PROCESS_PROCESS_BIRTH_H_
