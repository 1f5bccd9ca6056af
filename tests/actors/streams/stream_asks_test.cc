// AskTable's asks whose answer or request comes in items, without an actor.
#include <cstdint>
#include <variant>
#include <vector>

#include "absl/status/status.h"
#include "absl/types/optional.h"
#include "gtest/gtest.h"
#include "understudy/actors/clock.h"
#include "understudy/actors/error.h"
#include "understudy/actors/internal/asks/ask_table.h"
#include "understudy/actors/internal/asks/stream_table.h"
#include "understudy/actors/message.h"
#include "understudy/actors/pid.h"

namespace understudy::internal {
namespace {

constexpr Pid kCallee(1, 2, 3);

MonotonicTime At(int64_t seconds) { return MonotonicTime::FromNanos(seconds * 1'000'000'000); }
Answer Bad() { return {.status = absl::DataLossError("bad")}; }

// Whether the last of `actions` ends the streams of ask `id`.
bool EndsStreamsOf(uint64_t id, const std::vector<AskAction>& actions) {
  if (actions.empty()) return false;
  const auto* const ends = std::get_if<EndStreams>(&actions.back());
  return ends != nullptr && ends->ask == id;
}

TEST(StreamAsksTest, AStreamIsAnAskWithoutADeadlineWhoseAnswerIsItsEnd) {
  AskTable table;
  const uint64_t ask = table.Add(kCallee, At(5));
  const uint64_t stream = table.AddWithItems(kCallee, MonotonicTime::InfiniteFuture(), kStreamAsk);
  EXPECT_TRUE(IsStreamAsk(stream));
  EXPECT_FALSE(IsUploadAsk(stream));
  EXPECT_EQ(ItemBits(ask), 0);
  EXPECT_EQ(table.CalleeOf(stream), kCallee);
  EXPECT_NE(table.known_streams()->FindIncoming(StreamTable::Own(stream)), nullptr);
  EXPECT_EQ(table.known_streams()->FindOutgoing(StreamTable::Own(stream)), nullptr);
  EXPECT_EQ(table.NextDue(At(1'000'000))->id, ask);
  EXPECT_FALSE(table.NextDue(At(1'000'000)).has_value());
  EXPECT_TRUE(table.Answered(stream, Bad()).has_value());
  EXPECT_FALSE(table.Answered(stream, Answer()).has_value());
  EXPECT_TRUE(EndsStreamsOf(stream, table.Settle(stream)));
  EXPECT_EQ(table.Take(stream)->status, absl::DataLossError("bad"));
  EXPECT_FALSE(table.Has(stream));
}

TEST(StreamAsksTest, AnUploadIsAnAskWithADeadlineWhoseItemsWaitForTheirReader) {
  AskTable table;
  const uint64_t upload = table.AddWithItems(kCallee, At(5), kUploadAsk);
  EXPECT_TRUE(IsUploadAsk(upload));
  EXPECT_FALSE(IsStreamAsk(upload));
  const OutgoingStream* const items = table.known_streams()->FindOutgoing(StreamTable::Own(upload));
  ASSERT_NE(items, nullptr);
  EXPECT_FALSE(items->has_reader());
  EXPECT_EQ(table.known_streams()->FindIncoming(StreamTable::Own(upload)), nullptr);
  EXPECT_TRUE(table.Answered(upload, Bad()).has_value());
  EXPECT_TRUE(EndsStreamsOf(upload, table.Settle(upload)));
  EXPECT_EQ(table.StatusOf(upload), absl::DataLossError("bad"));
  EXPECT_TRUE(table.Take(upload).has_value());
}

TEST(StreamAsksTest, AnUploadThatNobodyAwaitsEndsItsStreamsAtItsDeadline) {
  AskTable table;
  const uint64_t upload = table.AddWithItems(kCallee, At(5), kUploadAsk);
  const absl::optional<DueAsk> due = table.NextDue(At(5));
  ASSERT_TRUE(due.has_value());
  EXPECT_TRUE(EndsStreamsOf(upload, due->actions));
  EXPECT_TRUE(IsExpired(table.StatusOf(upload)));
}

}  // namespace
}  // namespace understudy::internal
