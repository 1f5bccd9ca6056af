// Classifiers: a message in hand that its handler passes on to another mailbox
// of its own actor.
#include <utility>

#include "absl/status/status.h"
#include "understudy/actors/check.h"
#include "understudy/actors/internal/actor_core.h"

namespace understudy::internal {

void ActorCore::PassOn(int mailbox, Payload payload, CallInHand call) {
  UNDERSTUDY_CHECK(current_ != nullptr && current_->source() == Activation::Source::kMessage,
                   "PassOn without a message in hand");
  UNDERSTUDY_CHECK(!current_->is_passed_on, "PassOn twice: the message in hand has been passed on already");
  UNDERSTUDY_CHECK(!current_->is_postponed, "PassOn of a message that was postponed");
  UNDERSTUDY_CHECK(call.ask == current_->message.ask && (call.ask == 0 || call.asker == current_->message.from),
                   current_->is_call() ? "PassOn of a call in hand goes with its own Replier, to a mailbox of calls"
                                       : "PassOn of a Replier: the message in hand is not its call");
  Message message{.from = current_->message.from,
                  .to = self_,
                  .mailbox = mailboxes_[static_cast<size_t>(mailbox)].declaration.hash,
                  .ask = current_->message.ask,
                  .deadline = current_->message.deadline,
                  .accepted = system_.clock().Now(),
                  .payload = std::move(payload)};
  // The message in hand has its fate now, whatever its handler still does.
  current_->is_passed_on = true;
  waiting_.fetch_sub(1, std::memory_order_relaxed);
  const size_t bytes = message.payload.bytes();
  if (const absl::Status room = cell_->AdmitEarly(mailbox, bytes); !room.ok()) {
    Dispose(message, mailbox, Fate::kDeadLetter, room);
    return;
  }
  system_.Count(Fate::kPassedOn);
  system_.CountAccepted();
  Waiting waiting;
  waiting.bytes = bytes;
  waiting.message = std::move(message);
  waiting.stamp = ++last_stamp_;
  waiting.was_in_hand = true;  // its remote sender has had its credit back
  waiting_.fetch_add(1, std::memory_order_relaxed);
  mailboxes_[static_cast<size_t>(mailbox)].queue.push_back(std::move(waiting));
  DropOverflow(mailbox);
}

}  // namespace understudy::internal
