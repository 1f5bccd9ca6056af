// The codec: between the bytes that a peer wrote and the values of actors.
//
// Bytes from a peer are hostile until they have passed this file: sizes are
// checked before anything is allocated by them, counts and numbers before they
// are used. Everything that it finds wrong is a bad *frame*, InvalidArgument,
// which ends the session. A bad *payload* (a user's message that does not
// parse, is too large for its mailbox or names no mailbox) is not found here:
// payloads stay bytes until the receiving actor's turn, and only their message
// is lost.
//
// A message larger than a slot travels in several slots that follow each
// other; one larger than limits::kMessageBytesMax is refused when it is sent.
//
// Statuses and exit reasons travel whole: payloads, causes, flags.
//
// Threads: any; no state but FramePacker's, which has one owner.
#ifndef UNDERSTUDY_TRANSPORT_FRAME_CODEC_H_
#define UNDERSTUDY_TRANSPORT_FRAME_CODEC_H_

#include <cstdint>
#include <string>
#include <variant>

#include "absl/status/status.h"
#include "absl/status/statusor.h"
#include "absl/strings/string_view.h"
#include "absl/types/optional.h"
#include "understudy/actors/exit_reason.h"
#include "understudy/actors/message.h"
#include "understudy/actors/pid.h"
#include "understudy/proto/envelope.pb.h"
#include "understudy/proto/names.pb.h"
#include "understudy/proto/signals.pb.h"

namespace understudy {

// Hello and Welcome carry it; nodes talk only when theirs are equal.
inline constexpr uint32_t kWireVersion = 1;

// OK, or InvalidArgument: a node's name is a DNS label (a-z, 0-9, inner '-',
// at most 63).
absl::Status ValidateNodeName(absl::string_view name);

// ---- Frames ----

// Fills one frame up to limits::kFrameBytesMax.
class FramePacker {
 public:
  FramePacker(uint64_t epoch, uint64_t acknowledged);

  // For the control part. Its texts must be short: see limits.h.
  proto::Frame& frame() { return frame_; }

  // Adds the slot numbered `number`, one above the last one's. False when the
  // frame is full; it is then unchanged. `define` is null, or defines the
  // slot's mailbox for this stream. Requires a body of at most kSlotBytesMax.
  bool Add(uint64_t number, absl::string_view body, bool continues, absl::optional<int64_t> remaining_nanos,
           const proto::MailboxDefinition* define);

  bool has_slots() const { return frame_.slots_size() > 0; }
  // The frame's bytes.
  std::string Encode() const;

 private:
  proto::Frame frame_;
  size_t bytes_;
};

// InvalidArgument when anything in it is not as this file and envelope.proto
// say; what depends on the session (epochs, numbers) is the session's to check.
absl::StatusOr<proto::Frame> DecodeFrame(absl::string_view bytes);

// ---- Envelopes ----

// The two nodes of a session, as the process-wide NodeTable knows them.
struct NodePair {
  uint16_t local_node = 0;
  NodeIncarnation local;
  uint16_t peer_node = 0;
  NodeIncarnation peer;
};

// A message of ours that the peer's system did not accept.
struct RefusedMessage {
  Pid from;  // ours
  Pid to;    // the peer's
  uint32_t mailbox = 0;
  uint64_t ask = 0;
  absl::Status status;
};

// Credit for messages to a mailbox of the peer's.
struct ReleasedCredit {
  Pid to;
  uint32_t mailbox = 0;
  int64_t count = 0;
};

// The peer's node stops; this was its last envelope.
struct LeaveNotice {
  std::string why;
};

using InboundEnvelope =
    std::variant<internal::Message, Signal, RefusedMessage, ReleasedCredit, proto::NameChanges, LeaveNotice>;

// The envelope of a message, with the payload's bytes. InvalidArgument when
// they are more than limits::kMessageBytesMax.
absl::StatusOr<std::string> EncodeMessage(const NodePair& nodes, Pid from, Pid to, uint32_t mailbox, uint64_t ask,
                                          std::string payload);

// A reply whose payload cannot travel (no wire message, too large) becomes a
// reply with InvalidArgument.
std::string EncodeSignal(const NodePair& nodes, const Signal& signal);

// `message.from` is the peer's actor, `message.to` ours.
std::string EncodeRefused(const NodePair& nodes, const RefusedMessage& message);
// `credit.to` is our actor.
std::string EncodeReleased(const NodePair& nodes, const ReleasedCredit& credit);
std::string EncodeNames(const proto::NameChanges& changes);
std::string EncodeLeave(absl::string_view why);

// The sender must be of the peer's own incarnation, the receiver of ours. The
// deadline of a message is the caller's to fill in.
absl::StatusOr<InboundEnvelope> DecodeEnvelope(const NodePair& nodes, absl::string_view bytes);

// ---- Values ----

proto::Status ToProto(const absl::Status& status);
// A code that is none of absl's becomes Unknown.
absl::Status FromProto(const proto::Status& status);

proto::ExitReason ToProto(const ExitReason& reason);
// InvalidArgument: no reason, more than limits::kExitCausesMax, an unknown kind.
absl::StatusOr<ExitReason> FromProto(const proto::ExitReason& reason);

proto::Address ToAddress(NodeIncarnation incarnation, Pid pid);
// `node` is the index of `incarnation`. InvalidArgument when the address is
// another incarnation's or not possible. Serial 0 (a plain thread) gives a null
// pid that still knows its node.
absl::StatusOr<Pid> FromAddress(const proto::Address& address, NodeIncarnation incarnation, uint16_t node);

}  // namespace understudy

#endif  // UNDERSTUDY_TRANSPORT_FRAME_CODEC_H_
