#include "understudy/transport/session/reliable_sequence.h"

#include <algorithm>
#include <cstdint>
#include <map>
#include <set>
#include <string>
#include <vector>

#include "absl/status/status.h"
#include "absl/status/statusor.h"
#include "absl/strings/str_cat.h"
#include "absl/types/optional.h"
#include "gmock/gmock.h"
#include "gtest/gtest.h"
#include "understudy/actors/clock.h"
#include "understudy/actors/error.h"
#include "understudy/actors/limits.h"
#include "understudy/actors/message.h"
#include "understudy/actors/pid.h"
#include "understudy/proto/envelope.pb.h"
#include "understudy/transport/codec/credit.h"
#include "understudy/transport/codec/credit_codec.h"
#include "understudy/transport/codec/frame_codec.h"
#include "understudy/transport/limits.h"
#include "understudy/transport/session/send_queues.h"

namespace understudy {
namespace {

using ::testing::ElementsAre;
using ::testing::IsEmpty;

// The next frame of the sequence on a stream that knows `defined`.
proto::Frame Fill(ReliableSequence& sequence, std::set<uint32_t>& defined, MonotonicTime now = MonotonicTime()) {
  FramePacker packer(1, 0);
  sequence.Fill(packer, defined, now);
  const absl::StatusOr<proto::Frame> frame = DecodeFrame(packer.Encode());
  EXPECT_TRUE(frame.ok()) << frame.status();
  return *frame;
}

SlotView ViewOf(const proto::Slot& slot) {
  return {.body = slot.body(), .part_of = slot.part_of(), .continues = slot.continues()};
}

// The envelopes that the frame completes at `receiver`.
std::vector<std::string> Receive(ReliableSequence& receiver, const proto::Frame& frame) {
  std::vector<std::string> envelopes;
  for (int i = 0; i < frame.slots_size(); ++i) {
    const auto arrived = receiver.Receive(frame.first_number() + static_cast<uint64_t>(i), ViewOf(frame.slots(i)));
    EXPECT_TRUE(arrived.ok()) << arrived.status();
    if (arrived.ok() && arrived->has_value()) envelopes.emplace_back((**arrived).bytes);
  }
  return envelopes;
}

// Appends an envelope of `sender`, which begins with `name`.
void Append(ReliableSequence& sequence, uint64_t sender, const std::string& name, size_t bytes = 0) {
  std::string text = name;
  text.resize(std::max(bytes, name.size()), '.');
  ASSERT_TRUE(sequence.Append({.bytes = text, .sender = sender}).ok());
}

TEST(ReliableSequenceTest, WhatIsNotAcknowledgedIsWrittenAgainOnTheNextStream) {
  ReliableSequence sequence({});
  for (const char* text : {"1", "2", "3"}) ASSERT_TRUE(sequence.Append({.bytes = text}).ok());
  std::set<uint32_t> defined;
  EXPECT_EQ(Fill(sequence, defined).slots_size(), 3);
  EXPECT_FALSE(sequence.has_unsent());
  ASSERT_TRUE(sequence.Acknowledge(1).ok());
  sequence.Rewind();
  const proto::Frame again = Fill(sequence, defined);
  EXPECT_EQ(again.first_number(), 2U);
  ASSERT_EQ(again.slots_size(), 2);
  EXPECT_EQ(again.slots(0).body(), "2");
  EXPECT_EQ(sequence.ledger(), (SessionLedger{.accepted = 3, .acknowledged = 1, .waiting = 2}));
}

TEST(ReliableSequenceTest, SmallEnvelopesThatAreKeptTogetherAreAcknowledgedOneByOne) {
  const uint32_t mailbox = internal::MailboxNames::Intern("reliable_sequence_test/mailbox");
  ReliableSequence sequence({});
  ReliableSequence receiver({});
  ASSERT_TRUE(sequence.Append({.bytes = "0", .sender = 1}).ok());
  const size_t bytes_each = sequence.bytes_waiting();
  for (const char* text : {"1", "2", "3"}) {
    ASSERT_TRUE(sequence.Append({.bytes = text, .sender = 1, .mailbox = mailbox}).ok());
  }
  ASSERT_TRUE(sequence.Append({.bytes = "4", .sender = 1, .deadline = MonotonicTime::FromNanos(9)}).ok());
  ASSERT_TRUE(sequence.Append({.bytes = "5", .sender = 1, .mailbox = mailbox}).ok());
  ASSERT_TRUE(sequence.Append({.bytes = "6", .sender = 2, .mailbox = mailbox}).ok());
  std::set<uint32_t> defined;
  EXPECT_THAT(Receive(receiver, Fill(sequence, defined)), ElementsAre("0", "1", "2", "3", "4", "5", "6"));
  for (uint64_t number = 1; number <= 7; ++number) {
    ASSERT_TRUE(sequence.Acknowledge(number).ok());
    EXPECT_EQ(sequence.bytes_waiting(), (7 - number) * bytes_each);
    EXPECT_EQ(sequence.ledger().waiting, static_cast<int64_t>(7 - number));
    sequence.Rewind();
    const proto::Frame again = Fill(sequence, defined);
    EXPECT_EQ(again.slots_size(), static_cast<int>(7 - number));
    EXPECT_TRUE(again.slots_size() == 0 || again.slots(0).body() == absl::StrCat(number));
  }
}

TEST(ReliableSequenceTest, AnAcknowledgementOfWhatWasNotSentIsAnError) {
  ReliableSequence sequence({});
  ASSERT_TRUE(sequence.Append({.bytes = "1"}).ok());
  EXPECT_TRUE(absl::IsInvalidArgument(sequence.Acknowledge(1)));
  std::set<uint32_t> defined;
  Fill(sequence, defined);
  EXPECT_TRUE(sequence.Acknowledge(1).ok());
  EXPECT_TRUE(sequence.Acknowledge(1).ok());
  EXPECT_TRUE(absl::IsInvalidArgument(sequence.Acknowledge(2)));
}

TEST(ReliableSequenceTest, AMailboxIsDefinedOncePerStream) {
  const uint32_t mailbox = internal::MailboxNames::Intern("reliable_sequence_test/mailbox");
  ReliableSequence sequence({});
  ASSERT_TRUE(sequence.Append({.bytes = "1", .mailbox = mailbox}).ok());
  ASSERT_TRUE(sequence.Append({.bytes = "2", .mailbox = mailbox}).ok());
  std::set<uint32_t> defined;
  const proto::Frame first = Fill(sequence, defined);
  ASSERT_EQ(first.definitions_size(), 1);
  EXPECT_EQ(first.definitions(0).name(), "reliable_sequence_test/mailbox");
  sequence.Rewind();
  std::set<uint32_t> next_stream;
  EXPECT_EQ(Fill(sequence, next_stream).definitions_size(), 1);
  sequence.Rewind();
  EXPECT_EQ(Fill(sequence, next_stream).definitions_size(), 0);
}

TEST(ReliableSequenceTest, TheTimeLeftIsTakenWhenAFrameIsWritten) {
  ReliableSequence sequence({});
  ASSERT_TRUE(sequence.Append({.bytes = "1", .deadline = MonotonicTime::FromNanos(100)}).ok());
  std::set<uint32_t> defined;
  EXPECT_EQ(Fill(sequence, defined, MonotonicTime::FromNanos(30)).slots(0).remaining_nanos(), 70);
  sequence.Rewind();
  EXPECT_EQ(Fill(sequence, defined, MonotonicTime::FromNanos(300)).slots(0).remaining_nanos(), 0);
}

TEST(ReliableSequenceTest, EachEnvelopeHasADeadlineOfItsOwn) {
  const uint32_t mailbox = internal::MailboxNames::Intern("reliable_sequence_test/mailbox");
  ReliableSequence sequence({});
  for (const MonotonicTime deadline :
       {MonotonicTime::FromNanos(100), MonotonicTime::FromNanos(200), MonotonicTime::InfiniteFuture()}) {
    ASSERT_TRUE(sequence.Append({.bytes = "1", .sender = 1, .mailbox = mailbox, .deadline = deadline}).ok());
  }
  std::set<uint32_t> defined;
  const proto::Frame frame = Fill(sequence, defined, MonotonicTime::FromNanos(30));
  ASSERT_EQ(frame.slots_size(), 3);
  EXPECT_EQ(frame.slots(0).remaining_nanos(), 70);
  EXPECT_EQ(frame.slots(1).remaining_nanos(), 170);
  EXPECT_FALSE(frame.slots(2).has_remaining_nanos());
}

TEST(ReliableSequenceTest, ALargeEnvelopeIsCutAndPutTogetherAgain) {
  std::string large(3 * limits::kSlotBytesMax + 17, 'x');
  large.back() = 'y';
  ReliableSequence sender({});
  ASSERT_TRUE(sender.Append({.bytes = large}).ok());
  ReliableSequence receiver({});
  std::set<uint32_t> defined;
  std::vector<std::string> arrived;
  while (sender.has_unsent()) {
    EXPECT_THAT(arrived, IsEmpty());
    arrived = Receive(receiver, Fill(sender, defined));
  }
  EXPECT_THAT(arrived, ElementsAre(large));
  ASSERT_TRUE(sender.Acknowledge(receiver.received()).ok());
  EXPECT_TRUE(sender.all_acknowledged());
  EXPECT_EQ(sender.ledger(), (SessionLedger{.accepted = 1, .acknowledged = 1}));
  EXPECT_EQ(sender.bytes_waiting(), 0U);
}

TEST(ReliableSequenceTest, TheStreamOfAnEnvelopesLastPartDefinesItsMailbox) {
  const uint32_t mailbox = internal::MailboxNames::Intern("reliable_sequence_test/mailbox");
  ReliableSequence sequence({});
  ASSERT_TRUE(sequence.Append({.bytes = std::string(200000, 'x'), .mailbox = mailbox}).ok());
  std::set<uint32_t> first_stream;
  const int slots = Fill(sequence, first_stream).slots_size();
  ASSERT_TRUE(sequence.Acknowledge(static_cast<uint64_t>(slots)).ok());
  sequence.Rewind();
  std::set<uint32_t> next_stream;
  while (sequence.has_unsent()) Fill(sequence, next_stream);
  EXPECT_TRUE(next_stream.contains(mailbox));
}

TEST(ReliableSequenceTest, ASmallEnvelopePassesALargeOneWithinTwoFrames) {
  ReliableSequence sender({.message_bytes_max = size_t{1} << 30});
  ReliableSequence receiver({});
  std::set<uint32_t> defined;
  for (uint64_t large = 1; large <= 8; ++large) Append(sender, large, "large", size_t{16} << 20);
  Receive(receiver, Fill(sender, defined));
  for (uint64_t round = 0; round < 100; ++round) {
    Append(sender, 100 + round, "small");
    std::vector<std::string> arrived = Receive(receiver, Fill(sender, defined));
    if (arrived.empty()) arrived = Receive(receiver, Fill(sender, defined));
    ASSERT_THAT(arrived, ElementsAre("small")) << "round " << round;
    ASSERT_TRUE(sender.Acknowledge(receiver.received()).ok());
  }
}

TEST(ReliableSequenceTest, ASendersLaterEnvelopesWaitBehindItsLargeOne) {
  ReliableSequence sender({});
  ReliableSequence receiver({});
  std::set<uint32_t> defined;
  Append(sender, 7, "large", 1000000);
  Append(sender, 7, "after");
  Append(sender, 8, "other");
  std::vector<std::string> arrived;
  while (sender.has_unsent()) {
    for (const std::string& text : Receive(receiver, Fill(sender, defined))) arrived.push_back(text.substr(0, 5));
  }
  EXPECT_THAT(arrived, ElementsAre("other", "large", "after"));
}

TEST(ReliableSequenceTest, ALargeEnvelopeHasItsShareUnderConstantSmallTraffic) {
  ReliableSequence sender({});
  ReliableSequence receiver({});
  std::set<uint32_t> defined;
  Append(sender, 1, "large", size_t{3} << 20);
  std::vector<std::string> arrived;
  uint64_t small_sender = 2;
  int frames = 0;
  // Each frame could be filled with small envelopes of senders that have sent nothing before.
  while (std::find_if(arrived.begin(), arrived.end(), [](const std::string& text) { return text[0] == 'l'; }) ==
         arrived.end()) {
    ASSERT_LT(++frames, 150) << "a quarter of the wire would need 200 frames, half of it 100";
    for (int i = 0; i < 100; ++i) Append(sender, small_sender++, "small", 1000);
    arrived = Receive(receiver, Fill(sender, defined));
    ASSERT_TRUE(sender.Acknowledge(receiver.received()).ok());
  }
}

TEST(ReliableSequenceTest, SendersThatAlwaysWaitShareTheWire) {
  ReliableSequence sender({});
  ReliableSequence receiver({});
  std::set<uint32_t> defined;
  for (int i = 0; i < 2000; ++i) {
    for (uint64_t from = 1; from <= 3; ++from) Append(sender, from, absl::StrCat(from), from * 1000);
  }
  std::map<char, size_t> bytes;
  for (int frame = 0; frame < 60; ++frame) {
    for (const std::string& text : Receive(receiver, Fill(sender, defined))) bytes[text[0]] += text.size();
  }
  EXPECT_GT(bytes['1'], bytes['3'] * 9 / 10);
  EXPECT_GT(bytes['3'], bytes['1'] * 9 / 10);
}

TEST(ReliableSequenceTest, TheNodesOwnEnvelopesGoBeforeAllThatWaits) {
  ReliableSequence sender({});
  ReliableSequence receiver({});
  std::set<uint32_t> defined;
  Append(sender, 1, "large", 1000000);
  Append(sender, 1, "down");
  Append(sender, 0, "names");
  EXPECT_THAT(Receive(receiver, Fill(sender, defined)), ElementsAre("names"));
}

// The first letters of the envelopes that arrive while the sender has something to write.
std::vector<std::string> ReceiveAll(ReliableSequence& sender, ReliableSequence& receiver) {
  std::set<uint32_t> defined;
  std::vector<std::string> arrived;
  while (sender.has_unsent()) {
    for (const std::string& text : Receive(receiver, Fill(sender, defined))) arrived.push_back(text.substr(0, 5));
  }
  return arrived;
}

TEST(ReliableSequenceTest, ALargeEnvelopeOfTheNodeItselfIsNotOvertakenByItsLaterOnes) {
  ReliableSequence sender({});
  ReliableSequence receiver({});
  ASSERT_TRUE(sender.Append({.bytes = "set" + std::string(140000, '.'), .room = Room::kNames}).ok());
  ASSERT_TRUE(sender.Append({.bytes = "names", .room = Room::kNames}).ok());
  Append(sender, 1, "down");
  EXPECT_THAT(ReceiveAll(sender, receiver), ElementsAre("set..", "names", "down"));
  ASSERT_TRUE(sender.Acknowledge(receiver.received()).ok());
  EXPECT_TRUE(sender.all_acknowledged());
  EXPECT_EQ(sender.bytes_waiting(), 0U);
  EXPECT_EQ(sender.ledger(), (SessionLedger{.accepted = 3, .acknowledged = 3}));
}

TEST(ReliableSequenceTest, ALargeEnvelopeOfTheNodeItselfPassesThoseOfSendersThatAreInParts) {
  ReliableSequence sender({.message_bytes_max = size_t{1} << 30});
  ReliableSequence receiver({});
  constexpr uint64_t kSenders = limits::kEnvelopesInPartsMax + 1;
  for (uint64_t from = 1; from <= kSenders; ++from) Append(sender, from, "lesser", 100000);
  std::set<uint32_t> defined;
  for (int frame = 0; frame < 40; ++frame) Receive(receiver, Fill(sender, defined));
  ASSERT_TRUE(sender.Append({.bytes = "set" + std::string(140000, '.'), .room = Room::kNames}).ok());
  ASSERT_TRUE(sender.Append({.bytes = "names", .room = Room::kNames}).ok());
  const std::vector<std::string> arrived = ReceiveAll(sender, receiver);
  ASSERT_EQ(arrived.size(), kSenders + 2);
  EXPECT_EQ(arrived[0], "set..");
  EXPECT_EQ(arrived[1], "names");
}

TEST(ReliableSequenceTest, AnEnvelopePutTogetherFromPartsIsKeptByNoSequence) {
  ReliableSequence receiver({});
  ASSERT_TRUE(receiver.Receive(1, {.body = "lar", .part_of = 1, .continues = true}).ok());
  absl::StatusOr<absl::optional<ReliableSequence::Arrived>> arrived = receiver.Receive(2, {.body = "ge", .part_of = 1});
  ASSERT_TRUE(arrived.ok() && arrived->has_value());
  ASSERT_TRUE(receiver.Receive(3, {.body = "another", .part_of = 1}).ok());
  ASSERT_NE((**arrived).joined, nullptr) << "its memory is freed with what was handed out";
  EXPECT_EQ((**arrived).bytes, "large");
}

TEST(ReliableSequenceTest, MoreLargeEnvelopesThanMayBeInPartsWaitTheirTurn) {
  constexpr uint64_t kSenders = limits::kEnvelopesInPartsMax + 40;
  ReliableSequence sender({.message_bytes_max = size_t{1} << 30});
  ReliableSequence receiver({});
  std::set<uint32_t> defined;
  for (uint64_t from = 1; from <= kSenders; ++from) Append(sender, from, "large", 200000);
  size_t arrived = 0;
  while (sender.has_unsent()) arrived += Receive(receiver, Fill(sender, defined)).size();
  EXPECT_EQ(arrived, kSenders);
  ASSERT_TRUE(sender.Acknowledge(receiver.received()).ok());
  EXPECT_EQ(sender.bytes_waiting(), 0U);
}

TEST(ReliableSequenceTest, TheLargestEnvelopesTogetherStayWithinTheReceiversBytes) {
  ReliableSequence sender({.message_bytes_max = size_t{1} << 30});
  ReliableSequence receiver({});
  std::set<uint32_t> defined;
  for (uint64_t from = 1; from <= 4; ++from) Append(sender, from, "large", limits::kMessageBytesMax);
  size_t arrived = 0;
  while (sender.has_unsent()) arrived += Receive(receiver, Fill(sender, defined)).size();
  EXPECT_EQ(arrived, 4U);
}

TEST(ReliableSequenceTest, TheLastEnvelopeGoesBehindAllThatWaits) {
  ReliableSequence sender({});
  ReliableSequence receiver({});
  std::set<uint32_t> defined;
  Append(sender, 1, "large", 300000);
  sender.AppendLast("leave");
  std::vector<std::string> arrived;
  while (sender.has_unsent()) {
    for (const std::string& text : Receive(receiver, Fill(sender, defined))) arrived.push_back(text.substr(0, 5));
  }
  EXPECT_THAT(arrived, ElementsAre("large", "leave"));
  ASSERT_TRUE(sender.Acknowledge(receiver.received()).ok());
  EXPECT_TRUE(sender.all_acknowledged());
  EXPECT_EQ(sender.bytes_waiting(), 0U);
}

TEST(ReliableSequenceTest, ARepeatIsDroppedAndAGapIsAnError) {
  ReliableSequence sequence({});
  EXPECT_TRUE((*sequence.Receive(1, {.body = "1"})).has_value());
  EXPECT_FALSE((*sequence.Receive(1, {.body = "1"})).has_value());
  EXPECT_TRUE(absl::IsInvalidArgument(sequence.Receive(3, {.body = "3"}).status()));
  EXPECT_EQ(sequence.received(), 1U);
}

TEST(ReliableSequenceTest, AnEnvelopeWithoutAnEndIsAnErrorAtTheBound) {
  ReliableSequence sequence({});
  const std::string part(limits::kSlotBytesMax, 'x');
  absl::Status status;
  uint64_t number = 0;
  while (status.ok() && number < 2000) {
    status = sequence.Receive(++number, {.body = part, .part_of = 1, .continues = true}).status();
  }
  EXPECT_TRUE(absl::IsInvalidArgument(status)) << status;
  EXPECT_LE((number - 1) * part.size(), limits::kMessageBytesMax + limits::kEnvelopeOverheadBytesMax);
}

TEST(ReliableSequenceTest, PartsThatAreNotWhatTheyMayBeAreErrors) {
  ReliableSequence sequence({});
  EXPECT_TRUE(absl::IsInvalidArgument(sequence.Receive(1, {.body = "x", .continues = true}).status()));
  const SlotView beyond{.body = "x", .part_of = limits::kEnvelopesInPartsMax + 1};
  EXPECT_TRUE(absl::IsInvalidArgument(sequence.Receive(1, beyond).status()));
  // All numbers together keep no more bytes than their bound.
  const std::string part(limits::kSlotBytesMax, 'x');
  absl::Status status;
  uint64_t number = 0;
  while (status.ok() && number < 4000) {
    const uint32_t part_of = static_cast<uint32_t>(number % limits::kEnvelopesInPartsMax) + 1;
    status = sequence.Receive(++number, {.body = part, .part_of = part_of, .continues = true}).status();
  }
  EXPECT_TRUE(absl::IsInvalidArgument(status)) << status;
  EXPECT_LE((number - 1) * part.size(), limits::kBytesInPartsMax);
}

TEST(ReliableSequenceTest, EachKindOfEnvelopeHasBytesOfItsOwn) {
  ReliableSequence sequence({.message_bytes_max = 1000, .reply_bytes_max = 1000, .signal_bytes_max = 400});
  ASSERT_TRUE(sequence.Append({.bytes = std::string(600, 'm')}).ok());
  EXPECT_TRUE(IsFull(sequence.Append({.bytes = std::string(400, 'm')})));
  EXPECT_TRUE(sequence.Append({.bytes = std::string(600, 'r'), .room = Room::kReplies}).ok());
  EXPECT_TRUE(IsFull(sequence.Append({.bytes = std::string(400, 'r'), .room = Room::kReplies})));
  EXPECT_TRUE(sequence.Append({.bytes = std::string(200, 's'), .room = Room::kSignals}).ok());
  EXPECT_TRUE(IsFull(sequence.Append({.bytes = std::string(200, 's'), .room = Room::kSignals})));
  EXPECT_EQ(sequence.ledger().accepted, 3);
}

TEST(ReliableSequenceTest, RoomThatIsKeptIsForItsEnvelopeAlone) {
  ReliableSequence sequence({.message_bytes_max = 1000, .messages_max = 2});
  ASSERT_TRUE(sequence.Keep(600).ok());
  EXPECT_TRUE(IsFull(sequence.Keep(400)));
  EXPECT_TRUE(IsFull(sequence.Append({.bytes = std::string(400, 'm')})));
  ASSERT_TRUE(sequence.Append({.bytes = "small"}).ok());
  EXPECT_TRUE(IsFull(sequence.Append({.bytes = "a third message"})));
  EXPECT_TRUE(sequence.Append({.bytes = std::string(500, 'm'), .kept_bytes = 600}).ok());
  std::set<uint32_t> defined;
  Fill(sequence, defined);
  ASSERT_TRUE(sequence.Acknowledge(2).ok());
  ASSERT_TRUE(sequence.Keep(600).ok());
  sequence.StopKeeping(600);
  EXPECT_EQ(sequence.bytes_waiting(), 0U);
  EXPECT_TRUE(sequence.all_acknowledged());
}

TEST(ReliableSequenceTest, TheMessagesOfASessionAreBoundedInNumber) {
  ReliableSequence sequence({.messages_max = 3});
  for (uint64_t from = 1; from <= 2; ++from) Append(sequence, from, "small");
  Append(sequence, 1, "large", 100000);
  EXPECT_TRUE(IsFull(sequence.Append({.bytes = "one more", .sender = 1})));
  EXPECT_TRUE(sequence.Append({.bytes = "an answer", .room = Room::kAnswers, .sender = 1}).ok());
  std::set<uint32_t> defined;
  while (sequence.has_unsent()) Fill(sequence, defined);
  ASSERT_TRUE(sequence.Acknowledge(1).ok());
  Append(sequence, 1, "another");
  EXPECT_TRUE(IsFull(sequence.Append({.bytes = "one more", .sender = 1})));
}

TEST(ReliableSequenceTest, AllThatTheWaitingSendersOfASessionSayFitsIntoTheBytesOfCredit) {
  constexpr NodePair kNodes{.local_node = 1, .local = {11}, .peer_node = 2, .peer = {22}};
  const CreditChange want{.kind = CreditChange::Kind::kWant,
                          .to = Pid(2, ~uint32_t{0}, ~uint64_t{0} >> 16),
                          .mailbox = ~uint32_t{0},
                          .granted = {.messages = 1, .bytes = static_cast<int64_t>(limits::kMessageBytesMax)},
                          .want = ~uint64_t{0}};
  CreditChange given_up = want;
  given_up.kind = CreditChange::Kind::kReturn;
  CreditChange answer = want;
  answer.kind = CreditChange::Kind::kRefuse;
  answer.to = Pid(1, 1, 1);
  answer.status = MakeError(ErrorKind::kNoProcess, std::string(10000, 'x'));
  ReliableSequence sequence({});
  for (size_t i = 0; i < limits::kWantsPerSessionMax; ++i) {
    // A want, its withdrawal, the return of room that crossed that, and the answer to one of the peer's.
    for (const CreditChange& change : {want, given_up, given_up, answer}) {
      ASSERT_TRUE(sequence.Append({.bytes = EncodeCredit(kNodes, {change}), .room = Room::kCredit}).ok()) << i;
    }
  }
}

TEST(ReliableSequenceTest, AMessageAndAReplyNearTheLargestAreAcceptedBehindALittleThatIsNotAcknowledged) {
  ReliableSequence sequence({});
  for (const Room room : {Room::kMessages, Room::kReplies}) {
    const std::string little(limits::kUnacknowledgedBytesMax - limits::kSlotOverheadBytes, 'l');
    EXPECT_TRUE(sequence.Append({.bytes = little, .room = room}).ok());
    EXPECT_TRUE(sequence.Append({.bytes = std::string(limits::kMessageBytesMax, 'x'), .room = room}).ok());
    EXPECT_TRUE(IsFull(sequence.Append({.bytes = "one more", .room = room})));
  }
}

TEST(ReliableSequenceTest, AMessageAndAReplyLargerThanTheirBoundsAreAcceptedWhenNoneWaits) {
  ReliableSequence sequence({.message_bytes_max = 1000, .reply_bytes_max = 1000});
  EXPECT_TRUE(sequence.Append({.bytes = std::string(5000, 'm')}).ok());
  EXPECT_TRUE(IsFull(sequence.Append({.bytes = "m"})));
  EXPECT_TRUE(sequence.Append({.bytes = std::string(5000, 'r'), .room = Room::kReplies}).ok());
  EXPECT_TRUE(IsFull(sequence.Append({.bytes = "r", .room = Room::kReplies})));
}

TEST(ReliableSequenceTest, WhatWaitsAtTheEndIsUnconfirmed) {
  ReliableSequence sequence({});
  ASSERT_TRUE(sequence.Append({.bytes = "1"}).ok());
  ASSERT_TRUE(sequence.Append({.bytes = "2"}).ok());
  std::set<uint32_t> defined;
  Fill(sequence, defined);
  ASSERT_TRUE(sequence.Acknowledge(1).ok());
  ASSERT_TRUE(sequence.CountRefused().ok());
  EXPECT_FALSE(sequence.CountRefused().ok());
  sequence.End();
  EXPECT_EQ(sequence.ledger(), (SessionLedger{.accepted = 2, .refused_by_peer = 1, .unconfirmed = 1}));
}

}  // namespace
}  // namespace understudy
