// Which messages a child's next life gets after a restart (semantics 6.1): the unhandled tells of mailboxes that keep
// them, and no other messages.
#include "understudy/actors/unhandled_mail.h"

#include <cstdint>
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
#include "understudy/actors/exit_reason.h"
#include "understudy/actors/mailbox.h"
#include "understudy/actors/pid.h"
#include "understudy/actors/random.h"
#include "understudy/actors/test_system.h"
#include "understudy/actors/testing/actor_test.h"
#include "understudy/actors/testing/seeds.h"
#include "understudy/supervision/builders.h"
#include "understudy/supervision/child_spec.h"
#include "understudy/supervision/pool.h"
#include "understudy/supervision/supervisor.h"

namespace understudy {
namespace {

using ::testing::ElementsAre;
using ::testing::IsEmpty;

// State that the lives of a child share.
struct Lives {
  std::vector<std::string> notes;
  bool is_open = false;
  bool declines = false;
  int starts_that_fail = 0;
  int starts = 0;
};

class Clerk final : public Actor {
 public:
  Mailbox<"order", int> order{this, {.on_restart = OnRestart::kKeep}};
  Mailbox<"note", int> note{this};
  explicit Clerk(std::shared_ptr<Lives> lives) : lives_(std::move(lives)) {}
  StartResult Start() override {
    ++lives_->starts;
    if (lives_->declines) return StartResult::Ignore();
    if (lives_->starts_that_fail > 0) {
      --lives_->starts_that_fail;
      return absl::UnavailableError("not yet");
    }
    // A timer or a ScopedClose of an earlier life, if it had any effect, would show up in the test.
    if (absl::Status armed =
            context().StartTimer("tick", absl::Seconds(5), [this] { lives_->notes.push_back("tick"); });
        !armed.ok()) {
      return armed;
    }
    if (!lives_->is_open) close_ = context().Close(order);
    return open_;
  }

 private:
  void Handle(int n) { lives_->notes.push_back(absl::StrCat(n)); }

  const std::shared_ptr<Lives> lives_;
  ScopedClose close_;
  Behavior open_{"open", On(order, &Clerk::Handle), On(note, &Clerk::Handle)};
};

class UnhandledMailOfChildTest : public testing::Test {
 protected:
  void TearDown() override { ExpectNothingLost(system_); }

  SupervisorRef Spawn(const SupervisorBuilder& tree) {
    const SupervisorRef root = system_.Spawn(tree);
    system_.RunUntilIdle();
    return root;
  }
  Ref<Clerk> ClerkOf(SupervisorRef root, const std::string& id = "clerk") {
    absl::StatusOr<Children> children = system_.Ask(root.which_children(), WhichChildren(), absl::Seconds(1));
    for (const ChildInfo& child : children->children) {
      if (child.id == id) return Ref<Clerk>(child.pid);
    }
    return {};
  }
  void Order(SupervisorRef root, std::vector<int> orders, const std::string& id = "clerk") {
    for (const int n : orders) {
      ClerkOf(root, id)[&Clerk::order].Tell(n);
      ClerkOf(root, id)[&Clerk::note].Tell(100 + n);
    }
    system_.RunUntilIdle();
  }
  void Fail(Ref<Clerk> clerk) {
    system_.Exit(clerk.pid(), ExitReason::Failed(absl::DataLossError("disk")));
    system_.RunUntilIdle();
  }
  MessageLedger OfEnded() {
    for (const MailboxLedger& ledger : system_.MailboxLedgers()) {
      if (ledger.actor.is_null() && ledger.mailbox == "order") return ledger.messages;
    }
    return {};
  }

