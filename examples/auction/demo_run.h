// DemoRun: one run of the service with its processes, driven by the launcher.
//
// Run starts the launcher's supervision tree, lets the bidders bid, kills the house
// that the plan names, waits for the lots to close, stops everything in order, and
// returns the evidence of the run. If the tree gives up, the run ends, and the
// outcome gives the reason.
//
// Requires: a system with a Node. Threads: one plain thread, which Run blocks.
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
  // Called with a line for each step of the run.
  std::function<void(absl::string_view)> progress;
  // Called in each `status_period` with a line about the progress of the bidding, in a turn of an actor.
  std::function<void(absl::string_view)> status;
  absl::Duration status_period = absl::Seconds(1);
  // Called once, when the tree has started.
  std::function<void()> started;
};

struct DemoOutcome {
  Evidence evidence;
  std::vector<NodeReport> message_ledgers;
  // If the run was not completed: the exit reason of the tree if it gave up, and the first error of a step. Otherwise
  // OK and nullopt.
  absl::Status failure;
  TreeEnd tree_gave_up;
};

// The launcher's tree: the ledger and the houses, each a process.
understudy::SupervisorBuilder LauncherTree(const DemoSetup& setup);

class DemoRun {
 public:
  DemoRun(understudy::ActorSystem& system, DemoSetup setup) : system_(system), setup_(std::move(setup)) {}

  DemoOutcome Run();
  // Call after Run. Adds the contents of the ledger's file.
  absl::Status ReadLedger(DemoOutcome& outcome);

 private:
  // Makes RootWatch end `actor` when the tree ends, because `actor` waits for processes that are not started again
  // then.
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
