// The cancellation of a call goes on to the calls that its handler has made for it, and from those to the next
// (semantics 4.3).
#include <ctime>
#include <string>
#include <utility>
#include <vector>

#include "absl/status/status.h"
#include "absl/status/statusor.h"
#include "absl/time/time.h"
#include "gmock/gmock.h"
#include "gtest/gtest.h"
#include "understudy/actors/actor.h"
#include "understudy/actors/error.h"
#include "understudy/actors/testing/actor_test.h"
#include "understudy/tests/actors/script.h"

namespace understudy {
namespace {

using ::testing::ElementsAre;
using ::testing::IsEmpty;

using Oracle = Call<int, int>;

// Never answers, because its mailbox is closed.
class Closed final : public Actor {
 public:
  Mailbox<"ask", Oracle> ask{this};
  StartResult Start() override {
    return Behavior("closed", After(absl::InfiniteDuration(), [] {}));
  }
};

// Never answers either, and has room for many calls.
class Crowded final : public Actor {
 public:
  Mailbox<"ask", Oracle> ask{this, {.capacity_messages = 100'000}};
  StartResult Start() override {
    return Behavior("crowded", After(absl::InfiniteDuration(), [] {}));
  }
};

// Keeps the newest two calls, and answers none.
class Newest final : public Actor {
 public:
  Mailbox<"ask", Oracle> ask{this, {.capacity_messages = 2, .overflow = Overflow::kDropOldest}};
  StartResult Start() override {
    return Behavior("newest", After(absl::InfiniteDuration(), [] {}));
  }
};

// Forwards each ask to `next_` by asks of its own (`times_` of them at once), and notes the answers.
class Relay final : public Actor {
 public:
  Mailbox<"ask", Oracle> ask{this, {.capacity_messages = 100'000}};
  Mailbox<"own", int> own{this};
  Relay(Channel<Oracle> next, int times, std::vector<std::string>* notes) : next_(next), times_(times), notes_(notes) {}
  StartResult Start() override { return relaying_; }

 private:
  Task<absl::StatusOr<int>> Answer(const int& n) {
    std::vector<Pending<int>> asked;
    for (int i = 0; i < times_; ++i) asked.push_back(next_.Ask(n, absl::Hours(1)));
    absl::StatusOr<int> answer = absl::UnknownError("none");
    for (const Pending<int>& one : asked) {
      answer = co_await one;
      notes_->push_back(std::string(absl::StatusCodeToString(answer.status().code())));
    }
    co_return answer;
  }
  // Asks outside of any call.
  Task<> Own(int n) {
    auto asked = next_.Ask(n, absl::Hours(1));
    (void)co_await asked;
    notes_->push_back("own");
  }

  const Channel<Oracle> next_;
  const int times_;
  std::vector<std::string>* const notes_;
  Behavior relaying_{"relaying", On(ask, &Relay::Answer).Interleaved(), On(own, &Relay::Own).Interleaved()};
};

class CancellationTest : public ActorTest {
 protected:
  // Asks `relay`, and gives the call up after a second when it is to; else waits for it.
  void AskFrom(Ref<Script> asker, Ref<Relay> relay, bool gives_up) {
    RunTask(asker, [this, relay, gives_up](Script&) -> Task<> {
      auto asked = relay[&Relay::ask].Ask(1, absl::Hours(1));
      if (gives_up) {
        auto second = closed_[&Closed::ask].Ask(1, absl::Seconds(1));
        (void)co_await second;
        asked.Cancel();
      }
      (void)co_await asked;
    });
    system().RunUntilIdle();
  }

  // Makes `asker` ask for many answers and await one. Returns the time that this takes.
  std::clock_t AskFor(int calls, Ref<Script> asker, Channel<Oracle> callee) {
    RunTask(asker, [calls, callee](Script&) -> Task<> {
      std::vector<Pending<int>> asked;
      for (int i = 0; i < calls; ++i) asked.push_back(callee.Ask(i, absl::Hours(1)));
      (void)co_await asked.front();
    });
    return RunTimed();
  }
  std::clock_t RunTimed() {
    const std::clock_t began = std::clock();
    system().RunUntilIdle();
    return std::clock() - began;
  }

  std::vector<std::string> notes_;
  Ref<Closed> closed_ = system().Spawn<Closed>();
  Ref<Relay> last_ = system().Spawn<Relay>(closed_[&Closed::ask], 1, &notes_);
  Ref<Relay> first_ = system().Spawn<Relay>(last_[&Relay::ask], 1, &notes_);
  Ref<Relay> double_ = system().Spawn<Relay>(closed_[&Closed::ask], 2, &notes_);
  Ref<Script> asker_ = system().Spawn<Script>();
};

TEST_F(CancellationTest, GoesOnToTheCallsThatAreMadeForACall) {
  AskFrom(asker_, first_, /*gives_up=*/true);
  EXPECT_EQ(Ledger().waiting, 5) << "two in hand, one at the end of them; the asker's own, and its task";
  system().Advance(absl::Seconds(1));
  EXPECT_THAT(notes_, ElementsAre("CANCELLED", "CANCELLED"));
  EXPECT_EQ(Ledger().waiting, 0);
}

TEST_F(CancellationTest, GoesOnWhenTheAskerEnds) {
  AskFrom(asker_, first_, /*gives_up=*/false);
  system().Kill(asker_.pid());
  system().RunUntilIdle();
  EXPECT_THAT(notes_, ElementsAre("CANCELLED", "CANCELLED"));
  EXPECT_EQ(Ledger().waiting, 0);
}

TEST_F(CancellationTest, OfManyCallsAtOnceTakesOneWalk) {
  constexpr int kCalls = 10'000;
  const Ref<Crowded> crowded = system().Spawn<Crowded>();
  const Ref<Script> askers[] = {system().Spawn<Script>(), system().Spawn<Script>()};
  std::clock_t asking = 0;
  for (const Ref<Script> asker : askers) asking += AskFor(kCalls, asker, crowded[&Crowded::ask]);
  EXPECT_EQ(Ledger().waiting, 2 * kCalls + 2) << "with the tasks";
  system().Kill(askers[1].pid());  // whose calls are behind all of the other's
  EXPECT_LT(RunTimed(), 3 * asking) << "a walk for each would be 10^8 steps";
  EXPECT_EQ(Ledger().waiting, kCalls + 1);
  system().Kill(askers[0].pid());
  system().RunUntilIdle();
  EXPECT_EQ(Ledger().waiting, 0);
}

TEST_F(CancellationTest, OfManyCallsInHandTakesOneWalkThroughTheAsksForThem) {
  constexpr int kCalls = 60'000;
  const Ref<Crowded> crowded = system().Spawn<Crowded>();
  const Ref<Relay> relay = system().Spawn<Relay>(crowded[&Crowded::ask], 1, &notes_);
  system().RunUntilIdle();
  const std::clock_t asking = AskFor(kCalls, asker_, relay[&Relay::ask]);
  EXPECT_EQ(Ledger().waiting, 2 * kCalls + 1) << "with the task";
  system().Kill(asker_.pid());
  EXPECT_LT(RunTimed(), 2 * asking) << "a walk for each would be 3 * 10^9 steps";
  EXPECT_EQ(Ledger().waiting, 0);
  EXPECT_EQ(notes_.size(), kCalls);
}

TEST_F(CancellationTest, MakesRoomBeforeALaterCallDropsTheOldest) {
  for (const int later : {1, 2}) {
    const int64_t dropped = Ledger().of(Disposition::kDropped);
    const Ref<Newest> newest = system().Spawn<Newest>();
    RunTask(system().Spawn<Script>(), [newest, later](Script& self) -> Task<> {
      const Channel<Oracle> channel = newest[&Newest::ask];
      const Pending<int> oldest = channel.Ask(1, absl::Hours(1));
      const Pending<int> second = channel.Ask(2, absl::Hours(1));
      auto pause = self.context().Sleep(absl::Seconds(1));
      (void)co_await pause;  // both are in the mailbox
      second.Cancel();
      for (int i = 0; i < later; ++i) (void)channel.Ask(3 + i, absl::Hours(1));
      (void)co_await oldest;
    });
    system().Advance(absl::Seconds(1));
    EXPECT_EQ(Ledger().of(Disposition::kDropped) - dropped, later - 1);
  }
  EXPECT_EQ(Ledger().of(Disposition::kCancelled), 2);
}

TEST_F(CancellationTest, ReachesWhatIsNotAwaitedYetToo) {
  AskFrom(asker_, double_, /*gives_up=*/false);
  system().Kill(asker_.pid());
  system().RunUntilIdle();
  EXPECT_THAT(notes_, ElementsAre("CANCELLED", "CANCELLED"));
  EXPECT_EQ(Ledger().waiting, 0);
}

TEST_F(CancellationTest, LeavesWhatTheSameActorAskedForOthers) {
  const Ref<Script> other = system().Spawn<Script>();
  AskFrom(other, last_, /*gives_up=*/false);
  last_[&Relay::own].Tell(1);
  AskFrom(asker_, last_, /*gives_up=*/false);
  system().Kill(asker_.pid());
  system().RunUntilIdle();
  EXPECT_THAT(notes_, ElementsAre("CANCELLED"));
  notes_.clear();
  system().Kill(other.pid());
  system().RunUntilIdle();
  EXPECT_THAT(notes_, ElementsAre("CANCELLED"));
}

TEST_F(CancellationTest, AtItsDeadlineWhatWasAskedForItExpires) {
  RunTask(asker_, [this](Script&) -> Task<> {
    auto asked = first_[&Relay::ask].Ask(1, absl::Seconds(1));
    (void)co_await asked;
  });
  system().Advance(absl::Milliseconds(999));
  EXPECT_THAT(notes_, IsEmpty());
  system().Advance(absl::Milliseconds(1));
  EXPECT_THAT(notes_, ElementsAre("DEADLINE_EXCEEDED", "DEADLINE_EXCEEDED"));
  EXPECT_EQ(Ledger().waiting, 0);
}

TEST_F(CancellationTest, ManyAsksInARowForOneCallAreAllAnswered) {
  // An answerer that answers at once, asked again and again in one handler.
  class Asking final : public Actor {
   public:
    Mailbox<"ask", Oracle> ask{this};
    explicit Asking(Channel<Oracle> next) : next_(next) {}
    StartResult Start() override { return Behavior("asking", On(ask, &Asking::Answer)); }

   private:
    Task<int> Answer(const int& n) {
      int sum = 0;
      for (int i = 0; i < n; ++i) {
        auto asked = next_.Ask(i, absl::Hours(1));
        const absl::StatusOr<int> answer = co_await asked;
        sum += answer.value_or(0);
      }
      co_return sum;
    }
    const Channel<Oracle> next_;
  };
  class Echo final : public Actor {
   public:
    Mailbox<"ask", Oracle> ask{this};
    StartResult Start() override {
      return Behavior("echo", On(ask, [](int n) { return n; }));
    }
  };
  const Ref<Echo> echo = system().Spawn<Echo>();
  const Ref<Asking> asking = system().Spawn<Asking>(echo[&Echo::ask]);
  EXPECT_EQ(*Ask(asking[&Asking::ask], 1000), 1000 * 999 / 2);
}

// The asker has ended, so every answer to it is late.
class LateReplyTest : public CancellationTest {
 protected:
  // Returns the Replier of a call of `asker_`, with which a test answers after the asker has ended, or just before.
  Replier<int> Asked() {
    std::vector<Replier<int>> repliers;
    RunTask(asker_, [this](Script&) -> Task<> {
      auto asked = answerer_[&Script::ask].Ask(1, absl::Hours(1));
      (void)co_await asked;
    });
    system().RunUntilIdle();
    Do(answerer_, [&](Script& self) { repliers = std::exchange(self.repliers, {}); });
    system().RunUntilIdle();
    return std::move(repliers.back());
  }
  Ref<Script> answerer_ = system().Spawn<Script>();
};

TEST_F(LateReplyTest, IsCountedWhenItsAskerHasEnded) {
  Replier<int> replier = Asked();
  EXPECT_TRUE(replier.is_open());
  system().Kill(asker_.pid());
  system().RunUntilIdle();
  EXPECT_EQ(system().late_replies(), 0);
  replier.Reply(1);
  system().RunUntilIdle();
  EXPECT_EQ(system().late_replies(), 1);
}

TEST_F(LateReplyTest, AnErrorTooAndWhatIsForgotten) {
  for (int64_t late = 0; late < 2; ++late) {
    asker_ = system().Spawn<Script>();
    Replier<int> replier = Asked();
    system().Kill(asker_.pid());
    system().RunUntilIdle();
    if (late == 0) {
      replier.Reply(absl::DataLossError("late"));
    } else {
      Replier<int> forgotten = std::move(replier);
    }
    system().RunUntilIdle();
    EXPECT_EQ(system().late_replies(), late + 1);
  }
}

TEST_F(LateReplyTest, IsCountedWhenItComesWithItsAskersEnd) {
  Replier<int> replier = Asked();
  system().Kill(asker_.pid());
  replier.Reply(1);  // behind the kill, which it finds first
  system().RunUntilIdle();
  EXPECT_EQ(system().late_replies(), 1);
}

TEST_F(LateReplyTest, OfAPlainThreadWhoseTimeWasOverIsCounted) {
  EXPECT_TRUE(IsExpired(Ask(answerer_[&Script::ask], 1, absl::Seconds(1)).status()));
  Do(answerer_, [](Script& self) { self.repliers.back().Reply(1); });
  system().RunUntilIdle();
  EXPECT_EQ(system().late_replies(), 1);
}

TEST_F(LateReplyTest, OfAHandlerThatReturnsItIsCounted) {
  // The asker has ended when the call is in hand already.
  AskFrom(asker_, last_, /*gives_up=*/false);
  system().Kill(asker_.pid());
  system().RunUntilIdle();
  EXPECT_THAT(notes_, ElementsAre("CANCELLED"));
  EXPECT_EQ(system().late_replies(), 1);
}

}  // namespace
}  // namespace understudy
