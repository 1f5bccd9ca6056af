// DestructionQueue: what kernel code has done with and user code is to end: messages,
// answers, handlers and behaviours, whose destructors are users', and dead
// letters, which listeners are told. Kernel code lets them go; who gathers them
// has them ended in user code, where nothing is held that others wait for: a
// turn between two messages and at the end of its life, a DeferredDestruction in a turn of
// its own.
//
//   DestroyLater(envelope);                            // in kernel code
//   …
//   InUserCode([&] { remains.End(system); });   // ActorCore::Sweep, DeferredDestruction::Run
//
// Threads: those of whoever gathers.
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

  // Whoever gathers what this thread lets go now; null when it ends that itself,
  // as it is not in kernel code of a turn. The turn's actor is told to look.
  static DestructionQueue* Gathering();

  // While it lives, `remains` gather what this thread lets go.
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
  void TakeFrom(DestructionQueue& others) { newest_ = std::exchange(others.newest_, nullptr); }
  // In user code. Letters are told, the rest is destroyed, in the order of
  // coming; then it is empty.
  void End(SystemCore& system);

 private:
  Envelope* newest_ = nullptr;  // a ring: its next is the oldest
};

// The slow case of what follows.
UNDERSTUDY_SLOW_PATH void DestroyValueLater(Envelope* envelope);

// Ends an envelope, now or where that is user code.
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
