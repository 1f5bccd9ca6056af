#include "understudy/transport/codec/frame_codec.h"

#include <cstdint>
#include <string>
#include <utility>
#include <variant>

#include "absl/status/status.h"
#include "absl/status/statusor.h"
#include "absl/strings/cord.h"
#include "absl/strings/string_view.h"
#include "absl/types/optional.h"
#include "gmock/gmock.h"
#include "gtest/gtest.h"
#include "understudy/actors/error.h"
#include "understudy/actors/exit_reason.h"
#include "understudy/actors/limits.h"
#include "understudy/actors/message.h"
#include "understudy/actors/node_table.h"
#include "understudy/actors/pid.h"
#include "understudy/actors/random.h"
#include "understudy/proto/envelope.pb.h"
#include "understudy/proto/ref.pb.h"
#include "understudy/proto/signals.pb.h"
#include "understudy/transport/codec/credit.h"
#include "understudy/transport/codec/credit_codec.h"
#include "understudy/transport/ref_proto.h"

namespace understudy {
namespace {

using ::testing::HasSubstr;

constexpr NodePair kHere{.local_node = 1, .local = {11}, .peer_node = 2, .peer = {22}};
constexpr NodePair kThere{.local_node = 2, .local = {22}, .peer_node = 1, .peer = {11}};

// Returns what `kThere` decodes from bytes that `kHere` encoded.
InboundEnvelope Decoded(const absl::StatusOr<std::string>& bytes) {
  EXPECT_TRUE(bytes.ok()) << bytes.status();
  absl::StatusOr<InboundEnvelope> decoded = DecodeEnvelope(kThere, *bytes);
  EXPECT_TRUE(decoded.ok()) << decoded.status();
  return decoded.ok() ? *std::move(decoded) : InboundEnvelope(LeaveNotice{});
}

proto::Frame FrameWithOneSlot() {
  proto::Frame frame;
  frame.set_epoch(1);
  frame.set_first_number(1);
  frame.add_slots()->set_body("x");
  return frame;
}

absl::Status DecodeStatus(const proto::Frame& frame) { return DecodeFrame(frame.SerializeAsString()).status(); }

TEST(FrameTest, SlotsComeBackWithTheirNumbersDefinitionsAndTimes) {
  constexpr absl::string_view kName = "auction.Auction/MakeOffer";
  const MailboxDefinition definition{.hash = internal::Fnv1a(kName), .name = kName};
  FramePacker packer(3, 17);
  ASSERT_TRUE(packer.Add(40, {.body = "first", .remaining_nanos = 250}, &definition));
  ASSERT_TRUE(packer.Add(41, {.body = "second", .part_of = 7, .continues = true}, nullptr));
  const absl::StatusOr<proto::Frame> frame = DecodeFrame(packer.Encode());
  ASSERT_TRUE(frame.ok()) << frame.status();
  EXPECT_EQ(frame->epoch(), 3U);
  EXPECT_EQ(frame->acknowledged(), 17U);
  EXPECT_EQ(frame->first_number(), 40U);
  ASSERT_EQ(frame->slots_size(), 2);
  EXPECT_EQ(frame->slots(0).body(), "first");
  EXPECT_EQ(frame->slots(0).remaining_nanos(), 250);
  EXPECT_FALSE(frame->slots(1).has_remaining_nanos());
  EXPECT_TRUE(frame->slots(1).continues());
  EXPECT_EQ(frame->slots(0).part_of(), 0U);
  EXPECT_EQ(frame->slots(1).part_of(), 7U);
  EXPECT_EQ(frame->definitions(0).name(), "auction.Auction/MakeOffer");
}

TEST(FrameTest, AFullFrameRefusesTheNextSlotAndStaysWithinItsBytes) {
  const std::string body(20000, 'b');
  FramePacker packer(1, 0);
  EXPECT_TRUE(packer.Add(1, {.body = body, .remaining_nanos = 1}, nullptr));
  EXPECT_TRUE(packer.Add(2, {.body = body, .remaining_nanos = 1}, nullptr));
  EXPECT_TRUE(packer.Add(3, {.body = body, .remaining_nanos = 1}, nullptr));
  EXPECT_FALSE(packer.Add(4, {.body = body, .remaining_nanos = 1}, nullptr));
  EXPECT_TRUE(packer.Add(4, {.body = "small", .remaining_nanos = 1}, nullptr));
  EXPECT_LE(packer.Encode().size(), limits::kFrameBytesMax);
}

TEST(FrameTest, TheLargestSlotAndTheLongestDefinitionFitOneFrame) {
  const std::string name(limits::kMailboxNameBytesMax, 'n');
  const MailboxDefinition definition{.hash = internal::Fnv1a(name), .name = name};
  const std::string body(limits::kSlotBytesMax, 'b');
  const SlotView slot{.body = body, .part_of = 64, .continues = true, .remaining_nanos = INT64_MIN};
  FramePacker packer(UINT64_MAX, UINT64_MAX);
  ASSERT_TRUE(packer.Add(UINT64_MAX / 2, slot, &definition));
  EXPECT_TRUE(DecodeFrame(packer.Encode()).ok());
}

TEST(FrameTest, ABadFrameIsRefusedWithItsFault) {
  ASSERT_TRUE(DecodeStatus(FrameWithOneSlot()).ok());
  const auto fault_after = [](auto change) {
    proto::Frame frame = FrameWithOneSlot();
    change(frame);
    const absl::Status status = DecodeStatus(frame);
    EXPECT_TRUE(absl::IsInvalidArgument(status)) << status;
    return std::string(status.message());
  };
  EXPECT_THAT(fault_after([](proto::Frame& f) { f.set_epoch(0); }), HasSubstr("the epoch is 0 or missing"));
  EXPECT_THAT(fault_after([](proto::Frame& f) { f.set_first_number(0); }), HasSubstr("number 0"));
  EXPECT_THAT(fault_after([](proto::Frame& f) { f.set_first_number(UINT64_MAX); }), HasSubstr("the first slot"));
  EXPECT_THAT(fault_after([](proto::Frame& f) { f.clear_slots(); }), HasSubstr("without a slot"));
  EXPECT_THAT(fault_after([](proto::Frame& f) { f.mutable_slots(0)->set_body(std::string(65000, 'b')); }),
              HasSubstr("a slot has 65000 bytes: at most"));
  EXPECT_THAT(fault_after([](proto::Frame& f) {
                for (int i = 0; i < limits::kSlotsPerFrameMax; ++i) f.add_slots();
              }),
              HasSubstr("slots"));
  EXPECT_THAT(fault_after([](proto::Frame& f) { f.add_definitions()->set_name("wrong hash"); }), HasSubstr("hash"));
  EXPECT_THAT(fault_after([](proto::Frame& f) { f.add_definitions()->set_name(std::string(2000, 'n')); }),
              HasSubstr("name"));
  EXPECT_THAT(fault_after([](proto::Frame& f) { f.mutable_hello()->set_from_node("a"); }),
              HasSubstr("a handshake has 1 slots"));
}

TEST(FrameTest, AHelloNeedsADnsLabelAndAnIncarnation) {
  proto::Frame frame;
  frame.mutable_hello()->set_from_node("house-1");
  frame.mutable_hello()->set_incarnation(1);
  EXPECT_TRUE(DecodeStatus(frame).ok());
  frame.mutable_hello()->set_incarnation(0);
  EXPECT_THAT(std::string(DecodeStatus(frame).message()), HasSubstr("incarnation"));
  frame.mutable_hello()->set_incarnation(1);
  for (const char* name : {"", "-a", "a-", "House", "a.b", "a b", "a\n"}) {
    frame.mutable_hello()->set_from_node(name);
    EXPECT_THAT(std::string(DecodeStatus(frame).message()), HasSubstr("DNS label")) << name;
  }
  frame.mutable_hello()->set_from_node("understudy");
  EXPECT_THAT(std::string(DecodeStatus(frame).message()), HasSubstr("reserved"));
}

TEST(FrameTest, MoreBytesThanAFrameAreRefusedUnread) {
  EXPECT_THAT(std::string(DecodeFrame(std::string(limits::kFrameBytesMax + 1, '\0')).status().message()),
              HasSubstr("at most"));
}

TEST(FrameTest, NoBytesCrashTheDecoder) {
  Random random(1);
  proto::Frame frame = FrameWithOneSlot();
  frame.mutable_slots(0)->set_body(*EncodeMessage(kHere, Pid(1, 1, 1), Pid(2, 2, 2), 3, 4, "payload"));
  const std::string good = frame.SerializeAsString();
  int refused = 0;
  for (int run = 0; run < 20000; ++run) {
    std::string bytes = good;
    for (uint64_t i = 0; i <= random.Below(4); ++i)
      bytes[random.Below(bytes.size())] = static_cast<char>(random.Next());
    const absl::StatusOr<proto::Frame> decoded = DecodeFrame(bytes);
    if (!decoded.ok() || decoded->slots_size() == 0 || !DecodeEnvelope(kThere, decoded->slots(0).body()).ok()) {
      ++refused;
    }
  }
  EXPECT_GT(refused, 1000);
}

TEST(EnvelopeTest, AMessageComesBack) {
  const auto message = std::get<internal::Message>(
      Decoded(EncodeMessage(kHere, Pid(1, 5, 6), Pid(2, 7, 8), 0xabcdef01, 9, std::string("\0bytes", 6))));
  EXPECT_EQ(message.from, Pid(1, 5, 6));
  EXPECT_EQ(message.to, Pid(2, 7, 8));
  EXPECT_EQ(message.mailbox, 0xabcdef01);
  EXPECT_EQ(message.ask, 9U);
  EXPECT_EQ(message.payload.wire_bytes(), std::string("\0bytes", 6));
}

TEST(EnvelopeTest, APlainThreadOfThePeerIsANullPidThatKnowsItsNode) {
  const auto message = std::get<internal::Message>(Decoded(EncodeMessage(kHere, Pid(), Pid(2, 7, 8), 1, 9, "")));
  EXPECT_TRUE(message.from.is_null());
  EXPECT_EQ(message.from.node(), 1);
}

TEST(EnvelopeTest, AMessageAboveTheLimitIsRefusedBeforeItIsSent) {
  const absl::Status status =
      EncodeMessage(kHere, Pid(1, 1, 1), Pid(2, 2, 2), 1, 0, std::string(limits::kMessageBytesMax + 1, 'x')).status();
  EXPECT_TRUE(absl::IsInvalidArgument(status)) << status;
  EXPECT_THAT(std::string(status.message()), HasSubstr("67108865"));
}

TEST(EnvelopeTest, EverySignalComesBack) {
  for (int kind = 1; kind < static_cast<int>(SignalKind::kReply); ++kind) {
    Signal signal;
    signal.kind = static_cast<SignalKind>(kind);
    signal.from = Pid(1, 5, 6);
    signal.to = Pid(2, 7, 8);
    signal.id = 77;
    signal.is_link = true;
    signal.reason = ExitReason::OsSignal(9).CausedBy(ExitReason::Killed());
    const auto back = std::get<Signal>(Decoded(EncodeSignal(kHere, signal)));
    EXPECT_EQ(back.kind, signal.kind);
    EXPECT_EQ(back.from, signal.from);
    EXPECT_EQ(back.to, signal.to);
    EXPECT_EQ(back.id, 77U);
    EXPECT_TRUE(back.is_link);
    EXPECT_EQ(back.reason, signal.reason);
  }
}

TEST(EnvelopeTest, AReplyCarriesItsPayloadOrItsStatus) {
  Signal reply;
  reply.kind = SignalKind::kReply;
  reply.from = Pid(1, 5, 6);
  reply.to = Pid(2, 7, 8);
  proto::Ref value;
  value.set_node("n");
  reply.payload = internal::Payload::Of(value);
  auto back = std::get<Signal>(Decoded(EncodeSignal(kHere, reply)));
  EXPECT_TRUE(back.status.ok());
  EXPECT_EQ(back.payload.wire_bytes(), value.SerializeAsString());

  reply.status = MakeError(ErrorKind::kFull, "no room");
  back = std::get<Signal>(Decoded(EncodeSignal(kHere, reply)));
  EXPECT_TRUE(IsFull(back.status)) << back.status;
}

TEST(EnvelopeTest, ItemsCreditAndCancelsOfAStreamComeBack) {
  const auto round_trip = [](Signal signal) {
    signal.from = Pid(1, 5, 6);
    signal.to = Pid(2, 7, 8);
    signal.id = internal::kStreamAsk | 3;
    auto back = std::get<Signal>(Decoded(EncodeSignal(kHere, signal)));
    EXPECT_EQ(back.kind, signal.kind);
    EXPECT_EQ(back.id, signal.id);
    return back;
  };
  for (const SignalKind kind : {SignalKind::kItem, SignalKind::kUploadItem}) {
    for (const std::string bytes : {"", "some bytes"}) {
      const Signal back = round_trip({.kind = kind, .payload = internal::Payload::OfWireBytes(bytes)});
      ASSERT_TRUE(back.payload.is_wire_bytes());
      EXPECT_EQ(back.payload.wire_bytes(), bytes);
    }
  }
  for (const SignalKind kind : {SignalKind::kStreamCredit, SignalKind::kUploadCredit}) {
    for (const uint64_t items : {uint64_t{0}, uint64_t{16}, UINT64_MAX}) {
      const Signal back =
          round_trip({.kind = kind, .payload = internal::Payload::Of(internal::StreamCredit{.items = items})});
      EXPECT_EQ(internal::ItemsOfCredit(back), items);
    }
  }
  for (const SignalKind kind : {SignalKind::kCancel, SignalKind::kUploadEnd, SignalKind::kUploadCancel}) {
    EXPECT_TRUE(round_trip({.kind = kind}).status.ok());
    const Signal back = round_trip({.kind = kind, .status = AskerExitedError("somebody", ExitReason::Killed())});
    EXPECT_EQ(ExitReasonOf(back.status), ExitReason::Killed());
  }
}

TEST(EnvelopeTest, AStreamOfNoActorIsABadFrame) {
  for (const uint64_t bit : {internal::kStreamAsk, internal::kUploadAsk}) {
    const std::string call = *EncodeMessage(kHere, Pid(), Pid(2, 7, 8), 1, bit | 3, "");
    EXPECT_THAT(std::string(DecodeEnvelope(kThere, call).status().message()),
                HasSubstr("a call with a stream has no sender"));
  }
}

TEST(EnvelopeTest, AReplyThatCannotTravelBecomesAnError) {
  Signal reply;
  reply.kind = SignalKind::kReply;
  reply.from = Pid(1, 5, 6);
  reply.to = Pid(2, 7, 8);
  reply.payload = internal::Payload::Of(std::pair<int, int>(1, 2));
  const auto back = std::get<Signal>(Decoded(EncodeSignal(kHere, reply)));
  EXPECT_TRUE(absl::IsInvalidArgument(back.status)) << back.status;
}

TEST(EnvelopeTest, ASenderThatIsNotThePeersIsABadFrame) {
  const std::string forged = *EncodeMessage({.local = {33}, .peer = {22}}, Pid(1, 5, 6), Pid(2, 7, 8), 1, 0, "");
  EXPECT_THAT(std::string(DecodeEnvelope(kThere, forged).status().message()), HasSubstr("not the peer's"));
}

TEST(EnvelopeTest, AReceiverThatIsNotOursIsABadFrame) {
  const std::string stray = *EncodeMessage({.local = {11}, .peer = {33}}, Pid(1, 5, 6), Pid(2, 7, 8), 1, 0, "");
  EXPECT_THAT(std::string(DecodeEnvelope(kThere, stray).status().message()), HasSubstr("not ours"));
}

TEST(EnvelopeTest, ImpossibleNumbersAreBadFrames) {
  proto::Envelope envelope;
  proto::Signal& signal = *envelope.mutable_signal();
  *signal.mutable_from() = ToAddress({11}, Pid(1, 1, 1));
  *signal.mutable_to() = ToAddress({22}, Pid(2, 1, 1));
  const auto decode = [&] { return DecodeEnvelope(kThere, envelope.SerializeAsString()).status(); };
  EXPECT_FALSE(decode().ok());  // kind 0
  signal.set_kind(18);
  EXPECT_FALSE(decode().ok());
  signal.set_kind(1);
  EXPECT_TRUE(decode().ok());
  signal.mutable_reason();  // of no link
  EXPECT_FALSE(decode().ok());
  signal.mutable_reason()->add_links()->set_kind(17);
  EXPECT_FALSE(decode().ok());
  signal.mutable_reason()->mutable_links(0)->set_kind(16);
  EXPECT_TRUE(decode().ok());
  for (int i = 0; i < limits::kExitCausesMax; ++i) signal.mutable_reason()->add_links()->set_kind(1);
  EXPECT_FALSE(decode().ok());
  signal.clear_reason();
  signal.mutable_from()->set_serial(uint64_t{1} << 48);
  EXPECT_FALSE(decode().ok());
  EXPECT_FALSE(DecodeEnvelope(kThere, "").ok());
}

TEST(EnvelopeTest, AnImpossibleChangeOfCreditIsABadFrame) {
  const auto is_good = [](const CreditChanges& changes) {
    return DecodeEnvelope(kThere, EncodeCredit(kHere, changes)).ok();
  };
  const CreditChange good{.to = Pid(1, 1, 1), .mailbox = 3, .granted = {.messages = 1, .bytes = 10}};
  EXPECT_TRUE(is_good({good}));
  EXPECT_FALSE(is_good({}));
  EXPECT_TRUE(is_good(CreditChanges(kCreditChangesMax, good)));
  EXPECT_FALSE(is_good(CreditChanges(kCreditChangesMax + 1, good)));
  for (const int64_t bad : {int64_t{-1}, kGrantedMax.bytes + 1}) {
    CreditChange change = good;
    change.granted.messages = bad;
    EXPECT_FALSE(is_good({good, change}));
    change = good;
    change.granted.bytes = bad;
    EXPECT_FALSE(is_good({change}));
    change = good;
    change.allowance.messages = bad;
    EXPECT_FALSE(is_good({change}));
    change = good;
    change.allowance.bytes = bad;
    EXPECT_FALSE(is_good({change}));
  }
  CreditChange change = good;
  change.kind = static_cast<CreditChange::Kind>(6);
  EXPECT_FALSE(is_good({change}));
  change.kind = CreditChange::Kind::kRefuse;
  EXPECT_FALSE(is_good({change})) << "a refusal that is OK";
  change = good;
  change.to = Pid(1, 0, 0);
  EXPECT_FALSE(is_good({change})) << "to no actor";
}

TEST(EnvelopeTest, RefusalCreditAndLeaveComeBack) {
  const auto refused =
      std::get<RefusedMessage>(Decoded(EncodeRefused(kHere, {.from = Pid(2, 7, 8),
                                                             .to = Pid(1, 5, 6),
                                                             .mailbox = 3,
                                                             .ask = 4,
                                                             .status = MakeError(ErrorKind::kNoMailbox, "none")})));
  EXPECT_EQ(refused.from, Pid(2, 7, 8));
  EXPECT_EQ(refused.to, Pid(1, 5, 6));
  EXPECT_EQ(refused.mailbox, 3U);
  EXPECT_EQ(refused.ask, 4U);
  EXPECT_TRUE(IsNoMailbox(refused.status));
  const CreditChange grant{.kind = CreditChange::Kind::kGrant,
                           .to = Pid(1, 5, 6),
                           .mailbox = 3,
                           .granted = {.messages = 10, .bytes = 100},
                           .allowance = {.messages = 2, .bytes = 7},
                           .want = 9};
  const CreditChange want{.kind = CreditChange::Kind::kWant, .to = Pid(2, 5, 6), .mailbox = 4};
  const auto credit = std::get<CreditChanges>(Decoded(EncodeCredit(kHere, {grant, want})));
  ASSERT_EQ(credit.size(), 2U);
  EXPECT_EQ(credit[0].kind, grant.kind);
  EXPECT_EQ(credit[0].to, Pid(1, 5, 6));
  EXPECT_EQ(credit[0].mailbox, 3U);
  EXPECT_EQ(credit[0].granted, grant.granted);
  EXPECT_EQ(credit[0].allowance, grant.allowance);
  EXPECT_EQ(credit[0].want, 9U);
  EXPECT_EQ(credit[1].kind, want.kind);
  EXPECT_EQ(credit[1].to, Pid(2, 5, 6));
  EXPECT_EQ(std::get<LeaveNotice>(Decoded(EncodeLeave("done"))).why, "done");
}

TEST(ValueTest, AStatusKeepsItsCodeTextAndPayloads) {
  absl::Status status = absl::DataLossError("caf\xc3\xa9 \xff not UTF-8");
  status.SetPayload("type/a", absl::Cord(std::string("\0\1\xff", 3)));
  status.SetPayload("type/b", absl::Cord(""));
  proto::Status wire;
  ASSERT_TRUE(wire.ParseFromString(ToProto(status).SerializeAsString()));
  absl::Status back;
  ASSERT_TRUE(FromProto(wire, wire.ByteSizeLong(), back).ok());
  EXPECT_EQ(back, status);
}

TEST(ValueTest, EveryExitReasonKeepsItsPartsAndItsWholeChain) {
  absl::Status failure = absl::AbortedError("no\xfftable");
  failure.SetPayload("type/a", absl::Cord("value"));
  ExitReason reason = ExitReason::RestartsExhausted("child 'ledger'");
  for (const ExitReason& cause :
       {ExitReason::Failed(failure), ExitReason::Exception("std::bad_alloc", "no\xff memory"), ExitReason::OsExit(3),
        ExitReason::OsSignal(9), ExitReason::KilledHandlerRunning(), ExitReason::NoConnection("why"),
        ExitReason::Normal(), ExitReason::Shutdown(), ExitReason::Stuck()}) {
    reason = reason.CausedBy(cause);
  }
  proto::ExitReason wire;
  ASSERT_TRUE(wire.ParseFromString(ToProto(reason).SerializeAsString()));
  const absl::StatusOr<ExitReason> back = FromProto(wire);
  ASSERT_TRUE(back.ok()) << back.status();
  EXPECT_EQ(*back, reason);
  EXPECT_EQ(back->depth(), 10);
  EXPECT_FALSE(back->causes_cut());
}

TEST(ValueTest, ACutChainIsStillMarkedCut) {
  ExitReason reason = ExitReason::Killed();
  for (int i = 0; i < 2 * limits::kExitCausesMax; ++i) reason = ExitReason::OsExit(i).CausedBy(reason);
  ASSERT_TRUE(reason.causes_cut());
  const absl::StatusOr<ExitReason> back = FromProto(ToProto(reason));
  ASSERT_TRUE(back.ok());
  EXPECT_EQ(back->ToString(), reason.ToString());
  EXPECT_TRUE(back->causes_cut());
}

class RefProtoTest : public ::testing::Test {
 protected:
  ~RefProtoTest() override { internal::NodeTable::Retire(&system_); }

