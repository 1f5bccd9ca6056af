// RemoteRun: one measured run of a workload between processes of this machine, and the systems that do it.
//
// The client is the process that measures. It starts the same program once more for each server, and a server serves
// until its standard input ends. Only remote_main.cc and server_process.h know of processes; a system has a Serve and a
// Measure.
#ifndef UNDERSTUDY_TESTS_BENCH_REMOTE_REMOTE_RUN_H_
#define UNDERSTUDY_TESTS_BENCH_REMOTE_REMOTE_RUN_H_

#include <sys/types.h>

#include <cstdint>
#include <functional>
#include <string>
#include <utility>
#include <vector>

#include "absl/strings/string_view.h"
#include "absl/time/time.h"

namespace understudy::bench {

// Bytes of each message's payload.
inline constexpr int64_t kRemoteMessageBytes = 64;
// Pairs of round_trip_100; the other workloads have fewer pairs or senders.
inline constexpr int kRemotePairsMax = 100;
// The pause between two asks of ask_1ms.
inline constexpr absl::Duration kRemoteAskPause = absl::Milliseconds(1);

// A server process that listens.
struct RemoteServer {
  std::string address;  // in the form of NodeAddress
  pid_t pid = 0;
};

struct RemoteRun {
  enum class Kind {
    kRoundTrip,
    kAsk,
    kOneWay,
    kIdle,       // connected to all servers, and nothing is sent; an operation is a millisecond
    kHandshake,  // a TLS handshake after another; remote_connections.cc does this and what follows
    kSilent,     // connections that send nothing
    kHello,      // connections that send a TLS ClientHello and nothing more
  } kind = Kind::kRoundTrip;
  int pairs = 1;                      // of actors for round trips, or senders; pair i uses server i % servers.size()
  int64_t operations = 0;             // of all pairs together
  int envelopes = 1;                  // in each message of a raw gRPC stream
  std::vector<RemoteServer> servers;  // server i is the node ServerName(i)
  std::string certificates;           // the folder that tools/make_certs filled; empty: no TLS
};

struct RemoteMeasurement {
  int64_t count = 0;  // operations whose effect was seen
  double seconds = 0;
  double cpu_seconds = 0;                 // used by the client meanwhile; set for round trips and one-way messages
  std::vector<absl::Duration> latencies;  // of each ask
  // Figures other than the rate; each becomes a row of the table.
  std::vector<std::pair<std::string, double>> figures;
};

struct RemoteServe {
  std::string node;          // ServerName of this server
  std::string address;       // port 0: any
  std::string certificates;  // as in RemoteRun
};

// The server calls `ready` with its real address, and serves until `ended` returns.
using RemoteReady = std::function<void(absl::string_view address)>;
using RemoteEnded = std::function<void()>;

struct RemoteSystem {
  absl::string_view name;
  void (*serve)(const RemoteServe& serve, const RemoteReady& ready, const RemoteEnded& ended);
  RemoteMeasurement (*measure)(const RemoteRun& run);
};

void ServeUnderstudy(const RemoteServe& serve, const RemoteReady& ready, const RemoteEnded& ended);
RemoteMeasurement MeasureUnderstudy(const RemoteRun& run);
void ServeGrpcCallback(const RemoteServe& serve, const RemoteReady& ready, const RemoteEnded& ended);
RemoteMeasurement MeasureGrpcCallback(const RemoteRun& run);
void ServeGrpcQueue(const RemoteServe& serve, const RemoteReady& ready, const RemoteEnded& ended);
RemoteMeasurement MeasureGrpcQueue(const RemoteRun& run);

// kHandshake, kSilent and kHello, with the server of any system that listens on TCP with TLS.
RemoteMeasurement MeasureConnections(const RemoteRun& run);

// The names of the nodes, and so of their certificates.
inline constexpr char kClientName[] = "client";
std::string ServerName(int64_t index);

// The CPU time that a process has used, in seconds.
double CpuSeconds(pid_t pid);

// Waits for `pause` without using the CPU.
void RemotePause(absl::Duration pause);

// The time of the monotonic clock in nanoseconds.
int64_t NowNanos();

// Measures from its construction.
class RemoteStopwatch {
 public:
  RemoteStopwatch();
  // Returns the measurement of `count` operations done since the construction.
  RemoteMeasurement Measured(int64_t count) const;

 private:
  const int64_t began_;
  const double cpu_began_;
};

}  // namespace understudy::bench

#endif  // UNDERSTUDY_TESTS_BENCH_REMOTE_REMOTE_RUN_H_
