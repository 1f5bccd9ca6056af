// Explores the direct hand-off, in which a message skips the gate and the inbound list of an idle actor
// (actors/internal/send/plain_send.h). A sender that claims the actor owns it until the sender schedules it. No turn
// runs at the same time, the message reaches the life it was sent to, and the mailbox never holds more than its
// capacity.
//
// The model repeats the steps of ActorCell::AcceptPlain, TryHand, Hand and HasPlace, and of a turn (actor_core.cc) that
// may end the life and begin the cell's next one, over the real Inbound.
#include <array>
#include <atomic>
#include <cstddef>
#include <cstdint>
#include <memory>
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

constexpr auto kRelaxed = std::memory_order_relaxed;
constexpr int kRoom = 1;  // the capacity of the mailbox, in messages
constexpr uint64_t kBit = 1;

enum class Disposition { kNone, kRefused, kHandled, kDeadLetter };

struct alignas(64) Node {
  ModelPlain<Node*> next{nullptr};
  ModelPlain<int> life{0};
  bool kills = false;
  Disposition disposition = Disposition::kNone;  // written by the sender, and once it is accepted by the owner
};

enum class Bug {
  kNone,
  kDoesNotLookAtLife,  // the sender does not check which life of the cell it has claimed
  kLimitStays,         // the limit is not lowered for a handed message, which the gate has not counted
  kLimitStaysLow,      // the limit is not raised again when the handed message has been handled
  kNoLightBarrier,     // no light barrier between the store of the lower limit and the load of the count
  kNoHeavyBarrier,     // no heavy barrier in a sender that takes the last place
  kForgetsToSchedule,  // the sender does not schedule an actor that it has claimed but cannot hand its message to
};

template <Bug kBug, class Atomics>
struct Cell {
  template <class T>
  using Atomic = typename Atomics::template Atomic<T>;

  Cell() { Open(1); }

  void Send(Node& node, int to) {
    node.disposition = Disposition::kRefused;
    if (life.load(std::memory_order_acquire) != to) return;
    node.life = to;
    node.disposition = Disposition::kNone;
    if (inbound.CanClaim() && (open.load(kRelaxed) & kBit) != 0 && inbound.TryClaim() && Hand(node)) return;
    const int count = accepted.fetch_add(1, kRelaxed) + 1;
    int beyond = count - limit.load(kRelaxed);
    if (beyond == 0 && kBug != Bug::kNoHeavyBarrier) {
      Atomics::HeavyBarrier();
      beyond = count - limit.load(kRelaxed);
    }
    if (beyond > 0) {
      accepted.fetch_sub(1, kRelaxed);
      node.disposition = Disposition::kRefused;
      return;
    }
    const Pushed pushed = inbound.PushAndWake(&node, open, kBit);
    if (pushed == Pushed::kMustSchedule) Turn();
    if (pushed != Pushed::kClosed) return;
    node.disposition = Disposition::kRefused;
    accepted.fetch_sub(1, kRelaxed);
  }
  bool Hand(Node& node) {
    bool is_handed = false;
    if (kBug == Bug::kDoesNotLookAtLife || life.load(kRelaxed) == node.life) {
      const int lowered = limit.load(kRelaxed) - 1;
      if (kBug != Bug::kLimitStays) limit.store(lowered, kRelaxed);
      if (kBug != Bug::kNoLightBarrier) Atomics::LightBarrier();
      is_handed = accepted.load(kRelaxed) - lowered <= 0;
      if (is_handed) {
        left = left - 1;
        Expect(node.life == life.load(kRelaxed), "a message reaches the life it was sent to");
        in_hand = &node;
      } else {
        limit.store(lowered + 1, kRelaxed);
      }
    }
    if (is_handed || kBug != Bug::kForgetsToSchedule) Turn();
    return is_handed;
  }
  void Kill(Node& node, int whom) {
    if (life.load(std::memory_order_acquire) != whom) return;
    node.life = whom;
    node.kills = true;
    if (inbound.Push(&node, true) == Pushed::kMustSchedule) Turn();
  }

