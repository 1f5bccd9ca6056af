#include "understudy/actors/behavior.h"

#include <algorithm>
#include <stdexcept>
#include <string>
#include <utility>
#include <vector>

#include "absl/status/status.h"
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

using BehaviorTest = ActorTest;

// A turnstile: `push` passes when it is unlocked; a coin unlocks it.
class Turnstile final : public Actor {
 public:
  Mailbox<"coin", int> coin{this};
  Mailbox<"push", std::string> push{this};
  Mailbox<"kick", int> kick{this};
  Mailbox<"inspect", Call<int, std::string>> inspect{this};

  explicit Turnstile(Channel<std::string> out) : out_(out) {}
  StartResult Start() override { return locked_; }

 private:
  Behavior Coin(int) { return unlocked_; }  // become by return
  void Push(const std::string& who) {
    out_.Tell(who);
    Become(locked_);  // by call
    out_.Tell("still in the handler of unlocked");
  }
  absl::StatusOr<Behavior> Kick(int force) {
    if (force > 9000) return absl::InvalidArgumentError("too hard");
    return broken_;
  }
  std::string Inspect(int) { return "fine"; }

  Channel<std::string> out_;
  Behavior locked_{"locked", On(coin, &Turnstile::Coin), On(kick, &Turnstile::Kick), On(inspect, &Turnstile::Inspect)};
  Behavior unlocked_{"unlocked", On(push, &Turnstile::Push)};
  Behavior broken_{"broken", Drop(push), Drop(coin), Refuse(kick, absl::FailedPreconditionError("broken already")),
                   Refuse(inspect, absl::FailedPreconditionError("broken"))};
};

TEST_F(BehaviorTest, MessagesOfMailboxesThatTheBehaviorDoesNotNameWaitInOrder) {
  // semantics 2.3
  Probe<std::string> out(system());
  Ref<Turnstile> turnstile = system().Spawn<Turnstile>(out.channel());
  turnstile[&Turnstile::push].Tell("Ann");
  turnstile[&Turnstile::push].Tell("Bob");
  out.ExpectNothing();
  turnstile[&Turnstile::coin].Tell(1);
  EXPECT_THAT(out.ReceiveAll(), ElementsAre("Ann", "still in the handler of unlocked"));
  turnstile[&Turnstile::coin].Tell(1);
  EXPECT_THAT(out.ReceiveAll(), ElementsAre("Bob", "still in the handler of unlocked"));
}

TEST_F(BehaviorTest, RefuseAnswersCallsAndRejectsTells) {
  Probe<std::string> out(system());
  Ref<Turnstile> turnstile = system().Spawn<Turnstile>(out.channel());
  EXPECT_EQ(*Ask(turnstile[&Turnstile::inspect], 1), "fine");
  turnstile[&Turnstile::kick].Tell(9001);  // a status of a tell rejects it, and no more
  EXPECT_EQ(*Ask(turnstile[&Turnstile::inspect], 1), "fine");
  turnstile[&Turnstile::kick].Tell(1);
  EXPECT_EQ(Ask(turnstile[&Turnstile::inspect], 1).status(), absl::FailedPreconditionError("broken"));
  turnstile[&Turnstile::kick].Tell(1);
  turnstile[&Turnstile::push].Tell("Ann");
  turnstile[&Turnstile::coin].Tell(1);
  out.ExpectNothing();
  EXPECT_EQ(Ledger().of(Disposition::kRejected), 3);
  EXPECT_EQ(Ledger().of(Disposition::kDropped), 2);
  EXPECT_TRUE(dead_letters().empty());
}

// A pool of slots under a guard; `take` is closed while there is none free.
class Slots final : public Actor {
 public:
  Mailbox<"take", int> take{this};
  Mailbox<"give", int> give{this};
  Mailbox<"break", int> break_it{this};
  explicit Slots(Channel<int> out) : out_(out) {}
  StartResult Start() override { return open_; }

