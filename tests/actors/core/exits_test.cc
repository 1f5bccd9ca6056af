// Exits without an actor.
#include "understudy/actors/internal/turn/exits.h"

#include <memory>

#include "absl/status/status.h"
#include "gtest/gtest.h"
#include "understudy/actors/crash_report.h"
#include "understudy/actors/exit_reason.h"

namespace understudy::internal {
namespace {

Exits::Handler Handler() { return std::make_shared<MessageHandler>(MessageHandler::Dropping()); }

TEST(ExitsTest, WithoutTrappingEachExitEndsTheActorExceptANormalOneOfAnother) {
  const Exits exits;
  EXPECT_EQ(exits.EffectOf(ExitReason::Shutdown(), /*is_own=*/false), Exits::Effect::kEndsActor);
  EXPECT_EQ(exits.EffectOf(ExitReason::Normal(), /*is_own=*/true), Exits::Effect::kEndsActor);
  EXPECT_EQ(exits.EffectOf(ExitReason::Normal(), /*is_own=*/false), Exits::Effect::kNothing);
}

TEST(ExitsTest, TrappedExitsAreEventsWhateverTheirReasonIs) {
  Exits exits;
  exits.Trap(nullptr, nullptr);
  EXPECT_EQ(exits.EffectOf(ExitReason::Shutdown(), /*is_own=*/false), Exits::Effect::kIsEvent);
  EXPECT_EQ(exits.EffectOf(ExitReason::Normal(), /*is_own=*/false), Exits::Effect::kIsEvent);
  EXPECT_EQ(exits.EffectOf(ExitReason::Normal(), /*is_own=*/true), Exits::Effect::kIsEvent);
}

TEST(ExitsTest, EachKindHasTheHandlerThatWasSetLast) {
  Exits exits;
  exits.Trap(Handler(), Handler());
  const Exits::Handler of_peers = Handler();
  const Exits::Handler of_parent = Handler();
  const Exits::Handler of_stop = Handler();
  exits.Trap(of_peers, of_parent);
  exits.SetStopHandler(of_stop);
  EXPECT_EQ(exits.HandlerOf(Event::Kind::kExit), of_peers);
  EXPECT_EQ(exits.HandlerOf(Event::Kind::kParentExit), of_parent);
  EXPECT_EQ(exits.HandlerOf(Event::Kind::kStopRequest), of_stop);
  EXPECT_FALSE(Exits::IsHandled(Event::Kind::kDown));
  exits.DropHandlers();
  EXPECT_EQ(exits.HandlerOf(Event::Kind::kExit), nullptr);
  EXPECT_EQ(exits.HandlerOf(Event::Kind::kParentExit), nullptr);
  EXPECT_EQ(exits.HandlerOf(Event::Kind::kStopRequest), nullptr);
}

TEST(ExitsTest, TheParentsTimerIsTakenOnce) {
  Exits exits;
  exits.NoteParentsExit();
  exits.SetParentsTimer(7);
  EXPECT_EQ(exits.parents_timer(), 7U);
  EXPECT_EQ(exits.TakeParentsTimer(), 7U);
  EXPECT_EQ(exits.TakeParentsTimer(), 0U);
  EXPECT_TRUE(exits.is_told_to_end());
}

TEST(ExitsTest, AReasonIsUnsaidUntilItIsDecidedAndTheLaterCounts) {
  Exits exits;
  EXPECT_EQ(exits.reason(), nullptr);
  exits.End(ExitReason::Shutdown());
  exits.End(ExitReason::Killed());
  ASSERT_NE(exits.reason(), nullptr);
  EXPECT_EQ(*exits.reason(), ExitReason::Killed());
}

TEST(ExitsTest, TheCrashOfAPeerThatComesWithItsReasonIsNotTheActorsOwn) {
  const auto peers = std::make_shared<const CrashReport>();
  Exits exits;
  exits.End(ExitReason::Failed(absl::DataLossError("disk")).WithCrash(peers));
  EXPECT_NE(exits.reason()->crash(), nullptr);
  EXPECT_EQ(exits.crash(), nullptr);
  exits.AddCrash(std::make_shared<const CrashReport>());
  EXPECT_NE(exits.crash(), nullptr);
}

}  // namespace
}  // namespace understudy::internal
