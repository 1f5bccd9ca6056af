#include "understudy/actors/unhandled_mail.h"

#include <algorithm>
#include <atomic>
#include <cstddef>
#include <iterator>
#include <string>
#include <utility>

#include "absl/status/status.h"
#include "understudy/actors/internal/memory/destruction_queue.h"
#include "understudy/actors/internal/system/ledger_book.h"
#include "understudy/actors/internal/system/system_core.h"
#include "understudy/actors/message.h"

namespace understudy {

namespace internal {

void MailOfActor::Settle(const Envelope& message, Disposition disposition) const {
  SystemCore* const system = SystemCore::OfLife(from.life());
  if (system == nullptr) return;  // the actor's system has ended
  LedgerBook::Counts& counts = system->ledgers().OfEnded(*layout, message.mailbox);
  counts.in_hand.fetch_sub(1, std::memory_order_relaxed);
  counts.of(disposition).fetch_add(1, std::memory_order_relaxed);
}

void MailOfActor::Lose(Envelope* message, const absl::Status& because) const {
  Settle(*message, Disposition::kDeadLetter);
  if (SystemCore* const system = SystemCore::OfLife(from.life()); system != nullptr) {
    system->OnDeadLetter({.why = because,
                          .from = message->sender(),
                          .to = from,
                          .mailbox = std::string(MailboxOf(*message).wire_name),
                          .type = message->type == &TypeOf<WireBytes>() ? "" : message->type->name()});
  }
  DestroyLater(message);
}

}  // namespace internal

void UnhandledMail::LoseRest() {
  for (const internal::MailOfActor& mail : mails_) {
    for (internal::Envelope* message : mail.messages) {
      if (message != nullptr) mail.Lose(message, mail.why);
    }
  }
}

size_t UnhandledMail::size() const {
  size_t size = 0;
  for (const internal::MailOfActor& mail : mails_) {
    size += mail.messages.size() - static_cast<size_t>(std::count(mail.messages.begin(), mail.messages.end(), nullptr));
  }
  return size;
}

void UnhandledMail::Append(UnhandledMail newer) {
  mails_.insert(mails_.end(), std::make_move_iterator(newer.mails_.begin()),
                std::make_move_iterator(newer.mails_.end()));
  newer.mails_.clear();
}

}  // namespace understudy