 private:
  bool HasFree() const {
#if defined(__cpp_exceptions)
    if (is_broken_) throw std::runtime_error("guard");
#endif
    return free_ > 0;
  }
  void Take(int who) {
    --free_;
    out_.Tell(who);
  }
  void Give() { ++free_; }
  void Break() { is_broken_ = true; }

  Channel<int> out_;
  int free_ = 1;
  bool is_broken_ = false;
  Behavior open_{"open", On(take, &Slots::Take).When(&Slots::HasFree), On(give, &Slots::Give),
                 On(break_it, &Slots::Break).When([](const Slots& self) { return self.free_ >= 0; })};
};

TEST_F(BehaviorTest, AGuardClosesItsMailboxAndOpensItAgain) {
  // semantics 2.1, 2.4
  Probe<int> out(system());
  Ref<Slots> slots = system().Spawn<Slots>(out.channel());
  for (int who = 1; who <= 3; ++who) slots[&Slots::take].Tell(who);
  EXPECT_THAT(out.ReceiveAll(), ElementsAre(1));
  slots[&Slots::take].Tell(4);
  EXPECT_FALSE(system().seeded_executor().RunOne()) << "closed by its guard: it does not wake";
  slots[&Slots::give].Tell(1);
  EXPECT_THAT(out.ReceiveAll(), ElementsAre(2));
  slots[&Slots::give].Tell(1);
  slots[&Slots::give].Tell(1);
  EXPECT_THAT(out.ReceiveAll(), ElementsAre(3, 4));
}

#if defined(__cpp_exceptions)
TEST_F(BehaviorTest, AGuardThatThrowsEndsTheActor) {
  // semantics 2.4
  Probe<int> out(system());
  Ref<Slots> slots = system().Spawn<Slots>(out.channel());
  EXPECT_EQ(EndOf(slots.pid(), [&] { slots[&Slots::break_it].Tell(1); }),
            ExitReason::Exception("std::runtime_error", "guard"));
}
#endif

// Handles by content: even numbers first, then (when told) all.
class Picker final : public Actor {
 public:
  Mailbox<"number", int> number{this};
  Mailbox<"all", int> all{this};
  explicit Picker(Channel<int> out) : out_(out) {}
  StartResult Start() override { return even_; }

 private:
  void Pass(int n) { out_.Tell(n); }
  Behavior All(int) { return all_; }
  Channel<int> out_;
  Behavior even_{"even", On(number, &Picker::Pass).If([](const int& n) { return n % 2 == 0; }), On(all, &Picker::All)};
  Behavior all_{"all", On(number, [this](int n) { out_.Tell(-n); }).If([](int n) { return n > 4; }),
                On(number, &Picker::Pass)};
};

TEST_F(BehaviorTest, IfChoosesByContentAndTheOthersWaitInOrder) {
  Probe<int> out(system());
  Ref<Picker> picker = system().Spawn<Picker>(out.channel());
  for (int n = 1; n <= 6; ++n) picker[&Picker::number].Tell(n);
  EXPECT_THAT(out.ReceiveAll(), ElementsAre(2, 4, 6));
  picker[&Picker::all].Tell(1);
  EXPECT_THAT(out.ReceiveAll(), ElementsAre(1, 3, -5)) << "the first clause that takes it";
}

// Postpones each item until it gets `go`.
class Postponer final : public Actor {
 public:
  Mailbox<"item", std::string> item{this};
  Mailbox<"ask", Call<std::string, std::string>> ask{this};
  Mailbox<"go", int> go{this};
  explicit Postponer(Channel<std::string> out) : out_(out) {}
  StartResult Start() override { return waiting_; }

 private:
  void Later(const std::string& what) {
    out_.Tell("seen " + what);
    context().Postpone();
  }
  std::string LaterAnswer(const std::string&) {
    context().Postpone();
    return "too early";
  }
  void Take(const std::string& what) { out_.Tell(what); }
  std::string Answer(const std::string& what) { return what; }
  Behavior Go(int) { return taking_; }

  Channel<std::string> out_;
  Behavior waiting_{"waiting", On(item, &Postponer::Later), On(ask, &Postponer::LaterAnswer), On(go, &Postponer::Go)};
  Behavior taking_{"taking", On(item, &Postponer::Take), On(ask, &Postponer::Answer)};
};

