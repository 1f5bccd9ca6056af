// The common case of a send, inline: a tell to a mailbox of this system that is
// plain (MailboxLayout::plain), of an actor that has started, with room.
#ifndef UNDERSTUDY_ACTORS_INTERNAL_SEND_PLAIN_SEND_H_
#define UNDERSTUDY_ACTORS_INTERNAL_SEND_PLAIN_SEND_H_

#include <atomic>
#include <cstddef>
#include <cstdint>
#include <cstring>

#include "absl/base/attributes.h"
#include "absl/base/optimization.h"
#include "understudy/actors/check.h"
#include "understudy/actors/internal/send/actor_cell.h"
#include "understudy/actors/internal/send/waiting_mark.h"
#include "understudy/actors/internal/system/system_core.h"
#include "understudy/actors/internal/turn/actor_core.h"
#include "understudy/actors/internal/turn/actor_queues.h"
#include "understudy/actors/internal/turn/current_turn.h"
#include "understudy/actors/message.h"
#include "understudy/actors/pid.h"

namespace understudy::internal {

// Copies `size` bytes, 1 to 32, in words that may overlap.
ABSL_ATTRIBUTE_ALWAYS_INLINE inline void CopySmall(unsigned char* to, const unsigned char* from, size_t size) {
  constexpr size_t kWord = sizeof(uint64_t);
  if (ABSL_PREDICT_FALSE(size < kWord)) {
    for (size_t i = 0; i < size; ++i) to[i] = from[i];
    return;
  }
  std::memcpy(to, from, kWord);
  if (size == kWord) return;
  std::memcpy(to + size - kWord, from + size - kWord, kWord);
  if (size <= 2 * kWord) return;
  std::memcpy(to + kWord, from + kWord, kWord);
  std::memcpy(to + size - 2 * kWord, from + size - 2 * kWord, kWord);
}

ABSL_ATTRIBUTE_ALWAYS_INLINE inline Envelope* MakeSmallTell(const CurrentTurn& turn, uint64_t life, uint32_t place,
                                                            const MessageType& type, const void* value) {
  const uint8_t units = type.units[0];
  // The lowest 16 bits of a life are its node's.
  void* const block = AllocateSmallBlockFor(life >> 16, units);
  const Pid self = turn.self;
  auto* envelope = new (block) Envelope{.life = life,
                                        .sender_life = self.life(),
                                        .sender_cell = self.cell(),
                                        .flags = Envelope::kHasValue | Envelope::kIsSmall,
                                        .units = units,
                                        .mailbox = static_cast<uint8_t>(place),
                                        .type = &type};
  CopySmall(reinterpret_cast<unsigned char*>(envelope + 1), static_cast<const unsigned char*>(value), type.small_bytes);
  return envelope;
}

// Makes an envelope with the sender's message, whose type must be one that moves safely.
ABSL_ATTRIBUTE_ALWAYS_INLINE inline Envelope* MakeTell(const CurrentTurn& turn, uint64_t life, uint32_t place,
                                                       const MessageType& type, const void* value, TransferMode mode) {
  if (type.small_bytes != 0) return MakeSmallTell(turn, life, place, type, value);
  Envelope* const large = MakeLargeTell(type, value, mode);
  large->life = life;
  large->set_sender(turn.self);
  large->mailbox = static_cast<uint8_t>(place);
  return large;
}

// Direct hand-off: gives the message to the actor past its inbound list and its gate. Requires that this thread has
// claimed the idle actor (TryClaim), so it is the owner until it schedules the actor. Instead of raising `accepted`, it
// lowers `limit`, which only the owner writes, by one while the message waits. Returns false if the message cannot be
// handed off; the caller then sends it through the gate.
ABSL_ATTRIBUTE_ALWAYS_INLINE inline bool ActorCell::Hand(size_t place, Envelope* envelope) {
  // relaxed, throughout: this thread is the owner, and TryClaim acquired what the last owner wrote. The life is checked
  // again, because the actor may have ended before TryClaim, and the cell's next life may have become idle.
  if (ABSL_PREDICT_FALSE(life_.load(std::memory_order_relaxed) != envelope->life)) return false;
  Gate* const gates = this->gates();
  Gate& gate = gates[place];
  const uint32_t limit = AddAsOwner(gate.limit, 0U - 1U);
  // Pairs with HasLastPlace's HeavyBarrier. This thread stores `limit`, then loads `accepted`; a sender that takes the
  // last place adds to `accepted`, then loads `limit`. At least one sees the other's write and gives way.
  StdAtomics::LightBarrier();
  if (ABSL_PREDICT_FALSE(static_cast<int32_t>(gate.accepted.load(std::memory_order_relaxed) - limit) > 0)) {
    AddAsOwner(gate.limit, 1U);
    return false;
  }
  AddAsOwner(const_cast<std::atomic<uint32_t>&>(HandedOf(gates, place)), 1U);
  AddAsOwner(queue(gates, place).left, 0U - 1U);
  static_cast<ActorCore*>(owner())->TakeHanded(envelope);
  return true;
}

// True if the actor, when idle, handles messages that are handed off to that mailbox.
ABSL_ATTRIBUTE_ALWAYS_INLINE inline bool ActorCell::TakesHanded(const MailboxLayout::PlainTell& mailbox) const {
  // relaxed: a stale mask only causes a turn that handles no message.
  return (open_.load(std::memory_order_relaxed) & mailbox.handed) != 0;
}

// Call after IsIdle and TakesHanded returned true. Claims the actor, hands the message off, and schedules the actor. If
// it returns false, the message is still the caller's, to be sent through the gate. An actor that was claimed is
// scheduled even if the hand-off failed, because a claimed actor is not idle and no other thread would schedule it.
ABSL_ATTRIBUTE_ALWAYS_INLINE inline bool ActorCell::TryHand(const CurrentTurn& turn, uint32_t place,
                                                            Envelope* envelope) {
  if (!inbound_.TryClaim()) return false;
  const bool is_handed = Hand(place, envelope);
  Worker* const worker = ThisWorker();
  UNDERSTUDY_DCHECK(worker == nullptr || &worker->executor == &turn.system->executor(), "a turn of another executor");
  if (ABSL_PREDICT_FALSE(!is_handed || worker == nullptr || !worker->TryPutNext(owner()))) {
    Schedule(*turn.system, envelope->life);
  }
  return is_handed;
}

// Returns the mailbox, and its place in `place`, if `life` has started and accepting a message of `type` there takes no
// more than counting it in the gate; null otherwise.
ABSL_ATTRIBUTE_ALWAYS_INLINE inline const MailboxLayout::PlainTell* ActorCell::FindPlainTell(uint64_t life,
                                                                                             uint32_t mailbox,
                                                                                             const MessageType& type,
                                                                                             uint32_t& place) const {
  // acquire: as in Accept.
  if (ABSL_PREDICT_FALSE(life_.load(std::memory_order_acquire) != life)) return nullptr;
  const MailboxLayout* const mailboxes = layout_.load(std::memory_order_acquire);
  if (ABSL_PREDICT_FALSE(stage_.load(std::memory_order_relaxed) != Stage::kOpen || mailboxes == nullptr)) {
    return nullptr;
  }
  return mailboxes->FindPlainTell(mailbox, type, place);
}

ABSL_ATTRIBUTE_ALWAYS_INLINE inline bool ActorCell::HandSmall(const CurrentTurn& turn, Pid to, uint32_t mailbox,
                                                              const MessageType& type, const void* value) {
  uint32_t place = 0;
  const MailboxLayout::PlainTell* const plain = FindPlainTell(to.life(), mailbox, type, place);
  if (ABSL_PREDICT_FALSE(plain == nullptr) || !TakesHanded(*plain)) return false;
  Envelope* const envelope = MakeSmallTell(turn, to.life(), place, type, value);
  if (ABSL_PREDICT_TRUE(TryHand(turn, place, envelope))) return true;
  FreeSmallBlock(envelope, envelope->units);
  return false;
}

ABSL_ATTRIBUTE_ALWAYS_INLINE inline bool ActorCell::AcceptPlain(const CurrentTurn& turn, Pid to, uint32_t mailbox,
                                                                const MessageType& type, const void* value,
                                                                TransferMode mode) {
  uint32_t place = 0;
  const MailboxLayout::PlainTell* const plain = FindPlainTell(to.life(), mailbox, type, place);
  if (ABSL_PREDICT_FALSE(plain == nullptr)) return false;
  Envelope* const envelope = MakeTell(turn, to.life(), place, type, value, mode);
  if (IsIdle() && TakesHanded(*plain) && TryHand(turn, place, envelope)) return true;
  Gate* const gates = gates_.load(std::memory_order_relaxed);
  Gate& gate = gates[place];
  // relaxed: the push below publishes the message. A refusal here is not final: the caller tries Accept, which counts
  // again with acq_rel and admits waiting senders.
  const uint32_t accepted = gate.accepted.fetch_add(1, std::memory_order_relaxed) + 1;
  if (ABSL_PREDICT_FALSE(!HasPlace(gate, accepted, /*is_handed=*/plain->handed != 0))) {
    TakeBack(gates, type, value, mode, envelope);
    return false;
  }
  envelope->set_gates(gates);
  switch (inbound_.PushAndWake(envelope, open_, uint64_t{1} << place, [&] { MarkWaiting(*envelope, *turn.system); })) {
    case Pushed::kMustSchedule:
      Schedule(*turn.system, to.life());
      return true;
    case Pushed::kClosed:
      TakeBack(gates, type, value, mode, envelope);
      return false;
    default:
      return true;
  }
}

}  // namespace understudy::internal

#endif  // UNDERSTUDY_ACTORS_INTERNAL_SEND_PLAIN_SEND_H_
