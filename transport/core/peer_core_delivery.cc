// PeerCore: delivers the messages and signals that arrive from the peer, and tells the
// system of the peer's sessions.
#include <algorithm>
#include <cstdint>
#include <string>
#include <utility>
#include <variant>
#include <vector>

#include "absl/status/status.h"
#include "absl/strings/str_cat.h"
#include "absl/synchronization/mutex.h"
#include "absl/types/optional.h"
#include "understudy/actors/clock.h"
#include "understudy/actors/dead_letter.h"
#include "understudy/actors/error.h"
#include "understudy/actors/exit_reason.h"
#include "understudy/actors/limits.h"
#include "understudy/actors/message.h"
#include "understudy/actors/pid.h"
#include "understudy/actors/room.h"
#include "understudy/transport/codec/frame_codec.h"
#include "understudy/transport/core/node_core_options.h"
#include "understudy/transport/core/node_names.h"
#include "understudy/transport/core/node_parts.h"
#include "understudy/transport/core/outstanding_requests.h"
#include "understudy/transport/core/overloads.h"
#include "understudy/transport/core/peer_core.h"
#include "understudy/transport/core/peer_streams.h"
#include "understudy/transport/grants.h"
#include "understudy/transport/limits.h"
#include "understudy/transport/names/name_feed.h"
#include "understudy/transport/names/name_limits.h"
#include "understudy/transport/names/name_table.h"
#include "understudy/transport/session/handshake.h"
#include "understudy/transport/session/send_queues.h"

