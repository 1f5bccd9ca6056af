#include "understudy/actors/node_places.h"

#include <algorithm>
#include <array>
#include <cstddef>
#include <cstdint>
#include <map>
#include <string>
#include <vector>

#include "absl/status/status.h"
#include "absl/status/statusor.h"
#include "absl/strings/str_cat.h"
#include "absl/types/optional.h"
#include "gmock/gmock.h"
#include "gtest/gtest.h"
#include "understudy/actors/address_key.h"
#include "understudy/actors/limits.h"
#include "understudy/actors/node_table.h"
#include "understudy/actors/pid.h"
#include "understudy/actors/random.h"

namespace understudy::internal {
namespace {

using ::testing::ElementsAre;
using ::testing::HasSubstr;
using Source = NodePlaces::Source;

constexpr NodePlaces::Bounds kSmall{.systems = 2, .peers = 3, .generations = 3, .learned_from_refs = 2};

class NodePlacesTest : public ::testing::Test {
 protected:
  NodePlaces::Key Of(uint64_t incarnation, const char* name = "b") {
    return {.system = &system_, .name = name, .incarnation = incarnation};
  }
  // The one before it is dead.
  absl::StatusOr<NodePlaces::Taken> Meet(uint64_t incarnation, const char* name = "b") {
    places_.MarkDead(&system_, name, incarnation);
    return places_.Take(Of(incarnation, name), Source::kMet);
  }

  const char system_ = 0;
  NodePlaces places_{kSmall};
};

TEST_F(NodePlacesTest, FreshIndicesAreGivenBeforeThoseOfTheDeadAndOfTheseTheOldestFirst) {
  const NodePlace first = Meet(1)->place;
  const NodePlace second = Meet(2)->place;
  const NodePlace third = Meet(3)->place;
  EXPECT_EQ(std::vector<int>({first.index, second.index, third.index}), std::vector<int>({3, 4, 5}));
  EXPECT_EQ(Meet(4)->place, NodePlace(first.index, 1));
  EXPECT_EQ(Meet(5)->place, NodePlace(second.index, 1));
}

TEST_F(NodePlacesTest, AnIndexThatHasHadAllItsGenerationsIsRetired) {
  for (uint64_t incarnation = 1; incarnation <= uint64_t{3} * 3; ++incarnation) {
    ASSERT_TRUE(Meet(incarnation).ok()) << incarnation;
  }
  const absl::Status full = Meet(10).status();
  EXPECT_TRUE(absl::IsResourceExhausted(full)) << full;
  EXPECT_THAT(std::string(full.message()), HasSubstr("the table of nodes is full"));
  // The last ones are known for ever.
  EXPECT_EQ(Meet(9)->place.generation, 2);
}

TEST_F(NodePlacesTest, ADeadIncarnationThatComesBackHasItsPlaceOrAnotherOne) {
  const NodePlace first = Meet(1)->place;
  ASSERT_TRUE(Meet(2).ok());
  EXPECT_TRUE(places_.IsDead(Of(1)));
  EXPECT_EQ(places_.Take(Of(1), Source::kRef)->place, first);
  EXPECT_TRUE(places_.IsDead(Of(1))) << "a ref is no sign of life";
  EXPECT_EQ(Meet(1)->place, first);
  EXPECT_FALSE(places_.IsDead(Of(1)));
  EXPECT_TRUE(places_.IsDead(Of(2)));
  ASSERT_TRUE(Meet(3).ok());
  ASSERT_TRUE(Meet(4).ok());  // in the place of 2
  ASSERT_TRUE(Meet(5).ok());  // in the place of 1
  const NodePlaces::Taken again = *Meet(1);
  EXPECT_TRUE(again.is_new);
  EXPECT_NE(again.place, first);
}

TEST_F(NodePlacesTest, LivingIncarnationsAndThoseOfOtherNamesKeepTheirPlaces) {
  const NodePlace other = places_.Take(Of(1, "a"), Source::kMet)->place;
  for (uint64_t incarnation = 1; incarnation <= 6; ++incarnation) ASSERT_TRUE(Meet(incarnation).ok());
  EXPECT_EQ(places_.Take(Of(1, "a"), Source::kMet)->place, other);
  EXPECT_TRUE(absl::IsResourceExhausted(Meet(7).status()));
  places_.MarkDead(&system_, "a", absl::nullopt);
  EXPECT_EQ(Meet(7)->place, NodePlace(other.index, 1));
}

TEST_F(NodePlacesTest, NodesKnownFromRefsOnlyAreBoundedAndNotDead) {
  const NodePlace first = places_.Take(Of(11), Source::kRef)->place;
  EXPECT_TRUE(places_.Take(Of(12), Source::kRef).ok());
  EXPECT_TRUE(absl::IsResourceExhausted(places_.Take(Of(13), Source::kRef).status()));
  ASSERT_TRUE(Meet(1).ok());
  ASSERT_TRUE(Meet(2).ok());
  EXPECT_FALSE(places_.IsDead(Of(11)));
  EXPECT_EQ(Meet(11)->place, first);
  EXPECT_TRUE(places_.Take(Of(13), Source::kRef).ok()) << "11 has been met";
}

TEST_F(NodePlacesTest, ASystemsPlaceIsThatOfNoOtherNodeAndHasNoGeneration) {
  const std::array<char, 4> systems{};
  const auto key = [](const void* system) { return NodePlaces::Key{.system = system, .name = "here"}; };
  EXPECT_EQ(places_.Take(key(&systems[0]), Source::kSystem)->place, NodePlace(1));
  EXPECT_EQ(places_.Take(key(&systems[1]), Source::kSystem)->place, NodePlace(2));
  EXPECT_TRUE(absl::IsResourceExhausted(places_.Take(key(&systems[2]), Source::kSystem).status()));
  EXPECT_THAT(places_.Retire(&systems[1]), ElementsAre(NodePlace(2)));
  EXPECT_EQ(places_.Take(key(&systems[3]), Source::kSystem)->place, NodePlace(2));
}

// A simple reference implementation of NodePlaces, which searches all indices.
class Reference {
 public:
  using Key = NodePlaces::Key;
  static constexpr NodePlaces::Bounds kBounds{.systems = 2, .peers = 6, .generations = 4, .learned_from_refs = 3};

