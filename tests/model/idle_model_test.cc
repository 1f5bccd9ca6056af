// Explores how an actor goes idle and is woken through the mask of its open mailboxes (actors/internal/send/inbound.h,
// semantics 2.5). No wake-up is lost, no two turns of an actor run at the same time, and each turn sees every write of
// the turn before.
#include <array>
#include <atomic>
#include <cstddef>
#include <cstdint>
#include <memory>
#include <string>
#include <vector>

#include "gmock/gmock.h"
#include "gtest/gtest.h"
#include "understudy/actors/internal/send/inbound.h"
#include "understudy/tests/model/expect_holds.h"
#include "understudy/tests/model/model_atomics.h"
#include "understudy/tests/model/schedules.h"
#include "understudy/tests/model/weakened.h"

namespace understudy::model {
namespace {

using internal::Inbound;
using internal::Pushed;
using ::testing::AnyOf;
using ::testing::HasSubstr;

struct alignas(64) Node {
  ModelPlain<Node*> next{nullptr};
  uint64_t mailbox = 0;  // the bit of its mailbox
};

constexpr uint64_t kFirst = 1;
constexpr uint64_t kSecond = 2;

template <class Atomics>
struct Sound : Inbound<Node, Atomics> {
  using Policy = Atomics;
  static constexpr bool kPublishesFirst = true;
  static constexpr bool kLooksForOpenMail = true;
};

// The bug: a sender does not read the mask again after a push that did not wake the actor.
struct WithoutSecondRead : Sound<ModelAtomics> {
  template <class Mask>
  Pushed PushAndWake(Node* node, const Mask& open, uint64_t bits) {
    const Pushed pushed = Push(node, (open.load(std::memory_order_relaxed) & bits) != 0);
    return pushed == Pushed::kPushedToIdle ? Pushed::kPushed : pushed;
  }
};

// The bug: after the second read the sender does not check whether another thread has woken the actor.
struct WithoutTryWake : Sound<ModelAtomics> {
  template <class Mask>
  Pushed PushAndWake(Node* node, const Mask& open, uint64_t bits) {
    const Pushed pushed = Push(node, (open.load(std::memory_order_relaxed) & bits) != 0);
    if (pushed != Pushed::kPushedToIdle) return pushed;
    return (open.load(std::memory_order_relaxed) & bits) != 0 ? Pushed::kMustSchedule : Pushed::kPushed;
  }
};

// The bug: the owner goes idle, then stores its mask.
struct PublishingLate : Sound<ModelAtomics> {
  static constexpr bool kPublishesFirst = false;
};

// The bug: a look leaves the actor idle although a message that it found is for an open mailbox.
struct LeavingOpenMail : Sound<ModelAtomics> {
  static constexpr bool kLooksForOpenMail = false;
};

// An actor with two mailboxes, of which one is open. Each message that it handles opens the other mailbox and closes
// its own. A thread that must schedule the actor runs its turn at once, so only the inbound word orders the accesses of
// different threads to the actor's state.
template <class List>
struct Actor {
  Actor() { inbound.Open(); }

  void Send(Node& node) {
    if (inbound.PushAndWake(&node, open, node.mailbox) == Pushed::kMustSchedule) Turn();
  }
  void Turn() {
    turns = turns + 1;
    for (;;) {
      Expect(running == 0, "one turn at a time");
      running = 1;
      for (Node* node = inbound.TakeAll(); node != nullptr; node = node->next) {
        ModelPlain<int>& count = waiting[node->mailbox == kFirst ? 0 : 1];
        count = count + 1;
      }
      Handle();
      const uint64_t mask = behavior == 0 ? kFirst : kSecond;
      if (List::kPublishesFirst) open.store(mask, std::memory_order_relaxed);
      running = 0;
      const bool is_idle = inbound.TryIdle();
      if (!List::kPublishesFirst) open.store(mask, std::memory_order_relaxed);
      if (is_idle) return;
    }
  }
  // Repeats the steps of ActorCell::WhileIdle.
  void Look() {
    const typename List::Held held = inbound.TryHold();
    if (held.word == 0) return;
    Expect(running == 0, "no turn runs during a look");
    const uint64_t mask = behavior == 0 ? kFirst : kSecond;
    bool may_stay = true;
    for (Node* node = held.newest(); List::kLooksForOpenMail && node != nullptr; node = node->next) {
      may_stay = may_stay && (node->mailbox & mask) == 0;
    }
    if (!may_stay || !inbound.EndHold(held)) Turn();
  }
  void Handle() {
    for (;;) {
      ModelPlain<int>& count = waiting[static_cast<size_t>(static_cast<int>(behavior))];
      if (count == 0) return;
      count = count - 1;
      handled = handled + 1;
      behavior = 1 - behavior;
    }
  }

