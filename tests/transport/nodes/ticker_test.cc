#include "understudy/transport/core/ticker.h"

#include "absl/synchronization/notification.h"
#include "absl/time/time.h"
#include "gtest/gtest.h"
#include "understudy/actors/clock.h"

namespace understudy::internal {
namespace {

constexpr absl::Duration kGrid = absl::Milliseconds(100);
const MonotonicTime kBegin = MonotonicTime::FromNanos(7'000'000);
const MonotonicTime kNow = kBegin + absl::Seconds(3);

MonotonicTime OnGrid(absl::Duration ahead) { return Ticker::OnGrid(kNow + ahead, kNow, kBegin, kGrid); }

TEST(TickerTest, TimesThatAreFarAheadArePutOffToTheNextStepOfTheGrid) {
  EXPECT_EQ(OnGrid(absl::Milliseconds(800)), kNow + absl::Milliseconds(800));
  EXPECT_EQ(OnGrid(absl::Milliseconds(801)), kNow + absl::Milliseconds(900));
  EXPECT_EQ(OnGrid(absl::Milliseconds(899)), kNow + absl::Milliseconds(900));
  EXPECT_EQ(OnGrid(absl::Milliseconds(1199)), kNow + absl::Milliseconds(1200));
}

TEST(TickerTest, NoTimeIsBroughtForwardOrPutOffByMoreThanAnEighthOfHowFarItIsAhead) {
  for (absl::Duration ahead = absl::ZeroDuration(); ahead < absl::Seconds(2); ahead += absl::Microseconds(317)) {
    const absl::Duration put_off = OnGrid(ahead) - (kNow + ahead);
    EXPECT_GE(put_off, absl::ZeroDuration()) << ahead;
    EXPECT_LE(put_off, ahead / 8) << ahead;
  }
}

TEST(TickerTest, ACallbackThatDoesNotReturnIsOverdueAndSoIsWhatWaitsBehindIt) {
  Ticker ticker;
  EXPECT_EQ(ticker.Overdue(), absl::ZeroDuration());
  absl::Notification runs;
  absl::Notification go_on;
  absl::Notification over;
  ticker.RunAt(Clock::Real().Now() + absl::Seconds(-5), [&] {
    runs.Notify();
    go_on.WaitForNotification();
  });
  runs.WaitForNotification();
  EXPECT_GE(ticker.Overdue(), absl::Seconds(5));
  ticker.RunAt(Clock::Real().Now() + absl::Hours(1), [] {});
  EXPECT_GE(ticker.Overdue(), absl::Seconds(5));
  ticker.RunAt(Clock::Real().Now() + absl::Seconds(-1), [&over] { over.Notify(); });
  go_on.Notify();
  over.WaitForNotification();
  while (ticker.Overdue() > absl::ZeroDuration()) {
  }
}

TEST(TickerTest, TimesThatArePastOrInfiniteStayAsTheyAre) {
  EXPECT_EQ(OnGrid(-absl::Milliseconds(3)), kNow + -absl::Milliseconds(3));
  EXPECT_TRUE(Ticker::OnGrid(MonotonicTime::InfiniteFuture(), kNow, kBegin, kGrid).is_infinite());
}

}  // namespace
}  // namespace understudy::internal
