#include "understudy/transport/process_actors.h"

#include <string>
#include <vector>

#include "absl/status/status.h"
#include "absl/status/statusor.h"
#include "absl/strings/numbers.h"
#include "absl/strings/str_cat.h"
#include "absl/strings/str_split.h"
#include "absl/strings/string_view.h"
#include "understudy/transport/frame_codec.h"

namespace understudy::internal {

std::string ParentInvitation::ToString() const { return absl::StrCat(descriptor, " ", parent, " ", node, " ", listen); }

absl::StatusOr<ParentInvitation> ParentInvitation::Parse(absl::string_view text) {
  // The address is the last, and may contain spaces.
  const std::vector<std::string> parts = absl::StrSplit(text, absl::MaxSplits(' ', 3));
  ParentInvitation invitation;
  if (parts.size() != 4 || !absl::SimpleAtoi(parts[0], &invitation.descriptor) || invitation.descriptor < 0 ||
      !ValidateNodeName(parts[1]).ok() || !ValidateNodeName(parts[2]).ok()) {
    return absl::InvalidArgumentError(absl::StrCat("the environment variable ", kVariable, " is '", text,
                                                   "', which no parent node writes; it is not to be set by hand"));
  }
  invitation.parent = parts[1];
  invitation.node = parts[2];
  invitation.listen = parts[3];
  return invitation;
}

}  // namespace understudy::internal
