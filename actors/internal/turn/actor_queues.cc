// The mailboxes of an actor: parsing, overflow, postponed messages, cancelled calls, expiry, and disposal.
#include "understudy/actors/internal/turn/actor_queues.h"

#include <algorithm>
#include <bit>
#include <cstddef>
#include <cstdint>
#include <memory>
#include <string>
#include <utility>
#include <vector>

#include "absl/base/optimization.h"
#include "absl/container/inlined_vector.h"
#include "absl/status/status.h"
#include "absl/strings/str_cat.h"
#include "understudy/actors/error.h"
#include "understudy/actors/internal/memory/destruction_queue.h"
#include "understudy/actors/internal/turn/actor_asks.h"
#include "understudy/actors/internal/turn/actor_disposal.h"
#include "understudy/actors/internal/turn/current_turn.h"

namespace understudy::internal {
namespace {

// Bytes of a wire message become a value. Null when they do not parse.
Envelope* Parse(Envelope* envelope, const MessageType& type) {
  Envelope* parsed = envelope->has(Envelope::kIsTraced)
                         ? Envelope::MakeTraced(type, envelope->trace())
                         : Envelope::Make(EnvelopeKind::kMessage, type, /*has_call_part=*/true);
  if (!type.parse(static_cast<WireBytes*>(envelope->value())->bytes(), parsed->value())) {
    Envelope::Delete(parsed);
    return nullptr;
  }
  parsed->SetMade();
  for (const uint8_t flag : {Envelope::kCreditReturned, Envelope::kIsBeside}) {
    if (envelope->has(flag)) parsed->set(flag);
  }
  parsed->life = envelope->life;
  parsed->set_sender(envelope->sender());
  parsed->mailbox = envelope->mailbox;
  if (envelope->has(Envelope::kHasCallPart)) parsed->call() = envelope->call();
  return parsed;
}

// The non-empty rings in which messages of mailbox `place` wait, each given by its newest: the postponed messages,
// then the others.
absl::InlinedVector<Envelope**, 2> Rings(ActorCore& core, size_t place) {
  absl::InlinedVector<Envelope**, 2> rings;
  if (!core.parts().empty()) {
    if (Envelope** const postponed = core.parts().postponed().Ring(place); postponed != nullptr)
      rings.push_back(postponed);
  }
  if (Envelope*& newest = core.cell().queue(place).newest; newest != nullptr) rings.push_back(&newest);
  return rings;
}

// What Search does with a message.
enum class Step { kPass, kTakeOut, kEndRing };

// Shows `look` the messages of mailbox `place`, in each ring from the oldest on. Those for which it returns kTakeOut
// leave the mailbox, and `taken` gets them.
template <class Look, class Taken>
void Search(ActorCore& core, size_t place, const Look& look, const Taken& taken) {
  for (Envelope** const newest : Rings(core, place)) {
    const Envelope* const last = *newest;
    Envelope* before = *newest;
    for (bool is_last = false; !is_last;) {
      Envelope* const envelope = before->next;
      is_last = envelope == last;
      const Step step = look(*envelope);
      if (step == Step::kEndRing) break;
      if (step == Step::kPass) {
        before = envelope;
        continue;
      }
      TakeOut(core, *newest, envelope, before);
      taken(envelope);
    }
  }
}

// Takes the messages that have expired out of mailbox `place`. `at_live` is the step at one that has not.
void Expire(ActorCore& core, size_t place, Step at_live) {
  absl::Status why;
  Search(
      core, place, [&](const Envelope& envelope) { return HasExpired(core, envelope, why) ? Step::kTakeOut : at_live; },
      [&](Envelope* envelope) { Dispose(core, envelope, Disposition::kExpired, why); });
}

}  // namespace

// The calls that signals of the batch which is being drained have cancelled, and what is to be done after that.
struct CancelBatch {
  using Call = std::pair<Pid, uint64_t>;  // the asker, and its id of the call

