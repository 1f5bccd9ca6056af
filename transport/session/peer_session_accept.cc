// PeerSession: the streams that the peer opens.
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
#include "understudy/actors/check.h"
#include "understudy/actors/clock.h"
#include "understudy/actors/cut_text.h"
#include "understudy/actors/fault_point.h"
#include "understudy/actors/limits.h"
#include "understudy/actors/pid.h"
#include "understudy/proto/envelope.pb.h"
#include "understudy/transport/codec/frame_codec.h"
#include "understudy/transport/session/handshake.h"
#include "understudy/transport/session/peer_session.h"
#include "understudy/transport/session/session_proof.h"
#include "understudy/transport/session/stream_identity.h"
#include "understudy/transport/session_times.h"

namespace understudy {
namespace {

// The most offers that are kept. Few are needed: the peer takes an offer within a round trip and has one dial at a
// time.
constexpr size_t kOffersMax = 4;

// Rules that tests take away, to see that they would find it.
FaultPoint kTakesAnyResume("session_takes_a_resume_without_proof");
FaultPoint kTakesAnyDial("session_takes_an_old_dial");
FaultPoint kBelievesAnyClaim("session_believes_an_unproved_claim");
FaultPoint kBeginsWithTheHello("session_begins_with_the_hello");

absl::Duration RoundUp(absl::Duration duration) { return absl::Ceil(duration, absl::Seconds(1)); }

}  // namespace

uint64_t PeerSession::OnAccepted(const proto::Hello& hello, const StreamIdentity& identity, MonotonicTime now) {
  UNDERSTUDY_CHECK(hello.from_node() == config_.peer, "a Hello of node ", hello.from_node());
  const uint64_t stream = ++last_stream_;
  absl::optional<Held> earlier = std::exchange(held_, absl::nullopt);
  held_ = Held{.stream = stream, .hello = hello, .identity = identity};
  absl::optional<Refusal> refusal = CheckHello(hello, config_.node, config_.versions);
  if (refusal.has_value()) {
    RefuseHeld(*refusal, now);
    held_ = std::move(earlier);
  } else if (earlier.has_value()) {
    // Of two streams, the one that proves more is considered. If they prove the same, it is the later one, because the
    // peer may have given up the earlier one.
    if (Judge(*held_, now).standing >= Judge(*earlier, now).standing) std::swap(held_, earlier);
    RefuseHeld({.reason = proto::Refuse::SUPERSEDED, .detail = "another stream is considered"}, now);
    held_ = std::move(earlier);
  }
  Settle(now);
  return stream;
}

PeerSession::Judgement PeerSession::Judge(const Held& held, MonotonicTime now) const {
  if (leaving_ && !live_.has_value()) {
    return {.standing = Standing::kRefused,
            .refusal = {.reason = proto::Refuse::STOPPING, .detail = "this node is leaving"}};
  }
  return held.hello.resume_epoch() != 0 ? JudgeResume(held.hello) : JudgeBegin(held, now);
}

PeerSession::Judgement PeerSession::JudgeResume(const proto::Hello& hello) const {
  const auto refused = [](proto::Refuse::Reason reason, std::string detail, std::string proof = "") {
    return Judgement{.standing = Standing::kRefused,
                     .refusal = {.reason = reason, .detail = std::move(detail)},
                     .proof = std::move(proof)};
  };
  const NodeIncarnation peer{hello.incarnation()};
  if (hello.to_incarnation() != config_.incarnation.bits) {
    return refused(proto::Refuse::OTHER_INCARNATION, "this node was started anew since that session began");
  }
  const Terms* const terms = FindTerms(peer, hello.resume_epoch());
  if (terms == nullptr) {
    std::string proof;
    if (last_.has_value() && last_->peer == peer && last_->epoch == hello.resume_epoch() &&
        last_->secret.Accepts(
            Claim(SessionClaim::Kind::kResume, Side::kWeAccepted, *last_, hello.dial(), hello.received()),
            hello.proof())) {
      proof =
          last_->secret.Prove(Claim(SessionClaim::Kind::kEndedByAcceptor, Side::kWeAccepted, *last_, hello.dial(), 0));
    }
    return refused(proto::Refuse::ENDED,
                   absl::StrCat("session ", hello.resume_epoch(), " with node ", config_.peer, " is over here"),
                   std::move(proof));
  }
  if (hello.dial() <= terms->peer_dial && !kTakesAnyDial.armed()) {
    return refused(proto::Refuse::SUPERSEDED, "the stream is older than the one in use");
  }
  const SessionClaim claim =
      Claim(SessionClaim::Kind::kResume, Side::kWeAccepted, *terms, hello.dial(), hello.received());
  if (!terms->secret.Accepts(claim, hello.proof()) && !kTakesAnyResume.armed()) {
    // Both nodes may have offers of one number, and neither has been taken.
    if (!live_.has_value()) return refused(proto::Refuse::ENDED, "no such session was offered here");
    return refused(proto::Refuse::UNPROVED,
                   absl::StrCat("a Hello in the name of node ", config_.peer,
                                " does not prove that it comes from the process that has session ", terms->epoch));
  }
  return {.standing = Standing::kResume};
}

PeerSession::Judgement PeerSession::JudgeBegin(const Held& held, MonotonicTime now) const {
  const proto::Hello& hello = held.hello;
  const bool is_proved = held.identity.is_proved();
  if (!live_.has_value()) return {.standing = is_proved ? Standing::kBegin : Standing::kUnproved};
  const Terms& terms = live_->terms;
  const bool is_same = terms.peer.bits == hello.incarnation();
  if (is_same && hello.dial() <= terms.peer_dial && !kTakesAnyDial.armed()) {
    return {.standing = Standing::kRefused,
            .refusal = {.reason = proto::Refuse::SUPERSEDED, .detail = "the stream is older than the one in use"}};
  }
  if (is_same && hello.ended_epoch() == terms.epoch && hello.to_incarnation() == config_.incarnation.bits &&
      terms.secret.Accepts(Claim(SessionClaim::Kind::kEndedByDialler, Side::kWeAccepted, terms, hello.dial(), 0),
                           hello.proof())) {
    return {.standing = Standing::kEnded};
  }
  if (is_proved || kBelievesAnyClaim.armed()) return {.standing = Standing::kClaim};
  const absl::Duration left =
      carrier_.has_value() ? terms.times.silence_timeout + terms.times.grace_period : live_->grace_over - now;
  return {
      .standing = Standing::kRefused,
      .refusal = {.reason = is_same ? proto::Refuse::UNPROVED : proto::Refuse::NAME_TAKEN,
                  .detail = absl::StrCat(
                      "node ", config_.node, " has a session with another process of node ", config_.peer,
                      ", and nothing proves this one's identity; if that process is dead, its session ", "ends within ",
                      absl::FormatDuration(RoundUp(left)), "; Unix sockets and TLS prove an identity at once")}};
}

void PeerSession::ConsiderHeld(MonotonicTime now) {
  if (!held_.has_value()) return;
  const Judgement judgement = Judge(*held_, now);
  if (judgement.standing == Standing::kRefused) {
    if (judgement.refusal.reason == proto::Refuse::UNPROVED) ++unproved_refused_;
    RefuseHeld(judgement.refusal, now, judgement.proof);
    return;
  }
  if (judgement.standing == Standing::kClaim && carrier_.has_value()) {
    if (held_->probe_over.is_infinite()) {
      held_->probe_over = now + config_.times.probe_timeout;
      carrier_->probe_due = true;
    }
    if (held_->probe_over > now) return;
  }
  // Of two streams opened at once, the one opened by the node with the smaller name survives. While a dial of this node
  // may still succeed and its name is smaller, the peer's stream waits.
  if (dial_.has_value() && config_.node < config_.peer) return;
  Admit(judgement.standing, now);
}

void PeerSession::Admit(Standing standing, MonotonicTime now) {
  const Held held = *std::exchange(held_, absl::nullopt);
  if (standing == Standing::kResume) {
    ResumeBy(held, now);
    return;
  }
  if (live_.has_value()) {
    const bool is_same = live_->terms.peer.bits == held.hello.incarnation();
    const absl::string_view detail = standing == Standing::kEnded
                                         ? "it proves so"
                                         : (carrier_.has_value() ? "the old one did not answer" : "it opened a stream");
    End(is_same ? SessionEnd::kPeerBeganAnew : SessionEnd::kNewIncarnation, detail, now);
  }
  MakeOffer(held, now);
}

void PeerSession::MakeOffer(const Held& held, MonotonicTime now) {
  const proto::Hello& hello = held.hello;
  if (offers_.size() >= kOffersMax) {
    if (offers_.front().stream != 0) actions_.push_back(CloseStream{offers_.front().stream});
    offers_.erase(offers_.begin());
  }
  uint64_t epoch = std::max(last_epoch_ + 1, hello.new_epoch());
  for (const Offer& offer : offers_) epoch = std::max(epoch, offer.terms.epoch + 1);
  if (epoch >= kEpochEnd) epoch = hello.new_epoch();
  const std::string key = config_.new_key();
  Offer offer = {
      .terms = {.peer = NodeIncarnation{hello.incarnation()},
                .epoch = epoch,
                .secret = SessionSecret(hello.key(), key),
                .version = *CommonVersion(hello, config_.versions),
                .features = hello.features() & config_.versions.features,
                .times = held.identity.is_proved() ? Agree(config_.times, hello.times())
                                                   : AgreeUnproved(config_.times, hello.times(), AcceptingEnd::kOurs),
                .advertise = hello.advertise(),
                .machine = hello.machine(),
                .peer_dial = hello.dial()},
      .stream = held.stream,
      .deadline = now + config_.times.handshake_timeout};
  FramePacker packer(epoch, 0);
  proto::Welcome& welcome = *packer.frame().mutable_welcome();
  welcome.set_version(offer.terms.version);
  welcome.set_features(offer.terms.features);
  welcome.set_from_node(config_.node);
  welcome.set_incarnation(config_.incarnation.bits);
  welcome.set_epoch(epoch);
  welcome.set_dials_void(dials_);
  welcome.set_advertise(config_.advertise);
  welcome.set_machine(config_.machine);
  welcome.set_key(key);
  *welcome.mutable_times() = ToProto(config_.times);
  actions_.push_back(WriteFrame{held.stream, packer.Encode()});
  offers_.push_back(std::move(offer));
  if (kBeginsWithTheHello.armed() && Begin(Terms(offers_.back().terms)).ok()) {
    Attach(held.stream, /*writing=*/true, now);
  }
}

void PeerSession::OnOfferFrame(uint64_t stream, absl::string_view bytes, MonotonicTime now) {
  const Offer offer = *OfferOn(stream);
  const absl::StatusOr<FrameView> frame = DecodeSessionFrame(bytes);
  const bool is_taken = frame.ok() && frame->epoch == offer.terms.epoch && !frame->is_handshake();
  if (!is_taken) {
    actions_.push_back(CloseStream{stream});
    DropOffer(offer.terms.epoch);
    return;
  }
  OfferOn(stream)->stream = 0;  // Begin closes the streams of the others
  const absl::Status begun = Begin(offer.terms);
  if (!begun.ok()) {
    FramePacker packer(offer.terms.epoch, 0);
    packer.frame().mutable_goodbye()->set_why(CutText(begun.message(), limits::kNameBytesMax));
    DropOffer(offer.terms.epoch);
    Farewell(stream, offer.writing, packer.Encode(), now);
    return;
  }
  if (dial_.has_value()) AbandonDial(now);
  Attach(stream, offer.writing, now);
  HandleFrame(*frame, now);
}

void PeerSession::ResumeBy(const Held& held, MonotonicTime now) {
  const proto::Hello& hello = held.hello;
  if (dial_.has_value()) AbandonDial(now);
  const bool was_live = live_.has_value();
  if (!was_live) {  // an offer: the peer took it, and its first frame was lost
    const absl::Status begun = Begin(Terms(*FindTerms(NodeIncarnation{hello.incarnation()}, hello.resume_epoch())));
    if (!begun.ok()) {
      held_ = held;
      RefuseHeld({.reason = proto::Refuse::FULL, .detail = std::string(begun.message())}, now);
      return;
    }
  }
  const absl::Status acknowledged = live_->sequence.Acknowledge(hello.received());
  if (!acknowledged.ok()) {
    End(SessionEnd::kBadFrame, acknowledged.message(), now);
    held_ = held;
    RefuseHeld({.reason = proto::Refuse::ENDED, .detail = std::string(acknowledged.message())}, now);
    return;
  }
  if (carrier_.has_value()) actions_.push_back(CloseStream{carrier_->stream});
  live_->sequence.Rewind();
  live_->terms.peer_dial = hello.dial();
  Attach(held.stream, /*writing=*/false, now);
  const Terms& terms = live_->terms;
  const uint64_t received = live_->sequence.received();
  proto::Welcome& welcome = carrier_->welcome.emplace();
  welcome.set_version(terms.version);
  welcome.set_features(terms.features);
  welcome.set_from_node(config_.node);
  welcome.set_incarnation(config_.incarnation.bits);
  welcome.set_epoch(terms.epoch);
  welcome.set_resumed(true);
  welcome.set_received(received);
  welcome.set_dials_void(dials_);
  welcome.set_advertise(config_.advertise);
  welcome.set_machine(config_.machine);
  welcome.set_proof(
      terms.secret.Prove(Claim(SessionClaim::Kind::kResumed, Side::kWeAccepted, terms, hello.dial(), received)));
  *welcome.mutable_times() = ToProto(config_.times);
  if (was_live) actions_.push_back(SessionResumed{});
}

void PeerSession::RefuseHeld(const Refusal& refusal, MonotonicTime now, absl::string_view proof) {
  const uint64_t stream = held_->stream;
  held_.reset();
  switch (refusal.reason) {
    case proto::Refuse::SUPERSEDED:
    case proto::Refuse::ENDED:
    case proto::Refuse::OTHER_INCARNATION:
      break;  // two nodes that find each other again; nothing is wrong
    default:
      actions_.push_back(StreamRefused{.reason = refusal.reason, .detail = refusal.detail});
      break;
  }
  Farewell(stream, /*writing=*/false, RefuseFrame(refusal, config_.versions, config_.incarnation, proof), now);
}

// ---- Offers ----

PeerSession::Offer* PeerSession::OfferOn(uint64_t stream) {
  const auto found = std::find_if(offers_.begin(), offers_.end(), [&](const Offer& o) { return o.stream == stream; });
  return found == offers_.end() ? nullptr : &*found;
}

const PeerSession::Terms* PeerSession::FindTerms(NodeIncarnation peer, uint64_t epoch) const {
  const auto is_it = [&](const Terms& terms) { return terms.peer == peer && terms.epoch == epoch; };
  if (live_.has_value()) return is_it(live_->terms) ? &live_->terms : nullptr;
  const auto found = std::find_if(offers_.begin(), offers_.end(), [&](const Offer& o) { return is_it(o.terms); });
  return found == offers_.end() ? nullptr : &found->terms;
}

void PeerSession::DropOffer(uint64_t epoch) {
  for (const Offer& offer : offers_) {
    if (offer.terms.epoch == epoch && offer.stream != 0) actions_.push_back(CloseStream{offer.stream});
  }
  std::erase_if(offers_, [&](const Offer& offer) { return offer.terms.epoch == epoch; });
}

void PeerSession::AbandonHandshakes(MonotonicTime now) {
  if (held_.has_value()) actions_.push_back(CloseStream{held_->stream});
  held_.reset();
  while (!offers_.empty()) DropOffer(offers_.back().terms.epoch);
  Settle(now);
}

void PeerSession::BeginAnew(const SessionTimes& times, MonotonicTime now) {
  config_.times = times;
  if (dial_.has_value()) AbandonDial(now);
  if (live_.has_value()) End(SessionEnd::kNewIncarnation, "this node starts the process of that name itself", now);
  AbandonHandshakes(now);
}

void PeerSession::TickOffers(MonotonicTime now) {
  for (const Offer& offer : offers_) {
    if (offer.deadline <= now && offer.stream != 0) actions_.push_back(CloseStream{offer.stream});
  }
  std::erase_if(offers_, [&](const Offer& offer) { return offer.deadline <= now; });
}

}  // namespace understudy
