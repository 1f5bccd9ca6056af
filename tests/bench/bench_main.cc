// Measures one run of one workload:
//
//   understudy_bench --workload=ping_pong --operations=1200000 [--threads=2]
//
// The program prints one line of name=value, as the peers' programs do, for compare.py; for a workload that does one
// operation at a time the line also has how long an operation takes. `--build` prints how the program was built.
// `--reclaim` with `--operations` prints the resident memory after each of three rounds in which that many actors start
// and end. Exit status 2: wrong arguments.
#include <algorithm>
#include <cstdint>
#include <iostream>
#include <string>
#include <vector>

#include "absl/strings/numbers.h"
#include "absl/strings/str_cat.h"
#include "absl/strings/str_format.h"
#include "absl/strings/strip.h"
#include "absl/time/time.h"
#include "understudy/actors/log_sink.h"
#include "understudy/tests/bench/build_info.h"
#include "understudy/tests/bench/workload.h"

namespace understudy::bench {
namespace {

struct Flags {
  std::string workload;
  int64_t operations = 0;
  int threads = 0;
  bool build = false;
  bool reclaim = false;
};

int CallWrongly(absl::string_view what) {
  std::cerr << "understudy_bench: " << what
            << "\nusage: understudy_bench --workload=NAME --operations=N [--threads=N]"
               " | --reclaim --operations=N | --build\nworkloads:";
  for (const Workload& workload : Workloads()) std::cerr << " " << workload.name;
  std::cerr << "\n";
  return 2;
}

// Returns an empty text if all arguments are valid.
std::string Parse(const std::vector<std::string>& arguments, Flags& flags) {
  for (absl::string_view argument : arguments) {
    absl::string_view rest = argument;
    if (absl::ConsumePrefix(&rest, "--workload=")) {
      flags.workload = std::string(rest);
    } else if (absl::ConsumePrefix(&rest, "--operations=")) {
      if (!absl::SimpleAtoi(rest, &flags.operations)) return absl::StrCat("not a number: ", argument);
    } else if (absl::ConsumePrefix(&rest, "--threads=")) {
      if (!absl::SimpleAtoi(rest, &flags.threads)) return absl::StrCat("not a number: ", argument);
    } else if (rest == "--build") {
      flags.build = true;
    } else if (rest == "--reclaim") {
      flags.reclaim = true;
    } else {
      return absl::StrCat("no such flag: ", argument);
    }
  }
  return "";
}

int Run(const Workload& workload, const Flags& flags) {
  ActorSystemOptions options;
  options.threads.threads = flags.threads;
  options.log = &LogSink::Null();  // the workloads crash actors on purpose; these crashes are not logged
  options.crash_reports = CrashReports::kNo;
  Measurement measured;
  MessageLedger ledger;
  {
    ActorSystem system(options);
    // A first run that is not measured, so that memory and threads are there.
    const int64_t warm_up = flags.operations / 10 / kUnit * kUnit;
    if (warm_up > 0 && workload.run != &RunIdleMemory) (void)workload.run(system, warm_up);
    measured = workload.run(system, flags.operations);
    ledger = system.Ledger();
  }
  if (ledger.refused != 0 || measured.count != flags.operations) {
    std::cerr << "understudy_bench: " << measured.count << " of " << flags.operations << " operations were seen, "
              << ledger.refused << " messages refused\n";
    return 1;
  }
  std::cout << absl::StrFormat("workload=%s count=%d seconds=%.6f bytes=%d capacity=%d", workload.name, measured.count,
                               measured.seconds, measured.bytes, workload.capacity_messages);
  if (std::vector<absl::Duration>& latencies = measured.latencies; !latencies.empty()) {
    std::sort(latencies.begin(), latencies.end());
    std::cout << absl::StrFormat(" median_us=%.3f p99_us=%.3f",
                                 absl::ToDoubleMicroseconds(latencies[latencies.size() / 2]),
                                 absl::ToDoubleMicroseconds(latencies[latencies.size() * 99 / 100]));
  }
  std::cout << "\n";
  return 0;
}

// Fails if the resident memory after the third round is more than 5 % above that after the first.
int Reclaim(const Flags& flags) {
  ActorSystemOptions options;
  options.threads.threads = flags.threads;
  ActorSystem system(options);
  const std::vector<int64_t> resident = ResidentAfterRounds<8>(system, flags.operations, 3);
  for (int64_t bytes : resident) std::cout << "actors=" << flags.operations << " resident=" << bytes << "\n";
  return resident[2] <= resident[0] + resident[0] / 20 ? 0 : 1;
}

int Main(const std::vector<std::string>& arguments) {
  Flags flags;
  const std::string wrong = Parse(arguments, flags);
  if (!wrong.empty()) return CallWrongly(wrong);
  if (flags.build) {
    std::cout << kBuildInfo << "\n";
    return 0;
  }
  if (flags.operations <= 0) return CallWrongly("--operations is above 0");
  if (flags.reclaim) return Reclaim(flags);
  const Workload* workload = FindWorkload(flags.workload);
  if (workload == nullptr) return CallWrongly(absl::StrCat("no such workload: \"", flags.workload, "\""));
  if (flags.operations % kUnit != 0) return CallWrongly(absl::StrCat("--operations is a multiple of ", kUnit));
  return Run(*workload, flags);
}

}  // namespace
}  // namespace understudy::bench

int main(int argc, char** argv) { return understudy::bench::Main(std::vector<std::string>(argv + 1, argv + argc)); }
