// Inbound: an actor's inbound list and its run state in one word.
//
// The word is the newest node's address | kIdle | kLive. Nodes are aligned to
// 64 bytes, so the low bits are free. All zero is closed: memory that was never
// used, or has been given back, is a closed list.
//
// Invariants:
// 1. Without kLive there are no nodes and no kIdle. Only the owner opens and
//    closes; the exchange that closes is the moment of death: whoever pushes
//    later is told, and every node pushed before is given to the owner.
// 2. Not idle: the actor runs, or exactly one party is bound to schedule it.
// 3. Idle, and has nodes: none of them was for a mailbox that was open when the
//    owner went idle.
// 4. A node's `next` belongs to the pusher until the push, to the owner after.
//
// Going idle without losing a wake-up (semantics 2.5): the owner stores which
// mailboxes are open, then TryIdle. A sender reads the mask, pushes, and when
// the word said idle although the mask said closed, reads the mask again: what
// it read first may be older than the idleness it met. PushAndWake does that.
//
// The owner is whoever may run the actor's turn; it may change threads, if each
// owner's work happens before the next one's (scheduling does that, and
// BiasedLock). Operations marked "owner" are the owner's, others any thread's.
#ifndef UNDERSTUDY_ACTORS_INTERNAL_SEND_INBOUND_H_
#define UNDERSTUDY_ACTORS_INTERNAL_SEND_INBOUND_H_

#include <atomic>
#include <cstdint>

#include "understudy/actors/internal/memory/atomics.h"

namespace understudy::internal {

enum class Pushed {
  kClosed,        // not pushed: the node is still the caller's
  kPushed,        // nobody need be woken
  kPushedToIdle,  // the actor is idle and was left so
  kMustSchedule,  // pushed, and the caller must schedule the actor
};

// `Node` has a member `next`, to which a Node* can be assigned and which
// converts to one.
template <class Node, class Atomics = StdAtomics>
class Inbound {
 public:
  static constexpr uint64_t kLive = 1;
  static constexpr uint64_t kIdle = 2;
  static constexpr uint64_t kNodeAlignment = 64;

  constexpr Inbound() = default;
  Inbound(const Inbound&) = delete;
  Inbound& operator=(const Inbound&) = delete;

  // Owner, closed. The caller schedules the first turn. What the owner wrote
  // before happens before every later push.
  void Open() {
    // release: pairs with the acquire of the first Push's CAS.
    word_.store(kLive, std::memory_order_release);
  }

  // Clears idle when `wakes`; of all who find an idle actor one gets
  // kMustSchedule.
  Pushed Push(Node* node, bool wakes) {
    const uint64_t pushed = reinterpret_cast<uintptr_t>(node) | kLive;
    // acquire here and where the CAS fails: pairs with Close's release, so that who is told kClosed sees what the owner
    // did before its death.
    uint64_t word = word_.load(std::memory_order_acquire);
    for (;;) {
      if (word == 0) return Pushed::kClosed;
      node->next = NodeOf(word);
      const bool is_idle = (word & kIdle) != 0;
      const uint64_t next = pushed | (is_idle && !wakes ? kIdle : 0);
      // release: pairs with the acquire of TakeAll and Close, for the node and what it holds.
      // acquire: pairs with TryIdle's release, so that a mask read after the push is not older than the idleness, and,
      // for a pusher that must schedule, everything that the owner did in its last turn happens before the next one.
      if (word_.compare_exchange_weak(word, next, std::memory_order_acq_rel, std::memory_order_acquire)) {
        if (!is_idle) return Pushed::kPushed;
        return wakes ? Pushed::kMustSchedule : Pushed::kPushedToIdle;
      }
    }
  }

