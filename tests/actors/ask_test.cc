// Asks: their deadlines, their cancellation, and the errors that an asker is told (semantics 4).
#include <functional>
#include <memory>
#include <string>
#include <type_traits>
#include <utility>
#include <vector>

#include "absl/status/status.h"
#include "absl/status/statusor.h"
#include "absl/time/time.h"
#include "gmock/gmock.h"
#include "gtest/gtest.h"
#include "understudy/actors/actor.h"
#include "understudy/actors/internal/turn/actor_core.h"
#include "understudy/actors/limits.h"
#include "understudy/actors/testing/actor_test.h"
#include "understudy/actors/testing/probe.h"

namespace understudy {
namespace {

using ::testing::ElementsAre;
using ::testing::HasSubstr;

using Oracle = Call<int, int>;
using OracleProbe = Probe<Oracle>;
using Text = std::string;

// Runs a test's coroutine in its own turns.
class Script final : public Actor {
 public:
  using Body = std::function<Task<>(Context&)>;
  Mailbox<"run", Body> run{this};
  StartResult Start() override { return running_; }

 private:
  Task<> Run(const Body& body) {
    auto done = body(context());
    co_await done;
  }
  Behavior running_{"running", On(run, &Script::Run).Interleaved()};
};

std::string Describe(const absl::StatusOr<int>& answer) {
  return answer.ok() ? std::to_string(*answer) : answer.status().ToString(absl::StatusToStringMode::kWithNoExtraData);
}

class AskTest : public ActorTest {
 protected:
  void Run(Script::Body body) { script_[&Script::run].Tell(std::move(body)); }
  // Asks `channel` and notes the answer.
  void AskAndNote(Channel<Oracle> channel, int question, absl::Duration timeout) {
    Run([this, channel, question, timeout](Context&) -> Task<> {
      auto asked = channel.Ask(question, timeout);
      absl::StatusOr<int> answer = co_await asked;
      notes_.push_back(Describe(answer));
      last_ = answer.status();
    });
    system().RunUntilIdle();
  }
  void NoteAsksUnderWay() {
    Run([this](Context&) -> Task<> {
      notes_.push_back(std::to_string(internal::ActorCore::OfThisTurn().parts().asks().size()));
      co_return;
    });
    system().RunUntilIdle();
  }

  Ref<Script> script_ = system().Spawn<Script>();
  OracleProbe oracle_{system()};
  std::vector<Text> notes_;
  absl::Status last_;
};

TEST_F(AskTest, AnAnswerComesBack) {
  AskAndNote(oracle_.channel(), 6, absl::Seconds(1));
  auto asked = oracle_.Receive();
  EXPECT_EQ(asked->request, 6);
  asked->replier.Reply(42);
  EXPECT_FALSE(asked->replier.is_open());
  system().RunUntilIdle();
  EXPECT_THAT(notes_, ElementsAre("42"));
}

TEST_F(AskTest, ExpiresAtItsDeadlineAndALateReplyIsDropped) {
  // semantics 4.3
  AskAndNote(oracle_.channel(), 6, absl::Seconds(1));
  auto asked = oracle_.Receive();
  system().Advance(absl::Milliseconds(999));
  EXPECT_TRUE(notes_.empty());
  system().Advance(absl::Milliseconds(1));
  EXPECT_TRUE(IsExpired(last_)) << last_;
  asked->replier.Reply(42);
  system().RunUntilIdle();
  EXPECT_EQ(notes_.size(), 1U);
}

TEST_F(AskTest, ACallThatWaitsIsTakenBackWhenItExpires) {
  // The mailbox `ask` is never open.
  class Closed final : public Actor {
   public:
    Mailbox<"ask", Oracle> ask{this, {.capacity_messages = 1}};
    StartResult Start() override {
      return Behavior("closed", After(absl::InfiniteDuration(), [] {}));
    }
  };
  Ref<Closed> closed = system().Spawn<Closed>();
  AskAndNote(closed[&Closed::ask], 1, absl::Seconds(1));
  EXPECT_EQ(Ledger().waiting, 2) << "the call, and the tell whose handler awaits";
  AskAndNote(closed[&Closed::ask], 2, absl::Seconds(1));
  EXPECT_TRUE(IsFull(last_)) << last_;
  system().Advance(absl::Seconds(1));
  EXPECT_TRUE(IsExpired(last_)) << last_;
  system().RunUntilIdle();
  EXPECT_EQ(Ledger().waiting, 0);
  EXPECT_EQ(Ledger().of(Disposition::kExpired), 1);
  AskAndNote(closed[&Closed::ask], 3, absl::Seconds(1));
  EXPECT_EQ(notes_.size(), 2U) << "there is room again";
  system().Advance(absl::Seconds(1));
}

// Passes a call on with a generous deadline of its own.
class Middle final : public Actor {
 public:
  Mailbox<"ask", Oracle> ask{this};
  explicit Middle(Channel<Oracle> oracle) : oracle_(oracle) {}
  StartResult Start() override { return passing_; }

