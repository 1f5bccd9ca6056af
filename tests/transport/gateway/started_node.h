// StartedNode: a node whose start a test does not try.
#ifndef UNDERSTUDY_TESTS_TRANSPORT_GATEWAY_STARTED_NODE_H_
#define UNDERSTUDY_TESTS_TRANSPORT_GATEWAY_STARTED_NODE_H_

#include <memory>
#include <utility>

#include "absl/status/statusor.h"
#include "gtest/gtest.h"
#include "understudy/actors/actor_system.h"
#include "understudy/transport/node.h"

namespace understudy {

inline std::unique_ptr<Node> StartedNode(ActorSystem& system, NodeOptions options) {
  absl::StatusOr<std::unique_ptr<Node>> node = Node::Start(system, std::move(options));
  EXPECT_TRUE(node.ok()) << node.status();
  return *std::move(node);
}

}  // namespace understudy

#endif  // UNDERSTUDY_TESTS_TRANSPORT_GATEWAY_STARTED_NODE_H_