  TestSystem system_{SeedFromEnvironment().value_or(1)};
  std::shared_ptr<Lives> lives_ = std::make_shared<Lives>();
};

TEST_F(UnhandledMailOfChildTest, ARestartedChildHasWhatWaitedAndNothingElseOfItsLastLife) {
  const SupervisorRef root = Spawn(OneForOne().Child("clerk", Of<Clerk>(lives_)));
  Order(root, {1, 2});
  EXPECT_THAT(lives_->notes, ElementsAre("101", "102")) << "its mailbox is closed";
  const Ref<Clerk> first = ClerkOf(root);
  lives_->is_open = true;
  Fail(first);
  EXPECT_NE(ClerkOf(root).pid(), first.pid());
  EXPECT_THAT(lives_->notes, ElementsAre("101", "102", "1", "2")) << "a scoped close of the last life is over";
  EXPECT_EQ(OfEnded(), (MessageLedger{.accepted = 2, .dispositions = {0, 0, 0, 0, 0, 0, 0, 2}}));
  system_.Advance(absl::Seconds(6));
  EXPECT_EQ(lives_->notes.back(), "tick");
  EXPECT_EQ(lives_->notes.size(), 5U) << "so is a timer of the last life";
}

TEST_F(UnhandledMailOfChildTest, UnhandledMailWaitsForTheStartThatSucceedsAndForItsTimeToLive) {
  const SupervisorRef root = Spawn(OneForOne().Child(
      "clerk", Of<Clerk>(lives_).Backoff({.min = absl::Seconds(1), .max = absl::Seconds(1), .jitter = 0})));
  Order(root, {1, 2});
  lives_->is_open = true;
  lives_->starts_that_fail = 3;
  Fail(ClerkOf(root));
  EXPECT_EQ(OfEnded().waiting, 2);
  ExpectLedgersBalance(system_);
  system_.Advance(absl::Seconds(10));
  EXPECT_EQ(lives_->starts, 5);
  EXPECT_THAT(lives_->notes, testing::IsSupersetOf({"1", "2"}));
  // The first life forwarded its messages, and so did each life that failed to start.
  EXPECT_EQ(OfEnded(), (MessageLedger{.accepted = 8, .dispositions = {0, 0, 0, 0, 0, 0, 0, 8}}));
}

TEST_F(UnhandledMailOfChildTest, EachSiblingHasItsOwnUnhandledMail) {
  auto other = std::make_shared<Lives>();
  const SupervisorRef root = Spawn(OneForAll().Child("clerk", Of<Clerk>(lives_)).Child("other", Of<Clerk>(other)));
  Order(root, {1});
  Order(root, {2}, "other");
  lives_->is_open = other->is_open = true;
  Fail(ClerkOf(root));
  EXPECT_THAT(lives_->notes, ElementsAre("101", "1"));
  EXPECT_THAT(other->notes, ElementsAre("102", "2"));
}

TEST_F(UnhandledMailOfChildTest, AStoppedChildHasItsUnhandledMailWhenItIsStartedAgain) {
  const SupervisorRef root = Spawn(OneForOne().Child("clerk", Of<Clerk>(lives_)));
  Order(root, {1});
  ASSERT_TRUE(system_.Ask(root.terminate_child(), TerminateChild{"clerk"}, absl::Seconds(1)).ok());
  EXPECT_EQ(OfEnded().waiting, 1);
  lives_->is_open = true;
  ASSERT_TRUE(system_.Ask(root.restart_child(), RestartChild{"clerk"}, absl::Seconds(1)).ok());
  system_.RunUntilIdle();
  EXPECT_THAT(lives_->notes, ElementsAre("101", "1"));
}

TEST_F(UnhandledMailOfChildTest, AChildThatDeclinesToStartLeavesUnhandledMailToTheNextLife) {
  const SupervisorRef root = Spawn(OneForOne().Child("clerk", Of<Clerk>(lives_)));
  Order(root, {1, 2});
  lives_->declines = true;
  Fail(ClerkOf(root));
  EXPECT_TRUE(ClerkOf(root).pid().is_null()) << "it is stopped";
  EXPECT_EQ(OfEnded().waiting, 2);
  lives_->declines = false;
  lives_->is_open = true;
  ASSERT_TRUE(system_.Ask(root.restart_child(), RestartChild{"clerk"}, absl::Seconds(1)).ok());
  system_.RunUntilIdle();
  EXPECT_THAT(lives_->notes, ElementsAre("101", "102", "1", "2"));
}

TEST_F(UnhandledMailOfChildTest, AForgottenChildHasNoSuccessor) {
  const SupervisorRef root =
      Spawn(OneForOne().Child("clerk", Of<Clerk>(lives_)).Child("temporary", Of<Clerk>(lives_).Temporary()));
  Order(root, {1});
  Order(root, {2}, "temporary");
  Fail(ClerkOf(root, "temporary"));
  EXPECT_EQ(OfEnded().of(Disposition::kDeadLetter), 1) << "the mail of the temporary child";
  ASSERT_TRUE(system_.Ask(root.terminate_child(), TerminateChild{"clerk"}, absl::Seconds(1)).ok());
  EXPECT_EQ(OfEnded().of(Disposition::kDeadLetter), 1);
  ASSERT_TRUE(system_.Ask(root.delete_child(), DeleteChild{"clerk"}, absl::Seconds(1)).ok());
  system_.RunUntilIdle();
  EXPECT_EQ(OfEnded().of(Disposition::kDeadLetter), 2);
  // A new child with the id of a deleted one does not get the deleted child's unhandled mail.
  lives_->is_open = true;
  ASSERT_TRUE(system_.Ask(root.start_child(), StartChild{Of<Clerk>(lives_).Spec("clerk")}, absl::Seconds(1)).ok());
  system_.RunUntilIdle();
  EXPECT_THAT(lives_->notes, ElementsAre("101", "102"));
}

TEST_F(UnhandledMailOfChildTest, AChildOfAPoolThatIsForgottenWhileItWaitsHasNoSuccessor) {
  using Clerks = Pool<Clerk(std::shared_ptr<Lives>)>;
  const SupervisorRef root =
      Spawn(OneForOne().Child("clerks", Of<Clerks>(PoolOptions{.restart = RestartType::kPermanent,
                                                               .backoff = RestartBackoff{.min = absl::Seconds(10)}})));
  const Clerks::Ref pool(ClerkOf(root, "clerks").pid());
  ASSERT_TRUE(system_.Ask(pool.start_as(), {"x", lives_}, absl::Seconds(1)).ok());
  Fail(ClerkOf(pool, "x"));
  Order(pool, {1}, "x");
  Fail(ClerkOf(pool, "x"));
  EXPECT_EQ(OfEnded().waiting, 1) << "the child waits in backoff";
  ASSERT_TRUE(system_.Ask(pool.terminate_child(), TerminateChild{"x"}, absl::Seconds(1)).ok());
  system_.RunUntilIdle();
  EXPECT_EQ(OfEnded().waiting, 0);
  EXPECT_EQ(OfEnded().of(Disposition::kDeadLetter), 1);
}

TEST_F(UnhandledMailOfChildTest, UnhandledMailIsDeadLettersAtTheEndOfTheSupervisor) {
  const SupervisorRef root = Spawn(OneForOne().Intensity(0, absl::Seconds(1)).Child("clerk", Of<Clerk>(lives_)));
  Order(root, {1, 2});
  Fail(ClerkOf(root));
  EXPECT_EQ(system_.live_actors(), 0) << "the child has given up";
  EXPECT_EQ(OfEnded(), (MessageLedger{.accepted = 2, .dispositions = {0, 0, 0, 0, 0, 0, 2, 0}}));
}

// Under every seed, no accepted message may be lost or duplicated while a tree of clerks is killed and stopped at
// random.
TEST(UnhandledMailOfChildSeedsTest, WhateverIsKilledEachOrderIsHandledOnceInOrder) {
  int restarts = 0;
  ForEachSeed(200, [&](uint64_t seed) {
    TestSystem system(seed);
    Random random(seed);
    std::vector<std::shared_ptr<Lives>> lives;
    SupervisorBuilder tree = random.Below(2) == 0 ? OneForOne() : OneForAll();
    tree = std::move(tree).Intensity(1000, absl::Seconds(1));
    for (int i = 0; i < 3; ++i) {
      lives.push_back(std::make_shared<Lives>());
      tree = std::move(tree).Child(absl::StrCat(i), Of<Clerk>(lives.back()));
    }
    const SupervisorRef root = system.Spawn(tree);
    system.RunUntilIdle();
    std::vector<std::vector<std::string>> accepted(3);
    for (int step = 0; step < 40; ++step) {
      const size_t which = random.Below(3);
      absl::StatusOr<Children> children = system.Ask(root.which_children(), WhichChildren(), absl::Seconds(1));
      ASSERT_TRUE(children.ok());
      const Ref<Clerk> clerk(children->children[which].pid);
      lives[which]->is_open = random.Below(3) == 0;
      for (uint64_t i = random.Below(3); i > 0; --i) {
        if (clerk[&Clerk::order].Send(step).ok()) accepted[which].push_back(absl::StrCat(step));
      }
      if (random.Below(4) == 0) lives[which]->starts_that_fail = static_cast<int>(random.Below(3));
      if (random.Below(3) == 0) system.Kill(clerk.pid());
      if (random.Below(2) == 0) system.RunUntilIdle();
      if (random.Below(8) == 0) {
        system.RunUntilIdle();
        ExpectLedgersBalance(system);
      }
    }
    system.RunUntilIdle();
    // Each child gets one more life, whose mailboxes are open.
    for (const std::shared_ptr<Lives>& life : lives) life->is_open = true;
    absl::StatusOr<Children> children = system.Ask(root.which_children(), WhichChildren(), absl::Seconds(1));
    for (const ChildInfo& child : children->children) system.Kill(child.pid);
    system.RunUntilIdle();
    for (size_t i = 0; i < 3; ++i) {
      EXPECT_EQ(lives[i]->notes, accepted[i]) << "child " << i;
      restarts += lives[i]->starts - 1;
    }
    ExpectNothingLost(system);
  });
  if (!SeedFromEnvironment()) {
    EXPECT_GT(restarts, 1000);
  }
}

}  // namespace
}  // namespace understudy
