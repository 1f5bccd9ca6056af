#include "understudy/examples/auction/demo_run.h"

#include <sys/syscall.h>
#include <unistd.h>

#include <algorithm>
#include <cerrno>
#include <csignal>
#include <cstdint>
#include <memory>
#include <string>
#include <utility>
#include <vector>

#include "absl/cleanup/cleanup.h"
#include "absl/status/status.h"
#include "absl/status/statusor.h"
#include "absl/strings/match.h"
#include "absl/strings/str_cat.h"
#include "absl/strings/str_join.h"
#include "absl/strings/string_view.h"
#include "absl/time/clock.h"
#include "absl/time/time.h"
#include "understudy/actors/actor_spec.h"
#include "understudy/actors/exit_reason.h"
#include "understudy/actors/ref.h"
#include "understudy/examples/auction/bidding_floor.h"
#include "understudy/examples/auction/chronicle.h"
#include "understudy/examples/auction/closing_round.h"
#include "understudy/examples/auction/house_setup.h"
#include "understudy/examples/auction/house_tree.h"
#include "understudy/examples/auction/ledger_store.h"
#include "understudy/examples/auction/node_reporters.h"
#include "understudy/examples/auction/progress_watch.h"
#include "understudy/examples/auction/roll_call.h"
#include "understudy/examples/auction/root_watch.h"
#include "understudy/examples/auction/run_checks.h"