 private:
  Task<absl::StatusOr<int>> Pass(const int& question) {
    auto asked = oracle_.Ask(question, absl::Hours(1));
    absl::StatusOr<int> answer = co_await asked;
    co_return answer;
  }
  Channel<Oracle> oracle_;
  Behavior passing_{"passing", On(ask, &Middle::Pass)};
};

TEST_F(AskTest, InheritsTheSmallerDeadlineOfTheCallInHand) {
  // semantics 4.3
  Ref<Middle> inner = system().Spawn<Middle>(oracle_.channel());
  Ref<Middle> outer = system().Spawn<Middle>(inner[&Middle::ask]);
  AskAndNote(outer[&Middle::ask], 1, absl::Seconds(2));
  auto asked = oracle_.Receive();
  system().Advance(absl::Seconds(2));
  EXPECT_THAT(notes_, ElementsAre(HasSubstr("Expired")));
  system().RunUntilIdle();
  // Both are free again: their own asks ended with the caller's.
  AskAndNote(outer[&Middle::ask], 2, absl::Seconds(2));
  asked = oracle_.Receive();
  ASSERT_TRUE(asked.has_value());
  EXPECT_EQ(asked->request, 2);
  system().Advance(absl::Seconds(2));
}

TEST_F(AskTest, CancelAnswersTheAskerAndTakesTheCallBack) {
  // semantics 4.1
  class Closed final : public Actor {
   public:
    Mailbox<"ask", Oracle> ask{this};
    StartResult Start() override {
      return Behavior("closed", After(absl::InfiniteDuration(), [] {}));
    }
  };
  Ref<Closed> closed = system().Spawn<Closed>();
  Run([this, closed](Context&) -> Task<> {
    auto asked = closed[&Closed::ask].Ask(1, absl::Hours(1));
    asked.Cancel();
    absl::StatusOr<int> answer = co_await asked;
    last_ = answer.status();
  });
  system().RunUntilIdle();
  EXPECT_TRUE(understudy::IsCancelled(last_)) << last_;
  EXPECT_EQ(Ledger().of(Disposition::kCancelled), 1);
  EXPECT_EQ(Ledger().waiting, 0);
}

TEST_F(AskTest, TheAskersDeathCancelsItsCalls) {
  // semantics 4.1
  class Closed final : public Actor {
   public:
    Mailbox<"ask", Oracle> ask{this};
    StartResult Start() override {
      return Behavior("closed", After(absl::InfiniteDuration(), [] {}));
    }
  };
  Ref<Closed> closed = system().Spawn<Closed>();
  AskAndNote(closed[&Closed::ask], 1, absl::Hours(1));
  system().Kill(script_.pid());
  system().RunUntilIdle();
  EXPECT_EQ(Ledger().of(Disposition::kCancelled), 1);
  EXPECT_EQ(Ledger().of(Disposition::kFailed), 1) << "the message whose handler awaited";
  EXPECT_EQ(Ledger().waiting, 0);
}

TEST_F(AskTest, TheCalleesDeathIsKnownAtOnceWithItsReason) {
  // semantics 1.5, 4.1: a call that waits, and one in hand
  Ref<Middle> middle = system().Spawn<Middle>(oracle_.channel());
  AskAndNote(middle[&Middle::ask], 1, absl::Hours(1));
  AskAndNote(middle[&Middle::ask], 2, absl::Hours(1));
  const MonotonicTime before = system().Now();
  system().Exit(middle.pid(), ExitReason::Failed(absl::DataLossError("disk")));
  system().RunUntilIdle();
  EXPECT_EQ(system().Now(), before);
  EXPECT_EQ(notes_.size(), 2U);
  EXPECT_TRUE(IsCalleeExited(last_)) << last_;
  EXPECT_EQ(*ExitReasonOf(last_), ExitReason::Failed(absl::DataLossError("disk")));
  EXPECT_EQ(Ledger().of(Disposition::kFailed), 1);
  EXPECT_EQ(Ledger().of(Disposition::kDeadLetter), 1);
}

TEST_F(AskTest, AnAskThatIsNeverAwaitedIsForgottenAtItsDeadline) {
  Run([this](Context&) -> Task<> {
    (void)oracle_.channel().Ask(1, absl::Seconds(1));
    co_return;
  });
  auto asked = oracle_.Receive();
  NoteAsksUnderWay();
  system().Advance(absl::Seconds(2));
  NoteAsksUnderWay();
  asked->replier.Reply(1);
  system().RunUntilIdle();
  EXPECT_THAT(notes_, ElementsAre("1", "0"));
  EXPECT_EQ(system().late_replies(), 1);
}

TEST_F(AskTest, AnAnswerThatIsAwaitedTooLateHasExpired) {
  Run([this](Context&) -> Task<> {
    auto first = oracle_.channel().Ask(1, absl::Seconds(1));
    auto second = oracle_.channel().Ask(2, absl::Seconds(5));
    (void)co_await second;
    absl::StatusOr<int> answer = co_await first;
    last_ = answer.status();
  });
  oracle_.Receive()->replier.Reply(1);
  auto second = oracle_.Receive();
  system().Advance(absl::Seconds(2));
  second->replier.Reply(2);
  system().RunUntilIdle();
  EXPECT_TRUE(IsExpired(last_)) << last_;
}

TEST_F(AskTest, BeyondItsLimitAnAskIsAnsweredFull) {
  // semantics 5.12
  absl::Status beyond;
  Run([&](Context&) -> Task<> {
    for (size_t i = 0; i < limits::kAsksPerActorMax; ++i) {
      (void)oracle_.channel().Ask(1, absl::Seconds(1));
    }
    auto asked = oracle_.channel().Ask(2, absl::Seconds(1));
    absl::StatusOr<int> answer = co_await asked;
    beyond = answer.status();
  });
  system().RunUntilIdle();
  EXPECT_TRUE(IsFull(beyond)) << beyond;
  system().Advance(absl::Seconds(2));
  (void)oracle_.ReceiveAll();
  AskAndNote(oracle_.channel(), 3, absl::Seconds(1));
  oracle_.Receive()->replier.Reply(3);
  system().RunUntilIdle();
  EXPECT_THAT(notes_, ElementsAre("3"));
}

// Repliers.

struct Handoff {
  Replier<int> replier;
};

// Hands each call's Replier to another actor, in a message.
class Clerk final : public Actor {
 public:
  Mailbox<"ask", Oracle> ask{this};
  explicit Clerk(Channel<Handoff> to) : to_(to) {}
  StartResult Start() override { return passing_; }

