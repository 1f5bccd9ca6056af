// ParentTie alone.
#include "understudy/actors/internal/turn/parent_tie.h"

#include "gtest/gtest.h"
#include "understudy/actors/actor_spec.h"
#include "understudy/actors/pid.h"

namespace understudy::internal {
namespace {

// A pid of another node whose place has a generation, so that no byte of the pid is zero.
const Pid kParent(NodePlace(3, 5), 0x123456, 0x123456789ABC);
const Pid kPeer(1, 2, 3);

TEST(ParentTieTest, TheParentIsKeptWhole) {
  EXPECT_EQ(ParentTie(kParent, SpawnLink::kLinked, {}).parent(), kParent);
  EXPECT_TRUE(ParentTie(Pid(), SpawnLink::kLinked, {}).parent().is_null());
}

TEST(ParentTieTest, TheLinkIsTakenOnce) {
  ParentTie tie(kParent, SpawnLink::kLinked, {});
  EXPECT_TRUE(tie.is_linked());
  EXPECT_TRUE(tie.TakeLink());
  EXPECT_FALSE(tie.is_linked());
  EXPECT_FALSE(tie.TakeLink());
  EXPECT_FALSE(tie.is_tied());
}

TEST(ParentTieTest, AnActorWithoutAParentHasNoTie) {
  EXPECT_FALSE(ParentTie(Pid(), SpawnLink::kLinked, {}).is_linked());
  EXPECT_FALSE(ParentTie(Pid(), SpawnLink::kOneWay, {}).is_tied());
  EXPECT_FALSE(ParentTie(kParent, SpawnLink::kUnlinked, {}).is_linked());
  EXPECT_FALSE(ParentTie(kParent, SpawnLink::kUnlinked, {}).is_tied());
}

TEST(ParentTieTest, AnExitOfTheParentEndsATieOnceAndThenNobodyIsToldOfTheEnd) {
  ParentTie tie(kParent, SpawnLink::kOneWay, {.id = 7, .tells_outcome = true, .tells_down = true});
  EXPECT_FALSE(tie.TakeTiedExit(kPeer));
  EXPECT_TRUE(tie.is_tied());
  EXPECT_TRUE(tie.tells_down());
  EXPECT_TRUE(tie.TakeTiedExit(kParent));
  EXPECT_FALSE(tie.is_tied());
  EXPECT_FALSE(tie.tells_down());
  EXPECT_FALSE(tie.TakeTiedExit(kParent));
}

TEST(ParentTieTest, AnExitAlongALinkToTheParentIsLeftToTheLinkTable) {
  ParentTie tie(kParent, SpawnLink::kLinked, {.id = 7, .tells_down = true});
  EXPECT_FALSE(tie.TakeTiedExit(kParent));
  EXPECT_TRUE(tie.tells_down());
}

TEST(ParentTieTest, ExitsOfThreadsCountAsTheParentsOfAnActorWithoutOne) {
  const ParentTie child(kParent, SpawnLink::kLinked, {});
  EXPECT_TRUE(child.IsParentsExit(kParent, /*is_along_link=*/false));
  EXPECT_TRUE(child.IsParentsExit(kParent, /*is_along_link=*/true));
  EXPECT_FALSE(child.IsParentsExit(kPeer, /*is_along_link=*/true));
  EXPECT_FALSE(child.IsParentsExit(Pid(), /*is_along_link=*/false));
  const ParentTie orphan(Pid(), SpawnLink::kLinked, {});
  EXPECT_TRUE(orphan.IsParentsExit(Pid(), /*is_along_link=*/false));
  EXPECT_FALSE(orphan.IsParentsExit(Pid(), /*is_along_link=*/true)) << "it ends the link to the null pid";
}

TEST(ParentTieTest, OnlyTheParentsOwnDemonitorEndsTheMonitorOfTheSpawn) {
  ParentTie tie(kParent, SpawnLink::kLinked, {.id = 7, .tells_down = true});
  EXPECT_FALSE(tie.OnDemonitor(kPeer, 7, /*parents_id=*/7));
  EXPECT_FALSE(tie.OnDemonitor(kParent, 8, /*parents_id=*/7)) << "a monitor that it made later";
  EXPECT_TRUE(tie.tells_down());
  EXPECT_TRUE(tie.OnDemonitor(kParent, 7, /*parents_id=*/7));
  EXPECT_FALSE(tie.tells_down());
}

TEST(ParentTieTest, TheOutcomeIsToldOnceAndOnlyIfTheParentAsked) {
  ParentTie asked(kParent, SpawnLink::kLinked, {.id = 7, .tells_outcome = true});
  EXPECT_TRUE(asked.TakeOutcome());
  EXPECT_FALSE(asked.TakeOutcome());
  EXPECT_FALSE(asked.tells_down());
  ParentTie other(kParent, SpawnLink::kLinked, {.id = 7, .tells_down = true});
  EXPECT_FALSE(other.TakeOutcome());
  EXPECT_TRUE(other.tells_down());
}

}  // namespace
}  // namespace understudy::internal
