// The three kinds of timeouts of OTP's gen_statem, in an actor's terms: a state timeout is After in the behaviour, an
// event timeout is Idle, and generic timeouts are named timers. All in virtual time.
#include <functional>
#include <string>
#include <utility>

#include "absl/strings/str_cat.h"
#include "absl/time/time.h"
#include "gmock/gmock.h"
#include "gtest/gtest.h"
#include "understudy/actors/actor.h"
#include "understudy/actors/testing/actor_test.h"
#include "understudy/actors/testing/probe.h"

namespace understudy {
namespace {

using ::testing::ElementsAre;
using Text = std::string;

// A lock with a code, as in gen_statem's manual: open for ten seconds, and a
// code that is being entered is forgotten after thirty seconds of silence.
class CodeLock final : public Actor {
 public:
  Mailbox<"button", int> button{this};
  Mailbox<"push", Text> push{this};  // the door, when it is open
  explicit CodeLock(Channel<Text> out) : out_(out) {}
  StartResult Start() override { return locked_; }

 private:
  void Button(int digit) {
    entered_ = entered_ * 10 + digit;
    if (entered_ == 42) {
      entered_ = 0;
      Become(open_);
    }
  }
  void Forget() {
    if (entered_ != 0) out_.Tell("forgotten");
    entered_ = 0;
  }
  Behavior LockAgain() {
    out_.Tell("locked again");
    return locked_;
  }
  void Push(const Text& how) {
    out_.Tell(how);
    if (how == "slam") Become(locked_);
  }

  Channel<Text> out_;
  int entered_ = 0;
  Behavior locked_{"locked", On(button, &CodeLock::Button), Drop(push), Idle(absl::Seconds(30), &CodeLock::Forget)};
  Behavior open_{"open", On(push, &CodeLock::Push), Drop(button), After(absl::Seconds(10), &CodeLock::LockAgain)};
};

class CodeLockTest : public ActorTest {
 protected:
  CodeLockTest() : out_(system()), lock_(system().Spawn<CodeLock>(out_.channel())) { system().RunUntilIdle(); }
  void Button(int digit) {
    lock_[&CodeLock::button].Tell(digit);
    system().RunUntilIdle();
  }
  void Push(const char* how) {
    lock_[&CodeLock::push].Tell(how);
    system().RunUntilIdle();
  }

  Probe<Text> out_;
  Ref<CodeLock> lock_;
};

TEST_F(CodeLockTest, AStateTimeoutRunsOnWhateverComesMeanwhile) {
  Button(4);
  Button(2);
  for (int second = 0; second < 9; ++second) {
    system().Advance(absl::Seconds(1));
    Push("pass");
  }
  EXPECT_EQ(out_.ReceiveAll().size(), 9U);
  system().Advance(absl::Seconds(1));
  EXPECT_THAT(out_.ReceiveAll(), ElementsAre("locked again"));
}

TEST_F(CodeLockTest, LeavingTheStateCancelsItsTimeoutAndEnteringItStartsItAnew) {
  Button(4);
  Button(2);
  system().Advance(absl::Seconds(9));
  Push("slam");
  Button(4);
  Button(2);
  system().Advance(absl::Seconds(9));
  EXPECT_THAT(out_.ReceiveAll(), ElementsAre("slam"));
  system().Advance(absl::Seconds(1));
  EXPECT_THAT(out_.ReceiveAll(), ElementsAre("locked again"));
}

TEST_F(CodeLockTest, AnEventTimeoutBeginsAgainWithEachEvent) {
  Button(1);
  system().Advance(absl::Seconds(29));
  Button(1);
  system().Advance(absl::Seconds(29));
  out_.ExpectNothing();
  system().Advance(absl::Seconds(1));
  EXPECT_THAT(out_.ReceiveAll(), ElementsAre("forgotten"));
  Button(4);
  Button(2);
  Push("pass");
  EXPECT_THAT(out_.ReceiveAll(), ElementsAre("pass")) << "and the code is that of the manual again";
}

// Runs functions of a test in its turns.
class Stage final : public Actor {
 public:
  using Step = std::function<void(Stage&)>;
  Mailbox<"do", Step> once{this};
  Mailbox<"note", Text> notes{this};
  explicit Stage(Channel<Text> out) : out_(out) {}
  StartResult Start() override { return first_; }

