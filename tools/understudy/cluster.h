// `understudy cluster`: shows several nodes as one.
#ifndef UNDERSTUDY_TOOLS_UNDERSTUDY_CLUSTER_H_
#define UNDERSTUDY_TOOLS_UNDERSTUDY_CLUSTER_H_

#include "absl/status/status.h"
#include "understudy/tools/understudy/arguments.h"
#include "understudy/tools/understudy/client.h"

namespace understudy::tool {

// Asks the nodes of arguments.operands, one after another, and writes what they say together: for "tree" a child on
// another node stands below its supervisor, for "top" the busiest of all come first. What is wrong with a node goes to
// terminal.prompt. Unavailable: some node has not answered. InvalidArgument: cluster shows no such thing.
absl::Status RunCluster(const Arguments& arguments, const Terminal& terminal);

}  // namespace understudy::tool

#endif  // UNDERSTUDY_TOOLS_UNDERSTUDY_CLUSTER_H_
