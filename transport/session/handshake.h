// Handshake: the checks that a Hello and its answer must pass before a session looks at
// them, and how they are encoded. Functions without state; any thread.
//
// Version 1 of the wire is refused, because its sessions have no secret and any process
// could take them over. A node of version 1 can read the first two fields of a Refuse,
// so it can report why it was refused.
#ifndef UNDERSTUDY_TRANSPORT_SESSION_HANDSHAKE_H_
#define UNDERSTUDY_TRANSPORT_SESSION_HANDSHAKE_H_

#include <bit>
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

// The bits of Hello.features and Welcome.features. A session has the features that both ends have.
//
// The node tells the fingerprints of mailboxes, and describes their messages on request (proto/names.proto).
inline constexpr uint64_t kFeatureFingerprints = 1;
// The node has streams. Their asks have ids with internal::kStreamAsk, and their signals are kItem and kStreamCredit.
inline constexpr uint64_t kFeatureStreams = 2;
// With kFeatureStreams: the node has uploads. Their asks have ids with internal::kUploadAsk, and their signals are
// kUploadItem and the three that follow it.
inline constexpr uint64_t kFeatureUploads = 4;
// The node has traces (actors/trace.h), and takes Message.trace. Not among the default features, because a node without
// traces does not offer it.
inline constexpr uint64_t kFeatureTraces = 8;
// The first allowance of a mailbox covers a message while any of its bytes are left
// (CreditTerms::LargeMessages::kNeedBytes in codec/credit.h), so a large message may follow small ones.
inline constexpr uint64_t kFeatureLargeAfterSmall = 16;
static_assert(std::popcount(kFeatureFingerprints | kFeatureStreams | kFeatureUploads | kFeatureTraces |
                            kFeatureLargeAfterSmall) == 5,
              "each feature has a bit of its own");

// The wire versions that a node speaks, and the optional features that it has.
struct WireVersions {
  uint32_t lowest = kWireVersion;
  uint32_t highest = kWireVersion;
  uint64_t features = kFeatureFingerprints | kFeatureStreams | kFeatureUploads | kFeatureLargeAfterSmall;

  friend bool operator==(const WireVersions&, const WireVersions&) = default;
};

// The bound for epochs in a peer's frames. A real epoch never comes near it.
inline constexpr uint64_t kEpochEnd = uint64_t{1} << 62;

// A Hello, Welcome or Refuse: two names, an address, a key, a proof and a few
// numbers. A stream on which no handshake is complete gets no larger frame read.
inline constexpr size_t kHandshakeBytesMax = size_t{4} << 10;

// Like DecodeFrame, but returns InvalidArgument also if the frame is larger than kHandshakeBytesMax.
absl::StatusOr<proto::Frame> DecodeHandshake(absl::string_view bytes);

struct Refusal {
  proto::Refuse::Reason reason = proto::Refuse::MISTAKEN;
  // Says what is wrong, and what would help.
  std::string detail;
};
// "name_taken", …: the reason in lower case; "unknown" for one that this node does not know.
std::string RefusalCause(proto::Refuse::Reason reason);

// Returns what is wrong with a Hello irrespective of any session, or nothing. `node` is
// this node's name. Requires that DecodeHandshake has accepted the frame.
absl::optional<Refusal> CheckHello(const proto::Hello& hello, absl::string_view node, const WireVersions& ours);

// Returns the highest version that both nodes speak, or nothing if there is none.
absl::optional<uint32_t> CommonVersion(const proto::Hello& hello, const WireVersions& ours);

// Returns InvalidArgument if the frame is not a valid Welcome of `peer` to a Hello with
// the versions `ours`. `resumes`: the Hello asked to resume a session. A new session must have `epoch_min` or more.
absl::Status CheckWelcome(const proto::Frame& frame, absl::string_view peer, const WireVersions& ours, bool resumes,
                          uint64_t epoch_min);

// The bytes of a frame with that Refuse.
std::string RefuseFrame(const Refusal& refusal, const WireVersions& ours, NodeIncarnation incarnation,
                        absl::string_view proof = "");

}  // namespace understudy

#endif  // UNDERSTUDY_TRANSPORT_SESSION_HANDSHAKE_H_
