#include "understudy/actors/internal/turn/actor_forwarding.h"

#include <atomic>
#include <utility>

#include "absl/status/status.h"
#include "understudy/actors/check.h"
#include "understudy/actors/internal/asks/call_watch.h"
#include "understudy/actors/internal/turn/actor_core.h"
#include "understudy/actors/internal/turn/actor_disposal.h"
#include "understudy/actors/internal/turn/actor_queues.h"
#include "understudy/actors/internal/turn/current_turn.h"

namespace understudy::internal {

void Forward(ActorCore& core, int mailbox, Payload payload, uint64_t bytes, CallInHand call) {
  UNDERSTUDY_CHECK(core.current() != nullptr && core.current()->source() == Activation::Source::kMessage,
                   "Forward without a message in hand");
  UNDERSTUDY_CHECK(!core.current()->is_forwarded, "Forward twice: the message in hand has been forwarded already");
  UNDERSTUDY_CHECK(!core.current()->is_postponed, "Forward of a message that was postponed");
  UNDERSTUDY_CHECK(call.ask == core.current()->ask() && (call.ask == 0 || call.asker == core.current()->asker()),
                   core.current()->is_call()
                       ? "Forward of a call in hand goes with its own Replier, to a mailbox of calls"
                       : "Forward of a Replier: the message in hand is not its call");
  const auto place = static_cast<size_t>(mailbox);
  const MailboxDeclaration& target = core.layout()[place];
  Envelope* const envelope = payload.Release();
  envelope->kind = EnvelopeKind::kMessage;
  envelope->set(Envelope::kCreditReturned);
  envelope->life = core.life();
  envelope->set_sender(core.current()->envelope->sender());
  envelope->mailbox = static_cast<uint8_t>(place);
  envelope->call().ask = core.current()->ask();
  envelope->call().deadline = core.current()->deadline();
  envelope->call().accepted = core.system().clock().Now();
  envelope->call().bytes = bytes;
  if (envelope->has(Envelope::kIsTraced)) envelope->trace().accepted = envelope->call().accepted;
  // From here on the message in hand has the disposition forwarded, whatever its handler does afterwards.
  core.current()->is_forwarded = true;
  CountOutOfHand(core, *core.current());
  const auto from = static_cast<size_t>(core.current()->mailbox);
  PublishLimits(core, ThisTurn());
  if (core.current()->held() != nullptr && core.current()->held()->is_cancelled) {
    Count(core, from, DispositionOfCancelled(core, core.current()->deadline()));
    DestroyLater(envelope);
    return;
  }
  if (const absl::Status full = core.cell().AdmitEarly(place, target, envelope->call().bytes); !full.ok()) {
    if (target.overflow().fails_actor) {
      core.SetExit(ExitReason::Overflow(target.wire_name), ExitCause::kOwn);
    }
    Count(core, from, Disposition::kDeadLetter);
    TellOfLoss(core, envelope, Disposition::kDeadLetter, full);
    return;
  }
  Count(core, from, Disposition::kForwarded);
  if (CallWatch* watch = core.system().call_watch(); watch != nullptr && call.ask != 0)
    watch->WaitsAgain(call.asker, call.ask);
  PostOrDrop(core.cell(), core.system(), core.life(), envelope);  // behind what has arrived
}

void Postpone(ActorCore& core) {
  UNDERSTUDY_CHECK(core.current() != nullptr && core.current()->source() == Activation::Source::kMessage,
                   "Postpone without a message in hand");
  UNDERSTUDY_CHECK(!core.current()->is_forwarded, "Postpone of a message that has been forwarded");
  UNDERSTUDY_CHECK(!core.current()->is_moved, "Postpone in a handler that took its message, a ",
                   core.current()->envelope->type->name(), ", by value: it was moved from; take const M&");
  core.current()->is_postponed = true;
  if (core.current()->held() != nullptr) core.current()->held()->postponed_in = core.parts().behaviors().epoch();
}

}  // namespace understudy::internal
