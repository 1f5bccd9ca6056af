// InHand: what an actor has in hand, in one word: in a turn, the handler that runs; between turns, a message that was
// handed to it past its mailbox; or nothing. Owner's turn only, but for a sender that has claimed the idle actor.
#ifndef UNDERSTUDY_ACTORS_INTERNAL_TURN_IN_HAND_H_
#define UNDERSTUDY_ACTORS_INTERNAL_TURN_IN_HAND_H_

#include <cstdint>

#include "understudy/actors/check.h"
#include "understudy/actors/internal/send/envelope.h"

namespace understudy::internal {

class Activation;

class InHand {
 public:
  InHand() = default;
  // Null: nothing is in hand.
  explicit InHand(Activation* handler) : word_(reinterpret_cast<uintptr_t>(handler)) {}
  explicit InHand(Envelope* message) : word_(reinterpret_cast<uintptr_t>(message) | kIsMessage) {}

  bool has_message() const { return (word_ & kIsMessage) != 0; }
  // Requires has_message().
  Envelope* message() const {
    UNDERSTUDY_DCHECK(has_message(), "no message is in hand");
    return reinterpret_cast<Envelope*>(word_ & ~kIsMessage);  // NOLINT(performance-no-int-to-ptr): a tagged pointer
  }
  // Null if nothing is in hand. Requires !has_message().
  Activation* handler() const {
    UNDERSTUDY_DCHECK(!has_message(), "a message is in hand");
    return reinterpret_cast<Activation*>(word_);  // NOLINT(performance-no-int-to-ptr): likewise
  }

 private:
  static constexpr uintptr_t kIsMessage = 1;  // free in both: an address of either is even

  uintptr_t word_ = 0;
};

}  // namespace understudy::internal

#endif  // UNDERSTUDY_ACTORS_INTERNAL_TURN_IN_HAND_H_
