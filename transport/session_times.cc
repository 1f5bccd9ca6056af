#include "understudy/transport/session_times.h"

#include <algorithm>
#include <string>
#include <vector>

#include "absl/status/status.h"
#include "absl/strings/str_cat.h"
#include "absl/strings/str_join.h"
#include "absl/strings/string_view.h"
#include "absl/time/time.h"
#include "understudy/actors/limits.h"
#include "understudy/proto/envelope.pb.h"

namespace understudy {
namespace {

// Heartbeats of a thousand idle peers at this interval are 100,000 frames a second, the most that one core writes.
constexpr absl::Duration kHeartbeatMin = absl::Milliseconds(10);
// A stall may delay two heartbeats; silence counts when the third is missing.
constexpr int kHeartbeatsPerSilence = 3;
// If links to a dead peer lasted longer than this, an operator would do better to declare the peer dead by hand.
constexpr absl::Duration kSilenceMax = limits::kProcessChildSilenceMax;
// A suspect session keeps its unacknowledged envelopes in memory (see limits.h), for at most this long.
constexpr absl::Duration kGraceMax = absl::Hours(1);
// Bounds of the other waits: a minute is enough for each, and zero would leave the peer no time to answer.
constexpr absl::Duration kWaitMin = absl::Milliseconds(1);
constexpr absl::Duration kWaitMax = absl::Minutes(1);
// The peer keeps its envelopes until they are acknowledged, so a longer delay would keep its buffers full.
constexpr absl::Duration kAcknowledgeDelayMax = absl::Seconds(1);

// Collects an error text for each field that is out of its range.
class Errors {
 public:
  void CheckRange(absl::string_view field, absl::Duration value, absl::Duration min, absl::Duration max) {
    if (value >= min && value <= max) return;
    texts_.push_back(absl::StrCat(field, " is ", absl::FormatDuration(value), ": expected ", absl::FormatDuration(min),
                                  " to ", absl::FormatDuration(max)));
  }
  absl::Status status() const {
    if (texts_.empty()) return absl::OkStatus();
    return absl::InvalidArgumentError(absl::StrCat("session times: ", absl::StrJoin(texts_, "; ")));
  }

 private:
  std::vector<std::string> texts_;
};

void CheckAgreedTimes(const SessionTimes& times, Errors& errors) {
  errors.CheckRange("silence_timeout", times.silence_timeout, kHeartbeatsPerSilence * kHeartbeatMin, kSilenceMax);
  const absl::Duration silence = std::clamp(times.silence_timeout, kHeartbeatsPerSilence * kHeartbeatMin, kSilenceMax);
  // At most a third of silence_timeout, rounded down to milliseconds, because the handshake sends whole milliseconds.
  errors.CheckRange("heartbeat_interval", times.heartbeat_interval, kHeartbeatMin,
                    absl::Floor(silence / kHeartbeatsPerSilence, absl::Milliseconds(1)));
  errors.CheckRange("grace_period", times.grace_period, absl::ZeroDuration(), kGraceMax);
}

SessionTimes FromProto(const proto::Times& times) {
  SessionTimes values;
  values.heartbeat_interval = absl::Milliseconds(times.heartbeat_ms());
  values.silence_timeout = absl::Milliseconds(times.silence_ms());
  values.grace_period = absl::Milliseconds(times.grace_ms());
  return values;
}

}  // namespace

SessionTimes SessionTimes::SameMachine() {
  SessionTimes times;
  times.silence_timeout = absl::Seconds(3);
  times.grace_period = absl::Seconds(3);
  return times;
}

SessionTimes SessionTimes::Lan() { return {}; }

SessionTimes SessionTimes::Wan() {
  SessionTimes times;
  times.heartbeat_interval = absl::Seconds(3);
  times.silence_timeout = absl::Seconds(15);
  times.grace_period = absl::Seconds(60);
  times.handshake_timeout = absl::Seconds(10);
  times.probe_timeout = absl::Seconds(3);
  times.backoff_min = absl::Milliseconds(100);
  times.backoff_max = absl::Seconds(10);
  times.leave_timeout = absl::Seconds(5);
  times.linger = absl::Seconds(3);
  return times;
}

absl::Status SessionTimes::Validate() const {
  Errors errors;
  CheckAgreedTimes(*this, errors);
  errors.CheckRange("handshake_timeout", handshake_timeout, kWaitMin, kWaitMax);
  errors.CheckRange("probe_timeout", probe_timeout, kWaitMin, kWaitMax);
  errors.CheckRange("acknowledge_delay", acknowledge_delay, absl::ZeroDuration(), kAcknowledgeDelayMax);
  errors.CheckRange("backoff_min", backoff_min, kWaitMin, kWaitMax);
  errors.CheckRange("backoff_max", backoff_max, std::clamp(backoff_min, kWaitMin, kWaitMax), kWaitMax);
  errors.CheckRange("leave_timeout", leave_timeout, absl::ZeroDuration(), kWaitMax);
  errors.CheckRange("linger", linger, kWaitMin, kWaitMax);
  return errors.status();
}

proto::Times ToProto(const SessionTimes& times) {
  proto::Times values;
  values.set_heartbeat_ms(static_cast<uint32_t>(absl::ToInt64Milliseconds(times.heartbeat_interval)));
  values.set_silence_ms(static_cast<uint32_t>(absl::ToInt64Milliseconds(times.silence_timeout)));
  values.set_grace_ms(static_cast<uint32_t>(absl::ToInt64Milliseconds(times.grace_period)));
  return values;
}

absl::Status CheckTimes(const proto::Times& theirs) {
  Errors errors;
  CheckAgreedTimes(FromProto(theirs), errors);
  return errors.status();
}

SessionTimes Agree(SessionTimes ours, const proto::Times& theirs) {
  const SessionTimes other = FromProto(theirs);
  ours.silence_timeout = std::max(ours.silence_timeout, other.silence_timeout);
  ours.grace_period = std::max(ours.grace_period, other.grace_period);
  return ours;
}

SessionTimes AgreeUnproved(const SessionTimes& ours, const proto::Times& theirs, AcceptingEnd accepting) {
  SessionTimes agreed = Agree(ours, theirs);
  const absl::Duration own = accepting == AcceptingEnd::kOurs ? ours.grace_period : FromProto(theirs).grace_period;
  agreed.grace_period = std::min(agreed.grace_period, std::max(own, SessionTimes::Wan().grace_period));
  return agreed;
}

}  // namespace understudy
