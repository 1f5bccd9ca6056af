// PeerSession's handshake: who dials, which stream survives, and whether a
// session goes on or another begins.
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
#include "understudy/actors/pid.h"
#include "understudy/proto/envelope.pb.h"
#include "understudy/transport/frame_codec.h"
#include "understudy/transport/peer_session.h"

namespace understudy {
namespace {

// No session's epoch comes near it; the peer's numbers are checked against it.
constexpr uint64_t kEpochEnd = uint64_t{1} << 62;

}  // namespace

absl::Duration PeerSession::Jittered(absl::Duration interval) { return interval * (0.8 + 0.4 * random_.Fraction()); }

void PeerSession::MeetIncarnation(NodeIncarnation incarnation) {
  if (met_ == incarnation) return;
  met_ = incarnation;
  last_epoch_ = 0;
  peer_dials_void_ = 0;
}

// ---- Our own streams ----

bool PeerSession::IsDialWanted() const {
  return dialable_ && !carrier_.has_value() && !dial_.has_value() && (!leaving_ || live_.has_value());
}

void PeerSession::StartDialIfDue(MonotonicTime now) {
  if (!IsDialWanted() || dial_at_ > now) return;
  ++dials_;
  dial_ = Dial{.stream = ++last_stream_, .deadline = now + config_.times.handshake_timeout};
  actions_.push_back(DialStream{dial_->stream});
  actions_.push_back(WriteFrame{dial_->stream, HelloFrame()});
}

std::string PeerSession::HelloFrame() {
  FramePacker packer(0, 0);
  proto::Hello& hello = *packer.frame().mutable_hello();
  hello.set_version(kWireVersion);
  hello.set_from_node(config_.node);
  hello.set_incarnation(config_.incarnation.bits);
  hello.set_to_node(config_.peer);
  if (live_.has_value()) {
    hello.set_resume_epoch(live_->epoch);
    hello.set_received(live_->sequence.received());
  }
  hello.set_new_epoch(last_epoch_ + 1);
  hello.set_dial(dials_);
  hello.set_advertise(config_.advertise);
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
  absl::StatusOr<proto::Frame> frame = DecodeFrame(bytes);
  if (frame.ok() && frame->has_welcome()) {
    OnWelcome(*std::move(frame), now);
    return;
  }
  if (frame.ok() && frame->has_refuse()) {
    const proto::Refuse::Reason reason = frame->refuse().reason();
    if (reason != proto::Refuse::SUPERSEDED) {  // else the other stream is as good
      backoff_ = config_.times.backoff_max;
      actions_.push_back(DialRefused{.reason = reason, .detail = frame->refuse().detail()});
    }
  }
  AbandonDial(now);
}

void PeerSession::OnWelcome(proto::Frame frame, MonotonicTime now) {
  const proto::Welcome welcome = frame.welcome();
  if (welcome.version() != kWireVersion || welcome.from_node() != config_.peer || welcome.epoch() != frame.epoch() ||
      welcome.epoch() >= kEpochEnd) {
    AbandonDial(now);
    return;
  }
  const NodeIncarnation incarnation{welcome.incarnation()};
  if (live_.has_value() && live_->nodes.peer != incarnation) {
    End(SessionEnd::kNewIncarnation, "it answered a dial", now);
  }
  MeetIncarnation(incarnation);
  if (welcome.resumed()) {
    if (!live_.has_value() || live_->epoch != welcome.epoch()) {  // ours ended meanwhile
      AbandonDial(now);
      return;
    }
    const absl::Status acknowledged = live_->sequence.Acknowledge(welcome.received());
    if (!acknowledged.ok()) {
      End(SessionEnd::kBadFrame, acknowledged.message(), now);
      AbandonDial(now);
      return;
    }
  } else {
    if (welcome.epoch() <= last_epoch_ || leaving_) {
      AbandonDial(now);
      return;
    }
    if (live_.has_value()) End(SessionEnd::kPeerBeganAnew, "", now);
    if (!Begin(incarnation, welcome.epoch(), welcome.advertise()).ok()) {
      backoff_ = config_.times.backoff_max;
      AbandonDial(now);
      return;
    }
  }
  peer_dials_void_ = std::max(peer_dials_void_, welcome.dials_void());
  const Dial dial = *std::exchange(dial_, absl::nullopt);
  Attach(dial.stream, dial.writing, now);
  if (welcome.resumed()) actions_.push_back(SessionResumed{});
  frame.clear_control();
  HandleFrame(frame, now);
}

// ---- The peer's streams ----

uint64_t PeerSession::OnAccepted(const proto::Hello& hello, MonotonicTime now) {
  const uint64_t stream = ++last_stream_;
  if (held_.has_value()) {
    const bool same = held_->hello.incarnation() == hello.incarnation();
    RefuseHeld(same ? proto::Refuse::SUPERSEDED : proto::Refuse::NAME_TAKEN, "a later stream came", now);
  }
  held_ = Held{.stream = stream, .hello = hello};
  if (hello.version() != kWireVersion || hello.from_node() != config_.peer || hello.to_node() != config_.node ||
      hello.new_epoch() == 0 || hello.new_epoch() >= kEpochEnd) {
    RefuseHeld(proto::Refuse::MISTAKEN,
               absl::StrCat("this is node ", config_.node, ", wire version ", kWireVersion, "; the stream is for node ",
                            hello.to_node(), ", wire version ", hello.version()),
               now);
  }
  Settle(now);
  return stream;
}

void PeerSession::ConsiderHeld(MonotonicTime now) {
  if (!held_.has_value()) return;
  const NodeIncarnation incarnation{held_->hello.incarnation()};
  if (incarnation == met_ && held_->hello.dial() <= peer_dials_void_) {
    RefuseHeld(proto::Refuse::SUPERSEDED, "the stream is older than the one in use", now);
    return;
  }
  if (live_.has_value() && carrier_.has_value() && live_->nodes.peer != incarnation) {
    if (held_->probe_over.is_infinite()) {
      held_->probe_over = now + config_.times.probe_timeout;
      carrier_->probe_due = true;
    }
    if (held_->probe_over > now) return;
    End(SessionEnd::kNewIncarnation, "the old one did not answer", now);
  }
  // The stream opened by the smaller name survives: while ours may still come
  // up, the peer's waits.
  if (dial_.has_value() && config_.node < config_.peer) return;
  Admit(now);
}

void PeerSession::Admit(MonotonicTime now) {
  const Held held = *std::exchange(held_, absl::nullopt);
  const NodeIncarnation incarnation{held.hello.incarnation()};
  if (dial_.has_value()) {
    actions_.push_back(CloseStream{dial_->stream});
    dial_.reset();
  }
  if (live_.has_value() && live_->nodes.peer != incarnation) {
    End(SessionEnd::kNewIncarnation, "it opened a stream", now);
  }
  MeetIncarnation(incarnation);
  peer_dials_void_ = std::max(peer_dials_void_, held.hello.dial());
  if (carrier_.has_value()) {
    actions_.push_back(CloseStream{carrier_->stream});
    carrier_.reset();
    live_->sequence.Rewind();
  }
  const bool resumed = GoOnWith(held.hello, now);
  const bool went_on = live_.has_value();
  if (!went_on && leaving_) {
    held_ = held;
    RefuseHeld(proto::Refuse::STOPPING, "this node is leaving", now);
    return;
  }
  if (!went_on) {
    const uint64_t epoch = std::max(held.hello.new_epoch(), last_epoch_ + 1);
    const absl::Status begun = Begin(incarnation, epoch, held.hello.advertise());
    if (!begun.ok()) {
      held_ = held;
      RefuseHeld(proto::Refuse::FULL, begun.message(), now);
      return;
    }
  }
  Attach(held.stream, /*writing=*/false, now);
  proto::Welcome& welcome = carrier_->welcome.emplace();
  welcome.set_version(kWireVersion);
  welcome.set_from_node(config_.node);
  welcome.set_incarnation(config_.incarnation.bits);
  welcome.set_epoch(live_->epoch);
  welcome.set_resumed(resumed);
  welcome.set_received(live_->sequence.received());
  welcome.set_dials_void(dials_);
  welcome.set_advertise(config_.advertise);
  if (went_on) actions_.push_back(SessionResumed{});
}

// Whether the present session is the Hello's; ends it when it can be neither
// resumed nor offered.
bool PeerSession::GoOnWith(const proto::Hello& hello, MonotonicTime now) {
  if (!live_.has_value()) return false;
  if (hello.resume_epoch() == live_->epoch) {
    const absl::Status acknowledged = live_->sequence.Acknowledge(hello.received());
    if (acknowledged.ok()) return true;
    End(SessionEnd::kBadFrame, acknowledged.message(), now);
    return false;
  }
  // The peer never began ours, because our Welcome was lost: nothing of it has
  // arrived, so it is offered again as it is.
  const bool is_untouched = live_->sequence.received() == 0 && live_->sequence.acknowledged() == 0;
  if (hello.new_epoch() <= live_->epoch && is_untouched) return false;
  End(SessionEnd::kPeerBeganAnew, "", now);
  return false;
}

void PeerSession::RefuseHeld(proto::Refuse::Reason reason, absl::string_view detail, MonotonicTime now) {
  const uint64_t stream = held_->stream;
  held_.reset();
  FramePacker packer(0, 0);
  packer.frame().mutable_refuse()->set_reason(reason);
  packer.frame().mutable_refuse()->set_detail(std::string(detail));
  Farewell(stream, /*writing=*/false, packer.Encode(), now);
}

// ---- Streams ----

void PeerSession::Attach(uint64_t stream, bool writing, MonotonicTime now) {
  carrier_ = Carrier{.stream = stream,
                     .writing = writing,
                     .silent_at = now + config_.times.silence_timeout,
                     .heartbeat_at = now + Jittered(config_.times.heartbeat_interval)};
  live_->grace_over = MonotonicTime::InfiniteFuture();
}

void PeerSession::Farewell(uint64_t stream, bool writing, std::string last_frame, MonotonicTime now) {
  Lingering lingering{.writing = true, .deadline = now + config_.times.linger};
  if (writing) {
    lingering.last_frame = std::move(last_frame);
  } else {
    actions_.push_back(WriteFrame{stream, std::move(last_frame)});
  }
  lingering_[stream] = std::move(lingering);
}

}  // namespace understudy
