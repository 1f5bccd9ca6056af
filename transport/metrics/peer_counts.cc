#include "understudy/transport/metrics/peer_counts.h"

#include <map>
#include <set>
#include <string>
#include <vector>

namespace understudy::internal {
namespace {

void AddCounters(PeerStatus& sum, const PeerStatus& peer) {
  sum.ledger += peer.ledger;
  for (const auto& [kind, count] : peer.refused_by_peer) sum.refused_by_peer[kind] += count;
  sum.without_credit += peer.without_credit;
  sum.forbidden += peer.forbidden;
}

void AddGauges(PeerStatus& sum, const PeerStatus& peer) {
  sum.bytes_waiting += peer.bytes_waiting;
  sum.credit_held.messages += peer.credit_held.messages;
  sum.credit_given.messages += peer.credit_given.messages;
}

// True if the node forgot the peer after `before`, and learned of it again.
bool BeganAgain(const PeerStatus& before, const PeerStatus& now) {
  return now.ledger.accepted < before.ledger.accepted || now.without_credit < before.without_credit ||
         now.forbidden < before.forbidden;
}

}  // namespace

std::map<std::string, PeerSums> PeerCounts::Look(const std::vector<PeerStatus>& peers) {
  std::set<std::string> present;
  for (const PeerStatus& peer : peers) {
    const auto before = others_.find(peer.node);
    if (before == others_.end() || !BeganAgain(before->second, peer)) present.insert(peer.node);
  }
  for (auto other = others_.begin(); other != others_.end();) {
    if (present.contains(other->first)) {
      ++other;
      continue;
    }
    if (!forgotten_.has_value()) forgotten_.emplace();
    AddCounters(*forgotten_, other->second);
    other = others_.erase(other);
  }
  labels_.KeepOnly(present);
  std::map<std::string, PeerSums> sums;
  for (const PeerStatus& peer : peers) {
    const std::string label = others_.contains(peer.node) ? LabelBound::kOther : labels_.Of(peer.node);
    if (label == LabelBound::kOther) others_[peer.node] = peer;
    PeerSums& sum = sums[label];
    sum.up += peer.is_live && peer.is_up ? 1 : 0;
    AddCounters(sum.counts, peer);
    AddGauges(sum.counts, peer);
  }
  if (forgotten_.has_value()) AddCounters(sums[LabelBound::kOther].counts, *forgotten_);
  return sums;
}

}  // namespace understudy::internal
