#include "understudy/tests/examples/auction/simulated_service.h"

#include <memory>
#include <string>
#include <utility>
#include <vector>

#include "absl/status/statusor.h"
#include "absl/strings/str_cat.h"
#include "absl/time/time.h"
#include "gtest/gtest.h"
#include "understudy/actors/random.h"
#include "understudy/actors/ref.h"
#include "understudy/actors/test_system.h"
#include "understudy/examples/auction/bidding_floor.h"
#include "understudy/examples/auction/chronicle.h"
#include "understudy/examples/auction/closing_round.h"
#include "understudy/examples/auction/house_setup.h"
#include "understudy/examples/auction/house_tree.h"
#include "understudy/examples/auction/ledger_store.h"
#include "understudy/examples/auction/node_reporters.h"
#include "understudy/examples/auction/oracle.h"
#include "understudy/examples/auction/pace.h"
#include "understudy/examples/auction/temp_folder.h"
#include "understudy/supervision/builders.h"

namespace auction {
namespace {

using understudy::Of;

constexpr absl::Duration kLong = absl::Hours(10);  // of virtual time

understudy::SupervisorBuilder ServiceTree(understudy::TestSystem& system, const RunPlan& plan, const Pace& pace,
                                          const std::vector<Lot>& lots, const std::string& ledger_path) {
  understudy::SupervisorBuilder tree = understudy::OneForOne();
  tree.Intensity(20, absl::Seconds(10));
  tree.Child("reporter", Of<Reporter>("launcher", ReportedStops::kAbnormal));
  tree.Child("ledger", Of(LedgerTree("ledger", ledger_path, TotalsOf(system))));
  for (int number = 1; number <= kHouses; ++number) {
    const HouseSetup setup{.number = number,
                           .lots_path = "",
                           .pace = pace,
                           .crashed_lot = plan.crashed_lot,
                           .crash_at_offer = plan.crash_at_offer};
    tree.Child(HouseName(number), Of(HouseTree(HouseName(number), LotsOfHouse(setup, lots), TotalsOf(system))));
  }
  return tree;
}

// Kills the supervisor that plays the house, as SIGKILL kills a process.
void KillHouse(understudy::TestSystem& system, const understudy::SupervisorRef& root, const std::string& house) {
  auto children = system.Ask(root.which_children(), understudy::WhichChildren(), absl::Seconds(5));
  ASSERT_TRUE(children.ok()) << children.status();
  for (const understudy::ChildInfo& child : children->children) {
    if (child.id == house) system.Kill(child.pid);
  }
}

void ReadLedger(const std::string& path, Evidence& evidence) {
  auto store = LedgerStore::Open(path);
  ASSERT_TRUE(store.ok()) << store.status();
  auto offers = (*store)->Offers();
  auto closings = (*store)->Closings();
  ASSERT_TRUE(offers.ok() && closings.ok());
  evidence.ledger_offers = *std::move(offers);
  evidence.ledger_closings = *std::move(closings);
}

}  // namespace

SimulatedRun Simulate(const std::vector<Lot>& lots, const std::vector<Bid>& bids, const SimulationOptions& options) {
  SimulatedRun run;
  absl::StatusOr<TempFolder> folder = TempFolder::Make("auction-test");
  EXPECT_TRUE(folder.ok()) << folder.status();
  const std::string ledger_path = folder->File("ledger.db");
  understudy::TestSystem system(options.seed);
  if (options.with_trace) system.StartTrace();

  auto plan = std::make_shared<const RunPlan>(*MakeRunPlan(lots, bids, options.seed, options.kills));
  const Pace pace = *MakePace(options.speed, system.WallNow(), lots, bids);
  const understudy::Ref<ChronicleKeeper> chronicle(
      system.Spawn<ChronicleKeeper>(understudy::SpawnOptions{.published_as = std::string(kChronicle)}).pid());
  const understudy::SupervisorRef root = system.Spawn(ServiceTree(system, *plan, pace, lots, ledger_path));
  const understudy::Ref<BiddingFloor> floor = system.Spawn<BiddingFloor>(plan, pace);

  if (plan->killed_house != 0) {
    auto reached = system.Ask(floor[&BiddingFloor::reached], WhenReached{plan->kill_after_offers}, kLong);
    EXPECT_TRUE(reached.ok()) << reached.status();
    KillHouse(system, root, HouseName(plan->killed_house));
  }
  auto finished = system.Ask(floor[&BiddingFloor::finished], WhenFinished(), kLong);
  EXPECT_TRUE(finished.ok()) << finished.status();

  std::vector<std::string> names;
  for (const Lot& lot : lots) names.push_back(lot.id);
  const auto round = system.Spawn<ClosingRound>(names, system.WallNow() + kLong);
  auto closed = system.Ask(round[&ClosingRound::result], WhenClosed(), kLong);
  EXPECT_TRUE(closed.ok()) << closed.status();
  auto chronicled = system.Ask(chronicle[&ChronicleKeeper::read], ReadChronicle(), absl::Seconds(5));
  EXPECT_TRUE(chronicled.ok()) << chronicled.status();
  EXPECT_TRUE(system.Shutdown(absl::Seconds(30)));

  run.evidence.lots = lots;
  run.evidence.plan = *plan;
  if (finished.ok()) run.evidence.floor = *finished;
  if (closed.ok()) run.evidence.closed = *closed;
  if (chronicled.ok()) run.evidence.chronicle = *chronicled;
  run.evidence.kill_shows_as = "Killed";
  run.evidence.nodes = {{"test", true, ""}};
  ReadLedger(ledger_path, run.evidence);
  run.results_csv = ResultsCsv(LedgerResults(lots, run.evidence.ledger_closings));
  run.trace = system.trace();
  return run;
}

std::string FaultsOf(const SimulatedRun& run) {
  std::string faults;
  for (const Check& check : CheckRun(run.evidence)) {
    if (!check.holds) absl::StrAppend(&faults, check.what, ": ", check.detail, "\n");
  }
  return faults;
}

std::vector<Lot> RandomLots(uint64_t seed, int lot_count) {
  understudy::Random random(seed);
  std::vector<Lot> lots;
  for (int i = 0; i < lot_count; ++i) {
    lots.push_back({.id = absl::StrCat("lot-", i),
                    .title = "A lot",
                    .reserve_cents = static_cast<int64_t>(1 + random.Below(30)),
                    .increment_cents = static_cast<int64_t>(1 + random.Below(5)),
                    .closes = absl::FromUnixSeconds(static_cast<int64_t>(1000 + random.Below(1000)))});
  }
  return lots;
}

std::vector<Bid> RandomBids(uint64_t seed, const std::vector<Lot>& lots, int bid_count) {
  understudy::Random random(seed);
  std::vector<Bid> bids;
  for (int i = 0; i < bid_count; ++i) {
    bids.push_back({.time = absl::FromUnixSeconds(static_cast<int64_t>(random.Below(2000))),
                    .bidder = absl::StrCat("bidder-", random.Below(5)),
                    .lot = lots[random.Below(lots.size())].id,
                    .cents = static_cast<int64_t>(1 + random.Below(100)),
                    .line = i + 1});
  }
  return bids;
}

}  // namespace auction
