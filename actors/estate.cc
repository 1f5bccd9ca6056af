#include "understudy/actors/estate.h"

#include <algorithm>
#include <atomic>
#include <cstddef>
#include <iterator>
#include <string>
#include <utility>

#include "absl/status/status.h"
#include "understudy/actors/internal/ledger_book.h"
#include "understudy/actors/internal/remains.h"
#include "understudy/actors/internal/system_core.h"
#include "understudy/actors/message.h"

namespace understudy {

namespace internal {

void Legacy::Settle(const Envelope& message, Fate fate) const {
  SystemCore* const system = SystemCore::OfLife(from.life());
  if (system == nullptr) return;  // it has ended
  LedgerBook::Counts& counts = system->ledgers().OfEnded(*layout, message.mailbox);
  counts.in_hand.fetch_sub(1, std::memory_order_relaxed);
  counts.of(fate).fetch_add(1, std::memory_order_relaxed);
}

void Legacy::Lose(Envelope* message, const absl::Status& because) const {
  Settle(*message, Fate::kDeadLetter);
  if (SystemCore* const system = SystemCore::OfLife(from.life()); system != nullptr) {
    system->OnDeadLetter({.why = because,
                          .from = message->sender(),
                          .to = from,
                          .mailbox = std::string(MailboxOf(*message).wire_name),
                          .type = message->type == &TypeOf<WireBytes>() ? "" : message->type->name()});
  }
  LetGo(message);
}

}  // namespace internal

Estate::~Estate() {
  for (const internal::Legacy& legacy : legacies_) {
    for (internal::Envelope* message : legacy.messages) {
      if (message != nullptr) legacy.Lose(message, legacy.why);
    }
  }
}

size_t Estate::size() const {
  size_t size = 0;
  for (const internal::Legacy& legacy : legacies_) {
    size += legacy.messages.size() -
            static_cast<size_t>(std::count(legacy.messages.begin(), legacy.messages.end(), nullptr));
  }
  return size;
}

void Estate::Append(Estate newer) {
  legacies_.insert(legacies_.end(), std::make_move_iterator(newer.legacies_.begin()),
                   std::make_move_iterator(newer.legacies_.end()));
  newer.legacies_.clear();
}

}  // namespace understudy
