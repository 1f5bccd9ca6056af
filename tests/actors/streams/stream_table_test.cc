// StreamLedger and StreamTable without an actor.
#include "understudy/actors/internal/asks/stream_table.h"

#include <cstddef>
#include <cstdint>
#include <utility>
#include <vector>

#include "absl/status/status.h"
#include "absl/types/optional.h"
#include "gtest/gtest.h"
#include "understudy/actors/internal/asks/stream_ledger.h"
#include "understudy/actors/limits.h"
#include "understudy/actors/message.h"
#include "understudy/actors/pid.h"
#include "understudy/actors/random.h"

namespace understudy::internal {
namespace {

constexpr size_t kHalf = limits::kStreamItemsMax / 2;

Payload Item(int value, size_t bytes = sizeof(int)) {
  Payload item = Payload::ForMailbox(value);
  item.block()->call().bytes = bytes;
  return item;
}

TEST(StreamLedgerTest, HasRoomForItsItems) {
  StreamLedger ledger;
  for (size_t i = 0; i < limits::kStreamItemsMax; ++i) EXPECT_TRUE(ledger.Add(1));
  EXPECT_FALSE(ledger.HasRoom());
  EXPECT_FALSE(ledger.Add(0));
  EXPECT_EQ(ledger.items(), limits::kStreamItemsMax);
  EXPECT_TRUE(ledger.Return(1));
  EXPECT_TRUE(ledger.Add(0));
}

TEST(StreamLedgerTest, TakesOneItemOfAnySizeBelowItsBytes) {
  StreamLedger ledger;
  EXPECT_TRUE(ledger.Add(limits::kStreamBytesMax - 1));
  EXPECT_TRUE(ledger.Add(size_t{1} << 40));
  EXPECT_FALSE(ledger.Add(0));
  EXPECT_TRUE(ledger.Return(2));
  EXPECT_EQ(ledger.bytes(), 0U);
  EXPECT_TRUE(ledger.Add(0));
}

TEST(StreamLedgerTest, ReturnsNoMoreThanItHas) {
  StreamLedger ledger;
  EXPECT_FALSE(ledger.Return(1));
  EXPECT_TRUE(ledger.Add(5));
  EXPECT_FALSE(ledger.Return(2));
  EXPECT_FALSE(ledger.Return(UINT64_MAX));
  EXPECT_EQ(ledger.bytes(), 5U);
  EXPECT_TRUE(ledger.Return(1));
}

TEST(StreamLedgerTest, TheAskerReturnsCreditWhenHalfIsTaken) {
  StreamLedger ledger;
  for (size_t i = 0; i < kHalf; ++i) {
    EXPECT_EQ(ledger.TakeReturn(), 0U);
    EXPECT_TRUE(ledger.Add(1));
    ledger.Take();
  }
  EXPECT_EQ(ledger.TakeReturn(), kHalf);
  EXPECT_EQ(ledger.items(), 0U);
  EXPECT_TRUE(ledger.Add(limits::kStreamBytesMax / 2));
  EXPECT_EQ(ledger.TakeReturn(), 0U) << "it is not taken";
  ledger.Take();
  EXPECT_EQ(ledger.TakeReturn(), 1U);
}

// Both ends of a stream, with items and credit on the way, in a random order.
TEST(StreamLedgerTest, TheEndsAgreeAndNeverWaitForEachOther) {
  for (uint64_t seed = 1; seed <= 200; ++seed) {
    Random random(seed);
    StreamLedger writer;
    StreamLedger asker;
    size_t written = 0;
    size_t came = 0;
    size_t taken = 0;
    size_t returned = 0;
    size_t credited = 0;
    std::vector<size_t> sizes;
    for (int step = 0; step < 2000; ++step) {
      switch (random.Below(4)) {
        case 0:
          if (const size_t bytes = random.Below(limits::kStreamBytesMax); writer.Add(bytes)) {
            sizes.push_back(bytes);
            ++written;
          }
          break;
        case 1:
          if (came < written) {
            ASSERT_TRUE(asker.Add(sizes[came++])) << "seed " << seed;
          }
          break;
        case 2:
          if (taken < came) {
            asker.Take();
            ++taken;
            returned += asker.TakeReturn();
          }
          break;
        default:
          if (credited < returned) {
            ASSERT_TRUE(writer.Return(returned - credited)) << "seed " << seed;
            credited = returned;
          }
      }
      if (taken == written && credited == returned) {
        ASSERT_TRUE(writer.HasRoom()) << "seed " << seed;
      }
    }
    EXPECT_GT(written, limits::kStreamItemsMax) << "seed " << seed;
  }
}

TEST(IncomingStreamTest, GivesTheItemsThatWaitAndThenTheEnd) {
  IncomingStream stream;
  Payload item = Item(1);
  EXPECT_EQ(stream.OnItem(item), IncomingStream::Arrival::kWaits);
  stream.OnEnd(absl::DataLossError("gone"));
  stream.OnEnd(absl::OkStatus());
  Payload next;
  EXPECT_EQ(stream.Next(7, next), IncomingStream::Step::kItem);
  EXPECT_EQ(next.As<int>(), 1);
  EXPECT_EQ(stream.Next(8, next), IncomingStream::Step::kEnd);
  EXPECT_EQ(stream.Next(9, next), IncomingStream::Step::kEnd);
  EXPECT_EQ(stream.end(), absl::DataLossError("gone"));
  EXPECT_EQ(stream.next(), 0U);
}

TEST(IncomingStreamTest, AnswersTheNextThatWaits) {
  IncomingStream stream;
  Payload next;
  EXPECT_EQ(stream.Next(7, next), IncomingStream::Step::kWaits);
  Payload item = Item(1);
  EXPECT_EQ(stream.OnItem(item), IncomingStream::Arrival::kAnswersNext);
  EXPECT_EQ(stream.next(), 7U);
  stream.StopWaiting();
  EXPECT_EQ(stream.OnItem(item), IncomingStream::Arrival::kWaits);
}

TEST(IncomingStreamTest, RefusesWhatHasNoCreditAndWhatComesAfterTheEnd) {
  IncomingStream stream;
  Payload item;
  for (size_t i = 0; i < limits::kStreamItemsMax; ++i) {
    item = Item(1);
    EXPECT_EQ(stream.OnItem(item), IncomingStream::Arrival::kWaits);
  }
  item = Item(2);
  EXPECT_EQ(stream.OnItem(item), IncomingStream::Arrival::kBeyondCredit);
  EXPECT_EQ(item.As<int>(), 2) << "the caller still has it";
  EXPECT_EQ(stream.TakeItems().size(), limits::kStreamItemsMax);
  stream.OnEnd(absl::OkStatus());
  EXPECT_EQ(stream.OnItem(item), IncomingStream::Arrival::kIsTooLate);
}

TEST(OutgoingStreamTest, SendsWhatIsKeptWhenCreditComes) {
  OutgoingStream stream;
  for (size_t i = 0; i < limits::kStreamItemsMax; ++i) EXPECT_EQ(stream.Write(1), OutgoingStream::Step::kSend);
  EXPECT_EQ(stream.Write(1), OutgoingStream::Step::kKeep);
  (void)stream.Keep(Item(5), 1, /*wait=*/7);
  uint64_t wait = 0;
  EXPECT_FALSE(stream.TakeSendable(wait).has_value());
  EXPECT_TRUE(stream.OnCredit(1));
  absl::optional<Payload> item = stream.TakeSendable(wait);
  ASSERT_TRUE(item.has_value());
  EXPECT_EQ(item->As<int>(), 5);
  EXPECT_EQ(wait, 7U);
  EXPECT_FALSE(stream.OnCredit(limits::kStreamItemsMax + 1));
}

TEST(OutgoingStreamTest, DoesNotSendAnItemWhoseWriteIsOver) {
  OutgoingStream stream;
  for (size_t i = 0; i < limits::kStreamItemsMax; ++i) EXPECT_EQ(stream.Write(1), OutgoingStream::Step::kSend);
  (void)stream.Keep(Item(5), 1, /*wait=*/7);
  stream.StopWaiting();
  EXPECT_TRUE(stream.OnCredit(1));
  uint64_t wait = 0;
  EXPECT_FALSE(stream.TakeSendable(wait).has_value());
  EXPECT_EQ(stream.TakeKept()->As<int>(), 5);
  EXPECT_EQ(stream.Write(1), OutgoingStream::Step::kSend);
}

TEST(OutgoingStreamTest, AnUploadHasNoCreditBeforeItsReaderIsThere) {
  OutgoingStream stream;
  stream.AwaitReader();
  EXPECT_EQ(stream.Write(1), OutgoingStream::Step::kKeep);
  (void)stream.Keep(Item(5), 1, /*wait=*/7);
  uint64_t wait = 0;
  EXPECT_FALSE(stream.TakeSendable(wait).has_value());
  EXPECT_TRUE(stream.OnCredit(0));
  EXPECT_TRUE(stream.has_reader());
  EXPECT_EQ(stream.TakeSendable(wait)->As<int>(), 5);
  EXPECT_EQ(wait, 7U);
}

TEST(OutgoingStreamTest, TheFirstCloseCounts) {
  OutgoingStream stream;
  (void)stream.Keep(Item(5), 1, /*wait=*/7);
  EXPECT_EQ(stream.Close(absl::CancelledError("a")), 7U);
  EXPECT_EQ(stream.Close(absl::UnavailableError("b")), 0U);
  EXPECT_EQ(stream.Write(1), OutgoingStream::Step::kClosed);
  EXPECT_EQ(stream.why(), absl::CancelledError("a"));
}

TEST(StreamTableTest, ForgetsStreamsAndReturnsWhatTheyHave) {
  StreamTable table;
  Payload item = Item(1);
  EXPECT_EQ(table.AddIncoming(StreamTable::Own(3))->OnItem(item), IncomingStream::Arrival::kWaits);
  (void)table.AddOutgoing({Pid(1, 2, 3), 4})->Keep(Item(2), 1, 0);
  EXPECT_EQ(table.FindIncoming(StreamTable::Own(4)), nullptr);
  EXPECT_EQ(table.FindOutgoing({Pid(1, 2, 4), 4}), nullptr);
  EXPECT_EQ(table.RemoveIncoming(StreamTable::Own(3)).size(), 1U);
  EXPECT_EQ(table.TakeAll().size(), 1U);
  EXPECT_EQ(table.size(), 0U);
}

TEST(StreamTableTest, ACallHasOneStreamInEachDirection) {
  const StreamTable::Call call(Pid(1, 2, 3), 4);
  StreamTable table;
  EXPECT_NE(table.AddIncoming(call), nullptr);
  EXPECT_NE(table.AddOutgoing(call), nullptr);
  EXPECT_EQ(table.AddIncoming(call), nullptr);
  EXPECT_EQ(table.AddOutgoing(call), nullptr);
  EXPECT_EQ(table.size(), 2U);
  (void)table.RemoveIncoming(call);
  EXPECT_NE(table.AddIncoming(call), nullptr);
}

TEST(StreamTableTest, KeepsApartTheEndsOfAnUploadToItself) {
  const Pid self(1, 2, 3);
  StreamTable table;
  table.AddOutgoing(StreamTable::Own(4))->AwaitReader();
  (void)table.AddIncoming({self, 4});
  (void)table.AddIncoming(StreamTable::Own(4));  // its answer is a stream too
  (void)table.AddOutgoing({self, 4});
  EXPECT_EQ(table.size(), 4U);
  EXPECT_EQ(table.OpenUploads(), std::vector<StreamTable::Call>{StreamTable::Call(self, 4)});
  table.FindIncoming({self, 4})->OnEnd(absl::OkStatus());
  EXPECT_TRUE(table.OpenUploads().empty());
}

}  // namespace
}  // namespace understudy::internal
