// A scoped close that is bound to an ask ends when the ask does (semantics 2.2).
#include <cstdint>
#include <memory>
#include <string>
#include <utility>
#include <vector>

#include "absl/status/status.h"
#include "absl/status/statusor.h"
#include "absl/time/time.h"
#include "gmock/gmock.h"
#include "gtest/gtest.h"
#include "understudy/actors/actor.h"
#include "understudy/actors/random.h"
#include "understudy/actors/testing/actor_test.h"
#include "understudy/actors/testing/probe.h"
#include "understudy/actors/testing/seeds.h"

namespace understudy {
namespace {

using ::testing::ElementsAre;
using ::testing::IsEmpty;

using Oracle = Call<int, int>;

// Asks without awaiting the answer, and keeps its mailbox `item` closed until the answer has come.
class Selector final : public Actor {
 public:
  enum class What { kKeep, kHold, kEnd, kCancel };
  Mailbox<"item", int> item{this};
  Mailbox<"close", What> close{this};
  Mailbox<"end", int> end{this};
  Selector(Channel<Oracle> oracle, std::vector<int>* items) : oracle_(oracle), items_(items) {}
  StartResult Start() override { return open_; }

 private:
  void Close(What what) {
    auto asked = oracle_.Ask(1, absl::Seconds(2));
    ScopedClose held = context().Close(item, asked);
    if (what == What::kKeep) std::move(held).Keep();
    if (what == What::kHold || what == What::kCancel) held_.push_back(std::move(held));
    if (what == What::kCancel) asked.Cancel();
  }
  void End() { held_.clear(); }
  Channel<Oracle> oracle_;
  std::vector<int>* items_;
  std::vector<ScopedClose> held_;
  Behavior open_{"open", On(item, [this](int n) { items_->push_back(n); }), On(close, &Selector::Close),
                 On(end, &Selector::End)};
};

class AskCloseTest : public ActorTest {
 protected:
  void Close(Selector::What what) {
    selector_[&Selector::close].Tell(what);
    system().RunUntilIdle();
  }
  bool IsOpen() {
    items_.clear();
    selector_[&Selector::item].Tell(1);
    system().RunUntilIdle();
    return !items_.empty();
  }

  std::vector<int> items_;
  Probe<Oracle> oracle_{system()};
  Ref<Selector> selector_ = system().Spawn<Selector>(oracle_.channel(), &items_);
};

TEST_F(AskCloseTest, ItEndsWithTheReply) {
  // semantics 2.2
  Close(Selector::What::kHold);
  EXPECT_FALSE(IsOpen());
  oracle_.Receive()->replier.Reply(1);
  system().RunUntilIdle();
  EXPECT_THAT(items_, ElementsAre(1)) << "what waited";
  EXPECT_TRUE(IsOpen());
  selector_[&Selector::end].Tell(1);  // what is left of the scoped close ends nothing more
  EXPECT_TRUE(IsOpen());
}

TEST_F(AskCloseTest, ItEndsWithTheCalleesDeath) {
  Close(Selector::What::kKeep);
  EXPECT_FALSE(IsOpen());
  auto in_hand = oracle_.Receive();
  system().Kill(oracle_.pid());
  EXPECT_FALSE(IsOpen()) << "the test has the Replier";
  in_hand.reset();
  EXPECT_TRUE(IsOpen());
  Close(Selector::What::kKeep);
  EXPECT_TRUE(IsOpen()) << "its callee is dead already";
}

TEST_F(AskCloseTest, ItEndsAtTheDeadlineAlsoOfAnAskThatNobodyAwaits) {
  Close(Selector::What::kKeep);
  system().Advance(absl::Milliseconds(1999));
  EXPECT_FALSE(IsOpen());
  system().Advance(absl::Milliseconds(1));
  EXPECT_TRUE(IsOpen());
}

TEST_F(AskCloseTest, ItEndsWhenTheAskIsCancelled) {
  Close(Selector::What::kCancel);
  EXPECT_TRUE(IsOpen());
}

TEST_F(AskCloseTest, ItEndsWithItsObject) {
  Close(Selector::What::kHold);
  EXPECT_FALSE(IsOpen());
  selector_[&Selector::end].Tell(1);
  EXPECT_TRUE(IsOpen());
  Close(Selector::What::kEnd);
  EXPECT_TRUE(IsOpen()) << "nobody kept it";
  for (int i = 0; i < 2; ++i) oracle_.Receive()->replier.Reply(1);
  EXPECT_TRUE(IsOpen());
}

TEST_F(AskCloseTest, TheMailboxOpensWhenTheLastOfSeveralHasEnded) {
  Close(Selector::What::kKeep);
  Close(Selector::What::kHold);
  auto first = oracle_.Receive();
  auto second = oracle_.Receive();
  selector_[&Selector::end].Tell(1);
  EXPECT_FALSE(IsOpen());
  second->replier.Reply(2);
  EXPECT_FALSE(IsOpen()) << "its scoped close had ended by itself";
  first->replier.Reply(1);
  EXPECT_TRUE(IsOpen());
}

TEST_F(AskCloseTest, ItEndsWithItsActorQuietly) {
  Close(Selector::What::kKeep);
  Close(Selector::What::kHold);
  selector_[&Selector::item].Tell(1);
  system().Exit(selector_.pid(), ExitReason::Shutdown());
  system().RunUntilIdle();
  EXPECT_THAT(items_, IsEmpty());
  EXPECT_EQ(Ledger().of(Disposition::kDeadLetter), 1);
}

// With every seed: however the asks end, in the end the mailbox is open and all
// has come.
TEST(AskCloseSeedsTest, NothingStaysClosed) {
  ForEachSeed(200, [](uint64_t seed) {
    TestSystem system(seed);
    Random random(seed);
    std::vector<int> items;
    Probe<Oracle> oracle(system);
    Ref<Selector> selector = system.Spawn<Selector>(oracle.channel(), &items);
    const Selector::What whats[] = {Selector::What::kKeep, Selector::What::kHold, Selector::What::kEnd,
                                    Selector::What::kCancel};
    std::vector<Asked<int, int>> asked;
    int told = 0;
    for (int i = 0; i < 40; ++i) {
      switch (random.Below(4)) {
        case 0:
          selector[&Selector::close].Tell(whats[random.Below(4)]);
          break;
        case 1:
          selector[&Selector::item].Tell(told++);
          break;
        case 2:
          for (Asked<int, int>& one : oracle.ReceiveAll()) asked.push_back(std::move(one));
          if (!asked.empty()) {
            asked.back().replier.Reply(1);
            asked.pop_back();
          }
          break;
        default:
          system.Advance(absl::Milliseconds(random.Below(300)));
      }
    }
    system.Advance(absl::Seconds(3));
    EXPECT_EQ(items.size(), static_cast<size_t>(told));
    asked.clear();
    (void)oracle.ReceiveAll();
    ExpectNothingLost(system);
  });
}

}  // namespace
}  // namespace understudy