  // Push, and wakes the actor if `open`, the published mask, has any of `bits`.
  // kClosed, kPushed or kMustSchedule.
  template <class Mask>
  Pushed PushAndWake(Node* node, const Mask& open, uint64_t bits) {
    // relaxed: an old value is cured by the second read, or wakes once too often.
    const bool wakes = (open.load(std::memory_order_relaxed) & bits) != 0;
    const Pushed pushed = Push(node, wakes);
    if (pushed != Pushed::kPushedToIdle) return pushed;
    // relaxed: Push acquired what TryIdle released, the mask stored before it included.
    const bool is_open = (open.load(std::memory_order_relaxed) & bits) != 0;
    return is_open && TryWake() ? Pushed::kMustSchedule : Pushed::kPushed;
  }

  // Clears idle. True: the caller must schedule the actor.
  bool TryWake() {
    uint64_t word = word_.load(std::memory_order_relaxed);
    while ((word & kIdle) != 0) {
      // acquire: pairs with TryIdle's release, as in Push. No release: it adds nothing of its own, and what pushers
      // released goes on through it (a read-modify-write continues their release sequences).
      if (word_.compare_exchange_weak(word, word & ~kIdle, std::memory_order_acquire, std::memory_order_relaxed)) {
        return true;
      }
    }
    return false;
  }

  // Idle, and nothing was pushed: TryClaim is worth a try. Any thread; old at
  // once.
  bool CanClaim() const { return word_.load(std::memory_order_relaxed) == (kLive | kIdle); }

  // Clears idle, if nothing has been pushed. True: the caller must schedule the
  // actor, and is its owner until then.
  bool TryClaim() {
    uint64_t word = kLive | kIdle;
    // acquire: pairs with TryIdle's release: what the owner did in its last turn happens before what the caller does.
    return word_.compare_exchange_strong(word, kLive, std::memory_order_acquire, std::memory_order_relaxed);
  }

  // Owner. Everything pushed, newest first, or null. A load if there is nothing.
  Node* TakeAll() {
    // relaxed: without nodes nothing is read.
    if (NodeOf(word_.load(std::memory_order_relaxed)) == nullptr) return nullptr;
    // acquire: pairs with the release of each Push; those below the newest are in its release sequence.
    return NodeOf(word_.exchange(kLive, std::memory_order_acquire));
  }

  // Any thread; what another thread learns may be old.
  bool HasNodes() const { return NodeOf(word_.load(std::memory_order_relaxed)) != nullptr; }
  bool IsLive() const { return (word_.load(std::memory_order_relaxed) & kLive) != 0; }
  // acquire: pairs with Close's release, for what the owner wrote before.
  bool HasEnded() const { return (word_.load(std::memory_order_acquire) & kLive) == 0; }
  bool IsIdle() const { return (word_.load(std::memory_order_relaxed) & kIdle) != 0; }

  // Owner, live, not idle, after it stored its mask. True: it is idle, and from
  // now on the owner is whoever is bound to schedule it. False: something came.
  bool TryIdle() {
    uint64_t word = kLive;
    // release: pairs with the acquire of Push and TryWake: mask and turn happen before the next owner's.
    // relaxed on failure: the owner goes on and takes what came.
    return word_.compare_exchange_strong(word, kLive | kIdle, std::memory_order_release, std::memory_order_relaxed);
  }

  // Owner: death. Gives what was pushed and not taken, newest first.
  Node* Close() {
    // acquire: pairs with each Push's release, as in TakeAll.
    // release: pairs with the acquire of a Push that is told kClosed, and of HasEnded.
    return NodeOf(word_.exchange(0, std::memory_order_acq_rel));
  }

  // Owner: turns a taken list around.
  static Node* Reverse(Node* node) {
    Node* reversed = nullptr;
    while (node != nullptr) {
      Node* const next = node->next;
      node->next = reversed;
      reversed = node;
      node = next;
    }
    return reversed;
  }

 private:
  // NOLINTNEXTLINE(performance-no-int-to-ptr): the word is an address and two bits.
  static Node* NodeOf(uint64_t word) { return reinterpret_cast<Node*>(word & ~(kNodeAlignment - 1)); }

  typename Atomics::template Atomic<uint64_t> word_{0};
};

}  // namespace understudy::internal

#endif  // UNDERSTUDY_ACTORS_INTERNAL_SEND_INBOUND_H_
