// PeerCounts: adds up what a node tells of its peers, by the label of each peer.
//
// The first limits::kMetricsPeersMax peers have labels of their own until the node forgets them; the counters of such a
// peer begin again if the node learns of it again. All other peers share LabelBound::kOther until the node forgets
// them. The counters of that label do not fall: what a peer had added to them stays when the node has forgotten it.
// Threads: one.
#ifndef UNDERSTUDY_TRANSPORT_METRICS_PEER_COUNTS_H_
#define UNDERSTUDY_TRANSPORT_METRICS_PEER_COUNTS_H_

#include <cstdint>
#include <map>
#include <string>
#include <vector>

#include "absl/types/optional.h"
#include "understudy/transport/metrics/label_bound.h"
#include "understudy/transport/metrics/metrics_limits.h"
#include "understudy/transport/node_status.h"

namespace understudy::internal {

// The sums over the peers that have one label.
struct PeerSums {
  int64_t up = 0;     // peers of which a stream carries the session
  PeerStatus counts;  // only its numbers
};

class PeerCounts {
 public:
  // Returns the sums by label. `peers` are all peers that the node has now.
  std::map<std::string, PeerSums> Look(const std::vector<PeerStatus>& peers);

 private:
  LabelBound labels_{limits::kMetricsPeersMax};
  std::map<std::string, PeerStatus> others_;  // the peers that share a label, by name, as the last look saw them
  // The counters of those that shared a label and that the node has forgotten; none if there were none.
  absl::optional<PeerStatus> forgotten_;
};

}  // namespace understudy::internal

#endif  // UNDERSTUDY_TRANSPORT_METRICS_PEER_COUNTS_H_