 private:
  void Pass(int question, Replier<int> replier) {
    if (question == 0) return;  // forgets it
    if (question < 0) held_.push_back(std::move(replier));
    if (question > 0) to_.Tell({std::move(replier)});
  }
  std::vector<Replier<int>> held_;
  Channel<Handoff> to_;
  Behavior passing_{"passing", On(ask, &Clerk::Pass)};
};

// Keeps every message that it gets until it ends.
class Keeper final : public Actor {
 public:
  Mailbox<"hand", Handoff> hand{this};
  StartResult Start() override { return keeping_; }

 private:
  void Keep(Handoff handed) { kept_.push_back(std::move(handed)); }
  std::vector<Handoff> kept_;
  Behavior keeping_{"keeping", On(hand, &Keeper::Keep)};
};

TEST_F(AskTest, AReplierAnswersFromWhereverItTravels) {
  Probe<Handoff> backroom(system());
  Ref<Clerk> clerk = system().Spawn<Clerk>(backroom.channel());
  AskAndNote(clerk[&Clerk::ask], 1, absl::Seconds(1));
  auto handed = backroom.Receive();
  system().Kill(clerk.pid());  // whose death is not the call's any more (semantics 4.2)
  system().RunUntilIdle();
  EXPECT_TRUE(notes_.empty());
  handed->replier.Reply(7);
  system().RunUntilIdle();
  EXPECT_THAT(notes_, ElementsAre("7"));
}

TEST_F(AskTest, AForgottenReplierAnswersUnanswered) {
  Ref<Clerk> clerk = system().Spawn<Clerk>(Channel<Handoff>());
  AskAndNote(clerk[&Clerk::ask], 0, absl::Hours(1));
  EXPECT_TRUE(IsUnanswered(last_)) << last_;
  EXPECT_EQ(Ledger().of(Disposition::kRejected), 1);
}

TEST_F(AskTest, ARepliersHolderThatEndsAnswersWithItsReason) {
  // semantics 4.2
  Ref<Keeper> keeper = system().Spawn<Keeper>();
  Ref<Clerk> clerk = system().Spawn<Clerk>(keeper[&Keeper::hand]);
  AskAndNote(clerk[&Clerk::ask], 1, absl::Hours(1));
  system().Exit(keeper.pid(), ExitReason::Failed(absl::AbortedError("keeper")));
  system().RunUntilIdle();
  EXPECT_EQ(ExitReasonOf(last_), ExitReason::Failed(absl::AbortedError("keeper"))) << last_;
  AskAndNote(clerk[&Clerk::ask], -1, absl::Hours(1));
  system().Kill(clerk.pid());
  system().RunUntilIdle();
  EXPECT_EQ(ExitReasonOf(last_), ExitReason::Killed()) << last_;
}

TEST_F(AskTest, AReplierInADeadLetterAnswers) {
  Ref<Clerk> clerk = system().Spawn<Clerk>(Channel<Handoff>());
  AskAndNote(clerk[&Clerk::ask], 1, absl::Hours(1));
  EXPECT_TRUE(IsUnanswered(last_)) << last_;

  class Closed final : public Actor {
   public:
    Mailbox<"hand", Handoff> hand{this};
    StartResult Start() override {
      return Behavior("closed", After(absl::InfiniteDuration(), [] {}));
    }
  };
  Ref<Closed> closed = system().Spawn<Closed>();
  Ref<Clerk> other = system().Spawn<Clerk>(closed[&Closed::hand]);
  AskAndNote(other[&Clerk::ask], 1, absl::Hours(1));
  system().Kill(closed.pid());
  system().RunUntilIdle();
  EXPECT_EQ(ExitReasonOf(last_), ExitReason::Killed()) << last_;
}

// A named timer's handler holds the Replier.
class Patient final : public Actor {
 public:
  Mailbox<"ask", Oracle> ask{this};
  StartResult Start() override { return waiting_; }

