// The timers of an actor: At, After and Idle of its behaviour, and its named timers (semantics 3.3), all in virtual
// time.
#include <algorithm>
#include <functional>
#include <memory>
#include <string>
#include <utility>
#include <vector>

#include "absl/status/status.h"
#include "absl/status/statusor.h"
#include "absl/strings/str_cat.h"
#include "absl/time/time.h"
#include "gmock/gmock.h"
#include "gtest/gtest.h"
#include "understudy/actors/actor.h"
#include "understudy/actors/clock.h"
#include "understudy/actors/error.h"
#include "understudy/actors/limits.h"
#include "understudy/actors/testing/actor_test.h"
#include "understudy/actors/testing/probe.h"

namespace understudy {
namespace {

using ::testing::ElementsAre;

using TimerTest = ActorTest;

// Tells each timer with the second at which it came.
class Ticker final : public Actor {
 public:
  Mailbox<"poke", int> poke{this};
  Mailbox<"become", std::string> become{this};

  Ticker(Channel<std::string> out, absl::Time at) : out_(out), at_(at) {}
  StartResult Start() override {
    begin_ = context().Now();
    return quiet_;
  }

 private:
  void Note(std::string what) { out_.Tell(absl::StrCat(what, " ", absl::ToInt64Seconds(context().Now() - begin_))); }
  std::function<void()> Noting(std::string what) {
    return [this, what] { Note(what); };
  }
  void Switch(const std::string& to) {
    if (to == "quiet") Become(quiet_);
    if (to == "after") Become(after_);
    if (to == "every") Become(every_);
    if (to == "idle") Become(idle_);
    if (to == "two idles") Become(two_idles_);
    if (to == "at") Become(at_time_);
  }

  Task<> Hold() {
    auto held = context().Sleep(absl::Seconds(12));
    (void)co_await held;
  }

  Channel<std::string> out_;
  absl::Time at_;
  MonotonicTime begin_;
  Behavior quiet_{"quiet", On(become, &Ticker::Switch)};
  Behavior after_{"after", On(become, &Ticker::Switch), On(poke, [] {}), After(absl::Seconds(5), Noting("after"))};
  Behavior every_{"every", On(become, &Ticker::Switch), On(poke, [this] { return Hold(); }),
                  Every(absl::Seconds(5), Noting("every"))};
  Behavior idle_{"idle", On(become, &Ticker::Switch), On(poke, [] {}), Idle(absl::Seconds(5), Noting("idle"))};
  Behavior two_idles_{"two idles", On(become, &Ticker::Switch), Idle(absl::Seconds(4), Noting("short")),
                      Idle(absl::Seconds(6), Noting("long"))};
  Behavior at_time_{"at", On(become, &Ticker::Switch), At(at_, Noting("at"))};
};

class TickerTest : public ActorTest {
 protected:
  TickerTest()
      : out_(system()), ticker_(system().Spawn<Ticker>(out_.channel(), system().WallNow() + absl::Seconds(10))) {
    system().RunUntilIdle();
  }
  void Switch(const char* to) {
    ticker_[&Ticker::become].Tell(to);
    system().RunUntilIdle();
  }

