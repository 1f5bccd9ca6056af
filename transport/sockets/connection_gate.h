// ConnectionGate: which connections a listener takes, and for how long, before
// and after their peer has begun a stream.
//
// A plain state machine: no sockets, threads or clock inside. A connection is
//   half-open  from its accept until a stream begins on it. At most half_open_max
//              are; one more closes the oldest, so that connections that say
//              nothing do not keep out a peer that says something. Its time is
//              bounded by begins_within.
//   carrying   while its one stream lives.
//   lingering  from the end of its stream, for linger: the last frame is read.
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
  // A connection that has not begun a stream costs gRPC's buffers; enough for every
  // peer of a node that restarts to come at once.
  int half_open_max = 256;
  // What computing TLS handshakes may take of a core, at about a millisecond each.
  int per_second = 200;
  int burst = 256;
  // More than a handshake takes on a loaded machine; the dialling side gives up earlier.
  absl::Duration begins_within = absl::Seconds(5);
  absl::Duration linger = absl::Seconds(1);
};

struct ConnectionCounts {
  int connections = 0;
  int half_open = 0;
  int64_t accepted = 0;
  int64_t refused = 0;  // too many, another user's, or without an address
  int64_t closed = 0;   // by us: their time was over, or they made room
  int64_t starved = 0;  // times that no descriptor was left
};

class ConnectionGate {
 public:
  ConnectionGate(const ConnectionBounds& bounds, MonotonicTime now);

  // When the next connection may be accepted: not later than `now` if it may be now.
  MonotonicTime NextAcceptAt(MonotonicTime now);

  // A connection was accepted, and is called by that key. False: it is closed at
  // once, because there are too many or the key is taken. `close` gets the keys of
  // those that make room for it.
  [[nodiscard]] bool OnAccepted(absl::string_view key, MonotonicTime now, std::vector<std::string>& close);
  // A stream has begun on it. False when it has had one, or is not known: the
  // stream is refused.
  [[nodiscard]] bool OnBegun(absl::string_view key);
  // Its stream is over.
  void OnOver(absl::string_view key, MonotonicTime now);
  // The connection has ended.
  void OnClosed(absl::string_view key);

  // Forgets those whose time is over, which are to be closed.
  std::vector<std::string> TakeExpired(MonotonicTime now);
  // InfiniteFuture when no connection has a deadline.
  MonotonicTime NextDeadline() const;

  int connections() const { return static_cast<int>(connections_.size()); }
  int half_open() const { return half_open_; }

 private:
  enum class State { kHalfOpen, kCarrying, kLingering };
  struct Connection {
    State state = State::kHalfOpen;
    MonotonicTime deadline;
    uint64_t number = 0;  // of the accept
  };
  using Connections = std::map<std::string, Connection, std::less<>>;
  void Erase(Connections::iterator connection);

  const ConnectionBounds bounds_;
  Connections connections_;
  // Of those that are half-open or lingering.
  std::set<std::pair<MonotonicTime, std::string>> deadlines_;
  std::map<uint64_t, std::string> oldest_half_open_;
  int half_open_ = 0;
  uint64_t accepted_ = 0;
  // The bucket: accepts that may happen at once at `filled_at_`.
  double tokens_;
  MonotonicTime filled_at_;
};

}  // namespace understudy::internal

#endif  // UNDERSTUDY_TRANSPORT_SOCKETS_CONNECTION_GATE_H_
