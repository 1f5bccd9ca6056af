#include "understudy/transport/process/parent_invitation.h"

#include <algorithm>
#include <cstdint>
#include <string>
#include <vector>

#include "absl/status/status.h"
#include "absl/status/statusor.h"
#include "absl/strings/escaping.h"
#include "absl/strings/numbers.h"
#include "absl/strings/str_cat.h"
#include "absl/strings/str_split.h"
#include "absl/strings/string_view.h"
#include "absl/time/time.h"
#include "understudy/actors/limits.h"
#include "understudy/proto/ref.pb.h"
#include "understudy/transport/codec/frame_codec.h"
#include "understudy/transport/session_times.h"

namespace understudy::internal {
namespace {

bool ReadRef(absl::string_view hex, proto::Ref& ref) {
  const bool is_hex = hex.size() % 2 == 0 && hex.find_first_not_of("0123456789abcdef") == absl::string_view::npos;
  return is_hex && ref.ParseFromString(absl::HexStringToBytes(hex)) && ValidateNodeName(ref.node()).ok() &&
         ref.incarnation() != 0 && ref.serial() != 0;
}

}  // namespace

std::string ParentInvitation::ToString() const {
  return absl::StrCat(descriptor, " ", absl::BytesToHexString(proxy.SerializeAsString()), " ", node, " ",
                      absl::ToInt64Milliseconds(silence), " ", listen);
}

absl::StatusOr<ParentInvitation> ParentInvitation::Parse(absl::string_view text) {
  // The address is the last part, because it may contain spaces.
  const std::vector<std::string> parts = absl::StrSplit(text, absl::MaxSplits(' ', 4));
  ParentInvitation invitation;
  int64_t silence_ms = 0;
  if (parts.size() != 5 || !absl::SimpleAtoi(parts[3], &silence_ms) || silence_ms <= 0 ||
      !absl::SimpleAtoi(parts[0], &invitation.descriptor) || invitation.descriptor < 0 ||
      !ReadRef(parts[1], invitation.proxy) || !ValidateNodeName(parts[2]).ok()) {
    return absl::InvalidArgumentError(absl::StrCat("the environment variable ", kVariable, " is '", text,
                                                   "', which no parent node writes; it is not to be set by hand"));
  }
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
