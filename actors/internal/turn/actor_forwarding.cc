// Classifiers: a message in hand that its handler forwards to another mailbox
// of its own actor.
#include <atomic>
#include <utility>

#include "absl/status/status.h"
#include "understudy/actors/check.h"
#include "understudy/actors/internal/asks/call_watch.h"
#include "understudy/actors/internal/turn/actor_core.h"
#include "understudy/actors/internal/turn/actor_disposal.h"
#include "understudy/actors/internal/turn/actor_queues.h"

namespace understudy::internal {

void ActorCore::Forward(int mailbox, Payload payload, uint64_t bytes, CallInHand call) {
  UNDERSTUDY_CHECK(current() != nullptr && current()->source() == Activation::Source::kMessage,
                   "Forward without a message in hand");
  UNDERSTUDY_CHECK(!current()->is_forwarded, "Forward twice: the message in hand has been forwarded already");
  UNDERSTUDY_CHECK(!current()->is_postponed, "Forward of a message that was postponed");
  UNDERSTUDY_CHECK(call.ask == current()->ask() && (call.ask == 0 || call.asker == current()->asker()),
                   current()->is_call() ? "Forward of a call in hand goes with its own Replier, to a mailbox of calls"
                                        : "Forward of a Replier: the message in hand is not its call");
  const auto place = static_cast<size_t>(mailbox);
  const MailboxDeclaration& target = layout()[place];
  Envelope* const envelope = payload.Release();
  envelope->kind = EnvelopeKind::kMessage;
  envelope->set(Envelope::kWasInHand);  // its remote sender has had its credit back
  envelope->life = life();
  envelope->set_sender(current()->envelope->sender());
  envelope->mailbox = static_cast<uint8_t>(place);
  envelope->call().ask = current()->ask();
  envelope->call().deadline = current()->deadline();
  envelope->call().accepted = system().clock().Now();
  envelope->call().bytes = bytes;
  // From here on the message in hand has the disposition forwarded, whatever its handler does afterwards.
  current()->is_forwarded = true;
  CountOutOfHand(*this, *current());
  const auto from = static_cast<size_t>(current()->mailbox);
  PublishLimits(ThisTurn());
  if (current()->held() != nullptr && current()->held()->is_cancelled) {
    Count(*this, from, DispositionOfCancelled(*this, current()->deadline()));
    DestroyLater(envelope);
    return;
  }
  if (const absl::Status full = cell().AdmitEarly(place, target, envelope->call().bytes); !full.ok()) {
    if (target.options.overflow == Overflow::kFailActor) {
      SetExit(ExitReason::Overflow(target.wire_name), ExitCause::kOwn);
    }
    Count(*this, from, Disposition::kDeadLetter);
    TellOfLoss(*this, envelope, Disposition::kDeadLetter, full);
    return;
  }
  Count(*this, from, Disposition::kForwarded);
  if (CallWatch* watch = system().call_watch(); watch != nullptr && call.ask != 0)
    watch->WaitsAgain(call.asker, call.ask);
  if (call.ask != 0) rare().passes_calls_on = true;
  PostOrDrop(cell(), system(), life(), envelope);  // behind what has arrived
}

}  // namespace understudy::internal
