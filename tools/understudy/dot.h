// The node's answers as graphs in the DOT language: `understudy tree --dot | dot -Tsvg`. A text is one graph and ends
// with a newline. The texts of a node are quoted, so that they are names in the graph whatever they are. Plain values;
// any thread.
#ifndef UNDERSTUDY_TOOLS_UNDERSTUDY_DOT_H_
#define UNDERSTUDY_TOOLS_UNDERSTUDY_DOT_H_

#include <string>
#include <vector>

#include "understudy/proto/ops.pb.h"

namespace understudy::tool {

// An edge from each supervisor to each of its children.
std::string TreeDot(const proto::GetTreeReply& tree);
// An edge for each call without an answer, from who asked to who is asked, with what the asker is in.
std::string WaitsDot(const std::vector<proto::ActorDetails>& actors);
// An edge from each node to each of its peers, dashed unless the session is up.
std::string PeersDot(const std::vector<proto::NodePeers>& nodes);

}  // namespace understudy::tool

#endif  // UNDERSTUDY_TOOLS_UNDERSTUDY_DOT_H_
