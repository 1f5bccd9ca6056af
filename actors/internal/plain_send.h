// The common case of a send, inline: a tell to a mailbox of this system that is
// plain (MailboxLayout::plain), of an actor that has started, with room.
#ifndef UNDERSTUDY_ACTORS_INTERNAL_PLAIN_SEND_H_
#define UNDERSTUDY_ACTORS_INTERNAL_PLAIN_SEND_H_

#include <atomic>
#include <cstddef>
#include <cstdint>

#include "absl/base/attributes.h"
#include "absl/base/optimization.h"
#include "understudy/actors/internal/actor_cell.h"
#include "understudy/actors/internal/actor_core.h"
#include "understudy/actors/internal/actor_queues.h"
#include "understudy/actors/internal/system_core.h"
#include "understudy/actors/message.h"
#include "understudy/actors/pid.h"

namespace understudy::internal {

// Past the gate: the limit is the owner's, and one lower while the message waits.
ABSL_ATTRIBUTE_ALWAYS_INLINE inline bool ActorCell::Hand(SystemCore& system, size_t place, Envelope* envelope) {
  const uint64_t life = envelope->life;
  bool is_handed = false;
  // relaxed, all: the owner's words, and its is the caller. An actor that is idle, and has the life that it had when
  // its mailboxes were read, takes messages.
  if (ABSL_PREDICT_TRUE(life_.load(std::memory_order_relaxed) == life)) {
    Gate& gate = this->gate(place);
    const uint32_t limit = gate.limit.load(std::memory_order_relaxed) - 1;
    gate.limit.store(limit, std::memory_order_relaxed);
    StdAtomics::LightBarrier();  // pairs with HasLastPlace's heavy one
    is_handed = static_cast<int32_t>(gate.accepted.load(std::memory_order_relaxed) - limit) <= 0;
    if (ABSL_PREDICT_TRUE(is_handed)) {
      AddAsOwner(handed(place), 1U);
      static_cast<ActorCore*>(owner())->TakeHanded(place, envelope);
    } else {
      gate.limit.store(limit + 1, std::memory_order_relaxed);
    }
  }
  Schedule(system, life);
  return is_handed;
}

ABSL_ATTRIBUTE_ALWAYS_INLINE inline bool ActorCell::AcceptPlain(const CurrentTurn& turn, Pid to, uint32_t mailbox,
                                                                const MessageType& type, const void* value,
                                                                Handing handing) {
  // acquire: as in Accept.
  if (life_.load(std::memory_order_acquire) != to.life()) return false;
  const MailboxLayout* const mailboxes = layout_.load(std::memory_order_acquire);
  if (stage_.load(std::memory_order_relaxed) != Stage::kOpen || mailboxes == nullptr) return false;
  const int found = mailboxes->FindPlainTell(mailbox, type);
  if (ABSL_PREDICT_FALSE(found < 0)) return false;
  // Before what is read of the cell and the turn: the call would have it all kept.
  Envelope* const envelope = Envelope::Make(EnvelopeKind::kMessage, type, /*has_call_part=*/false);
  MakeValue(envelope, type, value, handing);
  const auto place = static_cast<size_t>(found);
  const uint64_t bit = uint64_t{1} << place;
  envelope->life = to.life();
  envelope->set_sender(turn.self);
  envelope->mailbox = static_cast<uint8_t>(place);
  // relaxed: an old mask has a turn run that handles nothing.
  if (inbound_.CanClaim() && (open_.load(std::memory_order_relaxed) & mailboxes->handed() & bit) != 0 &&
      inbound_.TryClaim() && Hand(*turn.system, place, envelope)) {
    return true;
  }
  Gate* const gates = gates_.load(std::memory_order_relaxed);
  Gate& gate = gates[place];
  const uint32_t accepted = gate.accepted.fetch_add(1, std::memory_order_relaxed) + 1;
  if (ABSL_PREDICT_FALSE(!HasPlace(*mailboxes, gate, place, accepted))) {
    TakeBack(gates, type, value, handing, envelope);
    return false;
  }
  envelope->stamp = reinterpret_cast<uintptr_t>(gates);
  switch (inbound_.PushAndWake(envelope, open_, bit)) {
    case Pushed::kMustSchedule:
      Schedule(*turn.system, to.life());
      return true;
    case Pushed::kClosed:
      TakeBack(gates, type, value, handing, envelope);
      return false;
    default:
      return true;
  }
}

}  // namespace understudy::internal

#endif  // UNDERSTUDY_ACTORS_INTERNAL_PLAIN_SEND_H_
