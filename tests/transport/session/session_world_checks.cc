// SessionWorld: what must hold after each step, and when two worlds are the same.
#include <algorithm>
#include <cstdint>
#include <string>
#include <vector>

#include "absl/strings/str_cat.h"
#include "absl/time/time.h"
#include "understudy/actors/clock.h"
#include "understudy/proto/envelope.pb.h"
#include "understudy/tests/transport/session/session_world.h"
#include "understudy/transport/session/peer_session.h"

namespace understudy {

void SessionWorld::CheckArrivals(bool complete) {
  for (const auto& [run, received] : received_) {
    const std::vector<std::string>& sent = sent_by_[run];
    if (received.size() > sent.size() || !std::equal(received.begin(), received.end(), sent.begin())) {
      Fail("what arrived is not what was sent, in order");
    }
  }
  if (!complete) return;
  for (const auto& [run, sent] : sent_by_) {
    const bool has_ended = ends_of_.contains({std::min(run[0], run[1]), std::max(run[0], run[1]), run[2]});
    const bool is_current = std::all_of(nodes_.begin(), nodes_.end(), [&r = run](const auto& node) {
      return node->incarnation == r[0] || node->incarnation == r[1];
    });
    if (is_current && !has_ended && received_[run] != sent) Fail("a message of a session that lives was lost");
  }
}

void SessionWorld::Settle() {
  const MonotonicTime end = now_ + absl::Minutes(1);
  for (int steps = 0; steps < 5000 && wrong_.empty(); ++steps) {
    if (ArriveOne()) continue;
    const MonotonicTime next = std::min(nodes_[0]->session.NextDeadline(), nodes_[1]->session.NextDeadline());
    if (next > end) break;
    Tick(std::max(now_, next));
  }
  const PeerSession& a = nodes_[0]->session;
  const PeerSession& b = nodes_[1]->session;
  if (!a.is_up() || !b.is_up()) {
    Fail("the nodes do not find each other");
  } else if (a.epoch() != b.epoch() || a.nodes().peer.bits != nodes_[1]->incarnation ||
             b.nodes().peer.bits != nodes_[0]->incarnation) {
    Fail("the nodes do not agree on their session");
  }
  for (const auto& node : nodes_) {
    if (!node->session.ledger().balances()) Fail("the ledger does not balance");
  }
  CheckArrivals(/*complete=*/true);
}

std::string SessionWorld::Fingerprint() const {
  std::string text = absl::StrCat(budget_.breaks, budget_.ticks, budget_.sends, budget_.ends, budget_.restarts,
                                  budget_.strangers, budget_.proofs, " ", recorded_.size(), recorded_answers_.size());
  for (const auto& node : nodes_) {
    absl::StrAppend(&text, "|", node->session.DebugString(now_), " ", node->begun, node->ended, node->has_genuine,
                    node->was_suspect);
  }
  for (const Stream& stream : streams_) {
    if (!stream.open[0] && !stream.open[1]) continue;
    absl::StrAppend(&text, "/", stream.dialler, stream.ends[1], " ", stream.numbers[0], " ", stream.numbers[1]);
    for (int end = 0; end < 2; ++end) {
      absl::StrAppend(&text, stream.open[end] ? ">" : "-");
      for (const Frame& frame : stream.arriving[end]) {
        absl::StrAppend(&text, frame.bytes.empty() ? "end" : "", frame.from);
        // Whether a proof is good depends only on who wrote the frame and on the numbers in it, so the key and the
        // proof are left out of the text.
        proto::Frame copy;
        copy.ParseFromString(frame.bytes);
        if (copy.has_hello()) {
          copy.mutable_hello()->clear_key();
          copy.mutable_hello()->clear_proof();
        }
        if (copy.has_welcome()) {
          copy.mutable_welcome()->clear_key();
          copy.mutable_welcome()->clear_proof();
        }
        if (copy.has_refuse()) {
          copy.mutable_refuse()->clear_proof();
          copy.mutable_refuse()->clear_detail();
        }
        absl::StrAppend(&text, copy.SerializeAsString());
      }
    }
  }
  for (const auto& [run, received] : received_) absl::StrAppend(&text, " ", run[2], "=", received.size());
  return text;
}

}  // namespace understudy
