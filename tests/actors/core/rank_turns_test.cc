#include "understudy/actors/internal/turn/rank_turns.h"

#include <cstddef>
#include <vector>

#include "gmock/gmock.h"
#include "gtest/gtest.h"

namespace understudy::internal {
namespace {

using ::testing::ElementsAre;

// The ranks that are served in `rounds` rounds; each has mail whose quota is not 0.
std::vector<size_t> Serve(RankTurns& turns, int rounds, const std::vector<size_t>& quotas) {
  std::vector<size_t> served;
  for (int i = 0; i < rounds; ++i) {
    served.push_back(turns.Next(quotas.size(), [&](size_t rank) { return quotas[rank]; }));
  }
  return served;
}

TEST(RankTurnsTest, EachRankIsServedUpToItsQuotaFromTheTop) {
  RankTurns turns;
  EXPECT_THAT(Serve(turns, 7, {3, 1, 2}), ElementsAre(0, 0, 0, 1, 2, 2, 0));
}

TEST(RankTurnsTest, ARankWithoutMailLosesItsTurn) {
  RankTurns turns;
  EXPECT_THAT(Serve(turns, 2, {2, 0, 2}), ElementsAre(0, 0));
  EXPECT_THAT(Serve(turns, 3, {2, 0, 2}), ElementsAre(2, 2, 0));
  EXPECT_THAT(Serve(turns, 2, {0, 2, 2}), ElementsAre(1, 1)) << "the rest of its quota is lost";
}

TEST(RankTurnsTest, TheOnlyRankWithMailIsServedOnBeyondItsQuota) {
  RankTurns turns;
  EXPECT_THAT(Serve(turns, 5, {0, 2, 0}), ElementsAre(1, 1, 1, 1, 1));
}

TEST(RankTurnsTest, TheTurnOutlivesABehaviorOfWhichTheNextMayHaveFewerRanks) {
  RankTurns turns;
  EXPECT_THAT(Serve(turns, 3, {1, 1, 1}), ElementsAre(0, 1, 2));
  EXPECT_THAT(Serve(turns, 3, {1, 1}), ElementsAre(0, 1, 0)) << "from the top";
  EXPECT_THAT(Serve(turns, 1, {1, 1}), ElementsAre(1));
  turns.Restart();
  EXPECT_THAT(Serve(turns, 2, {2, 1}), ElementsAre(0, 0));
}

}  // namespace
}  // namespace understudy::internal
