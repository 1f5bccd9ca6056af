// WriteTurns: the order of writes to one stream by its session and by the thread that
// writes heartbeats. A state machine without a lock or a clock.
//
// A stream takes one frame at a time. The session writes a frame when its last one has
// been written; the heartbeat thread writes a heartbeat when nothing was written for an
// interval. Neither waits for the other: a frame that comes while a heartbeat is being
// written, or a heartbeat that is due while a frame is being written, is written by the
// thread that reports the completion of that write.
#ifndef UNDERSTUDY_TRANSPORT_SESSION_WRITE_TURNS_H_
#define UNDERSTUDY_TRANSPORT_SESSION_WRITE_TURNS_H_

#include <string>

#include "absl/time/time.h"
#include "absl/types/optional.h"
#include "understudy/actors/clock.h"

namespace understudy::internal {

class WriteTurns {
 public:
  // The stream carries a session from now on. Has no effect after End.
  void Begin(std::string heartbeat, absl::Duration interval, MonotonicTime now);
  // The stream does not carry a session any more.
  void End() { is_over_ = true; }

  // The session writes `frame`. Returns what to write to the stream now; nothing if a
  // heartbeat is being written, after which the frame follows. Requires that the
  // session's last frame has been written.
  absl::optional<std::string> Write(std::string frame, MonotonicTime now);
  // The write that was under way has completed.
  struct Written {
    bool is_frame = false;             // it was a frame of the session, which must be told
    absl::optional<std::string> next;  // to be written now
  };
  Written OnWritten(MonotonicTime now);

  // Called by the heartbeat thread, at the time that the last call returned. Returns
  // what to write now, if anything, and when to call again: never once End was called.
  struct Beat {
    absl::optional<std::string> heartbeat;
    MonotonicTime again = MonotonicTime::InfiniteFuture();
  };
  Beat OnTime(MonotonicTime now);

 private:
  enum class Writing : uint8_t { kNothing, kFrame, kHeartbeat };

  std::string heartbeat_;
  absl::Duration interval_ = absl::InfiniteDuration();
  bool is_over_ = false;
  Writing writing_ = Writing::kNothing;
  bool is_due_ = false;                    // a heartbeat, after the frame that is being written
  MonotonicTime last_;                     // write, or Begin
  absl::optional<std::string> following_;  // the session's frame, after the heartbeat
};

}  // namespace understudy::internal

#endif  // UNDERSTUDY_TRANSPORT_SESSION_WRITE_TURNS_H_