  List inbound;
  typename List::Policy::template Atomic<uint64_t> open{0};
  // Accessed only by the thread that runs a turn or a look:
  ModelPlain<int> running{0};
  ModelPlain<int> behavior{0};  // the index of the open mailbox
  std::array<ModelPlain<int>, 2> waiting;
  ModelPlain<int> handled{0};
  ModelPlain<int> turns{0};
};

// `sent` has one list for each sender: a mailbox's bit for each of its messages. In any order of arrival,
// `handled_at_end` of the messages can be handled.
template <class List>
Outcome ExploreActor(const Bounds& bounds, const std::vector<std::vector<uint64_t>>& sent, int handled_at_end,
                     int turns_max = 100, bool has_looker = false) {
  return Explore(bounds, [&](Program& program) {
    auto actor = std::make_shared<Actor<List>>();
    program.Name(actor->inbound, "inbound");
    program.Name(actor->open, "open");
    program.Name(actor->running, "running");
    program.Name(actor->behavior, "behavior");
    program.Name(actor->waiting, "waiting");
    program.Name(actor->handled, "handled");
    program.Thread("first turn", [actor] { actor->Turn(); });
    for (const std::vector<uint64_t>& messages : sent) {
      auto nodes = std::make_shared<std::vector<Node>>(messages.size());
      for (size_t i = 0; i < messages.size(); ++i) {
        (*nodes)[i].mailbox = messages[i];
        program.Name((*nodes)[i], messages[i] == kFirst ? "first" : "second");
      }
      program.Thread("sender", [actor, nodes] {
        for (Node& node : *nodes) actor->Send(node);
      });
    }
    if (has_looker) program.Thread("looker", [actor] { actor->Look(); });
    program.AtEnd([actor, handled_at_end, turns_max] {
      Expect(actor->inbound.IsIdle(), "it is idle in the end");
      Expect(actor->handled == handled_at_end, "what may be handled is: no wake-up was lost");
      Expect(actor->turns <= turns_max, "closed mail wakes nobody");
    });
  });
}

TEST(IdleModelTest, NoWakeUpIsLostAndNoTurnRunsBesideAnother) {
  // semantics 2.5
  const Outcome outcome = ExploreActor<Sound<ModelAtomics>>({}, {{kFirst}, {kSecond}}, 2);
  ExpectHolds(outcome, 50'000);
}

TEST(IdleModelTest, AlsoWithMoreMessagesWhereLoadsReadTheNewest) {
  const Outcome outcome = ExploreActor<Sound<ModelAtomics>>({.old_reads_max = 0}, {{kFirst, kFirst}, {kSecond}}, 3);
  ExpectHolds(outcome, 50'000);
}

TEST(IdleModelTest, AlsoWithMoreMessagesWhereOneLoadReadsAnOlderStore) {
  if (!IsLongRun()) GTEST_SKIP() << "explored by .ci/long models";
  const Outcome outcome = ExploreActor<Sound<ModelAtomics>>({.old_reads_max = 1}, {{kFirst, kSecond}, {kFirst}}, 3);
  ExpectHolds(outcome, 1'000'000);
}

TEST(IdleModelTest, AlsoWithMoreMessagesAndAtMostThreePreemptions) {
  const Outcome outcome = ExploreActor<Sound<ModelAtomics>>({.preemptions_max = 3, .old_reads_max = 1},
                                                            {{kFirst, kSecond}, {kSecond, kFirst}}, 4);
  ExpectHolds(outcome, 70'000);
}

TEST(IdleModelTest, MailForAClosedMailboxRunsNoTurn) {
  // semantics 2.5; the first turn is the only one.
  const Outcome outcome = ExploreActor<Sound<ModelAtomics>>({}, {{kSecond}, {kSecond}}, 0, 1);
  ExpectHolds(outcome, 4'000);
}

TEST(IdleModelTest, ALookAtTheIdleActorLosesNoWakeUpAndRunsBesideNoTurn) {
  const Outcome outcome = ExploreActor<Sound<ModelAtomics>>({.preemptions_max = 3, .old_reads_max = 1},
                                                            {{kFirst}, {kSecond}}, 2, 100, /*has_looker=*/true);
  ExpectHolds(outcome, 5'000);
}

TEST(IdleModelTest, ALookAtAnActorWithMailForAClosedMailboxRunsNoTurnUnlessMailArrivesMeanwhile) {
  // Two turns: the first one, and one that the look may cause.
  const Outcome outcome = ExploreActor<Sound<ModelAtomics>>({}, {{kSecond}}, 0, 2, /*has_looker=*/true);
  ExpectHolds(outcome, 100);
}

TEST(IdleModelTest, ALookThatLeavesAnActorIdleWithOpenMailIsFound) {
  EXPECT_THAT(ExploreActor<LeavingOpenMail>({}, {{kFirst}, {kSecond}}, 2, 100, /*has_looker=*/true).failure,
              HasSubstr("no wake-up was lost"));
}

TEST(IdleModelTest, ASenderThatDoesNotReadTheMaskAgainIsFound) {
  EXPECT_THAT(ExploreActor<WithoutSecondRead>({}, {{kFirst}, {kSecond}}, 2).failure, HasSubstr("no wake-up was lost"));
}

TEST(IdleModelTest, ASenderThatSchedulesWhatAnotherHasScheduledIsFound) {
  EXPECT_THAT(ExploreActor<WithoutTryWake>({}, {{kFirst, kFirst}, {kSecond}}, 3).failure,
              AnyOf(HasSubstr("one turn at a time"), HasSubstr("race: ")));
}

TEST(IdleModelTest, AnOwnerThatPublishesItsMaskTooLateIsFound) {
  EXPECT_THAT(ExploreActor<PublishingLate>({}, {{kFirst}, {kSecond}}, 2).failure, HasSubstr("no wake-up was lost"));
}

TEST(IdleModelTest, RelaxedWhereReleaseOrAcquireIsNeededIsFound) {
  EXPECT_THAT(ExploreActor<Sound<WithoutRelease>>({}, {{kFirst}, {kSecond}}, 2).failure, HasSubstr("race: "));
  EXPECT_THAT(ExploreActor<Sound<WithoutAcquire>>({}, {{kFirst}, {kSecond}}, 2).failure, HasSubstr("race: "));
}

}  // namespace
}  // namespace understudy::model
