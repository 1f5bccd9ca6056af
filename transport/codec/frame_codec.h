// The codec: converts between the bytes of frames and the values that actors use.
//
// Bytes from a peer are hostile until this codec has checked them: sizes are checked
// before memory is allocated for them, counts and numbers before they are used. An error
// that the codec finds is a bad *frame*: InvalidArgument, which ends the session. A bad
// *payload* (a user's message that does not parse, is too large for its mailbox or names
// no mailbox) is not found here: payloads stay bytes until the receiving actor's turn, and
// only that message is lost.
//
// A message larger than a slot is sent in several slots; a message larger than
// limits::kMessageBytesMax is refused when it is sent.
//
// Statuses and exit reasons are encoded with payloads, causes and flags, within limits.h.
//
// Only an envelope with a payload (a message, a reply or an item without error) may have
// more than limits::kNodesEnvelopeBytesMax bytes, and it is read by hand. The fields of any
// other envelope are counted (field_count.h) before protobuf parses it, so that decoding
// takes memory and time in proportion to the bytes.
//
// Frames of a session, messages and replies are written and read by hand (wire_format.h),
// in protobuf's wire format. Bytes of a peer that are valid but of an unusual form are
// left to protobuf's parser.
//
// Threads: any. Only FramePacker has state, and it has one owner.
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
#include "understudy/actors/trace.h"
#include "understudy/proto/envelope.pb.h"
#include "understudy/proto/names.pb.h"
#include "understudy/proto/signals.pb.h"
#include "understudy/transport/codec/credit.h"
#include "understudy/transport/codec/frame_memory.h"

namespace understudy {

// The only wire version that is spoken so far; see handshake.h.
inline constexpr uint32_t kWireVersion = 2;

// Returns InvalidArgument unless `name` is a DNS label (a-z, 0-9, inner '-', at most 63
// characters) other than `understudy`, which is the prefix of reserved names.
absl::Status ValidateNodeName(absl::string_view name);

// ---- Frames ----

// A slot of a frame: an envelope or a part of an envelope (envelope.proto).
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

// Several slots that have only bodies, already encoded as a frame has them, so that they
// are copied into a frame at once.
class PackedSlots {
 public:
  // Requires a body of at most kSlotBytesMax.
  void Add(absl::string_view body);
  // Removes the first `count` slots and returns the size of their bodies. Requires: there
  // are `count` slots or more.
  size_t DropFirst(size_t count);

  size_t count() const { return count_; }
  absl::string_view bytes() const { return run_.bytes; }

 private:
  internal::RunBytes run_;
  size_t count_ = 0;
};

// Fills one frame of at most limits::kFrameBytesMax, in the form in which protobuf writes
// a proto::Frame.
class FramePacker {
 public:
  FramePacker(uint64_t epoch, uint64_t acknowledged);

  // For the control part only. Its texts must be short: see limits.h.
  proto::Frame& frame() { return control_.has_value() ? *control_ : control_.emplace(); }

  // Adds a slot with the number `number`, which must be one above the last slot's. Returns
  // false if the frame has no room for it; the frame is then unchanged. `define` is null,
  // or defines the slot's mailbox for this stream. Requires a body of at most kSlotBytesMax.
  bool Add(uint64_t number, const SlotView& slot, const MailboxDefinition* define);
  // Like Add above, for all of `slots`, which get the numbers from `first` on: adds all or none.
  bool Add(uint64_t first, const PackedSlots& slots, const MailboxDefinition* define);
  // The largest body of a slot without a definition that can still be added; 0 if no such
  // slot can be added.
  size_t body_bytes_left() const;

  bool has_slots() const { return slots_ > 0; }
  // The frame's bytes. Call once.
  std::string Encode();

 private:
  // Prepares for `count` slots of `bytes` bytes in all, of which the first has `number`. False if there is no room.
  bool Begin(uint64_t number, size_t count, size_t bytes, const MailboxDefinition* define);
  void Define(const MailboxDefinition& definition);

  std::string bytes_;           // the encoded frame without its control part
  size_t definitions_end_ = 0;  // where the next definition goes, and the first slot begins
  size_t slots_ = 0;
  uint64_t first_number_ = 0;
  absl::optional<proto::Frame> control_;
};

// A decoded frame of a session. Its views point into the bytes that were decoded and into
// `control`.
struct FrameView {
  uint64_t epoch = 0;
  uint64_t acknowledged = 0;
  uint64_t first_number = 0;
  std::vector<MailboxDefinition> definitions;
  std::vector<SlotView> slots;
  // The control part, or null. Its own slots and definitions must not be used.
  std::unique_ptr<const proto::Frame> control;

