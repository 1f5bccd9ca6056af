// DistantDesk: a desk on one node, the gateway of another node that exports it, and a plain gRPC client of that.
#ifndef UNDERSTUDY_TESTS_TRANSPORT_GATEWAY_DISTANT_DESK_H_
#define UNDERSTUDY_TESTS_TRANSPORT_GATEWAY_DISTANT_DESK_H_

#include <grpcpp/create_channel.h>
#include <grpcpp/security/credentials.h>

#include <memory>
#include <utility>

#include "absl/status/statusor.h"
#include "gtest/gtest.h"
#include "understudy/actors/actor_system.h"
#include "understudy/tests/transport/gateway/desk.actor.h"
#include "understudy/tests/transport/gateway/desk.grpc.pb.h"
#include "understudy/tests/transport/gateway/desk.h"
#include "understudy/tests/transport/gateway/front.h"
#include "understudy/tests/transport/gateway/started_node.h"
#include "understudy/transport/gateway/exported_service.h"
#include "understudy/transport/gateway/gateway.h"
#include "understudy/transport/node.h"

namespace understudy {

struct DistantDesk {
  static constexpr char kName[] = "back/desk";

  explicit DistantDesk(ExportedService exported = Export<desk::DeskRef>(kName)) {
    back_node = StartedNode(back, {.listen = "127.0.0.1:0"});
    front_node = StartedNode(front, {.listen = "", .peers = {{"back", back_node->address()}}});
    back.Spawn<DeskKeeper>(SpawnOptions{.published_as = kName}, &events);
    EXPECT_TRUE(front.Lookup<desk::DeskRef>(kName, kWithin).ok());
    absl::StatusOr<std::unique_ptr<Gateway>> started = Gateway::Start(front, {.exports = {std::move(exported)}});
    EXPECT_TRUE(started.ok()) << started.status();
    gateway = *std::move(started);
    stub = desk::Desk::NewStub(grpc::CreateChannel(gateway->addresses()[0], grpc::InsecureChannelCredentials()));
  }

  DeskEvents events;
  ActorSystem back{{.name = "back"}};
  std::unique_ptr<Node> back_node;
  ActorSystem front{{.name = "front"}};
  std::unique_ptr<Node> front_node;
  std::unique_ptr<Gateway> gateway;
  std::unique_ptr<desk::Desk::Stub> stub;
};

}  // namespace understudy

#endif  // UNDERSTUDY_TESTS_TRANSPORT_GATEWAY_DISTANT_DESK_H_
