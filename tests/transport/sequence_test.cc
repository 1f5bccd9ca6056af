#include "understudy/transport/sequence.h"

#include <cstdint>
#include <set>
#include <string>

#include "absl/status/status.h"
#include "absl/status/statusor.h"
#include "absl/types/optional.h"
#include "gtest/gtest.h"
#include "understudy/actors/clock.h"
#include "understudy/actors/error.h"
#include "understudy/actors/limits.h"
#include "understudy/actors/message.h"
#include "understudy/proto/envelope.pb.h"
#include "understudy/transport/frame_codec.h"

namespace understudy {
namespace {

// The next frame of the sequence on a stream that knows `defined`.
proto::Frame Fill(Sequence& sequence, std::set<uint32_t>& defined, MonotonicTime now = MonotonicTime()) {
  FramePacker packer(1, 0);
  sequence.Fill(packer, defined, now);
  return packer.frame();
}

proto::Slot SlotOf(const std::string& body, bool continues = false) {
  proto::Slot slot;
  slot.set_body(body);
  slot.set_continues(continues);
  return slot;
}

TEST(SequenceTest, WhatIsNotAcknowledgedIsWrittenAgainOnTheNextStream) {
  Sequence sequence({});
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

TEST(SequenceTest, AnAcknowledgementOfWhatWasNotSentIsAnError) {
  Sequence sequence({});
  ASSERT_TRUE(sequence.Append({.bytes = "1"}).ok());
  EXPECT_TRUE(absl::IsInvalidArgument(sequence.Acknowledge(1)));
  std::set<uint32_t> defined;
  Fill(sequence, defined);
  EXPECT_TRUE(sequence.Acknowledge(1).ok());
  EXPECT_TRUE(sequence.Acknowledge(1).ok());
  EXPECT_TRUE(absl::IsInvalidArgument(sequence.Acknowledge(2)));
}

TEST(SequenceTest, AMailboxIsDefinedOncePerStream) {
  const uint32_t mailbox = internal::MailboxNames::Intern("sequence_test/mailbox");
  Sequence sequence({});
  ASSERT_TRUE(sequence.Append({.bytes = "1", .mailbox = mailbox}).ok());
  ASSERT_TRUE(sequence.Append({.bytes = "2", .mailbox = mailbox}).ok());
  std::set<uint32_t> defined;
  const proto::Frame first = Fill(sequence, defined);
  ASSERT_EQ(first.definitions_size(), 1);
  EXPECT_EQ(first.definitions(0).name(), "sequence_test/mailbox");
  sequence.Rewind();
  std::set<uint32_t> next_stream;
  EXPECT_EQ(Fill(sequence, next_stream).definitions_size(), 1);
  sequence.Rewind();
  EXPECT_EQ(Fill(sequence, next_stream).definitions_size(), 0);
}

TEST(SequenceTest, TheTimeLeftIsTakenWhenAFrameIsWritten) {
  Sequence sequence({});
  ASSERT_TRUE(sequence.Append({.bytes = "1", .deadline = MonotonicTime::FromNanos(100)}).ok());
  std::set<uint32_t> defined;
  EXPECT_EQ(Fill(sequence, defined, MonotonicTime::FromNanos(30)).slots(0).remaining_nanos(), 70);
  sequence.Rewind();
  EXPECT_EQ(Fill(sequence, defined, MonotonicTime::FromNanos(300)).slots(0).remaining_nanos(), 0);
}

TEST(SequenceTest, ALargeEnvelopeIsCutAndPutTogetherAgain) {
  std::string large(3 * limits::kSlotBytesMax + 17, 'x');
  large.back() = 'y';
  Sequence sender({});
  ASSERT_TRUE(sender.Append({.bytes = large}).ok());
  Sequence receiver({});
  std::set<uint32_t> defined;
  absl::optional<Sequence::Arrived> arrived;
  while (sender.has_unsent()) {
    proto::Frame frame = Fill(sender, defined);
    for (int i = 0; i < frame.slots_size(); ++i) {
      EXPECT_FALSE(arrived.has_value());
      auto received = receiver.Receive(frame.first_number() + static_cast<uint64_t>(i), *frame.mutable_slots(i));
      ASSERT_TRUE(received.ok()) << received.status();
      arrived = *received;
    }
  }
  ASSERT_TRUE(arrived.has_value());
  EXPECT_EQ(arrived->bytes, large);
  ASSERT_TRUE(sender.Acknowledge(4).ok());
  EXPECT_EQ(sender.ledger(), (SessionLedger{.accepted = 1, .acknowledged = 1}));
  EXPECT_EQ(sender.bytes_waiting(), 0U);
}

TEST(SequenceTest, ARepeatIsDroppedAndAGapIsAnError) {
  Sequence sequence({});
  proto::Slot slot = SlotOf("1");
  EXPECT_TRUE((*sequence.Receive(1, slot)).has_value());
  slot = SlotOf("1");
  EXPECT_FALSE((*sequence.Receive(1, slot)).has_value());
  slot = SlotOf("3");
  EXPECT_TRUE(absl::IsInvalidArgument(sequence.Receive(3, slot).status()));
  EXPECT_EQ(sequence.received(), 1U);
}

TEST(SequenceTest, AnEnvelopeWithoutAnEndIsAnErrorAtTheBound) {
  Sequence sequence({});
  const std::string part(limits::kSlotBytesMax, 'x');
  absl::Status status;
  uint64_t number = 0;
  while (status.ok() && number < 2000) {
    proto::Slot slot = SlotOf(part, true);
    status = sequence.Receive(++number, slot).status();
  }
  EXPECT_TRUE(absl::IsInvalidArgument(status)) << status;
  EXPECT_LE((number - 1) * part.size(), limits::kMessageBytesMax + limits::kEnvelopeOverheadBytesMax);
}

TEST(SequenceTest, MessagesLeaveTheReserveToSignals) {
  Sequence sequence({.bytes_max = 1000, .signal_reserve_bytes = 400});
  ASSERT_TRUE(sequence.Append({.bytes = std::string(400, 'm')}).ok());
  EXPECT_TRUE(IsFull(sequence.Append({.bytes = std::string(200, 'm')})));
  EXPECT_TRUE(sequence.Append({.bytes = std::string(200, 's'), .is_signal = true}).ok());
  EXPECT_TRUE(IsFull(sequence.Append({.bytes = std::string(300, 's'), .is_signal = true})));
  EXPECT_EQ(sequence.ledger().accepted, 2);
}

TEST(SequenceTest, AMessageLargerThanTheBoundIsAcceptedWhenNothingWaits) {
  Sequence sequence({.bytes_max = 1000, .signal_reserve_bytes = 400});
  EXPECT_TRUE(sequence.Append({.bytes = std::string(5000, 'm')}).ok());
  EXPECT_TRUE(IsFull(sequence.Append({.bytes = "m"})));
}

TEST(SequenceTest, WhatWaitsAtTheEndIsUnconfirmed) {
  Sequence sequence({});
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