 private:
  absl::Status Wait(int, Replier<int> replier) {
    auto held = std::make_shared<Replier<int>>(std::move(replier));
    return context().StartTimer("answer", absl::Hours(1), [held] { held->Reply(1); });
  }
  Behavior waiting_{"waiting", On(ask, &Patient::Wait)};
};

TEST_F(AskTest, AReplierThatAHandlerHoldsAnswersWithItsActorsReason) {
  Ref<Patient> patient = system().Spawn<Patient>();
  AskAndNote(patient[&Patient::ask], 1, absl::Hours(2));
  system().Kill(patient.pid());
  system().RunUntilIdle();
  EXPECT_EQ(ExitReasonOf(last_), ExitReason::Killed()) << last_;
}

TEST_F(AskTest, AnUnansweredCallOfAFailedCoroutineGetsTheReason) {
  class Failing final : public Actor {
   public:
    Mailbox<"ask", Oracle> ask{this};
    StartResult Start() override { return failing_; }

   private:
    Task<> Answer(int, Replier<int> /*replier*/) {
      Fail(absl::DataLossError("in a task"));
      co_return;
    }
    Behavior failing_{"failing", On(ask, &Failing::Answer)};
  };
  Ref<Failing> failing = system().Spawn<Failing>();
  AskAndNote(failing[&Failing::ask], 1, absl::Hours(1));
  EXPECT_EQ(ExitReasonOf(last_), ExitReason::Failed(absl::DataLossError("in a task"))) << last_;
  EXPECT_EQ(Ledger().of(Disposition::kFailed), 1);
}

TEST_F(AskTest, AReplierAnswersOnce) {
  AskAndNote(oracle_.channel(), 1, absl::Seconds(1));
  auto asked = oracle_.Receive();
  asked->replier.Reply(1);
  EXPECT_DEATH(asked->replier.Reply(2), "a Replier answers once");
  system().RunUntilIdle();
}

TEST_F(AskTest, ALateReplyIsCounted) {
  AskAndNote(oracle_.channel(), 6, absl::Seconds(1));
  auto asked = oracle_.Receive();
  system().Advance(absl::Seconds(1));
  EXPECT_EQ(system().late_replies(), 0);
  asked->replier.Reply(42);
  system().RunUntilIdle();
  EXPECT_EQ(system().late_replies(), 1);
}

TEST_F(AskTest, ManyAsksInARowLeaveNothingBehind) {
  Run([this](Context&) -> Task<> {
    for (int i = 0; i < 1000; ++i) {
      auto asked = oracle_.channel().Ask(i, absl::Seconds(5));
      (void)co_await asked;
    }
  });
  for (int i = 0; i < 1000; ++i) {
    oracle_.Receive()->replier.Reply(i);
    system().Advance(absl::Milliseconds(1));
  }
  NoteAsksUnderWay();
  EXPECT_THAT(notes_, ElementsAre("0"));
}

TEST_F(AskTest, APendingIsTriviallyDestructible) {
  static_assert(std::is_trivially_destructible_v<Pending<int>> && std::is_trivially_copyable_v<Pending<int>>);
  static_assert(std::is_trivially_destructible_v<Pending<void>>);
}

using AskDeathTest = AskTest;

TEST_F(AskDeathTest, APendingIsAwaitedOnce) {
  // semantics 4.1
  EXPECT_DEATH(
      {
        Run([this](Context&) -> Task<> {
          auto asked = oracle_.channel().Ask(1, absl::Seconds(1));
          (void)co_await asked;
          (void)oracle_.channel().Ask(2, absl::Seconds(1));  // in the slot that is free again
          (void)co_await asked;
        });
        oracle_.Receive()->replier.Reply(1);
        system().RunUntilIdle();
      },
      "is awaited a second time; await each once");
  EXPECT_DEATH(
      {
        auto shared = std::make_shared<absl::optional<Pending<int>>>();
        Run([this, shared](Context&) -> Task<> {
          *shared = oracle_.channel().Ask(1, absl::Seconds(1));
          (void)co_await **shared;
        });
        Run([shared](Context&) -> Task<> { (void)co_await **shared; });
        system().RunUntilIdle();
      },
      "awaited by two coroutines");
}

TEST_F(AskDeathTest, APendingIsAwaitedByItsAskerOnly) {
  // semantics 4.1
  Ref<Script> other = system().Spawn<Script>();
  EXPECT_DEATH(
      {
        auto shared = std::make_shared<absl::optional<Pending<int>>>();
        Run([this, shared](Context&) -> Task<> {
          *shared = oracle_.channel().Ask(1, absl::Seconds(1));
          co_return;
        });
        system().RunUntilIdle();
        other[&Script::run].Tell([shared](Context&) -> Task<> { (void)co_await **shared; });
        system().RunUntilIdle();
      },
      "a Pending of <.*> is used by another actor or thread");
}

TEST(AskThreadDeathTest, AsksBelongToTurnsAndSystemAsksToThreads) {
  // semantics 4.4
  EXPECT_DEATH((void)Channel<Oracle>().Ask(1, absl::Seconds(1)), "Ask on a plain thread");
  EXPECT_DEATH(
      {
        TestSystem system;
        Ref<Script> script = system.Spawn<Script>();
        script[&Script::run].Tell([&](Context&) -> Task<> {
          (void)system.Ask(Channel<Oracle>(), 1, absl::Seconds(1));
          co_return;
        });
        system.RunUntilIdle();
      },
      "blocks its thread");
}

}  // namespace
}  // namespace understudy
