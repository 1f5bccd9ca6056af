#include "understudy/examples/auction/house_tree.h"

#include <functional>
#include <string>
#include <vector>

#include "absl/time/time.h"
#include "understudy/actors/named.h"
#include "understudy/examples/auction/auction.ref.h"
#include "understudy/examples/auction/node_reporters.h"
#include "understudy/examples/auction/sqlite_book.h"

namespace auction {
namespace {

using understudy::Of;
using understudy::SupervisorBuilder;

// The shutdown time of a child. No child has much to do at its end.
constexpr absl::Duration kStopWithin = absl::Milliseconds(500);
// Large enough for lots that fail again and again while the ledger's process is restarted slowly.
constexpr int kRestarts = 20;
constexpr absl::Duration kPeriod = absl::Seconds(10);

SupervisorBuilder NodeTree(const std::string& node, std::function<NodeReport()> totals) {
  SupervisorBuilder tree = understudy::OneForOne();
  tree.Intensity(kRestarts, kPeriod);
  tree.Child("reporter", Of<Reporter>(node, ReportedStops::kAbnormal).ShutdownWithin(kStopWithin));
  tree.Child("steward",
             Of<NodeSteward>(node, std::move(totals)).PublishedAs(StewardName(node)).ShutdownWithin(kStopWithin));
  return tree;
}

}  // namespace

SupervisorBuilder HouseTree(const std::string& node, const std::vector<LotSetup>& lots,
                            std::function<NodeReport()> totals) {
  SupervisorBuilder tree = NodeTree(node, std::move(totals));
  const understudy::Named<BookRef> book(kBook);
  for (const LotSetup& lot : lots) {
    tree.Child(lot.lot, Of<EnglishAuction>(book, lot).PublishedAs(PublishedLot(lot.lot)).ShutdownWithin(kStopWithin));
  }
  return tree;
}

SupervisorBuilder LedgerTree(const std::string& node, const std::string& path, std::function<NodeReport()> totals) {
  SupervisorBuilder tree = NodeTree(node, std::move(totals));
  tree.Child("book", Of<SqliteBook>(path).PublishedAs(kBook).ShutdownWithin(kStopWithin));
  return tree;
}

std::function<NodeReport()> TotalsOf(understudy::ActorSystem& system) {
  return [&system] {
    using understudy::Disposition;
    const understudy::MessageLedger ledger = system.Ledger();
    NodeReport report;
    report.set_accepted(ledger.accepted);
    report.set_handled(ledger.of(Disposition::kHandled));
    report.set_rejected(ledger.of(Disposition::kRejected));
    report.set_failed(ledger.of(Disposition::kFailed));
    report.set_expired(ledger.of(Disposition::kExpired));
    report.set_cancelled(ledger.of(Disposition::kCancelled));
    report.set_dropped(ledger.of(Disposition::kDropped));
    report.set_dead_letters(ledger.of(Disposition::kDeadLetter));
    report.set_forwarded(ledger.of(Disposition::kForwarded));
    report.set_waiting(ledger.waiting);
    return report;
  };
}

}  // namespace auction
