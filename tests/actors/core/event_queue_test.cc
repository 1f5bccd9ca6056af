// EventQueue without an actor: its order, its bounds, and the events that are taken back.
#include "understudy/actors/internal/turn/event_queue.h"

#include <algorithm>
#include <cstddef>
#include <cstdint>
#include <ctime>
#include <iterator>
#include <limits>
#include <memory>
#include <utility>
#include <vector>

#include "absl/time/time.h"
#include "gmock/gmock.h"
#include "gtest/gtest.h"
#include "understudy/actors/events.h"
#include "understudy/actors/limits.h"
#include "understudy/actors/pid.h"

namespace understudy::internal {
namespace {

using ::testing::ElementsAre;
using ::testing::IsEmpty;

const Pid kPeer(1, 2, 3);
const Pid kParent(1, 4, 5);

Event Exit(Pid peer, Event::Kind kind = Event::Kind::kExit) {
  return {.kind = kind, .peer = peer, .payload = Payload::Of(ExitEvent{.peer = peer})};
}
Event SentExit(Pid peer, Event::Kind kind = Event::Kind::kExit) {
  Event event = Exit(peer, kind);
  event.is_sent = true;
  return event;
}
Event DownOf(uint64_t monitor) {
  return {.kind = Event::Kind::kDown, .id = monitor, .payload = Payload::Of(Down{.monitor = monitor})};
}
Event NamedTimer(uint64_t id) { return {.id = id, .payload = Payload::Of(TimerEvent{.name = "tick"})}; }

Event ChangeOf(uint64_t watch, uint64_t owner) {
  return {.kind = Event::Kind::kName,
          .id = watch,
          .payload = Payload::Of(NameChange{.name = "n", .pid = Pid(1, 1, owner)})};
}
uint64_t OwnerOf(const Event& change) { return static_cast<const NameChange*>(change.payload.value())->pid.serial(); }

std::vector<uint64_t> IdsOf(EventQueue& queue) {
  std::vector<uint64_t> ids;
  for (const Event& event : queue) ids.push_back(event.id);
  return ids;
}
int64_t MergedIn(Event event) { return event.payload.As<ExitEvent>().merged; }

TEST(EventQueueTest, EventsAreTakenInTheOrderInWhichTheyWereAdded) {
  EventQueue queue;
  EXPECT_TRUE(queue.empty());
  EXPECT_TRUE(queue.Add(DownOf(1)));
  EXPECT_TRUE(queue.Add(NamedTimer(2)));
  EXPECT_TRUE(queue.Add(DownOf(3)));
  EXPECT_EQ(queue.Take(std::next(queue.begin())).id, 2U);
  EXPECT_EQ(queue.front().id, 1U);
  EXPECT_EQ(queue.Take(queue.begin()).id, 1U);
  EXPECT_EQ(queue.Take(queue.begin()).id, 3U);
  EXPECT_TRUE(queue.empty());
}

TEST(EventQueueTest, TheLastSentExitThatWaitsStandsForThoseThatWereMerged) {
  EventQueue queue;
  for (size_t i = 0; i < limits::kExitsWaitingPerActorMax; ++i) ASSERT_TRUE(queue.Add(SentExit(kPeer)));
  EXPECT_FALSE(queue.Add(SentExit(kPeer)));
  EXPECT_FALSE(queue.Add(SentExit(kPeer)));
  EXPECT_TRUE(queue.Add(Exit(kPeer))) << "an exit along a link has a place of its own";
  for (size_t i = 1; i < limits::kExitsWaitingPerActorMax; ++i) ASSERT_EQ(MergedIn(queue.Take(queue.begin())), 0);
  EXPECT_EQ(MergedIn(queue.Take(queue.begin())), 2);
  EXPECT_EQ(MergedIn(queue.Take(queue.begin())), 0);
  EXPECT_TRUE(queue.Add(SentExit(kPeer))) << "those that were taken make room";
  EXPECT_EQ(MergedIn(queue.Take(queue.begin())), 0) << "merged exits are told once";
}

TEST(EventQueueTest, ExitsOfPeersOfTheParentAndRequestsToStopAreBoundedEachForItself) {
  EventQueue queue;
  const auto request = [] {
    return Event{.kind = Event::Kind::kStopRequest, .is_sent = true, .payload = Payload::Of(StopRequest{})};
  };
  for (size_t i = 0; i < limits::kExitsWaitingPerActorMax; ++i) {
    ASSERT_TRUE(queue.Add(SentExit(kPeer)));
    ASSERT_TRUE(queue.Add(SentExit(kParent, Event::Kind::kParentExit)));
    ASSERT_TRUE(queue.Add(request()));
  }
  EXPECT_FALSE(queue.Add(SentExit(kParent, Event::Kind::kParentExit)));
  EXPECT_FALSE(queue.Add(request()));
  EXPECT_FALSE(queue.Add(request()));
  int64_t merged_exits = 0;
  int64_t merged_requests = 0;
  while (!queue.empty()) {
    Event event = queue.Take(queue.begin());
    if (event.kind == Event::Kind::kStopRequest) {
      merged_requests += event.payload.As<StopRequest>().merged;
    } else {
      merged_exits += MergedIn(std::move(event));
    }
  }
  EXPECT_EQ(merged_exits, 1);
  EXPECT_EQ(merged_requests, 2);
}

TEST(EventQueueTest, UnlinkTakesBackTheExitsThatCameAlongThatLinkOnly) {
  EventQueue queue;
  (void)queue.Add(Exit(kPeer));
  (void)queue.Add(SentExit(kPeer));
  (void)queue.Add(Exit(Pid(1, 9, 9)));
  (void)queue.Add(DownOf(7));
  EXPECT_FALSE(queue.RemoveExitsOfLink(kPeer)) << "none was the parent's";
  std::vector<Pid> left;
  for (const Event& event : queue) left.push_back(event.peer);
  EXPECT_THAT(left, ElementsAre(kPeer, Pid(1, 9, 9), Pid()));
}

TEST(EventQueueTest, UnlinkOfTheParentSaysWhetherNoExitOfTheParentIsLeft) {
  EventQueue queue;
  (void)queue.Add(Exit(kParent, Event::Kind::kParentExit));
  EXPECT_TRUE(queue.RemoveExitsOfLink(kParent));
  (void)queue.Add(Exit(kParent, Event::Kind::kParentExit));
  (void)queue.Add(SentExit(kParent, Event::Kind::kParentExit));
  EXPECT_FALSE(queue.RemoveExitsOfLink(kParent)) << "the parent has sent another";
  Event tied = Exit(kParent, Event::Kind::kParentExit);
  tied.is_tied_exit = true;
  (void)queue.Take(queue.begin());
  (void)queue.Add(std::move(tied));
  EXPECT_FALSE(queue.RemoveExitsOfLink(kParent)) << "a one-way link is not unlinked";
  EXPECT_FALSE(queue.empty());
}

TEST(EventQueueTest, DemonitorAndCancelTakeBackTheirEvents) {
  EventQueue queue;
  (void)queue.Add(DownOf(1));
  (void)queue.Add(NamedTimer(1));
  (void)queue.Add(NamedTimer(2));
  queue.Remove(Event::Kind::kDown, 1);
  EXPECT_THAT(IdsOf(queue), ElementsAre(1, 2));
  EXPECT_TRUE(queue.RemoveNamedTimer(1));
  EXPECT_FALSE(queue.RemoveNamedTimer(1));
  EXPECT_THAT(IdsOf(queue), ElementsAre(2));
}

TEST(EventQueueTest, ADownIsRemovedInATimeThatDoesNotGrowWithTheDownsThatWait) {
  // Removes the last half first, which a walk from the front would reach last.
  const auto removal = [](uint64_t downs) {
    EventQueue queue;
    for (uint64_t id = 1; id <= downs; ++id) (void)queue.Add(DownOf(id));
    const std::clock_t began = std::clock();
    for (uint64_t id = downs; id > downs / 2; --id) queue.Remove(Event::Kind::kDown, id);
    const std::clock_t took = std::clock() - began;
    EXPECT_EQ(queue.Take(queue.begin()).id, 1U);
    queue.Remove(Event::Kind::kDown, 1);  // which was taken
    EXPECT_EQ(IdsOf(queue).size(), downs / 2 - 1);
    return took;
  };
  std::clock_t few = std::numeric_limits<std::clock_t>::max();
  for (int i = 0; i < 5; ++i) few = std::min(few, removal(2'000));
  EXPECT_LT(removal(60'000), 200 * (few + 1)) << "30 times as many; a walk takes 900 times as long";
}

TEST(EventQueueTest, OfANameTheOldestAndTheNewestChangeWaitEachAtItsPlace) {
  EventQueue queue;
  (void)queue.Add(ChangeOf(1, 11));
  (void)queue.Add(ChangeOf(1, 12));
  (void)queue.Add(DownOf(7));
  (void)queue.Add(ChangeOf(2, 21));
  (void)queue.Add(ChangeOf(1, 13));  // in place of 12, and behind the others
  EXPECT_THAT(IdsOf(queue), ElementsAre(1, 7, 2, 1));
  EXPECT_EQ(OwnerOf(queue.Take(queue.begin())), 11U);
  (void)queue.Add(ChangeOf(1, 14));  // 13 is the oldest now
  EXPECT_THAT(IdsOf(queue), ElementsAre(7, 2, 1, 1));
  queue.Remove(Event::Kind::kDown, 7);
  EXPECT_EQ(OwnerOf(queue.Take(queue.begin())), 21U);
  EXPECT_EQ(OwnerOf(queue.Take(queue.begin())), 13U);
  EXPECT_EQ(OwnerOf(queue.Take(queue.begin())), 14U);
  EXPECT_TRUE(queue.empty());
}

TEST(EventQueueTest, OfANameTwoChangesWaitAlsoWhenTheNewestIsTakenFirst) {
  EventQueue queue;
  (void)queue.Add(ChangeOf(1, 11));
  for (uint64_t owner = 12; owner < 20; owner += 2) {
    (void)queue.Add(ChangeOf(1, owner));
    EXPECT_EQ(OwnerOf(queue.Take(std::prev(queue.end()))), owner);
    (void)queue.Add(ChangeOf(1, owner + 1));
  }
  EXPECT_THAT(IdsOf(queue), ElementsAre(1, 1));
  EXPECT_EQ(OwnerOf(queue.Take(queue.begin())), 11U);
  EXPECT_EQ(OwnerOf(queue.Take(queue.begin())), 19U);
  EXPECT_TRUE(queue.empty());
}

TEST(EventQueueTest, TheChangesOfANameThatIsWatchedNoMoreAreTakenBack) {
  EventQueue queue;
  (void)queue.Add(ChangeOf(1, 11));
  (void)queue.Add(DownOf(1));
  (void)queue.Add(ChangeOf(2, 21));
  (void)queue.Add(ChangeOf(1, 12));
  queue.Remove(Event::Kind::kName, 1);
  queue.Remove(Event::Kind::kName, 1);
  EXPECT_THAT(IdsOf(queue), ElementsAre(1, 2)) << "the Down, and the other name";
  queue.Remove(Event::Kind::kName, 2);
  EXPECT_THAT(IdsOf(queue), ElementsAre(1));
}

TEST(EventQueueTest, TimersOfBehaviorsAreFoundByBehaviorAndHandlerAndRemovedTogether) {
  EventQueue queue;
  const auto one = std::make_shared<MessageHandler>(MessageHandler::Dropping());
  const auto other = std::make_shared<MessageHandler>(MessageHandler::Dropping());
  (void)queue.Add({.epoch = 3, .payload = Payload::Of(TimerEvent{}), .handler = one});
  (void)queue.Add(NamedTimer(5));
  EXPECT_TRUE(queue.HasBehaviorTimer(3, one));
  EXPECT_FALSE(queue.HasBehaviorTimer(3, other));
  EXPECT_FALSE(queue.HasBehaviorTimer(4, one));
  queue.RemoveBehaviorTimers();
  EXPECT_THAT(IdsOf(queue), ElementsAre(5));
  EXPECT_EQ(queue.Drop(queue.begin()), queue.end());
  EXPECT_THAT(IdsOf(queue), IsEmpty());
}

}  // namespace
}  // namespace understudy::internal