  Probe<std::string> out_;
  Ref<Ticker> ticker_;
};

TEST_F(TickerTest, AfterCountsFromEnteringTheBehaviour) {
  system().Advance(absl::Seconds(2));
  Switch("after");
  system().Advance(absl::Seconds(3));
  ticker_[&Ticker::poke].Tell(1);
  system().Advance(absl::Seconds(20));
  EXPECT_THAT(out_.ReceiveAll(), ElementsAre("after 7"));
}

TEST_F(TickerTest, BecomingTheCurrentBehaviourReArmsNothing) {
  // semantics 3.2
  Switch("after");
  system().Advance(absl::Seconds(3));
  Switch("after");
  system().Advance(absl::Seconds(20));
  EXPECT_THAT(out_.ReceiveAll(), ElementsAre("after 5"));
}

TEST_F(TickerTest, LeavingTheBehaviourStopsItsTimersAndEnteringItArmsThemAnew) {
  Switch("after");
  system().Advance(absl::Seconds(3));
  Switch("quiet");
  system().Advance(absl::Seconds(10));
  out_.ExpectNothing();
  Switch("after");
  system().Advance(absl::Seconds(20));
  EXPECT_THAT(out_.ReceiveAll(), ElementsAre("after 18"));
}

TEST_F(TickerTest, EveryComesEachPeriodWhateverElseComes) {
  system().Advance(absl::Seconds(2));
  Switch("every");
  system().Advance(absl::Seconds(16));
  EXPECT_THAT(out_.ReceiveAll(), ElementsAre("every 7", "every 12", "every 17"));
  Switch("quiet");
  system().Advance(absl::Seconds(20));
  out_.ExpectNothing();
}

TEST_F(TickerTest, TicksMissedByEveryComeOnceAndTheNextAtItsOwnTime) {
  Switch("every");
  system().Advance(absl::Seconds(4));
  ticker_[&Ticker::poke].Tell(0);  // holds it from 4 to 16
  system().Advance(absl::Seconds(17));
  EXPECT_THAT(out_.ReceiveAll(), ElementsAre("every 16", "every 20"));
}

TEST_F(TickerTest, AtIsNeverBeforeItsTimeOnTheWallClock) {
  Switch("at");
  system().Advance(absl::Seconds(4));
  system().StepWallClock(-absl::Seconds(3));
  system().Advance(absl::Seconds(8));
  system().StepWallClock(-absl::Seconds(5));
  system().Advance(absl::Seconds(5));
  out_.ExpectNothing();
  system().Advance(absl::Seconds(1));
  EXPECT_THAT(out_.ReceiveAll(), ElementsAre("at 18"));
}

TEST_F(TickerTest, AnAtBetweenTwoNanosecondsComesAtTheLater) {
  Ref<Ticker> fine =
      system().Spawn<Ticker>(out_.channel(), system().WallNow() + absl::Seconds(10) + absl::Nanoseconds(1) / 4);
  fine[&Ticker::become].Tell("at");
  system().Advance(absl::Seconds(10));
  out_.ExpectNothing();
  system().Advance(absl::Nanoseconds(1));
  EXPECT_THAT(out_.ReceiveAll(), ElementsAre("at 10"));
}

TEST_F(TickerTest, AtIsLateByWhatTheWallClockIsSetForward) {
  Switch("at");
  system().StepWallClock(absl::Seconds(9));
  system().Advance(absl::Seconds(20));
  EXPECT_THAT(out_.ReceiveAll(), ElementsAre("at 10"));
}

TEST_F(TickerTest, AnAtThatWaitsForTheWallClockEndsWithItsBehaviour) {
  Switch("at");
  system().StepWallClock(-absl::Seconds(5));
  system().Advance(absl::Seconds(12));
  Switch("quiet");
  system().Advance(absl::Seconds(20));
  out_.ExpectNothing();
}

// An actor whose handler awaits when the timer fires.
class HeldAt final : public Actor {
 public:
  Mailbox<"hold", int> hold{this};
  HeldAt(Channel<std::string> out, Channel<Call<int, int>> silent, absl::Time at)
      : out_(out), silent_(silent), at_(at) {}
  StartResult Start() override { return holding_; }

