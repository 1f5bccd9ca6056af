// RemoteRun: one measured run of a workload between two processes of this machine, and the systems that do it.
//
// The program is started twice: the client is the one that measures; it starts the server, which serves until its
// standard input ends. Only main.cc knows of processes; a system has a Serve and a Measure.
#ifndef UNDERSTUDY_TESTS_BENCH_REMOTE_REMOTE_RUN_H_
#define UNDERSTUDY_TESTS_BENCH_REMOTE_REMOTE_RUN_H_

#include <cstdint>
#include <functional>
#include <string>
#include <vector>

#include "absl/strings/string_view.h"
#include "absl/time/time.h"

namespace understudy::bench {

// Bytes of each message's payload.
inline constexpr int64_t kRemoteMessageBytes = 64;
// Pairs of round_trip_100, senders of one_way_8.
inline constexpr int kRemotePairsMax = 100;
// Between two asks of ask_1ms.
inline constexpr absl::Duration kRemoteAskPause = absl::Milliseconds(1);

struct RemoteRun {
  enum class Kind { kRoundTrip, kAsk, kOneWay } kind = Kind::kRoundTrip;
  int pairs = 1;           // of round trips, or senders
  int64_t operations = 0;  // of all pairs together
  int envelopes = 1;       // in each message of a raw gRPC stream
  std::string address;     // the server's, in the form of NodeAddress
};

struct RemoteMeasurement {
  int64_t count = 0;  // operations whose effect was seen
  double seconds = 0;
  std::vector<absl::Duration> latencies;  // of each ask
};

// The server listens at `address` (port 0: any), calls `ready` with the real one, and serves until `ended` returns.
using RemoteReady = std::function<void(absl::string_view address)>;
using RemoteEnded = std::function<void()>;

struct RemoteSystem {
  absl::string_view name;
  void (*serve)(const std::string& address, const RemoteReady& ready, const RemoteEnded& ended);
  RemoteMeasurement (*measure)(const RemoteRun& run);
};

void ServeUnderstudy(const std::string& address, const RemoteReady& ready, const RemoteEnded& ended);
RemoteMeasurement MeasureUnderstudy(const RemoteRun& run);
void ServeGrpcCallback(const std::string& address, const RemoteReady& ready, const RemoteEnded& ended);
RemoteMeasurement MeasureGrpcCallback(const RemoteRun& run);
void ServeGrpcQueue(const std::string& address, const RemoteReady& ready, const RemoteEnded& ended);
RemoteMeasurement MeasureGrpcQueue(const RemoteRun& run);

// Waits for kRemoteAskPause, in which nothing happens.
void RemoteAskPause();

// The monotonic clock.
int64_t NowNanos();

}  // namespace understudy::bench

#endif  // UNDERSTUDY_TESTS_BENCH_REMOTE_REMOTE_RUN_H_
