// NodeCore evicts a peer of which nothing is proved, to make room for a new peer (transport/core/node_core_accept.cc),
// while the handshake of the first may just complete. Either its session begins and keeps its stream, or nothing of it
// is left.
//
// The steps are those of NodeCore::EndOldestHandshake and OnIdle, and of PeerCore::Evict, Vacate, Occupy, Bind, OnFrame
// and Do, for one place and its PeerCore. Then the peer comes again, and gets another PeerCore.
#include <atomic>
#include <cstdint>
#include <memory>

#include "gmock/gmock.h"
#include "gtest/gtest.h"
#include "understudy/tests/model/expect_holds.h"
#include "understudy/tests/model/model_atomics.h"
#include "understudy/tests/model/model_mutex.h"
#include "understudy/tests/model/schedules.h"

namespace understudy::model {
namespace {

using ::testing::AnyOf;
using ::testing::HasSubstr;

enum class Bug {
  kNone,
  kDoesNotLookAgain,        // with the core locked, whether the peer may be evicted
  kForgetsTheStream,        // which then goes on speaking to the core
  kEvictsWhileItDelivers,   // so that what the peer left comes after it has come again
  kVacatesWithoutTheTable,  // so that a newcomer who has no stream yet is taken for idle
};

enum class Tenant { kNone, kPeer, kNewcomer };

template <Bug kBug>
struct Node {
  // ---- The peer's stream ----

  // The frame that completes the handshake, and one more; then the stream closes.
  void Speak() {
    bool has_begun = false;
    core.Lock();
    if (peer_stream != 0) {
      Expect(tenant == Tenant::kPeer, "a frame of one peer does not begin the session of another");
      is_live = true;
      has_begun = true;
      deliveries = deliveries + 1;
    }
    Deliver();
    if (!has_begun) return;
    core.Lock();
    Expect(peer_stream != 0 && tenant == Tenant::kPeer, "a session that has begun keeps its stream");
    peer_stream = 0;
    is_live = false;
    deliveries = deliveries + 1;
    const bool is_idle = Deliver();
    if (is_idle) OnIdle();
  }
  // With the core locked, which it unlocks. Whether the peer is idle then.
  bool Deliver() {
    if (deliveries == 0 || is_delivering) {
      core.Unlock();
      return false;
    }
    deliveries = 0;
    is_delivering = true;
    core.Unlock();
    being_delivered.store(1, std::memory_order_relaxed);
    being_delivered.store(0, std::memory_order_release);
    core.Lock();
    is_delivering = false;
    const bool is_idle = IsIdle();
    core.Unlock();
    return is_idle;
  }
  bool IsIdle() {
    return tenant != Tenant::kNone && !is_live && peer_stream == 0 && newcomers_stream == 0 && deliveries == 0;
  }
  void OnIdle() {
    if (kBug != Bug::kVacatesWithoutTheTable) table.Lock();
    core.Lock();
    if (IsIdle() && !is_delivering) tenant = Tenant::kNone;
    core.Unlock();
    if (kBug != Bug::kVacatesWithoutTheTable) table.Unlock();
  }

  // ---- A newcomer's Hello ----

  void Come() {
    table.Lock();
    core.Lock();
    bool gives_way = MayEvict();
    bool has_place = tenant == Tenant::kNone;
    core.Unlock();
    if (gives_way) {
      core.Lock();
      if (kBug == Bug::kDoesNotLookAgain || MayEvict()) {
        if (kBug != Bug::kForgetsTheStream) peer_stream = 0;
        tenant = Tenant::kNone;
        has_place = true;
      }
      core.Unlock();
    }
    if (has_place) {
      core.Lock();
      tenant = Tenant::kNewcomer;
      is_live = false;
      core.Unlock();
      core.Lock();
      Expect(tenant == Tenant::kNewcomer, "a newcomer has its place until its stream is there");
      newcomers_stream = 1;
      core.Unlock();
    }
    table.Unlock();
    // The peer comes again, and as it has no core, another one delivers for it.
    if (has_place) {
      // acquire: the model's own, so that what is read is the newest.
      Expect(being_delivered.load(std::memory_order_acquire) == 0,
             "what a peer left is delivered before it comes again");
    }
  }
  bool MayEvict() {
    const bool is_quiet = (deliveries == 0 && !is_delivering) || kBug == Bug::kEvictsWhileItDelivers;
    return tenant == Tenant::kPeer && !is_live && is_quiet;
  }

  ModelMutex table;
  ModelMutex core;
  // Guarded by core.
  ModelPlain<Tenant> tenant{Tenant::kPeer};
  ModelPlain<bool> is_live{false};
  ModelPlain<int> peer_stream{1};
  ModelPlain<int> newcomers_stream{0};
  ModelPlain<int> deliveries{0};
  ModelPlain<bool> is_delivering{false};
  // Something is being delivered for the peer, by this core.
  ModelAtomic<int> being_delivered{0};
};

// All state is guarded by mutexes, so that old reads are none.
constexpr Bounds kBounds = {.preemptions_max = 3, .old_reads_max = 0};

template <Bug kBug = Bug::kNone>
Outcome ExploreEviction() {
  return Explore(kBounds, [](Program& program) {
    auto node = std::make_shared<Node<kBug>>();
    program.Name(node->table, "table");
    program.Name(node->core, "core");
    program.Name(node->being_delivered, "being_delivered");
    program.Thread("peer", [node] { node->Speak(); });
    program.Thread("newcomer", [node] { node->Come(); });
  });
}

TEST(EvictionModelTest, APeerIsEvictedWholeOrItsSessionBeginsAndKeepsItsStream) {
  ExpectHolds(ExploreEviction(), 1000);
}

TEST(EvictionModelTest, WithoutASecondLookAPeerWhoseSessionHasBegunIsEvictedAndThatIsFound) {
  EXPECT_THAT(ExploreEviction<Bug::kDoesNotLookAgain>().failure,
              AnyOf(HasSubstr("keeps its stream"), HasSubstr("before it comes again")));
}

TEST(EvictionModelTest, AStreamThatIsForgottenIsFound) {
  EXPECT_THAT(ExploreEviction<Bug::kForgetsTheStream>().failure, HasSubstr("does not begin the session of another"));
}

TEST(EvictionModelTest, AnEvictionWhileThePeersEndIsDeliveredIsFound) {
  EXPECT_THAT(ExploreEviction<Bug::kEvictsWhileItDelivers>().failure, HasSubstr("before it comes again"));
}

TEST(EvictionModelTest, APlaceThatIsVacatedWithoutTheTablesLockIsFound) {
  EXPECT_THAT(ExploreEviction<Bug::kVacatesWithoutTheTable>().failure, HasSubstr("has its place until"));
}

}  // namespace
}  // namespace understudy::model