  absl::optional<NodePlace> Take(const Key& key, Source source) {
    for (Slot& slot : slots_) {
      if (slot.owner != key) continue;
      if (source == Source::kMet) {
        slot.is_from_ref = false;
        slot.died = 0;
      }
      return slot.place;
    }
    const auto from_refs = std::count_if(slots_.begin(), slots_.end(), [](const Slot& s) { return s.is_from_ref; });
    if (source == Source::kRef && from_refs >= static_cast<ptrdiff_t>(kBounds.learned_from_refs)) return absl::nullopt;
    Slot* best = nullptr;
    for (Slot& slot : slots_) {
      const bool is_possible = !slot.is_used || (slot.died != 0 && slot.place.generation + 1U < kBounds.generations);
      if (is_possible && (best == nullptr || Age(slot) < Age(*best))) best = &slot;
    }
    if (best == nullptr) return absl::nullopt;
    if (best->is_used) ++best->place.generation;
    best->is_used = true;
    best->owner = key;
    best->is_from_ref = source == Source::kRef;
    best->died = 0;
    return best->place;
  }
  void MarkDead(const void* system, const std::string& name, absl::optional<uint64_t> alive) {
    std::vector<Slot*> dying;
    for (Slot& slot : slots_) {
      if (slot.owner.has_value() && slot.owner->system == system && slot.owner->name == name && !slot.is_from_ref &&
          slot.died == 0 && slot.owner->incarnation != alive) {
        dying.push_back(&slot);
      }
    }
    Die(dying);
  }
  void Retire(const void* system) {
    std::vector<Slot*> dying;
    for (Slot& slot : slots_) {
      if (!slot.owner.has_value() || slot.owner->system != system) continue;
      slot.is_from_ref = false;
      if (slot.died == 0) dying.push_back(&slot);
    }
    Die(dying);
    for (Slot& slot : slots_) {
      if (slot.owner.has_value() && slot.owner->system == system) slot.owner.reset();
    }
  }

 private:
  struct Slot {
    NodePlace place;
    bool is_used = false;
    absl::optional<Key> owner;
    bool is_from_ref = false;
    uint64_t died = 0;
  };
  static uint64_t Age(const Slot& slot) { return slot.is_used ? slot.died : 0; }
  // Marks slots as dead. Slots that die at the same time do so in the order of their keys.
  void Die(std::vector<Slot*> dying) {
    std::sort(dying.begin(), dying.end(), [](const Slot* a, const Slot* b) { return *a->owner < *b->owner; });
    for (Slot* slot : dying) slot->died = ++deaths_;
  }

