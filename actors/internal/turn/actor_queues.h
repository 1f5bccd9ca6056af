// What each message does to its mailbox, inline: in, out, and what its senders
// learn of the room.
#ifndef UNDERSTUDY_ACTORS_INTERNAL_TURN_ACTOR_QUEUES_H_
#define UNDERSTUDY_ACTORS_INTERNAL_TURN_ACTOR_QUEUES_H_

#include <atomic>
#include <bit>
#include <cstddef>
#include <cstdint>

#include "absl/base/attributes.h"
#include "absl/base/optimization.h"
#include "understudy/actors/internal/turn/actor_core.h"
#include "understudy/actors/internal/turn/envelope_ring.h"

namespace understudy::internal {

// A message was accepted by its gate: into its mailbox.
ABSL_ATTRIBUTE_ALWAYS_INLINE inline void ActorCore::Enqueue(const CurrentTurn& turn, Envelope* envelope) {
  if (ABSL_PREDICT_FALSE(envelope->type == &TypeOf<WireBytes>())) {
    envelope = Parsed(envelope);
    if (envelope == nullptr) return;
  }
  const size_t place = envelope->mailbox;
  envelope->stamp = ++last_stamp_;
  Append(cell().queue(turn.gates, place).newest, envelope);
  has_mail_ |= uint64_t{1} << place;
  if (ABSL_PREDICT_FALSE((turn.layout->overflowing() >> place & 1U) != 0)) DropOverflow(place);
}

// Ends the wait of a message in every ledger. Senders write the line that the
// limit is on: it is not stored for each message, but soon enough that nobody
// is refused for long.
ABSL_ATTRIBUTE_ALWAYS_INLINE inline void ActorCore::Leave(CurrentTurn& turn, Queue& queue, size_t place,
                                                          Envelope* envelope) {
  const uint64_t sender = envelope->sender_life;
  if (ABSL_PREDICT_FALSE(static_cast<uint16_t>(sender) != static_cast<uint16_t>(turn.self.life())) && sender != 0) {
    ReleaseRemote(turn, envelope);
  }
  const uint32_t left = AddAsOwner(queue.left, 1U);
  const MailboxLayout::Publishing publishing = turn.layout->publishing(place);
  if (ABSL_PREDICT_FALSE((left & publishing.mask) == 0)) {
    turn.gates[place].limit.store(left + publishing.room, std::memory_order_relaxed);
    if (ABSL_PREDICT_FALSE(turn.left_remote.messages != 0)) TellReleased(turn);
  } else {
    turn.unpublished |= uint64_t{1} << place;
  }
  if (ABSL_PREDICT_FALSE(envelope->has(Envelope::kHasCallPart) && envelope->call().bytes != 0)) {
    AddAsOwner(cell().byte_gate(place).limit, envelope->call().bytes);
  }
}

ABSL_ATTRIBUTE_ALWAYS_INLINE inline void ActorCore::PublishLimits(CurrentTurn& turn) {
  for (uint64_t places = turn.unpublished; places != 0; places &= places - 1) {
    const auto place = static_cast<size_t>(std::countr_zero(places));
    const uint32_t left = cell().queue(turn.gates, place).left.load(std::memory_order_relaxed);
    turn.gates[place].limit.store(left + turn.layout->room(place), std::memory_order_relaxed);
  }
  turn.unpublished = 0;
  if (ABSL_PREDICT_FALSE(turn.left_remote.messages != 0)) TellReleased(turn);
}

// `before` is what lies before it in the ring of `queue`, its mailbox, whose
// place is `place`.
ABSL_ATTRIBUTE_ALWAYS_INLINE inline void ActorCore::TakeOut(CurrentTurn& turn, Queue& queue, size_t place,
                                                            Envelope* envelope, Envelope* before) {
  if (envelope == before) has_mail_ &= ~(uint64_t{1} << place);
  CutOut(queue.newest, envelope, before);
  Leave(turn, queue, place, envelope);
}

inline void ActorCore::Leave(Envelope* envelope) {
  Leave(ThisTurn(), cell().queue(envelope->mailbox), envelope->mailbox, envelope);
}
inline void ActorCore::TakeOut(Envelope*& newest, Envelope* envelope, Envelope* before) {
  CutOut(newest, envelope, before);
  if (cell().queue(envelope->mailbox).newest == nullptr) has_mail_ &= ~(uint64_t{1} << envelope->mailbox);
  Leave(envelope);
}

// The oldest of what waits is next: one rank, no guards, no predicates, nothing
// but messages.
inline bool ActorCore::HandlesOldest() const {
  return obstacles_ == 0 && (ABSL_PREDICT_TRUE(rare_ == nullptr) || IsQuiet());
}

}  // namespace understudy::internal

#endif  // UNDERSTUDY_ACTORS_INTERNAL_TURN_ACTOR_QUEUES_H_
