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
// A message larger than a slot travels in several slots; one larger than limits::kMessageBytesMax is refused when it is
// sent.
//
// Statuses and exit reasons travel whole: payloads, causes, flags.
//
// The frames of a session, messages and replies are written and read by hand
// (wire_format.h); the bytes are protobuf's, and what is unusual in what a peer
// wrote is left to protobuf's parser.
//
// Threads: any; no state but FramePacker's, which has one owner.
#ifndef UNDERSTUDY_TRANSPORT_CODEC_FRAME_CODEC_H_
#define UNDERSTUDY_TRANSPORT_CODEC_FRAME_CODEC_H_

#include <cstddef>
#include <cstdint>
#include <memory>
#include <string>
#include <variant>
#include <vector>

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
#include "understudy/transport/codec/credit.h"
#include "understudy/transport/codec/frame_memory.h"

namespace understudy {

// The only wire version so far that is spoken; see handshake.h.
inline constexpr uint32_t kWireVersion = 2;

// OK, or InvalidArgument: a node's name is a DNS label (a-z, 0-9, inner '-',
// at most 63) other than `understudy`, under which names are reserved.
absl::Status ValidateNodeName(absl::string_view name);

// ---- Frames ----

// One slot of a frame: an envelope, or a part of one (envelope.proto).
struct SlotView {
  absl::string_view body;
  uint32_t part_of = 0;
  bool continues = false;
  absl::optional<int64_t> remaining_nanos;
};

// The full name behind a mailbox's hash.
struct MailboxDefinition {
  uint32_t hash = 0;
  absl::string_view name;
};

// Several slots with nothing but their bodies, in the bytes that a frame has of
// them: they are written together.
class PackedSlots {
 public:
  // Requires a body of at most kSlotBytesMax.
  void Add(absl::string_view body);
  // The bytes of the bodies that go. Requires `count` slots or more.
  size_t DropFirst(size_t count);

  size_t count() const { return count_; }
  absl::string_view bytes() const { return run_.bytes; }

 private:
  internal::RunBytes run_;
  size_t count_ = 0;
};

// Fills one frame up to limits::kFrameBytesMax: writes it as protobuf would write
// a proto::Frame.
class FramePacker {
 public:
  FramePacker(uint64_t epoch, uint64_t acknowledged);

  // For the control part only. Its texts must be short: see limits.h.
  proto::Frame& frame() { return control_.has_value() ? *control_ : control_.emplace(); }

  // Adds the slot numbered `number`, one above the last one's. False when the
  // frame is full; it is then unchanged. `define` is null, or defines the
  // slot's mailbox for this stream. Requires a body of at most kSlotBytesMax.
  bool Add(uint64_t number, const SlotView& slot, const MailboxDefinition* define);
  // The same for all of `slots`, from number `first` on, or none.
  bool Add(uint64_t first, const PackedSlots& slots, const MailboxDefinition* define);
  // A slot with a body of so many bytes, which defines no mailbox, can be added;
  // 0 when none can.
  size_t body_bytes_left() const;

  bool has_slots() const { return slots_ > 0; }
  // The frame's bytes. Call once.
  std::string Encode();

 private:
  // Makes ready for so many slots of so many bytes, the first with that number; false when there is no room.
  bool Begin(uint64_t number, size_t count, size_t bytes, const MailboxDefinition* define);
  void Define(const MailboxDefinition& definition);

  std::string bytes_;           // of all but the control part
  size_t definitions_end_ = 0;  // where the next definition goes, and the first slot begins
  size_t slots_ = 0;
  uint64_t first_number_ = 0;
  absl::optional<proto::Frame> control_;
};

// A frame of a session. Its views are parts of the bytes that were decoded, and
// of `control`.
struct FrameView {
  uint64_t epoch = 0;
  uint64_t acknowledged = 0;
  uint64_t first_number = 0;
  std::vector<MailboxDefinition> definitions;
  std::vector<SlotView> slots;
  // Null when there is no control part; its slots and definitions are not to be used.
  std::unique_ptr<const proto::Frame> control;

