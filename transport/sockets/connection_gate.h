// ConnectionGate: decides which connections a listener accepts, and how long a connection
// may exist before and after it carries a stream.
//
// A plain state machine: no sockets, threads or clock inside. A connection is
//   half-open  from its accept until a stream begins on it, for at most begins_within. At
//              most half_open_max connections are half-open; one more closes the oldest,
//              so that silent connections do not keep out a peer that begins a stream.
//   carrying   while its one stream lives.
//   lingering  for `linger` after the end of its stream, or after the stream was refused, so
//              that the peer can read the last frame or the refusal.
// There are at most connections_max in all, and at most per_second are accepted
// in a second, after a burst.
#ifndef UNDERSTUDY_TRANSPORT_SOCKETS_CONNECTION_GATE_H_
#define UNDERSTUDY_TRANSPORT_SOCKETS_CONNECTION_GATE_H_

#include <cstdint>
#include <functional>
#include <map>
#include <set>
#include <string>
#include <utility>
#include <vector>

#include "absl/strings/string_view.h"
#include "absl/time/time.h"
#include "understudy/actors/clock.h"
#include "understudy/actors/limits.h"

namespace understudy::internal {

struct ConnectionBounds {
  int connections_max = limits::kStreamsPerListenerMax;
  // A half-open connection costs the memory of gRPC's buffers. This is enough for all peers
  // of a restarted node to connect at once.
  int half_open_max = 256;
  // Limits the CPU time of TLS handshakes, which take about 1.8 ms each (tests/bench/README.md), to some 36% of a core.
  int per_second = 200;
  int burst = 256;
  // More than a handshake takes on a loaded machine; the dialling side times out before.
  absl::Duration begins_within = absl::Seconds(5);
  absl::Duration linger = absl::Seconds(1);
};

struct ConnectionCounts {
  int connections = 0;
  int half_open = 0;
  int64_t accepted = 0;
  int64_t refused = 0;  // too many, another user's, or without an address
  int64_t closed = 0;   // closed by the acceptor: their time was over, or they made room
  int64_t starved = 0;  // accepts that failed because no descriptor was left
};

class ConnectionGate {
 public:
  ConnectionGate(const ConnectionBounds& bounds, MonotonicTime now);

  // The time from which the next connection may be accepted; at most `now` if one may be accepted now.
  MonotonicTime NextAcceptAt(MonotonicTime now);

  // A connection was accepted; `key` identifies it from now on. Returns false if the caller
  // must close it at once, because there are too many or the key is taken. Adds to `close`
  // the keys of the connections that the caller must close to make room.
  [[nodiscard]] bool OnAccepted(absl::string_view key, MonotonicTime now, std::vector<std::string>& close);
  // A stream has begun on the connection. Returns false if the stream must be refused,
  // because the connection is unknown or has had a stream before.
  [[nodiscard]] bool OnBegun(absl::string_view key);
  // The stream on the connection has ended.
  void OnOver(absl::string_view key, MonotonicTime now);
  // The connection has ended.
  void OnClosed(absl::string_view key);

  // Forgets the connections whose time is over and returns their keys; the caller closes
  // them.
  std::vector<std::string> TakeExpired(MonotonicTime now);
  // The earliest deadline of a connection; InfiniteFuture if none has a deadline.
  MonotonicTime NextDeadline() const;

  int connections() const { return static_cast<int>(connections_.size()); }
  int half_open() const { return half_open_; }

 private:
  enum class State { kHalfOpen, kCarrying, kLingering };
  struct Connection {
    State state = State::kHalfOpen;
    MonotonicTime deadline;
    uint64_t number = 0;  // in the order of the accepts
  };
  using Connections = std::map<std::string, Connection, std::less<>>;
  void Erase(Connections::iterator connection);

  const ConnectionBounds bounds_;
  Connections connections_;
  // The deadlines of the connections that are half-open or lingering.
  std::set<std::pair<MonotonicTime, std::string>> deadlines_;
  std::map<uint64_t, std::string> oldest_half_open_;
  int half_open_ = 0;
  uint64_t accepted_ = 0;
  // The token bucket: the number of accepts that were allowed at `filled_at_`.
  double tokens_;
  MonotonicTime filled_at_;
};

}  // namespace understudy::internal

#endif  // UNDERSTUDY_TRANSPORT_SOCKETS_CONNECTION_GATE_H_