TEST_F(BehaviorTest, PostponedMessagesComeBackInOrderWhenTheBehaviourChanges) {
  Probe<std::string> out(system());
  Ref<Postponer> postponer = system().Spawn<Postponer>(out.channel());
  for (const char* what : {"a", "b"}) postponer[&Postponer::item].Tell(what);
  EXPECT_THAT(out.ReceiveAll(), ElementsAre("seen a", "seen b"));
  EXPECT_EQ(Ledger().waiting, 2);
  postponer[&Postponer::go].Tell(1);
  postponer[&Postponer::item].Tell("c");
  EXPECT_THAT(out.ReceiveAll(), ElementsAre("a", "b", "c"));
}

TEST_F(BehaviorTest, APostponedCallIsAnsweredOnce) {
  Probe<std::string> out(system());
  Ref<Postponer> postponer = system().Spawn<Postponer>(out.channel());
  system().RunUntilIdle();
  system().seeded_executor().RunAt(system().Now() + absl::Milliseconds(500),
                                   [postponer] { postponer[&Postponer::go].Tell(1); });
  EXPECT_EQ(*Ask(postponer[&Postponer::ask], std::string("now")), "now");
}

// Holds its mailbox shut while it has a scoped close.
class Closer final : public Actor {
 public:
  Mailbox<"item", int> item{this};
  Mailbox<"close", int> close{this};  // n > 0: takes one; 0: gives one back
  explicit Closer(Channel<int> out) : out_(out) {}
  StartResult Start() override { return open_; }

 private:
  void Change(int n) {
    if (n > 0) {
      closes_.push_back(context().Close(item));
    } else {
      closes_.pop_back();
    }
    Become(n > 0 ? other_ : open_);
  }
  void Item(int n) { out_.Tell(n); }
  Channel<int> out_;
  std::vector<ScopedClose> closes_;
  Behavior open_{"open", On(item, &Closer::Item), On(close, &Closer::Change)};
  Behavior other_{"other", On(item, &Closer::Item), On(close, &Closer::Change)};
};

TEST_F(BehaviorTest, AMailboxOpensWhenItsLastScopedCloseHasEndedWhateverTheBehaviour) {
  // semantics 2.2
  Probe<int> out(system());
  Ref<Closer> closer = system().Spawn<Closer>(out.channel());
  closer[&Closer::close].Tell(1);
  closer[&Closer::close].Tell(1);
  closer[&Closer::item].Tell(7);
  out.ExpectNothing();
  closer[&Closer::close].Tell(0);
  out.ExpectNothing();
  closer[&Closer::close].Tell(0);
  out.Expect(7);
}

// Three ranks, the lowest number last.
class Ranked final : public Actor {
 public:
  static constexpr int kQuota = 3;
  Mailbox<"high", int> high{this};
  Mailbox<"middle", int> middle{this};
  Mailbox<"low", int> low{this};
  Mailbox<"open", int> open{this};
  explicit Ranked(Channel<std::string> out) : out_(out) {}
  StartResult Start() override {
    return Behavior("closed", On(open, [this](int) { return open_; }));
  }

 private:
  Channel<std::string> out_;
  Behavior open_{"open", On(high, [this](int n) { out_.Tell(absl::StrCat("h", n)); }).Rank(2).Quota(kQuota),
                 On(low, [this](int n) { out_.Tell(absl::StrCat("l", n)); }).Quota(kQuota),
                 On(middle, [this](int n) { out_.Tell(absl::StrCat("m", n)); }).Rank(1).Quota(kQuota)};
};

TEST_F(BehaviorTest, RanksTakeTurnsFromTheTopEachUpToItsQuota) {
  // semantics 2.8
  Probe<std::string> out(system());
  Ref<Ranked> ranked = system().Spawn<Ranked>(out.channel());
  for (int n = 1; n <= 2; ++n) ranked[&Ranked::low].Tell(n);
  for (int n = 1; n <= 4; ++n) ranked[&Ranked::middle].Tell(n);
  for (int n = 1; n <= 7; ++n) ranked[&Ranked::high].Tell(n);
  ranked[&Ranked::open].Tell(1);
  EXPECT_THAT(out.ReceiveAll(),
              ElementsAre("h1", "h2", "h3", "m1", "m2", "m3", "l1", "l2", "h4", "h5", "h6", "m4", "h7"));
}

