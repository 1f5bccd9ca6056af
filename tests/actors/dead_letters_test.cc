// Dead letters as a stream and in the log, and the errors of sends to actors that do not exist.
#include "understudy/actors/dead_letters.h"

#include <memory>
#include <string>
#include <utility>
#include <vector>

#include "absl/status/status.h"
#include "absl/strings/str_cat.h"
#include "absl/time/time.h"
#include "gmock/gmock.h"
#include "gtest/gtest.h"
#include "understudy/actors/actor.h"
#include "understudy/actors/actor_system.h"
#include "understudy/actors/error.h"
#include "understudy/actors/limits.h"
#include "understudy/actors/seeded_executor.h"
#include "understudy/actors/testing/actor_test.h"
#include "understudy/actors/testing/kept_log.h"
#include "understudy/actors/testing/probe.h"
#include "understudy/tests/actors/script.h"

namespace understudy {
namespace {

using ::testing::AllOf;
using ::testing::ElementsAre;
using ::testing::HasSubstr;
using ::testing::IsEmpty;
using ::testing::SizeIs;

class Nothing final : public Actor {
 public:
  Mailbox<"number", int> number{this};
  StartResult Start() override {
    return Behavior("closed", After(absl::InfiniteDuration(), [] {}));
  }
};

class DeadLettersTest : public ActorTest {
 protected:
  // A channel to an actor that has ended.
  Channel<int> ToTheDead() {
    Ref<Nothing> ended = system().Spawn<Nothing>();
    system().Kill(ended.pid());
    system().RunUntilIdle();
    return ended[&Nothing::number];
  }
};

TEST_F(DeadLettersTest, EachSaysReasonSenderReceiverMailboxAndType) {
  const Channel<int> dead = ToTheDead();
  Ref<Script> script = system().Spawn<Script>();
  Do(script, [dead](Script&) { dead.Tell(1); });
  system().RunUntilIdle();
  ASSERT_THAT(dead_letters(), SizeIs(1));
  EXPECT_EQ(dead_letters()[0].from, script.pid());
  EXPECT_EQ(dead_letters()[0].to, dead.pid());
  EXPECT_EQ(dead_letters()[0].ToString(),
            absl::StrCat("dead letter: int from ", script.pid().ToString(), " to number of ", dead.pid().ToString(),
                         ": NoProcess: that actor has ended; look its name up again"));
}

TEST_F(DeadLettersTest, AListenerHearsUntilItUnsubscribes) {
  const Channel<int> dead = ToTheDead();
  int heard = 0;
  const uint64_t id = system().SubscribeDeadLetters([&](const DeadLetter&) { ++heard; });
  dead.Tell(1);
  EXPECT_TRUE(system().UnsubscribeDeadLetters(id));
  EXPECT_FALSE(system().UnsubscribeDeadLetters(id));
  dead.Tell(2);
  EXPECT_EQ(heard, 1);
  EXPECT_THAT(dead_letters(), SizeIs(2)) << "others hear on";
  EXPECT_EQ(system().dead_letters(), 2);
}

TEST_F(DeadLettersTest, AnActorsMailboxMaySubscribe) {
  const Channel<int> dead = ToTheDead();
  Probe<DeadLetter> letters(system(), {.capacity_messages = 2});
  const uint64_t id = system().SubscribeDeadLetters(letters.channel());
  for (int i = 0; i < 3; ++i) dead.Tell(i);
  EXPECT_THAT(letters.ReceiveAll(), SizeIs(2)) << "what does not fit is not a dead letter again";
  EXPECT_TRUE(system().UnsubscribeDeadLetters(id));
  dead.Tell(1);
  letters.ExpectNothing();
}

TEST_F(DeadLettersTest, AMailboxHearsUntilItsActorEnds) {
  const Channel<int> dead = ToTheDead();
  Probe<DeadLetter> letters(system());
  const uint64_t id = system().SubscribeDeadLetters(letters.channel());
  dead.Tell(1);
  EXPECT_THAT(letters.ReceiveAll(), SizeIs(1));
  system().Kill(letters.pid());
  system().RunUntilIdle();
  dead.Tell(1);
  EXPECT_FALSE(system().UnsubscribeDeadLetters(id)) << "there is nobody to tell any more";
  EXPECT_THAT(dead_letters(), SizeIs(2)) << "others hear on";
}

TEST_F(DeadLettersTest, AListenerMayTellTheDeadAndNobodyHearsOfThat) {
  const Channel<int> dead = ToTheDead();
  int heard = 0;
  const uint64_t id = system().SubscribeDeadLetters([&](const DeadLetter&) {
    ++heard;
    dead.Tell(2);
  });
  Ref<Script> script = system().Spawn<Script>();
  Do(script, [dead](Script&) { dead.Tell(1); });
  system().RunUntilIdle();
  dead.Tell(1);
  EXPECT_EQ(heard, 2);
  EXPECT_EQ(system().dead_letters(), 4) << "they are counted";
  EXPECT_THAT(dead_letters(), SizeIs(2)) << "nor does another listener";
  EXPECT_TRUE(system().UnsubscribeDeadLetters(id));
}

TEST_F(DeadLettersTest, TheMailOfAnActorThatEndsBecomesDeadLettersWithItsReason) {
  Ref<Nothing> nothing = system().Spawn<Nothing>();
  nothing[&Nothing::number].Tell(5);
  system().Exit(nothing.pid(), ExitReason::Failed(absl::DataLossError("disk")));
  system().RunUntilIdle();
  ASSERT_THAT(dead_letters(), SizeIs(1));
  EXPECT_THAT(dead_letters()[0].ToString(),
              AllOf(HasSubstr("int from a plain thread to number of"), HasSubstr("disk")));
}

class DeadLetterLogTest : public ::testing::Test {
 protected:
  DeadLetterLogTest() {
    system_->Kill(ended_.pid());
    executor_.RunUntilIdle();
  }
  void Tell(int times) {
    for (int i = 0; i < times; ++i) ended_[&Nothing::number].Tell(i);
  }

