// Waiting for room (actors/internal/room_waiters.h): whoever waits for room in
// a full mailbox gets it when there is some, or hears that the actor has died.
//
// The steps are those of RoomWaiters::Add and Admit, of a turn's end and of an
// actor's, over the real Inbound.
#include <atomic>
#include <cstddef>
#include <cstdint>
#include <memory>
#include <string>

#include "gmock/gmock.h"
#include "gtest/gtest.h"
#include "understudy/actors/internal/inbound.h"
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
  bool is_message = true;  // else it only wakes
};

enum class Bug {
  kNone,
  kDoesNotWake,         // the receiver, once the sender waits
  kDoesNotLookAtDeath,  // again, when the receiver is found dead only then
};

enum class End { kNone, kDies };

template <Bug kBug>
struct Receiver {
  enum class Outcome { kAccepted, kFull, kEnded };

  Receiver() {
    inbound.Open();
    (void)inbound.Push(&first, true);  // the mailbox is full
  }

  Outcome Accept(Node& node, bool& must_run) {
    if (!inbound.IsLive()) return Outcome::kEnded;
    if (accepted.fetch_add(1, kRelaxed) + 1 - limit.load(kRelaxed) > 0) {
      accepted.fetch_sub(1, kRelaxed);
      return inbound.IsLive() ? Outcome::kFull : Outcome::kEnded;
    }
    const Pushed pushed = inbound.Push(&node, true);
    if (pushed == Pushed::kClosed) return Outcome::kEnded;
    must_run = must_run || pushed == Pushed::kMustSchedule;
    return Outcome::kAccepted;
  }

  // A sender that waits for room.
  void Sent(Node& node, Node& wake) {
    bool must_run = false;
    if (has_waiters.load(kRelaxed) == 0 && Accept(node, must_run) != Outcome::kFull) {
      waiter_is_told.store(1, kRelaxed);
    } else {
      mu.Lock();
      waiting = &node;
      has_waiters.store(1, kRelaxed);
      AdmitLocked(must_run);
      mu.Unlock();
      if (kBug != Bug::kDoesNotWake) {
        wake.is_message = false;
        const Pushed pushed = inbound.Push(&wake, true);
        if (pushed == Pushed::kClosed && kBug != Bug::kDoesNotLookAtDeath) Admit(must_run);
        must_run = must_run || pushed == Pushed::kMustSchedule;
      }
    }
    if (must_run) Turn(End::kNone);
  }
  void Admit(bool& must_run) {
    mu.Lock();
    AdmitLocked(must_run);
    mu.Unlock();
  }
  void AdmitLocked(bool& must_run) {
    if (waiting != nullptr && Accept(*static_cast<Node*>(waiting), must_run) != Outcome::kFull) {
      waiting = nullptr;
      waiter_is_told.store(1, kRelaxed);
    }
    if (waiting == nullptr) has_waiters.store(0, kRelaxed);
  }

  // Whoever must schedule the actor runs its turn at once.
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
  ModelPlain<Node*> waiting{nullptr};  // guarded by mu
  ModelPlain<int> left{0};             // the turn's
  ModelAtomic<int> waiter_is_told{0};
  Node first;
};

template <Bug kBug = Bug::kNone>
Outcome ExploreRoom(const Bounds& bounds, End end) {
  return Explore(bounds, [end](Program& program) {
    struct State {
      Receiver<kBug> receiver;
      Node sent, wake;
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
    program.AtEnd([state] { Expect(state->receiver.waiter_is_told.load(kRelaxed) == 1, "the sender is told"); });
  });
}

TEST(RoomModelTest, WhoWaitsForRoomGetsIt) { ExpectHolds(ExploreRoom<>({}, End::kNone), 160'000); }

TEST(RoomModelTest, WhoWaitsForRoomHearsOfTheDeath) { ExpectHolds(ExploreRoom<>({}, End::kDies), 450'000); }

TEST(RoomModelTest, ASenderThatDoesNotWakeTheReceiverIsFound) {
  EXPECT_THAT(ExploreRoom<Bug::kDoesNotWake>({}, End::kNone).failure, HasSubstr("the sender is told"));
}

TEST(RoomModelTest, ASenderThatDoesNotLookAgainAtADeathIsFound) {
  EXPECT_THAT(ExploreRoom<Bug::kDoesNotLookAtDeath>({}, End::kDies).failure, HasSubstr("the sender is told"));
}

}  // namespace
}  // namespace understudy::model
