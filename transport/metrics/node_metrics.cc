#include "understudy/transport/metrics/node_metrics.h"

#include <array>
#include <cstddef>
#include <cstdint>
#include <map>
#include <string>
#include <vector>

#include "absl/strings/string_view.h"
#include "absl/time/time.h"
#include "understudy/actors/error.h"

namespace understudy::internal {
namespace {

using enum MetricType;

// The causes that are always told, so that the first refusal is seen as an increase.
constexpr std::array<const char*, 9> kStreamRefusals = {"full",    "gave_way",    "mistaken", "name_taken", "no_hello",
                                                        "no_room", "not_a_hello", "stopping", "unproved"};
constexpr std::array<const char*, 5> kDialRefusals = {"full", "mistaken", "name_taken", "stopping", "unproved"};
constexpr std::array<const char*, 10> kSessionEnds = {
    "bad_frame",  "grace_over",      "left",      "new_incarnation", "no_grace",
    "peer_ended", "peer_began_anew", "peer_left", "process_ended",   "reserve_spent"};

// The counts by cause, and 0 for each of `known` that has none.
template <size_t kSize>
std::map<std::string, int64_t> WithZeros(std::map<std::string, int64_t> counts,
                                         const std::array<const char*, kSize>& known) {
  for (const char* const cause : known) counts.try_emplace(cause, 0);
  return counts;
}

}  // namespace

void WriteNodeCounters(Exposition& out, absl::Duration heartbeats_overdue, const NodeCounters& counters) {
  out.Begin("understudy_heartbeats_overdue_seconds", kGauge, "How long heartbeats to peers have been due.");
  out.Sample(absl::ToDoubleSeconds(heartbeats_overdue));
  out.Begin("understudy_node_refusals_total", kCounter, "What the node refused of its peers, or they of it, by cause.");
  out.Sample(counters.refused_tells, {{"cause", "tell_refused_by_peer"}});
  out.Sample(counters.forbidden, {{"cause", "no_grant"}});
  out.Sample(counters.late, {{"cause", "late"}});
  out.Sample(counters.streams_refused, {{"cause", "stream"}});
  out.Sample(counters.forged, {{"cause", "forged_pid"}});
  out.Begin("understudy_handshakes_refused_total", kCounter,
            "Streams between this node and others that got no session, by who refused them and the cause.");
  for (const auto& [cause, count] : WithZeros(counters.streams_refused_by_cause, kStreamRefusals)) {
    out.Sample(count, {{"by", "this_node"}, {"cause", cause}});
  }
  for (const auto& [cause, count] : WithZeros(counters.dials_refused_by_cause, kDialRefusals)) {
    out.Sample(count, {{"by", "peer"}, {"cause", cause}});
  }
  out.One("understudy_sessions_begun_total", kCounter, "Sessions with peers that began.", counters.sessions_begun);
  out.Begin("understudy_sessions_ended_total", kCounter, "Sessions with peers that ended, by cause.");
  for (const auto& [cause, count] : WithZeros(counters.sessions_ended_by_cause, kSessionEnds)) {
    out.Sample(count, {{"cause", cause}});
  }
  out.Begin("understudy_node_callbacks_dropped_total", kCounter, "Calls that were dropped because user code was slow.");
  out.Sample(counters.user_calls_dropped, {{"callback", "log_and_dead_letters"}});
  out.Sample(counters.peer_events_dropped, {{"callback", "on_peer"}});
}

void WritePeers(Exposition& out, const std::vector<PeerStatus>& peers, PeerCounts& counts) {
  int64_t up = 0;
  int64_t suspect = 0;
  int64_t down = 0;
  for (const PeerStatus& peer : peers) (!peer.is_live ? down : peer.is_up ? up : suspect) += 1;
  const std::map<std::string, PeerSums> sums = counts.Look(peers);
  out.Begin("understudy_peers", kGauge, "Peers of the node by the state of their session.");
  out.Sample(down, {{"state", "down"}});
  out.Sample(suspect, {{"state", "suspect"}});
  out.Sample(up, {{"state", "up"}});
  const auto write = [&](absl::string_view name, MetricType type, absl::string_view help, auto value) {
    out.Begin(name, type, help);
    for (const auto& [peer, sum] : sums) out.Sample(value(sum), {{"peer", peer}});
  };
  write("understudy_peer_up", kGauge, "Peers of this name with a session that a stream carries: 0 or 1.",
        [](const PeerSums& sum) { return sum.up; });
  write("understudy_peer_unacknowledged_bytes", kGauge,
        "Bytes that the session accepted and the peer did not acknowledge.",
        [](const PeerSums& sum) { return sum.counts.bytes_waiting; });
  write("understudy_peer_credit_held_messages", kGauge, "Room that the peer has granted to this node.",
        [](const PeerSums& sum) { return sum.counts.credit_held.messages; });
  write("understudy_peer_credit_given_messages", kGauge, "Room that this node has granted to the peer.",
        [](const PeerSums& sum) { return sum.counts.credit_given.messages; });
  write("understudy_peer_sends_without_credit_total", kCounter, "Sends that found no room at the peer.",
        [](const PeerSums& sum) { return sum.counts.without_credit; });
  write("understudy_peer_forbidden_signals_total", kCounter, "Signals of the peer that no grant allows.",
        [](const PeerSums& sum) { return sum.counts.forbidden; });
  write("understudy_peer_envelopes_accepted_total", kCounter, "Envelopes that a session with the peer has accepted.",
        [](const PeerSums& sum) { return sum.counts.ledger.accepted; });
  out.Begin("understudy_peer_envelopes_total", kCounter, "Envelopes to the peer by what became of them.");
  for (const auto& [peer, sum] : sums) {
    out.Sample(sum.counts.ledger.acknowledged, {{"peer", peer}, {"outcome", "acknowledged"}});
    out.Sample(sum.counts.ledger.refused_by_peer, {{"peer", peer}, {"outcome", "refused_by_peer"}});
    out.Sample(sum.counts.ledger.unconfirmed, {{"peer", peer}, {"outcome", "unconfirmed"}});
  }
  out.Begin("understudy_peer_refused_messages_total", kCounter, "Messages that the peer's system refused, by cause.");
  for (const auto& [peer, sum] : sums) {
    for (const auto& [kind, count] : sum.counts.refused_by_peer) {
      out.Sample(count, {{"peer", peer}, {"cause", ErrorKindName(kind)}});
    }
  }
}

}  // namespace understudy::internal
