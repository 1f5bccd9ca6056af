// Explores waiting for room (actors/internal/send/blocked_senders.h): a sender that waits for room in a full mailbox
// gets it when there is some, or is told that the actor has died.
//
// The model repeats the steps of BlockedSenders::Add and Admit, and of the end of a turn and the end of an actor, over
// the real Inbound.
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
#include "understudy/tests/model/model_mutex.h"
#include "understudy/tests/model/schedules.h"

namespace understudy::model {
namespace {

using internal::Inbound;
using internal::Pushed;
using ::testing::HasSubstr;

constexpr auto kRelaxed = std::memory_order_relaxed;
constexpr int kRoom = 1;

struct alignas(64) Node {
  ModelPlain<Node*> next{nullptr};
  ModelAtomic<int> is_told{0};  // 1 when the sender has been told the outcome
  bool is_message = true;       // false: the node only wakes the receiver
};

enum class Bug {
  kNone,
  kDoesNotWake,         // a sender that begins to wait does not wake the receiver
  kDoesNotLookAtDeath,  // a sender that begins to wait does not check again whether the receiver is dead
  kRefusedGoesAway,     // a refused sender, which was counted for a moment, admits no waiting sender
  kCountsRelaxed,       // the counts of a mailbox are relaxed, so a refused sender may not see that another waits
};

enum class End { kNone, kDies };

template <Bug kBug>
struct Receiver {
  static constexpr auto kCounts = kBug == Bug::kCountsRelaxed ? kRelaxed : std::memory_order_acq_rel;

  enum class Outcome { kAccepted, kFull, kEnded };

  Receiver() {
    inbound.Open();
    (void)inbound.Push(&first, true);  // the mailbox is full
  }

  Outcome Accept(Node& node, bool& must_run) {
    if (!inbound.IsLive()) return Outcome::kEnded;
    if (accepted.fetch_add(1, kCounts) + 1 - limit.load(kRelaxed) > 0) {
      accepted.fetch_sub(1, kCounts);
      return inbound.IsLive() ? Outcome::kFull : Outcome::kEnded;
    }
    const Pushed pushed = inbound.Push(&node, true);
    if (pushed == Pushed::kClosed) return Outcome::kEnded;
    must_run = must_run || pushed == Pushed::kMustSchedule;
    return Outcome::kAccepted;
  }

  // Sends `node`, and waits for room if the mailbox is full.
  void Sent(Node& node, Node& wake) {
    bool must_run = false;
    if (has_waiters.load(kRelaxed) == 0 && Accept(node, must_run) != Outcome::kFull) {
      node.is_told.store(1, kRelaxed);
    } else {
      mu.Lock();
      (waiting[0] == nullptr ? waiting[0] : waiting[1]) = &node;
      const bool is_marked = has_waiters.load(kRelaxed) != 0;
      has_waiters.store(1, kRelaxed);
      AdmitLocked(must_run);
      mu.Unlock();
      if (kBug != Bug::kDoesNotWake && !is_marked) {
        wake.is_message = false;
        const Pushed pushed = inbound.Push(&wake, true);
        must_run = must_run || pushed == Pushed::kMustSchedule;
      }
      if (kBug != Bug::kDoesNotLookAtDeath && !inbound.IsLive()) Admit(must_run);
    }
    if (must_run) Turn(End::kNone);
  }
  // Sends `node`, and does not wait for room.
  void Send(Node& node) {
    bool must_run = false;
    if (Accept(node, must_run) == Outcome::kFull && kBug != Bug::kRefusedGoesAway && has_waiters.load(kRelaxed) != 0) {
      Admit(must_run);
    }
    if (must_run) Turn(End::kNone);
  }
  void Admit(bool& must_run) {
    mu.Lock();
    AdmitLocked(must_run);
    mu.Unlock();
  }
  void AdmitLocked(bool& must_run) {
    while (waiting[0] != nullptr && Accept(*static_cast<Node*>(waiting[0]), must_run) != Outcome::kFull) {
      waiting[0]->is_told.store(1, kRelaxed);
      waiting[0] = static_cast<Node*>(waiting[1]);
      waiting[1] = nullptr;
    }
    if (waiting[0] == nullptr) has_waiters.store(0, kRelaxed);
  }

