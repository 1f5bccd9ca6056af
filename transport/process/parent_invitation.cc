#include "understudy/transport/process/parent_invitation.h"

#include <algorithm>
#include <cstdint>
#include <string>
#include <vector>

#include "absl/status/status.h"
#include "absl/status/statusor.h"
#include "absl/strings/numbers.h"
#include "absl/strings/str_cat.h"
#include "absl/strings/str_split.h"
#include "absl/strings/string_view.h"
#include "absl/time/time.h"
#include "understudy/actors/limits.h"
#include "understudy/transport/codec/frame_codec.h"
#include "understudy/transport/session_times.h"

namespace understudy::internal {

std::string ParentInvitation::ToString() const {
  return absl::StrCat(descriptor, " ", parent, " ", node, " ", absl::ToInt64Milliseconds(silence), " ", listen);
}

absl::StatusOr<ParentInvitation> ParentInvitation::Parse(absl::string_view text) {
  // The address is the last part, because it may contain spaces.
  const std::vector<std::string> parts = absl::StrSplit(text, absl::MaxSplits(' ', 4));
  ParentInvitation invitation;
  int64_t silence_ms = 0;
  if (parts.size() != 5 || !absl::SimpleAtoi(parts[3], &silence_ms) || silence_ms <= 0 ||
      !absl::SimpleAtoi(parts[0], &invitation.descriptor) || invitation.descriptor < 0 ||
      !ValidateNodeName(parts[1]).ok() || !ValidateNodeName(parts[2]).ok()) {
    return absl::InvalidArgumentError(absl::StrCat("the environment variable ", kVariable, " is '", text,
                                                   "', which no parent node writes; it is not to be set by hand"));
  }
  invitation.parent = parts[1];
  invitation.node = parts[2];
  invitation.silence = absl::Milliseconds(silence_ms);
  invitation.listen = parts[4];
  return invitation;
}

SessionTimes ProcessSessionTimes(SessionTimes times, absl::Duration silence) {
  times.grace_period = absl::ZeroDuration();
  times.handshake_timeout = limits::kParentAnswersWithin;
  times.silence_timeout = silence;
  times.heartbeat_interval = std::min(times.heartbeat_interval, absl::Floor(silence / 4, absl::Milliseconds(1)));
  return times;
}

}  // namespace understudy::internal
