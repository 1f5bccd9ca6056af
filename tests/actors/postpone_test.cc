// Postponed messages: when they come back, what happens to them meanwhile, and which messages cannot be postponed
// (context.h).
#include <functional>
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
#include "understudy/actors/error.h"
#include "understudy/actors/test_system.h"
#include "understudy/actors/testing/actor_test.h"
#include "understudy/actors/testing/probe.h"
#include "understudy/tests/actors/script.h"

namespace understudy {
namespace {

using ::testing::ElementsAre;
using ::testing::SizeIs;

using PostponeTest = ActorTest;

// Postpones all; `go` changes the behaviour, in which all is taken.
class Waiter final : public Actor {
 public:
  Mailbox<"newest", int> newest{this, {.capacity_messages = 2, .overflow = Overflow::kDropOldest}};
  Mailbox<"brief", int> brief{this, {.time_to_live = absl::Seconds(1)}};
  Mailbox<"call", Call<int, int>> call{this};
  Mailbox<"slow", int> slow{this};
  Mailbox<"slow_newest", int> slow_newest{this, {.capacity_messages = 2, .overflow = Overflow::kDropOldest}};
  Mailbox<"slow_call", Call<int, int>> slow_call{this};
  Mailbox<"leaving", int> leaving{this};
  Mailbox<"go", int> go{this};
  Waiter(Channel<std::string> out, Channel<Call<int, int>> silent) : out_(out), silent_(silent) {}
  StartResult Start() override { return waiting_; }

 private:
  void Later(const int&) { context().Postpone(); }
  int LaterAnswer(const int&) {
    context().Postpone();
    return 0;
  }
  Task<> AwaitsAnd(const int& n) {
    context().Postpone();
    auto asked = silent_.Ask(n, absl::Seconds(1));
    (void)co_await asked;
  }
  Task<int> AwaitsAndThen(const int& n) {
    auto asked = silent_.Ask(n, absl::Seconds(1));
    (void)co_await asked;
    context().Postpone();
    co_return 0;
  }
  Task<> BecomesAndAwaits(const int& n) {
    context().Postpone();
    Become(taking_);
    auto asked = silent_.Ask(n, absl::Seconds(1));
    (void)co_await asked;
  }
  std::function<void(int)> Taking(const char* what) {
    return [this, what](int n) { out_.Tell(absl::StrCat(what, n)); };
  }

  const Channel<std::string> out_;
  const Channel<Call<int, int>> silent_;
  Behavior taking_{"taking",
                   On(newest, Taking("newest ")),
                   On(brief, Taking("brief ")),
                   On(slow, Taking("slow ")),
                   On(slow_newest, Taking("slow newest ")),
                   On(slow_call,
                      [this](int n) {
                        out_.Tell("slow call");
                        return n;
                      }),
                   On(leaving, Taking("leaving ")),
                   On(call, [](int n) { return n; })};
  Behavior waiting_{"waiting",
                    On(newest, &Waiter::Later),
                    On(brief, &Waiter::Later),
                    On(slow, &Waiter::AwaitsAnd).Interleaved(),
                    On(slow_newest, &Waiter::AwaitsAnd),
                    On(slow_call, &Waiter::AwaitsAndThen),
                    On(leaving, &Waiter::BecomesAndAwaits),
                    On(call, &Waiter::LaterAnswer),
                    On(go, [this](int) { Become(taking_); })};
};

class WaiterTest : public ActorTest {
 protected:
  WaiterTest() : out_(system()), silent_(system()), waiter_(system().Spawn<Waiter>(out_.channel(), silent_.channel())) {
    system().RunUntilIdle();
  }
  void Go() {
    waiter_[&Waiter::go].Tell(1);
    system().RunUntilIdle();
  }

