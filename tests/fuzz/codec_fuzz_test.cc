// The hand-written codec and protobuf read the same from any bytes, and write the same bytes.
#include <cstddef>
#include <cstdint>
#include <cstdlib>
#include <iostream>
#include <string>
#include <variant>

#include "absl/status/status.h"
#include "absl/status/statusor.h"
#include "absl/strings/cord.h"
#include "absl/strings/escaping.h"
#include "absl/strings/string_view.h"
#include "understudy/actors/exit_reason.h"
#include "understudy/actors/message.h"
#include "understudy/actors/pid.h"
#include "understudy/actors/room.h"
#include "understudy/actors/trace.h"
#include "understudy/proto/envelope.pb.h"
#include "understudy/transport/codec/credit.h"
#include "understudy/transport/codec/field_count.h"
#include "understudy/transport/codec/frame_codec.h"
#include "understudy/transport/limits.h"

namespace understudy {
namespace {

// The node that reads, and the one that wrote.
constexpr NodePair kReader{.local_node = 2, .local = {22}, .peer_node = 1, .peer = {11}};
constexpr NodePair kWriter{.local_node = 1, .local = {11}, .peer_node = 2, .peer = {22}};

void Expect(bool holds, absl::string_view what, absl::string_view bytes) {
  if (holds) return;
  std::cerr << what << ": " << absl::BytesToHexString(bytes) << "\n";
  std::abort();
}

bool Same(const SlotView& a, const SlotView& b) {
  return a.body == b.body && a.part_of == b.part_of && a.continues == b.continues &&
         a.remaining_nanos == b.remaining_nanos;
}

void CompareFrames(absl::string_view bytes) {
  const absl::StatusOr<FrameView> by_hand = DecodeSessionFrame(bytes);
  const absl::StatusOr<FrameView> by_protobuf = internal::DecodeFrameByProtobuf(bytes);
  Expect(by_hand.ok() == by_protobuf.ok(), "a frame is taken by one", bytes);
  if (!by_hand.ok()) return;
  Expect(by_hand->epoch == by_protobuf->epoch && by_hand->acknowledged == by_protobuf->acknowledged &&
             by_hand->first_number == by_protobuf->first_number,
         "a number of a frame differs", bytes);
  Expect(by_hand->slots.size() == by_protobuf->slots.size(), "the slots differ", bytes);
  for (size_t i = 0; i < by_hand->slots.size(); ++i) {
    Expect(Same(by_hand->slots[i], by_protobuf->slots[i]), "a slot differs", bytes);
  }
  Expect(by_hand->definitions.size() == by_protobuf->definitions.size(), "the definitions differ", bytes);
  for (size_t i = 0; i < by_hand->definitions.size(); ++i) {
    Expect(by_hand->definitions[i].hash == by_protobuf->definitions[i].hash &&
               by_hand->definitions[i].name == by_protobuf->definitions[i].name,
           "a definition differs", bytes);
  }
  Expect((by_hand->control == nullptr ? proto::Frame::CONTROL_NOT_SET : by_hand->control->control_case()) ==
             by_protobuf->control->control_case(),
         "the control part differs", bytes);
}

// Packs the frame's slots anew, by hand and by protobuf.
void CompareWrittenFrames(absl::string_view bytes) {
  const absl::StatusOr<FrameView> frame = DecodeSessionFrame(bytes);
  if (!frame.ok()) return;
  FramePacker packer(frame->epoch, frame->acknowledged);
  proto::Frame expected;
  expected.set_epoch(frame->epoch);
  expected.set_acknowledged(frame->acknowledged);
  for (size_t i = 0; i < frame->slots.size(); ++i) {
    const SlotView& slot = frame->slots[i];
    const MailboxDefinition* define = i < frame->definitions.size() ? &frame->definitions[i] : nullptr;
    if (!packer.Add(frame->first_number + i, slot, define)) break;
    if (i == 0) expected.set_first_number(frame->first_number);
    if (define != nullptr) {
      proto::MailboxDefinition& definition = *expected.add_definitions();
      definition.set_hash(define->hash);
      definition.set_name(std::string(define->name));
    }
    proto::Slot& added = *expected.add_slots();
    added.set_body(std::string(slot.body));
    added.set_continues(slot.continues);
    added.set_part_of(slot.part_of);
    if (slot.remaining_nanos.has_value()) added.set_remaining_nanos(*slot.remaining_nanos);
  }
  if (frame->control != nullptr && frame->control->has_heartbeat()) {
    *packer.frame().mutable_heartbeat() = frame->control->heartbeat();
    *expected.mutable_heartbeat() = frame->control->heartbeat();
  }
  Expect(packer.Encode() == expected.SerializeAsString(), "a written frame differs", bytes);
}

// The trace that the message has, or null.
const TraceContext* TraceOf(const internal::Message& message) {
  internal::Envelope& block = *message.payload.block();
  return block.has(internal::Envelope::kIsTraced) ? &block.trace().context : nullptr;
}

std::string WrittenByProtobuf(const internal::Message& message) {
  proto::Envelope envelope;
  proto::Message& out = *envelope.mutable_message();
  *out.mutable_from() = ToAddress(kWriter.local, message.from);
  *out.mutable_to() = ToAddress(kWriter.peer, message.to);
  out.set_mailbox(message.mailbox);
  out.set_ask(message.ask);
  out.set_payload(std::string(message.payload.wire_bytes()));
  out.set_by_allowance(message.admission == Admission::kAllowance);
  if (const TraceContext* trace = TraceOf(message); trace != nullptr) {
    proto::TraceContext& context = *out.mutable_trace();
    context.set_trace_high(trace->trace.high);
    context.set_trace_low(trace->trace.low);
    context.set_span(trace->span);
    context.set_flags(1);
    context.set_hops(trace->hops);
  }
  return envelope.SerializeAsString();
}

std::string WrittenByProtobuf(const Signal& signal) {
  proto::Envelope envelope;
  proto::Signal& out = *envelope.mutable_signal();
  out.set_kind(static_cast<int>(signal.kind));
  *out.mutable_from() = ToAddress(kWriter.local, signal.from);
  *out.mutable_to() = ToAddress(kWriter.peer, signal.to);
  out.set_id(signal.id);
  out.set_is_link(signal.is_link);
  if (signal.payload.is_wire_bytes()) out.set_payload(std::string(signal.payload.wire_bytes()));
  if (signal.kind == SignalKind::kStreamCredit || signal.kind == SignalKind::kUploadCredit) {
    out.set_items(internal::ItemsOfCredit(signal));
  }
  return envelope.SerializeAsString();
}

bool HasReason(const Signal& signal) { return !signal.reason.is_normal() || signal.reason.cause() != nullptr; }

void ExpectFewPayloads(const absl::Status& status, absl::string_view bytes) {
  int payloads = 0;
  status.ForEachPayload([&](absl::string_view, const absl::Cord&) { ++payloads; });
  Expect(payloads <= limits::kStatusPayloadsMax, "a status has too many payloads", bytes);
}

// No status costs more work than its bound allows.
void CheckStatuses(absl::string_view bytes) {
  const absl::StatusOr<InboundEnvelope> envelope = DecodeEnvelope(kReader, bytes);
  if (!envelope.ok()) return;
  if (const auto* signal = std::get_if<Signal>(&*envelope)) {
    ExpectFewPayloads(signal->status, bytes);
    for (const ExitReason* r = &signal->reason; r != nullptr; r = r->cause()) ExpectFewPayloads(r->status(), bytes);
  } else if (const auto* refused = std::get_if<RefusedMessage>(&*envelope)) {
    ExpectFewPayloads(refused->status, bytes);
  } else if (const auto* changes = std::get_if<CreditChanges>(&*envelope)) {
    for (const CreditChange& change : *changes) ExpectFewPayloads(change.status, bytes);
  }
}

void CompareEnvelopes(absl::string_view bytes) {
  // Of these DecodeEnvelope reads those that it reads by hand, and refuses all others.
  if (internal::CheckFields(bytes) != internal::FieldFault::kNone) return;
  const absl::StatusOr<InboundEnvelope> by_hand = DecodeEnvelope(kReader, bytes);
  const absl::StatusOr<InboundEnvelope> by_protobuf = internal::DecodeEnvelopeByProtobuf(kReader, bytes);
  Expect(by_hand.ok() == by_protobuf.ok(), "an envelope is taken by one", bytes);
  if (!by_hand.ok()) return;
  Expect(by_hand->index() == by_protobuf->index(), "the envelope is another", bytes);
  if (const auto* message = std::get_if<internal::Message>(&*by_hand)) {
    const auto& other = std::get<internal::Message>(*by_protobuf);
    Expect(message->from == other.from && message->to == other.to && message->mailbox == other.mailbox &&
               message->ask == other.ask && message->admission == other.admission &&
               message->payload.wire_bytes() == other.payload.wire_bytes(),
           "a message differs", bytes);
    const TraceContext* const trace = TraceOf(*message);
    const TraceContext* const others_trace = TraceOf(other);
    Expect((trace == nullptr) == (others_trace == nullptr) && (trace == nullptr || *trace == *others_trace),
           "a trace differs", bytes);
    const absl::StatusOr<std::string> written =
        EncodeMessage(kWriter, message->from, message->to, message->mailbox, message->ask,
                      message->payload.wire_bytes(), message->admission, /*memory=*/"", trace);
    Expect(written.ok() && *written == WrittenByProtobuf(*message), "a written message differs", bytes);
  } else if (const auto* signal = std::get_if<Signal>(&*by_hand)) {
    const auto& other = std::get<Signal>(*by_protobuf);
    Expect(signal->kind == other.kind && signal->from == other.from && signal->to == other.to &&
               signal->id == other.id && signal->is_link == other.is_link && signal->reason == other.reason &&
               signal->status == other.status && signal->payload.is_wire_bytes() == other.payload.is_wire_bytes(),
           "a signal differs", bytes);
    if (signal->payload.is_wire_bytes()) {
      Expect(signal->payload.wire_bytes() == other.payload.wire_bytes(), "a reply differs", bytes);
    }
    if (signal->status.ok() && !HasReason(*signal)) {
      Expect(EncodeSignal(kWriter, *signal) == WrittenByProtobuf(*signal), "a written signal differs", bytes);
    }
  }
}

}  // namespace
}  // namespace understudy

extern "C" int LLVMFuzzerTestOneInput(const uint8_t* data, size_t size) {
  const absl::string_view bytes(reinterpret_cast<const char*>(data), size);
  understudy::CompareFrames(bytes);
  understudy::CompareWrittenFrames(bytes);
  understudy::CompareEnvelopes(bytes);
  understudy::CheckStatuses(bytes);
  return 0;
}
