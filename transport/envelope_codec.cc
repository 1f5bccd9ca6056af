// The codec's second half: envelopes, statuses, exit reasons, addresses.
#include <cstdint>
#include <string>
#include <utility>

#include "absl/status/status.h"
#include "absl/status/statusor.h"
#include "absl/strings/cord.h"
#include "absl/strings/str_cat.h"
#include "absl/strings/string_view.h"
#include "understudy/actors/exit_reason.h"
#include "understudy/actors/limits.h"
#include "understudy/actors/message.h"
#include "understudy/actors/pid.h"
#include "understudy/proto/envelope.pb.h"
#include "understudy/proto/signals.pb.h"
#include "understudy/transport/frame_codec.h"

namespace understudy {
namespace {

constexpr uint64_t kSerialEnd = uint64_t{1} << 48;
constexpr int kSignalKindMax = static_cast<int>(SignalKind::kReply);
constexpr int kStatusCodeMax = 16;  // UNAUTHENTICATED

absl::Status BadEnvelope(absl::string_view what) {
  return absl::InvalidArgumentError(absl::StrCat("bad frame: in an envelope, ", what));
}

absl::Status TooLarge(absl::string_view what, size_t bytes) {
  return absl::InvalidArgumentError(absl::StrCat(what, " of ", bytes, " bytes does not travel: at most ",
                                                 limits::kMessageBytesMax, " are allowed between nodes"));
}

// The bytes of a reply's payload, or why it cannot travel.
absl::StatusOr<std::string> ReplyBytes(const internal::Payload& payload) {
  if (payload.is_wire_bytes()) return payload.wire_bytes();
  if (!payload.is_typed()) return std::string();
  if (!payload.type()->is_wire) {
    return absl::InvalidArgumentError(
        absl::StrCat("the reply is a ", payload.type()->name(), ", which is not a wire message"));
  }
  std::string bytes;
  if (!payload.type()->serialize(payload.value(), &bytes)) {
    return absl::InvalidArgumentError(absl::StrCat("the reply, a ", payload.type()->name(), ", does not serialise"));
  }
  return bytes;
}

// From the peer to us.
absl::Status Addresses(const NodePair& nodes, const proto::Address& from, const proto::Address& to, Pid& from_pid,
                       Pid& to_pid) {
  const absl::StatusOr<Pid> sender = FromAddress(from, nodes.peer, nodes.peer_node);
  if (!sender.ok()) return BadEnvelope(absl::StrCat("the sender is not the peer's: ", sender.status().message()));
  const absl::StatusOr<Pid> receiver = FromAddress(to, nodes.local, nodes.local_node);
  if (!receiver.ok()) return BadEnvelope(absl::StrCat("the receiver is not ours: ", receiver.status().message()));
  from_pid = *sender;
  to_pid = *receiver;
  return absl::OkStatus();
}

absl::StatusOr<InboundEnvelope> Decode(const NodePair& nodes, proto::Message& in) {
  internal::Message message;
  absl::Status addressed = Addresses(nodes, in.from(), in.to(), message.from, message.to);
  if (!addressed.ok()) return addressed;
  if (message.to.is_null()) return BadEnvelope("a message to no actor");
  message.mailbox = in.mailbox();
  message.ask = in.ask();
  message.payload = internal::Payload::OfWireBytes(std::move(*in.mutable_payload()));
  return message;
}

absl::StatusOr<InboundEnvelope> Decode(const NodePair& nodes, proto::Signal& in) {
  Signal signal;
  absl::Status addressed = Addresses(nodes, in.from(), in.to(), signal.from, signal.to);
  if (!addressed.ok()) return addressed;
  if (in.kind() < 1 || in.kind() > kSignalKindMax) return BadEnvelope(absl::StrCat("a signal of kind ", in.kind()));
  signal.kind = static_cast<SignalKind>(in.kind());
  if (signal.to.is_null() && signal.kind != SignalKind::kReply) return BadEnvelope("a signal to no actor");
  signal.id = in.id();
  signal.is_link = in.is_link();
  if (in.has_reason()) {
    absl::StatusOr<ExitReason> reason = FromProto(in.reason());
    if (!reason.ok()) return reason.status();
    signal.reason = *std::move(reason);
  }
  signal.status = FromProto(in.status());
  if (signal.kind == SignalKind::kReply && signal.status.ok()) {
    signal.payload = internal::Payload::OfWireBytes(std::move(*in.mutable_payload()));
  }
  return signal;
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
  message.status = FromProto(in.status());
  if (message.status.ok()) return BadEnvelope("a refusal that is OK");
  return message;
}

absl::StatusOr<InboundEnvelope> Decode(const NodePair& nodes, const proto::Released& in) {
  const absl::StatusOr<Pid> to = FromAddress(in.to(), nodes.peer, nodes.peer_node);
  if (!to.ok()) return BadEnvelope("credit for a mailbox that is not the peer's");
  if (in.count() < 1 || in.count() > limits::kChannelWindowMessages) {
    return BadEnvelope(absl::StrCat("a credit of ", in.count()));
  }
  return ReleasedCredit{.to = *to, .mailbox = in.mailbox(), .count = in.count()};
}

}  // namespace

// ---- Envelopes ----

absl::StatusOr<std::string> EncodeMessage(const NodePair& nodes, Pid from, Pid to, uint32_t mailbox, uint64_t ask,
                                          std::string payload) {
  if (payload.size() > limits::kMessageBytesMax) return TooLarge("a message", payload.size());
  proto::Envelope envelope;
  proto::Message& message = *envelope.mutable_message();
  *message.mutable_from() = ToAddress(nodes.local, from);
  *message.mutable_to() = ToAddress(nodes.peer, to);
  message.set_mailbox(mailbox);
  message.set_ask(ask);
  message.set_payload(std::move(payload));
  return envelope.SerializeAsString();
}

std::string EncodeSignal(const NodePair& nodes, const Signal& signal) {
  proto::Envelope envelope;
  proto::Signal& out = *envelope.mutable_signal();
  out.set_kind(static_cast<int>(signal.kind));
  *out.mutable_from() = ToAddress(nodes.local, signal.from);
  *out.mutable_to() = ToAddress(nodes.peer, signal.to);
  out.set_id(signal.id);
  out.set_is_link(signal.is_link);
  if (!signal.reason.is_normal() || signal.reason.cause() != nullptr) *out.mutable_reason() = ToProto(signal.reason);
  if (signal.kind != SignalKind::kReply) return envelope.SerializeAsString();

  absl::Status status = signal.status;
  if (status.ok()) {
    absl::StatusOr<std::string> payload = ReplyBytes(signal.payload);
    status = payload.status();
    if (status.ok() && payload->size() > limits::kMessageBytesMax) status = TooLarge("a reply", payload->size());
    if (status.ok()) out.set_payload(*std::move(payload));
  }
  if (!status.ok()) *out.mutable_status() = ToProto(status);
  if (out.ByteSizeLong() > limits::kMessageBytesMax + limits::kEnvelopeOverheadBytesMax) {
    *out.mutable_status() = ToProto(TooLarge("a reply's status", out.ByteSizeLong()));
  }
  return envelope.SerializeAsString();
}

std::string EncodeRefused(const NodePair& nodes, const RefusedMessage& message) {
  proto::Envelope envelope;
  proto::Refused& out = *envelope.mutable_refused();
  *out.mutable_from() = ToAddress(nodes.peer, message.from);
  *out.mutable_to() = ToAddress(nodes.local, message.to);
  out.set_mailbox(message.mailbox);
  out.set_ask(message.ask);
  *out.mutable_status() = ToProto(message.status);
  return envelope.SerializeAsString();
}

std::string EncodeReleased(const NodePair& nodes, const ReleasedCredit& credit) {
  proto::Envelope envelope;
  proto::Released& out = *envelope.mutable_released();
  *out.mutable_to() = ToAddress(nodes.local, credit.to);
  out.set_mailbox(credit.mailbox);
  out.set_count(credit.count);
  return envelope.SerializeAsString();
}

std::string EncodeNames(const proto::NameChanges& changes) {
  proto::Envelope envelope;
  *envelope.mutable_names() = changes;
  return envelope.SerializeAsString();
}

std::string EncodeLeave(absl::string_view why) {
  proto::Envelope envelope;
  envelope.mutable_leave()->set_why(std::string(why.substr(0, limits::kNameBytesMax)));
  return envelope.SerializeAsString();
}

absl::StatusOr<InboundEnvelope> DecodeEnvelope(const NodePair& nodes, absl::string_view bytes) {
  if (bytes.size() > limits::kMessageBytesMax + limits::kEnvelopeOverheadBytesMax) return BadEnvelope("too many bytes");
  proto::Envelope envelope;
  if (!envelope.ParseFromArray(bytes.data(), static_cast<int>(bytes.size()))) {
    return BadEnvelope(absl::StrCat(bytes.size(), " bytes do not parse"));
  }
  switch (envelope.kind_case()) {
    case proto::Envelope::kMessage:
      return Decode(nodes, *envelope.mutable_message());
    case proto::Envelope::kSignal:
      return Decode(nodes, *envelope.mutable_signal());
    case proto::Envelope::kRefused:
      return Decode(nodes, envelope.refused());
    case proto::Envelope::kReleased:
      return Decode(nodes, envelope.released());
    case proto::Envelope::kNames:
      return std::move(*envelope.mutable_names());
    case proto::Envelope::kLeave:
      return LeaveNotice{.why = envelope.leave().why()};
    case proto::Envelope::KIND_NOT_SET:
      break;
  }
  return BadEnvelope("an unknown kind");
}

// ---- Values ----

proto::Status ToProto(const absl::Status& status) {
  proto::Status out;
  out.set_code(static_cast<int>(status.code()));
  out.set_message(std::string(status.message()));
  status.ForEachPayload([&](absl::string_view url, const absl::Cord& value) {
    proto::StatusPayload& payload = *out.add_payloads();
    payload.set_type_url(std::string(url));
    payload.set_value(std::string(value));
  });
  return out;
}

absl::Status FromProto(const proto::Status& status) {
  const bool is_known = status.code() >= 0 && status.code() <= kStatusCodeMax;
  absl::Status out(is_known ? static_cast<absl::StatusCode>(status.code()) : absl::StatusCode::kUnknown,
                   status.message());
  for (const proto::StatusPayload& payload : status.payloads()) {
    out.SetPayload(payload.type_url(), absl::Cord(payload.value()));
  }
  return out;
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
    return BadEnvelope(absl::StrCat("an exit reason of ", reason.links_size(), " links"));
  }
  ExitReason result;
  for (int i = reason.links_size() - 1; i >= 0; --i) {
    const proto::ExitReasonLink& link = reason.links(i);
    if (link.kind() < 1 || link.kind() > ExitReason::kKindMax) {
      return BadEnvelope(absl::StrCat("an exit reason of kind ", link.kind()));
    }
    const bool is_oldest = i == reason.links_size() - 1;
    const ExitReason one = ExitReason::FromParts({.kind = static_cast<ExitReason::Kind>(link.kind()),
                                                  .status = FromProto(link.status()),
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
  proto::Address address;
  address.set_incarnation(incarnation.bits);
  if (!pid.is_null()) {
    address.set_cell(pid.cell());
    address.set_serial(pid.serial());
  }
  return address;
}

absl::StatusOr<Pid> FromAddress(const proto::Address& address, NodeIncarnation incarnation, uint16_t node) {
  if (address.incarnation() != incarnation.bits) return BadEnvelope("an address of another incarnation");
  if (address.serial() >= kSerialEnd) return BadEnvelope(absl::StrCat("a serial of ", address.serial()));
  if (address.serial() == 0) return Pid(node, 0, 0);
  return Pid(node, address.cell(), address.serial());
}

}  // namespace understudy
