// demo: runs the auction service in three processes, which this process supervises,
// and plays the bidders. See README.md.
#include <unistd.h>

#include <cstddef>
#include <cstdint>
#include <cstdlib>
#include <filesystem>
#include <iostream>
#include <memory>
#include <set>
#include <sstream>
#include <string>
#include <utility>
#include <vector>

#include "absl/base/thread_annotations.h"
#include "absl/flags/flag.h"
#include "absl/flags/parse.h"
#include "absl/flags/usage.h"
#include "absl/status/status.h"
#include "absl/status/statusor.h"
#include "absl/strings/match.h"
#include "absl/strings/str_cat.h"
#include "absl/strings/string_view.h"
#include "absl/synchronization/mutex.h"
#include "absl/time/clock.h"
#include "absl/time/time.h"
#include "understudy/actors/actor_system.h"
#include "understudy/actors/check.h"
#include "understudy/actors/log_sink.h"
#include "understudy/examples/auction/chronicle.h"
#include "understudy/examples/auction/demo_run.h"
#include "understudy/examples/auction/interrupt.h"
#include "understudy/examples/auction/kept_folder.h"
#include "understudy/examples/auction/oracle.h"
#include "understudy/examples/auction/pace.h"
#include "understudy/examples/auction/run_checks.h"
#include "understudy/examples/auction/run_input.h"
#include "understudy/examples/auction/run_page.h"
#include "understudy/examples/auction/run_picture.h"
#include "understudy/examples/auction/run_plan.h"
#include "understudy/examples/auction/temp_folder.h"
#include "understudy/examples/auction/terminal.h"
#include "understudy/tools/understudy/observer/system_observer.h"
#include "understudy/transport/metrics/metrics.h"
#include "understudy/transport/node.h"
#include "understudy/transport/ops/ops.h"

ABSL_FLAG(std::string, lots, "", "The lots: a textproto (see input.proto). Default: the shipped data/lots.textproto.");
ABSL_FLAG(std::string, bids, "", "The bids: CSV of time,bidder,lot,amount. Default: the shipped data/bids.csv.");
ABSL_FLAG(uint64_t, seed, 1,
          "Decides offer ids, jitter, which house is killed and which lot crashes, and after how many acknowledged "
          "offers. It never decides who wins.");
ABSL_FLAG(std::string, speed, "300",
          "How many seconds of the files pass in one second; 'max': bidders do not wait, and lots close within "
          "about a second.");
ABSL_FLAG(std::string, kills, "all",
          "Which failures the run must have: 'house' (SIGKILL of one), 'lot' (an exception in one), 'all', 'none'.");
ABSL_FLAG(
    std::string, results, "",
    "Also writes the results to this file, as CSV: lot, winner, amount, if all holds; else the file stays as it is.");

ABSL_FLAG(
    std::string, keep, "",
    "The folder for the picture and the log of the run, which is made. Default: auction-last-run-UID in $TMPDIR.");

ABSL_FLAG(std::string, ops, "",
          "The path of a Unix socket at which tools/understudy can ask the launcher's node while the demo runs.");

ABSL_FLAG(
    bool, observe, false,
    "Serves a page that shows the launcher's node live while the demo runs, and prints its address for a browser.");

ABSL_FLAG(std::string, metrics, "",
          "The address, such as 127.0.0.1:9464, at which Prometheus can read the launcher's metrics while the demo "
          "runs.");

