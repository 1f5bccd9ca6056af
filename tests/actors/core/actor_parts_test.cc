// ActorParts without an actor.
#include "understudy/actors/internal/turn/actor_parts.h"

#include <memory>

#include "absl/status/status.h"
#include "gtest/gtest.h"
#include "understudy/actors/actor_spec.h"
#include "understudy/actors/exit_reason.h"
#include "understudy/actors/pid.h"

namespace understudy::internal {
namespace {

const Pid kParent(1, 2, 3);
const Pid kPeer(1, 4, 5);

TEST(ActorPartsTest, LookingAtPartsMakesNone) {
  const ActorParts parts(ParentTie(kParent, SpawnLink::kLinked, {}));
  EXPECT_EQ(parts.known_asks(), nullptr);
  EXPECT_EQ(parts.known_timers(), nullptr);
  EXPECT_EQ(parts.known_exits(), nullptr);
  EXPECT_EQ(parts.known_watches(), nullptr);
  EXPECT_EQ(parts.known_crash_notes(), nullptr);
  EXPECT_EQ(parts.known_activations(), nullptr);
  EXPECT_EQ(parts.known_links(), nullptr);
  EXPECT_EQ(parts.closed_mask(), 0);
  EXPECT_EQ(parts.exits_or_default().reason(), nullptr);
  EXPECT_EQ(parts.spawn_or_default().parents_id(), 0);
  EXPECT_TRUE(parts.empty());
}

TEST(ActorPartsTest, APartIsMadeAtItsFirstUseAndStays) {
  ActorParts parts(ParentTie(Pid(), SpawnLink::kUnlinked, {}));
  Exits& exits = parts.exits();
  exits.End(ExitReason::Failed(absl::DataLossError("torn")));
  EXPECT_FALSE(parts.empty());
  EXPECT_EQ(&parts.exits(), &exits);
  EXPECT_EQ(parts.known_exits(), &exits);
  EXPECT_EQ(&parts.exits_or_default(), &exits);
  // The others that are made one by one are not made with it.
  EXPECT_EQ(parts.known_timers(), nullptr);
  EXPECT_EQ(parts.known_asks(), nullptr);
  parts.closed().Close(3);
  EXPECT_EQ(parts.closed_mask(), 8);
}

TEST(ActorPartsTest, TheLinkToTheParentMovesToTheLinkTableAtTheFirstUseOfLinks) {
  ActorParts parts(ParentTie(kParent, SpawnLink::kLinked, {}));
  parts.events();
  ASSERT_NE(parts.known_links(), nullptr);
  EXPECT_EQ(parts.known_links()->link_count(), 0);
  EXPECT_TRUE(parts.parent_tie().is_linked());
  EXPECT_TRUE(parts.links().IsLinked(kParent));
  EXPECT_FALSE(parts.parent_tie().is_linked());
  EXPECT_EQ(parts.links().link_count(), 1);
}

TEST(ActorPartsTest, AnActorThatIsNotLinkedToItsParentHasNoLink) {
  ActorParts parts(ParentTie(kParent, SpawnLink::kUnlinked, {}));
  EXPECT_EQ(parts.links().link_count(), 0);
  EXPECT_FALSE(parts.links().IsLinked(kPeer));
}

TEST(ActorPartsTest, TimersThatWereTakenAreGone) {
  ActorParts parts(ParentTie(Pid(), SpawnLink::kUnlinked, {}));
  EXPECT_EQ(parts.TakeTimers(), nullptr);
  EXPECT_TRUE(parts.empty());
  parts.timers();
  EXPECT_NE(parts.TakeTimers(), nullptr);
  EXPECT_EQ(parts.known_timers(), nullptr);
}

}  // namespace
}  // namespace understudy::internal