  // Requires that `calls` are sorted.
  bool Has(Pid asker, uint64_t ask) const { return std::binary_search(calls.begin(), calls.end(), Call(asker, ask)); }

  absl::InlinedVector<Call, 4> calls;
  uint64_t overflowing = 0;  // bit i: mailbox i may hold more than its bound
};

namespace {

// Takes the cancelled calls out of mailbox `place`, and their number from `left`. Stops when `left` is 0.
void CancelWaiting(ActorCore& core, size_t place, const CancelBatch& batch, size_t& left) {
  Search(
      core, place,
      [&](const Envelope& envelope) {
        if (left == 0) return Step::kEndRing;
        return batch.Has(envelope.sender(), envelope.ask()) ? Step::kTakeOut : Step::kPass;
      },
      [&](Envelope* envelope) {
        Count(core, place, DispositionOfCancelled(core, envelope->call().deadline));
        DestroyLater(envelope);
        --left;
      });
}

void CancelInHand(ActorCore& core, const CancelBatch& batch) {
  const MonotonicTime now = core.system().clock().Now();
  std::vector<CancelBatch::Call> with_asks;
  for (const std::unique_ptr<Activation>& activation : core.parts().activations().all()) {
    if (!activation->is_call() || !batch.Has(activation->asker(), activation->ask())) continue;
    if (!activation->is_forwarded) activation->Hold().is_cancelled = true;  // else the call is elsewhere
    // If the call's deadline has passed, the asks for it have no later deadline, so they expire by themselves.
    if (activation->deadline() > now) with_asks.emplace_back(activation->asker(), activation->ask());
  }
  CancelAsksFor(core, std::move(with_asks));
}

}  // namespace

// Replaces `envelope`, a message of another node, by one whose bytes have been parsed into a value. If they do not
// parse, the message leaves its mailbox as dropped, and null is returned.
Envelope* Parsed(ActorCore& core, Envelope* envelope) {
  const size_t place = envelope->mailbox;
  Envelope* parsed = Parse(envelope, *core.layout()[place].request);
  if (parsed == nullptr) {
    const size_t bytes = static_cast<WireBytes*>(envelope->value())->bytes().size();
    Leave(core, envelope);
    Dispose(core, envelope, Disposition::kDropped,
            absl::InvalidArgumentError(
                absl::StrCat(bytes, " bytes do not parse as ", core.layout()[place].request->name())));
    return nullptr;
  }
  Envelope::Delete(envelope);
  return parsed;
}

void AdmitEarly(ActorCore& core, Envelope* envelope) {
  core.cell().ReleaseEarly();
  const auto hash = envelope->mailbox_hash();
  const int place = core.layout().Find(hash);
  const MailboxDeclaration* declaration = place < 0 ? nullptr : &core.layout()[static_cast<size_t>(place)];
  if (declaration == nullptr || !declaration->Takes(*envelope->type, envelope->ask())) {
    LeaveEarly(core, *envelope);
    Dispose(core, envelope, Disposition::kDeadLetter,
            MakeError(ErrorKind::kNoMailbox,
                      absl::StrCat("the actor has no mailbox ", MailboxNames::Find(hash), " for it")));
    return;
  }
  const uint64_t bytes = declaration->has_bytes() ? envelope->call().bytes : 0;
  if (envelope->has(Envelope::kIsBeside)) {
    core.system().remote_room().AddBeside(core.cell(), core.life(), static_cast<size_t>(place),
                                          {.messages = 1, .bytes = static_cast<int64_t>(bytes)});
  } else if (const absl::Status full = core.cell().AdmitEarly(static_cast<size_t>(place), *declaration, bytes);
             !full.ok()) {
    if (declaration->overflow().fails_actor) {
      core.SetExit(ExitReason::Overflow(declaration->wire_name), ExitCause::kOwnOutside);
    }
    LeaveEarly(core, *envelope);
    Dispose(core, envelope, Disposition::kDeadLetter, full);
    return;
  }
  envelope->clear(Envelope::kIsEarly);
  envelope->mailbox = static_cast<uint8_t>(place);
  envelope->call().bytes = bytes;
  Enqueue(core, ThisTurn(), envelope);
}

void TakeOut(ActorCore& core, Envelope*& newest, Envelope* envelope, Envelope* before) {
  const size_t place = envelope->mailbox;
  Queue& queue = core.cell().queue(place);
  if (&newest == &queue.newest) {
    core.mail().Cut(queue, place, envelope, before);
  } else {
    CutOut(newest, envelope, before);
  }
  Leave(core, envelope);
}

void DropOverflow(ActorCore& core, size_t place) {
  const MailboxDeclaration& declaration = core.layout()[place];
  if (!declaration.overflow().drops_oldest) return;
  if (CancelBatch* const batch = ThisTurn().cancels; batch != nullptr) {
    batch->overflowing |= uint64_t{1} << place;
    return;
  }
  Queue& queue = core.cell().queue(place);
  using AllRings = absl::InlinedVector<Envelope**, 2>;
  const auto overflows = [&](const AllRings& rings) {
    // `accepted` counts the room that other nodes have reserved, though no message waits in it, and does not count the
    // messages that they sent beside the gate: Excess corrects for both.
    const RoomAmount excess = core.system().remote_room().Excess(core.cell(), core.life(), place);
    const uint32_t counted =
        core.cell().gate(place).accepted.load(std::memory_order_relaxed) - queue.left.load(std::memory_order_relaxed);
    const int64_t waiting = static_cast<int32_t>(counted) + excess.messages;
    if (waiting > declaration.room() / 2) return true;
    // A single message may be larger than the mailbox's bound in bytes.
    if (!declaration.has_bytes() || (rings.size() == 1 && (*rings[0])->next == *rings[0])) return false;
    const ByteGate& bytes = core.cell().byte_gate(place);
    const uint64_t held = bytes.accepted.load(std::memory_order_relaxed) -
                          (bytes.limit.load(std::memory_order_relaxed) - declaration.room_bytes());
    return static_cast<int64_t>(held) + excess.bytes > static_cast<int64_t>(declaration.capacity_bytes);
  };
  for (AllRings rings = Rings(core, place); !rings.empty() && overflows(rings); rings = Rings(core, place)) {
    Envelope** const ring = *std::min_element(rings.begin(), rings.end(), [](Envelope* const* a, Envelope* const* b) {
      return (*a)->next->stamp < (*b)->next->stamp;
    });
    Envelope* const oldest = (*ring)->next;
    TakeOut(core, *ring, oldest, *ring);
    Dispose(core, oldest, Disposition::kDropped,
            MakeError(ErrorKind::kFull, absl::StrCat("dropped from full mailbox ", declaration.wire_name,
                                                     " to make room for newer messages")));
  }
}

void ReleaseRemote(ActorCore& core, CurrentTurn& turn, Envelope* envelope) {
  if (envelope->has(Envelope::kCreditReturned)) return;
  const size_t place = envelope->mailbox;
  const bool is_beside = envelope->has(Envelope::kIsBeside);
  const uint64_t bytes = envelope->call().bytes;
  if (is_beside) {
    envelope->clear(Envelope::kIsBeside);
    core.cell().CountBeside(place, bytes);
    core.system().remote_room().AddBeside(core.cell(), core.life(), place,
                                          {.messages = -1, .bytes = -static_cast<int64_t>(bytes)});
  }
  const NodePlace node = envelope->sender().place();
  const Admission admission = is_beside ? Admission::kAllowance : Admission::kReserved;
  LeftRemote& left = turn.left_remote;
  if (left.messages != 0 && (left.node != node || left.place != place || left.admission != admission)) {
    TellReleased(core, turn);
  }
  left.node = node;
  left.place = static_cast<uint8_t>(place);
  left.admission = admission;
  ++left.messages;
  left.bytes += static_cast<int64_t>(bytes);
}

void TellReleased(ActorCore& core, CurrentTurn& turn) {
  const LeftRemote left = std::exchange(turn.left_remote, {});
  Router* const router = core.system().router();
  if (left.messages == 0 || router == nullptr) return;
  const MailboxDeclaration& mailbox = core.layout()[left.place];
  router->Released({.node = left.node,
                    .receiver = core.self(),
                    .mailbox = mailbox.hash,
                    .admission = left.admission,
                    .amount = {.messages = left.messages, .bytes = mailbox.has_bytes() ? left.bytes : -1}});
}

void PutBack(ActorCore& core, Envelope* envelope, bool waits_for_change) {
  const size_t place = envelope->mailbox;
  Queue& queue = core.cell().queue(place);
  envelope->set(Envelope::kCreditReturned);
  if (envelope->stamp == 0) {  // handed directly to the idle actor, past the queue
    core.NoteTime(core.system().executor().CoarseNow());
    envelope->stamp = core.NextStamp();
  }
  AddAsOwner(queue.left, 0U - 1U);
  if (const uint64_t counted = envelope->counted_bytes(); counted != 0) {
    AddAsOwner(core.cell().byte_gate(place).limit, 0U - counted);
  }
  ThisTurn().unpublished |= uint64_t{1} << place;
  if (waits_for_change) {
    core.parts().postponed().Add(envelope);
  } else {
    envelope->next = envelope;
    core.mail().Return(queue, place, envelope);
  }
  DropOverflow(core, place);  // newer messages may have taken this one's room meanwhile
}

void ReturnPostponed(ActorCore& core) {
  core.parts().postponed().TakeAll(
      [&core](size_t place, Envelope* newest) { core.mail().Return(core.cell().queue(place), place, newest); });
}

void CancelCall(Pid asker, uint64_t ask) {
  CancelBatch*& batch = ThisTurn().cancels;
  if (batch == nullptr) batch = std::make_unique<CancelBatch>().release();
  batch->calls.emplace_back(asker, ask);
}

void CancelCalls(ActorCore& core) {
  const std::unique_ptr<CancelBatch> batch(std::exchange(ThisTurn().cancels, nullptr));
  std::sort(batch->calls.begin(), batch->calls.end());
  size_t left = batch->calls.size();
  for (size_t i = 0; i < core.layout().size() && left > 0; ++i) {
    if (core.layout()[i].is_call()) CancelWaiting(core, i, *batch, left);
  }
  if (!core.parts().empty()) CancelInHand(core, *batch);
  for (uint64_t places = batch->overflowing; places != 0; places &= places - 1) {
    DropOverflow(core, static_cast<size_t>(std::countr_zero(places)));
  }
}

void ExpireWaitingMessages(ActorCore& core) {
  for (size_t i = 0; i < core.layout().size(); ++i) {
    if (core.layout()[i].is_call()) {
      Expire(core, i, Step::kPass);
    } else if (core.layout()[i].has_time_to_live()) {
      Expire(core, i, Step::kEndRing);  // one time to live: those that came later expire later
    }
  }
}

void ExpireOldestMessages(ActorCore& core) {
  for (size_t i = 0; i < core.layout().size(); ++i) {
    if (core.layout()[i].has_time_to_live()) Expire(core, i, Step::kEndRing);
  }
}

void WatchExpiry(ActorCore& core) {
  const bool room_is_awaited = core.cell().has_blocked_senders();
  MonotonicTime first = MonotonicTime::InfiniteFuture();
  for (size_t i = 0; i < core.layout().size(); ++i) {
    const MailboxDeclaration& declaration = core.layout()[i];
    if (!declaration.has_time_to_live() || !(declaration.is_call() || room_is_awaited)) continue;
    for (Envelope* const* const newest : Rings(core, i)) {
      const Envelope* const oldest = (*newest)->next;
      first = std::min(first, oldest->call().accepted + declaration.options.time_to_live);
    }
  }
  if (!core.parts().empty() || !first.is_infinite()) core.parts().due().SetExpiry(first);
}

}  // namespace understudy::internal