 private:
  Task<> Hold(int) {
    auto asked = silent_.Ask(1, absl::Seconds(11));
    (void)co_await asked;
  }
  const Channel<std::string> out_;
  const Channel<Call<int, int>> silent_;
  const absl::Time at_;
  Behavior holding_{"holding", On(hold, &HeldAt::Hold), At(at_, [this] {
                      out_.Tell(absl::StrCat("late by ", absl::FormatDuration(context().WallNow() - at_)));
                    })};
};

TEST_F(TickerTest, AnAtWhoseEventWaitsFollowsTheWallClockToo) {
  Probe<Call<int, int>> silent(system());
  Ref<HeldAt> held = system().Spawn<HeldAt>(out_.channel(), silent.channel(), system().WallNow() + absl::Seconds(10));
  held[&HeldAt::hold].Tell(1);
  system().RunUntilIdle();
  system().Advance(absl::Seconds(10));
  system().StepWallClock(-absl::Seconds(6));
  system().Advance(absl::Seconds(1));  // the handler is over
  out_.ExpectNothing();
  system().Advance(absl::Seconds(5));
  EXPECT_THAT(out_.ReceiveAll(), ElementsAre("late by 0"));
}

TEST_F(TickerTest, IdleCountsFromTheLastMessageAgainAndAgain) {
  Switch("idle");
  system().Advance(absl::Seconds(3));
  ticker_[&Ticker::poke].Tell(1);
  system().Advance(absl::Seconds(3));
  out_.ExpectNothing();
  system().Advance(absl::Seconds(8));
  EXPECT_THAT(out_.ReceiveAll(), ElementsAre("idle 8", "idle 13"));
}

TEST_F(TickerTest, TwoIdlesDoNotDisturbEachOther) {
  Switch("two idles");
  system().Advance(absl::Seconds(11));
  EXPECT_THAT(out_.ReceiveAll(), ElementsAre("short 4", "long 6", "short 8"));
}

// Says when it has had nothing to do for two seconds.
class Idler final : public Actor {
 public:
  Mailbox<"dropped", int> dropped{this};
  Mailbox<"poke", int> poke{this};
  Mailbox<"hold", int> hold{this};  // so many seconds
  Idler(Channel<std::string> out, Channel<Call<int, int>> silent) : out_(out), silent_(silent) {}
  StartResult Start() override {
    begin_ = context().Now();
    return idling_;
  }

 private:
  void Note(const char* what) { out_.Tell(absl::StrCat(what, " ", absl::ToInt64Seconds(context().Now() - begin_))); }
  Task<> Hold(int seconds) {
    auto asked = silent_.Ask(1, absl::Seconds(seconds));
    (void)co_await asked;
    Note("held until");
  }

  const Channel<std::string> out_;
  const Channel<Call<int, int>> silent_;
  MonotonicTime begin_;
  Behavior idling_{"idling", Drop(dropped), On(poke, [this] { Note("poke"); }), On(hold, &Idler::Hold),
                   Idle(absl::Seconds(2), [this] { Note("idle"); })};
};

class IdlerTest : public ActorTest {
 protected:
  IdlerTest() : out_(system()), silent_(system()), idler_(system().Spawn<Idler>(out_.channel(), silent_.channel())) {
    system().RunUntilIdle();
  }

  Probe<std::string> out_;
  Probe<Call<int, int>> silent_;
  Ref<Idler> idler_;
};

TEST_F(IdlerTest, ADroppedMessageEndsTheIdleTimeToo) {
  for (int n = 0; n < 5; ++n) {
    idler_[&Idler::dropped].Tell(n);
    system().Advance(absl::Seconds(1));
  }
  out_.ExpectNothing();
  system().Advance(absl::Seconds(1));
  EXPECT_THAT(out_.ReceiveAll(), ElementsAre("idle 6"));
}

TEST_F(IdlerTest, DoesNotPileUpWhileAHandlerAwaits) {
  idler_[&Idler::hold].Tell(9);
  system().Advance(absl::Seconds(9));
  EXPECT_THAT(out_.ReceiveAll(), ElementsAre("held until 9", "idle 9"));
}

TEST_F(IdlerTest, DoesNotComeAfterAMessageThatCameBeforeIt) {
  idler_[&Idler::hold].Tell(3);
  system().Advance(absl::Seconds(1));
  idler_[&Idler::poke].Tell(1);  // waits while it is held
  system().Advance(absl::Seconds(2));
  EXPECT_THAT(out_.ReceiveAll(), ElementsAre("held until 3", "poke 3"));
  system().Advance(absl::Seconds(2));
  EXPECT_THAT(out_.ReceiveAll(), ElementsAre("idle 5"));
}

TEST_F(TickerTest, AtIsWallTimeAndAPastOneComesAtOnce) {
  Switch("at");
  system().Advance(absl::Seconds(9));
  out_.ExpectNothing();
  system().Advance(absl::Seconds(1));
  out_.Expect("at 10");
  system().Advance(absl::Seconds(5));
  Switch("quiet");
  Switch("at");
  out_.Expect("at 15");
}

// Named timers.
class Alarm final : public Actor {
 public:
  Mailbox<"set", std::pair<std::string, absl::Duration>> set{this};
  Mailbox<"cancel", Call<std::string, bool>> cancel{this};
  Mailbox<"other", int> other{this};
  explicit Alarm(Channel<std::string> out) : out_(out) {}
  StartResult Start() override { return one_; }