  // A thread that must schedule the actor runs its turn at once.
  void Turn(End end) {
    bool must_run = false;  // never: the actor is not idle in its turn
    for (;;) {
      for (Node* node = inbound.TakeAll(); node != nullptr; node = node->next) {
        if (node->is_message) left = left + 1;
      }
      if (end == End::kDies) {
        (void)inbound.Close();
        limit.store(0, kRelaxed);
        if (has_waiters.load(kRelaxed) != 0) Admit(must_run);
        return;
      }
      limit.store(left + kRoom, kRelaxed);
      if (has_waiters.load(kRelaxed) != 0) Admit(must_run);
      if (inbound.TryIdle()) return;
    }
  }

  Inbound<Node, ModelAtomics> inbound;
  ModelAtomic<int> accepted{1}, limit{kRoom};
  ModelAtomic<int> has_waiters{0};
  ModelMutex mu;
  std::array<ModelPlain<Node*>, 2> waiting{nullptr, nullptr};  // guarded by mu
  ModelPlain<int> left{0};                                     // accessed only in a turn
  Node first;
};

// The second sender: none, one that does not wait and may be refused, or one that waits.
enum class Other { kNobody, kRefused, kWaits };

template <Bug kBug = Bug::kNone>
Outcome ExploreRoom(const Bounds& bounds, End end, Other other = Other::kNobody) {
  return Explore(bounds, [=](Program& program) {
    struct State {
      Receiver<kBug> receiver;
      Node sent, wake, others, others_wake;
    };
    auto state = std::make_shared<State>();
    program.Name(state->receiver.inbound, "inbound");
    program.Name(state->receiver.accepted, "accepted");
    program.Name(state->receiver.limit, "limit");
    program.Name(state->receiver.has_waiters, "has_waiters");
    program.Name(state->receiver.mu, "mu");
    program.Name(state->receiver.left, "left");
    program.Thread("receiver", [state, end] { state->receiver.Turn(end); });
    program.Thread("sender", [state] { state->receiver.Sent(state->sent, state->wake); });
    if (other == Other::kRefused) {
      program.Thread("other", [state] { state->receiver.Send(state->others); });
    } else if (other == Other::kWaits) {
      program.Thread("other", [state] { state->receiver.Sent(state->others, state->others_wake); });
    }
    program.AtEnd([state, other] {
      Expect(state->sent.is_told.load(kRelaxed) == 1, "the sender is told");
      Expect(other != Other::kWaits || state->others.is_told.load(kRelaxed) == 1, "the other is told");
    });
  });
}

// The bounds for explorations of three threads.
constexpr Bounds kBounds = {.preemptions_max = 3, .old_reads_max = 1};

TEST(RoomModelTest, ASenderThatWaitsForRoomGetsIt) { ExpectHolds(ExploreRoom<>({}, End::kNone), 160'000); }

TEST(RoomModelTest, ASenderThatWaitsForRoomHearsOfTheReceiversDeath) {
  ExpectHolds(ExploreRoom<>({}, End::kDies), 400'000);
}

TEST(RoomModelTest, AWaitingSenderGetsRoomThatARefusedSenderHadForAMoment) {
  ExpectHolds(ExploreRoom<>(kBounds, End::kNone, Other::kRefused), 500'000);
}

TEST(RoomModelTest, TwoThatWaitGetRoomOrHearOfTheDeath) {
  constexpr Bounds kNewest = {.preemptions_max = 3, .old_reads_max = 0};
  ExpectHolds(ExploreRoom<>(kNewest, End::kNone, Other::kWaits), 1'000);
  ExpectHolds(ExploreRoom<>(kNewest, End::kDies, Other::kWaits), 1'000);
}

TEST(RoomModelTest, ARefusedSenderThatGoesAwayIsFound) {
  EXPECT_THAT(ExploreRoom<Bug::kRefusedGoesAway>(kBounds, End::kNone, Other::kRefused).failure,
              HasSubstr("the sender is told"));
}

TEST(RoomModelTest, CountsThatOrderNothingAreFound) {
  EXPECT_THAT(ExploreRoom<Bug::kCountsRelaxed>(kBounds, End::kNone, Other::kRefused).failure,
              HasSubstr("the sender is told"));
}

TEST(RoomModelTest, ASenderThatDoesNotWakeTheReceiverIsFound) {
  EXPECT_THAT(ExploreRoom<Bug::kDoesNotWake>({}, End::kNone).failure, HasSubstr("the sender is told"));
}

TEST(RoomModelTest, ASenderThatDoesNotLookAgainAtADeathIsFound) {
  EXPECT_THAT(ExploreRoom<Bug::kDoesNotLookAtDeath>({}, End::kDies).failure, HasSubstr("the sender is told"));
}

}  // namespace
}  // namespace understudy::model
