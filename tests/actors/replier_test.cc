// A call whose Replier was moved out of its handler is answered by the Replier, or by the end of the actor that holds
// the Replier (semantics 4.2).
#include "understudy/actors/replier.h"

#include <cstdint>
#include <functional>
#include <memory>
#include <string>
#include <utility>
#include <vector>

#include "absl/status/status.h"
#include "absl/status/statusor.h"
#include "absl/time/time.h"
#include "absl/types/optional.h"
#include "gmock/gmock.h"
#include "gtest/gtest.h"
#include "understudy/actors/actor.h"
#include "understudy/actors/random.h"
#include "understudy/actors/test_system.h"
#include "understudy/actors/testing/actor_test.h"
#include "understudy/actors/testing/seeds.h"

namespace understudy {
namespace {

using Oracle = Call<int, int>;

// A call on its way, and where it is still to go.
struct Parcel {
  Replier<int> replier;
  std::vector<Channel<Parcel>> route;
};

// What a bearer does with a parcel at the end of its route.
enum class Last { kAnswers, kKeeps, kKeepsInTask, kKeepsInTimer, kForgets };

// Passes parcels on along its route; at the end of the route it does with them what `last` says.
class Bearer final : public Actor {
 public:
  Mailbox<"ask", Oracle> ask{this};
  Mailbox<"parcel", Parcel> parcel{this};
  Mailbox<"closed", Parcel> closed{this};
  Mailbox<"never", Call<int, int>> never{this};
  Bearer(Last last, std::vector<Channel<Parcel>> route) : last_(last), route_(std::move(route)) {}
  StartResult Start() override { return open_; }

 private:
  Task<> Ask(int, Replier<int> replier) {
    auto passing = Pass({std::move(replier), route_});
    co_await passing;
  }
  Task<> Pass(Parcel passed) {
    if (!passed.route.empty()) {
      const Channel<Parcel> next = passed.route.front();
      passed.route.erase(passed.route.begin());
      next.Tell(std::move(passed));
      co_return;
    }
    switch (last_) {
      case Last::kAnswers:
        passed.replier.Reply(1);
        break;
      case Last::kKeeps:
        kept_.push_back(std::move(passed));
        break;
      case Last::kKeepsInTask: {
        const Ref<Bearer> self(context().Self());
        auto asked = self[&Bearer::never].Ask(1, absl::Hours(2));
        (void)co_await asked;
        break;
      }
      case Last::kKeepsInTimer: {
        auto held = std::make_shared<Parcel>(std::move(passed));
        (void)context().StartTimer("keep", absl::Hours(2), [held] { held->replier.Reply(2); });
        break;
      }
      case Last::kForgets:
        break;
    }
  }
  Last last_;
  std::vector<Channel<Parcel>> route_;
  std::vector<Parcel> kept_;
  Behavior open_{"open", On(ask, &Bearer::Ask), On(parcel, &Bearer::Pass)};
};

class Asker final : public Actor {
 public:
  Asker(Channel<Oracle> to, absl::optional<absl::StatusOr<int>>* answer) : to_(to), answer_(answer) {}
  StartResult Start() override { return Body(); }

