#include "understudy/examples/auction/run_checks.h"

#include <algorithm>
#include <cstdint>
#include <map>
#include <set>
#include <string>
#include <utility>
#include <vector>

#include "absl/strings/match.h"
#include "absl/strings/str_cat.h"
#include "absl/strings/string_view.h"
#include "understudy/examples/auction/amount.h"
#include "understudy/supervision/supervision_event.h"

namespace auction {
namespace {

using Kind = understudy::SupervisionEvent::Kind;

// The word for such an event in the chronicle.
absl::string_view Word(Kind kind) { return understudy::SupervisionEventName(kind); }

// Makes a check that holds if `fault` is empty. Otherwise its detail is the fault.
Check MakeCheck(absl::string_view what, std::string fault, std::string detail) {
  const bool holds = fault.empty();
  return {std::string(what), holds, holds ? std::move(detail) : std::move(fault)};
}

std::string Describe(const Offer& offer) {
  return absl::StrCat("offer ", offer.offer_id(), " of ", offer.bidder(), " for ", offer.lot(), " (",
                      FormatAmount(offer.cents()), ")");
}

Check EveryOfferWasAcknowledged(const Evidence& evidence) {
  std::string fault;
  if (!evidence.floor.problems.empty()) {
    fault = evidence.floor.problems.front();
  } else if (evidence.floor.acknowledged.size() != evidence.plan.offers.size()) {
    fault = absl::StrCat(evidence.floor.acknowledged.size(), " of ", evidence.plan.offers.size());
  }
  return MakeCheck("every offer was acknowledged", fault, absl::StrCat(evidence.floor.acknowledged.size(), " offers"));
}

Check EveryAcknowledgedOfferIsInTheLedger(const Evidence& evidence) {
  std::map<uint64_t, const RecordedOffer*> ledger;
  for (const RecordedOffer& recorded : evidence.ledger_offers) ledger[recorded.offer().offer_id()] = &recorded;
  std::string fault;
  for (const RecordedOffer& acknowledged : evidence.floor.acknowledged) {
    const auto found = ledger.find(acknowledged.offer().offer_id());
    if (found == ledger.end()) {
      fault = absl::StrCat(Describe(acknowledged.offer()), " is not there");
    } else if (found->second->SerializeAsString() != acknowledged.SerializeAsString()) {
      fault = absl::StrCat(Describe(acknowledged.offer()), " was answered ", Verdict_Name(acknowledged.verdict()),
                           " and stands there as ", found->second->ShortDebugString());
    }
    if (!fault.empty()) break;
  }
  return MakeCheck("every acknowledged offer is in the ledger, with the verdict that was answered", fault,
                   absl::StrCat(evidence.floor.acknowledged.size(), " offers"));
}

Check TheLedgerHasNothingElse(const Evidence& evidence) {
  std::set<uint64_t> made;
  for (const Offer& offer : evidence.plan.offers) made.insert(offer.offer_id());
  std::string fault;
  std::set<uint64_t> seen;
  for (const RecordedOffer& recorded : evidence.ledger_offers) {
    if (made.count(recorded.offer().offer_id()) == 0) {
      fault = absl::StrCat(Describe(recorded.offer()), " was never made");
    }
    if (!seen.insert(recorded.offer().offer_id()).second) {
      fault = absl::StrCat(Describe(recorded.offer()), " is there twice");
    }
  }
  return MakeCheck("the ledger has each offer once, and no other", fault,
                   absl::StrCat(evidence.ledger_offers.size(), " rows"));
}

Check EveryLotHasOneClosingRow(const Evidence& evidence) {
  std::map<std::string, int> rows;
  for (const Lot& lot : evidence.lots) rows[lot.id] = 0;
  std::string fault;
  for (const Closing& closing : evidence.ledger_closings) {
    if (rows.count(closing.lot()) == 0) fault = absl::StrCat("'", closing.lot(), "' is no lot");
    ++rows[closing.lot()];
  }
  for (const auto& [lot, count] : rows) {
    if (count != 1 && fault.empty()) fault = absl::StrCat(lot, " has ", count);
  }
  return MakeCheck("every lot has exactly one closing row", fault, absl::StrCat(evidence.lots.size(), " lots"));
}

Check WinnersHoldTheHighestOffer(const Evidence& evidence) {
  std::map<std::string, Offer> highest;
  for (const RecordedOffer& acknowledged : evidence.floor.acknowledged) {
    Offer& best = highest[acknowledged.offer().lot()];
    if (acknowledged.verdict() == ACCEPTED && acknowledged.offer().cents() > best.cents()) best = acknowledged.offer();
  }
  std::string fault;
  int sold = 0;
  for (const Closing& closing : evidence.ledger_closings) {
    const Offer& best = highest[closing.lot()];
    sold += closing.winner().empty() ? 0 : 1;
    if (closing.winner() != best.bidder() || closing.cents() != best.cents() || closing.offer_id() != best.offer_id()) {
      fault = absl::StrCat(closing.lot(), " closed for '", closing.winner(), "' at ", FormatAmount(closing.cents()),
                           "; the highest is ", Describe(best));
    }
  }
  return MakeCheck("every winner holds the highest acknowledged offer", fault, absl::StrCat(sold, " lots sold"));
}

Check LotsSayWhatTheLedgerSays(const Evidence& evidence) {
  std::map<std::string, const Closing*> closings;
  for (const Closing& closing : evidence.ledger_closings) closings[closing.lot()] = &closing;
  std::string fault;
  if (!evidence.closed.problems.empty()) fault = evidence.closed.problems.front();
  for (const AuctionStatus& status : evidence.closed.lots) {
    const auto closing = closings.find(status.lot());
    if (closing == closings.end() || closing->second->winner() != status.best_bidder() ||
        closing->second->cents() != status.best_cents()) {
      fault = absl::StrCat(status.lot(), " says '", status.best_bidder(), "' at ", FormatAmount(status.best_cents()));
    }
  }
  if (fault.empty() && evidence.closed.lots.size() != evidence.lots.size()) {
    fault = absl::StrCat(evidence.closed.lots.size(), " of ", evidence.lots.size(), " lots answered");
  }
  return MakeCheck("every lot closed, and answers what the ledger holds", fault,
                   absl::StrCat(evidence.closed.lots.size(), " lots"));
}

// Returns a fault unless `who` exited with a reason that contains `why`, and was started again afterwards.
std::string FaultOfFailure(const Evidence& evidence, absl::string_view who, absl::string_view why) {
  int64_t exited = 0;
  int64_t started = 0;
  for (const Happening& happening : evidence.chronicle) {
    if (happening.who() != who) continue;
    if (happening.what() == Word(Kind::kExited) && absl::StrContains(happening.why(), why))
      exited = happening.unix_micros();
    if (happening.what() == Word(Kind::kStarted)) started = std::max(started, happening.unix_micros());
  }
  if (exited == 0) return absl::StrCat(who, " did not exit with ", why);
  if (started < exited) return absl::StrCat(who, " was not started again");
  return "";
}

Check NodesExitedCleanly(const Evidence& evidence) {
  std::string fault;
  std::vector<std::string> nodes;
  for (const NodeEnd& node : evidence.nodes) {
    if (!node.is_clean) fault = absl::StrCat(node.node, ": ", node.reason);
    nodes.push_back(node.node);
  }
  if (evidence.nodes.empty()) fault = "no node was seen to exit";
  return MakeCheck("the last life of every node exited cleanly", fault, absl::StrCat(nodes.size(), " nodes"));
}

}  // namespace

std::vector<Check> CheckRun(const Evidence& evidence) {
  std::vector<Check> checks = {EveryOfferWasAcknowledged(evidence),  EveryAcknowledgedOfferIsInTheLedger(evidence),
                               TheLedgerHasNothingElse(evidence),    EveryLotHasOneClosingRow(evidence),
                               WinnersHoldTheHighestOffer(evidence), LotsSayWhatTheLedgerSays(evidence)};
  if (!evidence.plan.crashed_lot.empty()) {
    checks.push_back(MakeCheck("the lot crashed as asked, and came back",
                               FaultOfFailure(evidence, evidence.plan.crashed_lot, "InjectedCrash"),
                               evidence.plan.crashed_lot));
  }
  if (evidence.plan.killed_house != 0) {
    const std::string house = HouseName(evidence.plan.killed_house);
    checks.push_back(MakeCheck("the house was killed as asked, and came back",
                               FaultOfFailure(evidence, house, evidence.kill_shows_as), house));
  }
  checks.push_back(NodesExitedCleanly(evidence));
  return checks;
}

std::vector<NodeEnd> LastEnds(const std::vector<std::string>& nodes, const Chronicled& chronicle) {
  std::vector<NodeEnd> ends;
  for (const std::string& node : nodes) {
    NodeEnd& end = ends.emplace_back(NodeEnd{.node = node, .is_clean = false, .reason = "it was not seen to end"});
    int64_t last = 0;
    for (const Happening& happening : chronicle) {
      const bool is_end = happening.what() == Word(Kind::kExited) || happening.what() == Word(Kind::kStopped);
      if (happening.who() != node || !is_end || happening.unix_micros() < last) continue;
      last = happening.unix_micros();
      end.reason = happening.why();
      end.is_clean = happening.why() == "Normal" || happening.why() == "Shutdown";
    }
  }
  return ends;
}

std::vector<LotResult> LedgerResults(const std::vector<Lot>& lots, const std::vector<Closing>& closings) {
  std::map<std::string, const Closing*> by_lot;
  for (const Closing& closing : closings) by_lot[closing.lot()] = &closing;
  std::vector<LotResult> results;
  for (const Lot& lot : lots) {
    const auto found = by_lot.find(lot.id);
    LotResult& result = results.emplace_back(LotResult{.lot = lot.id, .winner = "", .cents = 0});
    if (found == by_lot.end()) continue;
    result.winner = found->second->winner();
    result.cents = found->second->cents();
  }
  return results;
}

}  // namespace auction
