// The rules of an auction, as one pure function.
//
// An offer is judged by its own time and by the highest accepted offer so far,
// and by nothing else: not by when it arrives, and not by the lot's behaviour.
//
//   late           its time is the closing time or after
//   below reserve  nothing was accepted yet, and it is under the reserve price
//   too low        under the highest accepted offer plus the minimum increment
//                  (so of two equal offers the earlier one stands)
//   accepted       every other; it is now the highest
//
// Any thread.
#ifndef UNDERSTUDY_EXAMPLES_AUCTION_AUCTION_RULES_H_
#define UNDERSTUDY_EXAMPLES_AUCTION_AUCTION_RULES_H_

#include <cstdint>

#include "understudy/examples/auction/auction.pb.h"

namespace auction {

// What is fixed for a lot.
struct LotTerms {
  int64_t reserve_cents = 0;
  int64_t increment_cents = 0;
  int64_t closes_ms = 0;
};

// `best_cents` is the highest accepted offer, 0 when there is none.
inline Verdict Judge(const LotTerms& terms, int64_t best_cents, const Offer& offer) {
  if (offer.time_ms() >= terms.closes_ms) return LATE;
  if (best_cents == 0) return offer.cents() >= terms.reserve_cents ? ACCEPTED : BELOW_RESERVE;
  return offer.cents() >= best_cents + terms.increment_cents ? ACCEPTED : TOO_LOW;
}

}  // namespace auction

#endif  // UNDERSTUDY_EXAMPLES_AUCTION_AUCTION_RULES_H_
