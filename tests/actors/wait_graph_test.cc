// WaitGraph without actors.
#include "understudy/actors/internal/asks/wait_graph.h"

#include <cstdint>
#include <functional>
#include <map>
#include <set>
#include <string>
#include <utility>
#include <vector>

#include "absl/time/time.h"
#include "gmock/gmock.h"
#include "gtest/gtest.h"
#include "understudy/actors/call_cycle.h"
#include "understudy/actors/clock.h"
#include "understudy/actors/pid.h"
#include "understudy/actors/random.h"

namespace understudy::internal {
namespace {

using ::testing::ElementsAre;
using ::testing::IsEmpty;

Pid P(uint64_t n) { return Pid(1, static_cast<uint32_t>(n), n); }

std::vector<uint64_t> Waiters(const CallCycle& cycle) {
  std::vector<uint64_t> waiters;
  for (size_t i = 0; i < cycle.waits.size(); ++i) {
    waiters.push_back(cycle.waits[i].waiter.serial());
    EXPECT_EQ(cycle.waits[i].holder, cycle.waits[(i + 1) % cycle.waits.size()].waiter) << "a circle";
  }
  return waiters;
}

class WaitGraphTest : public ::testing::Test {
 protected:
  void Ask(uint64_t asker, uint64_t callee) {
    graph_.Asked(asker * 100 + callee, {.waiter = P(asker), .holder = P(callee), .asked = "mailbox"});
  }
  std::vector<uint64_t> Await(uint64_t asker, uint64_t callee) {
    return Waiters(graph_.Awaits(P(asker), asker * 100 + callee, "handler"));
  }
  std::vector<uint64_t> AskAndAwait(uint64_t asker, uint64_t callee) {
    Ask(asker, callee);
    return Await(asker, callee);
  }
  WaitGraph graph_;
};

TEST_F(WaitGraphTest, TheWaitThatClosesACircleFindsItAndComesFirst) {
  EXPECT_THAT(AskAndAwait(1, 2), IsEmpty());
  EXPECT_THAT(AskAndAwait(2, 3), IsEmpty());
  EXPECT_THAT(AskAndAwait(4, 1), IsEmpty()) << "waits for it, and is not in it";
  EXPECT_THAT(AskAndAwait(3, 1), ElementsAre(3, 1, 2));
}

TEST_F(WaitGraphTest, AnActorThatWaitsForItselfIsACircle) { EXPECT_THAT(AskAndAwait(1, 1), ElementsAre(1)); }

TEST_F(WaitGraphTest, AnAskThatIsNotAwaitedMakesNoCircle) {
  Ask(1, 2);
  EXPECT_THAT(AskAndAwait(2, 1), IsEmpty());
  EXPECT_THAT(Await(1, 2), ElementsAre(1, 2)) << "now it does";
}

TEST_F(WaitGraphTest, AForgottenAskIsNoWait) {
  AskAndAwait(1, 2);
  graph_.Forget(P(1), 102);
  EXPECT_THAT(AskAndAwait(2, 1), IsEmpty());
  EXPECT_THAT(Await(1, 2), IsEmpty()) << "it was answered before it was awaited";
  AskAndAwait(1, 3);
  AskAndAwait(1, 4);
  graph_.ForgetAll(P(1));
  EXPECT_EQ(graph_.size(), 1U);
}

TEST_F(WaitGraphTest, ACallIsAnsweredByWhoHasTheRight) {
  AskAndAwait(1, 2);
  EXPECT_THAT(Waiters(graph_.Moved(P(1), 102, P(3))), IsEmpty());
  EXPECT_THAT(AskAndAwait(2, 1), IsEmpty());
  EXPECT_THAT(AskAndAwait(3, 1), ElementsAre(3, 1));
  EXPECT_THAT(Waiters(graph_.Moved(P(1), 102, P(2))), ElementsAre(1, 2)) << "the move closes it";
  EXPECT_THAT(Waiters(graph_.Moved(P(1), 102, P(2))), IsEmpty()) << "told once";
}

TEST_F(WaitGraphTest, ACallInHandMakesNoCircleUntilItWaitsAgain) {
  AskAndAwait(1, 2);
  graph_.IsInHand(P(1), 102);
  EXPECT_THAT(AskAndAwait(2, 1), IsEmpty());
  EXPECT_THAT(Waiters(graph_.Moved(P(1), 102, P(2))), IsEmpty()) << "in the same hand";
  EXPECT_THAT(Waiters(graph_.WaitsAgain(P(1), 102)), ElementsAre(1, 2));
  EXPECT_THAT(Waiters(graph_.WaitsAgain(P(1), 102)), IsEmpty()) << "told once";
  graph_.IsInHand(P(2), 201);
  AskAndAwait(3, 2);
  EXPECT_THAT(Waiters(graph_.Moved(P(2), 201, P(3))), ElementsAre(2, 3)) << "another has it, who is held";
  EXPECT_THAT(Waiters(graph_.Moved(P(2), 201, P(1))), IsEmpty()) << "it came back";
  graph_.IsInHand(P(4), 401);
  EXPECT_THAT(Waiters(graph_.WaitsAgain(P(4), 401)), IsEmpty()) << "it is over";
  Ask(4, 5);
  graph_.IsInHand(P(4), 405);
  AskAndAwait(5, 4);
  EXPECT_THAT(Await(4, 5), IsEmpty()) << "in hand before it was awaited";
}

TEST_F(WaitGraphTest, ACircleIsPrintedWithBothChains) {
  graph_.Asked(1, {.waiter = P(1), .holder = P(2), .asked = "pay", .since = MonotonicTime::FromNanos(3'000'000'000)});
  graph_.Asked(1, {.waiter = P(2), .holder = P(1), .asked = "check", .since = MonotonicTime::FromNanos(2'000'000'000)});
  (void)graph_.Awaits(P(1), 1, "order");
  const CallCycle cycle = graph_.Awaits(P(2), 1, "pay");
  const std::string text = cycle.ToString(MonotonicTime::FromNanos(3'000'000'000));
  EXPECT_EQ(text, "call cycle of 2 actors: " + P(2).ToString() + " in its handler of pay waits for " + P(1).ToString() +
                      ", which it asked in mailbox check 1s ago; while " + P(1).ToString() +
                      " in its handler of order waits for " + P(2).ToString() +
                      ", which it asked in mailbox pay just now; only their deadlines end it");
}

// Against a search through all paths.
TEST_F(WaitGraphTest, FindsACircleExactlyWhenThereIsOne) {
  int found = 0;
  for (uint64_t seed = 1; seed <= 500; ++seed) {
    Random random(seed);
    WaitGraph graph;
    std::map<uint64_t, std::set<uint64_t>> edges;
    const std::function<bool(uint64_t, uint64_t, std::set<uint64_t>&)> leads = [&](uint64_t from, uint64_t to,
                                                                                   std::set<uint64_t>& seen) -> bool {
      if (from == to) return true;
      if (!seen.insert(from).second) return false;
      for (const uint64_t next : edges[from]) {
        if (leads(next, to, seen)) return true;
      }
      return false;
    };
    for (int step = 0; step < 20; ++step) {
      const uint64_t asker = 1 + random.Below(6);
      const uint64_t callee = 1 + random.Below(6);
      const uint64_t ask = asker * 100 + callee;
      if (random.Below(4) == 0) {
        graph.Forget(P(asker), ask);
        edges[asker].erase(callee);
        continue;
      }
      if (edges[asker].contains(callee)) continue;
      graph.Asked(ask, {.waiter = P(asker), .holder = P(callee)});
      const CallCycle cycle = graph.Awaits(P(asker), ask, "");
      std::set<uint64_t> seen;
      ASSERT_EQ(!cycle.waits.empty(), leads(callee, asker, seen)) << "seed " << seed;
      if (!cycle.waits.empty()) {
        ++found;
        EXPECT_EQ(Waiters(cycle).front(), asker);
      }
      edges[asker].insert(callee);
    }
  }
  EXPECT_GT(found, 100);
}

}  // namespace
}  // namespace understudy::internal