  using Actor::context;
  void Note(const Text& text) { out_.Tell(text); }
  // A named timer that notes its name.
  void Arm(const char* name, absl::Duration delay) {
    EXPECT_TRUE(context().StartTimer(name, delay, [this](const TimerEvent& timer) { Note(timer.name); }).ok());
  }
  void GoFirst() { Become(first_); }
  void GoSecond() { Become(second_); }

 private:
  void Do(const Step& step) { step(*this); }
  Channel<Text> out_;
  Behavior first_{"first", On(once, &Stage::Do), On(notes, &Stage::Note)};
  Behavior second_{"second", On(once, &Stage::Do), On(notes, &Stage::Note),
                   After(absl::ZeroDuration(), [this] { Note("state 1"); }),
                   After(absl::ZeroDuration(), [this] { Note("state 2"); })};
};

class StageTest : public ActorTest {
 protected:
  StageTest() : out_(system()), stage_(system().Spawn<Stage>(out_.channel())) { system().RunUntilIdle(); }
  void Do(Stage::Step step) { stage_[&Stage::once].Tell(std::move(step)); }

  Probe<Text> out_;
  Ref<Stage> stage_;
};

TEST_F(StageTest, TimeoutsOfZeroComeInTheOrderInWhichTheyWereStarted) {
  Do([](Stage& stage) {
    stage.Arm("a", absl::ZeroDuration());
    stage.GoSecond();
  });
  const MonotonicTime before = system().Now();
  EXPECT_THAT(out_.ReceiveAll(), ElementsAre("a", "state 1", "state 2"));
  EXPECT_EQ(system().Now(), before);
}

TEST_F(StageTest, ATimeoutOfZeroComesAfterWhatHasArrived) {
  Do([](Stage& stage) { stage.Arm("zero", absl::ZeroDuration()); });
  stage_[&Stage::notes].Tell("arrived before");
  EXPECT_THAT(out_.ReceiveAll(), ElementsAre("arrived before", "zero"));
}

TEST_F(StageTest, AStateTimeoutThatIsDueIsCancelledByLeavingTheStateToo) {
  Do([](Stage& stage) { stage.GoSecond(); });
  // Arrives before the timers' events: the state is left when they would come.
  Do([](Stage& stage) { stage.GoFirst(); });
  out_.ExpectNothing();
}

TEST_F(StageTest, NamedTimeoutsRunSideBySideThroughChangesOfState) {
  Do([](Stage& stage) {
    stage.Arm("slow", absl::Seconds(5));
    stage.Arm("fast", absl::Seconds(2));
    stage.GoSecond();
  });
  system().Advance(absl::Seconds(5));
  EXPECT_THAT(out_.ReceiveAll(), ElementsAre("state 1", "state 2", "fast", "slow"));
}

TEST_F(StageTest, StartingANamedTimeoutAgainReplacesItAndCancellingEndsIt) {
  Do([](Stage& stage) {
    stage.Arm("one", absl::Seconds(2));
    stage.Arm("other", absl::Seconds(2));
  });
  system().Advance(absl::Seconds(1));
  Do([](Stage& stage) {
    stage.Arm("one", absl::Seconds(5));
    EXPECT_TRUE(stage.context().CancelTimer("other"));
    EXPECT_FALSE(stage.context().CancelTimer("other"));
  });
  system().Advance(absl::Seconds(4));
  out_.ExpectNothing();
  system().Advance(absl::Seconds(1));
  EXPECT_THAT(out_.ReceiveAll(), ElementsAre("one"));
}

TEST_F(StageTest, CancellingTakesBackATimeoutOfZeroToo) {
  Do([](Stage& stage) {
    stage.Arm("zero", absl::ZeroDuration());
    EXPECT_TRUE(stage.context().CancelTimer("zero"));
  });
  out_.ExpectNothing();
}

using IdleDeathTest = StageTest;

class Restless final : public Actor {
 public:
  StartResult Start() override {
    return Behavior("restless", Idle(absl::ZeroDuration(), [] {}));
  }
};

TEST_F(IdleDeathTest, IdleForNothingWouldComeForEver) {
  EXPECT_DEATH(
      {
        system().Spawn<Restless>();
        system().RunUntilIdle();
      },
      "Idle.0. would come for ever; what is to come at once is After.0.");
}

}  // namespace
}  // namespace understudy
