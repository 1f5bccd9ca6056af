#include "understudy/actors/internal/send/actor_cell.h"

#include <algorithm>
#include <utility>
#include <vector>

#include "absl/base/attributes.h"
#include "absl/base/optimization.h"
#include "absl/status/status.h"
#include "absl/strings/str_cat.h"
#include "absl/synchronization/mutex.h"
#include "understudy/actors/check.h"
#include "understudy/actors/error.h"
#include "understudy/actors/internal/scheduling/worker.h"
#include "understudy/actors/internal/send/waiting_mark.h"
#include "understudy/actors/internal/system/system_core.h"
#include "understudy/actors/limits.h"

namespace understudy::internal {
namespace {

constexpr uint64_t kWakesAlways = ~uint64_t{0};
// early_ has 16 bits; the values above kEarlyMax are for senders that are about to take their count back.
constexpr int64_t kEarlyMax = 60000;

// Calls `undo` if a message throws before Done. Like absl::Cleanup, but always inline, so that a send that does not
// throw pays nothing.
template <class F>
class [[nodiscard]] OnThrow {
 public:
  explicit OnThrow(F undo) : undo_(undo) {}
  OnThrow(const OnThrow&) = delete;
  OnThrow& operator=(const OnThrow&) = delete;
  ABSL_ATTRIBUTE_ALWAYS_INLINE ~OnThrow() {
    if (is_armed_) undo_();
  }
  void Done() { is_armed_ = false; }

