// Counts, for each mailbox of an actor, the dispositions other than handled, and the messages in hand.
#include <cstddef>
#include <utility>

#include "understudy/actors/internal/system/ledger_book.h"
#include "understudy/actors/internal/turn/actor_core.h"

namespace understudy::internal {

LedgerBook::Counts& ActorCore::LedgerOf(size_t place) {
  Rare& rare = this->rare();
  if (rare.ledger == nullptr) rare.ledger = system().ledgers().OpenPage(self(), layout().size());
  return (*rare.ledger)[place];
}

void ActorCore::Count(size_t place, Disposition disposition) {
  AddAsOwner(LedgerOf(place).of(disposition), int64_t{1});
}

void ActorCore::CountInHand(Activation& activation) {
  activation.is_in_hand = true;
  AddAsOwner(LedgerOf(static_cast<size_t>(activation.mailbox)).in_hand, int64_t{1});
}

void ActorCore::CountOutOfHand(Activation& activation) {
  if (!activation.is_in_hand) return;
  activation.is_in_hand = false;
  AddAsOwner(LedgerOf(static_cast<size_t>(activation.mailbox)).in_hand, int64_t{-1});
}

}  // namespace understudy::internal