namespace auction {
namespace {

constexpr absl::Duration kStatusPeriod = absl::Seconds(1);
constexpr absl::Duration kStatusPeriodOfFile = absl::Seconds(10);
constexpr char kPicture[] = "timeline.svg";
constexpr char kLog[] = "log.txt";
constexpr int kExitFailed = 1;
constexpr int kExitRefused = 2;
// The part of the two seconds within which an interrupted demo must have ended.
constexpr absl::Duration kInterruptedDrain = absl::Milliseconds(1200);
// The time from the start of the run to the first offer, in which the processes start.
constexpr absl::Duration kBeforeOpening = absl::Seconds(1);

int Refuse(const absl::Status& status) {
  std::cerr << "demo: " << status.message() << '\n' << std::flush;
  return kExitRefused;
}

// absl::ParseCommandLine ends the process with status 1 for a wrong flag and for --help. The atexit handler that
// ParseFlags installs replaces that status while is_parsing.
bool has_help = false;
bool is_parsing = false;

std::vector<char*> ParseFlags(int argc, char** argv) {
  for (int i = 1; i < argc; ++i) {
    const absl::string_view word = argv[i];
    has_help = has_help || absl::StartsWith(word, "--help") || absl::StartsWith(word, "-help");
  }
  UNDERSTUDY_CHECK(std::atexit([] {
                     if (!is_parsing) return;
                     std::cout << std::flush;
                     std::cerr << std::flush;
                     _exit(has_help ? 0 : kExitRefused);
                   }) == 0,
                   "atexit");
  is_parsing = true;
  std::vector<char*> words = absl::ParseCommandLine(argc, argv);
  is_parsing = false;
  return words;
}

std::string PathOf(const std::string& flag, absl::string_view shipped) {
  return flag.empty() ? ShippedPath(shipped) : UserPath(flag);
}

void PrintInput(const RunInput& input, const RunPlan& plan) {
  std::set<std::string> bidders;
  for (const Bid& bid : input.bids) bidders.insert(bid.bidder);
  std::cout << input.lots.size() << " lots, " << input.bids.size() << " bids of " << bidders.size() << " bidders; "
            << input.problems.size() << " faults in the input, left out" << (input.problems.empty() ? "\n" : ":\n")
            << FormatProblems(input.problems) << "seed " << absl::GetFlag(FLAGS_seed) << ", speed "
            << absl::GetFlag(FLAGS_speed);
  if (plan.killed_house != 0) {
    std::cout << "\n"
              << HouseName(plan.killed_house) << " is to be killed after " << plan.kill_after_offers
              << " acknowledged offers";
  }
  if (!plan.crashed_lot.empty()) {
    std::cout << "\n" << plan.crashed_lot << " is to crash at its offer number " << plan.crash_at_offer;
  }
  std::cout << '\n' << std::flush;
}

// Prints the page at the end of the run. Returns true if all checks hold and the run was completed.
bool PrintOutcome(const RunInput& input, const DemoOutcome& outcome, absl::Time start, const Terminal& terminal) {
  std::ostringstream page;
  const std::vector<Check> checks = CheckRun(outcome.evidence);
  const FloorReport& floor = outcome.evidence.floor;
  page << "\nResults\n"
       << FormatResults(input.lots, LedgerResults(input.lots, outcome.evidence.ledger_closings))
       << "\nWhat was supervised\n";
  for (const std::string& line : FormatTimeline(outcome.evidence.chronicle, start)) page << line << "\n";
  page << "\nMessages\n"
       << FormatMessageLedgers(outcome.message_ledgers) << "  " << floor.acknowledged.size()
       << " offers acknowledged in " << floor.tries << " tries; " << floor.repeated
       << " were repeated and recognised\n  watchers heard of " << floor.prices_seen << " prices\n"
       << "\nChecks\n"
       << FormatChecks(checks);
  if (outcome.tree_gave_up.has_value()) {
    page << "\nThe tree gave up, and the run ended there\n" << FormatCauses(*outcome.tree_gave_up);
  }
  if (!outcome.failure.ok()) page << "\n" << FormatFailure(outcome.failure);
  bool all_hold = outcome.failure.ok() && !outcome.tree_gave_up.has_value();
  for (const Check& check : checks) all_hold = all_hold && check.holds;
  page << (all_hold ? "\nAll holds.\n" : "\nFAILED.\n");
  std::cout << (terminal.takes_colour() ? Coloured(page.str()) : page.str());
  return all_hold;
}

// The node and the folder that an interrupt has to end and remove. End keeps the lock
// until the process exits, so a later call of Set waits for that.
class Running {
 public:
  void Set(understudy::Node* node) {
    absl::MutexLock lock(&mu_);
    node_ = node;
  }
  void Set(TempFolder* folder) {
    absl::MutexLock lock(&mu_);
    folder_ = folder;
  }
  void End(int signal) {
    absl::MutexLock lock(&mu_);
    std::cout << "\ninterrupted: stopping" << '\n' << std::flush;
    if (node_ != nullptr) node_->Drain(kInterruptedDrain);
    if (folder_ != nullptr) (void)folder_->Remove();
    _exit(128 + signal);
  }

