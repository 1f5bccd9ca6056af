// Acceptor: the accept loop of one listening socket, TCP or Unix. The acceptor accepts
// connections itself, before gRPC spends memory or time on them, and shuts a connection down
// when its time is over, no matter how far gRPC has come with it.
//
// Guarantees: the bounds of ConnectionGate. On a Unix socket only processes of this user
// are accepted. When the process has no descriptor left, the acceptor pauses between tries
// and does not spin.
// A connection is identified by its peer's address, in the form in which gRPC prints it.
// The client's end of a Unix socket therefore needs a unique address; ConnectUnix gives it
// one.
// Threads: any; connections are accepted and given on the SocketThread.
// Lifetime: after Stop, or the destructor, a call of `give` and of `on_without_stream` may
// still be running, but no further call begins; they must keep alive the objects that they
// use.
#ifndef UNDERSTUDY_TRANSPORT_SOCKETS_ACCEPTOR_H_
#define UNDERSTUDY_TRANSPORT_SOCKETS_ACCEPTOR_H_

#include <unistd.h>

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

// A listening socket and its address with the actual port. OpenListeningSocket returns
// AlreadyExists if the address is taken, and Unavailable if it is not of this machine.
struct ListeningSocket {
  int descriptor = -1;
  NodeAddress address;
};
[[nodiscard]] absl::StatusOr<ListeningSocket> OpenListeningSocket(const NodeAddress& address);

// The address of the peer of `connected` as gRPC prints it; empty if the peer's Unix socket has no address.
std::string PeerOf(int connected);
// Returns what PeerOf would return, given the peer's address as gRPC prints it, with the brackets of IPv6 escaped.
std::string KeyOfPeer(absl::string_view peer);

// A connection that ended before a stream began on it.
struct ConnectionWithoutStream {
  enum class End {
    kClosed,    // closed by the peer, or by gRPC because of a protocol error of the peer
    kTimeOver,  // closed by the acceptor after ConnectionBounds::begins_within
    kMadeRoom,  // closed by the acceptor in favor of a newer connection
  };
  std::string peer;  // "10.0.0.7", "a process on unix:/run/app.sock"
  End end = End::kClosed;
  absl::Duration lasted;
  // True if the peer has sent any byte. A Unix socket does not tell; there it is false for
  // kClosed and true otherwise.
  bool has_spoken = false;
};

class Acceptor {
 public:
  // Takes ownership of an accepted connection, a non-blocking descriptor.
  using Give = std::function<void(int descriptor)>;
  // Called on the SocketThread; must not block.
  using OnWithoutStream = std::function<void(const ConnectionWithoutStream& connection)>;

  // Takes ownership of `socket`. `on_without_stream` may be null. A Unix socket accepts processes of user `uid` only.
  Acceptor(const ListeningSocket& socket, const ConnectionBounds& bounds, Give give,
           OnWithoutStream on_without_stream = nullptr, unsigned uid = geteuid());
  ~Acceptor();
  Acceptor(const Acceptor&) = delete;
  Acceptor& operator=(const Acceptor&) = delete;

  // Begins to accept. Call once.
  void Start();
  // Stops accepting and closes the listening socket. Accepted connections are no longer
  // watched, but they stay open.
  void Stop();

  // A stream has begun on the connection whose peer gRPC calls `peer`. Returns false if the
  // stream must be refused. Sets `process` to the peer's process, on a Unix socket if the
  // kernel tells it.
  [[nodiscard]] bool OnBegun(absl::string_view peer, std::shared_ptr<const PeerProcess>& process);
  // The stream on that connection has ended, or is refused after all.
  void OnOver(absl::string_view peer);

  ConnectionCounts counts();

 private:
  class State;
  const std::shared_ptr<State> state_;
};

}  // namespace understudy::internal

#endif  // UNDERSTUDY_TRANSPORT_SOCKETS_ACCEPTOR_H_
