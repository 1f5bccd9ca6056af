// DemoRun: one run of the service over its processes, as the launcher sees it.
//
// It starts the launcher's supervision tree, lets the bidders bid, kills and
// crashes what the plan says, waits for the lots to close, stops everything in
// order, and gives the evidence of what happened.
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
#include "understudy/examples/auction/auction.pb.h"
#include "understudy/examples/auction/input_files.h"
#include "understudy/examples/auction/pace.h"
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
};

struct DemoOutcome {
  Evidence evidence;
  std::vector<NodeReport> message_ledgers;
};

// The launcher's tree: the ledger and the houses, each a process.
understudy::SupervisorBuilder LauncherTree(const DemoSetup& setup);

class DemoRun {
 public:
  DemoRun(understudy::ActorSystem& system, DemoSetup setup) : system_(system), setup_(std::move(setup)) {}

  // Error: the run could not go to its end; says what it was waiting for.
  absl::StatusOr<DemoOutcome> Run();

 private:
  absl::StatusOr<std::vector<NodeReport>> CallRoll();
  absl::Status KillHouse(const std::vector<NodeReport>& nodes);
  absl::Status Bid(DemoOutcome& outcome);
  absl::Status StopAll(DemoOutcome& outcome);
  absl::Status ReadLedger(DemoOutcome& outcome);

  understudy::ActorSystem& system_;
  const DemoSetup setup_;
  understudy::SupervisorRef root_;
};

}  // namespace auction

#endif  // UNDERSTUDY_EXAMPLES_AUCTION_DEMO_RUN_H_
