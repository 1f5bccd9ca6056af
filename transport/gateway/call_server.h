// CallServer: a gRPC server whose calls are requested on the queue of the process (grpc_queue.h), one at a time: the
// next request is made before the queue is polled again, and until then gRPC keeps the calls that come.
//
// All methods are one generic service of gRPC's, which passes bytes and needs no generated gRPC code. A call of an
// unknown method is answered UNIMPLEMENTED.
//
// Threads: Add and Start before the first call, AwaitCalls and then Shutdown on one plain thread. Lifetime: the object
// must outlive Shutdown, which returns when nothing of a call is left.
#ifndef UNDERSTUDY_TRANSPORT_GATEWAY_CALL_SERVER_H_
#define UNDERSTUDY_TRANSPORT_GATEWAY_CALL_SERVER_H_

#include <grpc/grpc.h>
#include <grpcpp/completion_queue.h>
#include <grpcpp/generic/async_generic_service.h>
#include <grpcpp/server.h>
#include <grpcpp/server_builder.h>

#include <atomic>
#include <cstdint>
#include <functional>
#include <memory>
#include <string>

#include "absl/container/flat_hash_map.h"
#include "absl/status/status.h"
#include "absl/synchronization/notification.h"
#include "absl/time/time.h"
#include "understudy/actors/clock.h"
#include "understudy/transport/gateway/client_waits.h"
#include "understudy/transport/gateway/incoming_call.h"

namespace understudy::internal {

class CallServer {
 public:
  // Begins to serve a call, and returns what reacts to its completions. Called by the thread that polls.
  using Serve = std::function<CallReactor*(IncomingCall& call)>;

  CallServer() = default;
  CallServer(const CallServer&) = delete;
  CallServer& operator=(const CallServer&) = delete;
  ~CallServer();

  // `path` is such as "/auction.Auction/MakeOffer".
  void Add(std::string path, Serve serve) { methods_[std::move(path)] = std::move(serve); }
  // Starts the server that `builder` makes. Internal if gRPC does not start it. A call that waits for its client for
  // longer than `transfer_timeout` is cancelled (client_waits.h).
  absl::Status Start(grpc::ServerBuilder& builder, absl::Duration transfer_timeout);
  bool has_started() const { return server_ != nullptr; }
  // Accepts no call any more, and waits for those under way until `deadline`. When no call is left, waits a little for
  // clients to close their connections. Returns true if all have ended, and all connections too. Call once.
  bool AwaitCalls(MonotonicTime deadline);
  // Then cancels the calls that are left, closes the connections, and returns when nothing of a call is left. Call
  // once.
  void Shutdown();

 private:
  friend class IncomingCall;

  // A call has come: requests the next one, and begins to serve this one.
  CallReactor* Accept(IncomingCall& call);
  void Request();
  // A call, or the request for one, is gone.
  void Release();

  absl::flat_hash_map<std::string, Serve> methods_;  // constant after Start
  grpc::AsyncGenericService service_;
  std::unique_ptr<grpc::ServerCompletionQueue> idle_queue_;  // unused, but gRPC requires one for each server
  std::unique_ptr<grpc::Server> server_;
  ClientWaits waits_;
  grpc_completion_queue* told_ = nullptr;  // of the end of gRPC's shutdown; from AwaitCalls to Shutdown
  std::atomic<int64_t> users_{1};          // calls, requests, and this object until Shutdown
  absl::Notification is_unused_;
};

}  // namespace understudy::internal

#endif  // UNDERSTUDY_TRANSPORT_GATEWAY_CALL_SERVER_H_
