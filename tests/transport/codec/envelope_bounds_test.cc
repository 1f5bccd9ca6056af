// The work and memory that the envelopes of a hostile peer may cost, and that no envelope of an honest node exceeds
// these bounds.
#include <cstddef>
#include <string>
#include <utility>
#include <variant>
#include <vector>

#include "absl/status/status.h"
#include "absl/status/statusor.h"
#include "absl/strings/cord.h"
#include "absl/strings/str_cat.h"
#include "absl/strings/string_view.h"
#include "gmock/gmock.h"
#include "gtest/gtest.h"
#include "understudy/actors/error.h"
#include "understudy/actors/exit_reason.h"
#include "understudy/actors/limits.h"
#include "understudy/actors/message.h"
#include "understudy/actors/pid.h"
#include "understudy/proto/envelope.pb.h"
#include "understudy/proto/names.pb.h"
#include "understudy/proto/signals.pb.h"
#include "understudy/transport/codec/credit.h"
#include "understudy/transport/codec/credit_codec.h"
#include "understudy/transport/codec/frame_codec.h"
#include "understudy/transport/limits.h"

namespace understudy {
namespace {

using ::testing::EndsWith;
using ::testing::HasSubstr;
using ::testing::Le;
using ::testing::SizeIs;

constexpr NodePair kHere{.local_node = 1, .local = {11}, .peer_node = 2, .peer = {22}};
constexpr NodePair kThere{.local_node = 2, .local = {22}, .peer_node = 1, .peer = {11}};
const Pid kOurs(1, 5, 6);
const Pid kPeers(2, 7, 8);

// The error with which `kThere` refuses the envelope; "" if it is a good one.
std::string Fault(absl::string_view bytes) {
  const absl::Status status = DecodeEnvelope(kThere, bytes).status();
  EXPECT_TRUE(status.ok() || absl::IsInvalidArgument(status)) << status;
  return std::string(status.message());
}
std::string Fault(const proto::Envelope& envelope) { return Fault(envelope.SerializeAsString()); }

proto::Envelope SignalOf(SignalKind kind) {
  proto::Envelope envelope;
  proto::Signal& signal = *envelope.mutable_signal();
  signal.set_kind(static_cast<int>(kind));
  *signal.mutable_from() = ToAddress(kHere.local, kOurs);
  *signal.mutable_to() = ToAddress(kHere.peer, kPeers);
  return envelope;
}
proto::Envelope Refusal() {
  proto::Envelope envelope;
  *envelope.mutable_refused()->mutable_from() = ToAddress(kHere.peer, kPeers);
  *envelope.mutable_refused()->mutable_to() = ToAddress(kHere.local, kOurs);
  envelope.mutable_refused()->mutable_status()->set_code(8);
  return envelope;
}
proto::Envelope RefusalOfCredit() {
  proto::Envelope envelope;
  proto::Credit& credit = *envelope.mutable_credits()->add_credits();
  credit.set_kind(proto::Credit::REFUSE);
  *credit.mutable_to() = ToAddress(kHere.local, kOurs);
  credit.mutable_status()->set_code(8);
  return envelope;
}
proto::Envelope ReplyWithError() {
  proto::Envelope envelope = SignalOf(SignalKind::kReply);
  envelope.mutable_signal()->mutable_status()->set_code(8);
  return envelope;
}
// The status of each kind of envelope that has one.
struct StatusOfEnvelope {
  proto::Envelope envelope;
  proto::Status& (*status)(proto::Envelope&);
};
std::vector<StatusOfEnvelope> ShortStatuses() {
  return {
      {Refusal(), [](proto::Envelope& e) -> proto::Status& { return *e.mutable_refused()->mutable_status(); }},
      {RefusalOfCredit(),
       [](proto::Envelope& e) -> proto::Status& { return *e.mutable_credits()->mutable_credits(0)->mutable_status(); }},
      {SignalOf(SignalKind::kCancel),
       [](proto::Envelope& e) -> proto::Status& { return *e.mutable_signal()->mutable_status(); }},
      {SignalOf(SignalKind::kExit),
       [](proto::Envelope& e) -> proto::Status& { return *e.mutable_signal()->mutable_status(); }}};
}
std::vector<StatusOfEnvelope> Statuses() {
  std::vector<StatusOfEnvelope> all = ShortStatuses();
  all.push_back(
      {ReplyWithError(), [](proto::Envelope& e) -> proto::Status& { return *e.mutable_signal()->mutable_status(); }});
  proto::Envelope exit = SignalOf(SignalKind::kExit);
  exit.mutable_signal()->mutable_reason()->add_links()->set_kind(3);
  exit.mutable_signal()->mutable_reason()->mutable_links(0)->mutable_status()->set_code(8);
  all.push_back({exit, [](proto::Envelope& e) -> proto::Status& {
                   return *e.mutable_signal()->mutable_reason()->mutable_links(0)->mutable_status();
                 }});
  return all;
}

// A status with `count` payloads, of which the library's own comes last by its URL.
absl::Status WithPayloads(int count) {
  absl::Status status = MakeError(ErrorKind::kFull, "no room");
  for (int i = 1; i < count; ++i) status.SetPayload(absl::StrCat(i), absl::Cord());
  return status;
}
int PayloadsOf(const absl::Status& status) {
  int payloads = 0;
  status.ForEachPayload([&](absl::string_view, const absl::Cord&) { ++payloads; });
  return payloads;
}

Signal ReplyOf(absl::Status status) {
  return {.kind = SignalKind::kReply, .from = kOurs, .to = kPeers, .status = std::move(status)};
}
Signal SignalBack(const std::string& bytes) {
  EXPECT_THAT(bytes, SizeIs(Le(limits::kNodesEnvelopeBytesMax)));
  absl::StatusOr<InboundEnvelope> decoded = DecodeEnvelope(kThere, bytes);
  EXPECT_TRUE(decoded.ok()) << decoded.status();
  return decoded.ok() ? std::get<Signal>(*std::move(decoded)) : Signal();
}

TEST(EnvelopeBoundsTest, AStatusWithTooManyPayloadsIsABadEnvelope) {
  for (auto& [envelope, status_of] : Statuses()) {
    for (int i = 0; i < limits::kStatusPayloadsMax; ++i) {
      status_of(envelope).add_payloads()->set_type_url(absl::StrCat(i));
    }
    EXPECT_EQ(Fault(envelope), "") << envelope.DebugString();
    status_of(envelope).add_payloads()->set_type_url("1");  // counts although it would replace another
    EXPECT_THAT(Fault(envelope), HasSubstr("a status with 17 payloads: at most 16 are allowed"));
  }
}

TEST(EnvelopeBoundsTest, ASenderLeavesOutPayloadsThatWouldBeTooMany) {
  for (const int payloads : {limits::kStatusPayloadsMax, limits::kStatusPayloadsMax + 1, 2000}) {
    const absl::Status whole = WithPayloads(payloads);
    const absl::Status reply = SignalBack(EncodeSignal(kHere, ReplyOf(whole))).status;
    EXPECT_TRUE(IsFull(reply)) << reply;
    EXPECT_EQ(PayloadsOf(reply), limits::kStatusPayloadsMax);
    if (payloads == limits::kStatusPayloadsMax) {
      EXPECT_EQ(reply, whole);
    } else {
      EXPECT_THAT(std::string(reply.message()),
                  EndsWith(absl::StrCat("no room (", payloads - limits::kStatusPayloadsMax, " payloads left out)")));
    }
    ExitReason reason = ExitReason::Failed(whole);
    for (int i = 1; i < limits::kExitCausesMax; ++i) reason = ExitReason::Failed(WithPayloads(17)).CausedBy(reason);
    const Signal exit =
        SignalBack(EncodeSignal(kHere, {.kind = SignalKind::kExit, .from = kOurs, .to = kPeers, .reason = reason}));
    EXPECT_EQ(exit.reason.depth(), reason.depth());
    for (const ExitReason* r = &exit.reason; r != nullptr; r = r->cause()) {
      EXPECT_EQ(PayloadsOf(r->status()), limits::kStatusPayloadsMax);
      EXPECT_TRUE(IsFull(r->status()));
    }
    const Signal cancel =
        SignalBack(EncodeSignal(kHere, {.kind = SignalKind::kCancel, .from = kOurs, .to = kPeers, .status = whole}));
    EXPECT_TRUE(IsFull(cancel.status));
    EXPECT_EQ(Fault(EncodeRefused(kHere, {.from = kPeers, .to = kOurs, .status = whole})), "");
    EXPECT_EQ(
        Fault(EncodeCredit(kHere, {{.kind = CreditChange::Kind::kRefuse, .to = kOurs, .mailbox = 1, .status = whole}})),
        "");
  }
}

TEST(EnvelopeBoundsTest, OnlyAnEnvelopeWithAPayloadMayBeLarge) {
  const std::string payload(limits::kNodesEnvelopeBytesMax, 'x');
  EXPECT_EQ(Fault(*EncodeMessage(kHere, kOurs, kPeers, 3, 0, payload)), "");
  for (const SignalKind kind : {SignalKind::kReply, SignalKind::kItem, SignalKind::kUploadItem}) {
    const Signal signal{.kind = kind, .from = kOurs, .to = kPeers, .payload = internal::Payload::OfWireBytes(payload)};
    EXPECT_EQ(Fault(EncodeSignal(kHere, signal)), "");
  }
  std::vector<proto::Envelope> bad;
  bad.push_back(Refusal());
  bad.back().mutable_refused()->mutable_status()->set_message(payload);
  bad.push_back(ReplyWithError());
  bad.back().mutable_signal()->mutable_status()->set_message(payload);
  bad.push_back(SignalOf(SignalKind::kReply));
  bad.back().mutable_signal()->set_payload(payload);
  bad.back().mutable_signal()->mutable_reason()->add_links()->set_kind(1);
  bad.push_back(SignalOf(SignalKind::kExit));
  bad.back().mutable_signal()->mutable_reason()->add_links()->set_kind(3);
  bad.back().mutable_signal()->mutable_reason()->mutable_links(0)->set_detail(payload);
  for (const SignalKind kind : {SignalKind::kKill, SignalKind::kStreamCredit}) {
    bad.push_back(SignalOf(kind));
    bad.back().mutable_signal()->set_payload(payload);
  }
  bad.emplace_back().set_names(payload);
  bad.emplace_back().mutable_leave()->set_why(payload);
  for (const proto::Envelope& envelope : bad) {
    EXPECT_THAT(Fault(envelope), HasSubstr("at most 196608 are allowed without a payload"));
  }
  std::string credits = "\x22\x80\x80\x80\x10";  // field 4, of 32 MiB
  for (size_t i = 0; i < size_t{16} << 20; ++i) credits.append("\x0a\0", 2);
  EXPECT_THAT(Fault(credits), HasSubstr("at most 196608 are allowed without a payload"));
  const std::string message = *EncodeMessage(kHere, kOurs, kPeers, 3, 0, payload);
  EXPECT_THAT(Fault(message + message), HasSubstr("at most 196608 are allowed without a payload"));
}

TEST(EnvelopeBoundsTest, ManySmallFieldsAreABadEnvelope) {
  // Returns the signal `envelope` with `fields` in it again and again; protobuf makes much larger objects of them.
  const auto with = [](proto::Envelope envelope, absl::string_view fields) {
    std::string many;
    while (many.size() < limits::kNodesEnvelopeBytesMax / 2) absl::StrAppend(&many, fields);
    proto::Signal& signal = *envelope.mutable_signal();
    EXPECT_TRUE(signal.MergeFromString(many));
    return envelope.SerializeAsString();
  };
  const proto::Envelope reply = ReplyWithError();
  const absl::string_view unknown_bytes("\x7a\0", 2);
  const absl::string_view unknown_number("\x78\x01", 2);
  for (const absl::string_view fields : {unknown_bytes, unknown_number}) {
    EXPECT_THAT(Fault(with(reply, fields)), HasSubstr("too many fields")) << absl::StrCat("of type ", fields[0] & 7);
  }
  proto::Envelope credits;
  for (int i = 0; i < 2000; ++i) credits.mutable_credits()->add_credits();
  EXPECT_THAT(Fault(credits), HasSubstr("too many fields"));
  proto::Envelope links = SignalOf(SignalKind::kExit);
  for (int i = 0; i < 2000; ++i) links.mutable_signal()->mutable_reason()->add_links();
  EXPECT_THAT(Fault(links), HasSubstr("too many fields"));
  std::string merged;
  while (merged.size() < 5000) merged.append("\x12\x02\x12\0", 4);  // a Signal with an Address, again and again
  EXPECT_THAT(Fault(merged), HasSubstr("too many fields"));
  const std::string group("\x12\x04\x32\x02\x7b\x7c", 6);  // a Signal with a reason with a group, which nothing writes
  EXPECT_THAT(Fault(group), HasSubstr("6 bytes do not parse"));
}

TEST(EnvelopeBoundsTest, ALongStatusWhereSendersCutItIsABadEnvelope) {
  for (auto& [envelope, status_of] : ShortStatuses()) {
    proto::Status& status = status_of(envelope);
    status.set_code(8);
    status.set_message(std::string(limits::kAnswerReasonBytesMax - 5, 'x'));
    EXPECT_EQ(status.ByteSizeLong(), limits::kAnswerReasonBytesMax);
    EXPECT_EQ(Fault(envelope), "");
    status.set_message(std::string(limits::kAnswerReasonBytesMax - 4, 'x'));
    EXPECT_THAT(Fault(envelope), HasSubstr("a status of 257 bytes: at most 256 are allowed"));
  }
}

TEST(EnvelopeBoundsTest, WhatAnHonestNodeWritesIsWithinTheBounds) {
  const std::string text(size_t{1} << 20, 'x');
  const absl::Status error = MakeError(ErrorKind::kFull, text);
  const Signal reply = SignalBack(EncodeSignal(kHere, ReplyOf(error)));
  EXPECT_TRUE(IsFull(reply.status));
  EXPECT_THAT(std::string(reply.status.message()), EndsWith("(cut: it had 1048582 bytes)"));

  ExitReason reason = ExitReason::Failed(absl::AbortedError(std::string(limits::kExitReasonBytesMax / 2, 'x')));
  for (int i = 1; i < limits::kExitCausesMax; ++i) reason = ExitReason::Exception("t", "what").CausedBy(reason);
  EXPECT_EQ(reason.depth(), limits::kExitCausesMax);
  const Signal exited = SignalBack(EncodeSignal(kHere, ReplyOf(CalleeExitedError("the callee", reason))));
  EXPECT_EQ(ExitReasonOf(exited.status), reason);
  const Signal down = SignalBack(EncodeSignal(
      kHere, {.kind = SignalKind::kDown, .from = kOurs, .to = kPeers, .reason = ExitReason::Failed(error)}));
  EXPECT_EQ(down.reason, ExitReason::Failed(error));

  const CreditChange refusal{.kind = CreditChange::Kind::kRefuse,
                             .to = kOurs,
                             .mailbox = 0xffffffff,
                             .want = limits::kWantsPerSessionMax,
                             .status = AskerExitedError("the asker", ExitReason::Killed())};
  const std::string credits = EncodeCredit(kHere, CreditChanges(kCreditChangesTold, refusal));
  EXPECT_THAT(credits, SizeIs(Le(limits::kNodesEnvelopeBytesMax)));
  EXPECT_EQ(Fault(credits), "");
  EXPECT_EQ(Fault(EncodeRefused(kHere, {.from = kPeers, .to = kOurs, .status = error})), "");
  EXPECT_EQ(Fault(EncodeLeave(text)), "");
}

}  // namespace
}  // namespace understudy