 private:
  Task<> Body() {
    auto asked = to_.Ask(1, absl::Hours(1));
    absl::StatusOr<int> answer = co_await asked;
    *answer_ = std::move(answer);
  }
  Channel<Oracle> to_;
  absl::optional<absl::StatusOr<int>>* answer_;
};

class ReplierTest : public ActorTest {
 protected:
  // The answer that `first` gives when `dies` is killed after all has come to rest.
  absl::StatusOr<int> AnswerWhenKilled(Ref<Bearer> first, Pid dies, const ExitReason* exit = nullptr) {
    absl::optional<absl::StatusOr<int>> answer;
    const MonotonicTime before = system().Now();
    system().Spawn<Asker>(first[&Bearer::ask], &answer);
    system().RunUntilIdle();
    EXPECT_FALSE(answer.has_value()) << answer->status();
    exit == nullptr ? system().Kill(dies) : system().Exit(dies, *exit);
    system().RunUntilIdle();
    EXPECT_TRUE(answer.has_value()) << "at once";
    EXPECT_EQ(system().Now(), before);
    return answer.value_or(absl::InternalError("none"));
  }
};

TEST_F(ReplierTest, TheEndOfItsHolderAnswersItWhereverTheHolderKeepsIt) {
  // semantics 4.2
  for (const Last last : {Last::kKeeps, Last::kKeepsInTask, Last::kKeepsInTimer}) {
    for (const bool is_killed : {true, false}) {
      Ref<Bearer> holder = system().Spawn<Bearer>(last, std::vector<Channel<Parcel>>());
      Ref<Bearer> between = system().Spawn<Bearer>(last, std::vector<Channel<Parcel>>());
      Ref<Bearer> callee =
          system().Spawn<Bearer>(last, std::vector<Channel<Parcel>>{between[&Bearer::parcel], holder[&Bearer::parcel]});
      system().RunUntilIdle();
      const ExitReason reason = ExitReason::Failed(absl::DataLossError("holder"));
      absl::StatusOr<int> answer = AnswerWhenKilled(callee, holder.pid(), is_killed ? nullptr : &reason);
      EXPECT_EQ(ExitReasonOf(answer.status()), is_killed ? ExitReason::Killed() : reason) << answer.status();
    }
  }
}

TEST_F(ReplierTest, InAMailboxOfAnActorThatEndsItAnswersItsReason) {
  Ref<Bearer> holder = system().Spawn<Bearer>(Last::kKeeps, std::vector<Channel<Parcel>>());
  Ref<Bearer> callee = system().Spawn<Bearer>(Last::kKeeps, std::vector<Channel<Parcel>>{holder[&Bearer::closed]});
  EXPECT_EQ(ExitReasonOf(AnswerWhenKilled(callee, holder.pid()).status()), ExitReason::Killed());
  EXPECT_EQ(dead_letters().size(), 1U);
}

TEST_F(ReplierTest, TheEndOfAFormerHolderDoesNotAnswerIt) {
  Ref<Bearer> holder = system().Spawn<Bearer>(Last::kKeeps, std::vector<Channel<Parcel>>());
  Ref<Bearer> callee = system().Spawn<Bearer>(Last::kKeeps, std::vector<Channel<Parcel>>{holder[&Bearer::parcel]});
  absl::optional<absl::StatusOr<int>> answer;
  system().Spawn<Asker>(callee[&Bearer::ask], &answer);
  system().RunUntilIdle();
  system().Kill(callee.pid());
  system().RunUntilIdle();
  EXPECT_FALSE(answer.has_value());
  system().Kill(holder.pid());
  system().RunUntilIdle();
  EXPECT_TRUE(answer.has_value());
}

TEST(ReplierLifetimeTest, OutlivesItsSystemHarmlessly) {
  class Giver final : public Actor {
   public:
    Mailbox<"ask", Call<int, int>> ask{this};
    explicit Giver(std::vector<Replier<int>>* given) : given_(given) {}
    StartResult Start() override { return open_; }

   private:
    void Give(const int&, Replier<int> replier) { given_->push_back(std::move(replier)); }
    std::vector<Replier<int>>* const given_;
    Behavior open_{"open", On(ask, &Giver::Give)};
  };
  std::vector<Replier<int>> given;
  {
    TestSystem system;
    Ref<Giver> giver = system.Spawn<Giver>(&given);
    for (int i = 0; i < 2; ++i) (void)system.Ask(giver[&Giver::ask], i, absl::Seconds(1));
  }
  ASSERT_EQ(given.size(), 2U);
  Replier<int> moved = std::move(given[0]);
  moved.Reply(1);
  EXPECT_FALSE(moved.is_open());
  given.clear();  // unanswered
}

TEST_F(ReplierTest, ForWhoNeverStartsItAnswersWhy) {
  class Failing final : public Actor {
   public:
    Mailbox<"parcel", Parcel> parcel{this};
    StartResult Start() override { return absl::DataLossError("no start"); }
  };
  // Told before it runs, and its start fails.
  absl::optional<absl::StatusOr<int>> answer;
  class Maker final : public Actor {
   public:
    Mailbox<"ask", Oracle> ask{this};
    StartResult Start() override { return open_; }

   private:
    void Ask(int, Replier<int> replier) {
      Ref<Failing> failing = context().Spawn<Failing>(SpawnOptions{.link = SpawnLink::kUnlinked});
      failing[&Failing::parcel].Tell({std::move(replier), {}});
    }
    Behavior open_{"open", On(ask, &Maker::Ask)};
  };
  system().Spawn<Asker>(system().Spawn<Maker>()[&Maker::ask], &answer);
  system().RunUntilIdle();
  ASSERT_TRUE(answer.has_value());
  EXPECT_EQ(ExitReasonOf(answer->status()), ExitReason::Failed(absl::DataLossError("no start"))) << answer->status();
}

TEST_F(ReplierTest, AnActorThatIsMadeWithItAnswersWithItsEnd) {
  class Owner final : public Actor {
   public:
    explicit Owner(Replier<int> replier) : replier_(std::move(replier)) {}
    StartResult Start() override { return absl::DataLossError("no start"); }

   private:
    Replier<int> replier_;
  };
  class Maker final : public Actor {
   public:
    Mailbox<"ask", Oracle> ask{this};
    StartResult Start() override { return open_; }

   private:
    void Ask(int, Replier<int> replier) {
      context().Spawn<Owner>(SpawnOptions{.link = SpawnLink::kUnlinked}, std::move(replier));
    }
    Behavior open_{"open", On(ask, &Maker::Ask)};
  };
  absl::optional<absl::StatusOr<int>> answer;
  system().Spawn<Asker>(system().Spawn<Maker>()[&Maker::ask], &answer);
  system().RunUntilIdle();
  ASSERT_TRUE(answer.has_value());
  EXPECT_EQ(ExitReasonOf(answer->status()), ExitReason::Failed(absl::DataLossError("no start"))) << answer->status();
}

using Wrapped = std::unique_ptr<Replier<int>>;

// Keeps the Repliers of its calls, runs functions of a test, and answers late.
class Holder final : public Actor {
 public:
  Mailbox<"ask", Oracle> ask{this};
  Mailbox<"hold", Oracle> hold{this};
  Mailbox<"run", std::function<void()>> run{this};
  Mailbox<"pass", Channel<Parcel>> pass{this};
  Mailbox<"parcel", Parcel> parcel{this};
  Mailbox<"closed", Parcel> closed{this};
  Mailbox<"answer", int> answer{this};
  Mailbox<"wrap", Channel<Wrapped>> wrap{this};
  Mailbox<"wrapped", Wrapped> wrapped{this};
  Mailbox<"closed wrapped", Wrapped> closed_wrapped{this};
  explicit Holder(std::function<void()> holds) : holds_(std::move(holds)) {}
  StartResult Start() override { return open_; }