 private:
  absl::Mutex mu_;
  understudy::Node* node_ ABSL_GUARDED_BY(mu_) = nullptr;
  TempFolder* folder_ ABSL_GUARDED_BY(mu_) = nullptr;
};

// Returns a lane for the ledger, and for each house a lane with the lanes of its lots below it.
std::vector<Lane> LanesOf(const std::vector<Lot>& lots) {
  std::vector<Lane> lanes = {{"ledger", ""}};
  for (int number = 1; number <= kHouses; ++number) {
    lanes.push_back({HouseName(number), ""});
    for (size_t i = 0; i < lots.size(); ++i) {
      if (HouseOfLot(i) == number) lanes.push_back({lots[i].id, HouseName(number)});
    }
  }
  return lanes;
}

void Keep(const std::string& kept, const RunInput& input, const DemoOutcome& outcome, absl::Time start) {
  const std::string picture = absl::StrCat(kept, "/", kPicture);
  const absl::Status drawn =
      ReplaceFile(picture, DrawRun(LanesOf(input.lots), outcome.evidence.chronicle, start, absl::Now()));
  std::cout << "\n"
            << (drawn.ok() ? absl::StrCat("Picture: file://", picture) : std::string(drawn.message()))
            << "\nLog: " << kept << "/" << kLog << '\n'
            << std::flush;
}

int RunInFolder(const RunInput& input, RunPlan plan, Pace pace, TempFolder& folder, const std::string& kept,
                Running& running) {
  const absl::Time start = absl::Now();
  absl::StatusOr<StandardErrorToFile> log = StandardErrorToFile::To(absl::StrCat(kept, "/", kLog));
  if (!log.ok()) return Refuse(log.status());
  absl::Status copied = WriteFile(folder.File("lots.textproto"), input.lots_text);
  if (!copied.ok()) return Refuse(copied);
  understudy::ActorSystem system({.name = "launcher",
                                  .seed = absl::GetFlag(FLAGS_seed),
                                  .log = &understudy::LogSink::Stderr(understudy::LogSeverity::kWarning)});
  absl::StatusOr<std::unique_ptr<understudy::Node>> node = understudy::Node::Start(system, {.listen = ""});
  if (!node.ok()) return Refuse(node.status());
  std::unique_ptr<understudy::Ops> ops;
  if (const std::string socket = UserPath(absl::GetFlag(FLAGS_ops)); !socket.empty()) {
    absl::StatusOr<std::unique_ptr<understudy::Ops>> started =
        understudy::Ops::Start(system, {.listen = absl::StrCat("unix:", socket), .node = node->get()});
    if (!started.ok()) return Refuse(started.status());
    ops = *std::move(started);
  }
  std::unique_ptr<understudy::tool::SystemObserver> observer;
  if (absl::GetFlag(FLAGS_observe)) {
    absl::StatusOr<std::unique_ptr<understudy::tool::SystemObserver>> started =
        understudy::tool::SystemObserver::Start(system, node->get(), folder.path());
    if (!started.ok()) return Refuse(started.status());
    observer = *std::move(started);
    std::cout << "observe: " << observer->PrintedAddress() << "\n" << std::flush;
  }
  std::unique_ptr<understudy::Metrics> metrics;
  if (const std::string address = absl::GetFlag(FLAGS_metrics); !address.empty()) {
    absl::StatusOr<std::unique_ptr<understudy::Metrics>> started =
        understudy::Metrics::Start(system, {.listen = address, .node = node->get()});
    if (!started.ok()) return Refuse(started.status());
    metrics = *std::move(started);
    std::cout << "metrics: http://" << metrics->address() << "/metrics\n" << std::flush;
  }
  running.Set(node->get());

  Terminal terminal;
  DemoSetup setup{.lots = input.lots,
                  .plan = std::move(plan),
                  .pace = pace,
                  .lots_path = folder.File("lots.textproto"),
                  .ledger_path = folder.File("ledger.db"),
                  .progress = [&terminal](absl::string_view line) { terminal.Line(line); },
                  .status = [&terminal](absl::string_view line) { terminal.Status(line); },
                  .status_period = terminal.is_one() ? kStatusPeriod : kStatusPeriodOfFile,
                  .started = [&node] { (*node)->Ready(); }};
  DemoRun run(system, std::move(setup));
  DemoOutcome outcome = run.Run();
  running.Set(static_cast<understudy::Node*>(nullptr));  // waits for an interrupt, which removes the folder
  outcome.failure.Update(run.ReadLedger(outcome));
  terminal.Clear();
  const bool all_hold = PrintOutcome(input, outcome, start, terminal);
  Keep(kept, input, outcome, start);
  const std::string results_path = UserPath(absl::GetFlag(FLAGS_results));
  if (all_hold && !results_path.empty()) {
    const auto results = LedgerResults(input.lots, outcome.evidence.ledger_closings);
    absl::Status written = ReplaceFile(results_path, ResultsCsv(results));
    if (!written.ok()) return Refuse(written);
  }
  return all_hold ? 0 : kExitFailed;
}

int Main() {
  Running running;
  Interrupt interrupt([&running](int signal) { running.End(signal); });

  absl::StatusOr<RunInput> input = LoadInput(PathOf(absl::GetFlag(FLAGS_lots), "examples/auction/data/lots.textproto"),
                                             PathOf(absl::GetFlag(FLAGS_bids), "examples/auction/data/bids.csv"));
  if (!input.ok()) return Refuse(input.status());
  absl::StatusOr<Kills> kills = ParseKills(absl::GetFlag(FLAGS_kills));
  if (!kills.ok()) return Refuse(kills.status());
  absl::StatusOr<RunPlan> plan = MakeRunPlan(input->lots, input->bids, absl::GetFlag(FLAGS_seed), *kills);
  if (!plan.ok()) {
    std::cout << FormatProblems(input->problems) << std::flush;
    return Refuse(plan.status());
  }
  absl::StatusOr<Pace> pace =
      MakePace(absl::GetFlag(FLAGS_speed), absl::Now() + kBeforeOpening, input->lots, input->bids);
  if (!pace.ok()) return Refuse(pace.status());
  const std::string results_path = UserPath(absl::GetFlag(FLAGS_results));
  if (!results_path.empty()) {
    absl::Status writable = CanReplaceFile(results_path);  // checked now, so that the error does not come after the run
    if (!writable.ok()) return Refuse(writable);
  }
  const std::string keep = absl::GetFlag(FLAGS_keep);
  const std::string kept = std::filesystem::absolute(keep.empty() ? DefaultKeptFolder() : UserPath(keep)).string();
  if (absl::Status made = MakeKeptFolder(kept); !made.ok()) return Refuse(made);
  absl::StatusOr<TempFolder> folder = TempFolder::Make("auction");
  if (!folder.ok()) return Refuse(folder.status());
  running.Set(&*folder);

  PrintInput(*input, *plan);
  const int status = RunInFolder(*input, *std::move(plan), *pace, *folder, kept, running);
  running.Set(static_cast<TempFolder*>(nullptr));
  return status;
}

}  // namespace
}  // namespace auction

int main(int argc, char** argv) {
  absl::SetProgramUsageMessage(
      "Runs an auction service over three processes, kills one of them and crashes one actor on the way, and checks "
      "that nothing was lost.\n\n  demo [--seed=N] [--speed=N|max] [--kills=all|house|lot|none] [--results=FILE] "
      "[--keep=FOLDER] [--observe]");
  const std::vector<char*> words = auction::ParseFlags(argc, argv);
  if (words.size() > 1) {
    return auction::Refuse(
        absl::InvalidArgumentError(absl::StrCat("unexpected word '", words[1], "': expected flags only; see --help")));
  }
  return auction::Main();
}