  Probe<std::string> out_;
  Probe<Call<int, int>> silent_;
  Ref<Waiter> waiter_;
};

TEST_F(WaiterTest, IsEligibleAtOnceWhenTheBehaviourChangedWhileItsHandlerAwaited) {
  waiter_[&Waiter::slow].Tell(1);
  system().RunUntilIdle();
  Go();
  out_.ExpectNothing();
  system().Advance(absl::Seconds(2));
  EXPECT_THAT(out_.ReceiveAll(), ElementsAre("slow 1"));
}

TEST_F(WaiterTest, WaitsWhenTheBehaviourDidNotChangeMeanwhile) {
  waiter_[&Waiter::slow].Tell(1);
  system().Advance(absl::Seconds(2));
  EXPECT_EQ(silent_.ReceiveAll().size(), 1U) << "handled once";
  EXPECT_EQ(Ledger().waiting, 1);
  Go();
  EXPECT_THAT(out_.ReceiveAll(), ElementsAre("slow 1"));
}

TEST_F(WaiterTest, AHandlerThatBecomesAndThenAwaitsGetsItInTheNewBehaviour) {
  waiter_[&Waiter::leaving].Tell(1);
  system().Advance(absl::Seconds(2));
  EXPECT_THAT(out_.ReceiveAll(), ElementsAre("leaving 1"));
}

TEST_F(WaiterTest, IsDroppedByNewerOnesWhereTheOldestAreDropped) {
  for (int n = 1; n <= 5; ++n) {
    waiter_[&Waiter::newest].Tell(n);
    system().RunUntilIdle();
  }
  EXPECT_EQ(Ledger().of(Disposition::kDropped), 3);
  Go();
  EXPECT_THAT(out_.ReceiveAll(), ElementsAre("newest 4", "newest 5"));
}

TEST_F(WaiterTest, IsDroppedWhenItComesBackToAFullMailboxThatDropsTheOldest) {
  for (int n = 1; n <= 3; ++n) {
    waiter_[&Waiter::slow_newest].Tell(n);
    system().RunUntilIdle();
  }
  Go();
  system().Advance(absl::Seconds(10));
  EXPECT_EQ(Ledger().of(Disposition::kDropped), 1);
  EXPECT_THAT(out_.ReceiveAll(), ElementsAre("slow newest 2", "slow newest 3"));
}

TEST_F(WaiterTest, ACallWhoseAskerEndedWhileItWasInHandIsCancelled) {
  // semantics 4.1
  Ref<Script> asker = system().Spawn<Script>();
  RunTask(asker, [&](Script&) -> Task<> {
    auto asked = waiter_[&Waiter::slow_call].Ask(1, absl::Hours(1));
    (void)co_await asked;
  });
  system().RunUntilIdle();
  system().Kill(asker.pid());
  system().Advance(absl::Seconds(1));
  Go();
  out_.ExpectNothing();
  EXPECT_EQ(Ledger().of(Disposition::kCancelled), 1);
  EXPECT_EQ(Ledger().waiting, 0);
}

TEST_F(WaiterTest, ExpiresWhileItWaits) {
  waiter_[&Waiter::brief].Tell(1);
  EXPECT_TRUE(IsExpired(Ask(waiter_[&Waiter::call], 1, absl::Seconds(2)).status()));
  waiter_[&Waiter::brief].Tell(2);
  Go();
  EXPECT_THAT(out_.ReceiveAll(), ElementsAre("brief 2"));
  EXPECT_EQ(Ledger().of(Disposition::kExpired), 2);
}

TEST_F(WaiterTest, IsADeadLetterWhenItsActorEnds) {
  waiter_[&Waiter::newest].Tell(1);
  system().RunUntilIdle();
  system().Exit(waiter_.pid(), ExitReason::Shutdown());
  system().RunUntilIdle();
  EXPECT_THAT(dead_letters(), SizeIs(1));
}

// Postpones messages that its handlers have taken by value or by move, forwarded or answered, so that they cannot be
// put back.
class Careless final : public Actor {
 public:
  Mailbox<"text", std::string> text{this};
  MailboxArray<"texts", std::string> texts{this, 1};
  Mailbox<"by_move", std::string> by_move{this};
  Mailbox<"converted", std::string> converted{this};
  Mailbox<"number", int> number{this};
  Mailbox<"passed", int> passed{this};
  Mailbox<"answered", Call<int, int>> answered{this};
  Mailbox<"kept", Call<int, int>> kept{this};
  Mailbox<"dropped", Call<int, int>> dropped{this};
  StartResult Start() override { return careless_; }

