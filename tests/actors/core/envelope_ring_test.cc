// EnvelopeRing, and PostponedMail, which is made of such rings. What users see of it is tested in
// tests/actors/postponed_mail_test.cc.
#include "understudy/actors/internal/turn/envelope_ring.h"

#include <cstddef>
#include <cstdint>
#include <utility>
#include <vector>

#include "gmock/gmock.h"
#include "gtest/gtest.h"
#include "understudy/actors/internal/send/envelope.h"
#include "understudy/actors/internal/turn/envelope_ring.h"
#include "understudy/actors/internal/turn/postponed_mail.h"
#include "understudy/actors/message.h"

namespace understudy::internal {
namespace {

using ::testing::ElementsAre;
using ::testing::Pair;

class EnvelopeRingTest : public testing::Test {
 protected:
  ~EnvelopeRingTest() override {
    for (Envelope* envelope : made_) Envelope::Delete(envelope);
  }
  Envelope* Make(uint64_t stamp, size_t mailbox = 0) {
    Envelope* made = Envelope::Make(EnvelopeKind::kMessage, TypeOf<int>(), /*has_call_part=*/false);
    made->stamp = stamp;
    made->mailbox = static_cast<uint8_t>(mailbox);
    made_.push_back(made);
    return made;
  }
  Envelope* RingOf(const std::vector<uint64_t>& stamps) {
    Envelope* newest = nullptr;
    for (const uint64_t stamp : stamps) Append(newest, Make(stamp));
    return newest;
  }
  // From the oldest on.
  static std::vector<uint64_t> StampsOf(const Envelope* newest) {
    std::vector<uint64_t> stamps;
    if (newest == nullptr) return stamps;
    const Envelope* envelope = newest;
    do {
      envelope = envelope->next;
      stamps.push_back(envelope->stamp);
    } while (envelope != newest);
    return stamps;
  }
  std::vector<uint64_t> Merged(const std::vector<uint64_t>& into, const std::vector<uint64_t>& other) {
    Envelope* newest = RingOf(into);
    Merge(newest, RingOf(other));
    return StampsOf(newest);
  }

 private:
  std::vector<Envelope*> made_;
};

TEST_F(EnvelopeRingTest, AMergedRingIsInTheOrderOfStamps) {
  EXPECT_THAT(Merged({}, {1, 2}), ElementsAre(1, 2));
  EXPECT_THAT(Merged({1, 2}, {3, 4}), ElementsAre(1, 2, 3, 4));
  EXPECT_THAT(Merged({3, 4}, {1, 2}), ElementsAre(1, 2, 3, 4));
  EXPECT_THAT(Merged({1, 3, 5}, {2, 4, 6}), ElementsAre(1, 2, 3, 4, 5, 6));
  EXPECT_THAT(Merged({2, 3}, {1, 4}), ElementsAre(1, 2, 3, 4));
  EXPECT_THAT(Merged({1}, {2}), ElementsAre(1, 2));
}

TEST_F(EnvelopeRingTest, AnEnvelopeIsCutOutWhereverItLies) {
  Envelope* newest = RingOf({1, 2, 3});
  Envelope* const oldest = newest->next;
  CutOut(newest, oldest->next, oldest);
  EXPECT_THAT(StampsOf(newest), ElementsAre(1, 3));
  CutOut(newest, newest, oldest);
  EXPECT_THAT(StampsOf(newest), ElementsAre(1));
  CutOut(newest, newest, newest);
  EXPECT_EQ(newest, nullptr);
}

using PostponedMailTest = EnvelopeRingTest;

TEST_F(PostponedMailTest, EachMailboxHasARingInTheOrderOfStamps) {
  PostponedMail postponed;
  EXPECT_TRUE(postponed.empty());
  EXPECT_EQ(postponed.Ring(0), nullptr);
  postponed.Add(Make(5, /*mailbox=*/2));
  postponed.Add(Make(3, /*mailbox=*/2));
  postponed.Add(Make(4, /*mailbox=*/0));
  EXPECT_EQ(postponed.Ring(1), nullptr);
  EXPECT_EQ(postponed.Ring(3), nullptr);
  ASSERT_NE(postponed.Ring(2), nullptr);
  EXPECT_THAT(StampsOf(*postponed.Ring(2)), ElementsAre(3, 5));
  EXPECT_THAT(StampsOf(*postponed.Ring(0)), ElementsAre(4));
}

TEST_F(PostponedMailTest, TakeAllGivesTheRingsThatAreNotEmptyAndLeavesNone) {
  PostponedMail postponed;
  postponed.Add(Make(1, /*mailbox=*/0));
  postponed.Add(Make(2, /*mailbox=*/1));
  Envelope** const ring = postponed.Ring(0);
  CutOut(*ring, *ring, *ring);
  EXPECT_EQ(postponed.Ring(0), nullptr);
  std::vector<std::pair<size_t, std::vector<uint64_t>>> given;
  postponed.TakeAll([&](size_t place, Envelope* newest) { given.emplace_back(place, StampsOf(newest)); });
  EXPECT_THAT(given, ElementsAre(Pair(1U, ElementsAre(2))));
  EXPECT_TRUE(postponed.empty());
}

}  // namespace
}  // namespace understudy::internal
