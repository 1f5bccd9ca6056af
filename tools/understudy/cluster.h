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

// The peers of one node, with its name.
absl::StatusOr<proto::NodePeers> ReadNodePeers(OpsChannel& node, std::chrono::milliseconds within);

// Asks the nodes of arguments.operands, one after another, and writes their answers as one. In the answer to "tree", a
// supervisor that was started from another node (Remote) stands below its parent; in the answer to "top", the busiest
// actors of all nodes come first; in the answer to "names", a name stands twice if two nodes know two owners. A node's
// error is written to terminal.prompt. Errors: Unavailable if some node has not answered.
absl::Status RunCluster(const Arguments& arguments, const Terminal& terminal);

}  // namespace understudy::tool

#endif  // UNDERSTUDY_TOOLS_UNDERSTUDY_CLUSTER_H_