  std::vector<Slot> slots_ = [] {
    std::vector<Slot> slots(kBounds.peers);
    for (size_t i = 0; i < slots.size(); ++i) {
      slots[i].place = NodePlace(static_cast<uint16_t>(kBounds.systems + 1 + i));
    }
    return slots;
  }();
  uint64_t deaths_ = 0;
};

TEST(NodePlacesModelTest, RandomHistoriesAgreeWithTheReferenceAndNoPlaceIsEverGivenToTwo) {
  for (uint64_t seed = 1; seed <= 2000; ++seed) {
    SCOPED_TRACE(absl::StrCat("seed ", seed));
    Random random(seed);
    NodePlaces places(Reference::kBounds);
    Reference reference;
    std::map<NodePlace, NodePlaces::Key> ever;
    const std::array<char, 2> systems{};
    for (int step = 0; step < 60; ++step) {
      const void* const system = &systems[random.Below(2)];
      const std::string name = random.Below(2) == 0 ? "a" : "b";
      const uint64_t incarnation = 1 + random.Below(6);
      const uint64_t choice = random.Below(20);
      if (choice == 0) {
        (void)places.Retire(system);
        reference.Retire(system);
      } else if (choice < 8) {
        const auto alive = choice < 3 ? absl::nullopt : absl::make_optional(incarnation);
        places.MarkDead(system, name, alive);
        reference.MarkDead(system, name, alive);
      } else {
        const NodePlaces::Key key{.system = system, .name = name, .incarnation = incarnation};
        const Source source = choice < 16 ? Source::kMet : Source::kRef;
        const absl::StatusOr<NodePlaces::Taken> taken = places.Take(key, source);
        const absl::optional<NodePlace> expected = reference.Take(key, source);
        ASSERT_EQ(taken.ok(), expected.has_value()) << "step " << step << ": " << taken.status();
        if (!taken.ok()) continue;
        ASSERT_TRUE(taken->place == *expected) << "step " << step;
        const auto [given, is_first] = ever.emplace(taken->place, key);
        ASSERT_TRUE(given->second == key) << "step " << step;
        ASSERT_EQ(taken->is_new, is_first) << "step " << step;
      }
    }
  }
}

// ---- The process-wide table ----

TEST(NodeTableTest, SeventyThousandIncarnationsAreMetOneAfterAnotherAndNoneIsTakenForAnother) {
  const char system = 0;
  const auto meet = [&](uint64_t incarnation) {
    NodeTable::MarkDead(&system, "house-4", NodeIncarnation{incarnation});
    return NodeTable::Intern({.system = &system, .name = "house-4", .incarnation = {incarnation}});
  };
  const ActorAddress address{.cell = 7, .serial = 42};
  const Pid first = PidAt(*meet(1), address);
  absl::optional<Pid> in_its_place;
  for (uint64_t incarnation = 2; incarnation <= 70'000; ++incarnation) {
    const absl::StatusOr<NodePlace> place = meet(incarnation);
    ASSERT_TRUE(place.ok()) << place.status();
    ASSERT_NE(*place, first.place());
    if (place->index == first.node()) in_its_place = PidAt(*place, address);
  }
  ASSERT_TRUE(in_its_place.has_value());
  EXPECT_EQ(in_its_place->life(), first.life());
  EXPECT_NE(*in_its_place, first);
  EXPECT_EQ(NodeTable::Find(first.place()), nullptr) << "it is gone";
  ASSERT_NE(NodeTable::Find(in_its_place->place()), nullptr);
  EXPECT_NE(NodeTable::Find(in_its_place->place())->incarnation, NodeIncarnation{1});
  ASSERT_NE(NodeTable::FindEver(first.place()), nullptr);
  EXPECT_EQ(NodeTable::FindEver(first.place())->incarnation, NodeIncarnation{1});
  EXPECT_EQ(first.ToString(), "<house-4.7.42>");
  EXPECT_EQ(in_its_place->ToString(), "<house-4.7.42>");
  EXPECT_EQ(AddressOf(*in_its_place), address);
  NodeTable::Retire(&system);
}

}  // namespace
}  // namespace understudy::internal