 private:
  absl::Status Set(const std::pair<std::string, absl::Duration>& what) {
    return context().StartTimer(what.first, what.second, &Alarm::Ring);
  }
  void Ring(const TimerEvent& event) { out_.Tell(event.name); }
  bool Cancel(const std::string& name) { return context().CancelTimer(name); }

  Channel<std::string> out_;
  Behavior one_{"one", On(set, &Alarm::Set), On(cancel, &Alarm::Cancel), On(other, [this](int) { return two_; })};
  Behavior two_{"two", On(set, &Alarm::Set)};
};

TEST_F(TimerTest, NamedTimersSurviveBecomeAndComeOnce) {
  Probe<std::string> out(system());
  Ref<Alarm> alarm = system().Spawn<Alarm>(out.channel());
  alarm[&Alarm::set].Tell({"tea", absl::Seconds(3)});
  alarm[&Alarm::other].Tell(1);
  system().Advance(absl::Seconds(3));
  out.Expect("tea");
  system().Advance(absl::Minutes(1));
  out.ExpectNothing();
}

TEST_F(TimerTest, ATimerOfTheSameNameIsReplaced) {
  Probe<std::string> out(system());
  Ref<Alarm> alarm = system().Spawn<Alarm>(out.channel());
  alarm[&Alarm::set].Tell({"tea", absl::Seconds(3)});
  alarm[&Alarm::set].Tell({"tea", absl::Seconds(9)});
  system().Advance(absl::Seconds(8));
  out.ExpectNothing();
  system().Advance(absl::Seconds(1));
  EXPECT_THAT(out.ReceiveAll(), ElementsAre("tea"));
}

TEST_F(TimerTest, ACancelledTimerDoesNotComeAndIsCancelledOnce) {
  Probe<std::string> out(system());
  Ref<Alarm> alarm = system().Spawn<Alarm>(out.channel());
  alarm[&Alarm::set].Tell({"tea", absl::Seconds(3)});
  EXPECT_TRUE(*Ask(alarm[&Alarm::cancel], std::string("tea")));
  EXPECT_FALSE(*Ask(alarm[&Alarm::cancel], std::string("tea")));
  alarm[&Alarm::set].Tell({"egg", absl::Seconds(3)});
  system().Advance(absl::Seconds(5));
  EXPECT_FALSE(*Ask(alarm[&Alarm::cancel], std::string("egg"))) << "it has come";
  EXPECT_THAT(out.ReceiveAll(), ElementsAre("egg"));
}

TEST_F(TimerTest, ATimerThatHasComeTakesNoRoomAnyMore) {
  Probe<std::string> out(system());
  Ref<Alarm> alarm = system().Spawn<Alarm>(out.channel());
  for (size_t i = 0; i < limits::kTimersPerActorMax + 10; ++i) {
    alarm[&Alarm::set].Tell({absl::StrCat(i), absl::Seconds(1)});
    if (i % 500 == 499) {
      system().Advance(absl::Seconds(1));
      (void)out.ReceiveAll();
    }
  }
  system().RunUntilIdle();
  EXPECT_EQ(Ledger().of(Disposition::kRejected), 0);
}

// A guard against limits: statuses as replies.
class Filler final : public Actor {
 public:
  Mailbox<"fill", Call<size_t, std::string>> fill{this};
  StartResult Start() override { return filling_; }

 private:
  absl::StatusOr<std::string> Fill(size_t count) {
    for (size_t i = 0; i < count; ++i) {
      absl::Status set = context().StartTimer(absl::StrCat("t", i), absl::Hours(1), [] {});
      if (!set.ok()) return set;
    }
    return "filled";
  }
  Behavior filling_{"filling", On(fill, &Filler::Fill)};
};

TEST_F(TimerTest, AtTheLimitATimerIsRefused) {
  // semantics 5.12
  Ref<Filler> filler = system().Spawn<Filler>();
  EXPECT_EQ(*Ask(filler[&Filler::fill], limits::kTimersPerActorMax), "filled");
  const absl::Status full = Ask(filler[&Filler::fill], limits::kTimersPerActorMax + 1).status();
  EXPECT_TRUE(IsFull(full)) << full;
}

// Answers when it has slept, and says when.
class Sleeper final : public Actor {
 public:
  Mailbox<"sleep", Call<absl::Duration, std::string>> sleep{this};
  Mailbox<"sleep late", Call<absl::Duration, std::string>> sleep_late{this};
  StartResult Start() override { return sleeping_; }

