// The mailboxes of an actor: what comes in, waits, leaves and is lost.
//
// A queue is a ring of envelopes, of which the owner holds the newest.
#include <algorithm>
#include <bit>
#include <string>
#include <utility>
#include <vector>

#include "absl/base/optimization.h"
#include "absl/status/status.h"
#include "absl/strings/str_cat.h"
#include "understudy/actors/error.h"
#include "understudy/actors/internal/actor_core.h"

namespace understudy::internal {
namespace {

void Append(Queue& queue, Envelope* envelope) {
  if (queue.newest == nullptr) {
    envelope->next = envelope;
  } else {
    envelope->next = queue.newest->next;
    queue.newest->next = envelope;
  }
  queue.newest = envelope;
}

// Bytes of a wire message become a value. Null when they do not parse.
Envelope* Parse(Envelope* envelope, const MessageType& type) {
  Envelope* parsed = Envelope::Make(EnvelopeKind::kMessage, type, /*has_call_part=*/true);
  if (!type.parse(static_cast<WireBytes*>(envelope->value())->bytes, parsed->value())) {
    Envelope::Delete(parsed);
    return nullptr;
  }
  parsed->SetMade();
  parsed->life = envelope->life;
  parsed->set_sender(envelope->sender());
  parsed->mailbox = envelope->mailbox;
  parsed->stamp = envelope->stamp;
  if (envelope->has(Envelope::kHasCallPart)) parsed->call() = envelope->call();
  return parsed;
}

}  // namespace

// A message was accepted by its gate: into its mailbox.
void ActorCore::Enqueue(Envelope* envelope) {
  const size_t place = envelope->mailbox;
  if (ABSL_PREDICT_FALSE(envelope->type == &TypeOf<WireBytes>())) {
    Envelope* parsed = Parse(envelope, *layout()[place].request);
    if (parsed == nullptr) {
      const size_t bytes = static_cast<WireBytes*>(envelope->value())->bytes.size();
      Leave(envelope);
      Dispose(
          envelope, Fate::kDropped,
          absl::InvalidArgumentError(absl::StrCat(bytes, " bytes do not parse as ", layout()[place].request->name())));
      return;
    }
    Envelope::Delete(std::exchange(envelope, parsed));
  }
  envelope->stamp = ++last_stamp_;
  Append(cell().queue(place), envelope);
  has_mail_ |= uint64_t{1} << place;
  if (ABSL_PREDICT_FALSE((layout().overflowing() >> place & 1U) != 0)) DropOverflow(place);
}

void ActorCore::DropOverflow(size_t place) {
  const MailboxDeclaration& declaration = layout()[place];
  if (declaration.options.overflow != Overflow::kDropOldest) return;
  Queue& queue = cell().queue(place);
  const auto overflows = [&] {
    const uint32_t waiting =
        cell().gate(place).accepted.load(std::memory_order_relaxed) - queue.left.load(std::memory_order_relaxed);
    if (waiting > declaration.room() / 2) return true;
    if (!declaration.has_bytes()) return false;
    const ByteGate& bytes = cell().byte_gate(place);
    const uint64_t held = bytes.accepted.load(std::memory_order_relaxed) -
                          (bytes.limit.load(std::memory_order_relaxed) - declaration.room_bytes());
    return held > declaration.options.capacity_bytes;
  };
  while (queue.newest != nullptr && overflows()) {
    Envelope* oldest = queue.newest->next;
    TakeOut(oldest, queue.newest);
    Dispose(oldest, Fate::kDropped,
            MakeError(ErrorKind::kFull, absl::StrCat("dropped from full mailbox ", declaration.wire_name,
                                                     " to make room for newer messages")));
  }
}

void ActorCore::TakeOut(Envelope* envelope, Envelope* before) {
  Queue& queue = cell().queue(envelope->mailbox);
  if (envelope == before) {
    queue.newest = nullptr;
    has_mail_ &= ~(uint64_t{1} << envelope->mailbox);
  } else {
    before->next = envelope->next;
    if (queue.newest == envelope) queue.newest = before;
  }
  Leave(envelope);
}

void ActorCore::Leave(Envelope* envelope) {
  const size_t place = envelope->mailbox;
  PublishLimit(place, AddAsOwner(cell().queue(place).left, 1U));
  if (const uint64_t counted = envelope->counted_bytes(); counted != 0)
    AddAsOwner(cell().byte_gate(place).limit, counted);
  const uint64_t sender = envelope->sender_life;
  if (ABSL_PREDICT_FALSE(sender != 0 && static_cast<uint16_t>(sender) != static_cast<uint16_t>(life()) &&
                         !envelope->has(Envelope::kWasInHand))) {
    if (Router* router = system().router(); router != nullptr) {
      router->Released(envelope->sender(), self(), layout()[place].hash, 1);
    }
  }
}

// Senders write the line that the limit is on: it is not stored for each
// message, but soon enough that nobody is refused for long.
void ActorCore::PublishLimit(size_t place, uint32_t left) {
  constexpr uint32_t kBehindMax = 64;
  const uint32_t room = layout().room(place);
  std::atomic<uint32_t>& limit = cell().gate(place).limit;
  const uint32_t behind = left + room - limit.load(std::memory_order_relaxed);
  if (behind >= std::min(kBehindMax, room / 4)) {
    limit.store(left + room, std::memory_order_relaxed);
  } else {
    ThisTurn().unpublished |= uint64_t{1} << place;
  }
}

void ActorCore::PublishLimits() {
  for (uint64_t& places = ThisTurn().unpublished; places != 0; places &= places - 1) {
    const auto place = static_cast<size_t>(std::countr_zero(places));
    cell().gate(place).limit.store(cell().queue(place).left.load(std::memory_order_relaxed) + layout().room(place),
                                   std::memory_order_relaxed);
  }
}

// A message in hand goes back, in its place.
void ActorCore::PutBack(Envelope* envelope, bool waits_for_change) {
  const size_t place = envelope->mailbox;
  Queue& queue = cell().queue(place);
  envelope->set(Envelope::kWasInHand);
  if (waits_for_change) {
    envelope->set(Envelope::kIsPostponed);
    has_postponed_ = true;
  }
  AddAsOwner(queue.left, 0U - 1U);
  if (const uint64_t counted = envelope->counted_bytes(); counted != 0) {
    AddAsOwner(cell().byte_gate(place).limit, 0U - counted);
  }
  ThisTurn().unpublished |= uint64_t{1} << place;
  has_mail_ |= uint64_t{1} << place;
  Envelope* before = queue.newest;
  if (before == nullptr || before->stamp < envelope->stamp) {
    Append(queue, envelope);
    return;
  }
  while (before->next->stamp < envelope->stamp) before = before->next;
  envelope->next = before->next;
  before->next = envelope;
}

void ActorCore::ReturnPostponed() {
  if (!has_postponed_) return;
  has_postponed_ = false;
  for (size_t i = 0; i < layout().size(); ++i) {
    Envelope* const newest = cell().queue(i).newest;
    if (newest == nullptr) continue;
    Envelope* envelope = newest;
    do {
      envelope->clear(Envelope::kIsPostponed);
      envelope = envelope->next;
    } while (envelope != newest);
  }
}

void ActorCore::CloseMailbox(int mailbox) {
  const auto place = static_cast<size_t>(mailbox);
  std::vector<uint32_t>& leases = rare().leases;
  leases.resize(std::max(leases.size(), place + 1));
  ++leases[place];
  rare_->leased |= uint64_t{1} << place;
}

void ActorCore::EndLease(int mailbox) {
  const auto place = static_cast<size_t>(mailbox);
  if (--rare().leases[place] == 0) rare_->leased &= ~(uint64_t{1} << place);
}

void ActorCore::CancelWaiting(Pid asker, uint64_t ask) {
  for (size_t i = 0; i < layout().size(); ++i) {
    Envelope* const newest = cell().queue(i).newest;
    if (newest == nullptr || !layout()[i].is_call()) continue;
    Envelope* before = newest;
    do {
      Envelope* const envelope = before->next;
      if (envelope->ask() == ask && envelope->sender() == asker) {
        TakeOut(envelope, before);
        system().Count(Fate::kCancelled);  // its asker knows
        Envelope::Delete(envelope);
        return;
      }
      before = envelope;
    } while (before != newest);
  }
}

// A sender found it full: calls that nobody waits for any more leave it, whether
// it is open or not.
void ActorCore::ExpireWaitingCalls(size_t place) {
  const MonotonicTime now = system().clock().Now();
  Queue& queue = cell().queue(place);
  const Envelope* const last = queue.newest;
  Envelope* before = queue.newest;
  for (bool is_last = last == nullptr; !is_last;) {
    Envelope* const envelope = before->next;
    is_last = envelope == last;
    if (envelope->deadline() > now) {
      before = envelope;
      continue;
    }
    TakeOut(envelope, before);
    Dispose(envelope, Fate::kExpired,
            MakeError(ErrorKind::kExpired, "the call's deadline passed while it waited in its mailbox"));
  }
}

void ActorCore::Dispose(Envelope* envelope, Fate fate, const absl::Status& why) {
  system().Count(fate);
  if (envelope->ask() != 0) system().Reply(self(), envelope->sender(), envelope->ask(), why);
  if (fate == Fate::kDeadLetter) {
    const bool is_known = !envelope->has(Envelope::kIsEarly) && envelope->life == life();
    system().OnDeadLetter(
        {.why = why,
         .from = envelope->sender(),
         .to = Pid::OfLife(envelope->life, cell().index()),
         .mailbox = std::string(is_known ? layout()[envelope->mailbox].wire_name
                                         : MailboxNames::Find(static_cast<uint32_t>(envelope->stamp))),
         .type = envelope->type == &TypeOf<WireBytes>() ? "" : envelope->type->name()});
  }
  Envelope::Delete(envelope);
}

}  // namespace understudy::internal