  bool is_handshake() const {
    return control != nullptr && (control->has_hello() || control->has_welcome() || control->has_refuse());
  }
};

// InvalidArgument when anything in it is not as this file and envelope.proto
// say; what depends on the session (epochs, numbers) is the session's to check.
absl::StatusOr<FrameView> DecodeSessionFrame(absl::string_view bytes);
// The same, of a handshake, as protobuf's object.
absl::StatusOr<proto::Frame> DecodeFrame(absl::string_view bytes);

// ---- Envelopes ----

// The two nodes of a session, as the process-wide NodeTable knows them.
struct NodePair {
  uint16_t local_node = 0;
  NodeIncarnation local;
  NodePlace peer_node;
  NodeIncarnation peer;
};

// A message of ours that the peer's system did not accept.
struct RefusedMessage {
  Pid from;  // ours
  Pid to;    // the peer's
  uint32_t mailbox = 0;
  uint64_t ask = 0;
  int64_t bytes = 0;  // of its payload
  absl::Status status;
};

using CreditChanges = std::vector<CreditChange>;

// The peer's node stops; this was its last envelope.
struct LeaveNotice {
  std::string why;
};

// A part of what the peer tells of its names: a proto::NameChanges, still in bytes.
struct NamesPart {
  std::string bytes;
};

using InboundEnvelope = std::variant<internal::Message, Signal, RefusedMessage, CreditChanges, NamesPart, LeaveNotice>;

// The envelope of a message, with the payload's bytes, written into `memory`.
// InvalidArgument when they are more than limits::kMessageBytesMax.
absl::StatusOr<std::string> EncodeMessage(const NodePair& nodes, Pid from, Pid to, uint32_t mailbox, uint64_t ask,
                                          absl::string_view payload, Admission admission = Admission::kReserved,
                                          std::string memory = "");

// A reply whose payload cannot travel (no wire message, too large) becomes a
// reply with InvalidArgument.
std::string EncodeSignal(const NodePair& nodes, const Signal& signal);

// `message.from` is the peer's actor, `message.to` ours.
std::string EncodeRefused(const NodePair& nodes, const RefusedMessage& message);
std::string EncodeNames(const proto::NameChanges& changes);
std::string EncodeLeave(absl::string_view why);

// The sender must be of the peer's own incarnation, the receiver of ours. The
// deadline of a message is the caller's to fill in.
absl::StatusOr<InboundEnvelope> DecodeEnvelope(const NodePair& nodes, absl::string_view bytes);

namespace internal {
// As DecodeSessionFrame and DecodeEnvelope, by protobuf alone: what they are
// compared with.
absl::StatusOr<FrameView> DecodeFrameByProtobuf(absl::string_view bytes);
absl::StatusOr<InboundEnvelope> DecodeEnvelopeByProtobuf(const NodePair& nodes, absl::string_view bytes);
}  // namespace internal

// ---- Values ----

proto::Status ToProto(const absl::Status& status);
// The same in at most so many bytes, at least 128: a longer status loses its payloads but for its ErrorKind, and the
// end of its text.
proto::Status ToShortProto(const absl::Status& status, size_t bytes_max);
// A code that is none of absl's becomes Unknown.
absl::Status FromProto(const proto::Status& status);

proto::ExitReason ToProto(const ExitReason& reason);
// InvalidArgument: no reason, more than limits::kExitCausesMax, an unknown kind.
absl::StatusOr<ExitReason> FromProto(const proto::ExitReason& reason);

proto::Address ToAddress(NodeIncarnation incarnation, Pid pid);
// `node` is the place of `incarnation`. InvalidArgument when the address is
// another incarnation's or not possible. Serial 0 (a plain thread) gives a null
// pid that still knows its node.
absl::StatusOr<Pid> FromAddress(const proto::Address& address, NodeIncarnation incarnation, NodePlace node);

}  // namespace understudy

#endif  // UNDERSTUDY_TRANSPORT_CODEC_FRAME_CODEC_H_
