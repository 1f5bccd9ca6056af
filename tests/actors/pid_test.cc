#include "understudy/actors/pid.h"

#include <type_traits>
#include <unordered_set>

#include "absl/hash/hash_testing.h"
#include "gtest/gtest.h"
#include "understudy/actors/node_table.h"

namespace understudy {
namespace {

static_assert(std::is_trivially_copyable_v<Pid>);

NodePlace InternNode(const char* name, uint64_t incarnation) {
  return *internal::NodeTable::Intern({.name = name, .incarnation = {incarnation}});
}

TEST(PidTest, KeepsItsThreeParts) {
  const Pid pid(7, 0xffffffff, (uint64_t{1} << 48) - 1);
  EXPECT_EQ(pid.node(), 7);
  EXPECT_EQ(pid.cell(), 0xffffffff);
  EXPECT_EQ(pid.serial(), (uint64_t{1} << 48) - 1);
  EXPECT_FALSE(pid.is_null());
}

TEST(PidTest, OfAnotherNodeKeepsTheGenerationOfItsPlace) {
  const Pid pid(NodePlace(7, 200), 0xffffff, 3);
  EXPECT_EQ(pid.place(), NodePlace(7, 200));
  EXPECT_EQ(internal::AddressOf(pid), (ActorAddress{.cell = 0xffffff, .serial = 3}));
  EXPECT_EQ(Pid::OfLife(pid.life(), pid.cell()), pid);
  EXPECT_EQ(Pid(7, 5, 3).place(), NodePlace(7));
}

TEST(PidTest, DiffersByEachPart) {
  const Pid pid(1, 2, 3);
  EXPECT_EQ(pid, Pid(1, 2, 3));
  EXPECT_NE(pid, Pid(2, 2, 3));
  EXPECT_NE(pid, Pid(1, 3, 3));
  EXPECT_NE(pid, Pid(1, 2, 4));
  EXPECT_NE(pid, Pid(NodePlace(1, 1), 2, 3));
  EXPECT_TRUE(absl::VerifyTypeImplementsAbslHashCorrectly(
      {Pid(), Pid::Unnamed(), pid, Pid(2, 2, 3), Pid(1, 3, 3), Pid(1, 2, 4), Pid(NodePlace(1, 1), 2, 3)}));
  EXPECT_EQ(std::unordered_set<Pid>({pid, Pid(1, 2, 3), Pid(2, 2, 3)}).size(), 2U);
}

TEST(PidTest, TheNullUnnamedAndVacantPidsAreNullAndTellApart) {
  EXPECT_TRUE(Pid().is_null());
  EXPECT_FALSE(Pid().is_unnamed());
  EXPECT_TRUE(Pid::Unnamed().is_null());
  EXPECT_TRUE(Pid::Unnamed().is_unnamed());
  EXPECT_NE(Pid(), Pid::Unnamed());
  EXPECT_FALSE(Pid::Unnamed().is_vacant());
  EXPECT_TRUE(Pid::Vacant().is_null());
  EXPECT_TRUE(Pid::Vacant().is_unnamed());
  EXPECT_TRUE(Pid::Vacant().is_vacant());
}

TEST(PidTest, TheOwnerOfAFreeNameHasTheTagOfTheName) {
  for (const uint32_t tag : {uint32_t{0}, uint32_t{1}, uint32_t{7'000'000}, Pid::kNameTagMax}) {
    const Pid unnamed = Pid::Unnamed(7, tag);
    const Pid vacant = Pid::Vacant(7, tag);
    EXPECT_TRUE(unnamed.is_null() && unnamed.is_unnamed() && !unnamed.is_vacant()) << tag;
    EXPECT_TRUE(vacant.is_null() && vacant.is_unnamed() && vacant.is_vacant()) << tag;
    for (const Pid pid : {unnamed, vacant}) {
      EXPECT_EQ(pid.node(), 7);
      EXPECT_EQ(pid.name_tag(), tag);
    }
    EXPECT_EQ(unnamed.ToString(), "<no name>");
    EXPECT_EQ(vacant.ToString(), "<restarting>");
  }
  EXPECT_FALSE(Pid(7, 1, 5).is_unnamed()) << "an actor's";
}

TEST(PidTest, PrintsNodeCellAndSerial) {
  const NodePlace node = InternNode("house-1", 11);
  EXPECT_EQ(Pid(node, 7, 42).ToString(), "<house-1.7.42>");
  EXPECT_EQ(Pid().ToString(), "<no actor>");
  EXPECT_EQ(Pid::Unnamed().ToString(), "<no name>");
  EXPECT_EQ(Pid::Vacant().ToString(), "<restarting>");
  EXPECT_EQ(Pid(0, 1, 2).ToString(), "<?.1.2>");
}

TEST(PidTest, PrintsAlikeInsideAndOutsideOfItsNode) {
  const int system = 0;
  const NodePlace inside = *internal::NodeTable::Intern(
      {.system = &system, .name = "house-3", .incarnation = {3}, .is_local = true, .key = {4, 5}});
  const NodePlace outside = InternNode("house-3", 3);
  const Pid pid(inside, 7, 42);
  const Pid known = internal::PidAt(outside, internal::AddressOf(pid));
  EXPECT_NE(known.serial(), 42U);
  EXPECT_EQ(known.ToString(), pid.ToString());
  EXPECT_EQ(internal::PidAt(inside, internal::AddressOf(known)), pid);
  internal::NodeTable::Retire(&system);
}

TEST(NodeTableTest, AnIncarnationHasOneIndex) {
  const NodePlace first = InternNode("house-2", 1);
  EXPECT_EQ(InternNode("house-2", 1), first);
  const NodePlace second = InternNode("house-2", 2);
  EXPECT_NE(second, first);
  EXPECT_NE(first.index, 0);  // 0 is no node
  ASSERT_NE(internal::NodeTable::Find(second), nullptr);
  EXPECT_EQ(internal::NodeTable::Find(second)->name, "house-2");
  EXPECT_EQ(internal::NodeTable::Find(second)->incarnation, NodeIncarnation{2});
}

TEST(NodeTableTest, APlaceThatNoNodeHadIsNull) {
  EXPECT_EQ(internal::NodeTable::Find(0), nullptr);
  EXPECT_EQ(internal::NodeTable::FindEver(0), nullptr);
  const NodePlace known = InternNode("house-2", 1);
  const NodePlace other(known.index, static_cast<uint8_t>(known.generation + 1));
  EXPECT_EQ(internal::NodeTable::Find(other), nullptr);
  EXPECT_EQ(internal::NodeTable::FindEver(other), nullptr);
}

}  // namespace
}  // namespace understudy
