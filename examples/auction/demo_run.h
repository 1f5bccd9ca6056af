// DemoRun: one run of the service over its processes, as the launcher sees it.
//
// It starts the launcher's supervision tree, lets the bidders bid, kills and
// crashes what the plan says, waits for the lots to close, stops everything in
// order, and gives the evidence of what happened. It watches its tree: when that
// gives up, the run is over, and the outcome says why.
//
// Requires: a system that a Node has adopted. Threads: a plain one; Run blocks.
#ifndef UNDERSTUDY_EXAMPLES_AUCTION_DEMO_RUN_H_
#define UNDERSTUDY_EXAMPLES_AUCTION_DEMO_RUN_H_

#include <functional>
#include <string>
#include <utility>
#include <vector>

#include "absl/status/status.h"
#include "absl/status/statusor.h"
#include "absl/strings/string_view.h"
#include "absl/time/time.h"
#include "understudy/actors/actor_system.h"
#include "understudy/actors/pid.h"
#include "understudy/actors/ref.h"
#include "understudy/examples/auction/auction.pb.h"
#include "understudy/examples/auction/chronicle.h"
#include "understudy/examples/auction/input_files.h"
#include "understudy/examples/auction/pace.h"
#include "understudy/examples/auction/root_watch.h"
#include "understudy/examples/auction/run_checks.h"
#include "understudy/examples/auction/run_plan.h"
#include "understudy/supervision/builders.h"

namespace auction {

struct DemoSetup {
  std::vector<Lot> lots;
  RunPlan plan;
  Pace pace;
  // Files that the processes read and write.
  std::string lots_path;
  std::string ledger_path;
  // Told what the run has come to, a line each.
  std::function<void(absl::string_view)> progress;
  // Told once a `status_period` how far the bidding is. Runs in a turn of an actor.
  std::function<void(absl::string_view)> status;
  absl::Duration status_period = absl::Seconds(1);
};

struct DemoOutcome {
  Evidence evidence;
  std::vector<NodeReport> message_ledgers;
  // Why the run did not come to its end: how the tree ended, or else what could not be waited for. OK and nothing when
  // it did.
  absl::Status failure;
  TreeEnd tree_gave_up;
};

// The launcher's tree: the ledger and the houses, each a process.
understudy::SupervisorBuilder LauncherTree(const DemoSetup& setup);

class DemoRun {
 public:
  DemoRun(understudy::ActorSystem& system, DemoSetup setup) : system_(system), setup_(std::move(setup)) {}

  DemoOutcome Run();
  // After Run: adds what the ledger's file holds.
  absl::Status ReadLedger(DemoOutcome& outcome);

 private:
  // Ends `actor` when the tree ends: it would wait for processes that nobody starts any more.
  void EndWithTree(understudy::Pid actor);
  absl::StatusOr<TreeEnd> HowTheTreeEnded();
  absl::StatusOr<Chronicled> Chronicle();
  absl::StatusOr<std::vector<NodeReport>> CallRoll(const std::vector<std::string>& names);
  absl::StatusOr<bool> WasKilled(const std::string& house);
  absl::Status KillHouse();
  absl::Status Bid(DemoOutcome& outcome);
  absl::Status StopAll(DemoOutcome& outcome);

  understudy::ActorSystem& system_;
  const DemoSetup setup_;
  understudy::SupervisorRef root_;
  understudy::Ref<RootWatch> watch_;
  understudy::Ref<ChronicleKeeper> chronicle_;
};

}  // namespace auction

#endif  // UNDERSTUDY_EXAMPLES_AUCTION_DEMO_RUN_H_
