// Unhandled mail: the tells that an actor leaves to its successor, and those that its predecessor left to it.
#include <algorithm>
#include <utility>
#include <vector>

#include "absl/status/status.h"
#include "absl/strings/str_cat.h"
#include "understudy/actors/error.h"
#include "understudy/actors/internal/turn/actor_core.h"
#include "understudy/actors/internal/turn/actor_disposal.h"
#include "understudy/actors/internal/turn/actor_queues.h"
#include "understudy/actors/unhandled_mail.h"

namespace understudy::internal {
namespace {

// Returns `envelope`, or, if that has no call part, a new one with a call part into which its value was moved. The move
// is user code and may throw; then the value stays where it was.
Envelope* WithCallPart(Envelope* envelope) {
  if (envelope->has(Envelope::kHasCallPart)) return envelope;
  Envelope* made = Envelope::Make(EnvelopeKind::kMessage, *envelope->type, /*has_call_part=*/true);
  MoveBrittleValue(made, *envelope->type, envelope->value());
  made->set_sender(envelope->sender());
  made->mailbox = envelope->mailbox;
  Envelope::Delete(envelope);
  return made;
}

}  // namespace

// The id of the parent's first monitor of this actor, whose Down carries the unhandled mail. 0 if there is none, or the
// parent is on another node: then no mail is kept.
uint64_t ActorCore::HeirsMonitor() const {
  if (rare_ == nullptr || parent().is_null() || !SystemCore::OfLife(life())->IsLocal(parent())) return 0;
  if (parent_.tells_down()) return rare_->spawn.parents_id();
  const auto& watchers = rare_->links.watchers();
  const auto first = watchers.lower_bound({parent(), 0});
  return first != watchers.end() && first->first == parent() ? first->second : 0;
}

// Counts an early message, which was not sorted when the life ended, in its mailbox. Returns false if that mailbox does
// not exist, does not keep its mail, or has no room.
bool ActorCore::KeepEarly(Envelope* envelope) {
  if (cell().layout() == nullptr) return false;
  const int found = layout().Find(static_cast<uint32_t>(envelope->stamp));
  const auto place = static_cast<size_t>(found);
  if (found < 0 || !layout()[place].Takes(*envelope->type, envelope->ask())) return false;
  envelope->mailbox = static_cast<uint8_t>(place);
  const uint64_t bytes = layout()[place].has_bytes() ? envelope->call().bytes : 0;
  // LeaveEarly has released the sender's allowance for it, so the message is counted like any other from now on.
  if (!IsKept(layout(), *envelope) || !cell().AdmitEarly(place, layout()[place], bytes).ok()) return false;
  envelope->clear(Envelope::kIsEarly | Envelope::kIsBeside);
  envelope->set(Envelope::kWasInHand);
  envelope->call().bytes = bytes;
  Leave(envelope);
  return true;
}

// Mail of the predecessor that this actor has not taken comes before its own.
UnhandledMail ActorCore::LeaveUnhandledMail(std::vector<Envelope*> kept, const ExitReason& reason) {
  UnhandledMail unhandled_mail;
  if (rare_ != nullptr) unhandled_mail = rare_->spawn.TakeMail();
  if (kept.empty()) return unhandled_mail;
  for (const Envelope* message : kept) {
    system().ledgers().OfEnded(layout(), message->mailbox).in_hand.fetch_add(1, std::memory_order_relaxed);
  }
  MailOfActor own{.from = self(),
                  .layout = &layout(),
                  .why = CalleeExitedError(self().ToString(), reason),
                  .messages = std::move(kept)};
  unhandled_mail.Append(UnhandledMail(std::move(own)));
  return unhandled_mail;
}

// Puts the predecessor's mail into the mailboxes. Called before the gates open, so it precedes all messages that are
// sent to this life.
void ActorCore::TakeUnhandledMail() {
  if (rare_ == nullptr) return;
  UnhandledMail unhandled_mail = rare_->spawn.TakeMail();
  for (MailOfActor& mail : unhandled_mail.mails()) {
    for (Envelope*& message : mail.messages) {
      if (TakeMail(mail, std::exchange(message, nullptr))) continue;
      if (!is_fenced()) rare_->spawn.ReturnMail(std::move(unhandled_mail));
      return;
    }
  }
}

// Takes one message of the predecessor. Returns false if measuring or moving it, which is user code, ended the actor.
bool ActorCore::TakeMail(const MailOfActor& mail, Envelope* envelope) {
  const int found = layout().Find(mail.MailboxOf(*envelope).hash);
  const auto place = static_cast<size_t>(found);
  if (found < 0 || !layout()[place].Takes(*envelope->type, /*ask=*/0)) {
    mail.Lose(envelope, MakeError(ErrorKind::kNoMailbox,
                                  absl::StrCat("its successor ", self().ToString(), " has no mailbox for it")));
    return true;
  }
  const MailboxDeclaration& declaration = layout()[place];
  uint64_t bytes = 0;
  if (declaration.has_bytes() || declaration.has_time_to_live()) {
    const std::exception_ptr thrown = CaughtInUserCode([&] {
      if (declaration.has_bytes()) bytes = envelope->type->bytes(envelope->value());
      envelope = WithCallPart(envelope);
    });
    if (thrown != nullptr && !is_fenced()) SetExit(DescribeException(thrown), ExitCause::kOwn);
    if (thrown != nullptr || is_fenced()) {
      mail.Lose(envelope, mail.why);
      return false;
    }
    // When it was accepted is known where its mailbox had a time to live too.
    if (!mail.MailboxOf(*envelope).has_time_to_live()) envelope->call().accepted = system().clock().Now();
  }
  if (!cell().AdmitEarly(place, declaration, bytes).ok()) {
    mail.Lose(envelope, MakeError(ErrorKind::kFull, absl::StrCat("mailbox ", declaration.wire_name,
                                                                 " of its successor ", self().ToString(), " is full")));
    return true;
  }
  mail.Settle(*envelope, Disposition::kForwarded);
  if (envelope->has(Envelope::kHasCallPart)) envelope->call().bytes = bytes;
  envelope->set(Envelope::kWasInHand);  // its remote sender has had its credit back
  envelope->life = life();
  envelope->mailbox = static_cast<uint8_t>(place);
  Enqueue(ThisTurn(), envelope);
  return true;
}

}  // namespace understudy::internal
