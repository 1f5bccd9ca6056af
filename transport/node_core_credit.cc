// NodeCore: credit, that is room in mailboxes, between the accounts of a session
// and the system.
#include <algorithm>
#include <cstddef>
#include <cstdint>
#include <utility>
#include <vector>

#include "absl/status/status.h"
#include "absl/status/statusor.h"
#include "absl/strings/str_cat.h"
#include "absl/synchronization/mutex.h"
#include "absl/types/optional.h"
#include "understudy/actors/clock.h"
#include "understudy/actors/error.h"
#include "understudy/actors/exit_reason.h"
#include "understudy/actors/message.h"
#include "understudy/actors/pid.h"
#include "understudy/actors/room.h"
#include "understudy/transport/credit.h"
#include "understudy/transport/credit_codec.h"
#include "understudy/transport/credit_sender.h"
#include "understudy/transport/node_core.h"
#include "understudy/transport/node_core_state.h"
#include "understudy/transport/send_queues.h"

namespace understudy {

absl::Status NodeCore::NoCredit(Peer& peer, const MailboxAddress& mailbox, int64_t bytes) {
  ++peer.without_credit;
  if (peer.credit_out.Asks(mailbox)) {
    TellCredit(peer, {{.kind = CreditChange::Kind::kWant,
                       .to = mailbox.first,
                       .mailbox = mailbox.second,
                       .granted = {.messages = 1, .bytes = bytes}}});
  }
  return MakeError(
      ErrorKind::kFull,
      absl::StrCat("node ", peer.name, " has granted no room for ", bytes, " more bytes in mailbox ",
                   internal::MailboxNames::Find(mailbox.second), " of ", mailbox.first.ToString(), "; send later"));
}

// ---- From the system ----

void NodeCore::Released(const ReleasedMessages& messages) {
  const Changing changing(*this, Change::kCall);
  ExitReason unreachable;
  Peer* peer = PeerAt(messages.node, unreachable);
  if (peer == nullptr) return;
  peer->credit_in.OnReleased({messages.receiver, messages.mailbox}, messages.admission, messages.amount);
  ScheduleCredit(*peer);
}

void NodeCore::AskBack(Pid receiver, uint32_t mailbox) {
  const Changing changing(*this, Change::kCall);
  for (auto& [name, peer] : peers_) {
    if (!peer->session.is_live()) continue;
    const absl::optional<CreditChange> change = peer->credit_in.AskBack({receiver, mailbox});
    if (!change.has_value()) continue;
    TellCredit(*peer, {*change});
    CarryOut(*peer);
  }
}

// ---- From the peer ----

void NodeCore::OnCredit(Peer& peer, const CreditChanges& changes) {
  for (const CreditChange& change : changes) {
    // The frame that brought them ended the session too: its end gives everything back.
    if (!peer.session.is_live()) return;
    const absl::Status taken = OnCreditChange(peer, change);
    if (!taken.ok()) {
      peer.session.EndForBadFrame(taken.message(), Now());
      return;
    }
  }
  ScheduleCredit(peer);
}

absl::Status NodeCore::OnCreditChange(Peer& peer, const CreditChange& change) {
  const MailboxAddress mailbox(change.to, change.mailbox);
  switch (change.kind) {
    case CreditChange::Kind::kGrant:
      return change.want != 0 ? OnWantAnswered(peer, change) : peer.credit_out.OnGrant(change);
    case CreditChange::Kind::kWant:
      if (change.want != 0) return OnPeerWaits(peer, change);
      peer.credit_in.OnWanted(mailbox, change.granted.bytes, Now());
      return absl::OkStatus();
    case CreditChange::Kind::kTakeBack:
      TellCredit(peer, {{.kind = CreditChange::Kind::kReturn,
                         .to = change.to,
                         .mailbox = change.mailbox,
                         .granted = peer.credit_out.OnTakeBack(change)}});
      return absl::OkStatus();
    case CreditChange::Kind::kReturn: {
      if (change.want != 0) {
        OnPeerGaveUp(peer, change);
        return absl::OkStatus();
      }
      absl::Status returned = peer.credit_in.OnReturned(change);
      if (returned.ok() && !change.granted.is_zero()) {
        deliveries_.push_back(RoomReturn{.room = {.node = peer.session.nodes().peer_node,
                                                  .to = change.to,
                                                  .mailbox = change.mailbox,
                                                  .amount = change.granted}});
      }
      return returned;
    }
    case CreditChange::Kind::kRefuse:
      return OnWantAnswered(peer, change);
  }
  return absl::OkStatus();
}

// ---- Senders that wait for room ----

absl::Status NodeCore::OnWantAnswered(Peer& peer, const CreditChange& answer) {
  absl::StatusOr<CreditSender::WantAnswered> told = peer.credit_out.OnWantAnswered(answer);
  if (!told.ok()) return told.status();
  if (told->told.has_value()) TellCredit(peer, {*std::move(told->told)});
  if (told->waiter.has_value()) {
    deliveries_.push_back(Signal{.kind = SignalKind::kReply,
                                 .from = answer.to,
                                 .to = told->waiter->first,
                                 .id = told->waiter->second,
                                 .status = answer.status});
  }
  return absl::OkStatus();
}

absl::Status NodeCore::OnPeerWaits(Peer& peer, const CreditChange& want) {
  CountForged(want.to);
  absl::Status taken = peer.credit_in.OnWaits(want);
  if (absl::IsInvalidArgument(taken)) return taken;
  if (!taken.ok()) {
    TellCredit(peer, {{.kind = CreditChange::Kind::kRefuse,
                       .to = want.to,
                       .mailbox = want.mailbox,
                       .want = want.want,
                       .status = std::move(taken)}});
    return absl::OkStatus();
  }
  deliveries_.push_back(LineChange{.kind = LineChange::Kind::kEnters,
                                   .wait = {.room = {.node = peer.session.nodes().peer_node,
                                                     .to = want.to,
                                                     .mailbox = want.mailbox,
                                                     .amount = {.messages = 1, .bytes = want.granted.bytes}},
                                            .session = peer.session.epoch(),
                                            .want = want.want}});
  return absl::OkStatus();
}

void NodeCore::OnPeerGaveUp(Peer& peer, const CreditChange& change) {
  const absl::optional<MailboxAddress> mailbox = peer.credit_in.OnGaveUp(change);
  if (!mailbox.has_value()) return;
  TellCredit(peer, {{.kind = CreditChange::Kind::kRefuse,
                     .to = mailbox->first,
                     .mailbox = mailbox->second,
                     .want = change.want,
                     .status = MakeError(ErrorKind::kCancelled, "it gave up")}});
  deliveries_.push_back(LineChange{
      .kind = LineChange::Kind::kLeaves,
      .wait = {.room = {.node = peer.session.nodes().peer_node, .to = mailbox->first, .mailbox = mailbox->second},
               .session = peer.session.epoch(),
               .want = change.want}});
}

void NodeCore::Carry(const LineChange& change) {
  if (change.kind == LineChange::Kind::kEnters) {
    options_.inbound->WaitForRoom(change.wait);
  } else {
    options_.inbound->StopWaiting(change.wait);
  }
}

void NodeCore::EndWait(const RoomWait& wait, absl::Status status) {
  const Changing changing(*this, Change::kCall);
  const internal::NodeEntry* const entry = internal::NodeTable::Find(wait.room.node);
  Peer* const peer = entry == nullptr ? nullptr : FindPeer(entry->name);
  absl::optional<CreditChange> told;
  if (peer != nullptr && peer->session.is_live() && peer->session.nodes().peer == entry->incarnation &&
      peer->session.epoch() == wait.session) {
    told = peer->credit_in.OnTurn(wait.want, status, Now());
  }
  if (told.has_value()) {
    TellCredit(*peer, {*std::move(told)});
    ScheduleCredit(*peer);
    CarryOut(*peer);
  } else if (status.ok()) {
    deliveries_.push_back(RoomReturn{.room = wait.room});
  }
}

// ---- What is due ----

void NodeCore::TellCredit(Peer& peer, const CreditChanges& changes) {
  if (!peer.session.is_live()) return;
  for (size_t first = 0; first < changes.size(); first += kCreditChangesMax) {
    const size_t last = std::min(changes.size(), first + kCreditChangesMax);
    CreditChanges part(changes.begin() + static_cast<ptrdiff_t>(first), changes.begin() + static_cast<ptrdiff_t>(last));
    AppendOrEnd(peer, {.bytes = EncodeCredit(peer.session.nodes(), part), .room = Room::kCredit});
  }
}

void NodeCore::ScheduleCredit(Peer& peer) {
  if (!peer.session.is_live()) return;
  const MonotonicTime now = Now();
  if (peer.credit_in.is_urgent() && !std::exchange(peer.is_crediting, true)) {
    deliveries_.push_back(CreditWork{.peer = peer.name, .epoch = peer.session.epoch()});
  } else if (peer.credit_in.is_due() && peer.credit_at.is_infinite()) {
    peer.credit_at = now + options_.credit_delay;
    WakeAt(peer.credit_at);
  }
  if (peer.credit_in.needs_look() && peer.credit_look_at.is_infinite()) {
    peer.credit_look_at = now + kCreditIdle;
    WakeAt(peer.credit_look_at);
  }
}

void NodeCore::TickCredit(Peer& peer, MonotonicTime now) {
  if (peer.credit_look_at <= now) {
    peer.credit_look_at = MonotonicTime::InfiniteFuture();
    TellCredit(peer, peer.credit_in.Look(now));
    ScheduleCredit(peer);
  }
  if (peer.credit_at <= now) {
    peer.credit_at = MonotonicTime::InfiniteFuture();
    if (!std::exchange(peer.is_crediting, true)) {
      deliveries_.push_back(CreditWork{.peer = peer.name, .epoch = peer.session.epoch()});
    }
  }
  WakeAt(std::min(peer.credit_at, peer.credit_look_at));
}

void NodeCore::EndCredit(Peer& peer, NodePlace peer_node, uint64_t epoch) {
  for (const auto& [waiter, mailbox] : peer.credit_out.End()) {
    deliveries_.push_back(
        Signal{.kind = SignalKind::kReply,
               .from = mailbox.first,
               .to = waiter.first,
               .id = waiter.second,
               .status = MakeError(ErrorKind::kNoConnection,
                                   absl::StrCat("the session with node ", peer.name,
                                                " ended while the message waited for room in a mailbox there"))});
  }
  for (const auto& [want, mailbox] : peer.credit_in.waiting()) {
    deliveries_.push_back(
        LineChange{.kind = LineChange::Kind::kLeaves,
                   .wait = {.room = {.node = peer_node, .to = mailbox.first, .mailbox = mailbox.second},
                            .session = epoch,
                            .want = want}});
  }
  for (const auto& [mailbox, amount] : peer.credit_in.End()) {
    deliveries_.push_back(
        RoomReturn{.room = {.node = peer_node, .to = mailbox.first, .mailbox = mailbox.second, .amount = amount}});
  }
  peer.credit_at = MonotonicTime::InfiniteFuture();
  peer.credit_look_at = MonotonicTime::InfiniteFuture();
  peer.is_crediting = false;
}

// Reservations are made without the lock, one after another, and granted together.
void NodeCore::Carry(const CreditWork& work) {
  std::vector<RoomRequest> wishes;
  {
    const Locked lock(*this);
    Peer* const peer = FindPeer(work.peer);
    if (peer == nullptr || !peer->session.is_live() || peer->session.epoch() != work.epoch) return;
    peer->is_crediting = false;
    for (const auto& [mailbox, amount] : peer->credit_in.TakeDue()) {
      wishes.push_back(
          {.node = peer->session.nodes().peer_node, .to = mailbox.first, .mailbox = mailbox.second, .amount = amount});
    }
  }
  if (wishes.empty()) return;
  std::vector<ReservedRoom> reserved;
  reserved.reserve(wishes.size());
  for (const RoomRequest& wish : wishes) reserved.push_back(options_.inbound->Reserve(wish));
  {
    const Locked lock(*this);
    Peer* const peer = FindPeer(work.peer);
    const bool is_over = peer == nullptr || !peer->session.is_live() || peer->session.epoch() != work.epoch;
    CreditChanges grants;
    for (size_t i = 0; i < wishes.size(); ++i) {
      if (is_over) {
        wishes[i].amount = reserved[i].amount;
        deliveries_.push_back(RoomReturn{.room = wishes[i]});
        continue;
      }
      absl::optional<CreditChange> grant = peer->credit_in.OnReserved({wishes[i].to, wishes[i].mailbox}, reserved[i]);
      if (grant.has_value()) grants.push_back(*std::move(grant));
    }
    if (is_over) return;
    TellCredit(*peer, grants);
    ScheduleCredit(*peer);
    CarryOut(*peer);
  }
}

}  // namespace understudy
