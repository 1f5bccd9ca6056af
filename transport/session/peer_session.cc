#include "understudy/transport/session/peer_session.h"

#include <algorithm>
#include <cstdint>
#include <set>
#include <string>
#include <utility>
#include <variant>

#include "absl/functional/function_ref.h"
#include "absl/status/status.h"
#include "absl/status/statusor.h"
#include "absl/strings/str_cat.h"
#include "absl/strings/string_view.h"
#include "absl/time/time.h"
#include "absl/types/optional.h"
#include "understudy/actors/check.h"
#include "understudy/actors/clock.h"
#include "understudy/actors/cut_text.h"
#include "understudy/actors/error.h"
#include "understudy/actors/fault_point.h"
#include "understudy/actors/limits.h"
#include "understudy/actors/message.h"
#include "understudy/actors/pid.h"
#include "understudy/proto/envelope.pb.h"
#include "understudy/transport/codec/frame_codec.h"
#include "understudy/transport/session/reliable_sequence.h"

namespace understudy {
namespace {

// Rules that tests leave out.
FaultPoint kBelievesNoProof("session_believes_no_proof");
FaultPoint kBelievesProofsOfOthers("session_ends_by_a_proof_of_another_incarnation");
FaultPoint kBelievesRefutedProofs("session_ends_by_a_proof_that_a_stream_refutes");

}  // namespace

absl::string_view SessionEndName(SessionEnd end) {
  switch (end) {
    case SessionEnd::kGraceOver:
      return "grace period over";
    case SessionEnd::kNoGrace:
      return "it has no grace period";
    case SessionEnd::kReserveSpent:
      return "no room for signals or answers";
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
    case SessionEnd::kProcessEnded:
      return "the peer's process ended";
  }
  return "?";
}

absl::string_view SessionEndLabel(SessionEnd end) {
  switch (end) {
    case SessionEnd::kGraceOver:
      return "grace_over";
    case SessionEnd::kNoGrace:
      return "no_grace";
    case SessionEnd::kReserveSpent:
      return "reserve_spent";
    case SessionEnd::kBadFrame:
      return "bad_frame";
    case SessionEnd::kPeerEnded:
      return "peer_ended";
    case SessionEnd::kPeerLeft:
      return "peer_left";
    case SessionEnd::kLeft:
      return "left";
    case SessionEnd::kNewIncarnation:
      return "new_incarnation";
    case SessionEnd::kPeerBeganAnew:
      return "peer_began_anew";
    case SessionEnd::kProcessEnded:
      return "process_ended";
  }
  return "unknown";
}

PeerSession::PeerSession(SessionConfig config)
    : config_(std::move(config)),
      random_(config_.seed),
      backoff_(config_.times.backoff_min),
      last_number_(config_.first_number - 1) {
  UNDERSTUDY_CHECK(config_.node != config_.peer, "a node is not its own peer: ", config_.node);
  UNDERSTUDY_CHECK(config_.new_key != nullptr, "a session needs keys that nobody can guess");
  UNDERSTUDY_CHECK(config_.advertise.size() <= limits::kMailboxNameBytesMax, "the advertised address is too long");
}

// ---- Reports of the owner ----

void PeerSession::SetDialable(const absl::optional<StreamIdentity>& at_address, MonotonicTime now) {
  at_address_ = at_address;
  backoff_ = config_.times.backoff_min;
  dial_at_ = now;
  dialled_at_ = now;
  Settle(now);
}

void PeerSession::OnStreamFrame(uint64_t stream, absl::string_view bytes, MonotonicTime now) {
  if (dial_.has_value() && dial_->stream == stream) {
    OnDialFrame(bytes, now);
  } else if (carrier_.has_value() && carrier_->stream == stream) {
    const absl::StatusOr<FrameView> frame = DecodeSessionFrame(bytes);
    if (frame.ok()) {
      HandleFrame(*frame, now);
    } else {
      End(SessionEnd::kBadFrame, frame.status().message(), now);
    }
  } else if (OfferOn(stream) != nullptr) {
    OnOfferFrame(stream, bytes, now);
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
  } else if (Offer* offer = OfferOn(stream); offer != nullptr) {
    offer->writing = false;
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
  } else if (Offer* offer = OfferOn(stream); offer != nullptr) {
    // The peer may have taken the offer. It can then resume the session with a proof, for as long as its grace period.
    offer->stream = 0;
    offer->deadline = now + offer->terms.times.grace_period;
    TickOffers(now);
  }
  Settle(now);
}

void PeerSession::OnPeerProvedDead(NodeIncarnation incarnation, MonotonicTime now) {
  if (!live_.has_value() || kBelievesNoProof.armed()) return;
  if (live_->terms.peer != incarnation && !kBelievesProofsOfOthers.armed()) return;
  // The stream that carries the session now is newer than the one whose loss led to the proof, so it refutes the proof.
  if (carrier_.has_value() && !kBelievesRefutedProofs.armed()) return;
  End(SessionEnd::kProcessEnded, "it is proved dead", now);
  Settle(now);
}

// If something has been due for a heartbeat interval and was not done, this process did
// not run. What the peer wrote meanwhile may still be in a buffer, so the peer gets more
// time before it counts as silent.
void PeerSession::ForgiveStall(MonotonicTime now) {
  const bool has_stalled = now - NextDeadline() >= config_.times.heartbeat_interval;
  if (!has_stalled || !live_.has_value()) return;
  const MonotonicTime later = now + config_.times.probe_timeout;
  if (!carrier_.has_value()) {
    if (!std::exchange(live_->stall_forgiven, true)) live_->grace_over = std::max(live_->grace_over, later);
  } else if (!std::exchange(carrier_->stall_forgiven, true)) {
    carrier_->silent_at = std::max(carrier_->silent_at, later);
    carrier_->probe_due = true;
  }
}

void PeerSession::Tick(MonotonicTime now) {
  ForgiveStall(now);
  TickStreams(now);
  TickOffers(now);
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
    LoseStream(absl::StrCat("silent for ", absl::FormatDuration(live_->terms.times.silence_timeout)), now);
    return;
  }
  if (carrier_->look_at <= now) carrier_->look_at = now + config_.times.heartbeat_interval;
}

