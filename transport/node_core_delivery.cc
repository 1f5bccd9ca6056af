// NodeCore: what arrives from peers, and what the system is told.
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
#include "understudy/actors/error.h"
#include "understudy/actors/exit_reason.h"
#include "understudy/actors/limits.h"
#include "understudy/actors/message.h"
#include "understudy/actors/pid.h"
#include "understudy/actors/registry.h"
#include "understudy/proto/names.pb.h"
#include "understudy/transport/frame_codec.h"
#include "understudy/transport/name_table.h"
#include "understudy/transport/node_core.h"
#include "understudy/transport/node_core_state.h"
#include "understudy/transport/session_ties.h"

namespace understudy {

void NodeCore::OnEnvelope(Peer& peer, EnvelopeArrived arrived) {
  if (auto* message = std::get_if<internal::Message>(&arrived.envelope)) {
    message->deadline = arrived.deadline;
    OnMessage(peer, std::move(*message), arrived.wrong_mailbox);
  } else if (auto* signal = std::get_if<Signal>(&arrived.envelope)) {
    OnSignal(peer, std::move(*signal));
  } else if (auto* refused = std::get_if<RefusedMessage>(&arrived.envelope)) {
    absl::optional<Signal> reply = peer.ties.OnRefused(*refused);
    if (reply.has_value()) {
      deliveries_.push_back(*std::move(reply));
    } else if (refused->ask == 0) {
      ++counters_.refused_tells;
    }
  } else if (auto* credit = std::get_if<ReleasedCredit>(&arrived.envelope)) {
    const absl::Status taken = peer.ties.OnCredit(*credit);
    if (!taken.ok()) peer.session.EndForBadFrame(taken.message(), options_.clock->Now());
  } else if (auto* names = std::get_if<proto::NameChanges>(&arrived.envelope)) {
    OnNames(peer, *names);
  }
}

void NodeCore::OnMessage(Peer& peer, internal::Message message, bool wrong_mailbox) {
  if (!peer.ties.OnMessageArrived(message.to, message.mailbox)) {
    peer.session.EndForBadFrame("more messages to a mailbox than its window allows", options_.clock->Now());
    return;
  }
  if (wrong_mailbox) {
    RefuseMessage(peer, {.from = message.from,
                         .to = message.to,
                         .mailbox = message.mailbox,
                         .ask = message.ask,
                         .status = MakeError(ErrorKind::kNoMailbox, "the mailbox's hash is another's here")});
    return;
  }
  deliveries_.push_back(
      MessageDelivery{.peer = peer.name, .epoch = peer.session.epoch(), .message = std::move(message)});
}

void NodeCore::RefuseMessage(Peer& peer, const RefusedMessage& refused) {
  peer.ties.OnMessageRefused(refused.to, refused.mailbox);
  if (peer.session.is_live()) AppendSignal(peer, EncodeRefused(peer.session.nodes(), refused));
}

void NodeCore::OnSignal(Peer& peer, Signal signal) {
  switch (peer.ties.OnArrived(signal, options_.insecure_loopback_grants)) {
    case SessionTies::Verdict::kDeliver:
      deliveries_.push_back(std::move(signal));
      return;
    case SessionTies::Verdict::kDrop:
      ++counters_.late;
      return;
    case SessionTies::Verdict::kRefuse:
      break;
  }
  if (signal.kind != SignalKind::kUnlink) ++counters_.forbidden;
  const absl::optional<Signal> answer = SessionTies::AnswerTo(
      signal, ExitReason::NotPermitted(absl::StrCat("node ", options_.node, " does not grant ",
                                                    SignalKindName(signal.kind), " to ", peer.name)));
  if (answer.has_value() && peer.session.is_live()) AppendSignal(peer, EncodeSignal(peer.session.nodes(), *answer));
}

void NodeCore::OnNames(Peer& peer, const proto::NameChanges& changes) {
  if (!peer.session.is_live()) return;
  const absl::Status taken = names_.OnChanges(peer.name, peer.session.nodes().peer_node, changes);
  TakeNameChanges();
  TellOwnNames();
  if (!taken.ok()) peer.session.EndForBadFrame(taken.message(), options_.clock->Now());
}

void NodeCore::TakeNameChanges() {
  for (NameTable::Change& change : names_.TakeChanges()) deliveries_.push_back(std::move(change));
}

void NodeCore::TellOwnNames() {
  const absl::optional<proto::NameChanges> changes = names_.TakeOwnChanges();
  if (!changes.has_value()) return;
  const std::string bytes = EncodeNames(*changes);
  for (auto& [name, peer] : peers_) {
    if (!peer->session.is_live()) continue;
    AppendSignal(*peer, bytes);
    CarryOut(*peer);
  }
}

void NodeCore::AppendSignal(Peer& peer, std::string bytes) {
  // Without room the session ends, and its end tells everybody.
  (void)peer.session.Append({.bytes = std::move(bytes), .is_signal = true}, options_.clock->Now());
}

void NodeCore::ReturnCredit(Peer& peer) {
  peer.credit_at = MonotonicTime::InfiniteFuture();
  for (const ReleasedCredit& credit : peer.ties.TakeOwedCredit()) {
    if (peer.session.is_live()) AppendSignal(peer, EncodeReleased(peer.session.nodes(), credit));
  }
}

// ---- To the system ----

void NodeCore::Deliver() {
  {
    absl::MutexLock lock(&mu_);
    if (delivering_) return;  // whoever delivers takes these too, in order
    delivering_ = true;
  }
  while (true) {
    absl::optional<Delivery> delivery;
    {
      absl::MutexLock lock(&mu_);
      if (deliveries_.empty()) {
        delivering_ = false;
        return;
      }
      delivery = std::move(deliveries_.front());
      deliveries_.pop_front();
    }
    std::visit([this](auto&& what) { this->Carry(std::forward<decltype(what)>(what)); }, *std::move(delivery));
  }
}

void NodeCore::Carry(MessageDelivery delivery) {
  RefusedMessage refused{.from = delivery.message.from,
                         .to = delivery.message.to,
                         .mailbox = delivery.message.mailbox,
                         .ask = delivery.message.ask};
  refused.status = options_.inbound->Deliver(std::move(delivery.message));
  if (refused.status.ok()) return;
  absl::MutexLock lock(&mu_);
  Peer* peer = FindPeer(delivery.peer);
  if (peer == nullptr || peer->session.epoch() != delivery.epoch) return;  // its end has told the asker
  RefuseMessage(*peer, refused);
  CarryOut(*peer);
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
      NameRecord record{
          .name = change.name, .pid = change.entry.pid, .scope = NameScope::kCluster, .claimed = change.entry.claimed};
      for (const proto::MailboxSignature& mailbox : change.entry.mailboxes) {
        record.mailboxes.push_back({.name = mailbox.name(),
                                    .is_call = mailbox.is_call(),
                                    .request = mailbox.request(),
                                    .reply = mailbox.reply()});
      }
      // A name of this node only (RegisteredAs) hides the cluster's here.
      (void)options_.registry->Insert(record);
      return;
    }
    case NameTable::Change::Kind::kHide:
      if (shown == shown_.end()) return;
      if (!is_own) options_.registry->Remove(change.name, shown->second);
      shown_.erase(shown);
      return;
    case NameTable::Change::Kind::kLost:
      options_.registry->Remove(change.name, change.entry.pid);
      options_.inbound->Deliver(Signal{.kind = SignalKind::kExit,
                                       .from = change.entry.pid,
                                       .to = change.entry.pid,
                                       .reason = ExitReason::NameConflict(change.name)});
      return;
  }
}

void NodeCore::Carry(const PeerEvent& event) {
  if (options_.on_peer) options_.on_peer(event);
}

}  // namespace understudy
