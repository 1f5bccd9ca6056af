// Acceptor: the accept loop of one listening socket, TCP or Unix. Connections are
// accepted by this node itself, before gRPC spends memory or time on them, and are
// closed here when their time is over, however far gRPC has come with them.
//
// Guarantees: the bounds of ConnectionGate. On a Unix socket only processes of
// this user get in. When no descriptor is left it waits, without spinning, until
// there is one.
// A connection is known by its peer's address, in the form that gRPC gives it;
// the client's end of a Unix socket needs an address of its own for that, which
// ConnectUnix takes care of.
// Threads: any; connections are accepted and given on the SocketThread.
// Lifetime: after Stop, or the destructor, `give` and `on_without_stream` may still
// be running once, and are not called again; what they use is their own affair.
#ifndef UNDERSTUDY_TRANSPORT_SOCKETS_ACCEPTOR_H_
#define UNDERSTUDY_TRANSPORT_SOCKETS_ACCEPTOR_H_

#include <functional>
#include <memory>
#include <string>

#include "absl/status/statusor.h"
#include "absl/strings/string_view.h"
#include "absl/time/time.h"
#include "understudy/transport/credentials.h"
#include "understudy/transport/sockets/connection_gate.h"
#include "understudy/transport/sockets/peer_process.h"

namespace understudy::internal {

// A listening socket, with the real port. AlreadyExists when the address is
// taken, Unavailable when it is not of this machine.
struct ListeningSocket {
  int descriptor = -1;
  NodeAddress address;
};
[[nodiscard]] absl::StatusOr<ListeningSocket> OpenListeningSocket(const NodeAddress& address);

// A connection that ended before a stream began on it.
struct ConnectionWithoutStream {
  enum class End {
    kClosed,    // by the peer, or by gRPC because what the peer said was wrong
    kTimeOver,  // by us
    kMadeRoom,  // by us
  };
  std::string peer;  // "10.0.0.7", "a process on unix:/run/app.sock"
  End end = End::kClosed;
  absl::Duration lasted;
  // Whether anything came from it. On a Unix socket that is not known: then it is
  // false for kClosed, and else true.
  bool has_spoken = false;
};

class Acceptor {
 public:
  // Takes a connection over: a non-blocking descriptor.
  using Give = std::function<void(int descriptor)>;
  // Told on the SocketThread; must not wait.
  using OnWithoutStream = std::function<void(const ConnectionWithoutStream& connection)>;

  // Takes `socket` over. `on_without_stream` may be null.
  Acceptor(const ListeningSocket& socket, const ConnectionBounds& bounds, Give give,
           OnWithoutStream on_without_stream = nullptr);
  ~Acceptor();
  Acceptor(const Acceptor&) = delete;
  Acceptor& operator=(const Acceptor&) = delete;

  // Begins to accept. Once.
  void Start();
  // Accepts no more, closes what it listens on, and minds the connections that it
  // accepted no longer.
  void Stop();

  // A stream has begun on the connection whose peer gRPC calls `peer`. False: it
  // is refused. `process` gets that peer's process, on a Unix socket where the
  // kernel tells.
  [[nodiscard]] bool OnBegun(absl::string_view peer, std::shared_ptr<const PeerProcess>& process);
  // That stream is over.
  void OnOver(absl::string_view peer);

  ConnectionCounts counts();

 private:
  class State;
  const std::shared_ptr<State> state_;
};

}  // namespace understudy::internal

#endif  // UNDERSTUDY_TRANSPORT_SOCKETS_ACCEPTOR_H_
