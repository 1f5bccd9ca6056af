// The common case of a send, inline: a tell to a mailbox of this system that is
// plain (MailboxLayout::plain), of an actor that has started, with room.
#ifndef UNDERSTUDY_ACTORS_INTERNAL_PLAIN_SEND_H_
#define UNDERSTUDY_ACTORS_INTERNAL_PLAIN_SEND_H_

#include <atomic>
#include <cstdint>

#include "absl/base/attributes.h"
#include "absl/base/optimization.h"
#include "understudy/actors/internal/actor_cell.h"
#include "understudy/actors/internal/system_core.h"
#include "understudy/actors/message.h"
#include "understudy/actors/pid.h"

namespace understudy::internal {

ABSL_ATTRIBUTE_ALWAYS_INLINE inline bool ActorCell::AcceptPlain(SystemCore& system, Pid from, Pid to, uint32_t mailbox,
                                                                const MessageType& type, const void* value,
                                                                Handing handing) {
  // acquire: as in Accept.
  if (life_.load(std::memory_order_acquire) != to.life()) return false;
  const MailboxLayout* const mailboxes = layout_.load(std::memory_order_acquire);
  if (stage_.load(std::memory_order_relaxed) != Stage::kOpen || mailboxes == nullptr) return false;
  const int place = mailboxes->FindPlainTell(mailbox, type);
  if (ABSL_PREDICT_FALSE(place < 0)) return false;
  Gate* const gates = gates_.load(std::memory_order_relaxed);
  Gate& gate = gates[place];
  const uint32_t accepted = gate.accepted.fetch_add(1, std::memory_order_relaxed) + 1;
  if (ABSL_PREDICT_FALSE(static_cast<int32_t>(accepted - gate.limit.load(std::memory_order_relaxed)) > 0)) {
    Uncount(gates, static_cast<size_t>(place), 0);
    return false;
  }
  Envelope* const envelope = Envelope::Make(EnvelopeKind::kMessage, type, /*has_call_part=*/false);
  envelope->life = to.life();
  envelope->set_sender(from);
  envelope->mailbox = static_cast<uint8_t>(place);
  envelope->stamp = reinterpret_cast<uintptr_t>(gates);
  envelope->SetMade();
  if (handing == Handing::kMove) {
    type.move(envelope->value(), const_cast<void*>(value));
  } else {
    type.copy(envelope->value(), value);
  }
  switch (inbound_.PushAndWake(envelope, open_, uint64_t{1} << place)) {
    case Pushed::kMustSchedule:
      Schedule(system, to.life());
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
