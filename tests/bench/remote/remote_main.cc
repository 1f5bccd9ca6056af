// One run of one workload between two processes:
//
//   remote_bench --system=understudy --network=unix --workload=round_trip_1 --operations=20000
//
// It prints one line of name=value, as understudy_bench does, for remote.py. `--build` prints how it was built. With
// `--serve=ADDRESS` it is the server: it prints where it listens and serves until its standard input ends. Exit status
// 2: called wrongly.
#include <fcntl.h>
#include <spawn.h>
#include <sys/wait.h>
#include <unistd.h>

#include <algorithm>
#include <array>
#include <cstdint>
#include <ctime>
#include <iostream>
#include <string>
#include <vector>

#include "absl/strings/numbers.h"
#include "absl/strings/str_cat.h"
#include "absl/strings/str_format.h"
#include "absl/strings/strip.h"
#include "absl/synchronization/notification.h"
#include "absl/time/time.h"
#include "understudy/actors/check.h"
#include "understudy/tests/bench/build_info.h"
#include "understudy/tests/bench/remote/remote_run.h"

extern char** environ;

namespace understudy::bench {

int64_t NowNanos() {
  timespec now;
  clock_gettime(CLOCK_MONOTONIC, &now);
  return int64_t{now.tv_sec} * 1'000'000'000 + now.tv_nsec;
}

void RemoteAskPause() {
  absl::Notification never;
  (void)never.WaitForNotificationWithTimeout(kRemoteAskPause);
}

namespace {

constexpr std::array<RemoteSystem, 3> kSystems = {{{"understudy", &ServeUnderstudy, &MeasureUnderstudy},
                                                   {"grpc_callback", &ServeGrpcCallback, &MeasureGrpcCallback},
                                                   {"grpc_queue", &ServeGrpcQueue, &MeasureGrpcQueue}}};

struct NamedWorkload {
  absl::string_view name;
  RemoteRun::Kind kind;
  int pairs;
};

constexpr std::array<NamedWorkload, 5> kWorkloads = {{{"round_trip_1", RemoteRun::Kind::kRoundTrip, 1},
                                                      {"round_trip_100", RemoteRun::Kind::kRoundTrip, 100},
                                                      {"ask_1ms", RemoteRun::Kind::kAsk, 1},
                                                      {"one_way_1", RemoteRun::Kind::kOneWay, 1},
                                                      {"one_way_8", RemoteRun::Kind::kOneWay, 8}}};

struct Flags {
  std::string system;
  std::string network;
  std::string workload;
  std::string serve;
  int64_t operations = 0;
  int envelopes = 1;
  bool build = false;
};

int CallWrongly(absl::string_view what) {
  std::cerr
      << "remote_bench: " << what
      << "\nusage: remote_bench --system=NAME --network=unix|tcp --workload=NAME --operations=N [--envelopes=N]\n";
  return 2;
}

std::string Parse(const std::vector<std::string>& arguments, Flags& flags) {
  for (absl::string_view argument : arguments) {
    absl::string_view rest = argument;
    if (absl::ConsumePrefix(&rest, "--system=")) {
      flags.system = std::string(rest);
    } else if (absl::ConsumePrefix(&rest, "--network=")) {
      flags.network = std::string(rest);
    } else if (absl::ConsumePrefix(&rest, "--workload=")) {
      flags.workload = std::string(rest);
    } else if (absl::ConsumePrefix(&rest, "--serve=")) {
      flags.serve = std::string(rest);
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

// The server process; its address, and its end.
class ServerProcess {
 public:
  ServerProcess(const Flags& flags, const std::string& address) {
    std::array<int, 2> to;
    std::array<int, 2> from;
    UNDERSTUDY_CHECK(pipe2(to.data(), O_CLOEXEC) == 0 && pipe2(from.data(), O_CLOEXEC) == 0, "no pipe");
    posix_spawn_file_actions_t actions;
    posix_spawn_file_actions_init(&actions);
    posix_spawn_file_actions_adddup2(&actions, to[0], STDIN_FILENO);
    posix_spawn_file_actions_adddup2(&actions, from[1], STDOUT_FILENO);
    std::string system = absl::StrCat("--system=", flags.system);
    std::string serve = absl::StrCat("--serve=", address);
    std::string self = "remote_bench";
    std::array<char*, 4> arguments = {self.data(), system.data(), serve.data(), nullptr};
    UNDERSTUDY_CHECK(posix_spawn(&pid_, "/proc/self/exe", &actions, nullptr, arguments.data(), environ) == 0,
                     "the server does not start");
    posix_spawn_file_actions_destroy(&actions);
    close(to[0]);
    close(from[1]);
    stdin_ = to[1];
    char byte = 0;
    while (read(from[0], &byte, 1) == 1 && byte != '\n') address_.push_back(byte);
    close(from[0]);
    UNDERSTUDY_CHECK(!address_.empty(), "the server did not say where it listens");
  }
  ~ServerProcess() {
    close(stdin_);
    waitpid(pid_, nullptr, 0);
  }
  ServerProcess(const ServerProcess&) = delete;
  ServerProcess& operator=(const ServerProcess&) = delete;

  const std::string& address() const { return address_; }

 private:
  pid_t pid_ = 0;
  int stdin_ = -1;
  std::string address_;
};

int Serve(const RemoteSystem& system, const std::string& address) {
  system.serve(
      address, [](absl::string_view real) { std::cout << real << std::endl; },
      [] {
        char byte = 0;
        while (read(STDIN_FILENO, &byte, 1) > 0) {
        }
      });
  return 0;
}

int Measure(const RemoteSystem& system, const NamedWorkload& workload, const Flags& flags) {
  const std::string address =
      flags.network == "unix" ? absl::StrCat("unix:/tmp/remote_bench.", getpid(), ".sock") : "127.0.0.1:0";
  RemoteMeasurement measured;
  {
    const ServerProcess server(flags, address);
    measured = system.measure({.kind = workload.kind,
                               .pairs = workload.pairs,
                               .operations = flags.operations,
                               .envelopes = flags.envelopes,
                               .address = server.address()});
  }
  if (flags.network == "unix") unlink(std::string(absl::StripPrefix(address, "unix:")).c_str());
  if (measured.count != flags.operations) {
    std::cerr << "remote_bench: " << measured.count << " of " << flags.operations << " operations were seen\n";
    return 1;
  }
  std::cout << absl::StrFormat("workload=%s count=%d seconds=%.6f bytes=0 capacity=default", workload.name,
                               measured.count, measured.seconds);
  if (std::vector<absl::Duration>& latencies = measured.latencies; !latencies.empty()) {
    std::sort(latencies.begin(), latencies.end());
    std::cout << absl::StrFormat(" median_us=%.3f p99_us=%.3f",
                                 absl::ToDoubleMicroseconds(latencies[latencies.size() / 2]),
                                 absl::ToDoubleMicroseconds(latencies[latencies.size() * 99 / 100]));
  }
  std::cout << std::endl;
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
  if (!flags.serve.empty()) return Serve(*system, flags.serve);
  const auto* const workload = std::find_if(kWorkloads.begin(), kWorkloads.end(),
                                            [&](const NamedWorkload& known) { return known.name == flags.workload; });
  if (workload == kWorkloads.end()) return CallWrongly(absl::StrCat("unknown workload: \"", flags.workload, "\""));
  if (flags.network != "unix" && flags.network != "tcp") return CallWrongly("--network is unix or tcp");
  if (flags.envelopes <= 0 || flags.operations <= 0 || flags.operations % (workload->pairs * flags.envelopes) != 0) {
    return CallWrongly("--operations is above 0 and a multiple of pairs and envelopes");
  }
  return Measure(*system, *workload, flags);
}

}  // namespace
}  // namespace understudy::bench

int main(int argc, char** argv) { return understudy::bench::Main(std::vector<std::string>(argv + 1, argv + argc)); }
