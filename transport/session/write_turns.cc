#include "understudy/transport/session/write_turns.h"

#include <string>
#include <utility>

#include "absl/time/time.h"
#include "absl/types/optional.h"
#include "understudy/actors/check.h"
#include "understudy/actors/clock.h"

namespace understudy::internal {

void WriteTurns::Begin(std::string heartbeat, absl::Duration interval, MonotonicTime now) {
  if (is_over_) return;
  heartbeat_ = std::move(heartbeat);
  interval_ = interval;
  last_ = now;
}

absl::optional<std::string> WriteTurns::Write(std::string frame, MonotonicTime now) {
  UNDERSTUDY_CHECK(writing_ != Writing::kFrame && !following_.has_value(), "the last frame is not written yet");
  last_ = now;
  if (writing_ == Writing::kHeartbeat) {
    following_ = std::move(frame);
    return absl::nullopt;
  }
  writing_ = Writing::kFrame;
  return frame;
}

WriteTurns::Written WriteTurns::OnWritten(MonotonicTime now) {
  Written written{.is_frame = writing_ == Writing::kFrame};
  writing_ = Writing::kNothing;
  if (following_.has_value()) {
    writing_ = Writing::kFrame;
    written.next = std::exchange(following_, absl::nullopt);
  } else if (std::exchange(is_due_, false) && !is_over_) {
    writing_ = Writing::kHeartbeat;
    written.next = heartbeat_;
  }
  if (written.next.has_value()) last_ = now;
  return written;
}

WriteTurns::Beat WriteTurns::OnTime(MonotonicTime now) {
  if (is_over_) return {};
  const MonotonicTime due = last_ + interval_;
  if (now < due) return {.again = due};
  Beat beat{.again = now + interval_};
  if (writing_ == Writing::kNothing) {
    writing_ = Writing::kHeartbeat;
    last_ = now;
    beat.heartbeat = heartbeat_;
  } else {
    is_due_ = writing_ == Writing::kFrame;
  }
  return beat;
}

}  // namespace understudy::internal
