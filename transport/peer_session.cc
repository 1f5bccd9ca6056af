#include "understudy/transport/peer_session.h"

#include <algorithm>
#include <cstdint>
#include <string>
#include <utility>
#include <variant>

#include "absl/status/status.h"
#include "absl/status/statusor.h"
#include "absl/strings/str_cat.h"
#include "absl/strings/string_view.h"
#include "absl/time/time.h"
#include "absl/types/optional.h"
#include "understudy/actors/check.h"
#include "understudy/actors/clock.h"
#include "understudy/actors/error.h"
#include "understudy/actors/limits.h"
#include "understudy/actors/message.h"
#include "understudy/actors/pid.h"
#include "understudy/proto/envelope.pb.h"
#include "understudy/transport/frame_codec.h"
#include "understudy/transport/sequence.h"

namespace understudy {

absl::string_view SessionEndName(SessionEnd end) {
  switch (end) {
    case SessionEnd::kGraceOver:
      return "grace period over";
    case SessionEnd::kReserveSpent:
      return "reserve for signals spent";
    case SessionEnd::kBadFrame:
      return "bad frame";
    case SessionEnd::kPeerEnded:
      return "ended by the peer";
    case SessionEnd::kPeerLeft:
      return "the peer left";
    case SessionEnd::kLeft:
      return "this node left";
    case SessionEnd::kNewIncarnation:
      return "new incarnation";
    case SessionEnd::kPeerBeganAnew:
      return "the peer began anew";
  }
  return "?";
}

PeerSession::PeerSession(SessionConfig config)
    : config_(std::move(config)), random_(config_.seed), backoff_(config_.times.backoff_min) {
  UNDERSTUDY_CHECK(config_.node != config_.peer, "a node is not its own peer: ", config_.node);
  UNDERSTUDY_CHECK(config_.advertise.size() <= limits::kMailboxNameBytesMax, "the advertised address is too long");
}

// ---- What happened ----

void PeerSession::SetDialable(bool dialable, MonotonicTime now) {
  dialable_ = dialable;
  backoff_ = config_.times.backoff_min;
  dial_at_ = now;
  Settle(now);
}

void PeerSession::OnStreamFrame(uint64_t stream, absl::string_view bytes, MonotonicTime now) {
  if (dial_.has_value() && dial_->stream == stream) {
    OnDialFrame(bytes, now);
  } else if (carrier_.has_value() && carrier_->stream == stream) {
    absl::StatusOr<proto::Frame> frame = DecodeFrame(bytes);
    if (frame.ok()) {
      HandleFrame(*frame, now);
    } else {
      End(SessionEnd::kBadFrame, frame.status().message(), now);
    }
  } else if (held_.has_value() && held_->stream == stream) {
    actions_.push_back(CloseStream{stream});  // it must wait for its Welcome
    held_.reset();
  }
  Settle(now);
}

void PeerSession::OnStreamWritten(uint64_t stream, MonotonicTime now) {
  if (dial_.has_value() && dial_->stream == stream) {
    dial_->writing = false;
  } else if (carrier_.has_value() && carrier_->stream == stream) {
    carrier_->writing = false;
  } else if (const auto it = lingering_.find(stream); it != lingering_.end()) {
    Lingering& lingering = it->second;
    lingering.writing = !lingering.last_frame.empty();
    if (lingering.writing) actions_.push_back(WriteFrame{stream, std::exchange(lingering.last_frame, "")});
  }
  Settle(now);
}

void PeerSession::OnStreamClosed(uint64_t stream, const absl::Status& why, MonotonicTime now) {
  lingering_.erase(stream);
  if (dial_.has_value() && dial_->stream == stream) {
    FailDial(now);
  } else if (carrier_.has_value() && carrier_->stream == stream) {
    LoseStream(absl::StrCat("the stream closed: ", why.message()), now);
  } else if (held_.has_value() && held_->stream == stream) {
    held_.reset();
  }
  Settle(now);
}

void PeerSession::Tick(MonotonicTime now) {
  TickStreams(now);
  if (live_.has_value() && live_->grace_over <= now) End(SessionEnd::kGraceOver, "the peer did not come back", now);
  if (live_.has_value() && leave_at_ <= now) End(SessionEnd::kLeft, "the last envelopes were not acknowledged", now);
  Settle(now);
}

void PeerSession::TickStreams(MonotonicTime now) {
  if (dial_.has_value() && dial_->deadline <= now) AbandonDial(now);
  for (auto it = lingering_.begin(); it != lingering_.end();) {
    if (it->second.deadline <= now) {
      actions_.push_back(CloseStream{it->first});
      it = lingering_.erase(it);
    } else {
      ++it;
    }
  }
  if (!carrier_.has_value()) return;
  if (carrier_->silent_at <= now) {
    actions_.push_back(CloseStream{carrier_->stream});
    LoseStream(absl::StrCat("silent for ", absl::FormatDuration(config_.times.silence_timeout)), now);
    return;
  }
  if (carrier_->heartbeat_at <= now) {
    carrier_->heartbeat_due = true;
    carrier_->heartbeat_at = now + Jittered(config_.times.heartbeat_interval);
  }
}

MonotonicTime PeerSession::NextDeadline() const {
  MonotonicTime next = leave_at_;
  if (live_.has_value()) next = std::min(next, live_->grace_over);
  if (carrier_.has_value()) {
    next = std::min({next, carrier_->silent_at, carrier_->heartbeat_at});
    if (!carrier_->writing) next = std::min(next, carrier_->acknowledge_at);
  }
  if (dial_.has_value()) next = std::min(next, dial_->deadline);
  if (IsDialWanted()) next = std::min(next, dial_at_);
  if (held_.has_value()) next = std::min(next, held_->probe_over);
  for (const auto& [stream, lingering] : lingering_) next = std::min(next, lingering.deadline);
  return next;
}

// ---- What the owner wants ----

absl::Status PeerSession::Append(OutboundEnvelope envelope, MonotonicTime now) {
  if (leaving_) return MakeError(ErrorKind::kStopping, "this node is leaving");
  if (!live_.has_value()) {
    return MakeError(ErrorKind::kNoConnection, absl::StrCat("there is no session with node ", config_.peer));
  }
  const bool is_signal = envelope.is_signal;
  absl::Status appended = live_->sequence.Append(std::move(envelope));
  if (!appended.ok() && is_signal) {
    End(SessionEnd::kReserveSpent, appended.message(), now);
    return MakeError(ErrorKind::kNoConnection, absl::StrCat("the session with node ", config_.peer, " ended"));
  }
  Pump(now);
  return appended;
}

void PeerSession::Leave(absl::string_view why, MonotonicTime now) {
  if (leaving_) return;
  leaving_ = true;
  if (live_.has_value()) {
    leave_at_ = now + config_.times.leave_timeout;
    if (!live_->sequence.Append({.bytes = EncodeLeave(why), .is_signal = true}).ok()) {
      End(SessionEnd::kLeft, "no room to say so", now);
    }
  } else if (dial_.has_value()) {
    AbandonDial(now);
  }
  Settle(now);
}

void PeerSession::EndForBadFrame(absl::string_view why, MonotonicTime now) {
  if (live_.has_value()) End(SessionEnd::kBadFrame, why, now);
  Settle(now);
}

SessionLedger PeerSession::ledger() const {
  SessionLedger total = ended_;
  if (live_.has_value()) total += live_->sequence.ledger();
  return total;
}

// ---- The session ----

void PeerSession::HandleFrame(proto::Frame& frame, MonotonicTime now) {
  carrier_->silent_at = now + config_.times.silence_timeout;
  if (held_.has_value() && !held_->probe_over.is_infinite()) {
    RefuseHeld(proto::Refuse::NAME_TAKEN, absl::StrCat("another node ", config_.peer, " is alive"), now);
  }
  if (frame.epoch() < live_->epoch) {
    ++old_frames_refused_;
    return;
  }
  absl::Status status;
  if (frame.epoch() > live_->epoch) status = absl::InvalidArgumentError("a frame of an epoch to come");
  if (status.ok()) status = live_->sequence.Acknowledge(frame.acknowledged());
  if (status.ok()) status = HandleSlots(frame, now);
  if (!status.ok()) {
    if (live_.has_value()) End(SessionEnd::kBadFrame, status.message(), now);
    return;
  }
  if (live_.has_value() && leaving_ && live_->sequence.all_acknowledged()) End(SessionEnd::kLeft, "", now);
  if (live_.has_value()) HandleControl(frame, now);
}

void PeerSession::HandleControl(const proto::Frame& frame, MonotonicTime now) {
  switch (frame.control_case()) {
    case proto::Frame::kHeartbeat:
      if (frame.heartbeat().probe()) carrier_->heartbeat_due = true;
      break;
    case proto::Frame::kGoodbye:
      actions_.push_back(CloseStream{carrier_->stream});
      carrier_.reset();
      End(frame.goodbye().leaving() ? SessionEnd::kPeerLeft : SessionEnd::kPeerEnded, frame.goodbye().why(), now);
      break;
    case proto::Frame::kHello:
    case proto::Frame::kWelcome:
    case proto::Frame::kRefuse:
      End(SessionEnd::kBadFrame, "a handshake on a stream that carries a session", now);
      break;
    case proto::Frame::CONTROL_NOT_SET:
      break;
  }
}

absl::Status PeerSession::HandleSlots(proto::Frame& frame, MonotonicTime now) {
  for (proto::MailboxDefinition& definition : *frame.mutable_definitions()) {
    if (carrier_->defined_in.size() >= limits::kMailboxesPerStreamMax) {
      return absl::InvalidArgumentError("a stream defines too many mailboxes");
    }
    carrier_->defined_in[definition.hash()] = definition.name();
  }
  for (int i = 0; i < frame.slots_size(); ++i) {
    const uint64_t number = frame.first_number() + static_cast<uint64_t>(i);
    absl::StatusOr<absl::optional<Sequence::Arrived>> arrived =
        live_->sequence.Receive(number, *frame.mutable_slots(i));
    if (!arrived.ok()) return arrived.status();
    carrier_->acknowledge_at = std::min(carrier_->acknowledge_at, now + config_.times.acknowledge_delay);
    if (!arrived->has_value()) continue;
    const absl::Status handled = HandleEnvelope(**arrived, now);
    if (!handled.ok() || !live_.has_value()) return handled;
  }
  return absl::OkStatus();
}

absl::Status PeerSession::HandleEnvelope(const Sequence::Arrived& arrived, MonotonicTime now) {
  absl::StatusOr<InboundEnvelope> envelope = DecodeEnvelope(live_->nodes, arrived.bytes);
  if (!envelope.ok()) return envelope.status();
  if (const auto* leave = std::get_if<LeaveNotice>(&*envelope)) {
    End(SessionEnd::kPeerLeft, leave->why, now);
    return absl::OkStatus();
  }
  EnvelopeArrived action;
  if (std::holds_alternative<RefusedMessage>(*envelope)) {
    const absl::Status counted = live_->sequence.CountRefused();
    if (!counted.ok()) return counted;
  }
  if (const auto* message = std::get_if<internal::Message>(&*envelope)) {
    const auto defined = carrier_->defined_in.find(message->mailbox);
    if (defined == carrier_->defined_in.end()) {
      return absl::InvalidArgumentError("a message to a mailbox that the stream has not defined");
    }
    const absl::string_view known = internal::MailboxNames::Find(message->mailbox);
    action.wrong_mailbox = !known.empty() && known != defined->second;
  }
  action.deadline = MonotonicTime::InfiniteFuture();
  if (arrived.remaining_nanos.has_value()) {
    action.deadline = now + absl::Nanoseconds(std::max<int64_t>(0, *arrived.remaining_nanos));
  }
  action.envelope = *std::move(envelope);
  actions_.push_back(std::move(action));
  return absl::OkStatus();
}

absl::Status PeerSession::Begin(NodeIncarnation incarnation, uint64_t epoch, absl::string_view advertise) {
  const absl::StatusOr<uint16_t> peer_index = config_.peer_index(incarnation);
  if (!peer_index.ok()) {
    actions_.push_back(SessionFailed{std::string(peer_index.status().message())});
    return peer_index.status();
  }
  const NodePair nodes{
      .local_node = config_.local_index, .local = config_.incarnation, .peer_node = *peer_index, .peer = incarnation};
  live_.emplace(Live{.nodes = nodes, .epoch = epoch, .sequence = Sequence(config_.bounds)});
  last_epoch_ = epoch;
  actions_.push_back(SessionBegun{.nodes = nodes, .epoch = epoch, .advertise = std::string(advertise)});
  return absl::OkStatus();
}

void PeerSession::End(SessionEnd why, absl::string_view detail, MonotonicTime now) {
  Live live = *std::move(live_);
  live_.reset();
  live.sequence.End();
  ended_ += live.sequence.ledger();
  leave_at_ = MonotonicTime::InfiniteFuture();
  detail = detail.substr(0, limits::kNameBytesMax);
  if (carrier_.has_value()) {
    FramePacker packer(live.epoch, live.sequence.received());
    proto::Goodbye& goodbye = *packer.frame().mutable_goodbye();
    goodbye.set_why(absl::StrCat(SessionEndName(why), ": ", detail));
    goodbye.set_leaving(why == SessionEnd::kLeft);
    const Carrier carrier = *std::exchange(carrier_, absl::nullopt);
    Farewell(carrier.stream, carrier.writing, packer.Encode(), now);
  }
  if (leaving_ && dial_.has_value()) AbandonDial(now);
  if (why == SessionEnd::kBadFrame) backoff_ = config_.times.backoff_max;
  dial_at_ = std::max(dial_at_, now + backoff_ * (1 - random_.Fraction() / 2));
  actions_.push_back(SessionEnded{.why = why, .detail = std::string(detail), .nodes = live.nodes, .epoch = live.epoch});
}

void PeerSession::LoseStream(absl::string_view why, MonotonicTime now) {
  carrier_.reset();
  backoff_ = config_.times.backoff_min;
  dial_at_ = now + backoff_ * (1 - random_.Fraction() / 2);
  if (config_.times.grace_period <= absl::ZeroDuration()) {
    End(SessionEnd::kGraceOver, why, now);
    return;
  }
  live_->sequence.Rewind();
  live_->grace_over = now + config_.times.grace_period;
  actions_.push_back(SessionSuspect{.why = std::string(why)});
}

void PeerSession::Pump(MonotonicTime now) {
  if (!carrier_.has_value() || carrier_->writing) return;
  Carrier& carrier = *carrier_;
  const bool beats = carrier.heartbeat_due || carrier.probe_due;
  if (!carrier.welcome.has_value() && !beats && !live_->sequence.has_unsent() && carrier.acknowledge_at > now) return;
  FramePacker packer(live_->epoch, live_->sequence.received());
  if (carrier.welcome.has_value()) {
    *packer.frame().mutable_welcome() = *std::move(carrier.welcome);
    carrier.welcome.reset();
  } else {
    if (beats) packer.frame().mutable_heartbeat()->set_probe(carrier.probe_due);
    carrier.heartbeat_due = false;
    carrier.probe_due = false;
    live_->sequence.Fill(packer, carrier.defined_out, now);
  }
  carrier.acknowledge_at = MonotonicTime::InfiniteFuture();
  carrier.heartbeat_at = now + Jittered(config_.times.heartbeat_interval);
  carrier.writing = true;
  actions_.push_back(WriteFrame{carrier.stream, packer.Encode()});
}

void PeerSession::Settle(MonotonicTime now) {
  ConsiderHeld(now);
  StartDialIfDue(now);
  Pump(now);
}

}  // namespace understudy
