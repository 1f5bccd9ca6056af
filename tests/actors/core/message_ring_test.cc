// The ring of a worker: which messages of an actor it still has, and when they were handled.
#include "understudy/actors/internal/scheduling/message_ring.h"

#include <cstdint>
#include <utility>
#include <vector>

#include "gmock/gmock.h"
#include "gtest/gtest.h"

namespace understudy::internal {
namespace {

using ::testing::ElementsAre;
using ::testing::IsEmpty;
using ::testing::Pair;
using ::testing::SizeIs;

constexpr uint64_t kActor = 7;
constexpr uint64_t kOther = 8;

void Handle(MessageRing& ring, uint64_t life, uint8_t mailbox, uint64_t stamp = 0) {
  RingEntry& entry = ring.Next();
  entry.life = life;
  entry.mailbox = mailbox;
  entry.stamp = stamp;
}

// The mailbox and the time of each message of kActor.
std::vector<std::pair<int, uint64_t>> Told(const MessageRing& ring) {
  std::vector<std::pair<int, uint64_t>> told;
  ring.ForEachOf(kActor, [&](const RingEntry& entry, uint64_t time) { told.emplace_back(entry.mailbox, time); });
  return told;
}

TEST(MessageRingTest, TheMessagesOfOneActorAreToldOldestFirst) {
  MessageRing ring;
  EXPECT_THAT(Told(ring), IsEmpty());
  Handle(ring, kActor, 1);
  Handle(ring, kOther, 2);
  Handle(ring, kActor, 3);
  EXPECT_THAT(Told(ring), ElementsAre(Pair(1, 0), Pair(3, 0))) << "no time was told yet";
}

TEST(MessageRingTest, ItHasTheLastSixtyFourOfTheWorker) {
  MessageRing ring;
  for (int i = 0; i < 200; ++i) Handle(ring, kActor, static_cast<uint8_t>(i));
  ASSERT_THAT(Told(ring), SizeIs(64));
  EXPECT_EQ(Told(ring).front().first, 136);
  EXPECT_EQ(Told(ring).back().first, 199);
  for (int i = 0; i < 60; ++i) Handle(ring, kOther, 0);
  EXPECT_THAT(Told(ring), ElementsAre(Pair(196, 0), Pair(197, 0), Pair(198, 0), Pair(199, 0)));
}

TEST(MessageRingTest, AMessageHasTheLatestTimeThatWasKnownBefore) {
  MessageRing ring;
  ring.NoteTime(100);
  Handle(ring, kActor, 1);
  Handle(ring, kOther, 2, /*stamp=*/150);
  Handle(ring, kActor, 3, /*stamp=*/120);  // it came at 120, and waited
  ring.NoteTime(200);
  Handle(ring, kActor, 4);
  ring.StampNewest(230);  // its handler is timed
  Handle(ring, kActor, 5);
  EXPECT_THAT(Told(ring), ElementsAre(Pair(1, 100), Pair(3, 150), Pair(4, 230), Pair(5, 230)));
}

TEST(MessageRingTest, ATimeTakesAPlaceOnlyIfItIsNewAndAMessageCameBetween) {
  MessageRing ring;
  Handle(ring, kActor, 1);
  for (uint64_t i = 0; i < 1000; ++i) ring.NoteTime(i);
  Handle(ring, kActor, 2);
  for (int i = 0; i < 1000; ++i) ring.NoteTime(999);
  EXPECT_THAT(Told(ring), ElementsAre(Pair(1, 0), Pair(2, 999)));
}

TEST(MessageRingTest, ATimeThatHasLeftTheRingIsThatOfAllThatIsLeft) {
  MessageRing ring;
  ring.NoteTime(100);
  for (int i = 0; i < 70; ++i) Handle(ring, kOther, 0);
  Handle(ring, kActor, 1);
  EXPECT_THAT(Told(ring), ElementsAre(Pair(1, 100)));
}

}  // namespace
}  // namespace understudy::internal
