// Actors that wait for each other in a circle are found and reported.
#include "understudy/actors/call_cycle.h"

#include <cstdint>
#include <functional>
#include <string>
#include <utility>
#include <vector>

#include "absl/status/status.h"
#include "absl/status/statusor.h"
#include "absl/strings/string_view.h"
#include "absl/synchronization/notification.h"
#include "absl/time/time.h"
#include "gmock/gmock.h"
#include "gtest/gtest.h"
#include "understudy/actors/actor.h"
#include "understudy/actors/actor_system.h"
#include "understudy/actors/log_sink.h"
#include "understudy/actors/pending_group.h"
#include "understudy/actors/random.h"
#include "understudy/actors/test_system.h"
#include "understudy/actors/testing/actor_test.h"
#include "understudy/actors/testing/kept_log.h"
#include "understudy/actors/testing/seeds.h"

namespace understudy {
namespace {

using ::testing::HasSubstr;
using ::testing::IsEmpty;
using ::testing::SizeIs;

class Player;

// A message is a function that the receiver's handler runs.
using Step = std::function<Task<absl::StatusOr<int>>(Player&)>;
using Play = Call<Step, int>;
using KeepStep = std::function<Task<>(Player&, Replier<int>)>;
using Keep = Call<KeepStep, int>;
struct Handed {
  Replier<int> replier;
  KeepStep step;
};

class Player final : public Actor {
 public:
  Mailbox<"play", Play> play{this};
  Mailbox<"open", Play> open{this};  // its handlers hold nobody
  Mailbox<"keep", Keep> keep{this};
  Mailbox<"take", Handed> take{this};
  Mailbox<"sort", Keep> sort{this};  // its handlers hold nobody
  Mailbox<"closed", Play> closed{this};
  Mailbox<"small", int> small{this, {.capacity_messages = 1}};
  StartResult Start() override { return playing_; }
  using Actor::context;

 private:
  Task<absl::StatusOr<int>> Run(const Step& step) {
    auto running = step(*this);
    absl::StatusOr<int> answer = co_await running;
    co_return answer;
  }
  Task<> RunKeep(const KeepStep& step, Replier<int> replier) {
    auto running = step(*this, std::move(replier));
    co_await running;
  }
  Task<> RunTake(Handed handed) {
    auto running = handed.step(*this, std::move(handed.replier));
    co_await running;
  }
  Behavior playing_{"playing",
                    On(play, &Player::Run),
                    On(open, &Player::Run).Interleaved(),
                    On(keep, &Player::RunKeep),
                    On(take, &Player::RunTake),
                    On(sort, &Player::RunKeep).Interleaved(),
                    On(small, [](int) {})};
};

Task<absl::StatusOr<int>> One(Player& /*self*/) { co_return 1; }

// Comes through the players of `path`, one in the handler of the other.
Step Walk(std::vector<Channel<Play>> path, absl::Duration timeout = absl::Seconds(10)) {
  if (path.empty()) return &One;
  return [=](Player&) -> Task<absl::StatusOr<int>> {
    auto asked = path[0].Ask(Walk({path.begin() + 1, path.end()}, timeout), timeout);
    absl::StatusOr<int> steps = co_await asked;
    if (!steps.ok()) co_return steps.status();
    co_return *steps + 1;
  };
}

class CallCycleTest : public ActorTest {
 protected:
  CallCycleTest() {
    system().SubscribeCallCycles([this](const CallCycle& cycle) { cycles_.push_back(cycle); });
    system().RunUntilIdle();
  }
  absl::StatusOr<int> Run(Channel<Play> channel, Step step) { return Ask(channel, std::move(step), absl::Seconds(30)); }

