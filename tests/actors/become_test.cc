// The stack of behaviours, and the hooks that run when a behaviour is entered or left.
#include <stdexcept>
#include <string>
#include <utility>

#include "absl/status/status.h"
#include "absl/strings/str_cat.h"
#include "absl/time/time.h"
#include "gmock/gmock.h"
#include "gtest/gtest.h"
#include "understudy/actors/actor.h"
#include "understudy/actors/error.h"
#include "understudy/actors/limits.h"
#include "understudy/actors/testing/actor_test.h"
#include "understudy/actors/testing/probe.h"

namespace understudy {
namespace {

using ::testing::ElementsAre;
using ::testing::HasSubstr;

using BecomeTest = ActorTest;

// Says which of its behaviours handles a word; "modal" goes on top, "back" goes
// back, "other" replaces the top.
class Dialog final : public Actor {
 public:
  Mailbox<"word", std::string> word{this};
  Mailbox<"later", std::string> later{this};
  Mailbox<"push", Call<int, int>> push{this};
  Mailbox<"pop", Call<int, int>> pop{this};

  explicit Dialog(Channel<std::string> out) : out_(out) {}
  StartResult Start() override { return main_; }

 private:
  absl::Status Main(const std::string& said) { return Handle("main", said); }
  absl::Status Modal(const std::string& said) { return Handle("modal", said); }
  absl::Status Other(const std::string& said) { return Handle("other", said); }
  absl::Status Handle(const char* where, const std::string& said) {
    out_.Tell(absl::StrCat(where, " ", said));
    if (said == "modal") return context().BecomeStacked(modal_);
    if (said == "there and back") {
      if (absl::Status pushed = context().BecomeStacked(modal_); !pushed.ok()) return pushed;
      return context().Unbecome();
    }
    if (said == "other") Become(other_);
    return said == "back" ? context().Unbecome() : absl::OkStatus();
  }
  void Postpone(const std::string& said) {
    out_.Tell("postponed " + said);
    context().Postpone();
  }
  absl::StatusOr<int> Push(int times) {
    for (int i = 0; i < times; ++i) {
      if (absl::Status pushed = context().BecomeStacked(i % 2 == 0 ? modal_ : main_); !pushed.ok()) return pushed;
    }
    return times;
  }
  absl::StatusOr<int> Pop(int times) {
    for (int i = 0; i < times; ++i) {
      if (absl::Status popped = context().Unbecome(); !popped.ok()) return popped;
    }
    return times;
  }

  Channel<std::string> out_;
  Behavior main_{"main", On(word, &Dialog::Main), On(later, &Dialog::Postpone), On(push, &Dialog::Push),
                 On(pop, &Dialog::Pop)};
  Behavior modal_{"modal", On(word, &Dialog::Modal), On(later, &Dialog::Postpone), On(push, &Dialog::Push),
                  On(pop, &Dialog::Pop)};
  Behavior other_{"other", On(word, &Dialog::Other)};
};

class DialogTest : public ActorTest {
 protected:
  DialogTest() : out_(system()), dialog_(system().Spawn<Dialog>(out_.channel())) {}
  void Say(const char* word) { dialog_[&Dialog::word].Tell(word); }

  Probe<std::string> out_;
  Ref<Dialog> dialog_;
};

TEST_F(DialogTest, UnbecomeGoesBackToWhatLayBelow) {
  for (const char* word : {"modal", "a", "modal", "b", "back", "c", "back", "d"}) Say(word);
  EXPECT_THAT(out_.ReceiveAll(), ElementsAre("main modal", "modal a", "modal modal", "modal b", "modal back", "modal c",
                                             "modal back", "main d"));
}

TEST_F(DialogTest, BecomeReplacesTheTopAndKeepsWhatLiesBelow) {
  for (const char* word : {"modal", "other", "back", "d"}) Say(word);
  EXPECT_THAT(out_.ReceiveAll(), ElementsAre("main modal", "modal other", "other back", "main d"));
}

TEST_F(DialogTest, ChangesOfOneHandlerAreMadeInTheirOrderAndOnlyTheLastIsEntered) {
  for (const char* word : {"there and back", "a"}) Say(word);
  EXPECT_THAT(out_.ReceiveAll(), ElementsAre("main there and back", "main a"));
}

TEST_F(DialogTest, UnbecomeWithNothingBelowIsAnErrorThatSaysSo) {
  EXPECT_THAT(
      Ask(dialog_[&Dialog::pop], 1).status(),
      absl::FailedPreconditionError("Unbecome: no behavior lies below the present one; BecomeStacked puts one there"));
  Say("a");
  out_.Expect("main a");
}

TEST_F(DialogTest, TheStackHasALimitAndTheErrorSaysIt) {
  const int most = static_cast<int>(limits::kBehaviorsStackedMax);
  const absl::Status full = Ask(dialog_[&Dialog::push], most + 1).status();
  EXPECT_TRUE(IsFull(full)) << full;
  EXPECT_THAT(std::string(full.message()), HasSubstr("BecomeStacked(modal): 100 behaviors lie below"));
  EXPECT_EQ(*Ask(dialog_[&Dialog::pop], most), most) << "those that fit were stacked";
  EXPECT_FALSE(Ask(dialog_[&Dialog::pop], 1).ok());
}

TEST_F(DialogTest, PostponedMessagesReturnAtEachChangeOfTheStack) {
  dialog_[&Dialog::later].Tell("x");
  out_.Expect("postponed x");
  Say("modal");
  EXPECT_THAT(out_.ReceiveAll(), ElementsAre("main modal", "postponed x"));
  Say("back");
  EXPECT_THAT(out_.ReceiveAll(), ElementsAre("modal back", "postponed x"));
}

// Stacks before Start has given a behaviour.
class Hasty final : public Actor {
 public:
  explicit Hasty(absl::Status* stacked) : stacked_(stacked) {}
  StartResult Start() override {
    *stacked_ = context().BecomeStacked(Behavior("early", After(absl::Seconds(1), [] {})));
    return StartResult::Ignore();
  }

