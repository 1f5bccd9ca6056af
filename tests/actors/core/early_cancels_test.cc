// EarlyCancels without an actor.
#include "understudy/actors/internal/turn/early_cancels.h"

#include <cstdint>
#include <vector>

#include "gtest/gtest.h"
#include "understudy/actors/pid.h"

namespace understudy::internal {
namespace {

TEST(EarlyCancelsTest, ACancelIsDroppedUntilTheActorHasForwardedACall) {
  EarlyCancels cancels;
  cancels.Add({.asker = Pid(), .ask = 1});
  EXPECT_TRUE(cancels.empty());
  cancels.NoteForwarded();
  cancels.Add({.asker = Pid(), .ask = 2});
  EXPECT_FALSE(cancels.empty());
}

TEST(EarlyCancelsTest, CancelsAreTakenOnceInTheirOrder) {
  EarlyCancels cancels;
  cancels.NoteForwarded();
  const Pid asker = Pid::OfLife(9, 4);
  cancels.Add({.asker = asker, .ask = 3});
  cancels.Add({.asker = Pid(), .ask = 1});
  const std::vector<EarlyCancels::Cancel> taken = cancels.TakeAll();
  ASSERT_EQ(taken.size(), 2);
  EXPECT_EQ(taken[0].asker, asker);
  EXPECT_EQ(taken[0].ask, 3);
  EXPECT_EQ(taken[1].ask, 1);
  EXPECT_TRUE(cancels.empty());
  cancels.Add({.asker = asker, .ask = 4});
  EXPECT_FALSE(cancels.empty()) << "later batches have cancels too";
}

}  // namespace
}  // namespace understudy::internal
