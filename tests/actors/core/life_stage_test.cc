// LifeStage alone.
#include "understudy/actors/internal/turn/life_stage.h"

#include "gtest/gtest.h"

namespace understudy::internal {
namespace {

LifeStage Running() {
  LifeStage stage;
  stage.Constructed();
  stage.Started();
  stage.SetSimple(true);
  return stage;
}

TEST(LifeStageTest, ATurnIsPlainOnceTheActorHasStartedWithASimpleBehavior) {
  LifeStage stage;
  EXPECT_FALSE(stage.is_plain());
  stage.Constructed();
  stage.SetSimple(true);
  EXPECT_FALSE(stage.is_plain());
  stage.Started();
  EXPECT_TRUE(stage.is_plain());
  stage.SetSimple(false);
  EXPECT_FALSE(stage.is_plain());
}

TEST(LifeStageTest, AnActorThatStartsLaterIsNotPlainBeforeItHasStarted) {
  LifeStage stage;
  stage.Constructed();
  stage.Open();
  stage.SetSimple(true);
  EXPECT_TRUE(stage.start().handles_messages());
  EXPECT_FALSE(stage.is_plain());
}

TEST(LifeStageTest, TheFirstDecisionToEndCounts) {
  LifeStage stage = Running();
  EXPECT_FALSE(stage.has_exit());
  EXPECT_TRUE(stage.DecideEnd());
  EXPECT_TRUE(stage.has_exit());
  EXPECT_FALSE(stage.is_plain());
  EXPECT_FALSE(stage.DecideKill());
  EXPECT_FALSE(stage.is_killed());
  EXPECT_FALSE(stage.is_ending());
  stage.BeginEnd();
  EXPECT_TRUE(stage.is_ending());
  EXPECT_FALSE(stage.is_fenced());
}

TEST(LifeStageTest, AKilledActorHasAnExit) {
  LifeStage stage = Running();
  EXPECT_TRUE(stage.DecideKill());
  EXPECT_TRUE(stage.is_killed());
  EXPECT_TRUE(stage.has_exit());
  EXPECT_FALSE(stage.DecideEnd());
}

TEST(LifeStageTest, AFencedActorIsKilledAndEndsWhateverWasDecidedBefore) {
  for (const bool is_decided : {false, true}) {
    LifeStage stage = Running();
    if (is_decided) EXPECT_TRUE(stage.DecideEnd());
    stage.BecomeFenced();
    EXPECT_TRUE(stage.is_fenced());
    EXPECT_TRUE(stage.is_killed());
    EXPECT_TRUE(stage.is_ending());
    EXPECT_TRUE(stage.has_exit());
  }
}

TEST(LifeStageTest, ATurnIsNotPlainWhileItHasObjectsToDestroyOrAnInboxToDrain) {
  LifeStage stage = Running();
  stage.SetDeferred(true);
  EXPECT_TRUE(stage.has_deferred());
  EXPECT_FALSE(stage.is_plain());
  stage.SetDrainsSoon(true);
  stage.SetDeferred(false);
  EXPECT_TRUE(stage.drains_soon());
  EXPECT_FALSE(stage.is_plain());
  stage.SetDrainsSoon(false);
  EXPECT_TRUE(stage.is_plain());
}

}  // namespace
}  // namespace understudy::internal
