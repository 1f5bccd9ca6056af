// UnhandledMail: the tells that waited at an actor when it ended, in the mailboxes that
// were declared to keep them (OnRestart::kKeep), for the actor that takes its
// place.
//
//   Mailbox<"order", Order> order{this, {.on_restart = OnRestart::kKeep}};
//
//   void WorkerDown(Down down) {                        // of the parent
//     worker_ = context().Spawn<Worker>(
//         SpawnOptions().OnDown(&Boss::WorkerDown).WithUnhandledMail(std::move(down.unhandled mail)));
//   }
//
// An actor that ends leaves it to its parent, in the Down of the parent's first
// monitor of it; where there is none, or on another node, nothing is kept. Calls
// are not kept, they are answered; nor is the message in hand.
//
// The new actor has its messages before anything else that is sent to it, in the
// order of their arrival at the old one: each in its mailbox of the same name and
// type, by that mailbox's bounds and from its first acceptance by its time to live. In the
// ledger of the old one they are forwarded. What nobody takes is a dead letter,
// at the latest when the unhandled mail is destroyed.
//
// Move-only. Threads: any, one at a time. It may outlive its system, harmlessly.
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

// What one actor left.
struct MailOfActor {
  Pid from;
  const MailboxLayout* layout = nullptr;
  absl::Status why;                 // it is not handled there: its actor has ended
  std::vector<Envelope*> messages;  // oldest first; null when it has been taken

  const MailboxDeclaration& MailboxOf(const Envelope& message) const { return (*layout)[message.mailbox]; }
  // A message of it has its disposition.
  void Settle(const Envelope& message, Disposition disposition) const;
  // It is a dead letter, and destroyed.
  void Lose(Envelope* message, const absl::Status& because) const;
};

}  // namespace internal

class UnhandledMail {
 public:
  UnhandledMail() = default;
  UnhandledMail(UnhandledMail&& other) noexcept : mails_(std::exchange(other.mails_, {})) {}
  UnhandledMail& operator=(UnhandledMail&& other) noexcept {
    std::swap(mails_, other.mails_);
    return *this;
  }
  ~UnhandledMail();

  bool empty() const { return size() == 0; }
  // Messages.
  size_t size() const;
  // Takes those of `newer`, behind its own.
  void Append(UnhandledMail newer);

  // For ActorCore.
  explicit UnhandledMail(internal::MailOfActor mail) { mails_.push_back(std::move(mail)); }
  std::vector<internal::MailOfActor>& mails() { return mails_; }

 private:
  std::vector<internal::MailOfActor> mails_;  // oldest first
};

}  // namespace understudy

#endif  // UNDERSTUDY_ACTORS_UNHANDLED_MAIL_H_
