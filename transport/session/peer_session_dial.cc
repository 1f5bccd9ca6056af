// PeerSession: the streams that this node opens, when it opens them, and the pause before
// it tries again after a failure.
#include <algorithm>
#include <cstdint>
#include <string>
#include <utility>

#include "absl/status/status.h"
#include "absl/status/statusor.h"
#include "absl/strings/str_cat.h"
#include "absl/strings/string_view.h"
#include "absl/time/time.h"
#include "absl/types/optional.h"
#include "understudy/actors/clock.h"
#include "understudy/actors/fault_point.h"
#include "understudy/actors/pid.h"
#include "understudy/proto/envelope.pb.h"
#include "understudy/transport/codec/frame_codec.h"
#include "understudy/transport/session/handshake.h"
#include "understudy/transport/session/peer_session.h"
#include "understudy/transport/session/session_proof.h"
#include "understudy/transport/session_times.h"

namespace understudy {
namespace {

// Rules that tests take away, to see that they would find it.
FaultPoint kTakesAnyWelcome("session_takes_a_welcome_without_proof");
FaultPoint kBelievesAnyEnd("session_believes_an_end_without_proof");
FaultPoint kBelievesAnyIncarnation("session_believes_an_unproved_incarnation");

}  // namespace

// A stream of the peer with an open offer may come to carry the session, so it delays a
// dial; but by at most backoff_max since the last dial, so that an unknown node that
// opens one stream after another cannot prevent this node from dialling.
MonotonicTime PeerSession::DialDueAt() const {
  const bool is_wanted =
      at_address_.has_value() && !carrier_.has_value() && !dial_.has_value() && (!leaving_ || live_.has_value());
  if (!is_wanted) return MonotonicTime::InfiniteFuture();
  const bool has_open_offer =
      std::any_of(offers_.begin(), offers_.end(), [](const Offer& offer) { return offer.stream != 0; });
  return has_open_offer ? std::max(dial_at_, dialled_at_ + config_.times.backoff_max) : dial_at_;
}

void PeerSession::StartDialIfDue(MonotonicTime now) {
  if (DialDueAt() > now) return;
  ++dials_;
  dialled_at_ = now;
  dial_ = Dial{.stream = ++last_stream_,
               .deadline = now + config_.times.handshake_timeout,
               .key = config_.new_key(),
               .is_proved = at_address_->is_proved()};
  actions_.push_back(DialStream{dial_->stream});
  actions_.push_back(WriteFrame{dial_->stream, HelloFrame()});
}

std::string PeerSession::HelloFrame() {
  FramePacker packer(0, 0);
  proto::Hello& hello = *packer.frame().mutable_hello();
  hello.set_version(config_.versions.lowest);
  hello.set_version_highest(config_.versions.highest);
  hello.set_features(config_.versions.features);
  hello.set_from_node(config_.node);
  hello.set_incarnation(config_.incarnation.bits);
  hello.set_to_node(config_.peer);
  hello.set_new_epoch(NextEpoch());
  hello.set_dial(dials_);
  hello.set_advertise(config_.advertise);
  hello.set_machine(config_.machine);
  hello.set_key(dial_->key);
  *hello.mutable_times() = ToProto(config_.times);
  // The peer may have begun the session of the last offer although its first frame was lost; so try to resume that.
  const Terms* const ours = live_.has_value() ? &live_->terms : (offers_.empty() ? nullptr : &offers_.back().terms);
  if (ours != nullptr) {
    dial_->resume_epoch = ours->epoch;
    const uint64_t received = live_.has_value() ? live_->sequence.received() : 0;
    hello.set_resume_epoch(ours->epoch);
    hello.set_received(received);
    hello.set_to_incarnation(ours->peer.bits);
    hello.set_proof(ours->secret.Prove(Claim(SessionClaim::Kind::kResume, Side::kWeDialled, *ours, dials_, received)));
  } else if (last_.has_value()) {
    hello.set_ended_epoch(last_->epoch);
    hello.set_to_incarnation(last_->peer.bits);
    hello.set_proof(
        last_->secret.Prove(Claim(SessionClaim::Kind::kEndedByDialler, Side::kWeDialled, *last_, dials_, 0)));
  }
  return packer.Encode();
}

void PeerSession::FailDial(MonotonicTime now) {
  dial_.reset();
  dial_at_ = now + backoff_ * (1 - random_.Fraction() / 2);
  backoff_ = std::min(2 * backoff_, config_.times.backoff_max);
}

void PeerSession::AbandonDial(MonotonicTime now) {
  actions_.push_back(CloseStream{dial_->stream});
  FailDial(now);
}

void PeerSession::OnDialFrame(absl::string_view bytes, MonotonicTime now) {
  absl::StatusOr<proto::Frame> frame = DecodeHandshake(bytes);
  if (frame.ok() && frame->has_welcome()) {
    OnWelcome(*frame, now);
  } else if (frame.ok() && frame->has_refuse()) {
    OnRefuse(frame->refuse(), now);
  } else {
    backoff_ = config_.times.backoff_max;
    actions_.push_back(DialRefused{
        .reason = proto::Refuse::MISTAKEN,
        .detail = absl::StrCat("what listens at the address is not a node of Understudy: ",
                               frame.ok() ? "it answers a Hello with another frame" : frame.status().message())});
    AbandonDial(now);
  }
}

void PeerSession::OnRefuse(const proto::Refuse& refuse, MonotonicTime now) {
  const uint64_t resumed = dial_->resume_epoch;
  const bool is_for_live = live_.has_value() && resumed == live_->terms.epoch;
  const bool is_proved = dial_->is_proved;
  const uint64_t dial = dials_;
  AbandonDial(now);
  if (refuse.reason() == proto::Refuse::SUPERSEDED) return;  // the other stream is as good
  const bool is_over = refuse.reason() == proto::Refuse::ENDED || refuse.reason() == proto::Refuse::OTHER_INCARNATION;
  if (resumed != 0 && !is_for_live) {  // it was for an offer, and the peer never took it
    DropOffer(resumed);
    dial_at_ = now;
    return;
  }
  if (is_for_live && is_over) {
    const SessionClaim claim = Claim(SessionClaim::Kind::kEndedByAcceptor, Side::kWeDialled, live_->terms, dial, 0);
    const bool is_ended = refuse.reason() == proto::Refuse::ENDED &&
                          (is_proved || live_->terms.secret.Accepts(claim, refuse.proof()) || kBelievesAnyEnd.armed());
    const bool is_other = refuse.reason() == proto::Refuse::OTHER_INCARNATION &&
                          refuse.incarnation() != live_->terms.peer.bits &&
                          (is_proved || kBelievesAnyIncarnation.armed());
    if (is_ended || is_other) {
      End(is_ended ? SessionEnd::kPeerBeganAnew : SessionEnd::kNewIncarnation, "it answered a dial", now);
      dial_at_ = now;
      return;
    }
  }
  backoff_ = config_.times.backoff_max;
  actions_.push_back(DialRefused{.reason = refuse.reason(), .detail = refuse.detail()});
}

void PeerSession::OnWelcome(const proto::Frame& frame, MonotonicTime now) {
  const proto::Welcome& welcome = frame.welcome();
  const bool resumes = dial_->resume_epoch != 0;
  const absl::Status checked = CheckWelcome(frame, config_.peer, config_.versions, resumes, NextEpoch());
  if (!checked.ok()) {
    backoff_ = config_.times.backoff_max;
    actions_.push_back(DialRefused{.reason = proto::Refuse::MISTAKEN, .detail = std::string(checked.message())});
    AbandonDial(now);
    return;
  }
  const bool was_live = live_.has_value();
  if (!(resumes ? Resume(welcome, now) : BeginAsDialled(welcome))) {
    backoff_ = config_.times.backoff_max;
    if (dial_.has_value()) AbandonDial(now);
    return;
  }
  live_->terms.peer_dial = std::max(live_->terms.peer_dial, welcome.dials_void());
  const Dial dial = *std::exchange(dial_, absl::nullopt);
  Attach(dial.stream, dial.writing, now);
  carrier_->heartbeat_due = true;  // the peer waits for it
  if (was_live) actions_.push_back(SessionResumed{});
  FrameView rest;  // of a Welcome, which has no slots
  rest.epoch = frame.epoch();
  rest.acknowledged = frame.acknowledged();
  HandleFrame(rest, now);
}

// Returns whether the Welcome proves the session that the Hello asked to resume: the live
// one, or one that this node offered, which begins now.
bool PeerSession::Resume(const proto::Welcome& welcome, MonotonicTime now) {
  const Terms* const terms = FindTerms(NodeIncarnation{welcome.incarnation()}, dial_->resume_epoch);
  if (terms == nullptr || welcome.epoch() != terms->epoch) return false;
  const SessionClaim claim = Claim(SessionClaim::Kind::kResumed, Side::kWeDialled, *terms, dials_, welcome.received());
  if (!terms->secret.Accepts(claim, welcome.proof()) && !kTakesAnyWelcome.armed()) {
    ++unproved_refused_;
    return false;
  }
  if (!live_.has_value() && !Begin(Terms(*terms)).ok()) return false;
  const absl::Status acknowledged = live_->sequence.Acknowledge(welcome.received());
  if (acknowledged.ok()) return true;
  End(SessionEnd::kBadFrame, acknowledged.message(), now);
  return false;
}

bool PeerSession::BeginAsDialled(const proto::Welcome& welcome) {
  if (live_.has_value() || leaving_) return false;
  const SessionTimes times = dial_->is_proved ? Agree(config_.times, welcome.times())
                                              : AgreeUnproved(config_.times, welcome.times(), AcceptingEnd::kTheirs);
  return Begin(Terms{.peer = NodeIncarnation{welcome.incarnation()},
                     .epoch = welcome.epoch(),
                     .secret = SessionSecret(dial_->key, welcome.key()),
                     .version = welcome.version(),
                     .features = welcome.features() & config_.versions.features,
                     .times = times,
                     .advertise = welcome.advertise(),
                     .machine = welcome.machine(),
                     .peer_dial = welcome.dials_void()})
      .ok();
}

}  // namespace understudy