  Ref<Player> a_ = system().Spawn<Player>();
  Ref<Player> b_ = system().Spawn<Player>();
  Ref<Player> c_ = system().Spawn<Player>();
  const Channel<Play> a = a_[&Player::play];
  const Channel<Play> b = b_[&Player::play];
  const Channel<Play> c = c_[&Player::play];
  std::vector<CallCycle> cycles_;
};

TEST_F(CallCycleTest, ACircleIsFoundAtOnceAndEndedByItsDeadline) {
  const MonotonicTime before = system().Now();
  MonotonicTime found;
  system().SubscribeCallCycles([&](const CallCycle&) { found = system().Now(); });
  EXPECT_TRUE(IsExpired(Run(a, Walk({b, a})).status()));
  EXPECT_EQ(system().Now() - before, absl::Seconds(10)) << "as it would without";
  EXPECT_EQ(found, before);
  EXPECT_EQ(system().call_cycles(), 1);
  ASSERT_THAT(cycles_, SizeIs(1));
  const std::vector<CallWait>& waits = cycles_[0].waits;
  ASSERT_THAT(waits, SizeIs(2));
  EXPECT_EQ(waits[0].waiter, b_.pid()) << "it closed the circle";
  EXPECT_EQ(waits[0].holder, a_.pid());
  EXPECT_EQ(waits[0].handler, "play");
  EXPECT_EQ(waits[0].asked, "play");
  EXPECT_EQ(waits[1].waiter, a_.pid());
  EXPECT_EQ(waits[1].holder, b_.pid());
  EXPECT_EQ(waits[1].since, before);
}

TEST_F(CallCycleTest, CirclesOfOneAndOfThree) {
  (void)Run(a, Walk({a}));
  (void)Run(a, Walk({b, c, a}));
  ASSERT_THAT(cycles_, SizeIs(2));
  EXPECT_THAT(cycles_[0].waits, SizeIs(1));
  EXPECT_THAT(cycles_[1].waits, SizeIs(3));
}

TEST_F(CallCycleTest, AChainIsNoCircle) {
  EXPECT_EQ(*Run(a, Walk({b, c})), 3);
  EXPECT_EQ(*Run(c, Walk({b, a})), 3);
  EXPECT_THAT(cycles_, IsEmpty());
}

TEST_F(CallCycleTest, InterleavedHandlersHoldNobody) {
  const Channel<Play> open_a = a_[&Player::open];
  const Channel<Play> open_b = b_[&Player::open];
  EXPECT_EQ(*Run(open_a, Walk({open_b, open_a, open_b})), 4);
  EXPECT_EQ(*Run(open_a, Walk({b, open_a})), 3) << "held by one, and free in the other";
  EXPECT_THAT(cycles_, IsEmpty());
}

TEST_F(CallCycleTest, AStartThatAwaitsHoldsItsActor) {
  class Starting final : public Actor {
   public:
    Mailbox<"play", Play> play{this};
    explicit Starting(Channel<Play> to) : to_(to) {}
    StartResult Start() override { return Begin(); }

   private:
    Task<StartResult> Begin() {
      const Ref<Starting> self(context().Self());
      auto asked = to_.Ask(Walk({self[&Starting::play]}), absl::Seconds(10));
      absl::StatusOr<int> answer = co_await asked;
      co_return answer.status();
    }
    Channel<Play> to_;
  };
  system().Spawn<Starting>(a);
  system().Advance(absl::Seconds(20));
  ASSERT_THAT(cycles_, SizeIs(1));
  EXPECT_EQ(cycles_[0].waits[1].handler, "Start");
}

TEST_F(CallCycleTest, AProcessIsHeldWhileItAwaitsAndNotWhileItReceives) {
  class Process final : public Actor {
   public:
    Mailbox<"play", Play> play{this};
    explicit Process(Channel<Play> to) : to_(to) {}
    StartResult Start() override { return Body(); }

   private:
    Task<> Body() {
      const Ref<Process> self(context().Self());
      auto first = Receive(On(play, [](const Step&) { return 1; }));
      co_await first;
      auto asked = to_.Ask(Walk({self[&Process::play]}), absl::Seconds(10));
      (void)co_await asked;
    }
    Channel<Play> to_;
  };
  Ref<Process> process = system().Spawn<Process>(a);
  EXPECT_EQ(*Run(b, Walk({process[&Process::play]})), 2);
  system().Advance(absl::Seconds(20));
  ASSERT_THAT(cycles_, SizeIs(1));
}

TEST_F(CallCycleTest, AllWaitsForEachAndTheOthersDoNot) {
  const auto ask_both = [this](bool needs_all) -> Step {
    return [=, this](Player&) -> Task<absl::StatusOr<int>> {
      auto asked = AskAll(std::vector<Channel<Play>>{c, b}, Walk({a}), absl::Seconds(10));
      if (needs_all) {
        auto all = All(asked);
        auto answers = co_await all;
        co_return answers[1];
      }
      auto any = Any(asked);
      auto first = co_await any;
      co_return first.answer;
    };
  };
  (void)Run(a, ask_both(false));
  EXPECT_THAT(cycles_, IsEmpty()) << "one good answer could come from elsewhere";
  (void)Run(a, ask_both(true));
  EXPECT_THAT(cycles_, SizeIs(2)) << "by b, and by c";
}

TEST_F(CallCycleTest, TheHolderOfTheReplierIsWaitedFor) {
  // semantics 4.2: a asks b; b hands that call on to c, and asks a.
  const auto hand_on = [this](KeepStep then) -> KeepStep {
    return [=, this](Player&, Replier<int> replier) -> Task<> {
      c_[&Player::take].Tell({std::move(replier), then});
      auto asked = a.Ask(&One, absl::Seconds(10));
      (void)co_await asked;
    };
  };
  const auto ask_b = [this](KeepStep step) -> Step {
    return [=, this](Player&) -> Task<absl::StatusOr<int>> {
      auto asked = b_[&Player::keep].Ask(step, absl::Seconds(10));
      absl::StatusOr<int> answer = co_await asked;
      co_return answer;
    };
  };
  EXPECT_EQ(*Run(a, ask_b(hand_on([](Player&, Replier<int> replier) -> Task<> {
                   replier.Reply(7);
                   co_return;
                 }))),
            7);
  EXPECT_THAT(cycles_, IsEmpty()) << "c is free to answer";
  EXPECT_TRUE(IsExpired(Run(a, ask_b(hand_on([this](Player&, Replier<int> replier) -> Task<> {
                              auto asked = a.Ask(&One, absl::Seconds(10));
                              (void)co_await asked;
                              if (replier.is_open()) replier.Reply(8);
                            })))
                            .status()));
  ASSERT_THAT(cycles_, SizeIs(1));
  ASSERT_THAT(cycles_[0].waits, SizeIs(2));
  EXPECT_EQ(cycles_[0].waits[0].waiter, c_.pid());
  EXPECT_EQ(cycles_[0].waits[1].holder, c_.pid());
}

TEST_F(CallCycleTest, AForwardedCallWaitsForItsActorAgain) {
  MonotonicTime found;
  system().SubscribeCallCycles([&](const CallCycle&) { found = system().Now(); });
  const MonotonicTime before = system().Now();
  const KeepStep pass_on_later = [this](Player& self, Replier<int> replier) -> Task<> {
    auto a_second = c_[&Player::closed].Ask(&One, absl::Seconds(1));
    EXPECT_TRUE(IsExpired((co_await a_second).status()));
    self.context().Forward(self.play, &One, std::move(replier));
  };
  const Step ask_a = [&](Player&) -> Task<absl::StatusOr<int>> {
    auto asked = a_[&Player::sort].Ask(pass_on_later, absl::Seconds(10));
    absl::StatusOr<int> answer = co_await asked;
    co_return answer;
  };
  const Step hold_both = [&](Player&) -> Task<absl::StatusOr<int>> {
    auto holds_b = b.Ask(ask_a, absl::Seconds(10));
    auto soon = b_[&Player::closed].Ask(&One, absl::Milliseconds(1));
    (void)co_await soon;
    auto holds_a = a.Ask(Walk({b}, absl::Seconds(5)), absl::Seconds(10));
    absl::StatusOr<int> answer = co_await holds_a;
    (void)co_await holds_b;
    co_return answer;
  };
  EXPECT_TRUE(IsExpired(Run(c, hold_both).status()));
  ASSERT_THAT(cycles_, SizeIs(1));
  EXPECT_EQ(found - before, absl::Seconds(1)) << "not before it was forwarded";
  ASSERT_THAT(cycles_[0].waits, SizeIs(2));
  EXPECT_EQ(cycles_[0].waits[0].waiter, b_.pid()) << "passing it on closed the circle";
  EXPECT_EQ(cycles_[0].waits[0].holder, a_.pid());
}

TEST_F(CallCycleTest, AnActorThatHasAnsweredIsNotWaitedFor) {
  ForEachSeed(50, [](uint64_t seed) {
    TestSystem system(seed);
    Ref<Player> a = system.Spawn<Player>();
    Ref<Player> b = system.Spawn<Player>();
    const Step ask_b = [=](Player&) -> Task<absl::StatusOr<int>> {
      auto asked = b[&Player::keep].Ask(
          [=](Player&, Replier<int> replier) -> Task<> {
            replier.Reply(1);
            auto asked_back = a[&Player::play].Ask(&One, absl::Seconds(1));
            absl::StatusOr<int> answer = co_await asked_back;
            EXPECT_TRUE(answer.ok()) << answer.status();
          },
          absl::Seconds(1));
      absl::StatusOr<int> answer = co_await asked;
      co_return answer;
    };
    EXPECT_EQ(*system.Ask(a[&Player::play], ask_b, absl::Seconds(5)), 1);
    system.RunUntilIdle();
    EXPECT_EQ(system.call_cycles(), 0);
  });
}

TEST_F(CallCycleTest, WaitingForRoomCountsToo) {
  const Step fill = [this](Player&) -> Task<absl::StatusOr<int>> {
    for (int i = 0; i < 2; ++i) {
      auto sending = a_[&Player::small].SendWhenRoom(i, absl::Seconds(10));
      absl::Status sent = co_await sending;
      if (!sent.ok()) co_return sent;
    }
    co_return 1;
  };
  EXPECT_TRUE(IsExpired(Run(a, [=, this](Player&) -> Task<absl::StatusOr<int>> {
                          auto asked = b.Ask(fill, absl::Seconds(10));
                          absl::StatusOr<int> answer = co_await asked;
                          co_return answer;
                        }).status()));
  ASSERT_THAT(cycles_, SizeIs(1));
  EXPECT_EQ(cycles_[0].waits[0].asked, "room in small");
  EXPECT_EQ(*Run(b, fill), 1);
  EXPECT_THAT(cycles_, SizeIs(1));
}

TEST_F(CallCycleTest, OneLineTellsOfBothChains) {
  KeptLog log;
  SeededExecutor executor(1);
  {
    ActorSystem logged({.executor = &executor, .seed = 2, .log = &log, .call_cycles = FindCallCycles::kAlways});
    Ref<Player> one = logged.Spawn<Player>();
    Ref<Player> other = logged.Spawn<Player>();
    (void)logged.Ask(one[&Player::play], Walk({other[&Player::play], one[&Player::play]}), absl::Seconds(30));
    ASSERT_THAT(log.lines(), SizeIs(1));
    const std::string from_other = other.pid().ToString() + " in its handler of play waits for " + one.pid().ToString();
    const std::string from_one = one.pid().ToString() + " in its handler of play waits for " + other.pid().ToString();
    EXPECT_THAT(log.lines()[0], HasSubstr("call cycle of 2 actors: " + from_other));
    EXPECT_THAT(log.lines()[0], HasSubstr("; while " + from_one));
  }
  ActorSystem silent({.executor = &executor, .seed = 2, .log = &log, .call_cycles = FindCallCycles::kNever});
  Ref<Player> one = silent.Spawn<Player>();
  EXPECT_TRUE(IsExpired(silent.Ask(one[&Player::play], Walk({one[&Player::play]}), absl::Seconds(30)).status()));
  EXPECT_EQ(silent.call_cycles(), 0);
  EXPECT_THAT(log.lines(), SizeIs(1));
}

// Random players call each other. If no cycle is found, all calls are answered; if one is found, some expire.
TEST(CallCycleSeedsTest, ExpiresExactlyWhatACircleHolds) {
  int with = 0;
  int without = 0;
  ForEachSeed(500, [&](uint64_t seed) {
    TestSystem system(seed);
    Random random(seed);
    std::vector<Channel<Play>> players;
    for (int i = 0; i < 5; ++i) players.push_back(system.Spawn<Player>()[&Player::play]);
    int expired = 0;
    int answered = 0;
    const size_t walks = 1 + random.Below(3);
    for (size_t i = 0; i < walks; ++i) {
      std::vector<Channel<Play>> path;
      const size_t length = 1 + random.Below(3);
      for (size_t k = 0; k < length; ++k) path.push_back(players[random.Below(players.size())]);
      Ref<Player> walker = system.Spawn<Player>();
      struct Count {
        int* expired;
        int* answered;
      };
      const Count count{&expired, &answered};
      const Step walk = [=](Player&) -> Task<absl::StatusOr<int>> {
        auto asked = path[0].Ask(Walk({path.begin() + 1, path.end()}), absl::Seconds(10));
        absl::StatusOr<int> steps = co_await asked;
        EXPECT_TRUE(steps.ok() || IsExpired(steps.status())) << steps.status();
        ++*(steps.ok() ? count.answered : count.expired);
        co_return steps;
      };
      class Starter final : public Actor {
       public:
        Starter(Channel<Play> to, Step step) : to_(to), step_(std::move(step)) {}
        StartResult Start() override { return Body(); }

       private:
        Task<> Body() {
          auto asked = to_.Ask(step_, absl::Seconds(20));
          (void)co_await asked;
        }
        Channel<Play> to_;
        Step step_;
      };
      system.Spawn<Starter>(walker[&Player::play], walk);
    }
    system.Advance(absl::Seconds(30));
    EXPECT_EQ(static_cast<size_t>(expired + answered), walks);
    EXPECT_EQ(system.call_cycles() > 0, expired > 0);
    ++(expired > 0 ? with : without);
    ExpectNothingLost(system);
  });
  if (!SeedFromEnvironment()) {
    EXPECT_GT(with, 50);
    EXPECT_GT(without, 50);
  }
}

TEST(CallCycleThreadsTest, OnThreadsACircleIsFoundAndNoOther) {
  ActorSystem system({.threads = {.threads = 4}, .log = &LogSink::Null(), .call_cycles = FindCallCycles::kAlways});
  std::vector<Channel<Play>> players;
  for (int i = 0; i < 4; ++i) players.push_back(system.Spawn<Player>()[&Player::play]);
  for (int i = 0; i < 200; ++i) {
    EXPECT_EQ(*system.Ask(players[0], Walk({players[1], players[2], players[3]}, absl::Minutes(5)), absl::Minutes(5)),
              4);
  }
  EXPECT_EQ(system.call_cycles(), 0);
  absl::Notification found;
  system.SubscribeCallCycles([&](const CallCycle& cycle) {
    EXPECT_EQ(cycle.waits.size(), 2U);
    found.Notify();
  });
  class Starter final : public Actor {
   public:
    explicit Starter(std::vector<Channel<Play>> players) : players_(std::move(players)) {}
    StartResult Start() override { return Body(); }

   private:
    Task<> Body() {
      auto asked = players_[0].Ask(Walk({players_[1], players_[0]}, absl::Hours(1)), absl::Hours(1));
      (void)co_await asked;
    }
    std::vector<Channel<Play>> players_;
  };
  Ref<Starter> starter = system.Spawn<Starter>(players);
  found.WaitForNotification();
  system.Kill(starter.pid());
  system.Kill(players[0].pid());
}

}  // namespace
}  // namespace understudy