 private:
  absl::Status* stacked_;
};

TEST_F(BecomeTest, BeforeTheFirstBehaviourThereIsNothingToStackOn) {
  absl::Status stacked;
  system().Spawn<Hasty>(&stacked);
  system().RunUntilIdle();
  EXPECT_EQ(stacked,
            absl::FailedPreconditionError("BecomeStacked(early): the actor has no behavior yet for it to lie on"));
}

// Becomes one behaviour in Start, and returns another.
class Fickle final : public Actor {
 public:
  Mailbox<"word", std::string> word{this};
  explicit Fickle(Channel<std::string> out) : out_(out) {}
  StartResult Start() override {
    Become(become_);
    return returned_;
  }

 private:
  const Channel<std::string> out_;
  Behavior become_{"become", On(word, [this](const std::string& w) { out_.Tell("become " + w); })};
  Behavior returned_{"returned", On(word, [this](const std::string& w) { out_.Tell("returned " + w); })};
};

TEST_F(BecomeTest, WhatStartBecomesWinsOverWhatItReturns) {
  Probe<std::string> out(system());
  system().Spawn<Fickle>(out.channel())[&Fickle::word].Tell("x");
  out.Expect("become x");
}

// Notes each hook. What "shut" does in its hooks comes with the word.
class Door final : public Actor {
 public:
  Mailbox<"go", std::string> go{this};
  Mailbox<"knock", int> knock{this};

  explicit Door(Channel<std::string> out, std::string at_shut = "") : out_(out), at_shut_(std::move(at_shut)) {}
  StartResult Start() override {
    if (at_shut_ == "starting") return StartResult::Starting(open_);
    return open_;
  }
  void OnExit(const ExitReason& /*reason*/) override { out_.Tell("exit"); }

 private:
  void Go(const std::string& where) {
    if (where == "open") Become(open_);
    if (where == "shut") Become(shut_);
    if (where == "ajar") Become(ajar_);
    if (where == "stop") context().Stop();
    out_.Tell("go " + where);
  }
  void Knock(int n) { out_.Tell(absl::StrCat("knock ", n)); }
  void KnockLater(int n) {
    out_.Tell(absl::StrCat("later ", n));
    context().Postpone();
  }
  void EnterOpen() {
    out_.Tell("enter open");
    if (at_shut_ == "starting") context().FinishStart();
  }
  void LeaveOpen() {
    out_.Tell("leave open");
    if (at_shut_ == "divert") Become(ajar_);
  }
  Failure FailHere() { return Fail(absl::DataLossError("hinge")); }
  void EnterShut() {
    out_.Tell("enter shut");
    if (at_shut_ == "become") Become(ajar_);
    if (at_shut_ == "circle") Become(ajar_);
    if (at_shut_ == "fail") (void)FailHere();
#if defined(__cpp_exceptions)
    if (at_shut_ == "throw") throw std::runtime_error("stuck");
#endif
    if (at_shut_ == "timer") {
      EXPECT_TRUE(context().StartTimer("bell", absl::Seconds(1), [this] { out_.Tell("bell"); }).ok());
    }
  }
  void EnterAjar() {
    out_.Tell("enter ajar");
    if (at_shut_ == "circle") Become(shut_);
  }
  void LeaveAjar() { out_.Tell("leave ajar"); }