 private:
  void Hold(int, Replier<int> replier) {
    holds_();
    if (replier.is_open()) replier.Reply(1);
  }
  void Pass(Channel<Parcel> to) {
    Parcel passed{std::move(kept_.back()), {}};
    kept_.pop_back();
    // A refused message is its sender's again.
    if (!to.Send(std::move(passed)).ok()) {
      kept_.push_back(std::move(passed.replier));  // NOLINT(bugprone-use-after-move)
    }
  }
  void Wrap(Channel<Wrapped> to) {
    to.Tell(std::make_unique<Replier<int>>(std::move(kept_.back())));
    kept_.pop_back();
  }
  void Answer(int value) {
    for (Replier<int>& replier : kept_) replier.Reply(value);
    kept_.clear();
  }
  const std::function<void()> holds_;
  std::vector<Replier<int>> kept_;
  Behavior open_{"open",
                 On(ask, [this](int, Replier<int> replier) { kept_.push_back(std::move(replier)); }),
                 On(hold, &Holder::Hold),
                 On(run, [](const std::function<void()>& what) { what(); }),
                 On(pass, &Holder::Pass),
                 On(parcel, [this](Parcel taken) { kept_.push_back(std::move(taken.replier)); }),
                 On(wrap, &Holder::Wrap),
                 On(wrapped, [this](Wrapped taken) { kept_.push_back(std::move(*taken)); }),
                 On(answer, &Holder::Answer)};
};

class FencedReplierTest : public ReplierTest {
 protected:
  Ref<Holder> NewHolder() {
    return system().Spawn<Holder>([this] { system().seeded_executor().HoldHere(absl::Hours(1)); });
  }
  // Asks, and notes when the answer comes.
  void AskOf(Channel<Oracle> to) {
    class TimedAsker final : public Actor {
     public:
      TimedAsker(Channel<Oracle> of, FencedReplierTest* test) : of_(of), test_(test) {}
      StartResult Start() override { return Body(); }

     private:
      Task<> Body() {
        auto asked = of_.Ask(1, absl::Hours(10));
        absl::StatusOr<int> answer = co_await asked;
        test_->answer_ = std::move(answer);
        test_->answered_ = test_->system().Now();
      }
      const Channel<Oracle> of_;
      FencedReplierTest* const test_;
    };
    system().Spawn<TimedAsker>(to, this);
    system().RunUntilIdle();
  }
  // A handler of `holder` does not return for an hour; it is killed after 10 ms.
  void FenceNow(Ref<Holder> holder) {
    begin_ = system().Now();
    system().seeded_executor().RunAt(begin_ + absl::Milliseconds(10), [this, holder] { system().Kill(holder.pid()); });
    holder[&Holder::run].Tell([this] { system().seeded_executor().HoldHere(absl::Hours(1)); });
    system().RunUntilIdle();
  }
  void ExpectAnsweredByTheFence() {
    EXPECT_EQ(ExitReasonOf(answer_.status()), ExitReason::KilledHandlerRunning()) << answer_.status();
    EXPECT_EQ(answered_ - begin_, absl::Milliseconds(110));
    EXPECT_EQ(system().late_replies(), 0) << "what is too late is dropped where it is made";
  }
  absl::StatusOr<int> answer_ = absl::UnknownError("none");
  MonotonicTime answered_;
  MonotonicTime begin_;
};

TEST_F(FencedReplierTest, TheCallInHandIsAnsweredByTheFenceThoughItsHandlerHasTheReplier) {
  // semantics 1.5, 5.11
  const Ref<Holder> holder = NewHolder();
  begin_ = system().Now();
  system().seeded_executor().RunAt(begin_ + absl::Milliseconds(10), [&] { system().Kill(holder.pid()); });
  AskOf(holder[&Holder::hold]);
  ExpectAnsweredByTheFence();
}

TEST_F(FencedReplierTest, FencingAnActorAnswersTheRepliersThatItKeeps) {
  const Ref<Holder> holder = NewHolder();
  AskOf(holder[&Holder::ask]);
  FenceNow(holder);
  ExpectAnsweredByTheFence();
}

TEST_F(FencedReplierTest, FencingItsPresentHolderAnswersAReplierThatCameInAMessage) {
  const Ref<Holder> first = NewHolder();
  const Ref<Holder> second = NewHolder();
  AskOf(first[&Holder::ask]);
  first[&Holder::pass].Tell(second[&Holder::parcel]);
  system().RunUntilIdle();
  FenceNow(second);
  ExpectAnsweredByTheFence();
}

TEST_F(FencedReplierTest, FencingTheReceiverAnswersAReplierInAWaitingMessage) {
  const Ref<Holder> first = NewHolder();
  const Ref<Holder> second = NewHolder();
  AskOf(first[&Holder::ask]);
  first[&Holder::pass].Tell(second[&Holder::closed]);
  system().RunUntilIdle();
  FenceNow(second);
  ExpectAnsweredByTheFence();
}

TEST_F(FencedReplierTest, FencingAFormerHolderDoesNotAnswerAReplierThatItSentOn) {
  const Ref<Holder> first = NewHolder();
  const Ref<Holder> second = NewHolder();
  AskOf(first[&Holder::ask]);
  first[&Holder::pass].Tell(second[&Holder::parcel]);
  system().RunUntilIdle();
  FenceNow(first);
  EXPECT_TRUE(absl::IsUnknown(answer_.status())) << answer_.status();
  second[&Holder::answer].Tell(7);
  system().RunUntilIdle();
  EXPECT_EQ(answer_.value_or(0), 7) << answer_.status();
}

TEST_F(FencedReplierTest, AReplierBehindAPointerBelongsToTheSenderUntilTheReceiverMovesIt) {
  const Ref<Holder> second = NewHolder();
  for (const bool is_moved : {false, true}) {
    answer_ = absl::UnknownError("none");
    const Ref<Holder> first = NewHolder();
    AskOf(first[&Holder::ask]);
    first[&Holder::wrap].Tell(is_moved ? second[&Holder::wrapped] : second[&Holder::closed_wrapped]);
    system().RunUntilIdle();
    FenceNow(first);
    if (!is_moved) {
      ExpectAnsweredByTheFence();
      continue;
    }
    EXPECT_TRUE(absl::IsUnknown(answer_.status())) << answer_.status();
    second[&Holder::answer].Tell(7);
    system().RunUntilIdle();
    EXPECT_EQ(answer_.value_or(0), 7) << answer_.status();
  }
}

TEST_F(FencedReplierTest, ACallIsHandledWhenItsHandlerHasCompletedWhateverItsReplierDoesLater) {
  const Ref<Holder> holder = NewHolder();
  AskOf(holder[&Holder::ask]);
  EXPECT_EQ(Ledger().of(Disposition::kHandled), 1);
  system().Kill(holder.pid());
  system().RunUntilIdle();
  EXPECT_TRUE(IsCalleeExited(answer_.status())) << answer_.status();
  EXPECT_EQ(Ledger().of(Disposition::kHandled), 1);
}

TEST_F(FencedReplierTest, AReplierInARefusedMessageBelongsToItsSenderAgain) {
  const Ref<Holder> first = NewHolder();
  const Ref<Holder> ended = NewHolder();
  system().Kill(ended.pid());
  system().RunUntilIdle();
  AskOf(first[&Holder::ask]);
  first[&Holder::pass].Tell(ended[&Holder::parcel]);
  system().RunUntilIdle();
  EXPECT_TRUE(absl::IsUnknown(answer_.status())) << answer_.status();
  FenceNow(first);
  ExpectAnsweredByTheFence();
}

// When an actor ends that has a call in its mailbox, in hand or in a Replier, the asker is told at once, before the
// deadline.
TEST(ReplierSeedsTest, EveryCallIsAnsweredWhoeverDiesWhenever) {
  int exited = 0;
  int answered = 0;
  ForEachSeed(1000, [&](uint64_t seed) {
    TestSystem system(seed);
    Random random(seed);
    std::vector<Ref<Bearer>> bearers;
    std::vector<Channel<Parcel>> channels;
    for (int i = 0; i < 4; ++i) {
      std::vector<Channel<Parcel>> route;
      for (uint64_t k = random.Below(4); k > 0 && !channels.empty(); --k) {
        route.push_back(channels[random.Below(channels.size())]);
      }
      bearers.push_back(system.Spawn<Bearer>(static_cast<Last>(random.Below(5)), std::move(route)));
      channels.push_back(random.Below(5) == 0 ? bearers.back()[&Bearer::closed] : bearers.back()[&Bearer::parcel]);
    }
    std::vector<absl::optional<absl::StatusOr<int>>> answers(4);
    for (auto& answer : answers) system.Spawn<Asker>(bearers[random.Below(4)][&Bearer::ask], &answer);
    const MonotonicTime before = system.Now();
    for (uint64_t steps = random.Below(30); steps > 0; --steps) (void)system.seeded_executor().RunOne();
    for (const Ref<Bearer>& bearer : bearers) {
      if (random.Below(2) == 0) system.Kill(bearer.pid());
    }
    system.RunUntilIdle();
    for (const Ref<Bearer>& bearer : bearers) system.Exit(bearer.pid(), ExitReason::Shutdown());
    system.RunUntilIdle();
    EXPECT_EQ(system.Now(), before);
    for (const auto& answer : answers) {
      ASSERT_TRUE(answer.has_value());
      if (answer->ok()) {
        ++answered;
        continue;
      }
      const absl::Status& why = answer->status();
      EXPECT_TRUE(IsCalleeExited(why) || IsUnanswered(why) || IsNoProcess(why) || IsStopping(why)) << why;
      if (IsCalleeExited(why)) ++exited;
    }
    ExpectNothingLost(system);
  });
  if (!SeedFromEnvironment()) {
    EXPECT_GT(exited, 500);
    EXPECT_GT(answered, 100);
  }
}

}  // namespace
}  // namespace understudy