MonotonicTime PeerSession::NextDeadline() const {
  MonotonicTime next = leave_at_;
  if (live_.has_value()) next = std::min(next, live_->grace_over);
  if (carrier_.has_value()) {
    next = std::min({next, carrier_->silent_at, carrier_->look_at});
    if (!carrier_->writing) next = std::min(next, carrier_->acknowledge_at);
  }
  if (dial_.has_value()) next = std::min(next, dial_->deadline);
  for (const Offer& offer : offers_) next = std::min(next, offer.deadline);
  next = std::min(next, DialDueAt());
  if (held_.has_value()) next = std::min(next, held_->probe_over);
  for (const auto& [stream, lingering] : lingering_) next = std::min(next, lingering.deadline);
  return next;
}

// ---- Requests of the owner ----

absl::Status PeerSession::Keep(size_t bytes) {
  if (live_.has_value()) return live_->sequence.Keep(bytes);
  return MakeError(ErrorKind::kNoConnection, absl::StrCat("there is no session with node ", config_.peer));
}

// Without a grace period a session ends with its stream, so no other stream can carry further definitions.
absl::Status PeerSession::CheckMailbox(const OutboundEnvelope& envelope) {
  if (envelope.mailbox == 0 || live_->terms.times.grace_period > absl::ZeroDuration()) return absl::OkStatus();
  std::set<uint32_t>& mailboxes = live_->mailboxes;
  if (mailboxes.size() < limits::kMailboxesPerStreamMax || mailboxes.contains(envelope.mailbox)) {
    mailboxes.insert(envelope.mailbox);
    return absl::OkStatus();
  }
  return absl::FailedPreconditionError(absl::StrCat(
      "this node has sent to ", mailboxes.size(), " different mailboxes of node ", config_.peer,
      ", the most that a session without grace period can name; use fewer names of mailboxes, or a grace period"));
}

absl::Status PeerSession::Append(OutboundEnvelope&& envelope, absl::FunctionRef<MonotonicTime()> now) {
  if (leaving_) return MakeError(ErrorKind::kStopping, "this node is leaving");
  if (!live_.has_value()) {
    return MakeError(ErrorKind::kNoConnection, absl::StrCat("there is no session with node ", config_.peer));
  }
  if (absl::Status named = CheckMailbox(envelope); !named.ok()) return named;
  // A message or reply without room is refused to its sender; any other envelope must arrive, or the session ends.
  const bool must_arrive = envelope.room != Room::kMessages && envelope.room != Room::kReplies;
  absl::Status appended = live_->sequence.Append(std::move(envelope));
  if (!appended.ok() && must_arrive) {
    End(SessionEnd::kReserveSpent, appended.message(), now());
    return MakeError(ErrorKind::kNoConnection, absl::StrCat("the session with node ", config_.peer, " ended"));
  }
  if (carrier_.has_value() && !carrier_->writing) Pump(now());
  return appended;
}

void PeerSession::Leave(absl::string_view why, MonotonicTime now) {
  if (leaving_) return;
  leaving_ = true;
  if (live_.has_value()) {
    leave_at_ = now + config_.times.leave_timeout;
    live_->sequence.AppendLast(EncodeLeave(why));
  } else if (dial_.has_value()) {
    AbandonDial(now);
  }
  while (!offers_.empty()) DropOffer(offers_.back().terms.epoch);
  Settle(now);
}