  SeededExecutor executor_{1};
  KeptLog log_;
  std::unique_ptr<ActorSystem> system_ = std::make_unique<ActorSystem>(ActorSystemOptions{
      .executor = &executor_, .seed = 1, .log = &log_, .closed_mail_limit = absl::InfiniteDuration()});
  const Ref<Nothing> ended_ = system_->Spawn<Nothing>();
};

TEST_F(DeadLetterLogTest, LinesAreLimitedPerSecondAndWhatWasSuppressedIsCounted) {
  int heard = 0;
  system_->SubscribeDeadLetters([&](const DeadLetter&) { ++heard; });
  Tell(limits::kDeadLetterLinesPerSecond + 7);
  EXPECT_THAT(log_.lines(), SizeIs(limits::kDeadLetterLinesPerSecond));
  EXPECT_THAT(log_.lines()[0], HasSubstr("dead letter: int from a plain thread to number of"));
  executor_.Advance(absl::Milliseconds(999));
  Tell(1);
  EXPECT_THAT(log_.lines(), SizeIs(limits::kDeadLetterLinesPerSecond)) << "the second is not over";
  executor_.Advance(absl::Milliseconds(1));
  Tell(1);
  EXPECT_THAT(log_.lines(), SizeIs(limits::kDeadLetterLinesPerSecond + 2));
  EXPECT_EQ(log_.lines()[limits::kDeadLetterLinesPerSecond], "8 more dead letters suppressed within a second");
  Tell(limits::kDeadLetterLinesPerSecond);
  EXPECT_EQ(heard, 2 * limits::kDeadLetterLinesPerSecond + 9) << "listeners hear of all";
  system_ = nullptr;
  EXPECT_EQ(log_.lines().back(), "2 more dead letters suppressed within a second") << "at the end of the system";
}

TEST_F(DeadLetterLogTest, NoSecondHasMoreLinesWhereverItBegins) {
  std::vector<MonotonicTime> lines;
  for (const int step : {0, 990, 10, 10, 300, 680, 5, 5, 5, 400, 590, 10, 3000}) {
    executor_.Advance(absl::Milliseconds(step));
    Tell(7);
    lines.resize(log_.lines().size(), executor_.clock().Now());
  }
  ASSERT_GT(std::ssize(lines), limits::kDeadLetterLinesPerSecond);
  for (auto line = lines.begin() + limits::kDeadLetterLinesPerSecond; line != lines.end(); ++line) {
    EXPECT_GE(*line - *(line - limits::kDeadLetterLinesPerSecond), absl::Seconds(1));
  }
  EXPECT_EQ(lines.back(), executor_.clock().Now()) << "there is room again";
}

TEST_F(DeadLettersTest, ASendToNobodySaysWhoThatIs) {
  // A channel that was never given an actor.
  const absl::Status never = Channel<int>().Send(1);
  EXPECT_TRUE(IsNoProcess(never));
  EXPECT_THAT(std::string(never.message()), HasSubstr("the channel was never given an actor"));
  EXPECT_TRUE(IsNoProcess(Ask(Channel<Call<int, int>>(), 1).status()));
  // An actor that has ended.
  const absl::Status ended = ToTheDead().Send(1);
  EXPECT_TRUE(IsNoProcess(ended));
  EXPECT_THAT(std::string(ended.message()), HasSubstr("that actor has ended"));
  // A cell that no actor ever had.
  const absl::Status none = Channel<int>(Pid(system().node(), 1 << 20, 1), 1).Send(1);
  EXPECT_TRUE(IsNoProcess(none));
  EXPECT_THAT(std::string(none.message()), HasSubstr("there is no such actor"));
}

TEST_F(DeadLettersTest, ASendToAnActorOfAnotherSystemSaysSo) {
  TestSystem other(2, "other");
  Ref<Nothing> foreign = other.Spawn<Nothing>();
  absl::Status sent;
  absl::Status asked;
  Ref<Script> script = system().Spawn<Script>();
  Do(script, [&, foreign](Script&) { sent = foreign[&Nothing::number].Send(1); });
  Do(script, [foreign](Script&) { foreign[&Nothing::number].Tell(1); });
  system().RunUntilIdle();
  EXPECT_TRUE(IsNoProcess(sent));
  EXPECT_THAT(std::string(sent.message()), HasSubstr("belongs to another actor system"));
  ASSERT_THAT(dead_letters(), SizeIs(1));
  EXPECT_EQ(dead_letters()[0].why, sent);
  // Nor is it any process to links and monitors here.
  std::vector<ExitReason> told;
  Do(script, [&, foreign](Script& self) {
    self.context().TrapExits([&](const ExitEvent& exit) { told.push_back(exit.reason); });
    self.context().Link(foreign);
    (void)self.context().Monitor(foreign, [&](const Down& down) { told.push_back(down.reason); }).Keep();
  });
  system().RunUntilIdle();
  EXPECT_THAT(told, ElementsAre(ExitReason::NoProcess(), ExitReason::NoProcess()));
  ExpectNothingLost(other);
}

TEST_F(DeadLettersTest, ASendToAnActorOfASystemThatHasEndedSaysSo) {
  Channel<int> number;
  {
    TestSystem other(2, "other");
    number = other.Spawn<Nothing>()[&Nothing::number];
  }
  absl::Status sent;
  Do(system().Spawn<Script>(), [&](Script&) { sent = number.Send(1); });
  system().RunUntilIdle();
  EXPECT_TRUE(IsNoProcess(sent));
  EXPECT_THAT(std::string(sent.message()), HasSubstr("the actor system of "));
  EXPECT_THAT(std::string(sent.message()), HasSubstr(" has ended"));
}

// Has them wait, and drops the oldest.
class Shelf final : public Actor {
 public:
  Mailbox<"letter", DeadLetter> letter{this, {.capacity_messages = 2, .overflow = Overflow::kDropOldest}};
  StartResult Start() override {
    return Behavior("closed", After(absl::InfiniteDuration(), [] {}));
  }
};

TEST(DeadLetterMessagesTest, AMessageThatIsADeadLetterIsNotToldAgainWhenItIsLost) {
  TestSystem system;
  const Ref<Shelf> shelf = system.Spawn<Shelf>();
  system.RunUntilIdle();
  for (int i = 0; i < 3; ++i) shelf[&Shelf::letter].Tell({.why = absl::DataLossError("told before"), .mailbox = "its"});
  system.RunUntilIdle();
  EXPECT_EQ(system.Ledger().of(Disposition::kDropped), 1);
  EXPECT_EQ(system.dead_letters(), 0);
  system.Kill(shelf.pid());
  system.RunUntilIdle();
  EXPECT_EQ(system.dead_letters(), 2) << "those that waited, each once";
}

}  // namespace
}  // namespace understudy
