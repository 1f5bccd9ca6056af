// The mailboxes of an actor: parsing, overflow, postponed messages, cancelled calls, expiry, and disposal.
#include "understudy/actors/internal/turn/actor_queues.h"

#include <algorithm>
#include <bit>
#include <string>
#include <utility>
#include <vector>

#include "absl/base/optimization.h"
#include "absl/status/status.h"
#include "absl/strings/str_cat.h"
#include "understudy/actors/error.h"
#include "understudy/actors/internal/memory/destruction_queue.h"
#include "understudy/actors/internal/turn/actor_asks.h"
#include "understudy/actors/internal/turn/actor_disposal.h"

namespace understudy::internal {
namespace {

// Bytes of a wire message become a value. Null when they do not parse.
Envelope* Parse(Envelope* envelope, const MessageType& type) {
  Envelope* parsed = Envelope::Make(EnvelopeKind::kMessage, type, /*has_call_part=*/true);
  if (!type.parse(static_cast<WireBytes*>(envelope->value())->bytes(), parsed->value())) {
    Envelope::Delete(parsed);
    return nullptr;
  }
  parsed->SetMade();
  for (const uint8_t flag : {Envelope::kWasInHand, Envelope::kIsBeside}) {
    if (envelope->has(flag)) parsed->set(flag);
  }
  parsed->life = envelope->life;
  parsed->set_sender(envelope->sender());
  parsed->mailbox = envelope->mailbox;
  parsed->stamp = envelope->stamp;
  if (envelope->has(Envelope::kHasCallPart)) parsed->call() = envelope->call();
  return parsed;
}

}  // namespace

absl::InlinedVector<Envelope**, 2> ActorCore::Rings(size_t place) {
  absl::InlinedVector<Envelope**, 2> rings;
  if (rare_ != nullptr) {
    if (Envelope** const postponed = rare_->postponed.Ring(place); postponed != nullptr) rings.push_back(postponed);
  }
  if (Envelope*& newest = cell().queue(place).newest; newest != nullptr) rings.push_back(&newest);
  return rings;
}

// Replaces `envelope`, a message of another node, by one whose bytes have been parsed into a value. If they do not
// parse, the message leaves its mailbox as dropped, and null is returned.
Envelope* ActorCore::Parsed(Envelope* envelope) {
  const size_t place = envelope->mailbox;
  Envelope* parsed = Parse(envelope, *layout()[place].request);
  if (parsed == nullptr) {
    const size_t bytes = static_cast<WireBytes*>(envelope->value())->bytes().size();
    Leave(envelope);
    Dispose(
        *this, envelope, Disposition::kDropped,
        absl::InvalidArgumentError(absl::StrCat(bytes, " bytes do not parse as ", layout()[place].request->name())));
    return nullptr;
  }
  Envelope::Delete(envelope);
  return parsed;
}

void ActorCore::DropOverflow(size_t place) {
  const MailboxDeclaration& declaration = layout()[place];
  if (declaration.options.overflow != Overflow::kDropOldest) return;
  Queue& queue = cell().queue(place);
  using AllRings = absl::InlinedVector<Envelope**, 2>;
  const auto overflows = [&](const AllRings& rings) {
    // `accepted` counts the room that other nodes have reserved, though no message waits in it, and does not count the
    // messages that they sent beside the gate: Excess corrects for both.
    const RoomAmount excess = system().remote_room().Excess(cell(), life(), place);
    const uint32_t counted =
        cell().gate(place).accepted.load(std::memory_order_relaxed) - queue.left.load(std::memory_order_relaxed);
    const int64_t waiting = static_cast<int32_t>(counted) + excess.messages;
    if (waiting > declaration.room() / 2) return true;
    // A single message may be larger than the mailbox's bound in bytes.
    if (!declaration.has_bytes() || (rings.size() == 1 && (*rings[0])->next == *rings[0])) return false;
    const ByteGate& bytes = cell().byte_gate(place);
    const uint64_t held = bytes.accepted.load(std::memory_order_relaxed) -
                          (bytes.limit.load(std::memory_order_relaxed) - declaration.room_bytes());
    return static_cast<int64_t>(held) + excess.bytes > static_cast<int64_t>(declaration.capacity_bytes);
  };
  for (AllRings rings = Rings(place); !rings.empty() && overflows(rings); rings = Rings(place)) {
    Envelope** const ring = *std::min_element(rings.begin(), rings.end(), [](Envelope* const* a, Envelope* const* b) {
      return (*a)->next->stamp < (*b)->next->stamp;
    });
    Envelope* const oldest = (*ring)->next;
    TakeOut(*ring, oldest, *ring);
    Dispose(*this, oldest, Disposition::kDropped,
            MakeError(ErrorKind::kFull, absl::StrCat("dropped from full mailbox ", declaration.wire_name,
                                                     " to make room for newer messages")));
  }
}

// A message of another node leaves its mailbox for the first time: what covered it is free. The router is told when
// senders of this node are (PublishLimits), for one mailbox and node at a time.
void ActorCore::ReleaseRemote(CurrentTurn& turn, Envelope* envelope) {
  if (envelope->has(Envelope::kWasInHand)) return;
  const size_t place = envelope->mailbox;
  const bool is_beside = envelope->has(Envelope::kIsBeside);
  const uint64_t bytes = envelope->call().bytes;
  if (is_beside) {
    envelope->clear(Envelope::kIsBeside);
    cell().CountBeside(place, bytes);
    system().remote_room().AddBeside(cell(), life(), place, {.messages = -1, .bytes = -static_cast<int64_t>(bytes)});
  }
  const NodePlace node = envelope->sender().place();
  const Admission admission = is_beside ? Admission::kAllowance : Admission::kReserved;
  LeftRemote& left = turn.left_remote;
  if (left.messages != 0 && (left.node != node || left.place != place || left.admission != admission)) {
    TellReleased(turn);
  }
  left.node = node;
  left.place = static_cast<uint8_t>(place);
  left.admission = admission;
  ++left.messages;
  left.bytes += static_cast<int64_t>(bytes);
}

void ActorCore::TellReleased(CurrentTurn& turn) {
  const LeftRemote left = std::exchange(turn.left_remote, {});
  Router* const router = system().router();
  if (left.messages == 0 || router == nullptr) return;
  const MailboxDeclaration& mailbox = layout()[left.place];
  router->Released({.node = left.node,
                    .receiver = self(),
                    .mailbox = mailbox.hash,
                    .admission = left.admission,
                    .amount = {.messages = left.messages, .bytes = mailbox.has_bytes() ? left.bytes : -1}});
}

// Puts a message that was in hand back into its mailbox, in the order of its stamp, and undoes what Leave counted. If
// `waits_for_change`, the message waits until the behavior changes.
void ActorCore::PutBack(Envelope* envelope, bool waits_for_change) {
  const size_t place = envelope->mailbox;
  Queue& queue = cell().queue(place);
  envelope->set(Envelope::kWasInHand);
  if (envelope->stamp == 0) envelope->stamp = ++last_stamp_;  // handed directly to the idle actor, past the queue
  AddAsOwner(queue.left, 0U - 1U);
  if (const uint64_t counted = envelope->counted_bytes(); counted != 0) {
    AddAsOwner(cell().byte_gate(place).limit, 0U - counted);
  }
  ThisTurn().unpublished |= uint64_t{1} << place;
  if (waits_for_change) {
    rare().postponed.Add(envelope);
  } else {
    envelope->next = envelope;
    Merge(queue.newest, envelope);
    has_mail_ |= uint64_t{1} << place;
  }
  DropOverflow(place);  // newer messages may have taken this one's room meanwhile
}

void ActorCore::ReturnPostponed() {
  rare_->postponed.TakeAll([this](size_t place, Envelope* newest) {
    Merge(cell().queue(place).newest, newest);
    has_mail_ |= uint64_t{1} << place;
  });
}

// Cancels a call that waits in a mailbox or is in hand. Returns false if there is no such call.
bool ActorCore::CancelWaiting(Pid asker, uint64_t ask) {
  for (size_t i = 0; i < layout().size(); ++i) {
    if (!layout()[i].is_call()) continue;
    for (Envelope** const newest : Rings(i)) {
      Envelope* before = *newest;
      do {
        Envelope* const envelope = before->next;
        if (envelope->ask() == ask && envelope->sender() == asker) {
          TakeOut(*newest, envelope, before);
          Count(*this, i, DispositionOfCancelled(*this, envelope->call().deadline));
          DestroyLater(envelope);
          return true;
        }
        before = envelope;
      } while (before != *newest);
    }
  }
  if (rare_ == nullptr) return false;
  for (const std::unique_ptr<Activation>& activation : rare_->activations.all()) {
    if (activation->ask() != ask || activation->asker() != asker) continue;
    CancelAsksFor(*this, *activation);
    if (activation->is_forwarded) continue;  // the call is elsewhere
    activation->Hold().is_cancelled = true;
    return true;
  }
  return false;
}

void ActorCore::CancelCall(Pid asker, uint64_t ask) {
  // A call that was forwarded may arrive behind its cancel signal: the drain looks for it again at its end.
  if (!CancelWaiting(asker, ask) && rare_ != nullptr && rare_->passes_calls_on) {
    rare_->early_cancels.emplace_back(asker, ask);
  }
}

// Called when a sender needs room, or when a waiting message expires: calls whose deadline has passed and messages
// whose time to live is over leave their mailboxes, whether those are open or closed.
void ActorCore::ExpireWaitingMessages() {
  for (size_t i = 0; i < layout().size(); ++i) {
    if (layout()[i].is_call() || layout()[i].has_time_to_live()) ExpireWaitingMessages(i);
  }
}

// Finds when the time to live of a waiting message ends next, although its mailbox is closed: of a call, because its
// asker is to be told then, and of a tell only while a sender waits for the room that it takes. (No sender waits for
// room in a mailbox for calls: an ask that finds none is refused.)
void ActorCore::WatchExpiry() {
  const bool room_is_awaited = cell().has_blocked_senders();
  MonotonicTime first = MonotonicTime::InfiniteFuture();
  for (size_t i = 0; i < layout().size(); ++i) {
    const MailboxDeclaration& declaration = layout()[i];
    if (!declaration.has_time_to_live() || !(declaration.is_call() || room_is_awaited)) continue;
    for (Envelope* const* const newest : Rings(i)) {
      const Envelope* const oldest = (*newest)->next;
      first = std::min(first, oldest->call().accepted + declaration.options.time_to_live);
    }
  }
  if (rare_ != nullptr || !first.is_infinite()) rare().expires_at = first;
}

void ActorCore::ExpireWaitingMessages(size_t place) {
  for (Envelope** const newest : Rings(place)) {
    const Envelope* const last = *newest;
    Envelope* before = *newest;
    for (bool is_last = false; !is_last;) {
      Envelope* const envelope = before->next;
      is_last = envelope == last;
      absl::Status why;
      if (!HasExpired(*this, *envelope, why)) {
        if (!layout()[place].is_call()) break;  // one time to live: those that came later expire later
        before = envelope;
        continue;
      }
      TakeOut(*newest, envelope, before);
      Dispose(*this, envelope, Disposition::kExpired, why);
    }
  }
}

}  // namespace understudy::internal
