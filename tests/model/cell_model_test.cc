// Explores a cell that gets its next life (actors/internal/send/actor_cell.h). A sender that found the actor alive may
// push after the actor has died and the cell has a new actor. The new actor must not get that message, and the counts
// that bound a mailbox must be right in the end.
//
// The model repeats the steps of Accept, Close, ResetCounts, Open, SetLayout and ForgetStale in actor_cell.cc, over the
// real Inbound.
#include <array>
#include <atomic>
#include <cstddef>
#include <cstdint>
#include <memory>
#include <string>

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
constexpr int kRoom = 2;  // the capacity of the mailbox, in messages

enum class Disposition { kNone, kRefused, kHandled, kDeadLetter };

struct alignas(64) Node {
  ModelPlain<Node*> next{nullptr};
  ModelPlain<int> life{0};
  Disposition disposition = Disposition::kNone;  // written by the sender, and after the push by the owner
};

enum class Bug {
  kNone,
  kDrainDoesNotLook,   // the owner does not check for which life a message was sent
  kStaleStaysCounted,  // a message for an earlier life stays counted in the gate
  kResetForgets,       // the count drops senders that have counted a message and not yet pushed it
};

template <Bug kBug, class Atomics>
struct Cell {
  template <class T>
  using Atomic = typename Atomics::template Atomic<T>;

  Cell() {
    life.store(1, std::memory_order_release);
    inbound.Open();
    SetLayout();
  }

  void Send(Node& node, int to) {
    node.disposition = Disposition::kRefused;
    if (life.load(std::memory_order_acquire) != to || layout.load(std::memory_order_acquire) == 0) return;
    if (accepted.fetch_add(1, kRelaxed) + 1 - limit.load(kRelaxed) > 0) {
      accepted.fetch_sub(1, kRelaxed);
      return;
    }
    node.life = to;
    node.disposition = Disposition::kNone;
    if (inbound.Push(&node, true) != Pushed::kClosed) return;
    node.disposition = Disposition::kRefused;
    accepted.fetch_sub(1, kRelaxed);
  }

  // The owner's thread ends the first life, opens the cell for the second life, and takes what has arrived.
  void Work() {
    Drain(1);
    for (Node* node = inbound.Close(); node != nullptr; node = node->next) {
      Leave(*node, Disposition::kDeadLetter);
    }
    limit.store(0, kRelaxed);
    if (kBug == Bug::kResetForgets) {
      accepted.store(0, kRelaxed);
    } else {
      accepted.fetch_sub(left, kRelaxed);
    }
    left = 0;
    layout.store(0, kRelaxed);
    life.store(2, std::memory_order_release);
    inbound.Open();
    SetLayout();
    Drain(2);
  }
  void SetLayout() {
    limit.store(kRoom, kRelaxed);
    layout.store(1, std::memory_order_release);
  }
  void Drain(int now) {
    for (Node* node = inbound.TakeAll(); node != nullptr; node = node->next) {
      if (node->life == now || kBug == Bug::kDrainDoesNotLook) {
        Expect(node->life == now, "a message reaches the life it was sent to");
        Leave(*node, Disposition::kHandled);
      } else {
        node->disposition = Disposition::kDeadLetter;
        if (kBug != Bug::kStaleStaysCounted) accepted.fetch_sub(1, kRelaxed);
      }
    }
    limit.store(left + kRoom, kRelaxed);
  }
  void Leave(Node& node, Disposition disposition) {
    Expect(node.disposition == Disposition::kNone, "a message has one disposition");
    node.disposition = disposition;
    left = left + 1;
  }
  void Check() {
    Drain(2);
    Expect(accepted.load(kRelaxed) == left, "what is counted in is what has left");
    for (const Sent& node : nodes) {
      if (node.is_sent) Expect(node.disposition != Disposition::kNone, "each message has a disposition");
    }
  }

  Inbound<Node, Atomics> inbound;
  Atomic<int> life{0};
  Atomic<int> layout{0};
  Atomic<int> accepted{0}, limit{0};
  int left = 0;  // written by the owner: how many accepted messages have left the mailbox
  struct Sent : Node {
    bool is_sent = false;
  };
  std::array<Sent, 4> nodes;
};

template <Bug kBug = Bug::kNone, class Atomics = ModelAtomics>
Outcome ExploreCell(const Bounds& bounds, size_t each) {
  return Explore(bounds, [each](Program& program) {
    auto cell = std::make_shared<Cell<kBug, Atomics>>();
    program.Name(cell->inbound, "inbound");
    program.Name(cell->life, "life");
    program.Name(cell->layout, "layout");
    program.Name(cell->accepted, "accepted");
    program.Name(cell->limit, "limit");
    program.Name(cell->nodes, "nodes");
    program.Thread("owner", [cell] { cell->Work(); });
    for (size_t sender = 0; sender < 2; ++sender) {
      program.Thread(sender == 0 ? "sender to 1" : "sender to 2", [cell, sender, each] {
        for (size_t i = 0; i < each; ++i) {
          auto& node = cell->nodes[sender * 2 + i];
          node.is_sent = true;
          cell->Send(node, static_cast<int>(sender) + 1);
        }
      });
    }
    program.AtEnd([cell] { cell->Check(); });
  });
}

TEST(CellModelTest, AMessageReachesTheLifeItWasSentToOrNone) { ExpectHolds(ExploreCell<>({}, 1), 18'000); }

TEST(CellModelTest, AlsoWithMoreMessagesAndAtMostThreePreemptions) {
  ExpectHolds(ExploreCell<>({.preemptions_max = 3, .old_reads_max = 1}, 2), 100'000);
}

TEST(CellModelTest, AnOwnerThatDoesNotLookWhoseMessageItIsIsFound) {
  EXPECT_THAT(ExploreCell<Bug::kDrainDoesNotLook>({.old_reads_max = 0}, 1).failure,
              HasSubstr("reaches the life it was sent to"));
}

TEST(CellModelTest, ACountThatIsNotTakenBackIsFound) {
  for (const Outcome& outcome : {ExploreCell<Bug::kStaleStaysCounted>({.old_reads_max = 0}, 1),
                                 ExploreCell<Bug::kResetForgets>({.old_reads_max = 0}, 1)}) {
    EXPECT_THAT(outcome.failure, HasSubstr("what is counted in is what has left"));
  }
}

TEST(CellModelTest, RelaxedWhereReleaseOrAcquireIsNeededIsFound) {
  EXPECT_THAT((ExploreCell<Bug::kNone, WithoutRelease>({}, 1).failure),
              AnyOf(HasSubstr("race: "), HasSubstr("not so: ")));
  EXPECT_THAT((ExploreCell<Bug::kNone, WithoutAcquire>({}, 1).failure),
              AnyOf(HasSubstr("race: "), HasSubstr("not so: ")));
}

}  // namespace
}  // namespace understudy::model
