// Inbound: an actor's inbound list and its run state in one word.
//
// The word is the newest node's address | kIdle | kLive. Nodes are aligned to
// 64 bytes, so the low bits are free. All zero is closed: memory that was never
// used, or has been given back, is a closed list.
//
// Invariants:
// 1. Without kLive there are no nodes and no kIdle. Only the owner opens and
//    closes. The exchange in Close is the moment of death: later pushes return
//    kClosed, and Close returns the nodes that were pushed before.
// 2. While the word is not idle, either the actor runs, or exactly one thread
//    must schedule it or has done so.
// 3. If the word is idle and has nodes, none of these is for a mailbox that was
//    open when the owner went idle.
// 4. A node's `next` belongs to the pusher until the push, to the owner after.
//
// No wake-up is lost when the actor goes idle (semantics 2.5): the owner stores
// the mask of open mailboxes, then calls TryIdle. A sender loads the mask, then
// pushes. If the mask says closed and the word that it replaced was idle, the
// mask may be older than that idle word, so the sender loads the mask once more
// (PushAndWake): the push acquired what TryIdle released, the mask included.
//
// The owner is the thread that may run the actor's turn. Ownership may pass to
// another thread, because the run queues and BiasedLock ensure that the work of each
// owner happens before the work of the next one. Operations marked "owner" are for
// the owner only, all others for any thread.
#ifndef UNDERSTUDY_ACTORS_INTERNAL_SEND_INBOUND_H_
#define UNDERSTUDY_ACTORS_INTERNAL_SEND_INBOUND_H_

#include <atomic>
#include <cstdint>

#include "understudy/actors/internal/memory/atomics.h"

namespace understudy::internal {

enum class Pushed {
  kClosed,        // not pushed: the node is still the caller's
  kPushed,        // pushed, and there is nothing to schedule
  kPushedToIdle,  // pushed, and the actor is still idle
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

  // Owner, while closed. The caller must schedule the first turn. What the owner
  // wrote before Open happens before every push to the open list.
  void Open() {
    // release: pairs with the acquire loads of word_ in Push.
    word_.store(kLive, std::memory_order_release);
  }

  // Adds `node`. With `wakes` it also clears idle: of all threads that find the
  // actor idle, exactly one gets kMustSchedule. Calls `waits` before it pushes the
  // node to an actor that stays idle; perhaps several times, and perhaps the actor
  // has a turn after all.
  template <class F>
  Pushed Push(Node* node, bool wakes, F&& waits) {
    const uint64_t pushed = reinterpret_cast<uintptr_t>(node) | kLive;
    // acquire, here and where the compare-and-swap fails: pairs with Close's release, so a sender that gets kClosed
    // sees what the owner did before it closed the list.
    uint64_t word = word_.load(std::memory_order_acquire);
    for (;;) {
      if (word == 0) return Pushed::kClosed;
      node->next = NodeOf(word);
      const bool is_idle = (word & kIdle) != 0;
      uint64_t next = pushed;
      if (is_idle && !wakes) {
        waits();
        next |= kIdle;
      }
      // release: pairs with the acquire exchanges in TakeAll and Close, so the owner sees the node and its message.
      // acquire: pairs with TryIdle's release. A mask that this thread loads after the push is then not older than the
      // idle word, and the owner's last turn happens before the turn that this thread must schedule.
      if (word_.compare_exchange_weak(word, next, std::memory_order_acq_rel, std::memory_order_acquire)) {
        if (!is_idle) return Pushed::kPushed;
        return wakes ? Pushed::kMustSchedule : Pushed::kPushedToIdle;
      }
    }
  }

  Pushed Push(Node* node, bool wakes) {
    return Push(node, wakes, [] {});
  }

  // Pushes `node`, and wakes the actor if `open`, the mask that the owner
  // published, has any of `bits`. Returns kClosed, kPushed or kMustSchedule. `waits`: as for Push.
  template <class Mask, class F>
  Pushed PushAndWake(Node* node, const Mask& open, uint64_t bits, F&& waits) {
    // relaxed: a stale 0 is corrected by the second load below; a stale 1 causes a spurious wake-up.
    const bool wakes = (open.load(std::memory_order_relaxed) & bits) != 0;
    const Pushed pushed = Push(node, wakes, waits);
    if (pushed != Pushed::kPushedToIdle) return pushed;
    // relaxed: Push's acquire already pairs with TryIdle's release, before which the owner stored the mask.
    const bool is_open = (open.load(std::memory_order_relaxed) & bits) != 0;
    return is_open && TryWake() ? Pushed::kMustSchedule : Pushed::kPushed;
  }

  template <class Mask>
  Pushed PushAndWake(Node* node, const Mask& open, uint64_t bits) {
    return PushAndWake(node, open, bits, [] {});
  }

