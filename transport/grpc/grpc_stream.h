// Streams of frames over gRPC: each is one bidirectional call of
// /understudy.proto.NodeLink/Carry on a connection of its own, its messages
// the raw bytes of frames.
//
// What comes: frames of at most limits::kFrameBytesMax; a longer one ends its
// stream. Events of all streams come one at a time, on a worker that has nothing
// else to do, or on any in between: an event must not wait, nor run what users wrote.
// What leaves: a Write before the connection is there is held (one, as the
// contract of FrameStream says).
// Ending: Close, or destroying a stream, cancels the call; OnClosed follows at
// once, whatever gRPC still has to finish, which nobody waits for. Connections
// are not retried here: a stream that fails is closed, and its user dials again.
//
//   auto listener = GrpcListener::Listen("127.0.0.1:0", Credentials::Insecure(), accept);
//   auto dialer = NewGrpcDialer(Credentials::Insecure());
//   auto stream = dialer->Dial((*listener)->address(), &events);
#ifndef UNDERSTUDY_TRANSPORT_GRPC_GRPC_STREAM_H_
#define UNDERSTUDY_TRANSPORT_GRPC_GRPC_STREAM_H_

#include <memory>
#include <string>

#include "absl/status/status.h"
#include "absl/status/statusor.h"
#include "absl/strings/string_view.h"
#include "understudy/transport/credentials.h"
#include "understudy/transport/session/frame_stream.h"
#include "understudy/transport/session/stream_identity.h"
#include "understudy/transport/sockets/acceptor.h"
#include "understudy/transport/sockets/connection_gate.h"

namespace understudy {

// Dials addresses in the form of NodeAddress; failures, an address that needs
// TLS included, show as OnClosed. Streams may outlive the dialer. Any thread.
[[nodiscard]] std::unique_ptr<Dialer> NewGrpcDialer(const Credentials& credentials);

// A stream over one end of a socketpair, which it takes over. The other end is
// given to a listener's AcceptOver. When the connection ends, so does the
// stream, for good.
[[nodiscard]] std::unique_ptr<FrameStream> DialOver(int descriptor, FrameStream::Events* events);

// `stream`, with the process at its other end.
[[nodiscard]] std::unique_ptr<FrameStream> WithPeerProcess(std::unique_ptr<FrameStream> stream,
                                                           std::shared_ptr<const internal::PeerProcess> process);

// A stream that never was: OnClosed says why.
[[nodiscard]] std::unique_ptr<FrameStream> FailedStream(absl::Status why, FrameStream::Events* events);

// The accepting side. Any thread.
class GrpcListener {
 public:
  // Listens at `address`, within `bounds`, and hands each stream to `accept` (null: the stream is
  // refused); `on_without_stream` (Acceptor's) may be null. InvalidArgument, FailedPrecondition
  // (TLS is required there), AlreadyExists (the address is taken), Unavailable.
  [[nodiscard]] static absl::StatusOr<std::unique_ptr<GrpcListener>> Listen(
      absl::string_view address, const Credentials& credentials, AcceptStream accept,
      const internal::ConnectionBounds& bounds = {}, internal::Acceptor::OnWithoutStream on_without_stream = nullptr);
  // Listens nowhere; streams come by AcceptOver only, and `identity` is that of
  // the process at the other end of each.
  [[nodiscard]] static absl::StatusOr<std::unique_ptr<GrpcListener>> WithoutAddress(StreamIdentity identity,
                                                                                    AcceptStream accept);

  // Stops.
  ~GrpcListener();
  GrpcListener(const GrpcListener&) = delete;
  GrpcListener& operator=(const GrpcListener&) = delete;

  // Where it listens, with the real port. Empty when nowhere.
  const std::string& address() const;
  // Of the connections that it has accepted itself.
  internal::ConnectionCounts connection_counts() const;

  // Serves the connection at one end of a socketpair, which it takes over.
  // FailedPrecondition after Stop.
  [[nodiscard]] absl::Status AcceptOver(int descriptor);

  // Accepts no more: `accept` is not running when it returns, and not called
  // again. Streams that were accepted are closed. Does not wait for gRPC. Must
  // not be called from `accept` or with a lock held that `accept` takes.
  void Stop();

 private:
  class Serving;
  explicit GrpcListener(std::shared_ptr<Serving> serving);

  const std::shared_ptr<Serving> serving_;
};

}  // namespace understudy

#endif  // UNDERSTUDY_TRANSPORT_GRPC_GRPC_STREAM_H_
