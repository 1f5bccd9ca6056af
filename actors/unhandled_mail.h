// UnhandledMail: the tells that waited when an actor ended, in the mailboxes that
// it declared to keep them (OnRestart::kKeep), for the actor that takes its place.
//
//   Mailbox<"order", Order> order{this, {.on_restart = OnRestart::kKeep}};
//
//   void WorkerDown(Down down) {                        // a handler of the parent
//     worker_ = context().Spawn<Worker>(
//         SpawnOptions{.link = SpawnLink::kOneWay}.OnDown(&Boss::WorkerDown).WithUnhandledMail(
//             std::move(down.unhandled_mail)));
//   }
//
// (With the link that Spawn makes by itself, the worker's failure would end the Boss.)
//
// An actor that ends leaves its unhandled mail to its parent, in the Down of the parent's
// first monitor of it. If the parent does not monitor it, or is on another node, no mail
// is kept. Calls are never kept, because they are answered; nor is the message in hand.
//
// The new actor gets the messages before anything else that is sent to it, in the order in
// which they arrived at the old one. Each goes into the mailbox of the same name and type,
// whose capacity applies, and whose time to live counts from the message's first
// acceptance. In the ledger of the old actor these messages are forwarded. Messages that
// no actor takes become dead letters, at the latest when the UnhandledMail is destroyed.
//
// Move-only. Threads: any, one at a time. Lifetime: may outlive its system.
#ifndef UNDERSTUDY_ACTORS_UNHANDLED_MAIL_H_
#define UNDERSTUDY_ACTORS_UNHANDLED_MAIL_H_

#include <cstddef>
#include <utility>
#include <vector>

#include "absl/status/status.h"
#include "understudy/actors/internal/send/envelope.h"
#include "understudy/actors/internal/send/mailbox_layout.h"
#include "understudy/actors/ledger.h"
#include "understudy/actors/pid.h"

namespace understudy {

namespace internal {

// The mail of one actor that has ended.
struct MailOfActor {
  Pid from;  // the actor that has ended
  const MailboxLayout* layout = nullptr;
  absl::Status why;                 // the reason in the dead letters of messages that no actor takes
  std::vector<Envelope*> messages;  // oldest first; null for a message that was taken

  const MailboxDeclaration& MailboxOf(const Envelope& message) const { return (*layout)[message.mailbox]; }
  // Records the disposition of one of the messages in the ledger of `from`.
  void Settle(const Envelope& message, Disposition disposition) const;
  // Makes one of the messages a dead letter, and destroys it.
  void Lose(Envelope* message, const absl::Status& because) const;
};

}  // namespace internal

class UnhandledMail {
 public:
  UnhandledMail() = default;
  UnhandledMail(UnhandledMail&& other) noexcept = default;
  UnhandledMail& operator=(UnhandledMail&& other) noexcept {
    std::swap(mails_, other.mails_);
    return *this;
  }
  ~UnhandledMail() {
    if (!mails_.empty()) LoseRest();
  }

  bool empty() const { return size() == 0; }
  // The number of messages.
  size_t size() const;
  // Moves the messages of `newer` to the end of this object's.
  void Append(UnhandledMail newer);

  // For ActorCore.
  explicit UnhandledMail(internal::MailOfActor mail) { mails_.push_back(std::move(mail)); }
  std::vector<internal::MailOfActor>& mails() { return mails_; }

 private:
  // Makes the messages that were not taken dead letters.
  void LoseRest();

  std::vector<internal::MailOfActor> mails_;  // of successive lives, oldest first
};

}  // namespace understudy

#endif  // UNDERSTUDY_ACTORS_UNHANDLED_MAIL_H_
