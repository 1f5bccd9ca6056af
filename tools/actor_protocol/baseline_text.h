// The text of a baseline: a Protocol in text format, one service, rpc, message, field, enum or value a line, sorted by
// names and numbers. So equal protocols have equal texts, and a review shows each change as a line.
// Any thread.
#ifndef UNDERSTUDY_TOOLS_ACTOR_PROTOCOL_BASELINE_TEXT_H_
#define UNDERSTUDY_TOOLS_ACTOR_PROTOCOL_BASELINE_TEXT_H_

#include <string>

#include "absl/status/statusor.h"
#include "absl/strings/string_view.h"
#include "understudy/transport/protocol/placed_protocol.h"
#include "understudy/transport/protocol/protocol.pb.h"

namespace understudy::actor_protocol {

// `update` is the command that writes this baseline anew; the text's head names it.
std::string BaselineText(const Protocol& protocol, absl::string_view update);

// Reads what BaselineText wrote. InvalidArgument with all that is wrong, each error on a line of its own that begins
// with `file` and the line in it.
absl::StatusOr<PlacedProtocol> ReadBaselineText(absl::string_view text, absl::string_view file);

}  // namespace understudy::actor_protocol

#endif  // UNDERSTUDY_TOOLS_ACTOR_PROTOCOL_BASELINE_TEXT_H_
