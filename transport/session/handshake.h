// Handshake: what a Hello and its answer must be before a session looks at them,
// and how they are put together. Functions without state; any thread.
//
// Version 1 of the wire is refused: its sessions have no secret, so a stranger
// takes them over. A node of version 1 reads the first two fields of a Refuse,
// and says why.
#ifndef UNDERSTUDY_TRANSPORT_SESSION_HANDSHAKE_H_
#define UNDERSTUDY_TRANSPORT_SESSION_HANDSHAKE_H_

#include <cstddef>
#include <cstdint>
#include <string>

#include "absl/status/status.h"
#include "absl/status/statusor.h"
#include "absl/strings/string_view.h"
#include "absl/types/optional.h"
#include "understudy/actors/pid.h"
#include "understudy/proto/envelope.pb.h"
#include "understudy/transport/codec/frame_codec.h"

namespace understudy {

// The wire versions that a node speaks, and what it can do beside them.
struct WireVersions {
  uint32_t lowest = kWireVersion;
  uint32_t highest = kWireVersion;
  uint64_t features = 0;

  friend bool operator==(const WireVersions&, const WireVersions&) = default;
};

// No session's epoch comes near it; a peer's numbers are checked against it.
inline constexpr uint64_t kEpochEnd = uint64_t{1} << 62;

// A Hello, Welcome or Refuse: two names, an address, a key, a proof and a few
// numbers. A stream on which no handshake is complete gets no larger frame read.
inline constexpr size_t kHandshakeBytesMax = size_t{4} << 10;

// As DecodeFrame; InvalidArgument also when it is larger.
absl::StatusOr<proto::Frame> DecodeHandshake(absl::string_view bytes);

struct Refusal {
  proto::Refuse::Reason reason = proto::Refuse::MISTAKEN;
  // What is wrong, and what would help.
  std::string detail;
};
// What is wrong with a Hello whatever sessions there are. Requires that
// DecodeHandshake has passed it.
absl::optional<Refusal> CheckHello(const proto::Hello& hello, absl::string_view node, const WireVersions& ours);

// The highest version that both speak; nothing when there is none.
absl::optional<uint32_t> CommonVersion(const proto::Hello& hello, const WireVersions& ours);

// InvalidArgument when it is no answer to a Hello of `ours` to `peer`.
absl::Status CheckWelcome(const proto::Frame& frame, absl::string_view peer, const WireVersions& ours, bool resumes);

// The bytes of a frame with that Refuse.
std::string RefuseFrame(const Refusal& refusal, const WireVersions& ours, NodeIncarnation incarnation,
                        absl::string_view proof = "");

}  // namespace understudy

#endif  // UNDERSTUDY_TRANSPORT_SESSION_HANDSHAKE_H_