namespace auction {
namespace {

using understudy::Process;
using understudy::Ref;

// How long a process may take to start on a loaded machine.
constexpr absl::Duration kStartPatience = absl::Seconds(60);
// How much longer the run may take than its input does.
constexpr absl::Duration kRunPatience = absl::Minutes(3);
constexpr absl::Duration kStopPatience = absl::Seconds(30);
constexpr absl::Duration kProcessStopsWithin = absl::Seconds(5);
// The most attempts to kill a process. A second attempt is necessary only if the process ends by itself just before it
// is killed.
constexpr int kKillAttempts = 10;
constexpr int kRestarts = 5;
constexpr absl::Duration kPeriod = absl::Seconds(30);
constexpr char kLauncher[] = "launcher";
constexpr char kLedger[] = "ledger";

std::vector<std::string> NodeNames() {
  std::vector<std::string> names = {kLedger};
  for (int number = 1; number <= kHouses; ++number) names.push_back(HouseName(number));
  return names;
}

absl::Status WaitingFor(absl::string_view what, const absl::Status& status) {
  return absl::Status(status.code(), absl::StrCat("waiting for ", what, ": ", status.message()));
}

}  // namespace

understudy::SupervisorBuilder LauncherTree(const DemoSetup& setup) {
  understudy::SupervisorBuilder tree = understudy::OneForOne();
  tree.Intensity(kRestarts, kPeriod);
  tree.Child(kLedger, Process("ledger_node", {setup.ledger_path}).ShutdownWithin(kProcessStopsWithin));
  for (int number = 1; number <= kHouses; ++number) {
    const HouseSetup house{.number = number,
                           .lots_path = setup.lots_path,
                           .pace = setup.pace,
                           .crashed_lot = setup.plan.crashed_lot,
                           .crash_at_offer = setup.plan.crash_at_offer};
    tree.Child(HouseName(number), Process("house_node", ToArguments(house)).ShutdownWithin(kProcessStopsWithin));
  }
  return tree;
}

DemoOutcome DemoRun::Run() {
  chronicle_ = Ref<ChronicleKeeper>(
      system_.Spawn<ChronicleKeeper>(understudy::SpawnOptions{.published_as = std::string(kChronicle)}).pid());
  watch_ = system_.Spawn<RootWatch>(LauncherTree(setup_));
  DemoOutcome outcome;
  const absl::StatusOr<understudy::SupervisorRef> root =
      system_.Ask(watch_[&RootWatch::root], WhichRoot(), kStartPatience);
  if (!root.ok()) {
    outcome.failure = WaitingFor("the launcher's tree", root.status());
    return outcome;
  }
  root_ = *root;
  const Ref<Reporter> reporter = system_.Spawn<Reporter>(kLauncher, ReportedStops::kAll, root_);

  outcome.evidence.lots = setup_.lots;
  outcome.evidence.plan = setup_.plan;
  outcome.failure.Update(Bid(outcome));
  absl::StatusOr<TreeEnd> ended = HowTheTreeEnded();
  outcome.failure.Update(ended.status());
  if (ended.ok()) outcome.tree_gave_up = *ended;
  if (!outcome.tree_gave_up.has_value()) outcome.failure.Update(StopAll(outcome));

  auto flushed = system_.Ask(reporter[&Reporter::flush], FlushReports(), kStopPatience);
  if (!flushed.ok()) outcome.failure.Update(WaitingFor("the launcher's reporter", flushed.status()));
  absl::StatusOr<Chronicled> chronicle = Chronicle();
  outcome.failure.Update(chronicle.status());
  if (chronicle.ok()) outcome.evidence.chronicle = *std::move(chronicle);
  outcome.evidence.nodes = LastEnds(NodeNames(), outcome.evidence.chronicle);
  return outcome;
}

void DemoRun::EndWithTree(understudy::Pid actor) { watch_[&RootWatch::waits_for_tree].Tell({actor}); }

absl::StatusOr<TreeEnd> DemoRun::HowTheTreeEnded() {
  auto ended = system_.Ask(watch_[&RootWatch::end], HowTreeEnded(), kStopPatience);
  if (!ended.ok()) return WaitingFor("the watch of the tree", ended.status());
  return ended;
}

absl::StatusOr<Chronicled> DemoRun::Chronicle() {
  auto read = system_.Ask(chronicle_[&ChronicleKeeper::read], ReadChronicle(), kStopPatience);
  if (!read.ok()) return WaitingFor("the chronicle", read.status());
  return read;
}

absl::StatusOr<std::vector<NodeReport>> DemoRun::CallRoll(const std::vector<std::string>& names) {
  const Ref<RollCall> call = system_.Spawn<RollCall>(names, kStartPatience);
  EndWithTree(call.pid());
  auto roll = system_.Ask(call[&RollCall::result], WhenCalled(), kStartPatience * static_cast<int>(names.size() + 1));
  if (!roll.ok()) return WaitingFor("the nodes", roll.status());
  if (!roll->problems.empty()) {
    return absl::UnavailableError(absl::StrCat("no answer of ", absl::StrJoin(roll->problems, ", ")));
  }
  return roll->reports;
}

// True if the chronicle shows that the house was killed in this run, for example by the user.
absl::StatusOr<bool> DemoRun::WasKilled(const std::string& house) {
  absl::StatusOr<Chronicled> chronicle = Chronicle();
  if (!chronicle.ok()) return chronicle.status();
  return std::any_of(chronicle->begin(), chronicle->end(), [&](const Happening& happening) {
    return happening.who() == house && absl::StartsWith(happening.why(), Evidence().kill_shows_as);
  });
}

// Kills the present process of the house, unless one of its processes was killed already. If the steward still reports
// the same process id after the pidfd was opened, the pidfd refers to that process, so no other process is killed.
absl::Status DemoRun::KillHouse() {
  const std::string house = HouseName(setup_.plan.killed_house);
  for (int attempt = 0; attempt < kKillAttempts; ++attempt) {
    const absl::StatusOr<bool> was_killed = WasKilled(house);
    if (!was_killed.ok()) return was_killed.status();
    if (*was_killed) return absl::OkStatus();
    const absl::StatusOr<std::vector<NodeReport>> before = CallRoll({house});
    if (!before.ok()) return before.status();
    const int process = static_cast<int>(syscall(SYS_pidfd_open, before->front().os_pid(), 0));
    if (process < 0) continue;  // the process has just ended
    const auto closer = absl::MakeCleanup([process] { close(process); });
    const absl::StatusOr<std::vector<NodeReport>> after = CallRoll({house});
    if (!after.ok()) return after.status();
    if (after->front().os_pid() != before->front().os_pid()) continue;
    if (syscall(SYS_pidfd_send_signal, process, SIGKILL, nullptr, 0) == 0) return absl::OkStatus();
    if (errno != ESRCH) {
      return absl::ErrnoToStatus(errno, absl::StrCat("cannot kill ", house, ", process ", after->front().os_pid()));
    }
  }
  return absl::UnavailableError(
      absl::StrCat(house, " ended ", kKillAttempts, " times just before it was to be killed"));
}

absl::Status DemoRun::Bid(DemoOutcome& outcome) {
  const auto started = system_.Ask(watch_[&RootWatch::started], WhenTreeStarted(), kStartPatience * (kHouses + 2));
  if (!started.ok()) return WaitingFor("the processes to start", started.status());
  if (setup_.started != nullptr) setup_.started();
  absl::StatusOr<std::vector<NodeReport>> nodes = CallRoll(NodeNames());
  if (!nodes.ok()) return nodes.status();
  for (const NodeReport& node : *nodes) {
    setup_.progress(absl::StrCat(node.node(), " is up, process ", node.os_pid()));
  }
  setup_.progress("bidding begins");
  const auto plan = std::make_shared<const RunPlan>(setup_.plan);
  const Ref<BiddingFloor> floor = system_.Spawn<BiddingFloor>(plan, setup_.pace);
  EndWithTree(floor.pid());

  absl::Time last_event = setup_.pace.opens;
  for (const Lot& lot : setup_.lots) last_event = std::max(last_event, setup_.pace.WallTime(lot.closes));
  for (const Offer& offer : plan->offers) {
    if (!setup_.pace.bidders_wait) break;
    last_event = std::max(last_event, setup_.pace.WallTime(absl::FromUnixMillis(offer.time_ms())));
  }
  const absl::Duration patience = last_event - absl::Now() + kRunPatience;
  system_.Spawn<ProgressWatch>(
      root_, floor,
      ProgressWatch::Options{.offers = static_cast<int64_t>(plan->offers.size()),
                             .ends = setup_.pace.bidders_wait ? last_event : absl::InfiniteFuture(),
                             .period = setup_.status_period,
                             .tell = setup_.status});
  if (plan->killed_house != 0) {
    auto reached = system_.Ask(floor[&BiddingFloor::reached], WhenReached{plan->kill_after_offers}, patience);
    if (!reached.ok()) return WaitingFor("the offer after which a house is killed", reached.status());
    outcome.failure = KillHouse();  // the bidding goes on after a failure too, until the tree ends
    if (outcome.failure.ok()) {
      setup_.progress(absl::StrCat(reached->acknowledged, " offers are acknowledged: ", HouseName(plan->killed_house),
                                   " is killed"));
    }
  }
  auto finished = system_.Ask(floor[&BiddingFloor::finished], WhenFinished(), patience);
  if (!finished.ok()) return WaitingFor("the bidders", finished.status());
  outcome.evidence.floor = *std::move(finished);
  const absl::StatusOr<TreeEnd> ended = HowTheTreeEnded();
  if (!ended.ok()) return ended.status();
  if (ended->has_value()) return absl::OkStatus();
  system_.RequestStop(floor.pid());  // so that no bidder reports a Down when the lots are stopped
  setup_.progress("the bidders are done; waiting for the last lot to close");

  std::vector<std::string> lots;
  lots.reserve(setup_.lots.size());
  for (const Lot& lot : setup_.lots) lots.push_back(lot.id);
  const Ref<ClosingRound> round = system_.Spawn<ClosingRound>(lots, last_event + kRunPatience);
  EndWithTree(round.pid());
  auto closed = system_.Ask(round[&ClosingRound::result], WhenClosed(), patience + kRunPatience);
  if (!closed.ok()) return WaitingFor("the lots to close", closed.status());
  outcome.evidence.closed = *std::move(closed);

  nodes = CallRoll(NodeNames());
  if (!nodes.ok()) return nodes.status();
  outcome.message_ledgers = *std::move(nodes);
  return absl::OkStatus();
}

absl::Status DemoRun::StopAll(DemoOutcome& outcome) {
  NodeReport launcher = TotalsOf(system_)();
  launcher.set_node(kLauncher);
  outcome.message_ledgers.push_back(launcher);
  setup_.progress("stopping");
  system_.RequestStop(root_.pid());
  absl::StatusOr<understudy::ExitReason> ended = system_.AwaitEnd(root_.pid(), kStopPatience);
  if (!ended.ok()) return WaitingFor("the processes to stop", ended.status());
  if (ended->is_abnormal()) {
    return absl::AbortedError(absl::StrCat("the launcher's supervisor ended: ", ended->ToString()));
  }
  return absl::OkStatus();
}

absl::Status DemoRun::ReadLedger(DemoOutcome& outcome) {
  absl::StatusOr<std::unique_ptr<LedgerStore>> store = LedgerStore::Open(setup_.ledger_path);
  if (!store.ok()) return store.status();
  absl::StatusOr<std::vector<RecordedOffer>> offers = (*store)->Offers();
  if (!offers.ok()) return offers.status();
  absl::StatusOr<std::vector<Closing>> closings = (*store)->Closings();
  if (!closings.ok()) return closings.status();
  outcome.evidence.ledger_offers = *std::move(offers);
  outcome.evidence.ledger_closings = *std::move(closings);
  return absl::OkStatus();
}

}  // namespace auction
