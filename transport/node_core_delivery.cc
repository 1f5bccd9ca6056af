// NodeCore: what arrives from peers, and what the system is told.
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
#include "understudy/actors/registry.h"
#include "understudy/actors/room.h"
#include "understudy/proto/names.pb.h"
#include "understudy/transport/frame_codec.h"
#include "understudy/transport/limits.h"
#include "understudy/transport/name_feed.h"
#include "understudy/transport/name_limits.h"
#include "understudy/transport/name_table.h"
#include "understudy/transport/node_core.h"
#include "understudy/transport/node_core_state.h"
#include "understudy/transport/send_queues.h"
#include "understudy/transport/session_ties.h"

namespace understudy {
namespace {

// A part of names, of any size, is cut at once (Sequence), so that no later part overtakes it.
static_assert(limits::kNamePartBytesMax + limits::kEnvelopeOverheadBytesMax <= limits::kNodesEnvelopeBytesMax);

// The message, should it be refused here.
RefusedMessage AsRefused(const internal::Message& message) {
  return {.from = message.from,
          .to = message.to,
          .mailbox = message.mailbox,
          .ask = message.ask,
          .bytes = static_cast<int64_t>(message.payload.wire_bytes().size())};
}

// What was reserved for it.
RoomRequest RoomOf(const RefusedMessage& message) {
  return {.node = message.from.place(),
          .to = message.to,
          .mailbox = message.mailbox,
          .amount = {.messages = 1, .bytes = message.bytes}};
}

}  // namespace

void NodeCore::OnEnvelope(Peer& peer, EnvelopeArrived arrived) {
  if (const auto* message = std::get_if<internal::Message>(&arrived.envelope)) {
    if (!HasCredit(peer, *message)) return;
    RefusedMessage refused = AsRefused(*message);
    // It never comes to the mailbox, whose room it would have given back when it left.
    if (message->admission == Admission::kReserved && peer.session.is_live()) {
      deliveries_.push_back(RoomReturn{.room = RoomOf(refused)});
    }
    refused.status = MakeError(ErrorKind::kNoMailbox, "the mailbox's hash is another's here");
    RefuseMessage(peer, refused, message->admission);
  } else if (auto* signal = std::get_if<Signal>(&arrived.envelope)) {
    OnSignal(peer, std::move(*signal));
  } else if (auto* refused = std::get_if<RefusedMessage>(&arrived.envelope)) {
    OnRefused(peer, *refused);
  } else if (auto* credit = std::get_if<CreditChanges>(&arrived.envelope)) {
    OnCredit(peer, *credit);
  } else if (auto* names = std::get_if<NamesPart>(&arrived.envelope)) {
    OnNames(peer, *names);
  }
}

void NodeCore::OnRefused(Peer& peer, const RefusedMessage& refused) {
  ++peer.refused_by_peer[ErrorKindOf(refused.status).value_or(ErrorKind::kNoProcess)];
  if (absl::optional<Signal> reply = peer.ties.OnRefused(refused); reply.has_value()) {
    deliveries_.push_back(*std::move(reply));
    return;
  }
  if (refused.ask != 0) return;  // its asker waits no more
  ++counters_.refused_tells;
  const auto type = told_types_.find(refused.mailbox);
  deliveries_.push_back(DeadLetter{.why = refused.status,
                                   .from = refused.from,
                                   .to = refused.to,
                                   .mailbox = std::string(internal::MailboxNames::Find(refused.mailbox)),
                                   .type = type == told_types_.end() ? "" : type->second->name(),
                                   .bytes = refused.bytes});
}

void NodeCore::OnMessages(Peer& peer, std::vector<internal::Message> messages) {
  const uint64_t epoch = peer.session.epoch();
  const auto without = std::find_if(messages.begin(), messages.end(), [&](const internal::Message& message) {
    mu_.AssertHeld();
    return !HasCredit(peer, message);
  });
  messages.erase(without, messages.end());
  if (messages.empty()) return;
  ScheduleCredit(peer);
  deliveries_.push_back(MessagesDelivery{.peer = peer.name, .epoch = epoch, .messages = std::move(messages)});
}

bool NodeCore::HasCredit(Peer& peer, const internal::Message& message) {
  CountForged(message.to);
  const auto bytes = static_cast<int64_t>(message.payload.wire_bytes().size());
  if (!peer.credit_in.OnArrived({message.to, message.mailbox}, bytes, message.admission, Now())) {
    peer.session.EndForBadFrame("a message to a mailbox that the peer has no credit for", Now());
    return false;
  }
  if (message.ask != 0 && !peer.ties.OnCalled(message.from, message.ask)) {
    peer.session.EndForBadFrame(absl::StrCat("more calls without an answer than ", 2 * limits::kAsksPerSessionMax),
                                Now());
    return false;
  }
  return true;
}

void NodeCore::CountForged(Pid to) {
  if (!to.is_null() && !options_.inbound->WasGivenOut(to)) ++counters_.forged;
}

void NodeCore::RefuseMessage(Peer& peer, const RefusedMessage& refused, Admission admission) {
  peer.credit_in.OnReleased({refused.to, refused.mailbox}, admission, {.messages = 1, .bytes = refused.bytes});
  ScheduleCredit(peer);
  if (!peer.session.is_live()) return;
  if (refused.ask != 0 && !peer.ties.OnAnswers(refused.from, refused.ask)) return;  // it was given up
  AppendOrEnd(
      peer,
      {.bytes = EncodeRefused(peer.session.nodes(), refused), .room = Room::kAnswers, .sender = refused.to.life()});
}

void NodeCore::OnSignal(Peer& peer, Signal signal) {
  CountForged(signal.to);
  switch (peer.ties.OnArrived(signal, IsGranted(peer, signal.kind))) {
    case SessionTies::Verdict::kDeliver:
      deliveries_.push_back(std::move(signal));
      return;
    case SessionTies::Verdict::kDrop:
      ++counters_.late;
      return;
    case SessionTies::Verdict::kRefuse:
      break;
  }
  if (signal.kind != SignalKind::kUnlink) {
    ++counters_.forbidden;
    ++peer.forbidden;
  }
  const absl::optional<Signal> answer = SessionTies::AnswerTo(
      signal, ExitReason::NotPermitted(absl::StrCat("node ", options_.node, " does not grant ",
                                                    SignalKindName(signal.kind), " to ", peer.name)));
  if (answer.has_value() && peer.session.is_live()) AppendSignal(peer, *answer);
}

void NodeCore::OnNames(Peer& peer, const NamesPart& part) {
  const absl::Status taken = names_.OnChanges(peer.name, part.bytes);
  TakeNameChanges();
  deliveries_.push_back(NamesEntered{.peer = peer.name, .epoch = peer.session.epoch()});
  TellAllNames();
  if (!taken.ok()) peer.session.EndForBadFrame(taken.message(), Now());
}

void NodeCore::TakeNameChanges() {
  for (NameTable::Change& change : names_.TakeChanges()) deliveries_.push_back(std::move(change));
}

void NodeCore::TellNames(Peer& peer) {
  while (absl::optional<NameFeed::Part> part = names_.TakePart(peer.name)) {
    if (!peer.session.is_live()) return;
    if (part->held != nullptr) {
      AppendSignal(peer, *part->held);
    } else {
      AppendOrEnd(peer, {.bytes = EncodeNames(part->changes), .room = Room::kNames});
    }
  }
  CarryOut(peer);
}

void NodeCore::TellAllNames() {
  for (auto& [name, peer] : peers_) TellNames(*peer);
}

absl::Status NodeCore::AppendTo(Peer& peer, OutboundEnvelope&& envelope) {
  return peer.session.Append(std::move(envelope), [this] {
    mu_.AssertHeld();
    return Now();
  });
}

void NodeCore::AppendOrEnd(Peer& peer, OutboundEnvelope envelope) {
  // Without room the session ends, and its end tells everybody.
  (void)AppendTo(peer, std::move(envelope));
}

void NodeCore::AppendSignal(Peer& peer, const Signal& signal) {
  AppendOrEnd(peer, {.bytes = EncodeSignal(peer.session.nodes(), signal),
                     .room = Room::kSignals,
                     .sender = signal.from.is_null() ? ThreadSender() : signal.from.life()});
}

void NodeCore::AppendReply(Peer& peer, const Signal& reply) {
  OutboundEnvelope envelope{.bytes = EncodeSignal(peer.session.nodes(), reply),
                            .sender = reply.from.is_null() ? ThreadSender() : reply.from.life()};
  envelope.room = envelope.bytes.size() <= limits::kAnswerBytesMax ? Room::kAnswers : Room::kReplies;
  const size_t bytes = envelope.bytes.size();
  const uint64_t sender = envelope.sender;
  const absl::Status appended = AppendTo(peer, std::move(envelope));
  if (!IsFull(appended)) return;
  const Signal refusal{
      .kind = SignalKind::kReply,
      .from = reply.from,
      .to = reply.to,
      .id = reply.id,
      .status = MakeError(ErrorKind::kFull,
                          absl::StrCat("the reply of ", bytes, " bytes found no room: ", "earlier replies of node ",
                                       options_.node, " are not acknowledged"))};
  AppendOrEnd(peer, {.bytes = EncodeSignal(peer.session.nodes(), refusal), .room = Room::kAnswers, .sender = sender});
}

// ---- To the system ----

void NodeCore::Carry(MessagesDelivery delivery) {
  for (internal::Message& message : delivery.messages) {
    RefusedMessage refused = AsRefused(message);
    const Admission admission = message.admission;
    if (message.ask != 0 && draining_.load(std::memory_order_relaxed)) {
      refused.status =
          MakeError(ErrorKind::kStopping, absl::StrCat("node ", options_.node, " is stopping and takes no new asks"));
    } else {
      refused.status = options_.inbound->Deliver(std::move(message));
    }
    if (refused.status.ok()) continue;
    // It leaves no mailbox, where its room would be given back.
    if (admission == Admission::kReserved) options_.inbound->GiveBack(RoomOf(refused));
    const Locked lock(*this);
    Peer* peer = FindPeer(delivery.peer);
    if (peer == nullptr || peer->session.epoch() != delivery.epoch) continue;  // its end has told the asker
    RefuseMessage(*peer, refused, admission);
    CarryOut(*peer);
  }
}

void NodeCore::Carry(const DeadLetter& letter) {
  if (options_.on_dead_letter != nullptr) {
    options_.on_dead_letter(letter);
  } else {
    options_.inbound->OnRefusedTell(letter);
  }
}

void NodeCore::Carry(Signal signal) { options_.inbound->Deliver(std::move(signal)); }

void NodeCore::Carry(const NameTable::Change& change) {
  const bool is_own = change.entry.node == options_.node;
  const auto shown = shown_.find(change.name);
  switch (change.kind) {
    case NameTable::Change::Kind::kShow: {
      if (shown != shown_.end() && shown->second != change.entry.pid) {
        options_.registry->Remove(change.name, shown->second);
      }
      shown_[change.name] = change.entry.pid;
      if (is_own) return;  // its actor has put it there
      NameRecord record{.name = change.name, .pid = change.entry.pid, .scope = NameScope::kCluster};
      const proto::SignatureSet none;
      for (const proto::MailboxSignature& mailbox :
           (change.entry.mailboxes != nullptr ? *change.entry.mailboxes : none).mailboxes()) {
        record.mailboxes.push_back({.name = mailbox.name(),
                                    .is_call = mailbox.is_call(),
                                    .request = mailbox.request(),
                                    .reply = mailbox.reply()});
      }
      // While a name of this node only (RegisteredAs) has the same text, the registry keeps this one hidden.
      (void)options_.registry->Insert(record);
      return;
    }
    case NameTable::Change::Kind::kHide:
      if (shown == shown_.end()) return;
      if (!is_own) options_.registry->Remove(change.name, shown->second);
      shown_.erase(shown);
      return;
    case NameTable::Change::Kind::kLost:
      EndOwner(change, ExitReason::NameConflict(change.name));
      return;
    case NameTable::Change::Kind::kForbidden:
      EndOwner(change, ExitReason::NotPermitted(absl::StrCat("node ", change.peer, " owns the name '", change.name,
                                                             "' and does not grant it to node ", options_.node)));
      return;
    case NameTable::Change::Kind::kRefused:
      Carry(PeerEvent{.kind = PeerEvent::Kind::kNameRefused,
                      .node = change.peer,
                      .detail = absl::StrCat("'", change.name, "', which this node does not grant it; ",
                                             "further refusals of this session are only counted")});
      return;
  }
}

void NodeCore::EndOwner(const NameTable::Change& change, const ExitReason& reason) {
  options_.registry->Remove(change.name, change.entry.pid);
  options_.inbound->Deliver(
      Signal{.kind = SignalKind::kExit, .from = change.entry.pid, .to = change.entry.pid, .reason = reason});
}

void NodeCore::Carry(const NamesEntered& entered) {
  const Locked lock(*this);
  Peer* peer = FindPeer(entered.peer);
  if (peer == nullptr || peer->session.epoch() != entered.epoch) return;
  names_.OnChangesEntered(entered.peer);
  TellNames(*peer);
}

void NodeCore::Carry(const PeerEvent& event) {
  if (options_.on_peer) options_.on_peer(event);
}

}  // namespace understudy
