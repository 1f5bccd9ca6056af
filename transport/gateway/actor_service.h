// ActorService: an exported actor as methods of a gateway's server. Each rpc passes bytes and needs no generated gRPC
// code.
//
// Threads: a call is begun by the thread that polls the process's queue, where its request is parsed; an outcome comes
// from a worker of the actor system, or from the polling thread itself. Lifetime: must outlive the server's Shutdown,
// which waits for all calls.
#ifndef UNDERSTUDY_TRANSPORT_GATEWAY_ACTOR_SERVICE_H_
#define UNDERSTUDY_TRANSPORT_GATEWAY_ACTOR_SERVICE_H_

#include <utility>

#include "understudy/transport/gateway/call_server.h"
#include "understudy/transport/gateway/exported_service.h"
#include "understudy/transport/gateway/incoming_call.h"
#include "understudy/transport/gateway/service_host.h"

namespace understudy::internal {

class ActorService final {
 public:
  // `host` must outlive this object.
  ActorService(const ServiceHost& host, ExportedService exported) : host_(host), exported_(std::move(exported)) {}

  // Adds the rpcs to `server`.
  void AddTo(CallServer& server);

 private:
  class UnaryCall;

  CallReactor* Serve(const ExportedRpc& rpc, IncomingCall& call) const;

  const ServiceHost& host_;
  const ExportedService exported_;
};

}  // namespace understudy::internal

#endif  // UNDERSTUDY_TRANSPORT_GATEWAY_ACTOR_SERVICE_H_