 private:
  Task<absl::StatusOr<std::string>> Sleep(absl::Duration delay) {
    const MonotonicTime begin = context().Now();
    auto pause = context().Sleep(delay);
    if (absl::Status slept = co_await pause; !slept.ok()) co_return slept;
    co_return absl::FormatDuration(context().Now() - begin);
  }
  Task<absl::StatusOr<std::string>> SleepLate(absl::Duration delay) {
    const MonotonicTime begin = context().Now();
    auto early = context().Sleep(delay / 2);
    auto late = context().Sleep(delay);
    if (absl::Status slept = co_await late; !slept.ok()) co_return slept;
    if (absl::Status slept = co_await early; !slept.ok()) co_return slept;
    co_return absl::FormatDuration(context().Now() - begin);
  }
  Behavior sleeping_{"sleeping", On(sleep, &Sleeper::Sleep), On(sleep_late, &Sleeper::SleepLate)};
};

TEST_F(TimerTest, SleepAwaitsItsDelay) {
  Ref<Sleeper> sleeper = system().Spawn<Sleeper>();
  for (const absl::Duration delay : {absl::Seconds(3), absl::ZeroDuration(), -absl::Seconds(1)}) {
    const absl::StatusOr<std::string> slept = Ask(sleeper[&Sleeper::sleep], delay, absl::Hours(1));
    ASSERT_TRUE(slept.ok()) << slept.status();
    EXPECT_EQ(*slept, absl::FormatDuration(std::max(delay, absl::ZeroDuration())));
  }
}

TEST_F(TimerTest, SleepEndsWithTheDeadlineOfTheCallInHand) {
  Ref<Sleeper> sleeper = system().Spawn<Sleeper>();
  const absl::Status slept = Ask(sleeper[&Sleeper::sleep], absl::Hours(30), absl::Seconds(2)).status();
  EXPECT_TRUE(IsExpired(slept)) << slept;
}

// Sleeps in the handler of a tell, which has no deadline.
class Dozer final : public Actor {
 public:
  Mailbox<"doze", absl::Duration> doze{this};
  explicit Dozer(std::vector<absl::Status>* slept) : slept_(slept) {}
  StartResult Start() override { return dozing_; }

 private:
  Task<> Doze(absl::Duration delay) {
    auto pause = context().Sleep(delay);
    slept_->push_back(co_await pause);
  }

  std::vector<absl::Status>* const slept_;
  Behavior dozing_{"dozing", On(doze, &Dozer::Doze)};
};

TEST_F(TimerTest, ASleepIsOverAfterTheLongestTimeOfAnAsk) {
  std::vector<absl::Status> slept;
  const Ref<Dozer> dozer = system().Spawn<Dozer>(&slept);
  for (const absl::Duration delay : {absl::Hours(25), absl::InfiniteDuration(), absl::Hours(24)})
    dozer[&Dozer::doze].Tell(delay);
  system().RunUntilIdle();
  for (size_t over = 0; over < 3; ++over) {
    system().Advance(limits::kAskTimeoutMax - absl::Seconds(1));
    EXPECT_EQ(slept.size(), over);
    system().Advance(absl::Seconds(1));
  }
  ASSERT_EQ(slept.size(), 3U);
  EXPECT_TRUE(IsExpired(slept[0])) << slept[0];
  EXPECT_TRUE(IsExpired(slept[1])) << slept[1];
  EXPECT_TRUE(slept[2].ok()) << slept[2];
}

TEST_F(TimerTest, ASleepThatIsAwaitedAfterItsTimeIsOver) {
  Ref<Sleeper> sleeper = system().Spawn<Sleeper>();
  EXPECT_EQ(*Ask(sleeper[&Sleeper::sleep_late], absl::Seconds(30), absl::Hours(1)), "30s");
}

}  // namespace
}  // namespace understudy