  // A thread that must schedule the actor runs its turn at once.
  void Turn() {
    do {
      Expect(running == 0, "one turn at a time");
      running = 1;
      Node* const handed = in_hand;
      in_hand = nullptr;
      if (handed != nullptr && !inbound.HasNodes()) {
        HandleHanded(*handed);
        running = 0;
        continue;
      }
      if (handed != nullptr) Enqueue(*handed);
      bool is_killed = false;
      for (Node* node = Inbound<Node, Atomics>::Reverse(inbound.TakeAll()); node != nullptr; node = node->next) {
        if (node->kills) {
          is_killed = is_killed || node->life == life.load(kRelaxed);
        } else if (node->life == life.load(kRelaxed)) {
          Enqueue(*node);
        } else {
          node->disposition = Disposition::kDeadLetter;
          accepted.fetch_sub(1, kRelaxed);
        }
      }
      if (is_killed) {
        EndLife();
        Open(2);
      }
      Empty(Disposition::kHandled);
      limit.store(left + kRoom, kRelaxed);
      open.store(kBit, kRelaxed);
      running = 0;
    } while (!inbound.TryIdle());
  }
  // Handles a handed message, which does not go through its mailbox.
  void HandleHanded(Node& node) {
    node.disposition = Disposition::kHandled;
    left = left + 1;
    if (kBug != Bug::kLimitStaysLow && kBug != Bug::kLimitStays) limit.store(limit.load(kRelaxed) + 1, kRelaxed);
  }
  void EndLife() {
    Empty(Disposition::kDeadLetter);
    for (Node* node = inbound.Close(); node != nullptr; node = node->next) {
      if (node->kills) continue;
      left = left + 1;
      node->disposition = Disposition::kDeadLetter;
    }
    limit.store(0, kRelaxed);
    accepted.fetch_sub(left, kRelaxed);
    left = 0;
  }
  void Open(int next) {
    open.store(0, kRelaxed);
    limit.store(kRoom, kRelaxed);
    life.store(next, std::memory_order_release);
    inbound.Open();
  }
  void Enqueue(Node& node) {
    Expect(node.life == life.load(kRelaxed), "a message reaches the life it was sent to");
    waiting.push_back(&node);
    Expect(waiting.size() <= kRoom, "no more wait than there is room for");
  }
  void Empty(Disposition disposition) {
    for (Node* node : waiting) {
      Expect(node->disposition == Disposition::kNone, "a message has one disposition");
      node->disposition = disposition;
      left = left + 1;
    }
    waiting.clear();
  }
  void Check() {
    Expect(inbound.IsIdle(), "it is idle in the end");
    Expect(accepted.load(kRelaxed) == left, "what is counted in is what has left");
    Expect(limit.load(kRelaxed) == left + kRoom, "all of its room is open again");
    for (const Sent& node : nodes) {
      if (node.is_sent) Expect(node.disposition != Disposition::kNone, "each message has a disposition");
    }
  }

  Inbound<Node, Atomics> inbound;
  Atomic<int> life{0};
  Atomic<uint64_t> open{0};
  Atomic<int> accepted{0}, limit{0};
  // Accessed only by the thread that owns the actor:
  ModelPlain<int> running{0};
  ModelPlain<int> left{0};
  ModelPlain<Node*> in_hand{nullptr};
  std::vector<Node*> waiting;
  struct Sent : Node {
    bool is_sent = false;
  };
  std::array<Sent, 4> nodes;
  Node kill;
};

