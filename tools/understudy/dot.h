// The node's answers as graphs in the DOT language: `understudy tree --dot | dot -Tsvg`. A text is one graph and ends
// with a newline. Texts that come from a node are quoted, so that none of them can be read as DOT syntax. Plain values;
// any thread.
#ifndef UNDERSTUDY_TOOLS_UNDERSTUDY_DOT_H_
#define UNDERSTUDY_TOOLS_UNDERSTUDY_DOT_H_

#include <string>
#include <vector>

#include "understudy/proto/ops.pb.h"

namespace understudy::tool {

// An edge from each supervisor to each of its children.
std::string TreeDot(const proto::GetTreeReply& tree);
// An edge for each call without an answer, from asker to callee, labelled with the asker's handlers.
std::string WaitsDot(const std::vector<proto::ActorDetails>& actors);
// An edge from each node to each of its peers, dashed unless the session is up.
std::string PeersDot(const std::vector<proto::NodePeers>& nodes);

}  // namespace understudy::tool

#endif  // UNDERSTUDY_TOOLS_UNDERSTUDY_DOT_H_
