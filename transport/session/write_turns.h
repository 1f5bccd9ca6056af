// WriteTurns: who writes to one stream, its session or the heart. A plain state
// machine.
//
// A stream takes one frame at a time. The session writes a frame when its last
// one is written; the heart, a thread of its own, writes a heartbeat when nothing
// was written for an interval. Neither waits for the other: a frame that comes
// while a heartbeat is being written, and a heartbeat that is due while a frame
// is, are written by whoever completes that.
#ifndef UNDERSTUDY_TRANSPORT_SESSION_WRITE_TURNS_H_
#define UNDERSTUDY_TRANSPORT_SESSION_WRITE_TURNS_H_

#include <string>

#include "absl/time/time.h"
#include "absl/types/optional.h"
#include "understudy/actors/clock.h"

namespace understudy::internal {

class WriteTurns {
 public:
  // From now on the stream carries a session. Nothing after End.
  void Begin(std::string heartbeat, absl::Duration interval, MonotonicTime now);
  // It carries none any more.
  void End() { is_over_ = true; }

  // The session's frame, for which it hears OnWritten. What is to be written now;
  // nothing when the frame follows a heartbeat. Requires that the last frame of
  // the session is written.
  absl::optional<std::string> Write(std::string frame, MonotonicTime now);
  // What was to be written last is written.
  struct Written {
    bool is_frame = false;             // it was the session's, which is told so
    absl::optional<std::string> next;  // to be written now
  };
  Written OnWritten(MonotonicTime now);

  // For the heart, at the time that the last call gave. What is to be written now,
  // and when to call again; never, once End was called.
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