  int system_ = 0;
  const NodePlace local_ = *internal::NodeTable::Intern({&system_, "here", {101}, true});
  const NodePlace peer_ = *internal::NodeTable::Intern({&system_, "there", {202}, false});
};

TEST_F(RefProtoTest, ARefOfThisSystemGivesTheSamePid) {
  const Pid pid(local_, 3, 4);
  EXPECT_EQ(*PidFromProto(ToProto(pid), Pid(local_, 1, 1)), pid);
}

TEST_F(RefProtoTest, ARefOfAKnownPeerGivesItsNodeIndex) {
  const Pid pid(peer_, 3, 4);
  EXPECT_EQ(ToProto(pid).node(), "there");
  EXPECT_EQ(*PidFromProto(ToProto(pid), Pid(local_, 1, 1)), pid);
}

TEST_F(RefProtoTest, AnEmptyRefIsTheNullPid) {
  EXPECT_TRUE(PidFromProto(proto::Ref(), Pid(local_, 1, 1))->is_null());
  EXPECT_EQ(ToProto(Pid()).SerializeAsString(), "");
}

TEST_F(RefProtoTest, AnImpossibleRefIsRefused) {
  proto::Ref ref = ToProto(Pid(peer_, 3, 4));
  ref.set_serial(uint64_t{1} << 48);
  EXPECT_TRUE(absl::IsInvalidArgument(PidFromProto(ref, Pid(local_, 1, 1)).status()));
  ref.set_serial(4);
  ref.set_node("Not A Label");
  EXPECT_TRUE(absl::IsInvalidArgument(PidFromProto(ref, Pid(local_, 1, 1)).status()));
  ref.set_node("there");
  ref.set_incarnation(0);
  EXPECT_TRUE(absl::IsInvalidArgument(PidFromProto(ref, Pid(local_, 1, 1)).status()));
}

TEST_F(RefProtoTest, AFloodOfRefsToStrangersCannotFillTheTableOfNodes) {
  proto::Ref ref = ToProto(Pid(peer_, 3, 4));
  absl::Status last;
  for (uint64_t i = 1; i <= limits::kNodesLearnedFromRefsMax + 1 && last.ok(); ++i) {
    ref.set_incarnation(1000 + i);
    last = PidFromProto(ref, Pid(local_, 1, 1)).status();
  }
  EXPECT_TRUE(absl::IsResourceExhausted(last)) << last;
}

TEST_F(RefProtoTest, IncarnationsThatWereMetDoNotUseUpWhatRefsMayTeach) {
  proto::Ref ref = ToProto(Pid(peer_, 3, 4));
  for (uint64_t i = 1; i <= limits::kNodesLearnedFromRefsMax + 1; ++i) {
    // A child tells who it is over its session.
    ref.set_incarnation(1000000 + 2 * i);
    const internal::NodeEntry met = {&system_, "there", {ref.incarnation()}, false};
    const absl::StatusOr<NodePlace> place = internal::NodeTable::Intern(met);
    absl::StatusOr<Pid> pid = PidFromProto(ref, Pid(local_, 1, 1));
    ASSERT_TRUE(place.ok() && pid.ok()) << "life " << i << ": " << pid.status();
    ASSERT_EQ(pid->place(), *place);
    // A ref to a node comes before its session.
    ref.set_incarnation(1000001 + 2 * i);
    pid = PidFromProto(ref, Pid(local_, 1, 1));
    ASSERT_TRUE(pid.ok()) << "life " << i << ": " << pid.status();
    ASSERT_TRUE(internal::NodeTable::Intern({&system_, "there", {ref.incarnation()}, false}).ok());
  }
}

TEST_F(RefProtoTest, NodesLearnedForASystemAreForgottenWithIt) {
  char system = 0;
  const proto::Ref ref = ToProto(Pid(peer_, 3, 4));
  for (int life = 0; life < 3; ++life) {  // systems one after another at one address
    const internal::NodeEntry own = {.system = &system, .name = "later", .incarnation = {99}, .is_local = true};
    const Pid local(*internal::NodeTable::Intern(own), 1, 1);
    const absl::StatusOr<Pid> pid = PidFromProto(ref, local);
    ASSERT_TRUE(pid.ok()) << pid.status();
    EXPECT_EQ(internal::NodeTable::Find(pid->place())->system, &system);
    EXPECT_EQ(internal::NodeTable::Find(pid->place())->name, ref.node());
    proto::Ref other = ref;
    for (uint64_t i = 1; i < limits::kNodesLearnedFromRefsMax / 2; ++i) {
      other.set_incarnation(500000 + i);
      EXPECT_TRUE(PidFromProto(other, local).ok());
    }
    internal::NodeTable::Retire(&system);
  }
}

}  // namespace
}  // namespace understudy
