// The inline path of each message through its mailbox: how it enters and leaves, and how the room that it frees is
// published to senders.
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

// Appends a message, which the mailbox's gate has accepted, to its mailbox. One of another node is parsed first.
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

// Counts a message as having left its mailbox, and its bytes and the credit of the node that it came from as free. The
// gate's `limit` shares a cache line with what senders write, so it is not stored for each message but for every so
// many (`publishing.mask`); between these, turn.unpublished notes the mailbox, and PublishLimits stores its limit.
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

// Stores the limits of the gates whose mailboxes messages have left since their limit was stored last.
ABSL_ATTRIBUTE_ALWAYS_INLINE inline void ActorCore::PublishLimits(CurrentTurn& turn) {
  for (uint64_t places = turn.unpublished; places != 0; places &= places - 1) {
    const auto place = static_cast<size_t>(std::countr_zero(places));
    const uint32_t left = cell().queue(turn.gates, place).left.load(std::memory_order_relaxed);
    turn.gates[place].limit.store(left + turn.layout->room(place), std::memory_order_relaxed);
  }
  turn.unpublished = 0;
  if (ABSL_PREDICT_FALSE(turn.left_remote.messages != 0)) TellReleased(turn);
}

// Takes `envelope` out of the ring of `queue`, the queue of mailbox `place`. `before` precedes it in that ring.
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

// True if the oldest message in an open mailbox is what to handle next: the actor runs and does not end, its behavior
// has one rank and neither guards nor predicates, and there are no events, handlers to resume or Receives.
inline bool ActorCore::HandlesOldest() const {
  return obstacles_ == 0 && (ABSL_PREDICT_TRUE(rare_ == nullptr) || IsQuiet());
}

}  // namespace understudy::internal

#endif  // UNDERSTUDY_ACTORS_INTERNAL_TURN_ACTOR_QUEUES_H_
