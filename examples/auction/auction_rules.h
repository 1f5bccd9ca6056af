// The rules of an auction, as one pure function.
//
// The verdict depends only on the offer's own time and on the highest accepted offer
// so far, not on the time of arrival or on the lot's behaviour.
//
//   late           the offer's time is the closing time or later
//   below reserve  no offer was accepted yet, and the offer is below the reserve price
//   too low        the offer is below the highest accepted offer plus the minimum
//                  increment (so of two equal offers the earlier one wins)
//   accepted       every other offer; it is the highest accepted offer from then on
//
// Any thread.
#ifndef UNDERSTUDY_EXAMPLES_AUCTION_AUCTION_RULES_H_
#define UNDERSTUDY_EXAMPLES_AUCTION_AUCTION_RULES_H_

#include <cstdint>

#include "understudy/examples/auction/auction.pb.h"

namespace auction {

// The terms of a lot, which never change.
struct LotTerms {
  int64_t reserve_cents = 0;
  int64_t increment_cents = 0;
  int64_t closes_ms = 0;
};

// `best_cents` is the highest accepted offer, or 0 if there is none.
inline Verdict Judge(const LotTerms& terms, int64_t best_cents, const Offer& offer) {
  if (offer.time_ms() >= terms.closes_ms) return LATE;
  if (best_cents == 0) return offer.cents() >= terms.reserve_cents ? ACCEPTED : BELOW_RESERVE;
  return offer.cents() >= best_cents + terms.increment_cents ? ACCEPTED : TOO_LOW;
}

}  // namespace auction

#endif  // UNDERSTUDY_EXAMPLES_AUCTION_AUCTION_RULES_H_