  // Clears idle. Returns true if the actor was idle: the caller must schedule it.
  bool TryWake() {
    uint64_t word = word_.load(std::memory_order_relaxed);
    while ((word & kIdle) != 0) {
      // acquire: pairs with TryIdle's release, as in Push. No release is needed: this thread publishes nothing here,
      // and a read-modify-write continues the release sequences of earlier pushes, with which TakeAll synchronizes.
      if (word_.compare_exchange_weak(word, word & ~kIdle, std::memory_order_acquire, std::memory_order_relaxed)) {
        return true;
      }
    }
    return false;
  }

  // True if the actor is idle and nothing was pushed, so TryClaim may succeed. Any
  // thread; the value may be stale when the caller sees it.
  bool CanClaim() const { return word_.load(std::memory_order_relaxed) == (kLive | kIdle); }

  // Clears idle if the actor is idle and nothing was pushed. If it returns true,
  // the caller is the owner until it schedules the actor, which it must do.
  bool TryClaim() {
    uint64_t word = kLive | kIdle;
    // acquire: pairs with TryIdle's release, so the owner's last turn happens before what the caller does as the owner.
    return word_.compare_exchange_strong(word, kLive, std::memory_order_acquire, std::memory_order_relaxed);
  }

  // What TryHold returned.
  struct Held {
    uint64_t word = 0;  // 0: the actor was not idle
    Node* newest() const { return NodeOf(word); }
  };
  // Clears idle if the actor is idle, whatever was pushed. If it returns a word, the caller is the owner until it calls
  // EndHold. For a look at an idle actor by a thread that neither sends to it nor runs it.
  Held TryHold() {
    uint64_t word = word_.load(std::memory_order_relaxed);
    while ((word & kIdle) != 0) {
      // acquire: pairs with TryIdle's release, as in TryClaim, and with the release of the pushes since.
      if (word_.compare_exchange_weak(word, word & ~kIdle, std::memory_order_acquire, std::memory_order_relaxed)) {
        return {word};
      }
    }
    return {};
  }
  // Owner, since TryHold. Makes the actor idle again and returns true, unless a node was pushed meanwhile: the caller
  // must then schedule the actor. The caller must also schedule it, without this call, if a held node is for a mailbox
  // that is open: its sender may have found the actor not idle in TryWake.
  bool EndHold(Held held) {
    uint64_t word = held.word & ~kIdle;
    // release: pairs with the acquire in Push, TryWake, TryClaim and TryHold, so the look happens before what the next
    // owner does.
    return word_.compare_exchange_strong(word, held.word, std::memory_order_release, std::memory_order_relaxed);
  }

  // Owner. Removes and returns all nodes, newest first; null if there are none,
  // which costs a load only.
  Node* TakeAll() {
    // relaxed: if there are no nodes, nothing is read through the pointer.
    if (NodeOf(word_.load(std::memory_order_relaxed)) == nullptr) return nullptr;
    // acquire: pairs with the release of every Push whose node is in the list, not only the newest: each later Push is
    // a read-modify-write and so continues the release sequences of the earlier ones.
    return NodeOf(word_.exchange(kLive, std::memory_order_acquire));
  }

  // The newest node that was not taken; null if there is none. For the owner, and for a thread that keeps the owner
  // from taking nodes: the list behind the node does not change meanwhile.
  const Node* Newest() const {
    // acquire: pairs with the release of the pushes, as in TakeAll.
    return NodeOf(word_.load(std::memory_order_acquire));
  }

  // Any thread. On threads other than the owner the values may be stale.
  bool HasNodes() const { return NodeOf(word_.load(std::memory_order_relaxed)) != nullptr; }
  bool IsLive() const { return (word_.load(std::memory_order_relaxed) & kLive) != 0; }
  // acquire: pairs with Close's release, so a caller that gets true sees what the owner wrote before Close.
  bool HasEnded() const { return (word_.load(std::memory_order_acquire) & kLive) == 0; }
  bool IsIdle() const { return (word_.load(std::memory_order_relaxed) & kIdle) != 0; }

  // Owner, while live and not idle, after it stored the mask. If true, the actor is
  // idle and this thread no longer owns it: the next owner is the thread that gets
  // kMustSchedule, or true from TryWake or TryClaim. False if a node was pushed.
  bool TryIdle() {
    uint64_t word = kLive;
    // release: pairs with the acquire in Push, TryWake and TryClaim, so the mask and this turn happen before what the
    // next owner does. relaxed on failure: the owner then calls TakeAll, which acquires.
    return word_.compare_exchange_strong(word, kLive | kIdle, std::memory_order_release, std::memory_order_relaxed);
  }

  // Owner. Closes the list for good, until Open. Returns the nodes that were pushed
  // and not taken, newest first.
  Node* Close() {
    // acquire: pairs with each Push's release, as in TakeAll.
    // release: pairs with the acquire load in a Push that returns kClosed, and in HasEnded.
    return NodeOf(word_.exchange(0, std::memory_order_acq_rel));
  }

  // Owner. Reverses a list that TakeAll or Close returned.
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