 private:
  void Text(std::string taken) {  // NOLINT: by value, that is the case
    taken_ = std::move(taken);
    context().Postpone();
  }
  void ByMove(std::string&& taken) {
    taken_ = std::move(taken);
    context().Postpone();
  }
  struct Title {
    Title(std::string from) : text(std::move(from)) {}  // NOLINT: implicit, that is the case
    std::string text;
  };
  void Converted(Title title) {  // NOLINT: by value
    taken_ += std::move(title.text);
    if (taken_.size() < 6) context().Postpone();
    Become(taken_.size() % 2 == 0 ? careless_ : again_);
  }
  void Forwarded(int n) {
    context().Forward(number, n);
    context().Postpone();
  }
  void Answered(const int&, Replier<int> replier) {
    replier.Reply(1);
    context().Postpone();
  }
  void Kept(const int&, Replier<int> replier) {
    context().Postpone();
    kept_.push_back(std::move(replier));
  }
  void Dropped(const int&, Replier<int> /*replier*/) { context().Postpone(); }

  std::string taken_;
  std::vector<Replier<int>> kept_;
  Behavior careless_{"careless",
                     On(text, &Careless::Text),
                     On(texts, [this](std::string, size_t) { context().Postpone(); }),  // NOLINT
                     On(by_move, &Careless::ByMove),
                     On(converted, &Careless::Converted),
                     On(number, [this](int) { context().Postpone(); }),
                     On(passed, &Careless::Forwarded),
                     On(answered, &Careless::Answered),
                     On(kept, &Careless::Kept),
                     On(dropped, &Careless::Dropped)};
  Behavior again_{"again", On(converted, &Careless::Converted)};
};

TEST_F(PostponeTest, AHandlersConvertedCopyLeavesThePostponedMessageAsItIs) {
  Ref<Careless> careless = system().Spawn<Careless>();
  careless[&Careless::converted].Tell("abc");
  system().RunUntilIdle();
  EXPECT_EQ(Ledger().waiting, 0) << "the second time it has six letters";
  EXPECT_EQ(Ledger().of(Disposition::kHandled), 1);
}

TEST_F(PostponeTest, AMessageByValueThatIsNothingButBytesMayBePostponed) {
  Ref<Careless> careless = system().Spawn<Careless>();
  careless[&Careless::number].Tell(1);
  system().RunUntilIdle();
  EXPECT_EQ(Ledger().waiting, 1);
}

TEST_F(PostponeTest, ACallWhoseReplierWasOnlyForgottenMayBePostponed) {
  Ref<Careless> careless = system().Spawn<Careless>();
  EXPECT_TRUE(IsExpired(Ask(careless[&Careless::dropped], 1).status()));
  EXPECT_EQ(Ledger().waiting, 1);
}

TEST(PostponeDeathTest, PostponingAMessageThatCannotBeGivenBackDiesAndSaysWhy) {
  const auto tell = [](auto send) {
    TestSystem system;
    send(system, system.Spawn<Careless>());
    system.RunUntilIdle();
  };
  EXPECT_DEATH(tell([](TestSystem&, Ref<Careless> to) { to[&Careless::text].Tell("gone"); }), "by value: it was moved");
  EXPECT_DEATH(tell([](TestSystem&, Ref<Careless> to) { to.At(&Careless::texts, "0").Tell("gone"); }),
               "by value: it was moved");
  EXPECT_DEATH(tell([](TestSystem&, Ref<Careless> to) { to[&Careless::by_move].Tell("gone"); }),
               "by value: it was moved");
  EXPECT_DEATH(tell([](TestSystem&, Ref<Careless> to) { to[&Careless::passed].Tell(1); }), "has been forwarded");
  EXPECT_DEATH(tell([](TestSystem& system, Ref<Careless> to) {
                 (void)system.Ask(to[&Careless::answered], 1, absl::Seconds(1));
               }),
               "a call that has been answered");
  EXPECT_DEATH(
      tell([](TestSystem& system, Ref<Careless> to) { (void)system.Ask(to[&Careless::kept], 1, absl::Seconds(1)); }),
      "whose Replier is elsewhere");
}

}  // namespace
}  // namespace understudy
