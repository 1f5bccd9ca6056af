// ActorCell: what another thread reads of an actor, for introspection (actors/inspection.h).
#include <cstddef>
#include <cstdint>

#include "absl/functional/function_ref.h"
#include "understudy/actors/internal/send/actor_cell.h"
#include "understudy/actors/internal/send/inbound.h"
#include "understudy/actors/internal/send/waiting_mark.h"
#include "understudy/actors/internal/system/system_core.h"

namespace understudy::internal {

int64_t ActorCell::BytesHeld(const MailboxLayout& layout, size_t place) const {
  const MailboxDeclaration& declaration = layout[place];
  Gate* const gates = gates_.load(std::memory_order_relaxed);
  if (!declaration.has_bytes() || IsInside(gates)) return 0;
  const ByteGate& gate = ByteGateOf(gates, place);
  const uint64_t limit = gate.limit.load(std::memory_order_relaxed);
  return static_cast<int64_t>(gate.accepted.load(std::memory_order_relaxed) - (limit - declaration.room_bytes()));
}

void MarkWaiting(Envelope& envelope, SystemCore& system) { WaitingMark::Put(envelope, system.executor().CoarseNow()); }

void ActorCell::ForEachArrived(int at_most, absl::FunctionRef<void(const Envelope&)> look) const {
  const Envelope* arrived = inbound_.Newest();
  for (int i = 0; arrived != nullptr && i < at_most; ++i, arrived = arrived->next) look(*arrived);
}

// True if the actor may go on being idle with these messages in its inbound list.
bool ActorCell::MayStayIdle(const Envelope* newest) const {
  const uint64_t life = owners_life();
  for (const Envelope* held = newest; held != nullptr; held = held->next) {
    // The place of early messages and of messages beside is known only once they are sorted.
    const bool has_place = held->kind == EnvelopeKind::kMessage && held->life == life &&
                           !held->has(Envelope::kIsEarly) && !held->has(Envelope::kIsBeside);
    if (!has_place || (open_mailboxes() >> held->mailbox & 1U) != 0) return false;
  }
  return true;
}

bool ActorCell::WhileIdle(SystemCore& system, uint64_t life, absl::FunctionRef<void()> look) {
  const Inbound<Envelope>::Held held = inbound_.TryHold();
  if (held.word == 0) return false;
  const bool is_meant = owners_life() == life;
  if (is_meant) look();
  if (!MayStayIdle(held.newest()) || !inbound_.EndHold(held)) system.executor().Schedule(owner());
  return is_meant;
}

}  // namespace understudy::internal
