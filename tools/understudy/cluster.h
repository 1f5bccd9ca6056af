// `understudy cluster`: shows several nodes as one.
#ifndef UNDERSTUDY_TOOLS_UNDERSTUDY_CLUSTER_H_
#define UNDERSTUDY_TOOLS_UNDERSTUDY_CLUSTER_H_

#include <chrono>
#include <cstdint>

#include "absl/status/status.h"
#include "absl/status/statusor.h"
#include "understudy/proto/ops.pb.h"
#include "understudy/tools/understudy/arguments.h"
#include "understudy/tools/understudy/client.h"
#include "understudy/tools/understudy/ops_channel.h"

namespace understudy::tool {

// The rows of `top`, of one node or of a cluster.
inline constexpr uint32_t kTopActors = 20;
// How many actors one request asks a node for.
inline constexpr uint32_t kActorsPerPage = 1000;

// The peers of one node, with its name.
absl::StatusOr<proto::NodePeers> ReadNodePeers(OpsChannel& node, std::chrono::milliseconds within);

// Asks the nodes of arguments.operands, one after another, and writes what they say together: for "tree" a supervisor
// that a supervisor of another node started (Remote) stands below that one, for "top" the busiest of all come first.
// What is wrong with a node goes to terminal.prompt. Unavailable: some node has not answered. InvalidArgument: cluster
// shows no such thing.
absl::Status RunCluster(const Arguments& arguments, const Terminal& terminal);

}  // namespace understudy::tool

#endif  // UNDERSTUDY_TOOLS_UNDERSTUDY_CLUSTER_H_