// A sender to life 1, a sender to life `second`, and, if `kills`, a thread that kills life 1.
template <Bug kBug = Bug::kNone, class Atomics = ModelAtomics>
Outcome ExploreCell(const Bounds& bounds, size_t each, int second, bool kills) {
  return Explore(bounds, [=](Program& program) {
    auto cell = std::make_shared<Cell<kBug, Atomics>>();
    program.Name(cell->inbound, "inbound");
    program.Name(cell->life, "life");
    program.Name(cell->open, "open");
    program.Name(cell->accepted, "accepted");
    program.Name(cell->limit, "limit");
    program.Name(cell->running, "running");
    program.Name(cell->left, "left");
    program.Name(cell->nodes, "nodes");
    program.Name(cell->kill, "kill");
    program.Thread("first turn", [cell] { cell->Turn(); });
    for (size_t sender = 0; sender < 2; ++sender) {
      program.Thread(sender == 0 ? "sender" : "other sender", [cell, sender, each, second] {
        for (size_t i = 0; i < each; ++i) {
          auto& node = cell->nodes[sender * 2 + i];
          node.is_sent = true;
          cell->Send(node, sender == 0 ? 1 : second);
        }
      });
    }
    if (kills) program.Thread("killer", [cell] { cell->Kill(cell->kill, 1); });
    program.AtEnd([cell] { cell->Check(); });
  });
}

TEST(HandModelTest, AThreadThatClaimsAnIdleActorIsItsOnlyOwner) {
  if (!IsLongRun()) GTEST_SKIP() << "explored by .ci/long models";
  ExpectHolds(ExploreCell<>({}, 1, 1, false), 4'000'000);
}

TEST(HandModelTest, AlsoWithMoreMessagesAndAtMostThreePreemptions) {
  ExpectHolds(ExploreCell<>({.preemptions_max = 3, .old_reads_max = 1}, 2, 1, false), 780'000);
}

TEST(HandModelTest, AMessageIsNotHandedToTheNextLife) {
  ExpectHolds(ExploreCell<>({.preemptions_max = 3, .old_reads_max = 1}, 1, 2, true), 1'000'000);
}

TEST(HandModelTest, AClaimThatDoesNotLookWhoseActorItIsIsFound) {
  EXPECT_THAT((ExploreCell<Bug::kDoesNotLookAtLife>({.preemptions_max = 3, .old_reads_max = 1}, 1, 2, true).failure),
              HasSubstr("reaches the life it was sent to"));
}

TEST(HandModelTest, ALimitThatDoesNotCountWhatWasHandedIsFound) {
  EXPECT_THAT(ExploreCell<Bug::kLimitStays>({}, 1, 1, false).failure, HasSubstr("no more wait than there is room for"));
}

TEST(HandModelTest, ALimitThatStaysLowWhenWhatWasHandedIsHandledIsFound) {
  EXPECT_THAT(ExploreCell<Bug::kLimitStaysLow>({}, 1, 1, false).failure, HasSubstr("all of its room is open again"));
}

TEST(HandModelTest, APlaceThatIsGivenAwayTwiceIsFound) {
  EXPECT_THAT(ExploreCell<Bug::kNoLightBarrier>({}, 1, 1, false).failure,
              HasSubstr("no more wait than there is room for"));
  EXPECT_THAT(ExploreCell<Bug::kNoHeavyBarrier>({}, 1, 1, false).failure,
              HasSubstr("no more wait than there is room for"));
}

TEST(HandModelTest, AClaimedActorThatNobodySchedulesIsFound) {
  EXPECT_THAT((ExploreCell<Bug::kForgetsToSchedule>({.preemptions_max = 3, .old_reads_max = 1}, 1, 2, true).failure),
              AnyOf(HasSubstr("idle in the end"), HasSubstr("has a disposition")));
}

TEST(HandModelTest, RelaxedWhereReleaseOrAcquireIsNeededIsFound) {
  EXPECT_THAT((ExploreCell<Bug::kNone, WithoutRelease>({}, 1, 1, false).failure), HasSubstr("race: "));
  EXPECT_THAT((ExploreCell<Bug::kNone, WithoutAcquire>({}, 1, 1, false).failure), HasSubstr("race: "));
}

}  // namespace
}  // namespace understudy::model
