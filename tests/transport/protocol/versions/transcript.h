// Transcript: the frames of one stream between a client's node and a server's node, as a file has them: a frame on each
// line, "client" or "server", who wrote it, and its bytes in hexadecimal. Lines that begin with # are comments.
#ifndef UNDERSTUDY_TESTS_TRANSPORT_PROTOCOL_VERSIONS_TRANSCRIPT_H_
#define UNDERSTUDY_TESTS_TRANSPORT_PROTOCOL_VERSIONS_TRANSCRIPT_H_

#include <string>
#include <vector>

#include "absl/strings/string_view.h"

namespace wallet {

// The names of the nodes. The client dials.
inline constexpr absl::string_view kClient = "client";
inline constexpr absl::string_view kServer = "server";

struct RecordedFrame {
  std::string from;
  std::string bytes;
};
using Transcript = std::vector<RecordedFrame>;

}  // namespace wallet

#endif  // UNDERSTUDY_TESTS_TRANSPORT_PROTOCOL_VERSIONS_TRANSCRIPT_H_