 private:
  const F undo_;
  bool is_armed_ = true;
};

absl::Status FullError(const MailboxDeclaration& declaration, absl::string_view bound) {
  return MakeError(ErrorKind::kFull, absl::StrCat("mailbox ", declaration.wire_name, " holds ", bound,
                                                  "; send later, or declare it larger"));
}

// How an error text describes the room of a mailbox in terms of its declared capacity.
absl::string_view CapacityText(const MailboxDeclaration& declaration) {
  return declaration.overflow().capacities_accepted == 2 ? "twice its capacity" : "its capacity";
}

absl::Status FullOfMessages(const MailboxDeclaration& declaration) {
  return FullError(declaration, absl::StrCat(declaration.room(), " messages, ", CapacityText(declaration)));
}

absl::Status FullOfBytes(const MailboxDeclaration& declaration, uint64_t held, uint64_t bytes) {
  const uint64_t capacity = declaration.capacity_bytes;
  return FullError(declaration,
                   absl::StrCat(held, " bytes, and ", bytes, " more exceed ",
                                bytes > capacity ? "its capacity" : CapacityText(declaration), " of ", capacity));
}

}  // namespace

absl::Status StoppingError() {
  return MakeError(ErrorKind::kStopping, "that actor is ending and takes no more messages");
}

absl::Status NoMailboxError(const OutboundMessage& message) {
  const bool is_wire = message.type == &TypeOf<WireBytes>();
  const absl::string_view name = MailboxNames::Find(message.mailbox);
  return MakeError(
      ErrorKind::kNoMailbox,
      absl::StrCat("the actor has no mailbox ", name.empty() ? "of that name" : name, " that takes ",
                   message.ask != 0 ? "calls with " : "", is_wire ? "messages of other nodes" : message.type->name()));
}

namespace {

// Frees an envelope whose value could not be constructed.
void Discard(Envelope* envelope) {
  envelope->clear(Envelope::kHasValue);
  Envelope::Delete(envelope);
}

// Fills in receiver and sender of an envelope that has its value already.
Envelope* Addressed(Envelope* made, const OutboundMessage& message) {
  made->life = message.to.life();
  made->set_sender(message.from);
  return made;
}

}  // namespace

Envelope* Fill(const OutboundMessage& message, TransferMode mode, bool has_call_part) {
  const bool is_traced = message.trace != nullptr;
  has_call_part = has_call_part || is_traced;
  Envelope* const envelope =
      Addressed(ABSL_PREDICT_FALSE(is_traced) ? Envelope::MakeTraced(*message.type, *message.trace)
                                              : Envelope::Make(EnvelopeKind::kMessage, *message.type, has_call_part),
                message);
  if (has_call_part) {
    envelope->call().ask = message.ask;
    envelope->call().deadline = message.deadline;
  }
  if (ABSL_PREDICT_FALSE(mode == TransferMode::kMove && !message.type->moves_safely)) {
    MoveBrittleValue(envelope, *message.type, const_cast<void*>(message.value));
  } else {
    MakeValue(envelope, *message.type, message.value, mode);
  }
  return envelope;
}

namespace {

// The size of the message, as a mailbox bounded in bytes counts it.
uint64_t BytesOf(const OutboundMessage& message) { return message.type->bytes(message.value); }

}  // namespace

void CopyValue(Envelope* envelope, const MessageType& type, const void* value) {
  OnThrow discard([envelope] { Discard(envelope); });
  type.copy(envelope->value(), value);
  discard.Done();
}

void ActorCell::Schedule(SystemCore& system, uint64_t life) {
  SystemCore* its = &system;
  // A sender that was slow to push may have woken a later life of the cell, which may even belong to another system.
  if (const uint64_t present = owners_life(); ABSL_PREDICT_FALSE(present != life)) its = SystemCore::OfLife(present);
  its->executor().Schedule(owner());
}

Envelope* MakeLargeTell(const MessageType& type, const void* value, TransferMode mode) {
  if (ABSL_PREDICT_TRUE(mode == TransferMode::kMove && !type.is_boxed)) {
    const uint8_t units = type.units[0];
    auto* const made = new (AllocateBlock(units)) Envelope{.flags = Envelope::kHasValue, .units = units, .type = &type};
    type.move(made + 1, const_cast<void*>(value));
    return made;
  }
  Envelope* const envelope = Envelope::Make(EnvelopeKind::kMessage, type, /*has_call_part=*/false);
  MakeValue(envelope, type, value, mode);
  return envelope;
}

void MoveBrittleValue(Envelope* envelope, const MessageType& type, void* value) {
  envelope->SetMade();
  OnThrow discard([envelope] { Discard(envelope); });
  type.move(envelope->value(), value);
  discard.Done();
}

void ActorCell::AdmitInstead(SystemCore& system) {
  if (!has_blocked_senders()) return;
  // Uses the present life, even if the send was to an earlier one, because the gates that counted the send for a moment
  // belong to the present life.
  const uint64_t present = life();
  if (present == 0) return;
  const KernelCode kernel;
  system.blocked_senders().Admit(*this, present);
}

// `made` is not null for a sender that waited for room; the caller then holds the lock of BlockedSenders.
absl::Status ActorCell::Accept(SystemCore& system, const OutboundMessage& message, TransferMode mode,
                               WhenFull when_full, Envelope* made) {
  const uint64_t life = message.to.life();
  // acquire: pairs with Open's release store of life_, so what is loaded below is of this life or of a later one.
  if (ABSL_PREDICT_FALSE(life_.load(std::memory_order_acquire) != life)) return EndedError();
  // acquire: pairs with SetLayout's release store of layout_, for the gates.
  const MailboxLayout* layout = layout_.load(std::memory_order_acquire);
  // relaxed: the value may be stale. The actor calls BeginStop before its end changes the gates.
  const Stage stage = stage_.load(std::memory_order_relaxed);
  if (ABSL_PREDICT_FALSE(stage != Stage::kOpen || layout == nullptr)) {
    return AcceptEarly(system, message, mode, when_full);
  }
  const int found = layout->Find(message.mailbox);
  if (ABSL_PREDICT_FALSE(found < 0 || !(*layout)[static_cast<size_t>(found)].Takes(*message.type, message.ask))) {
    return NoMailboxError(message);
  }
  const auto place = static_cast<size_t>(found);
  Gate* const gates = gates_.load(std::memory_order_relaxed);
  // The count publishes no message; the push below does. release matters for a waiting sender that is refused: it has
  // stored has_blocked_senders_ before. A thread whose count was in the way then sees the mark after its own fetch_sub
  // (acquire, in Uncount) and admits the waiting sender (AdmitInstead).
  const uint32_t accepted = gates[place].accepted.fetch_add(1, std::memory_order_acq_rel) + 1;
  if (ABSL_PREDICT_FALSE(!HasPlace(gates[place], accepted, (layout->handed() >> place & 1U) != 0))) {
    Uncount(gates, place, 0);
    if (made == nullptr) AdmitInstead(system);
    if (!IsAlive(life)) return EndedError();  // the gates of a dead actor are shut
    const MailboxDeclaration& declaration = (*layout)[place];
    if (when_full == WhenFull::kRefuses) OnFull(system, life, declaration, place);
    if (made == nullptr) system.remote_room().AskBack(*this, life, place);
    return FullOfMessages(declaration);
  }
  const uint64_t bit = uint64_t{1} << place;
  const bool is_plain = (layout->plain() & bit) != 0;
  bool wakes = false;
  uint64_t bytes = 0;
  OnThrow uncount([&] {
    Uncount(gates, place, bytes);
    if (made == nullptr) AdmitInstead(system);
  });
  if (ABSL_PREDICT_FALSE(!is_plain)) {
    const MailboxDeclaration& declaration = (*layout)[place];
    uint64_t its_bytes = 0;
    if (declaration.has_bytes()) its_bytes = made != nullptr ? made->call().bytes : BytesOf(message);
    if (absl::Status room = AcceptBytes(declaration, gates, place, its_bytes, accepted, wakes); !room.ok()) {
      uncount.Done();
      if (made == nullptr) AdmitInstead(system);
      if (!IsAlive(life)) return EndedError();
      if (when_full == WhenFull::kRefuses) OnFull(system, life, declaration, place);
      if (made == nullptr) system.remote_room().AskBack(*this, life, place);
      return room;
    }
    bytes = its_bytes;
  }
  Envelope* envelope = made != nullptr ? Addressed(made, message) : Fill(message, mode, message.ask != 0 || !is_plain);
  uncount.Done();
  envelope->mailbox = static_cast<uint8_t>(place);
  envelope->set_gates(gates);
  if (!is_plain || made != nullptr) {
    if ((*layout)[place].has_time_to_live()) envelope->call().accepted = system.clock().Now();
    envelope->call().bytes = bytes;
  }
  if (ABSL_PREDICT_TRUE(PushAndWake(system, envelope, wakes ? kWakesAlways : bit))) {
    if (!is_plain) WakeForExpiry(system, life, (*layout)[place]);
    return absl::OkStatus();
  }
  if (made != nullptr) {
    Uncount(gates, place, bytes);
  } else {
    TakeBack(gates, *message.type, message.value, mode, envelope);
    AdmitInstead(system);
  }
  return EndedError();
}

absl::Status ActorCell::AcceptEarly(SystemCore& system, const OutboundMessage& message, TransferMode mode,
                                    WhenFull when_full) {
  if (!inbound_.IsLive()) return EndedError();
  // relaxed: if the actor opens its gates meanwhile, the message is still sorted like any early one.
  if (stage_.load(std::memory_order_relaxed) == Stage::kStopping) return StoppingError();
  // The waiting sender keeps its message until the actor has started and the mailbox's room is known.
  if (when_full == WhenFull::kWaits) return MakeError(ErrorKind::kFull, "the actor has not started yet");
  const int held = early_.fetch_add(1, std::memory_order_relaxed);
  // Messages of other nodes are bounded by their first allowances already.
  const bool is_beside = when_full == WhenFull::kIsBeside;
  if (held >= (is_beside ? kEarlyMax : limits::kStartingMessagesMax)) {
    ReleaseEarly();
    return MakeError(ErrorKind::kFull, absl::StrCat("the actor has not started yet and already holds ", held,
                                                    " messages, the most it may"));
  }
  OnThrow release([this] { ReleaseEarly(); });
  // Whether the mailbox counts bytes is not known yet. BytesOf is called all the same: it is user code that may throw,
  // so it must run in the sender's call and not when the message is sorted.
  const uint64_t bytes = BytesOf(message);
  Envelope* envelope = Fill(message, mode, /*has_call_part=*/true);
  release.Done();
  envelope->set(Envelope::kIsEarly);
  if (is_beside) envelope->set(Envelope::kIsBeside);
  envelope->set_mailbox_hash(message.mailbox);
  envelope->call().accepted = system.clock().Now();
  envelope->call().bytes = bytes;
  if (PushAndWake(system, envelope, kWakesAlways)) return absl::OkStatus();
  ReleaseEarly();
  TakeBack(/*gates=*/nullptr, *message.type, message.value, mode, envelope);
  return EndedError();
}

absl::Status ActorCell::AcceptBytes(const MailboxDeclaration& declaration, Gate* gates, size_t place, uint64_t bytes,
                                    uint32_t accepted, bool& wakes) {
  const bool drops = declaration.overflow().drops_oldest;
  if (drops) {
    // The room of such a mailbox is twice its capacity. A sender wakes the owner to drop when it exceeds the capacity.
    const uint32_t waiting = accepted - gates[place].limit.load(std::memory_order_relaxed) + declaration.room();
    wakes = waiting > declaration.room() / 2;
  }
  if (!declaration.has_bytes()) return absl::OkStatus();
  const CountedBytes counted = CountBytes(declaration, ByteGateOf(gates, place), bytes);
  wakes = wakes || (drops && counted.held > 0 && counted.held + bytes > declaration.capacity_bytes);
  if (counted.fit) return absl::OkStatus();
  Uncount(gates, place, 0);
  return FullOfBytes(declaration, counted.held, bytes);
}

ActorCell::CountedBytes ActorCell::CountBytes(const MailboxDeclaration& declaration, ByteGate& gate, uint64_t bytes) {
  const uint64_t room = declaration.room_bytes();
  if (bytes <= declaration.capacity_bytes) {
    // acq_rel: as the fetch_add of the message count in Accept.
    const uint64_t after = gate.accepted.fetch_add(bytes, std::memory_order_acq_rel) + bytes;
    const uint64_t limit = gate.limit.load(std::memory_order_relaxed);
    const bool fit = static_cast<int64_t>(after - limit) <= 0;
    // acquire: as in Uncount.
    if (!fit) gate.accepted.fetch_sub(bytes, std::memory_order_acq_rel);
    return {.fit = fit, .held = after - bytes - (limit - room)};
  }
  // A message larger than the capacity is counted only once it is known to fit: otherwise a refused one would take the
  // room of other senders for a moment. The load is a read-modify-write for the reason given in TakeRoom.
  uint64_t accepted = gate.accepted.fetch_add(0, std::memory_order_acq_rel);
  for (;;) {
    const uint64_t held = accepted - (gate.limit.load(std::memory_order_relaxed) - room);
    if (held != 0) return {.fit = false, .held = held};
    if (gate.accepted.compare_exchange_weak(accepted, accepted + bytes, std::memory_order_acq_rel,
                                            std::memory_order_relaxed)) {
      return {.fit = true, .held = 0};
    }
  }
}

// A direct hand-off may have taken the last place by lowering `limit`, which this thread has not seen yet. The handing
// thread (Hand) stores `limit`, then loads `accepted`; this thread has added to `accepted`, and loads `limit` after the
// barrier. At least one of the two sees the other's write.
bool ActorCell::HasLastPlace(const Gate& gate, uint32_t accepted) {
  StdAtomics::HeavyBarrier();  // pairs with Hand's LightBarrier
  return static_cast<int32_t>(accepted - gate.limit.load(std::memory_order_relaxed)) <= 0;
}

void ActorCell::Uncount(Gate* gates, size_t place, uint64_t bytes) {
  // acquire, both: pairs with the release of the fetch_add in Accept and CountBytes (see Accept).
  gates[place].accepted.fetch_sub(1, std::memory_order_acq_rel);
  if (bytes > 0) ByteGateOf(gates, place).accepted.fetch_sub(bytes, std::memory_order_acq_rel);
}

void ActorCell::TakeBack(Gate* gates, const MessageType& type, const void* value, TransferMode mode,
                         Envelope* envelope) {
  if (gates != nullptr) Uncount(gates, envelope->mailbox, envelope->counted_bytes());
  if (mode == TransferMode::kMove && type.moves_safely) {
    // Moves the message back into the sender's object, from which it was moved.
    void* const moved_from = const_cast<void*>(value);
    if (type.destroy != nullptr) type.destroy(moved_from);
    const TransferScope on_its_way(/*comes_back=*/true);
    type.move(moved_from, envelope->value());
  }
  Envelope::Delete(envelope);
}

void ActorCell::OnFull(SystemCore& system, uint64_t life, const MailboxDeclaration& declaration, size_t place) {
  const bool fails = declaration.overflow().fails_actor;
  if (!fails && !declaration.is_call() && !declaration.has_time_to_live()) return;
  std::atomic<bool>& is_told = fails ? overflowed_ : expiry_asked_;
  if (is_told.exchange(true, std::memory_order_relaxed)) return;
  Envelope* told = Envelope::Make(fails ? EnvelopeKind::kOverflow : EnvelopeKind::kLookForExpired);
  told->mailbox = static_cast<uint8_t>(place);
  if (Post(system, life, told) != Pushed::kClosed) return;
  Envelope::Delete(told);
  is_told.store(false, std::memory_order_relaxed);  // the flag may belong to the cell's next life, which must be told
}

bool ActorCell::PushAndWake(SystemCore& system, Envelope* envelope, uint64_t bits) {
  const uint64_t life = envelope->life;
  switch (bits == kWakesAlways ? inbound_.Push(envelope, /*wakes=*/true)
                               : inbound_.PushAndWake(envelope, open_, bits, [&] { MarkWaiting(*envelope, system); })) {
    case Pushed::kMustSchedule:
      Schedule(system, life);
      return true;
    case Pushed::kClosed:
      return false;
    default:
      return true;
  }
}

Pushed ActorCell::Post(SystemCore& system, uint64_t life, Envelope* envelope) {
  // acquire: pairs with Open's release.
  if (life_.load(std::memory_order_acquire) != life) return Pushed::kClosed;
  envelope->life = life;
  // A signal wakes the actor whichever mailboxes are open.
  const Pushed pushed = inbound_.Push(envelope, /*wakes=*/true);
  if (pushed == Pushed::kMustSchedule) Schedule(system, life);
  return pushed;
}

void ActorCell::ForEachClosed(absl::FunctionRef<void(uint64_t, size_t, const ClosedMail&)> look) const {
  const uint64_t now = life();
  // acquire: pairs with SetLayout's release, for the gates and queues.
  const MailboxLayout* mailboxes = layout_.load(std::memory_order_acquire);
  if (now == 0 || mailboxes == nullptr) return;
  const Gate* gates = gates_.load(std::memory_order_relaxed);
  const uint64_t open = open_.load(std::memory_order_relaxed);
  for (size_t i = 0; i < mailboxes->size(); ++i) {
    if ((open >> i & 1U) != 0) continue;
    const uint32_t left = QueueOf(gates, i).left.load(std::memory_order_relaxed);
    const ClosedMail mail{.mailbox = (*mailboxes)[i].wire_name,
                          .waiting = static_cast<int32_t>(gates[i].accepted.load(std::memory_order_relaxed) - left),
                          .left = left + HandedOf(gates, i).load(std::memory_order_relaxed)};
    // Messages of other nodes that the gate does not count may wait too.
    if (mail.waiting > 0 || is_remote()) look(now, i, mail);
  }
}

void ActorCell::Open(uint64_t life) {
  UNDERSTUDY_CHECK(!inbound_.IsLive(), "cell ", index_, " is in use");
  layout_.store(nullptr, std::memory_order_relaxed);
  stage_.store(Stage::kStarting, std::memory_order_relaxed);
  overflowed_.store(false, std::memory_order_relaxed);
  expiry_asked_.store(false, std::memory_order_relaxed);
  remote_.store(0, std::memory_order_relaxed);
  has_started_.store(false, std::memory_order_relaxed);
  open_.store(0, std::memory_order_relaxed);
  // release: pairs with the acquire loads of life_ in Accept, Post and plain_send.h.
  life_.store(life, std::memory_order_release);
  inbound_.Open();
}

void ActorCell::Grow(size_t mailboxes) {
  struct Retired {
    absl::Mutex mu;
    std::vector<void*> blocks ABSL_GUARDED_BY(mu);
  };
  static auto* const retired = new Retired;
  const size_t gates_at = UnitsFor(mailboxes * sizeof(Outside)) * kBlockUnit;
  auto* block =
      static_cast<unsigned char*>(::operator new(gates_at + mailboxes * sizeof(Gate), std::align_val_t(kBlockUnit)));
  auto* gates = reinterpret_cast<Gate*>(block + gates_at);
  for (size_t i = 0; i < mailboxes; ++i) {
    new (const_cast<Outside*>(&OutsideOf(gates, i))) Outside;
    new (gates + i) Gate;
  }
  {
    // A sender may still count in the old memory, so it is not freed.
    absl::MutexLock lock(&retired->mu);
    retired->blocks.push_back(gates_.load(std::memory_order_relaxed));
  }
  gates_.store(gates, std::memory_order_relaxed);  // before the layout that needs it
  room_for_ = static_cast<uint16_t>(mailboxes);
}

void ActorCell::SetLayout(const MailboxLayout& layout) {
  const bool is_inside = IsInside(gates_.load(std::memory_order_relaxed));
  if (layout.size() > room_for_ || (is_inside && layout.has_bytes())) {
    Grow(std::max(layout.size(), kGatesOutsideMin));
  }
  for (size_t i = 0; i < layout.size(); ++i) {
    gate(i).limit.store(layout[i].room(), std::memory_order_relaxed);
    if (layout[i].has_bytes()) byte_gate(i).limit.store(layout[i].room_bytes(), std::memory_order_relaxed);
  }
  in_use_.store(static_cast<uint8_t>(layout.size()), std::memory_order_relaxed);
  // release: pairs with the acquire loads of layout_ in Accept and plain_send.h, for the gates.
  layout_.store(&layout, std::memory_order_release);
}

absl::Status ActorCell::AdmitEarly(size_t place, const MailboxDeclaration& declaration, uint64_t bytes) {
  Gate* const gates = gates_.load(std::memory_order_relaxed);
  // A mailbox that drops its oldest messages is never full here: this is the receiver's own turn, which drops them
  // afterwards.
  const bool drops = declaration.overflow().drops_oldest;
  const uint32_t accepted = gates[place].accepted.fetch_add(1, std::memory_order_relaxed) + 1;
  if (!drops && static_cast<int32_t>(accepted - gates[place].limit.load(std::memory_order_relaxed)) > 0) {
    Uncount(gates, place, 0);
    return FullOfMessages(declaration);
  }
  if (!declaration.has_bytes()) return absl::OkStatus();
  ByteGate& gate = ByteGateOf(gates, place);
  if (drops && bytes <= declaration.capacity_bytes) {
    gate.accepted.fetch_add(bytes, std::memory_order_relaxed);
    return absl::OkStatus();
  }
  const CountedBytes counted = CountBytes(declaration, gate, bytes);
  if (counted.fit) return absl::OkStatus();
  Uncount(gates, place, 0);
  return FullOfBytes(declaration, counted.held, bytes);
}

void ActorCell::ResetCounts() {
  const uint32_t mailboxes = in_use_.load(std::memory_order_relaxed);
  in_use_.store(0, std::memory_order_relaxed);
  for (uint32_t i = 0; i < mailboxes; ++i) {
    Queue& own = queue(i);
    gate(i).limit.store(0, std::memory_order_relaxed);
    gate(i).accepted.fetch_sub(own.left.load(std::memory_order_relaxed), std::memory_order_relaxed);
    const MailboxDeclaration& declaration = (*layout())[i];
    if (declaration.has_bytes()) {
      ByteGate& bytes = byte_gate(i);
      const uint64_t left = bytes.limit.exchange(0, std::memory_order_relaxed) - declaration.room_bytes();
      bytes.accepted.fetch_sub(left, std::memory_order_relaxed);
    }
    own.left.store(0, std::memory_order_relaxed);
    own.handled.store(0, std::memory_order_relaxed);
    handed(i).store(0, std::memory_order_relaxed);
  }
}

void ActorCell::ForgetStale(Envelope* envelope) {
  if (envelope->has(Envelope::kIsEarly)) {
    ReleaseEarly();
    return;
  }
  if (envelope->has(Envelope::kIsBeside)) return;
  const uint64_t bytes = envelope->has(Envelope::kHasCallPart) ? envelope->call().bytes : 0;
  Uncount(envelope->gates(), envelope->mailbox, bytes);
}

}  // namespace understudy::internal
