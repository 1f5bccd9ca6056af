// PeerSession: functions that its dialling and its accepting half share.
#include <cstdint>
#include <string>
#include <utility>

#include "absl/status/status.h"
#include "absl/status/statusor.h"
#include "absl/strings/str_cat.h"
#include "absl/strings/string_view.h"
#include "absl/time/time.h"
#include "understudy/actors/clock.h"
#include "understudy/actors/pid.h"
#include "understudy/transport/codec/frame_codec.h"
#include "understudy/transport/session/handshake.h"
#include "understudy/transport/session/peer_session.h"
#include "understudy/transport/session/reliable_sequence.h"
#include "understudy/transport/session/session_proof.h"

namespace understudy {
namespace {

// The most streams that stay open only so that the peer can read their last frame. Beyond that number the oldest one
// is closed, and the peer may not see why.
constexpr size_t kLingeringMax = 8;

}  // namespace

absl::Duration PeerSession::Jittered(absl::Duration interval) { return interval * (0.8 + 0.4 * random_.Fraction()); }

// Beyond kEpochEnd epochs begin again at 1, so that a peer with such numbers is not shut out. The secrets still tell
// its sessions apart, and number() does at this node.
uint64_t PeerSession::NextEpoch() const { return last_epoch_ + 1 < kEpochEnd ? last_epoch_ + 1 : 1; }

SessionClaim PeerSession::Claim(SessionClaim::Kind kind, Side side, const Terms& terms, uint64_t dial,
                                uint64_t received) const {
  SessionClaim claim = {.kind = kind,
                        .dialler = config_.node,
                        .dialler_incarnation = config_.incarnation,
                        .acceptor = config_.peer,
                        .acceptor_incarnation = terms.peer,
                        .epoch = terms.epoch,
                        .dial = dial,
                        .received = received};
  if (side == Side::kWeAccepted) {
    std::swap(claim.dialler, claim.acceptor);
    std::swap(claim.dialler_incarnation, claim.acceptor_incarnation);
  }
  return claim;
}

absl::Status PeerSession::Begin(Terms terms) {
  const absl::StatusOr<NodePlace> peer_place = config_.peer_place(terms.peer);
  if (!peer_place.ok()) {
    actions_.push_back(SessionFailed{std::string(peer_place.status().message())});
    return peer_place.status();
  }
  const NodePair nodes{
      .local_node = config_.local_index, .local = config_.incarnation, .peer_node = *peer_place, .peer = terms.peer};
  last_epoch_ = terms.epoch;
  actions_.push_back(SessionBegun{.nodes = nodes,
                                  .number = ++last_number_,
                                  .epoch = terms.epoch,
                                  .features = terms.features,
                                  .advertise = terms.advertise,
                                  .machine = terms.machine});
  live_.emplace(Live{.terms = std::move(terms), .nodes = nodes, .sequence = ReliableSequence(config_.bounds)});
  for (const Offer& offer : offers_) {
    if (offer.stream != 0) actions_.push_back(CloseStream{offer.stream});
  }
  offers_.clear();
  return absl::OkStatus();
}

void PeerSession::Attach(uint64_t stream, bool writing, MonotonicTime now) {
  carrier_ = Carrier{.stream = stream,
                     .writing = writing,
                     .silent_at = now + live_->terms.times.silence_timeout,
                     .look_at = now + config_.times.heartbeat_interval};
  live_->grace_over = MonotonicTime::InfiniteFuture();
}

void PeerSession::Farewell(uint64_t stream, bool writing, std::string last_frame, MonotonicTime now) {
  if (lingering_.size() >= kLingeringMax) {
    actions_.push_back(CloseStream{lingering_.begin()->first});
    lingering_.erase(lingering_.begin());
  }
  Lingering lingering{.writing = true, .deadline = now + config_.times.linger};
  if (writing) {
    lingering.last_frame = std::move(last_frame);
  } else {
    actions_.push_back(WriteFrame{stream, std::move(last_frame)});
  }
  lingering_[stream] = std::move(lingering);
}

std::string PeerSession::DebugString(MonotonicTime now) const {
  const auto in = [now](MonotonicTime time) {
    return time.is_infinite() ? "never"
                              : absl::StrCat(absl::ToInt64Seconds(absl::Ceil(time - now, absl::Seconds(1))), "s");
  };
  const auto terms_text = [](const Terms& terms) {
    return absl::StrCat(terms.peer.bits, " epoch ", terms.epoch, " dial ", terms.peer_dial);
  };
  std::string text = absl::StrCat("dials ", dials_, " epoch ", last_epoch_);
  if (live_.has_value()) {
    const ReliableSequence& sequence = live_->sequence;
    absl::StrAppend(&text, "; live with ", terms_text(live_->terms), " received ", sequence.received(),
                    " acknowledged ", sequence.acknowledged(), sequence.has_unsent() ? " unsent" : "", " waiting ",
                    sequence.ledger().waiting, " grace ", in(live_->grace_over));
  }
  if (carrier_.has_value()) {
    absl::StrAppend(&text, "; stream ", carrier_->stream, carrier_->writing ? " writing" : "", " silent ",
                    in(carrier_->silent_at), " look ", in(carrier_->look_at), " acknowledge ",
                    in(carrier_->acknowledge_at), " of ", carrier_->unacknowledged);
  }
  if (dial_.has_value()) {
    absl::StrAppend(&text, "; dial ", dial_->stream, " resumes ", dial_->resume_epoch, " until ", in(dial_->deadline));
  } else {
    absl::StrAppend(&text, "; dials ", in(DialDueAt()));
  }
  if (held_.has_value()) {
    absl::StrAppend(&text, "; held ", held_->stream, " of ", held_->hello.incarnation(), " probe ",
                    in(held_->probe_over));
  }
  for (const Offer& offer : offers_) {
    absl::StrAppend(&text, "; offer ", offer.stream, " to ", terms_text(offer.terms), " until ", in(offer.deadline));
  }
  if (last_.has_value()) absl::StrAppend(&text, "; ended ", terms_text(*last_));
  for (const auto& [stream, lingering] : lingering_) absl::StrAppend(&text, "; lingering ", stream);
  return absl::StrCat(text, leaving_ ? "; leaving" : "");
}

}  // namespace understudy
