#include "understudy/actors/internal/turn/actor_unhandled_mail.h"

#include <algorithm>
#include <utility>
#include <vector>

#include "absl/status/status.h"
#include "absl/strings/str_cat.h"
#include "understudy/actors/error.h"
#include "understudy/actors/internal/turn/actor_core.h"
#include "understudy/actors/internal/turn/actor_disposal.h"
#include "understudy/actors/internal/turn/actor_queues.h"
#include "understudy/actors/internal/turn/current_turn.h"
#include "understudy/actors/internal/turn/exceptions.h"
#include "understudy/actors/internal/turn/in_user_code.h"

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

// Takes one message of the predecessor. Returns false if measuring or moving it, which is user code, ended the actor.
bool TakeMail(ActorCore& core, const MailOfActor& mail, Envelope* envelope) {
  const int found = core.layout().Find(mail.MailboxOf(*envelope).hash);
  const auto place = static_cast<size_t>(found);
  if (found < 0 || !core.layout()[place].Takes(*envelope->type, /*ask=*/0)) {
    mail.Lose(envelope, MakeError(ErrorKind::kNoMailbox,
                                  absl::StrCat("its successor ", core.self().ToString(), " has no mailbox for it")));
    return true;
  }
  const MailboxDeclaration& declaration = core.layout()[place];
  uint64_t bytes = 0;
  if (declaration.has_bytes() || declaration.has_time_to_live()) {
    const std::exception_ptr thrown = CaughtInUserCode([&] {
      if (declaration.has_bytes()) bytes = envelope->type->bytes(envelope->value());
      envelope = WithCallPart(envelope);
    });
    if (thrown != nullptr && !core.stage().is_fenced()) core.SetExit(DescribeException(thrown), ExitCause::kOwn);
    if (thrown != nullptr || core.stage().is_fenced()) {
      mail.Lose(envelope, mail.why);
      return false;
    }
    // When it was accepted is known where its mailbox had a time to live too.
    if (!mail.MailboxOf(*envelope).has_time_to_live()) envelope->call().accepted = core.system().clock().Now();
  }
  if (!core.cell().AdmitEarly(place, declaration, bytes).ok()) {
    mail.Lose(envelope,
              MakeError(ErrorKind::kFull, absl::StrCat("mailbox ", declaration.wire_name, " of its successor ",
                                                       core.self().ToString(), " is full")));
    return true;
  }
  mail.Settle(*envelope, Disposition::kForwarded);
  if (envelope->has(Envelope::kHasCallPart)) envelope->call().bytes = bytes;
  envelope->set(Envelope::kCreditReturned);
  envelope->life = core.life();
  envelope->mailbox = static_cast<uint8_t>(place);
  Enqueue(core, ThisTurn(), envelope);
  return true;
}

}  // namespace

uint64_t HeirsMonitor(ActorCore& core) {
  if (core.parts().empty() || core.parts().parent().is_null() ||
      !SystemCore::OfLife(core.life())->IsLocal(core.parts().parent()))
    return 0;
  if (core.parts().parent_tie().tells_down()) return core.parts().spawn().parents_id();
  const auto& watchers = core.parts().known_links()->watchers();
  const auto first = watchers.lower_bound({core.parts().parent(), 0});
  return first != watchers.end() && first->first == core.parts().parent() ? first->second : 0;
}

bool KeepEarly(ActorCore& core, Envelope* envelope) {
  if (core.cell().layout() == nullptr) return false;
  const int found = core.layout().Find(envelope->mailbox_hash());
  const auto place = static_cast<size_t>(found);
  if (found < 0 || !core.layout()[place].Takes(*envelope->type, envelope->ask())) return false;
  envelope->mailbox = static_cast<uint8_t>(place);
  const uint64_t bytes = core.layout()[place].has_bytes() ? envelope->call().bytes : 0;
  // LeaveEarly has released the sender's allowance for it, so the message is counted like any other from now on.
  if (!IsKept(core.layout(), *envelope) || !core.cell().AdmitEarly(place, core.layout()[place], bytes).ok())
    return false;
  envelope->clear(Envelope::kIsEarly | Envelope::kIsBeside);
  envelope->set(Envelope::kCreditReturned);
  envelope->call().bytes = bytes;
  Leave(core, envelope);
  return true;
}

UnhandledMail LeaveUnhandledMail(ActorCore& core, std::vector<Envelope*> kept, const ExitReason& reason) {
  UnhandledMail unhandled_mail;
  if (!core.parts().empty()) unhandled_mail = core.parts().spawn().TakeMail();
  if (kept.empty()) return unhandled_mail;
  for (const Envelope* message : kept) {
    core.system().ledgers().OfEnded(core.layout(), message->mailbox).in_hand.fetch_add(1, std::memory_order_relaxed);
  }
  MailOfActor own{.from = core.self(),
                  .layout = &core.layout(),
                  .why = CalleeExitedError(core.self().ToString(), reason),
                  .messages = std::move(kept)};
  unhandled_mail.Append(UnhandledMail(std::move(own)));
  return unhandled_mail;
}

void TakeUnhandledMail(ActorCore& core) {
  if (core.parts().empty()) return;
  UnhandledMail unhandled_mail = core.parts().spawn().TakeMail();
  for (MailOfActor& mail : unhandled_mail.mails()) {
    for (Envelope*& message : mail.messages) {
      if (TakeMail(core, mail, std::exchange(message, nullptr))) continue;
      if (!core.stage().is_fenced()) core.parts().spawn().ReturnMail(std::move(unhandled_mail));
      return;
    }
  }
}

}  // namespace understudy::internal
