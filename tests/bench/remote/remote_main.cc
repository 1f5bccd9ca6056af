// Measures one run of one workload between processes of this machine:
//
//   remote_bench --system=understudy --network=unix --workload=round_trip_1 --operations=20000
//
// The program prints one line of name=value, as understudy_bench does, for remote.py. `--build` prints how it was
// built. With `--serve=ADDRESS --node=NAME` it is a server: it prints the address on which it listens and serves until
// its standard input ends. Exit status 2: wrong arguments.
#include <unistd.h>

#include <algorithm>
#include <array>
#include <cstdint>
#include <ctime>
#include <iostream>
#include <memory>
#include <string>
#include <utility>
#include <vector>

#include "absl/strings/match.h"
#include "absl/strings/numbers.h"
#include "absl/strings/str_cat.h"
#include "absl/strings/str_format.h"
#include "absl/strings/string_view.h"
#include "absl/strings/strip.h"
#include "absl/synchronization/notification.h"
#include "absl/time/time.h"
#include "understudy/actors/check.h"
#include "understudy/tests/bench/build_info.h"
#include "understudy/tests/bench/remote/remote_run.h"
#include "understudy/tests/bench/remote/server_process.h"

namespace understudy::bench {
namespace {

int64_t Nanos(clockid_t clock) {
  timespec now;
  clock_gettime(clock, &now);
  return int64_t{now.tv_sec} * 1'000'000'000 + now.tv_nsec;
}

}  // namespace

int64_t NowNanos() { return Nanos(CLOCK_MONOTONIC); }

double CpuSeconds(pid_t pid) {
  clockid_t clock = CLOCK_PROCESS_CPUTIME_ID;
  UNDERSTUDY_CHECK(clock_getcpuclockid(pid, &clock) == 0, "no CPU clock of process ", pid);
  return static_cast<double>(Nanos(clock)) / 1e9;
}

void RemotePause(absl::Duration pause) {
  absl::Notification never;
  (void)never.WaitForNotificationWithTimeout(pause);
}

RemoteStopwatch::RemoteStopwatch() : began_(NowNanos()), cpu_began_(CpuSeconds(getpid())) {}

RemoteMeasurement RemoteStopwatch::Measured(int64_t count) const {
  return {.count = count,
          .seconds = static_cast<double>(NowNanos() - began_) / 1e9,
          .cpu_seconds = CpuSeconds(getpid()) - cpu_began_};
}

std::string ServerName(int64_t index) { return absl::StrCat("server-", index); }

namespace {

constexpr std::array<RemoteSystem, 3> kSystems = {{{"understudy", &ServeUnderstudy, &MeasureUnderstudy},
                                                   {"grpc_callback", &ServeGrpcCallback, &MeasureGrpcCallback},
                                                   {"grpc_queue", &ServeGrpcQueue, &MeasureGrpcQueue}}};

struct NamedWorkload {
  absl::string_view name;
  RemoteRun::Kind kind;
  int pairs;
  int servers = 1;
};

constexpr std::array<NamedWorkload, 17> kWorkloads = {{{"round_trip_1", RemoteRun::Kind::kRoundTrip, 1},
                                                       {"round_trip_100", RemoteRun::Kind::kRoundTrip, 100},
                                                       {"ask_1ms", RemoteRun::Kind::kAsk, 1},
                                                       {"one_way_1", RemoteRun::Kind::kOneWay, 1},
                                                       {"one_way_8", RemoteRun::Kind::kOneWay, 8},
                                                       {"round_trip_peers_1", RemoteRun::Kind::kRoundTrip, 64, 1},
                                                       {"round_trip_peers_4", RemoteRun::Kind::kRoundTrip, 64, 4},
                                                       {"round_trip_peers_16", RemoteRun::Kind::kRoundTrip, 64, 16},
                                                       {"round_trip_peers_64", RemoteRun::Kind::kRoundTrip, 64, 64},
                                                       {"one_way_peers_1", RemoteRun::Kind::kOneWay, 64, 1},
                                                       {"one_way_peers_4", RemoteRun::Kind::kOneWay, 64, 4},
                                                       {"one_way_peers_16", RemoteRun::Kind::kOneWay, 64, 16},
                                                       {"one_way_peers_64", RemoteRun::Kind::kOneWay, 64, 64},
                                                       {"idle_peers_64", RemoteRun::Kind::kIdle, 1, 64},
                                                       {"tls_handshake", RemoteRun::Kind::kHandshake, 1},
                                                       {"half_open_silent", RemoteRun::Kind::kSilent, 1},
                                                       {"half_open_hello", RemoteRun::Kind::kHello, 1}}};

struct Flags {
  std::string system;
  std::string network;
  std::string workload;
  std::string certificates;
  std::string serve;
  std::string node;
  int64_t operations = 0;
  int envelopes = 1;
  bool build = false;
};

int CallWrongly(absl::string_view what) {
  std::cerr << "remote_bench: " << what
            << "\nusage: remote_bench --system=NAME --network=unix|tcp|tls --workload=NAME --operations=N "
               "[--envelopes=N] [--certificates=FOLDER]\n";
  return 2;
}

std::string Parse(const std::vector<std::string>& arguments, Flags& flags) {
  const std::array<std::pair<absl::string_view, std::string*>, 6> texts = {{{"--system=", &flags.system},
                                                                            {"--network=", &flags.network},
                                                                            {"--workload=", &flags.workload},
                                                                            {"--certificates=", &flags.certificates},
                                                                            {"--serve=", &flags.serve},
                                                                            {"--node=", &flags.node}}};
  for (absl::string_view argument : arguments) {
    absl::string_view rest = argument;
    const auto* const text = std::find_if(
        texts.begin(), texts.end(), [&rest](const auto& known) { return absl::ConsumePrefix(&rest, known.first); });
    if (text != texts.end()) {
      *text->second = std::string(rest);
    } else if (absl::ConsumePrefix(&rest, "--operations=")) {
      if (!absl::SimpleAtoi(rest, &flags.operations)) return absl::StrCat("not a number: ", argument);
    } else if (absl::ConsumePrefix(&rest, "--envelopes=")) {
      if (!absl::SimpleAtoi(rest, &flags.envelopes)) return absl::StrCat("not a number: ", argument);
    } else if (rest == "--build") {
      flags.build = true;
    } else {
      return absl::StrCat("unknown flag: ", argument);
    }
  }
  return "";
}

int Serve(const RemoteSystem& system, const Flags& flags) {
  system.serve(
      {.node = flags.node, .address = flags.serve, .certificates = flags.certificates},
      [](absl::string_view real) { std::cout << real << std::endl; },
      [] {
        char byte = 0;
        while (read(STDIN_FILENO, &byte, 1) > 0) {
        }
      });
  return 0;
}

bool IsOfConnections(RemoteRun::Kind kind) {
  return kind == RemoteRun::Kind::kHandshake || kind == RemoteRun::Kind::kSilent || kind == RemoteRun::Kind::kHello;
}

void Print(const NamedWorkload& workload, RemoteMeasurement& measured) {
  std::cout << absl::StrFormat("workload=%s count=%d seconds=%.6f bytes=0 capacity=default", workload.name,
                               measured.count, measured.seconds);
  if (std::vector<absl::Duration>& latencies = measured.latencies; !latencies.empty()) {
    std::sort(latencies.begin(), latencies.end());
    std::cout << absl::StrFormat(" median_us=%.3f p99_us=%.3f",
                                 absl::ToDoubleMicroseconds(latencies[latencies.size() / 2]),
                                 absl::ToDoubleMicroseconds(latencies[latencies.size() * 99 / 100]));
  }
  if (absl::StrContains(workload.name, "_peers_") && measured.cpu_seconds > 0) {
    measured.figures.emplace_back("cpu_us", measured.cpu_seconds / static_cast<double>(measured.count) * 1e6);
  }
  for (const auto& [name, value] : measured.figures) std::cout << absl::StrFormat(" figure_%s=%.6f", name, value);
  std::cout << std::endl;
}

int Measure(const RemoteSystem& system, const NamedWorkload& workload, const Flags& flags) {
  RemoteRun run = {.kind = workload.kind,
                   .pairs = workload.pairs,
                   .operations = flags.operations,
                   .envelopes = flags.envelopes,
                   .servers = {},
                   .certificates = flags.certificates};
  const auto socket = [](int server) { return absl::StrCat("/tmp/remote_bench.", getpid(), ".", server, ".sock"); };
  std::vector<std::unique_ptr<ServerProcess>> servers;
  for (int i = 0; i < workload.servers; ++i) {
    const std::string address = flags.network == "unix" ? absl::StrCat("unix:", socket(i)) : "127.0.0.1:0";
    servers.push_back(std::make_unique<ServerProcess>(std::vector<std::string>{
        absl::StrCat("--system=", flags.system), absl::StrCat("--certificates=", flags.certificates),
        absl::StrCat("--serve=", address), absl::StrCat("--node=", ServerName(i))}));
  }
  for (const std::unique_ptr<ServerProcess>& server : servers) run.servers.push_back(server->AwaitReady());
  RemoteMeasurement measured = IsOfConnections(run.kind) ? MeasureConnections(run) : system.measure(run);
  servers.clear();
  for (int i = 0; flags.network == "unix" && i < workload.servers; ++i) unlink(socket(i).c_str());
  if (measured.count != flags.operations) {
    std::cerr << "remote_bench: " << measured.count << " of " << flags.operations << " operations were seen\n";
    return 1;
  }
  Print(workload, measured);
  return 0;
}

int Main(const std::vector<std::string>& arguments) {
  Flags flags;
  if (const std::string wrong = Parse(arguments, flags); !wrong.empty()) return CallWrongly(wrong);
  if (flags.build) {
    std::cout << kBuildInfo << "\n";
    return 0;
  }
  const auto* const system = std::find_if(kSystems.begin(), kSystems.end(),
                                          [&](const RemoteSystem& known) { return known.name == flags.system; });
  if (system == kSystems.end()) return CallWrongly(absl::StrCat("unknown system: \"", flags.system, "\""));
  if (!flags.serve.empty()) return Serve(*system, flags);
  const auto* const workload = std::find_if(kWorkloads.begin(), kWorkloads.end(),
                                            [&](const NamedWorkload& known) { return known.name == flags.workload; });
  if (workload == kWorkloads.end()) return CallWrongly(absl::StrCat("unknown workload: \"", flags.workload, "\""));
  if (flags.network != "unix" && flags.network != "tcp" && flags.network != "tls") {
    return CallWrongly("--network is unix, tcp or tls");
  }
  if ((flags.network == "tls") == flags.certificates.empty())
    return CallWrongly("--network=tls goes with certificates");
  if (IsOfConnections(workload->kind) && flags.certificates.empty()) {
    return CallWrongly(absl::StrCat(workload->name, " is a workload of --network=tls"));
  }
  if (flags.envelopes <= 0 || flags.operations <= 0 || flags.operations % (workload->pairs * flags.envelopes) != 0) {
    return CallWrongly("--operations is above 0 and a multiple of pairs and envelopes");
  }
  return Measure(*system, *workload, flags);
}

}  // namespace
}  // namespace understudy::bench

int main(int argc, char** argv) { return understudy::bench::Main(std::vector<std::string>(argv + 1, argv + argc)); }
