// The functions of frame_codec.h for envelopes, statuses, exit reasons and addresses.
#include <cstddef>
#include <cstdint>
#include <string>
#include <utility>
#include <vector>

#include "absl/status/status.h"
#include "absl/status/statusor.h"
#include "absl/strings/cord.h"
#include "absl/strings/str_cat.h"
#include "absl/strings/string_view.h"
#include "absl/types/optional.h"
#include "understudy/actors/address_key.h"
#include "understudy/actors/cut_text.h"
#include "understudy/actors/error.h"
#include "understudy/actors/exit_reason.h"
#include "understudy/actors/limits.h"
#include "understudy/actors/message.h"
#include "understudy/actors/node_table.h"
#include "understudy/actors/pid.h"
#include "understudy/actors/status_payloads.h"
#include "understudy/actors/trace.h"
#include "understudy/proto/envelope.pb.h"
#include "understudy/proto/signals.pb.h"
#include "understudy/transport/codec/credit_codec.h"
#include "understudy/transport/codec/field_count.h"
#include "understudy/transport/codec/frame_codec.h"
#include "understudy/transport/codec/hot_envelopes.h"
#include "understudy/transport/limits.h"

namespace understudy {
namespace {

constexpr int kSignalKindMax = static_cast<int>(SignalKind::kUploadCancel);
constexpr size_t kEnvelopeBytesMax = limits::kMessageBytesMax + limits::kEnvelopeOverheadBytesMax;
constexpr int kStatusCodeMax = 16;  // UNAUTHENTICATED
constexpr uint32_t kSampledFlag = 1;

bool HasPayload(SignalKind kind) {
  return kind == SignalKind::kReply || kind == SignalKind::kItem || kind == SignalKind::kUploadItem;
}
bool IsCredit(SignalKind kind) { return kind == SignalKind::kStreamCredit || kind == SignalKind::kUploadCredit; }
// True for the kinds of signals whose status is cut before it is sent.
bool HasShortStatus(SignalKind kind) {
  return kind == SignalKind::kCancel || kind == SignalKind::kUploadEnd || kind == SignalKind::kUploadCancel;
}

absl::Status BadEnvelope(absl::string_view what) {
  return absl::InvalidArgumentError(absl::StrCat("bad frame: in an envelope, ", what));
}

absl::Status TooManyBytes(size_t bytes, size_t bytes_max) {
  return BadEnvelope(absl::StrCat(bytes, " bytes: at most ", bytes_max, " are allowed"));
}

absl::Status TooLarge(absl::string_view what, size_t bytes) {
  return absl::InvalidArgumentError(absl::StrCat(what, " of ", bytes, " bytes does not travel: at most ",
                                                 limits::kMessageBytesMax, " are allowed between nodes"));
}

// Puts the bytes of a reply's payload, which may be empty, into `bytes`, or returns why it
// cannot be sent.
absl::Status Serialize(const internal::Payload& payload, std::string& bytes) {
  if (!payload.is_typed()) return absl::OkStatus();
  if (!payload.type()->is_wire) {
    return absl::InvalidArgumentError(
        absl::StrCat("a reply of type ", payload.type()->name(),
                     " cannot be sent to another node: only Protocol Buffers messages can"));
  }
  if (!payload.type()->serialize(payload.value(), &bytes)) {
    return absl::InvalidArgumentError(absl::StrCat("the reply, a ", payload.type()->name(), ", does not serialise"));
  }
  return absl::OkStatus();
}

internal::WireAddress WireOf(NodeIncarnation incarnation, Pid pid) {
  if (pid.is_null()) return {.incarnation = incarnation.bits};
  const ActorAddress address = internal::AddressOf(pid);
  return {.incarnation = incarnation.bits, .cell = address.cell, .serial = address.serial};
}

absl::optional<internal::WireTrace> WireOf(const TraceContext* trace) {
  if (trace == nullptr) return absl::nullopt;
  return internal::WireTrace{.high = trace->trace.high,
                             .low = trace->trace.low,
                             .span = trace->span,
                             .flags = kSampledFlag,
                             .hops = trace->hops};
}

// Nothing if the peer's context is not one that actors carry.
absl::optional<TraceContext> TraceOf(const internal::WireTrace& wire) {
  const TraceId trace{.high = wire.high, .low = wire.low};
  if (!trace.is_valid() || wire.span == 0 || (wire.flags & kSampledFlag) == 0 || wire.hops > limits::kTraceHopsMax) {
    return absl::nullopt;
  }
  return TraceContext{.trace = trace, .span = wire.span, .hops = static_cast<uint8_t>(wire.hops)};
}

absl::StatusOr<Pid> PidOf(const internal::WireAddress& address, NodeIncarnation incarnation, NodePlace node) {
  if (address.incarnation != incarnation.bits) return BadEnvelope("its address is of another incarnation");
  if (address.serial >= ActorAddress::kSerialEnd) {
    return BadEnvelope(absl::StrCat("a serial is ", address.serial, ": expected less than ", ActorAddress::kSerialEnd));
  }
  if (address.cell >= ActorAddress::kCellEnd) {
    return BadEnvelope(absl::StrCat("a cell is ", address.cell, ": expected less than ", ActorAddress::kCellEnd));
  }
  return internal::PidAt(node, {.cell = address.cell, .serial = address.serial});
}

// Sets the sender, an actor of the peer, and the receiver, an actor of this node.
absl::Status Addresses(const NodePair& nodes, const internal::WireAddress& from, const internal::WireAddress& to,
                       Pid& from_pid, Pid& to_pid) {
  const absl::StatusOr<Pid> sender = PidOf(from, nodes.peer, nodes.peer_node);
  if (!sender.ok()) return BadEnvelope(absl::StrCat("the sender is not the peer's: ", sender.status().message()));
  const absl::StatusOr<Pid> receiver = PidOf(to, nodes.local, nodes.local_node);
  if (!receiver.ok()) return BadEnvelope(absl::StrCat("the receiver is not ours: ", receiver.status().message()));
  from_pid = *sender;
  to_pid = *receiver;
  return absl::OkStatus();
}

internal::WireAddress WireOf(const proto::Address& address) {
  return {.incarnation = address.incarnation(), .cell = address.cell(), .serial = address.serial()};
}

absl::optional<internal::WireTrace> WireOf(const proto::Message& message) {
  if (!message.has_trace()) return absl::nullopt;
  const proto::TraceContext& trace = message.trace();
  return internal::WireTrace{.high = trace.trace_high(),
                             .low = trace.trace_low(),
                             .span = trace.span(),
                             .flags = trace.flags(),
                             .hops = trace.hops()};
}

absl::StatusOr<InboundEnvelope> DecodeMessage(const NodePair& nodes, const internal::HotEnvelope& in) {
  internal::Message message;
  absl::Status addressed = Addresses(nodes, in.from, in.to, message.from, message.to);
  if (!addressed.ok()) return addressed;
  if (message.to.is_null()) return BadEnvelope("a message has no receiver");
  if (message.from.is_null() && internal::ItemBits(in.id) != 0) {
    return BadEnvelope("a call with a stream has no sender: expected the actor that asks");
  }
  message.mailbox = in.mailbox;
  message.ask = in.id;
  const absl::optional<TraceContext> trace = in.trace.has_value() ? TraceOf(*in.trace) : absl::nullopt;
  message.payload = trace.has_value() ? internal::Payload::CopyOfTracedWireBytes(in.payload, *trace)
                                      : internal::Payload::CopyOfWireBytes(in.payload);
  message.admission = in.by_allowance ? Admission::kAllowance : Admission::kReserved;
  return message;
}

// Decodes a signal, except for its reason, its status and its items.
absl::StatusOr<Signal> DecodeSignal(const NodePair& nodes, const internal::HotEnvelope& in) {
  Signal signal;
  absl::Status addressed = Addresses(nodes, in.from, in.to, signal.from, signal.to);
  if (!addressed.ok()) return addressed;
  if (in.signal_kind < 1 || in.signal_kind > kSignalKindMax) {
    return BadEnvelope(absl::StrCat("a signal is of kind ", in.signal_kind, ": expected 1 to ", kSignalKindMax));
  }
  signal.kind = static_cast<SignalKind>(in.signal_kind);
  if (signal.to.is_null() && signal.kind != SignalKind::kReply) {
    return BadEnvelope("a signal has no receiver");
  }
  signal.id = in.id;
  signal.is_link = in.is_link;
  if (HasPayload(signal.kind)) {
    signal.payload = internal::Payload::CopyOfWireBytes(in.payload);
  } else if (IsCredit(signal.kind)) {
    signal.payload = internal::Payload::Of(internal::StreamCredit());
  }
  return signal;
}

absl::StatusOr<InboundEnvelope> Decode(const NodePair& nodes, const proto::Message& in) {
  return DecodeMessage(nodes, {.kind = internal::HotEnvelope::Kind::kMessage,
                               .from = WireOf(in.from()),
                               .to = WireOf(in.to()),
                               .mailbox = in.mailbox(),
                               .id = in.ask(),
                               .payload = in.payload(),
                               .by_allowance = in.by_allowance(),
                               .trace = WireOf(in)});
}

absl::StatusOr<InboundEnvelope> Decode(const NodePair& nodes, const proto::Signal& in) {
  absl::StatusOr<Signal> signal = DecodeSignal(nodes, {.kind = internal::HotEnvelope::Kind::kSignal,
                                                       .from = WireOf(in.from()),
                                                       .to = WireOf(in.to()),
                                                       .id = in.id(),
                                                       .signal_kind = in.kind(),
                                                       .is_link = in.is_link(),
                                                       .payload = in.payload()});
  if (!signal.ok()) return signal.status();
  if (in.has_reason()) {
    absl::StatusOr<ExitReason> reason = FromProto(in.reason());
    if (!reason.ok()) return reason.status();
    signal->reason = *std::move(reason);
  }
  const size_t status_bytes_max =
      HasPayload(signal->kind) ? limits::kReplyStatusBytesMax : limits::kAnswerReasonBytesMax;
  absl::Status is_good = FromProto(in.status(), status_bytes_max, signal->status);
  if (!is_good.ok()) return is_good;
  if (signal->kind == SignalKind::kReply && !signal->status.ok()) signal->payload = internal::Payload();
  if (IsCredit(signal->kind)) signal->payload.As<internal::StreamCredit>().items = in.items();
  return *std::move(signal);
}

absl::StatusOr<InboundEnvelope> Decode(const NodePair& nodes, const proto::Refused& in) {
  RefusedMessage message;
  const absl::StatusOr<Pid> from = FromAddress(in.from(), nodes.local, nodes.local_node);
  if (!from.ok()) return BadEnvelope("a refused message is not ours");
  const absl::StatusOr<Pid> to = FromAddress(in.to(), nodes.peer, nodes.peer_node);
  if (!to.ok()) return BadEnvelope("a refused message is not to the peer");
  message.from = *from;
  message.to = *to;
  message.mailbox = in.mailbox();
  message.ask = in.ask();
  message.bytes = static_cast<int64_t>(in.bytes());
  absl::Status is_good = FromProto(in.status(), limits::kAnswerReasonBytesMax, message.status);
  if (!is_good.ok()) return is_good;
  if (message.status.ok()) return BadEnvelope("a refusal has the status OK: expected an error");
  return message;
}

}  // namespace

// ---- Envelopes ----

absl::StatusOr<std::string> EncodeMessage(const NodePair& nodes, Pid from, Pid to, uint32_t mailbox, uint64_t ask,
                                          absl::string_view payload, Admission admission, std::string memory,
                                          const TraceContext* trace) {
  if (payload.size() > limits::kMessageBytesMax) return TooLarge("a message", payload.size());
  return internal::EncodeHot({.kind = internal::HotEnvelope::Kind::kMessage,
                              .from = WireOf(nodes.local, from),
                              .to = WireOf(nodes.peer, to),
                              .mailbox = mailbox,
                              .id = ask,
                              .payload = payload,
                              .by_allowance = admission == Admission::kAllowance,
                              .trace = WireOf(trace)},
                             std::move(memory));
}

std::string EncodeSignal(const NodePair& nodes, const Signal& signal) {
  internal::HotEnvelope hot{.kind = internal::HotEnvelope::Kind::kSignal,
                            .from = WireOf(nodes.local, signal.from),
                            .to = WireOf(nodes.peer, signal.to),
                            .id = signal.id,
                            .signal_kind = static_cast<int32_t>(signal.kind),
                            .is_link = signal.is_link};
  const bool is_reply = HasPayload(signal.kind);
  const bool is_cancel = HasShortStatus(signal.kind);
  const bool is_credit = IsCredit(signal.kind);
  const bool has_reason = !is_reply && (!signal.reason.is_normal() || signal.reason.cause() != nullptr);
  absl::Status status = is_reply || is_cancel ? signal.status : absl::OkStatus();
  std::string payload;
  if (is_reply && status.ok()) {
    if (signal.payload.is_wire_bytes()) {
      hot.payload = signal.payload.wire_bytes();
    } else {
      status = Serialize(signal.payload, payload);
      hot.payload = payload;
    }
    if (hot.payload.size() > limits::kMessageBytesMax) status = TooLarge("a reply", hot.payload.size());
    if (!status.ok()) hot.payload = {};
  }
  if (status.ok() && !has_reason && !is_credit) return internal::EncodeHot(hot);

  proto::Envelope envelope;
  proto::Signal& out = *envelope.mutable_signal();
  out.set_kind(hot.signal_kind);
  *out.mutable_from() = ToAddress(nodes.local, signal.from);
  *out.mutable_to() = ToAddress(nodes.peer, signal.to);
  out.set_id(signal.id);
  out.set_is_link(signal.is_link);
  if (has_reason) *out.mutable_reason() = ToProto(signal.reason);
  if (!status.ok()) {
    *out.mutable_status() =
        ToShortProto(status, is_cancel ? limits::kAnswerReasonBytesMax : limits::kReplyStatusBytesMax);
  }
  if (is_credit) out.set_items(internal::ItemsOfCredit(signal));
  return envelope.SerializeAsString();
}

std::string EncodeRefused(const NodePair& nodes, const RefusedMessage& message) {
  proto::Envelope envelope;
  proto::Refused& out = *envelope.mutable_refused();
  *out.mutable_from() = ToAddress(nodes.peer, message.from);
  *out.mutable_to() = ToAddress(nodes.local, message.to);
  out.set_mailbox(message.mailbox);
  out.set_ask(message.ask);
  out.set_bytes(static_cast<uint32_t>(message.bytes));
  *out.mutable_status() = ToShortProto(message.status, limits::kAnswerReasonBytesMax);
  return envelope.SerializeAsString();
}

std::string EncodeNames(const proto::NameChanges& changes) {
  proto::Envelope envelope;
  envelope.set_names(changes.SerializeAsString());
  return envelope.SerializeAsString();
}

std::string EncodeLeave(absl::string_view why) {
  proto::Envelope envelope;
  envelope.mutable_leave()->set_why(CutText(why, limits::kNameBytesMax));
  return envelope.SerializeAsString();
}

absl::StatusOr<InboundEnvelope> DecodeEnvelope(const NodePair& nodes, absl::string_view bytes) {
  if (bytes.size() > kEnvelopeBytesMax) return TooManyBytes(bytes.size(), kEnvelopeBytesMax);
  internal::HotEnvelope hot;
  const bool is_hot = internal::DecodeHot(bytes, hot);
  if (is_hot && hot.kind == internal::HotEnvelope::Kind::kMessage) return DecodeMessage(nodes, hot);
  const auto signal_kind = static_cast<SignalKind>(hot.signal_kind);
  if (is_hot && HasPayload(signal_kind)) return DecodeSignal(nodes, hot);
  if (bytes.size() > limits::kNodesEnvelopeBytesMax) {
    return BadEnvelope(absl::StrCat(bytes.size(), " bytes: at most ", limits::kNodesEnvelopeBytesMax,
                                    " are allowed without a payload"));
  }
  // A signal of credit has a field that DecodeHot does not read.
  if (is_hot && !IsCredit(signal_kind)) return DecodeSignal(nodes, hot);
  const internal::FieldFault fault = internal::CheckFields(bytes);
  if (fault == internal::FieldFault::kTooMany) {
    return BadEnvelope(absl::StrCat(bytes.size(), " bytes have too many fields"));
  }
  if (fault == internal::FieldFault::kUnusual) return BadEnvelope(absl::StrCat(bytes.size(), " bytes do not parse"));
  return internal::DecodeEnvelopeByProtobuf(nodes, bytes);
}

absl::StatusOr<InboundEnvelope> internal::DecodeEnvelopeByProtobuf(const NodePair& nodes, absl::string_view bytes) {
  if (bytes.size() > kEnvelopeBytesMax) return TooManyBytes(bytes.size(), kEnvelopeBytesMax);
  proto::Envelope envelope;
  if (!envelope.ParseFromArray(bytes.data(), static_cast<int>(bytes.size()))) {
    return BadEnvelope(absl::StrCat(bytes.size(), " bytes do not parse"));
  }
  switch (envelope.kind_case()) {
    case proto::Envelope::kMessage:
      return Decode(nodes, envelope.message());
    case proto::Envelope::kSignal:
      return Decode(nodes, envelope.signal());
    case proto::Envelope::kRefused:
      return Decode(nodes, envelope.refused());
    case proto::Envelope::kCredits: {
      absl::StatusOr<CreditChanges> changes = DecodeCredit(nodes, envelope.credits());
      if (!changes.ok()) return changes.status();
      return *std::move(changes);
    }
    case proto::Envelope::kNames:
      return NamesPart{std::move(*envelope.mutable_names())};
    case proto::Envelope::kLeave:
      return LeaveNotice{.why = envelope.leave().why()};
    case proto::Envelope::KIND_NOT_SET:
      break;
  }
  return BadEnvelope("the kind of its content is missing or unknown");
}

// ---- Values ----

proto::Status ToProto(const absl::Status& status) {
  proto::Status out;
  out.set_code(static_cast<int>(status.code()));
  out.set_message(std::string(status.message()));
  const internal::StatusPayloads payloads = internal::PayloadsToEncode(status);
  if (payloads.left_out > 0) {
    out.set_message(absl::StrCat(status.message(), " (", payloads.left_out, " payloads left out)"));
  }
  for (const auto& [url, value] : payloads.kept) {
    proto::StatusPayload& payload = *out.add_payloads();
    payload.set_type_url(url);
    payload.set_value(std::string(value));
  }
  return out;
}

proto::Status ToShortProto(const absl::Status& status, size_t bytes_max) {
  constexpr size_t kKindBytesMax = 64;  // the size of an ErrorKind, a code, and the tag and length of the text
  proto::Status whole = ToProto(status);
  if (whole.ByteSizeLong() <= bytes_max) return whole;
  const std::string text = CutText(status.message(), bytes_max - kKindBytesMax);
  const absl::optional<ErrorKind> kind = ErrorKindOf(status);
  return ToProto(kind.has_value() ? MakeError(*kind, text) : absl::Status(status.code(), text));
}

absl::Status FromProto(const proto::Status& in, size_t bytes_max, absl::Status& out) {
  // Checked first, because SetPayload searches all payloads that were set before.
  if (in.payloads_size() > limits::kStatusPayloadsMax) {
    return BadEnvelope(absl::StrCat("a status with ", in.payloads_size(), " payloads: at most ",
                                    limits::kStatusPayloadsMax, " are allowed"));
  }
  if (in.ByteSizeLong() > bytes_max) {
    return BadEnvelope(absl::StrCat("a status of ", in.ByteSizeLong(), " bytes: at most ", bytes_max, " are allowed"));
  }
  const bool is_known = in.code() >= 0 && in.code() <= kStatusCodeMax;
  out = absl::Status(is_known ? static_cast<absl::StatusCode>(in.code()) : absl::StatusCode::kUnknown, in.message());
  for (const proto::StatusPayload& payload : in.payloads()) {
    out.SetPayload(payload.type_url(), absl::Cord(payload.value()));
  }
  return absl::OkStatus();
}

proto::ExitReason ToProto(const ExitReason& reason) {
  proto::ExitReason out;
  for (const ExitReason* r = &reason; r != nullptr; r = r->cause()) {
    proto::ExitReasonLink& link = *out.add_links();
    link.set_kind(static_cast<int>(r->kind()));
    if (!r->status().ok()) *link.mutable_status() = ToProto(r->status());
    link.set_exception_type(std::string(r->exception_type()));
    link.set_detail(std::string(r->detail()));
    link.set_os_value(r->os_value());
    link.set_handler_running(r->handler_running());
  }
  out.set_causes_cut(reason.causes_cut());
  return out;
}

absl::StatusOr<ExitReason> FromProto(const proto::ExitReason& reason) {
  if (reason.links_size() < 1 || reason.links_size() > limits::kExitCausesMax) {
    return BadEnvelope(
        absl::StrCat("an exit reason has ", reason.links_size(), " links: expected 1 to ", limits::kExitCausesMax));
  }
  ExitReason result;
  for (int i = reason.links_size() - 1; i >= 0; --i) {
    const proto::ExitReasonLink& link = reason.links(i);
    if (link.kind() < 1 || link.kind() > ExitReason::kKindMax) {
      return BadEnvelope(
          absl::StrCat("an exit reason is of kind ", link.kind(), ": expected 1 to ", ExitReason::kKindMax));
    }
    absl::Status status;
    absl::Status is_good = FromProto(link.status(), limits::kNodesEnvelopeBytesMax, status);
    if (!is_good.ok()) return is_good;
    const bool is_oldest = i == reason.links_size() - 1;
    const ExitReason one = ExitReason::FromParts({.kind = static_cast<ExitReason::Kind>(link.kind()),
                                                  .status = std::move(status),
                                                  .exception_type = link.exception_type(),
                                                  .detail = link.detail(),
                                                  .os_value = link.os_value(),
                                                  .handler_running = link.handler_running(),
                                                  .causes_cut = is_oldest && reason.causes_cut()});
    result = is_oldest ? one : one.CausedBy(result);
  }
  return result;
}

proto::Address ToAddress(NodeIncarnation incarnation, Pid pid) {
  const internal::WireAddress wire = WireOf(incarnation, pid);
  proto::Address address;
  address.set_incarnation(wire.incarnation);
  address.set_cell(wire.cell);
  address.set_serial(wire.serial);
  return address;
}

absl::StatusOr<Pid> FromAddress(const proto::Address& address, NodeIncarnation incarnation, NodePlace node) {
  return PidOf(WireOf(address), incarnation, node);
}

}  // namespace understudy
