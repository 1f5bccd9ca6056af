#include "understudy/examples/patterns/early_stop.h"

#include <cstdint>

#include "absl/time/time.h"
#include "absl/types/optional.h"
#include "gtest/gtest.h"
#include "understudy/actors/test_system.h"
#include "understudy/actors/testing/actor_test.h"
#include "understudy/actors/testing/probe.h"

namespace understudy::patterns {
namespace {

class EarlyStopTest : public ActorTest {
 protected:
  Found Run(const Search& search) {
    Probe<Found> found(system());
    system().Spawn<QueensMaster>(search, found.channel());
    system().Advance(absl::Minutes(1));
    const absl::optional<Found> told = found.Receive();
    EXPECT_TRUE(told.has_value());
    found.ExpectNothing();
    EXPECT_EQ(system().live_actors(), ++probes_) << "the probes: master and workers have ended";
    return told.value_or(Found());
  }
  int probes_ = 0;
};

TEST_F(EarlyStopTest, WithoutAnEnoughItFindsAllSolutions) {
  for (const auto& [queens, solutions] : {std::pair(6, 4), std::pair(8, 92), std::pair(9, 352)}) {
    const Found found = Run({.queens = queens, .enough = INT64_MAX, .workers = 3});
    EXPECT_EQ(found.solutions, solutions) << queens;
  }
}

// SEL 13
// N = 12; boards with four queens are solved by one worker alone; the search stops at 100 solutions; 20 workers. By
// rank, the workers handle at most a quarter of the boards that they handle by arrival. A board takes a millisecond of
// virtual time, so that the workers work at the same time. Messages that are still under way when the master stops
// become dead letters.
TEST_F(EarlyStopTest, ByRankAFractionOfTheBoardsIsEnough) {
  Search search{.queens = 12, .alone_from = 4, .enough = 100, .workers = 20, .board_takes = absl::Milliseconds(1)};
  const Found by_rank = Run(search);
  search.order = Order::kArrival;
  const Found by_arrival = Run(search);
  EXPECT_GE(by_rank.solutions, 100);
  EXPECT_GE(by_arrival.solutions, 100);
  EXPECT_LE(by_rank.boards * 4, by_arrival.boards);
  RecordProperty("boards_by_rank", static_cast<int>(by_rank.boards));
  RecordProperty("boards_by_arrival", static_cast<int>(by_arrival.boards));
  EXPECT_FALSE(dead_letters().empty());
}

}  // namespace
}  // namespace understudy::patterns
