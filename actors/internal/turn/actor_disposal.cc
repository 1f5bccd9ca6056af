#include "understudy/actors/internal/turn/actor_disposal.h"

#include <cstdint>
#include <string>
#include <utility>

#include "absl/status/status.h"
#include "absl/strings/str_cat.h"
#include "absl/time/time.h"
#include "understudy/actors/error.h"
#include "understudy/actors/internal/memory/destruction_queue.h"
#include "understudy/actors/internal/turn/actor_core.h"
#include "understudy/actors/internal/turn/current_turn.h"
#include "understudy/actors/router.h"

namespace understudy::internal {
namespace {

// The counts of every disposition except handled.
LedgerBook::Page& Ledger(ActorCore& core) {
  LedgerBook::Page*& page = core.parts().ledger();
  if (page == nullptr) page = core.system().ledgers().OpenPage(core.self(), core.layout().size());
  return *page;
}

}  // namespace

void Count(ActorCore& core, size_t place, Disposition disposition) {
  AddAsOwner(Ledger(core)[place].of(disposition), int64_t{1});
}

void CountInHand(ActorCore& core, Activation& activation) {
  activation.is_in_hand = true;
  AddAsOwner(Ledger(core)[static_cast<size_t>(activation.mailbox)].in_hand, int64_t{1});
}

void CountOutOfHand(ActorCore& core, Activation& activation) {
  if (!activation.is_in_hand) return;
  activation.is_in_hand = false;
  AddAsOwner(Ledger(core)[static_cast<size_t>(activation.mailbox)].in_hand, int64_t{-1});
}

bool HasExpired(ActorCore& core, const Envelope& envelope, absl::Status& why) {
  const MonotonicTime now = core.system().clock().Now();
  if (envelope.call().deadline <= now) {
    why = MakeError(ErrorKind::kExpired, "the call's deadline passed while it waited in its mailbox");
    return true;
  }
  const MailboxDeclaration& declaration = core.layout()[envelope.mailbox];
  const absl::Duration ttl = declaration.options.time_to_live;
  if (ttl == absl::InfiniteDuration() || now - envelope.call().accepted < ttl) return false;
  why = MakeError(ErrorKind::kExpired, absl::StrCat("the message waited in mailbox ", declaration.wire_name,
                                                    " longer than its time to live of ", absl::FormatDuration(ttl)));
  return true;
}

Disposition DispositionOfCancelled(ActorCore& core, MonotonicTime deadline) {
  return deadline <= core.system().clock().Now() ? Disposition::kExpired : Disposition::kCancelled;
}

void LeaveEarly(ActorCore& core, const Envelope& envelope) {
  Router* const router = core.system().router();
  if (!envelope.has(Envelope::kIsBeside) || router == nullptr) return;
  router->Released({.node = envelope.sender().place(),
                    .receiver = Pid::OfLife(envelope.life, core.self().cell()),
                    .mailbox = envelope.mailbox_hash(),
                    .admission = Admission::kAllowance,
                    .amount = {.messages = 1, .bytes = static_cast<int64_t>(envelope.call().bytes)}});
}

void Dispose(ActorCore& core, Envelope* envelope, Disposition disposition, const absl::Status& why) {
  if (envelope->has(Envelope::kIsEarly) || envelope->life != core.self().life()) {
    core.system().ledgers().CountUnsorted();
  } else {
    Count(core, envelope->mailbox, disposition);
  }
  TellOfLoss(core, envelope, disposition, why);
}

namespace {

// The wire name of the mailbox that a message is for. Empty if only the mailboxes of another life could tell.
absl::string_view MailboxNameOf(ActorCore& core, const Envelope& envelope) {
  const bool is_sorted = !envelope.has(Envelope::kIsEarly) && envelope.life == core.self().life();
  if (is_sorted) return core.layout()[envelope.mailbox].wire_name;
  const bool has_hash = envelope.has(Envelope::kIsEarly) || envelope.has(Envelope::kIsBeside);
  return has_hash ? MailboxNames::Find(envelope.mailbox_hash()) : absl::string_view();
}

}  // namespace

void TellOfLoss(ActorCore& core, Envelope* envelope, Disposition disposition, const absl::Status& why) {
  SystemCore& system = core.system();
  const Pid self = core.self();
  if (envelope->ask() != 0) system.Reply(self, envelope->sender(), envelope->ask(), why);
  if (disposition == Disposition::kDeadLetter) {
    system.OnDeadLetter({.why = why,
                         .from = envelope->sender(),
                         .to = Pid::OfLife(envelope->life, self.cell()),
                         .mailbox = std::string(MailboxNameOf(core, *envelope)),
                         .type = envelope->type == &TypeOf<WireBytes>() ? "" : envelope->type->name()});
  }
  DestroyLater(envelope);
}

void DisposeOfStale(ActorCore& core, Envelope* envelope) {
  if (envelope->kind == EnvelopeKind::kSignal) {
    core.system().AnswerForDead(*static_cast<Signal*>(envelope->value()));
  } else if (envelope->kind == EnvelopeKind::kReply) {
    core.system().counts().late_replies.Add();
  } else if (envelope->kind == EnvelopeKind::kMessage) {
    LeaveEarly(core, *envelope);
    ThisTurn().cell->ForgetStale(envelope);
    Dispose(core, envelope, Disposition::kDeadLetter, EndedError());
    return;
  }
  DestroyLater(envelope);
}

}  // namespace understudy::internal
