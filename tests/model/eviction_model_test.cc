// Explores the eviction of a peer that has proved nothing, by which a node makes room for a new peer
// (transport/core/peer_table.h), while the handshake of the first peer may be about to complete. Either the
// first peer's session begins and keeps its stream, or the eviction leaves nothing of that peer.
//
// The model repeats the steps of PeerTable::EvictOldest, of NodeCore::OnIdle, and of PeerCore::Evict, Vacate, Occupy,
// Bind, OnFrame and Do, for one place and its PeerCore. An evicted peer that connects again gets another PeerCore.
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
  kDoesNotLookAgain,        // the node does not check again, with the core locked, that it may evict the peer
  kForgetsTheStream,        // the evicted peer's stream stays attached to the core
  kEvictsWhileItDelivers,   // the evicted peer may come again before its deliveries have ended
  kVacatesWithoutTheTable,  // the table is not locked, so a newcomer without a stream is taken for idle
};

enum class Tenant { kNone, kPeer, kNewcomer };

template <Bug kBug>
struct Node {
  // ---- The peer's stream ----

  // A frame of the peer completes the handshake, then the stream closes. Each of the two has something to deliver.
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
  // Requires that `core` is locked, and unlocks it. Returns true if it has delivered something and the peer is idle
  // then.
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
    // The peer comes again. It has lost its core to the newcomer, so another core delivers for it.
    if (has_place) {
      // acquire: pairs with the release store in Deliver. Only the model has this load, and reads the newest store
      // (kBounds).
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
  // 1 while this core delivers something for the peer.
  ModelAtomic<int> being_delivered{0};
};

// Loads read only the newest store, because mutexes guard the state of the node.
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
