// ActorTimers without an actor: named timers and timers of behaviours, on clocks that the test sets.
#include "understudy/actors/internal/turn/actor_timers.h"

#include <cstddef>
#include <cstdint>
#include <memory>
#include <string>
#include <utility>
#include <vector>

#include "absl/strings/str_cat.h"
#include "absl/time/time.h"
#include "absl/types/optional.h"
#include "gmock/gmock.h"
#include "gtest/gtest.h"
#include "understudy/actors/clock.h"
#include "understudy/actors/error.h"
#include "understudy/actors/events.h"
#include "understudy/actors/limits.h"

namespace understudy::internal {
namespace {

using ::testing::ElementsAre;
using ::testing::IsEmpty;

constexpr uint64_t kEpoch = 5;

MonotonicTime At(int64_t seconds) { return MonotonicTime::FromNanos(seconds * 1'000'000'000); }
std::shared_ptr<MessageHandler> Handler() { return std::make_shared<MessageHandler>(MessageHandler::Dropping()); }

class ActorTimersTest : public testing::Test {
 protected:
  // `wall`: seconds that the wall clock is ahead of the other.
  static ActorTimers::Time Clocks(int64_t seconds, int64_t wall = 0) {
    return {.now = At(seconds), .wall = absl::FromUnixSeconds(seconds + wall)};
  }
  static TimerEntry Entry(TimerEntry::Kind kind, int64_t seconds, std::shared_ptr<MessageHandler> handler = Handler()) {
    return {.kind = kind, .after = absl::Seconds(seconds), .handler = std::move(handler)};
  }
  static TimerEntry EntryAt(int64_t unix_seconds) {
    return {.kind = TimerEntry::Kind::kAt, .at = absl::FromUnixSeconds(unix_seconds), .handler = Handler()};
  }
  void Enter(const TimerEntry& entry, int64_t seconds = 0) { timers_.Enter({entry}, kEpoch, Clocks(seconds)); }
  // Adds the events of due timers to the queue. Returns their number.
  int Fire(ActorTimers::Time time, uint64_t epoch = kEpoch) {
    int fired = 0;
    for (; absl::optional<Event> event = timers_.NextDue(time, epoch, events_); ++fired) {
      EXPECT_TRUE(events_.Add(*std::move(event)));
    }
    return fired;
  }
  std::vector<std::string> NamesThatWait() {
    std::vector<std::string> names;
    for (Event& event : events_) names.push_back(event.payload.As<TimerEvent>().name);
    return names;
  }

  ActorTimers timers_;
  EventQueue events_;
};

TEST_F(ActorTimersTest, ANamedTimerFiresOnceWhenItIsDue) {
  EXPECT_TRUE(timers_.Next().is_infinite());
  ASSERT_TRUE(timers_.Start("b", At(2), Handler(), events_).ok());
  ASSERT_TRUE(timers_.Start("a", At(1), Handler(), events_).ok());
  EXPECT_EQ(timers_.Next(), At(1));
  EXPECT_EQ(Fire(Clocks(0)), 0);
  EXPECT_EQ(Fire(Clocks(2)), 2);
  EXPECT_THAT(NamesThatWait(), ElementsAre("a", "b"));
  EXPECT_EQ(Fire(Clocks(9)), 0);
  EXPECT_TRUE(timers_.Next().is_infinite());
}

TEST_F(ActorTimersTest, CancelEndsATimerThatRunsAndOneWhoseEventWaits) {
  ASSERT_TRUE(timers_.Start("a", At(1), Handler(), events_).ok());
  ASSERT_TRUE(timers_.Start("b", At(5), Handler(), events_).ok());
  EXPECT_EQ(Fire(Clocks(1)), 1);
  EXPECT_TRUE(timers_.Cancel("a", events_)) << "its event waits";
  EXPECT_TRUE(timers_.Cancel("b", events_)) << "it runs";
  EXPECT_FALSE(timers_.Cancel("a", events_));
  EXPECT_FALSE(timers_.Cancel("nobody", events_));
  EXPECT_EQ(Fire(Clocks(9)), 0);
  EXPECT_THAT(NamesThatWait(), IsEmpty());
}

TEST_F(ActorTimersTest, StartTakesThePlaceOfATimerOfThatNameAndOfItsEvent) {
  ASSERT_TRUE(timers_.Start("a", At(1), Handler(), events_).ok());
  EXPECT_EQ(Fire(Clocks(1)), 1);
  ASSERT_TRUE(timers_.Start("a", At(3), Handler(), events_).ok());
  EXPECT_THAT(NamesThatWait(), IsEmpty());
  EXPECT_EQ(Fire(Clocks(3)), 1);
}

TEST_F(ActorTimersTest, ANameIsFreeWhenItsEventIsTakenAndNotBefore) {
  for (int64_t i = 0; i < static_cast<int64_t>(limits::kTimersPerActorMax); ++i) {
    ASSERT_TRUE(timers_.Start(absl::StrCat(i), At(i), Handler(), events_).ok());
  }
  EXPECT_EQ(Fire(Clocks(0)), 1);
  EXPECT_EQ(ErrorKindOf(timers_.Start("one more", At(1), Handler(), events_)), ErrorKind::kFull);
  Event event = events_.Take(events_.begin());
  timers_.Taken(event);
  EXPECT_TRUE(timers_.Start("one more", At(1), Handler(), events_).ok());
}

TEST_F(ActorTimersTest, TheEventOfAnEarlierTimerDoesNotFreeTheNameOfALaterOne) {
  ASSERT_TRUE(timers_.Start("a", At(1), Handler(), events_).ok());
  EXPECT_EQ(Fire(Clocks(1)), 1);
  Event earlier = events_.Take(events_.begin());
  ASSERT_TRUE(timers_.Start("a", At(2), Handler(), events_).ok());
  timers_.Taken(earlier);
  EXPECT_TRUE(timers_.Cancel("a", events_));
}

TEST_F(ActorTimersTest, LeaveEndsTheTimersOfTheBehaviorOnly) {
  ASSERT_TRUE(timers_.Start("named", At(1), Handler(), events_).ok());
  Enter(Entry(TimerEntry::Kind::kAfter, 1));
  Enter(Entry(TimerEntry::Kind::kEvery, 1));
  timers_.Leave();
  EXPECT_EQ(Fire(Clocks(9)), 1);
  EXPECT_THAT(NamesThatWait(), ElementsAre("named"));
}

TEST_F(ActorTimersTest, AfterFiresOnceAndItsEventIsStaleInTheNextBehavior) {
  Enter(Entry(TimerEntry::Kind::kAfter, 2));
  EXPECT_EQ(Fire(Clocks(1)), 0);
  EXPECT_EQ(Fire(Clocks(2)), 1);
  EXPECT_EQ(Fire(Clocks(9)), 0);
  EXPECT_FALSE(timers_.IsStale(events_.front(), kEpoch));
  EXPECT_TRUE(timers_.IsStale(events_.front(), kEpoch + 1));
}

TEST_F(ActorTimersTest, InAReceiveTheFirstAfterThatDoesNotWaitIsNoTimer) {
  const auto first = Handler();
  std::shared_ptr<MessageHandler> at_once;
  timers_.Enter({Entry(TimerEntry::Kind::kAfter, 0, first), Entry(TimerEntry::Kind::kAfter, 0)}, kEpoch, Clocks(0),
                &at_once);
  EXPECT_EQ(at_once, first);
  EXPECT_TRUE(timers_.Next().is_infinite());
  Enter(Entry(TimerEntry::Kind::kAfter, 0));
  EXPECT_EQ(Fire(Clocks(0)), 1) << "in a behavior it is a timer";
}

TEST_F(ActorTimersTest, EveryKeepsItsBeatLeavesOutWhatWasMissedAndHasOneEventAtATime) {
  Enter(Entry(TimerEntry::Kind::kEvery, 2));
  EXPECT_EQ(Fire(Clocks(5)), 1) << "of the beats at 2 and 4 one is told";
  EXPECT_EQ(timers_.Next(), At(6));
  EXPECT_EQ(Fire(Clocks(6)), 0) << "the first waits still";
  (void)events_.Take(events_.begin());
  EXPECT_EQ(Fire(Clocks(8)), 1);
  EXPECT_EQ(Fire(Clocks(10), kEpoch + 1), 0);
  EXPECT_TRUE(timers_.Next().is_infinite()) << "in another behavior it runs no more";
}

TEST_F(ActorTimersTest, IdleCountsFromTheLastMessageAndOneThatComesBeforeItsEventIsHandledMakesItStale) {
  Enter(Entry(TimerEntry::Kind::kIdle, 3));
  timers_.NoteMessage(At(2));
  EXPECT_EQ(Fire(Clocks(3)), 0);
  EXPECT_EQ(timers_.Next(), At(5));
  EXPECT_EQ(Fire(Clocks(5)), 1);
  EXPECT_EQ(timers_.Next(), At(8)) << "it goes on";
  EXPECT_FALSE(timers_.IsStale(events_.front(), kEpoch));
  timers_.NoteMessage(At(6));
  EXPECT_TRUE(timers_.IsStale(events_.front(), kEpoch));
}

TEST_F(ActorTimersTest, AtWaitsForTheWallClockAlsoWhenThatIsSetBack) {
  timers_.Enter({EntryAt(100)}, kEpoch, Clocks(0, 90));
  EXPECT_EQ(timers_.Next(), At(10));
  EXPECT_EQ(Fire(Clocks(10, 60)), 0) << "30 s early";
  EXPECT_EQ(timers_.Next(), At(40));
  EXPECT_EQ(Fire(Clocks(40, 60)), 1);
  // Set back again before the event is handled.
  EXPECT_FALSE(timers_.RunsOn(events_.front(), kEpoch, Clocks(41, 59)));
  EXPECT_TRUE(timers_.RunsOn(events_.front(), kEpoch, Clocks(41, 50)));
  EXPECT_EQ(timers_.Next(), At(50));
  timers_.Leave();
  EXPECT_TRUE(timers_.RunsOn(events_.front(), kEpoch + 1, Clocks(41, 50))) << "to be dropped";
  EXPECT_TRUE(timers_.Next().is_infinite()) << "and not to run again";
}

}  // namespace
}  // namespace understudy::internal