  Channel<std::string> out_;
  std::string at_shut_;
  Behavior open_ = Behavior("open", On(go, &Door::Go), On(knock, &Door::KnockLater))
                       .WhenEntered(&Door::EnterOpen)
                       .WhenLeft(&Door::LeaveOpen);
  Behavior shut_ = Behavior("shut", On(go, &Door::Go), On(knock, &Door::Knock)).WhenEntered(&Door::EnterShut);
  Behavior ajar_ = Behavior("ajar", On(go, &Door::Go), On(knock, &Door::Knock))
                       .WhenEntered([this] { EnterAjar(); })
                       .WhenLeft([this] { LeaveAjar(); });
};

class DoorTest : public ActorTest {
 protected:
  DoorTest() : out_(system()) {}
  Ref<Door> Make(const char* at_shut = "") { return system().Spawn<Door>(out_.channel(), at_shut); }

  Probe<std::string> out_;
};

TEST_F(DoorTest, TheOldBehavioursLeaveHookRunsThenTheNewOnesEnterHookThenPostponedMessagesReturn) {
  // The order of gen_statem's state enter calls.
  Ref<Door> door = Make();
  out_.Expect("enter open");
  door[&Door::knock].Tell(1);
  door[&Door::go].Tell("shut");
  EXPECT_THAT(out_.ReceiveAll(), ElementsAre("later 1", "go shut", "leave open", "enter shut", "knock 1"));
}

TEST_F(DoorTest, BecomingTheCurrentBehaviourRunsNoHook) {
  Ref<Door> door = Make();
  door[&Door::go].Tell("open");
  EXPECT_THAT(out_.ReceiveAll(), ElementsAre("enter open", "go open"));
}

TEST_F(DoorTest, TheEndOfTheActorIsNoLeaving) {
  Ref<Door> door = Make();
  door[&Door::go].Tell("stop");
  EXPECT_THAT(out_.ReceiveAll(), ElementsAre("enter open", "go stop", "exit"));
}

TEST_F(DoorTest, AnEnterHookMayBecomeAndThatIsTheNextChange) {
  Ref<Door> door = Make("become");
  door[&Door::go].Tell("shut");
  EXPECT_THAT(out_.ReceiveAll(), ElementsAre("enter open", "go shut", "leave open", "enter shut", "enter ajar"));
}

TEST_F(DoorTest, ALeaveHookMaySayWhatIsEnteredInstead) {
  Ref<Door> door = Make("divert");
  door[&Door::go].Tell("shut");
  EXPECT_THAT(out_.ReceiveAll(), ElementsAre("enter open", "go shut", "leave open", "enter ajar"));
}

TEST_F(DoorTest, HooksThatBecomeInACircleEndTheActor) {
  Ref<Door> door = Make("circle");
  const ExitReason reason = EndOf(door.pid(), [&] { door[&Door::go].Tell("shut"); });
  EXPECT_EQ(reason.status().code(), absl::StatusCode::kResourceExhausted) << reason;
  EXPECT_THAT(reason.ToString(), HasSubstr("have changed the behavior 100 times in a row"));
}

TEST_F(DoorTest, AHookThatFailsEndsTheActor) {
  Ref<Door> door = Make("fail");
  EXPECT_EQ(EndOf(door.pid(), [&] { door[&Door::go].Tell("shut"); }), ExitReason::Failed(absl::DataLossError("hinge")));
  EXPECT_THAT(out_.ReceiveAll(), ElementsAre("enter open", "go shut", "leave open", "enter shut", "exit"));
}

#if defined(__cpp_exceptions)
TEST_F(DoorTest, AHookThatThrowsEndsTheActor) {
  Ref<Door> door = Make("throw");
  EXPECT_EQ(EndOf(door.pid(), [&] { door[&Door::go].Tell("shut"); }),
            ExitReason::Exception("std::runtime_error", "stuck"));
}
#endif

TEST_F(DoorTest, AHookMayStartATimer) {
  Ref<Door> door = Make("timer");
  door[&Door::go].Tell("shut");
  EXPECT_THAT(out_.ReceiveAll(), ElementsAre("enter open", "go shut", "leave open", "enter shut"));
  system().Advance(absl::Seconds(1));
  out_.Expect("bell");
}

TEST_F(DoorTest, TheBehaviourOfAStartThatGoesOnIsEnteredToo) {
  Ref<Door> door = Make("starting");
  door[&Door::go].Tell("shut");
  EXPECT_THAT(out_.ReceiveAll(), ElementsAre("enter open", "go shut", "leave open", "enter shut"));
}

}  // namespace
}  // namespace understudy