  bool is_handshake() const {
    return control != nullptr && (control->has_hello() || control->has_welcome() || control->has_refuse());
  }
};

// InvalidArgument if the frame violates a rule of this file or of envelope.proto. The
// session checks the rules that depend on its state (epochs, numbers).
absl::StatusOr<FrameView> DecodeSessionFrame(absl::string_view bytes);
// Decodes a frame of a handshake to protobuf's object, with the same checks.
absl::StatusOr<proto::Frame> DecodeFrame(absl::string_view bytes);

// ---- Envelopes ----

// The two nodes of a session, as the process-wide NodeTable knows them.
struct NodePair {
  uint16_t local_node = 0;
  NodeIncarnation local;
  NodePlace peer_node;
  NodeIncarnation peer;
};

// A message that the system of its receiver did not accept.
struct RefusedMessage {
  Pid from;  // an actor of the node that sent the message
  Pid to;    // an actor of the node that refused it
  uint32_t mailbox = 0;
  uint64_t ask = 0;
  int64_t bytes = 0;  // size of the payload
  absl::Status status;
};

using CreditChanges = std::vector<CreditChange>;

// The last envelope of a peer whose node leaves.
struct LeaveNotice {
  std::string why;
};

// A part of the peer's changes of names: an encoded proto::NameChanges.
struct NamesPart {
  std::string bytes;
};

using InboundEnvelope = std::variant<internal::Message, Signal, RefusedMessage, CreditChanges, NamesPart, LeaveNotice>;

// Returns the envelope of a message with `payload`, written into the memory of `memory`. `trace` may be null.
// InvalidArgument if the payload has more than limits::kMessageBytesMax bytes.
absl::StatusOr<std::string> EncodeMessage(const NodePair& nodes, Pid from, Pid to, uint32_t mailbox, uint64_t ask,
                                          absl::string_view payload, Admission admission = Admission::kReserved,
                                          std::string memory = "", const TraceContext* trace = nullptr);

// A reply whose payload cannot be sent, because it is not a wire message or is too large,
// is encoded as a reply with InvalidArgument. A status of more than
// limits::kReplyStatusBytesMax is cut.
std::string EncodeSignal(const NodePair& nodes, const Signal& signal);

// Encodes the refusal of a peer's message: `message.from` is the peer's actor, and
// `message.to` an actor of this node.
std::string EncodeRefused(const NodePair& nodes, const RefusedMessage& message);
std::string EncodeNames(const proto::NameChanges& changes);
std::string EncodeLeave(absl::string_view why);

// InvalidArgument unless the sender is of the peer's incarnation and the receiver of this
// node's. The caller fills in the deadline of a message.
absl::StatusOr<InboundEnvelope> DecodeEnvelope(const NodePair& nodes, absl::string_view bytes);

namespace internal {
// Like DecodeSessionFrame and DecodeEnvelope, but only with protobuf's parser, and without the
// bounds of an envelope without a payload; tests compare the results.
absl::StatusOr<FrameView> DecodeFrameByProtobuf(absl::string_view bytes);
absl::StatusOr<InboundEnvelope> DecodeEnvelopeByProtobuf(const NodePair& nodes, absl::string_view bytes);
}  // namespace internal

// ---- Values ----

// Leaves out payloads beyond limits::kStatusPayloadsMax, those of this library last, and says so in the text.
proto::Status ToProto(const absl::Status& status);
// Like ToProto, but returns at most `bytes_max` bytes, which must be at least 128. A longer status loses all payloads
// except its ErrorKind, and the end of its text.
proto::Status ToShortProto(const absl::Status& status, size_t bytes_max);
// Sets `out` to a peer's status. A code that absl::StatusCode does not have becomes kUnknown. InvalidArgument: the
// status has more than `bytes_max` bytes or limits::kStatusPayloadsMax payloads.
absl::Status FromProto(const proto::Status& in, size_t bytes_max, absl::Status& out);

proto::ExitReason ToProto(const ExitReason& reason);
// InvalidArgument: the chain of reasons is empty or longer than limits::kExitCausesMax, or has an unknown kind or a
// status with more than limits::kStatusPayloadsMax payloads.
absl::StatusOr<ExitReason> FromProto(const proto::ExitReason& reason);

proto::Address ToAddress(NodeIncarnation incarnation, Pid pid);
// `node` is the place of `incarnation` in the NodeTable. InvalidArgument if the address is
// malformed or of another incarnation. Serial 0, which stands for a plain thread, gives a
// null pid that still knows its node.
absl::StatusOr<Pid> FromAddress(const proto::Address& address, NodeIncarnation incarnation, NodePlace node);

}  // namespace understudy

#endif  // UNDERSTUDY_TRANSPORT_CODEC_FRAME_CODEC_H_
