#include "understudy/examples/auction/house_tree.h"

#include <functional>
#include <string>
#include <vector>

#include "absl/time/time.h"
#include "understudy/actors/named.h"
#include "understudy/examples/auction/auction_actors.h"
#include "understudy/examples/auction/node_reporters.h"
#include "understudy/examples/auction/sqlite_book.h"

namespace auction {
namespace {

using understudy::Permanent;
using understudy::SupervisorBuilder;

// A child is asked to stop and has this long; none has much to do then.
constexpr absl::Duration kStopWithin = absl::Milliseconds(500);
// More than one crash is rehearsed; this is for a ledger that comes back slowly.
constexpr int kRestarts = 20;
constexpr absl::Duration kPeriod = absl::Seconds(10);

SupervisorBuilder NodeTree(const std::string& node, std::function<NodeReport()> totals) {
  SupervisorBuilder tree = understudy::OneForOne();
  tree.Intensity(kRestarts, kPeriod);
  tree.Child("reporter", Permanent<Reporter>(node, ReportedStops::kAbnormal).ShutdownWithin(kStopWithin));
  tree.Child(
      "steward",
      Permanent<NodeSteward>(node, std::move(totals)).PublishedAs(StewardName(node)).ShutdownWithin(kStopWithin));
  return tree;
}

}  // namespace

SupervisorBuilder HouseTree(const std::string& node, const std::vector<LotSetup>& lots,
                            std::function<NodeReport()> totals) {
  SupervisorBuilder tree = NodeTree(node, std::move(totals));
  const understudy::Named<BookRef> book(kBook);
  for (const LotSetup& lot : lots) {
    tree.Child(lot.lot,
               Permanent<EnglishAuction>(book, lot).PublishedAs(PublishedLot(lot.lot)).ShutdownWithin(kStopWithin));
  }
  return tree;
}

SupervisorBuilder LedgerTree(const std::string& node, const std::string& path, std::function<NodeReport()> totals) {
  SupervisorBuilder tree = NodeTree(node, std::move(totals));
  tree.Child("book", Permanent<SqliteBook>(path).PublishedAs(kBook).ShutdownWithin(kStopWithin));
  return tree;
}

std::function<NodeReport()> TotalsOf(understudy::ActorSystem& system) {
  return [&system] {
    using understudy::Fate;
    const understudy::MessageLedger ledger = system.Ledger();
    NodeReport report;
    report.set_accepted(ledger.accepted);
    report.set_handled(ledger.of(Fate::kHandled));
    report.set_rejected(ledger.of(Fate::kRejected));
    report.set_failed(ledger.of(Fate::kFailed));
    report.set_expired(ledger.of(Fate::kExpired));
    report.set_cancelled(ledger.of(Fate::kCancelled));
    report.set_dropped(ledger.of(Fate::kDropped));
    report.set_dead_letters(ledger.of(Fate::kDeadLetter));
    report.set_passed_on(ledger.of(Fate::kPassedOn));
    report.set_waiting(ledger.waiting);
    return report;
  };
}

}  // namespace auction
