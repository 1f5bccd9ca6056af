// The metrics of a node and of its peers. Functions without state; any thread.
#ifndef UNDERSTUDY_TRANSPORT_METRICS_NODE_METRICS_H_
#define UNDERSTUDY_TRANSPORT_METRICS_NODE_METRICS_H_

#include <vector>

#include "absl/time/time.h"
#include "understudy/transport/metrics/exposition.h"
#include "understudy/transport/metrics/peer_counts.h"
#include "understudy/transport/node_status.h"

namespace understudy::internal {

// `heartbeats_overdue`: see Node::heartbeats_overdue.
void WriteNodeCounters(Exposition& out, absl::Duration heartbeats_overdue, const NodeCounters& counters);
// `peers` are all peers that the node has now; `counts` has seen those of earlier pages.
void WritePeers(Exposition& out, const std::vector<PeerStatus>& peers, PeerCounts& counts);

}  // namespace understudy::internal

#endif  // UNDERSTUDY_TRANSPORT_METRICS_NODE_METRICS_H_