namespace understudy::internal {
namespace {

// A part of names, of any size, is cut at once (ReliableSequence), so that no later part overtakes it.
static_assert(limits::kNamePartBytesMax + limits::kEnvelopeOverheadBytesMax <= limits::kNodesEnvelopeBytesMax);

// Describes `message` for the case that it is refused here, because a delivery moves it.
RefusedMessage AsRefused(const Message& message) {
  return {.from = message.from,
          .to = message.to,
          .mailbox = message.mailbox,
          .ask = message.ask,
          .bytes = static_cast<int64_t>(message.payload.wire_bytes().size())};
}

// The room that was reserved for a message with Admission::kReserved.
RoomRequest RoomOf(const RefusedMessage& message) {
  return {.node = message.from.place(),
          .to = message.to,
          .mailbox = message.mailbox,
          .amount = {.messages = 1, .bytes = message.bytes}};
}

}  // namespace

void PeerCore::OnEnvelope(EnvelopeArrived arrived) {
  std::visit(Overloads{[this](const Message& message) ABSL_EXCLUSIVE_LOCKS_REQUIRED(mu_) { OnUndeliverable(message); },
                       [this](Signal& signal) ABSL_EXCLUSIVE_LOCKS_REQUIRED(mu_) { OnSignal(std::move(signal)); },
                       [this](const RefusedMessage& refused) ABSL_EXCLUSIVE_LOCKS_REQUIRED(mu_) { OnRefused(refused); },
                       [this](const CreditChanges& changes) ABSL_EXCLUSIVE_LOCKS_REQUIRED(mu_) { OnCredit(changes); },
                       [this](const NamesPart& part) ABSL_EXCLUSIVE_LOCKS_REQUIRED(mu_) { OnNames(part); },
                       [](const LeaveNotice& /*notice*/) {}},  // the session has ended for it
             arrived.envelope);
}

void PeerCore::OnUndeliverable(const Message& message) {
  if (!HasCredit(message)) return;
  RefusedMessage refused = AsRefused(message);
  // The message does not enter a mailbox, so no mailbox gives its reserved room back. Nor does the end of the
  // session, which may have come with the message.
  if (message.admission == Admission::kReserved) deliveries_.push_back(RoomReturn{.room = RoomOf(refused)});
  refused.status = MakeError(ErrorKind::kNoMailbox, "the mailbox's hash is another's here");
  RefuseMessage(refused, message.admission);
}

void PeerCore::OnRefused(const RefusedMessage& refused) {
  ++peer_->refused_by_peer[ErrorKindOf(refused.status).value_or(ErrorKind::kNoProcess)];
  if (absl::optional<Signal> reply = peer_->requests.OnRefused(refused); reply.has_value()) {
    deliveries_.push_back(*std::move(reply));
    return;
  }
  if (refused.ask != 0) return;  // a call whose asker does not wait any more
  ++counters_.refused_tells;
  const auto type = peer_->told_types.find(refused.mailbox);
  deliveries_.push_back(DeadLetter{.why = refused.status,
                                   .from = refused.from,
                                   .to = refused.to,
                                   .mailbox = std::string(MailboxNames::Find(refused.mailbox)),
                                   .type = type == peer_->told_types.end() ? "" : type->second->name(),
                                   .bytes = refused.bytes});
}

void PeerCore::OnMessages(std::vector<Message> messages) {
  const SessionId session = Session();
  const auto without = std::find_if(messages.begin(), messages.end(), [&](const Message& message) {
    mu_.AssertHeld();
    return !HasCredit(message);
  });
  messages.erase(without, messages.end());
  if (messages.empty()) return;
  ScheduleCredit();
  deliveries_.push_back(MessagesDelivery{.session = session, .messages = std::move(messages)});
}

bool PeerCore::HasCredit(const Message& message) {
  CountForged(message.to);
  // With the message the peer may have left, and the session is over.
  if (const uint64_t features = FeaturesFor(message.ask);
      peer_->session.is_live() && (peer_->session.features() & features) != features) {
    peer_->session.EndForBadFrame("a call with a stream: the session does not have that feature", Now());
    return false;
  }
  if (message.ask != 0 && !peer_->requests.OnCalled(message.from, message.ask, message.to)) {
    peer_->session.EndForBadFrame(absl::StrCat("a call with the number of one that has no answer yet, or more than ",
                                               2 * limits::kAsksPerSessionMax, " calls without an answer"),
                                  Now());
    return false;
  }
  // The last check, because from then on the message's room is the message's: the end of the session does not return
  // it.
  const auto bytes = static_cast<int64_t>(message.payload.wire_bytes().size());
  if (!peer_->credit.OnArrived({message.to, message.mailbox}, bytes, message.admission, Now())) {
    peer_->session.EndForBadFrame(
        absl::StrCat("a message of ", bytes, " bytes to a mailbox that the peer has no credit for"), Now());
    return false;
  }
  return true;
}

void PeerCore::CountForged(Pid to) {
  if (!to.is_null() && !options_.inbound->WasGivenOut(to)) ++counters_.forged;
}

void PeerCore::RefuseMessage(const RefusedMessage& refused, Admission admission) {
  peer_->credit.OnReleased({refused.to, refused.mailbox}, admission, {.messages = 1, .bytes = refused.bytes});
  ScheduleCredit();
  if (!peer_->session.is_live()) return;
  if (refused.ask != 0 && !AwaitsAnswer(refused.from, refused.ask)) return;  // it was given up
  AppendOrEnd(
      {.bytes = EncodeRefused(peer_->session.nodes(), refused), .room = Room::kAnswers, .sender = refused.to.life()});
}

bool PeerCore::IsGranted(SignalKind kind) const {
  switch (kind) {
    case SignalKind::kKill:
      return peer_->grants->Allows(peer_->identity, peer_->name, Operation::kKill);
    case SignalKind::kLink:
      return peer_->grants->Allows(peer_->identity, peer_->name, Operation::kLink);
    default:
      return peer_->grants->Allows(peer_->identity, peer_->name, Operation::kExit);
  }
}

void PeerCore::OnSignal(Signal signal) {
  CountForged(signal.to);
  switch (peer_->requests.OnArrived(signal, IsGranted(signal.kind))) {
    case OutstandingRequests::Verdict::kDeliver:
      deliveries_.push_back(std::move(signal));
      return;
    case OutstandingRequests::Verdict::kDrop:
      ++counters_.late;
      return;
    case OutstandingRequests::Verdict::kBad:
      peer_->session.EndForBadFrame("an item or credit of a stream beyond what was granted", Now());
      return;
    case OutstandingRequests::Verdict::kRefuse:
      break;
  }
  if (signal.kind != SignalKind::kUnlink) {
    ++counters_.forbidden;
    ++peer_->forbidden;
  }
  absl::optional<Signal> answer = OutstandingRequests::AnswerTo(
      signal, ExitReason::NotPermitted(absl::StrCat("node ", options_.node, " does not grant ",
                                                    SignalKindName(signal.kind), " to ", peer_->name)));
  if (!answer.has_value() || !peer_->session.is_live()) return;
  ShortenReason(*answer);
  AppendSignal(*answer);
}

void PeerCore::OnNames(const NamesPart& part) {
  NodeNames::Taken taken = parts_.names.OnChanges(peer_->name, part.bytes);
  deliveries_.push_back(NamesFirst{});
  for (const NameTable::Change& refusal : taken.refusals) {
    const bool is_ours = refusal.kind == NameTable::Change::Kind::kRefused;
    const bool is_many = refusal.kind == NameTable::Change::Kind::kTooMany;
    deliveries_.push_back(
        PeerEvent{.kind = is_ours ? PeerEvent::Kind::kNameRefused : PeerEvent::Kind::kNameNotGranted,
                  .node = refusal.peer,
                  .detail = absl::StrCat("'", refusal.name, "', ",
                                         is_many ? "beyond the room for the names and sets of mailboxes of a peer"
                                                 : "which this node does not grant it",
                                         "; further refusals of this session are only counted",
                                         is_ours   ? ""
                                         : is_many ? " (a peer whose identity TLS or a Unix socket proves has more)"
                                                   : " (NodeOptions::grants can grant it)")});
  }
  if (taken.is_counted) deliveries_.push_back(NamesEntered{.session = Session()});
  TellNamesLocked();
  tells_names_ = tells_names_ || taken.tells_others;
  if (!taken.status.ok()) peer_->session.EndForBadFrame(taken.status.message(), Now());
}

void PeerCore::TellNames() {
  const Changing changing(*this, Change::kCall);
  if (peer_.has_value()) TellNamesLocked();
}

void PeerCore::TellNamesLocked() {
  while (absl::optional<NameFeed::Part> part = parts_.names.TakePart(peer_->name)) {
    if (!peer_->session.is_live()) return;
    if (part->held != nullptr) {
      AppendSignal(*part->held);
    } else {
      AppendOrEnd({.bytes = EncodeNames(part->changes), .room = Room::kNames});
    }
  }
  Apply();
}

// ---- To the system ----

void PeerCore::Perform(MessagesDelivery delivery) {
  for (Message& message : delivery.messages) {
    RefusedMessage refused = AsRefused(message);
    const Admission admission = message.admission;
    if (message.ask != 0 && parts_.draining.load(std::memory_order_relaxed)) {
      refused.status =
          MakeError(ErrorKind::kStopping, absl::StrCat("node ", options_.node, " is stopping and takes no new asks"));
    } else {
      refused.status = options_.inbound->Deliver(std::move(message));
    }
    if (refused.status.ok()) continue;
    // The message did not enter a mailbox, so no mailbox gives its reserved room back.
    if (admission == Admission::kReserved) options_.inbound->GiveBack(RoomOf(refused));
    const Locked lock(*this);
    if (!IsAt(delivery.session)) continue;  // the end of the session has told the asker
    RefuseMessage(refused, admission);
    Apply();
  }
}

void PeerCore::Perform(const DeadLetter& letter) {
  if (options_.on_dead_letter != nullptr) {
    options_.on_dead_letter(letter);
  } else {
    options_.inbound->OnRefusedTell(letter);
  }
}

void PeerCore::Perform(const NamesEntered& entered) {
  const Locked lock(*this);
  if (!IsAt(entered.session)) return;
  parts_.names.OnChangesEntered(peer_->name);
  TellNamesLocked();
}

void PeerCore::Perform(const PeerEvent& event) {
  if (options_.on_peer) options_.on_peer(event);
}

}  // namespace understudy::internal