TEST_F(BehaviorTest, EachRankIsServedWithinTheBound) {
  // semantics 2.8: within (ranks - 1) * quota + 1 messages
  Probe<std::string> out(system());
  Ref<Ranked> ranked = system().Spawn<Ranked>(out.channel());
  for (int n = 0; n < 40; ++n) {
    ranked[&Ranked::high].Tell(n);
    ranked[&Ranked::middle].Tell(n);
  }
  ranked[&Ranked::low].Tell(0);
  ranked[&Ranked::open].Tell(1);
  const std::vector<std::string> order = out.ReceiveAll();
  const auto place = std::find(order.begin(), order.end(), "l0") - order.begin();
  EXPECT_EQ(place + 1, 2 * Ranked::kQuota + 1);
}

// Becomes its other behaviour with each high message.
class Turning final : public Actor {
 public:
  Mailbox<"high", int> high{this};
  Mailbox<"low", int> low{this};
  Mailbox<"open", int> open{this};
  explicit Turning(Channel<std::string> out) : out_(out) {}
  StartResult Start() override {
    return Behavior("closed", On(open, [this](int) { return left_; }));
  }

 private:
  Behavior left_{"left", On(high, &Turning::GoRight).Rank(1).Quota(1), On(low, &Turning::Low).Quota(1)};
  Behavior right_{"right", On(high, &Turning::GoLeft).Rank(1).Quota(1), On(low, &Turning::Low).Quota(1)};
  void GoRight(int n) {
    out_.Tell(absl::StrCat("h", n));
    Become(right_);
  }
  void GoLeft(int n) {
    out_.Tell(absl::StrCat("h", n));
    Become(left_);
  }
  void Low(int n) { out_.Tell(absl::StrCat("l", n)); }

  Channel<std::string> out_;
};

TEST_F(BehaviorTest, NoRankStarvesWhereEachMessageChangesTheBehaviour) {
  // semantics 2.8
  Probe<std::string> out(system());
  Ref<Turning> turning = system().Spawn<Turning>(out.channel());
  for (int n = 1; n <= 4; ++n) turning[&Turning::high].Tell(n);
  for (int n = 1; n <= 2; ++n) turning[&Turning::low].Tell(n);
  turning[&Turning::open].Tell(1);
  EXPECT_THAT(out.ReceiveAll(), ElementsAre("h1", "l1", "h2", "l2", "h3", "h4"));
}

TEST_F(BehaviorTest, WithinARankTheOrderOfArrivalHoldsAcrossMailboxes) {
  // semantics 1.3
  Probe<std::string> out(system());
  Ref<Turnstile> turnstile = system().Spawn<Turnstile>(out.channel());
  turnstile[&Turnstile::kick].Tell(1);  // breaks it, so the coin that came after is dropped
  turnstile[&Turnstile::coin].Tell(1);
  turnstile[&Turnstile::push].Tell("Ann");
  out.ExpectNothing();
  EXPECT_EQ(Ledger().of(Disposition::kDropped), 2);
}

TEST(BehaviorNameTest, ABehaviourIsEqualToItselfOnly) {
  class Plain final : public Actor {
   public:
    StartResult Start() override {
      Behavior one("same", After(absl::Seconds(1), [] {}));
      Behavior other("same", After(absl::Seconds(1), [] {}));
      const Behavior copy = one;
      EXPECT_TRUE(one == copy);
      EXPECT_FALSE(one == other);
      EXPECT_EQ(one.name(), "same");
      return StartResult::Ignore();
    }
  };
  TestSystem system;
  system.Spawn<Plain>();
  ExpectNothingLost(system);
}

}  // namespace
}  // namespace understudy
