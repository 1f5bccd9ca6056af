#include "understudy/examples/auction/run_plan.h"

#include <algorithm>
#include <cstddef>
#include <map>
#include <string>
#include <utility>
#include <vector>

#include "absl/status/status.h"
#include "absl/status/statusor.h"
#include "absl/strings/str_cat.h"
#include "absl/time/time.h"
#include "understudy/actors/random.h"

namespace auction {
namespace {

// A bijection of 64 bits (the finaliser of SplitMix64), so that all ids differ.
uint64_t Mix(uint64_t z) {
  z = (z ^ (z >> 30)) * 0xbf58476d1ce4e5b9U;
  z = (z ^ (z >> 27)) * 0x94d049bb133111ebU;
  return z ^ (z >> 31);
}

}  // namespace

std::string HouseName(int number) { return absl::StrCat("house-", number); }

int HouseOfLot(size_t index) { return static_cast<int>(index % kHouses) + 1; }

absl::StatusOr<Kills> ParseKills(absl::string_view text) {
  if (text == "all") return Kills{.house = true, .lot = true};
  if (text == "house") return Kills{.house = true, .lot = false};
  if (text == "lot") return Kills{.house = false, .lot = true};
  if (text == "none") return Kills{.house = false, .lot = false};
  return absl::InvalidArgumentError(absl::StrCat("--kills=", text, " is none of all, house, lot, none"));
}

absl::StatusOr<RunPlan> MakeRunPlan(const std::vector<Lot>& lots, const std::vector<Bid>& bids, uint64_t seed,
                                    const Kills& kills) {
  understudy::Random random(seed);
  RunPlan plan;
  const uint64_t first_id = random.Next();
  for (const Bid& bid : bids) {
    Offer& offer = plan.offers.emplace_back();
    offer.set_offer_id(Mix(first_id + plan.offers.size()));
    offer.set_lot(bid.lot);
    offer.set_bidder(bid.bidder);
    offer.set_cents(bid.cents);
    offer.set_time_ms(absl::ToUnixMillis(bid.time));
  }
  std::map<std::string, int64_t> offers_of;
  for (const Bid& bid : bids) ++offers_of[bid.lot];
  std::vector<size_t> busy;  // lots with offers
  for (size_t i = 0; i < lots.size(); ++i) {
    if (offers_of[lots[i].id] > 0) busy.push_back(i);
  }
  if (busy.empty()) return absl::InvalidArgumentError("no lot has a bid, so there is nothing to run");
  if (kills.lot) {
    const size_t index = busy[random.Below(busy.size())];
    plan.crashed_lot = lots[index].id;
    plan.crash_at_offer = 1 + static_cast<int64_t>(random.Below(static_cast<uint64_t>(offers_of[plan.crashed_lot])));
    plan.killed_house = HouseOfLot(index) % kHouses + 1;
  } else {
    plan.killed_house = 1 + static_cast<int>(random.Below(kHouses));
  }
  if (!kills.house) {
    plan.killed_house = 0;
    return plan;
  }
  if (bids.size() < 2) return absl::InvalidArgumentError("fewer than two bids: no house can be killed between them");
  // In the middle of the run: between a fifth and four fifths of it.
  const uint64_t fifth = std::max<uint64_t>(bids.size() / 5, 1);
  const uint64_t span = std::max<uint64_t>(bids.size() * 3 / 5, 1);
  plan.kill_after_offers = static_cast<int64_t>(std::min<uint64_t>(fifth + random.Below(span), bids.size() - 1));
  return plan;
}

}  // namespace auction
