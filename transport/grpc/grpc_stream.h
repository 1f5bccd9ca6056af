// Streams of frames over gRPC. Each stream is one bidirectional call of
// /understudy.proto.NodeLink/Carry on a connection of its own; the messages of the call are
// the raw bytes of frames.
//
// Reading: a frame longer than limits::kFrameBytesMax ends its stream. The events of all
// streams are called one at a time, on a worker that is idle or between two turns: an event
// must not block and must not call user code.
// Writing: a Write before the connection is established is held until then (there is at
// most one, by the contract of FrameStream).
// Ending: Close, or destroying a stream, cancels the call. OnClosed follows at once and does
// not wait for what gRPC still has to finish. Connections are not retried here: a stream
// that fails is closed, and its user dials again.
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

// Returns a dialer of addresses in the form of NodeAddress. Every failure, also that an
// address needs TLS, is reported by OnClosed. Streams may outlive the dialer. Any thread.
[[nodiscard]] std::unique_ptr<Dialer> NewGrpcDialer(const Credentials& credentials);

// Returns a stream over one end of a socketpair and takes ownership of `descriptor`. The
// other end is given to a listener's AcceptOver. The stream ends with the connection.
[[nodiscard]] std::unique_ptr<FrameStream> DialOver(int descriptor, FrameStream::Events* events);

// Returns `stream` with `process` as the process at its other end.
[[nodiscard]] std::unique_ptr<FrameStream> WithPeerProcess(std::unique_ptr<FrameStream> stream,
                                                           std::shared_ptr<const internal::PeerProcess> process);

// Returns a stream that is closed from the beginning: OnClosed is called with `why`.
[[nodiscard]] std::unique_ptr<FrameStream> FailedStream(absl::Status why, FrameStream::Events* events);

// The accepting side. Any thread.
class GrpcListener {
 public:
  // Listens at `address`, within `bounds`, and passes each stream to `accept`, which refuses the
  // stream by returning null. `on_without_stream` (see Acceptor) may be null. InvalidArgument,
  // FailedPrecondition (the address needs TLS), AlreadyExists (the address is taken), Unavailable.
  [[nodiscard]] static absl::StatusOr<std::unique_ptr<GrpcListener>> Listen(
      absl::string_view address, const Credentials& credentials, AcceptStream accept,
      const internal::ConnectionBounds& bounds = {}, internal::Acceptor::OnWithoutStream on_without_stream = nullptr);
  // A listener without an address: streams come only by AcceptOver, and all of them have
  // `identity`.
  [[nodiscard]] static absl::StatusOr<std::unique_ptr<GrpcListener>> WithoutAddress(StreamIdentity identity,
                                                                                    AcceptStream accept);

  // Calls Stop.
  ~GrpcListener();
  GrpcListener(const GrpcListener&) = delete;
  GrpcListener& operator=(const GrpcListener&) = delete;

  // The address with the actual port; empty if there is none.
  const std::string& address() const;
  // Counts of the accepted connections. Connections given to AcceptOver are not counted.
  internal::ConnectionCounts connection_counts() const;

  // Serves the connection at one end of a socketpair and takes ownership of `descriptor`.
  // FailedPrecondition after Stop.
  [[nodiscard]] absl::Status AcceptOver(int descriptor);

  // Stops accepting and closes the streams that were accepted. When Stop returns, `accept`
  // is not running and is not called again. Does not wait for gRPC. Must not be called from
  // `accept`, nor with a lock held that `accept` takes.
  void Stop();

 private:
  class Serving;
  explicit GrpcListener(std::shared_ptr<Serving> serving);

  const std::shared_ptr<Serving> serving_;
};

}  // namespace understudy

#endif  // UNDERSTUDY_TRANSPORT_GRPC_GRPC_STREAM_H_
