// ActorService: an exported actor as a service of a gRPC server.
//
// Each rpc is registered as a raw method of gRPC's callback API, which passes bytes and needs no generated gRPC code.
//
// Threads: gRPC calls the methods' handlers on its own threads; an outcome comes from a worker of the actor system, or
// from the handler itself. Lifetime: must outlive the server's Shutdown, which waits for all calls.
#ifndef UNDERSTUDY_TRANSPORT_GATEWAY_ACTOR_SERVICE_H_
#define UNDERSTUDY_TRANSPORT_GATEWAY_ACTOR_SERVICE_H_

#include <grpcpp/impl/service_type.h>

#include <string>
#include <vector>

#include "understudy/transport/gateway/exported_service.h"
#include "understudy/transport/gateway/service_host.h"

namespace understudy::internal {

class ActorService final : public grpc::Service {
 public:
  // `host` must outlive this object.
  ActorService(const ServiceHost& host, ExportedService exported);

 private:
  class UnaryCall;

  void AddUnary(int index, const ExportedRpc& rpc);
  void AddStream(int index, const ExportedRpc& rpc);
  void AddUpload(int index, const ExportedRpc& rpc);

  const ServiceHost& host_;
  const ExportedService exported_;
  std::vector<std::string> paths_;  // "/auction.Auction/MakeOffer"; gRPC keeps pointers to them
};

}  // namespace understudy::internal

#endif  // UNDERSTUDY_TRANSPORT_GATEWAY_ACTOR_SERVICE_H_
