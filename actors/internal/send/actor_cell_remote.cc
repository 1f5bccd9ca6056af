// ActorCell: messages of other nodes, and the room that other nodes reserve.
#include <algorithm>
#include <atomic>
#include <cstddef>
#include <cstdint>

#include "absl/base/optimization.h"
#include "absl/status/status.h"
#include "understudy/actors/error.h"
#include "understudy/actors/internal/memory/slow_path.h"
#include "understudy/actors/internal/send/actor_cell.h"
#include "understudy/actors/internal/system/system_core.h"
#include "understudy/actors/internal/system/tracing.h"
#include "understudy/actors/limits.h"
#include "understudy/actors/room.h"
#include "understudy/actors/trace.h"

namespace understudy::internal {

const MailboxLayout* ActorCell::LayoutOf(uint64_t life) const {
  // acquire: pairs with Open's and SetLayout's release, as in Accept.
  if (life_.load(std::memory_order_acquire) != life) return nullptr;
  const MailboxLayout* const layout = layout_.load(std::memory_order_acquire);
  return stage_.load(std::memory_order_relaxed) == Stage::kOpen && inbound_.IsLive() ? layout : nullptr;
}

// MarkRemote and EndRemote both read and write remote_ atomically, so either MarkRemote sees kRemoteHasEnded, or
// EndRemote sees kIsRemote.
bool ActorCell::MarkRemote(uint64_t life) {
  const uint8_t before = remote_.fetch_or(kIsRemote, std::memory_order_acq_rel);
  return (before & kRemoteHasEnded) == 0 && life_.load(std::memory_order_acquire) == life && inbound_.IsLive();
}

bool ActorCell::EndRemote() { return (remote_.fetch_or(kRemoteHasEnded, std::memory_order_acq_rel) & kIsRemote) != 0; }

int64_t ActorCell::TakeRoom(const MailboxLayout& layout, size_t place, int64_t least, int64_t most) {
  if (most <= 0) return 0;
  Gate& gate = gates_.load(std::memory_order_relaxed)[place];
  // The last place may be taken by a direct hand-off (HasLastPlace), so it is left to senders of this node.
  const int64_t kept = (layout.handed() >> place & 1U) != 0 ? 1 : 0;
  // A read-modify-write, although it adds nothing: if there is no room for a waiting sender, its release (after the
  // store of has_blocked_senders_) pairs with the acquire in Uncount and ReturnRoom, so the thread whose count was in
  // the way sees the mark and admits the waiting sender.
  uint32_t accepted = gate.accepted.fetch_add(0, std::memory_order_acq_rel);
  for (;;) {
    const int64_t room = static_cast<int32_t>(gate.limit.load(std::memory_order_relaxed) - accepted) - kept;
    const int64_t taken = std::min(room, most);
    if (taken <= 0 || taken < least) return 0;
    if (gate.accepted.compare_exchange_weak(accepted, accepted + static_cast<uint32_t>(taken),
                                            std::memory_order_acq_rel, std::memory_order_relaxed)) {
      return taken;
    }
  }
}

int64_t ActorCell::TakeByteRoom(const MailboxDeclaration& declaration, size_t place, int64_t least, int64_t most) {
  if (most <= 0) return 0;
  ByteGate& gate = byte_gate(place);
  const auto room_of_all = static_cast<int64_t>(declaration.room_bytes());
  uint64_t accepted = gate.accepted.fetch_add(0, std::memory_order_acq_rel);  // as in TakeRoom
  for (;;) {
    const auto room = static_cast<int64_t>(gate.limit.load(std::memory_order_relaxed) - accepted);
    const int64_t taken = room == room_of_all ? std::max(least, std::min(room, most)) : std::min(room, most);
    if (taken <= 0 || taken < least) return 0;
    if (gate.accepted.compare_exchange_weak(accepted, accepted + static_cast<uint64_t>(taken),
                                            std::memory_order_acq_rel, std::memory_order_relaxed)) {
      return taken;
    }
  }
}

void ActorCell::ReturnRoom(const MailboxDeclaration& declaration, size_t place, const RoomAmount& amount) {
  // acq_rel, both: as in Uncount.
  if (amount.messages > 0)
    gate(place).accepted.fetch_sub(static_cast<uint32_t>(amount.messages), std::memory_order_acq_rel);
  if (amount.bytes > 0 && declaration.has_bytes()) {
    byte_gate(place).accepted.fetch_sub(static_cast<uint64_t>(amount.bytes), std::memory_order_acq_rel);
  }
}

void ActorCell::CountBeside(size_t place, uint64_t bytes) {
  // The owner raises the limit for the leaving message only afterwards, so a concurrent sender may be refused although
  // there is room, but is never accepted beyond the capacity.
  gate(place).accepted.fetch_add(1, std::memory_order_acq_rel);
  if (bytes != 0) byte_gate(place).accepted.fetch_add(bytes, std::memory_order_acq_rel);
}

void ActorCell::AskExpiry(SystemCore& system, uint64_t life, const MailboxDeclaration& declaration, size_t place) {
  if (!declaration.overflow().fails_actor) OnFull(system, life, declaration, place);
}

// No expiry is missed. For a call: TryWake fails only if a turn runs or is scheduled, and that turn sorts the call and
// then watches its expiry. For a tell: the first waiting sender stores the mark has_blocked_senders_, then posts a
// wake, which causes a turn (BlockedSenders::Join). If this thread pushed after the end of that turn, the push acquired
// what TryIdle released, so this thread sees the mark. Otherwise that turn takes the message and sees the mark itself.
void ActorCell::WakeForExpiry(SystemCore& system, uint64_t life, const MailboxDeclaration& declaration) {
  if (!declaration.has_time_to_live() || !(declaration.is_call() || has_blocked_senders())) return;
  if (inbound_.TryWake()) Schedule(system, life);
}

namespace {

// Returns the trace of a message of another node. Null if its sampled flag does not count here: then the message has no
// trace any more.
UNDERSTUDY_SLOW_PATH const TracePart* AdmitTrace(SystemCore& system, Envelope& block) {
  Tracing* const tracing = system.tracing();
  TracePart& part = block.trace();
  if (tracing == nullptr || part.context.hops > limits::kTraceHopsMax || !tracing->AdmitsForeign()) {
    block.clear(Envelope::kIsTraced);
    return nullptr;
  }
  part.accepted = tracing->Now();
  return &part;
}

}  // namespace

absl::Status ActorCell::AcceptRemote(SystemCore& system, Message came) {
  Envelope& block = *came.payload.block();
  const TracePart* const trace =
      ABSL_PREDICT_FALSE(block.has(Envelope::kIsTraced)) ? AdmitTrace(system, block) : nullptr;
  const OutboundMessage message{.from = came.from,
                                .to = came.to,
                                .mailbox = came.mailbox,
                                .ask = came.ask,
                                .deadline = came.deadline,
                                .type = &TypeOf<WireBytes>(),
                                .value = block.value(),
                                .trace = trace};
  const uint64_t life = message.to.life();
  // acquire, both: as in Accept.
  if (ABSL_PREDICT_FALSE(life_.load(std::memory_order_acquire) != life)) return EndedError();
  const MailboxLayout* const layout = layout_.load(std::memory_order_acquire);
  if (ABSL_PREDICT_FALSE(stage_.load(std::memory_order_relaxed) != Stage::kOpen || layout == nullptr)) {
    return AcceptEarly(system, message, TransferMode::kMove, WhenFull::kIsBeside);
  }
  const int found = layout->Find(message.mailbox);
  if (ABSL_PREDICT_FALSE(found < 0 || !(*layout)[static_cast<size_t>(found)].Takes(*message.type, message.ask))) {
    return NoMailboxError(message);
  }
  const auto place = static_cast<size_t>(found);
  const MailboxDeclaration& declaration = (*layout)[place];
  Gate* const gates = gates_.load(std::memory_order_relaxed);
  const uint64_t its_bytes = came.payload.wire_bytes().size();
  const uint64_t bytes = declaration.has_bytes() ? its_bytes : 0;
  const RoomAmount amount{.messages = 1, .bytes = static_cast<int64_t>(bytes)};
  RemoteRoom& remote = system.remote_room();
  const bool is_reserved = came.admission == Admission::kReserved &&
                           remote.Use(*this, life, place, message.from.place(), static_cast<int64_t>(its_bytes));
  if (!is_reserved) {
    remote.AddBeside(*this, life, place, amount);
    if (declaration.overflow().fails_actor) {
      // If the message exceeds the capacity, the mailbox's overflow policy acts as it does for a local sender.
      const auto counted =
          static_cast<int32_t>(gates[place].accepted.load(std::memory_order_relaxed) -
                               gates[place].limit.load(std::memory_order_relaxed) + declaration.room());
      if (counted + remote.Excess(*this, life, place).messages > declaration.room()) {
        OnFull(system, life, declaration, place);
      }
    }
  }
  // The message's bytes stay in the block in which they arrived.
  Envelope* const envelope = came.payload.Release();
  envelope->kind = EnvelopeKind::kMessage;
  envelope->life = life;
  envelope->set_sender(message.from);
  envelope->call().ask = message.ask;
  envelope->call().deadline = message.deadline;
  envelope->mailbox = static_cast<uint8_t>(place);
  if (!is_reserved) envelope->set(Envelope::kIsBeside);
  if (is_reserved) {
    envelope->set_gates(gates);
  } else {
    envelope->set_mailbox_hash(message.mailbox);
  }
  if (declaration.has_time_to_live()) envelope->call().accepted = system.clock().Now();
  envelope->call().bytes = bytes;
  // The owner may have to drop messages; only it knows how many the mailbox holds.
  const bool wakes = declaration.overflow().drops_oldest;
  if (ABSL_PREDICT_TRUE(PushAndWake(system, envelope, wakes ? ~uint64_t{0} : uint64_t{1} << place))) {
    WakeForExpiry(system, life, declaration);
    return absl::OkStatus();
  }
  if (is_reserved) {
    Uncount(gates, place, bytes);
    AdmitInstead(system);
  } else {
    remote.AddBeside(*this, life, place, {.messages = -1, .bytes = -amount.bytes});
  }
  Envelope::Delete(envelope);
  return EndedError();
}

}  // namespace understudy::internal
