// DestructionQueue: values that kernel code no longer needs but must not destroy
// itself, because that runs users' code: messages, answers, handlers and behaviors
// have users' destructors, and dead letters are passed to listeners. Kernel code
// adds them with DestroyLater. The queue's owner then calls End in user code, where
// no kernel lock is held: a turn between two messages and at the end of its actor,
// and a DeferredDestruction in a turn of its own.
//
//   DestroyLater(envelope);                   // in kernel code
//   …
//   InUserCode([&] { queue.End(system); });   // as ActorCore::Sweep and DeferredDestruction::Run do
//
// Thread-compatible: a queue is used by one thread at a time, the one that runs the
// turn or the fence that it belongs to.
#ifndef UNDERSTUDY_ACTORS_INTERNAL_MEMORY_DESTRUCTION_QUEUE_H_
#define UNDERSTUDY_ACTORS_INTERNAL_MEMORY_DESTRUCTION_QUEUE_H_

#include <utility>

#include "understudy/actors/internal/memory/slow_path.h"
#include "understudy/actors/internal/send/envelope.h"
#include "understudy/actors/message.h"

namespace understudy::internal {

class SystemCore;

class DestructionQueue {
 public:
  constexpr DestructionQueue() = default;
  DestructionQueue(const DestructionQueue&) = delete;
  DestructionQueue& operator=(const DestructionQueue&) = delete;

  // The queue that DestroyLater uses on this thread: the queue of the innermost Scope, or else, in kernel code of a
  // turn, the queue of the turn; its actor is then told to call End. Null in user code and outside turns: the caller
  // then destroys the value at once.
  static DestructionQueue* Gathering();

  // While a Scope lives, DestroyLater on this thread adds to the queue that the Scope was given.
  class Scope {
   public:
    explicit Scope(DestructionQueue& remains);
    ~Scope();
    Scope(const Scope&) = delete;
    Scope& operator=(const Scope&) = delete;

   private:
    DestructionQueue* const outer_;
  };

  bool empty() const { return newest_ == nullptr; }
  void Add(Envelope* envelope);
  // Takes all values of the other queue. Requires that this queue is empty.
  void TakeFrom(DestructionQueue& others) { newest_ = std::exchange(others.newest_, nullptr); }
  // Call in user code. Publishes the dead letters and destroys all other values, oldest first, until the queue is
  // empty. A destructor or listener may add values.
  void End(SystemCore& system);

 private:
  Envelope* newest_ = nullptr;  // circular list: newest_->next is the oldest
};

// The slow path of DestroyLater.
UNDERSTUDY_SLOW_PATH void DestroyValueLater(Envelope* envelope);

// Destroys the value of `envelope` and frees the envelope. If that runs user code and Gathering() returns a queue, the
// envelope is added to the queue; otherwise this happens at once.
inline void DestroyLater(Envelope* envelope) {
  if (ABSL_PREDICT_TRUE(envelope->has(Envelope::kIsSmall))) {
    FreeSmallBlock(envelope, envelope->units);
  } else if (envelope->type != nullptr && (envelope->type->destroy != nullptr || envelope->has(Envelope::kIsBoxed))) {
    DestroyValueLater(envelope);
  } else {
    FreeBlock(envelope, envelope->units);
  }
}

inline void DestroyLater(Payload payload) {
  if (Envelope* const block = payload.Release(); block != nullptr) DestroyLater(block);
}

}  // namespace understudy::internal

#endif  // UNDERSTUDY_ACTORS_INTERNAL_MEMORY_DESTRUCTION_QUEUE_H_