void PeerSession::EndForBadFrame(absl::string_view why, MonotonicTime now) {
  if (live_.has_value()) End(SessionEnd::kBadFrame, why, now);
  Settle(now);
}

void PeerSession::EndForWantOfRoom(absl::string_view why, MonotonicTime now) {
  if (live_.has_value()) End(SessionEnd::kReserveSpent, why, now);
  Settle(now);
}

SessionLedger PeerSession::ledger() const {
  SessionLedger total = ended_;
  if (live_.has_value()) total += live_->sequence.ledger();
  return total;
}

// ---- The session ----

void PeerSession::HandleFrame(const FrameView& frame, MonotonicTime now) {
  carrier_->silent_at = now + live_->terms.times.silence_timeout;
  carrier_->stall_forgiven = false;
  if (held_.has_value() && !held_->probe_over.is_infinite()) {
    RefuseHeld({.reason = proto::Refuse::NAME_TAKEN,
                .detail = absl::StrCat("another process of node ", config_.peer,
                                       " is alive; stop it, or give this one another name")},
               now);
  }
  if (frame.epoch < live_->terms.epoch) {
    ++old_frames_refused_;
    return;
  }
  absl::Status status;
  if (frame.epoch > live_->terms.epoch) {
    status = absl::InvalidArgumentError(
        absl::StrCat("a frame has epoch ", frame.epoch, ": expected at most the session's, ", live_->terms.epoch));
  }
  if (status.ok()) status = live_->sequence.Acknowledge(frame.acknowledged);
  if (status.ok()) status = HandleSlots(frame, now);
  if (!status.ok()) {
    if (live_.has_value()) End(SessionEnd::kBadFrame, status.message(), now);
    return;
  }
  if (live_.has_value() && leaving_ && live_->sequence.all_acknowledged()) End(SessionEnd::kLeft, "", now);
  if (live_.has_value() && frame.control != nullptr) HandleControl(*frame.control, now);
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

absl::Status PeerSession::HandleSlots(const FrameView& frame, MonotonicTime now) {
  for (const MailboxDefinition& definition : frame.definitions) {
    if (carrier_->defined_in.size() >= limits::kMailboxesPerStreamMax) {
      return absl::InvalidArgumentError(
          absl::StrCat("a stream defines more mailboxes than ", limits::kMailboxesPerStreamMax));
    }
    carrier_->defined_in[definition.hash] = {.name = std::string(definition.name)};
  }
  uint64_t number = frame.first_number;
  size_t reserve = frame.slots.size();
  for (const SlotView& slot : frame.slots) {
    const absl::StatusOr<absl::optional<ReliableSequence::Arrived>> arrived = live_->sequence.Receive(number++, slot);
    if (!arrived.ok()) return arrived.status();
    carrier_->unacknowledged += limits::kSlotOverheadBytes + slot.body.size();
    const bool is_much = carrier_->unacknowledged >= limits::kUnacknowledgedBytesMax;
    carrier_->acknowledge_at =
        std::min(carrier_->acknowledge_at, is_much ? now : now + config_.times.acknowledge_delay);
    if (!arrived->has_value()) continue;
    const absl::Status handled = HandleEnvelope(**arrived, reserve, now);
    if (!handled.ok() || !live_.has_value()) return handled;
  }
  return absl::OkStatus();
}

absl::Status PeerSession::HandleEnvelope(const ReliableSequence::Arrived& arrived, size_t& reserve, MonotonicTime now) {
  absl::StatusOr<InboundEnvelope> envelope = DecodeEnvelope(live_->nodes, arrived.bytes);
  if (!envelope.ok()) return envelope.status();
  if (const auto* leave = std::get_if<LeaveNotice>(&*envelope)) {
    End(SessionEnd::kPeerLeft, leave->why, now);
    return absl::OkStatus();
  }
  if (std::holds_alternative<RefusedMessage>(*envelope)) {
    const absl::Status counted = live_->sequence.CountRefused();
    if (!counted.ok()) return counted;
  }
  if (auto* message = std::get_if<internal::Message>(&*envelope)) {
    if (arrived.remaining_nanos.has_value()) {
      message->deadline = now + absl::Nanoseconds(std::max<int64_t>(0, *arrived.remaining_nanos));
    }
    return HandleMessage(std::move(*message), reserve);
  }
  actions_.push_back(EnvelopeArrived{*std::move(envelope)});
  return absl::OkStatus();
}

absl::Status PeerSession::HandleMessage(internal::Message message, size_t& reserve) {
  const auto defined = carrier_->defined_in.find(message.mailbox);
  if (defined == carrier_->defined_in.end()) {
    return absl::InvalidArgumentError(absl::StrCat("a message is for the mailbox with hash ", message.mailbox,
                                                   ", which no frame of the stream has defined before it"));
  }
  Definition& definition = defined->second;
  if (!definition.is_another.has_value()) {
    const absl::string_view known = internal::MailboxNames::Find(message.mailbox);
    if (!known.empty()) definition.is_another = known != definition.name;
  }
  if (definition.is_another.value_or(false)) {
    actions_.push_back(EnvelopeArrived{std::move(message)});
    return absl::OkStatus();
  }
  if (actions_.empty() || !std::holds_alternative<MessagesArrived>(actions_.back())) {
    actions_.push_back(MessagesArrived());
    std::get<MessagesArrived>(actions_.back()).messages.reserve(std::exchange(reserve, 0));
  }
  std::get<MessagesArrived>(actions_.back()).messages.push_back(std::move(message));
  return absl::OkStatus();
}

void PeerSession::End(SessionEnd why, absl::string_view detail, MonotonicTime now) {
  Live live = *std::move(live_);
  live_.reset();
  live.sequence.End();
  ended_ += live.sequence.ledger();
  leave_at_ = MonotonicTime::InfiniteFuture();
  std::string text = CutText(detail, limits::kNameBytesMax);
  last_ = std::move(live.terms);
  if (carrier_.has_value()) {
    FramePacker packer(last_->epoch, live.sequence.received());
    proto::Goodbye& goodbye = *packer.frame().mutable_goodbye();
    goodbye.set_why(absl::StrCat(SessionEndName(why), ": ", text));
    goodbye.set_leaving(why == SessionEnd::kLeft);
    const Carrier carrier = *std::exchange(carrier_, absl::nullopt);
    Farewell(carrier.stream, carrier.writing, packer.Encode(), now);
  }
  if (leaving_ && dial_.has_value()) AbandonDial(now);
  if (why == SessionEnd::kBadFrame || why == SessionEnd::kPeerEnded) backoff_ = config_.times.backoff_max;
  dial_at_ = std::max(dial_at_, now + backoff_ * (1 - random_.Fraction() / 2));
  actions_.push_back(SessionEnded{.why = why, .detail = std::move(text), .nodes = live.nodes, .epoch = last_->epoch});
}

void PeerSession::LoseStream(absl::string_view why, MonotonicTime now) {
  carrier_.reset();
  backoff_ = config_.times.backoff_min;
  dial_at_ = now + backoff_ * (1 - random_.Fraction() / 2);
  const absl::Duration grace = live_->terms.times.grace_period;
  if (grace <= absl::ZeroDuration()) {
    End(SessionEnd::kNoGrace, why, now);
    return;
  }
  live_->sequence.Rewind();
  live_->grace_over = now + grace;
  live_->stall_forgiven = false;
  actions_.push_back(SessionSuspect{.why = std::string(why)});
}

void PeerSession::Pump(MonotonicTime now) {
  if (!carrier_.has_value() || carrier_->writing) return;
  Carrier& carrier = *carrier_;
  if (carrier.is_spent && live_->sequence.all_written_acknowledged()) {
    actions_.push_back(CloseStream{carrier.stream});
    LoseStream("the next message needs a stream that can define its mailbox", now);
    return;
  }
  const bool beats = carrier.heartbeat_due || carrier.probe_due;
  const bool has_slots = live_->sequence.has_unsent() && !carrier.is_spent;
  if (!carrier.welcome.has_value() && !beats && !has_slots && carrier.acknowledge_at > now) return;
  FramePacker packer(live_->terms.epoch, live_->sequence.received());
  if (carrier.welcome.has_value()) {
    *packer.frame().mutable_welcome() = *std::move(carrier.welcome);
    carrier.welcome.reset();
  } else {
    if (beats) packer.frame().mutable_heartbeat()->set_probe(carrier.probe_due);
    carrier.heartbeat_due = false;
    carrier.probe_due = false;
    carrier.is_spent = !live_->sequence.Fill(packer, carrier.defined_out, now);
  }
  carrier.acknowledge_at = MonotonicTime::InfiniteFuture();
  carrier.unacknowledged = 0;
  carrier.writing = true;
  actions_.push_back(WriteFrame{carrier.stream, packer.Encode()});
}

void PeerSession::Settle(MonotonicTime now) {
  ConsiderHeld(now);
  StartDialIfDue(now);
  Pump(now);
  if (!carrier_.has_value() || carrier_->welcome.has_value() || std::exchange(carrier_->beats, true)) return;
  FramePacker packer(live_->terms.epoch, live_->sequence.received());
  packer.frame().mutable_heartbeat();
  actions_.push_back(StreamCarries{carrier_->stream, packer.Encode(), Jittered(config_.times.heartbeat_interval)});
}

}  // namespace understudy
