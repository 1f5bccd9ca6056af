// ServiceChannel: a channel of gRPC to one server, as a GrpcClient uses it: calls in bytes, whose outcomes are answers
// to asks of the client (outside_asks.h). Without gRPC's headers.
//
// Guarantees: each call answers its ask once, unless its object is destroyed before. The thread that polls the
// process's completion queue (grpc_queue.h) answers; it parses no messages and runs no code of the user.
// Threads: the actor's turns. Lifetime: calls may outlive the channel's object.
#ifndef UNDERSTUDY_TRANSPORT_CLIENT_SERVICE_CHANNEL_H_
#define UNDERSTUDY_TRANSPORT_CLIENT_SERVICE_CHANNEL_H_

#include <memory>
#include <string>

#include "absl/status/status.h"
#include "absl/strings/string_view.h"
#include "absl/time/time.h"
#include "absl/types/optional.h"
#include "understudy/actors/internal/asks/outside_asks.h"
#include "understudy/actors/pending.h"
#include "understudy/transport/client/grpc_client_options.h"

namespace understudy::internal {

// A reply or item where gRPC has received it. It counts in GrpcClientOptions::replies_bytes_max while this exists.
class RpcBytes {
 public:
  RpcBytes() = default;
  RpcBytes(const RpcBytes&) = delete;
  RpcBytes& operator=(const RpcBytes&) = delete;
  virtual ~RpcBytes() = default;
  // Returns the bytes in one piece, which is valid while this exists; none if gRPC cannot decompress them. To be called
  // when they are parsed, because the piece may be a copy.
  virtual absl::optional<absl::string_view> Flatten() = 0;
};

// The answer to the ask of a call, or to the ask of RpcStream::Next.
struct RpcReply {
  absl::Status status;
  std::unique_ptr<RpcBytes> message;  // null if the status is not OK, and at the end of a stream
};

// The answer to the ask of RpcStream::Write.
struct RpcWritten {
  bool is_taken = false;  // false if the call is over or ends, which Next tells
};

// A call under way. Destroying it cancels the call if it is not over.
class RpcCall {
 public:
  RpcCall() = default;
  RpcCall(const RpcCall&) = delete;
  RpcCall& operator=(const RpcCall&) = delete;
  virtual ~RpcCall() = default;
};

// A call whose answer or request comes in items.
class RpcStream : public RpcCall {
 public:
  // Reads the next item of the server, which answers `ask`. One Next at a time, and none after the end or an error.
  virtual void Next(const PendingId& ask) = 0;

  // The next two are for a call whose request is a stream.
  //
  // Writes an item. `ask` is answered when gRPC has taken it and may be given the next one. One Write at a time.
  virtual void Write(std::string item, const PendingId& ask) = 0;
  // Tells the server that it has all items. Requires that no Write is under way.
  virtual void EndItems() = 0;
};

class ServiceChannel {
 public:
  // `options` must be valid. `asks` must outlive the calls.
  ServiceChannel(const GrpcClientOptions& options, std::shared_ptr<OutsideAsks> asks);
  ~ServiceChannel();
  ServiceChannel(const ServiceChannel&) = delete;
  ServiceChannel& operator=(const ServiceChannel&) = delete;

  // Calls the unary method `path`, such as "/auction.Auction/MakeOffer". `timeout` may be infinite. The call belongs to
  // the trace of the code that calls this, if there is one.
  std::unique_ptr<RpcCall> Call(const std::string& path, std::string request, absl::Duration timeout,
                                const PendingId& ask);
  // Calls a method that takes or returns a stream, likewise. Without a `request` that is a stream.
  std::unique_ptr<RpcStream> Stream(const std::string& path, absl::optional<std::string> request,
                                    absl::Duration timeout);

  // True unless there is a connection. Begins to connect if nothing does.
  bool LacksConnection();

 private:
  class Parts;
  const std::unique_ptr<Parts> parts_;
};

}  // namespace understudy::internal

#endif  // UNDERSTUDY_TRANSPORT_CLIENT_SERVICE_CHANNEL_H_
