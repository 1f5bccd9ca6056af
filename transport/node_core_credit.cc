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
#include "understudy/transport/credit_receiver.h"
#include "understudy/transport/credit_sender.h"
#include "understudy/transport/limits.h"
#include "understudy/transport/node_core.h"
#include "understudy/transport/node_core_state.h"
#include "understudy/transport/send_queues.h"

namespace understudy {
namespace {

RoomWait WaitOf(NodePlace peer_node, uint64_t epoch, const CreditReceiver::Waiting& sender) {
  return {.room = {.node = peer_node,
                   .to = sender.to.first,
                   .mailbox = sender.to.second,
                   .amount = {.messages = 1, .bytes = sender.bytes}},
          .session = epoch,
          .want = sender.want};
}

}  // namespace

absl::Status NodeCore::NoCredit(Peer& peer, const MailboxAddress& mailbox, int64_t bytes) {
  ++peer.without_credit;
  if (MayTellMore(peer) && peer.credit_out.Asks(mailbox)) {
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
    if (!peer->session.is_live() || !MayTellMore(*peer)) continue;
    const absl::optional<CreditChange> change = peer->credit_in.AskBack({receiver, mailbox});
    if (!change.has_value()) continue;
    TellCredit(*peer, {*change});
    CarryOut(*peer);
  }
}

// ---- From the peer ----

void NodeCore::OnCredit(Peer& peer, const CreditChanges& changes) {
  CreditChanges told;
  for (const CreditChange& change : changes) {
    // The frame that brought them ended the session too: its end gives everything back.
    if (!peer.session.is_live()) return;
    const absl::Status taken = OnCreditChange(peer, change, told);
    if (!taken.ok()) {
      peer.session.EndForBadFrame(taken.message(), Now());
      return;
    }
  }
  TellCredit(peer, told);
  ScheduleCredit(peer);
}

absl::Status NodeCore::OnCreditChange(Peer& peer, const CreditChange& change, CreditChanges& told) {
  const MailboxAddress mailbox(change.to, change.mailbox);
  switch (change.kind) {
    case CreditChange::Kind::kGrant:
      return change.want != 0 ? OnWantAnswered(peer, change, told) : peer.credit_out.OnGrant(change);
    case CreditChange::Kind::kWant:
      return change.want != 0 ? OnPeerWaits(peer, change, told)
                              : peer.credit_in.OnWanted(mailbox, change.granted.bytes, Now());
    case CreditChange::Kind::kTakeBack:
      told.push_back({.kind = CreditChange::Kind::kReturn,
                      .to = change.to,
                      .mailbox = change.mailbox,
                      .granted = peer.credit_out.OnTakeBack(change)});
      return absl::OkStatus();
    case CreditChange::Kind::kReturn: {
      if (change.want != 0) {
        OnPeerGaveUp(peer, change, told);
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
      return OnWantAnswered(peer, change, told);
  }
  return absl::OkStatus();
}

// ---- Senders that wait for room ----

absl::Status NodeCore::OnWantAnswered(Peer& peer, const CreditChange& answer, CreditChanges& told) {
  absl::StatusOr<CreditSender::WantAnswered> answered = peer.credit_out.OnWantAnswered(answer);
  if (!answered.ok()) return answered.status();
  if (answered->told.has_value()) told.push_back(*std::move(answered->told));
  if (answered->waiter.has_value()) {
    deliveries_.push_back(Signal{.kind = SignalKind::kReply,
                                 .from = answer.to,
                                 .to = answered->waiter->first,
                                 .id = answered->waiter->second,
                                 .status = answer.status});
  }
  return absl::OkStatus();
}

absl::Status NodeCore::OnPeerWaits(Peer& peer, const CreditChange& want, CreditChanges& told) {
  CountForged(want.to);
  absl::Status taken = peer.credit_in.OnWaits(want);
  if (absl::IsInvalidArgument(taken)) return taken;
  if (!taken.ok()) {
    told.push_back({.kind = CreditChange::Kind::kRefuse,
                    .to = want.to,
                    .mailbox = want.mailbox,
                    .want = want.want,
                    .status = std::move(taken)});
    return absl::OkStatus();
  }
  EnterLines(peer);
  return absl::OkStatus();
}

void NodeCore::EnterLines(Peer& peer) {
  for (const CreditReceiver::Waiting& entering : peer.credit_in.TakeEntering()) {
    deliveries_.push_back(LineChange{.kind = LineChange::Kind::kEnters,
                                     .wait = WaitOf(peer.session.nodes().peer_node, peer.session.epoch(), entering)});
  }
}

void NodeCore::OnPeerGaveUp(Peer& peer, const CreditChange& change, CreditChanges& told) {
  const absl::optional<CreditReceiver::Waiting> gave_up = peer.credit_in.OnGaveUp(change);
  if (!gave_up.has_value()) return;
  told.push_back({.kind = CreditChange::Kind::kRefuse,
                  .to = gave_up->to.first,
                  .mailbox = gave_up->to.second,
                  .want = change.want,
                  .status = MakeError(ErrorKind::kCancelled, "it gave up")});
  if (gave_up->is_in_line) {
    deliveries_.push_back(LineChange{.kind = LineChange::Kind::kLeaves,
                                     .wait = WaitOf(peer.session.nodes().peer_node, peer.session.epoch(), *gave_up)});
  }
  EnterLines(peer);
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
  for (size_t first = 0; first < changes.size(); first += kCreditChangesTold) {
    const size_t last = std::min(changes.size(), first + kCreditChangesTold);
    CreditChanges part(changes.begin() + static_cast<ptrdiff_t>(first), changes.begin() + static_cast<ptrdiff_t>(last));
    AppendOrEnd(peer, {.bytes = EncodeCredit(peer.session.nodes(), part), .room = Room::kCredit});
  }
}

bool NodeCore::MayTellMore(const Peer& peer) {
  return peer.session.bytes_waiting(Room::kCredit) <= limits::kCreditUnhurriedBytesMax;
}

void NodeCore::ScheduleCredit(Peer& peer) {
  if (!peer.session.is_live()) return;
  EnterLines(peer);
  const MonotonicTime now = Now();
  if (peer.credit_in.is_urgent() && !std::exchange(peer.is_crediting, true)) {
    deliveries_.push_back(CreditWork{.peer = peer.name, .epoch = peer.session.epoch()});
  } else if (peer.credit_in.is_due() && peer.credit_at.is_infinite()) {
    peer.credit_at = now + options_.credit_delay;
  }
  if (peer.credit_in.needs_look() && peer.credit_look_at.is_infinite()) {
    peer.credit_look_at = now + kCreditIdle;
  }
  SetDue(peer);
}

void NodeCore::TickCredit(Peer& peer, MonotonicTime now) {
  if (peer.credit_look_at <= now) {
    peer.credit_look_at = MonotonicTime::InfiniteFuture();
    if (MayTellMore(peer)) TellCredit(peer, peer.credit_in.Look(now));
    ScheduleCredit(peer);
  }
  if (peer.credit_at <= now) {
    peer.credit_at = MonotonicTime::InfiniteFuture();
    if (!std::exchange(peer.is_crediting, true)) {
      deliveries_.push_back(CreditWork{.peer = peer.name, .epoch = peer.session.epoch()});
    }
  }
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
  for (const CreditReceiver::Waiting& waiting : peer.credit_in.waiting()) {
    if (!waiting.is_in_line) continue;
    deliveries_.push_back(LineChange{.kind = LineChange::Kind::kLeaves, .wait = WaitOf(peer_node, epoch, waiting)});
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
    if (!MayTellMore(*peer)) {
      peer->credit_at = Now() + options_.credit_delay;
      SetDue(*peer);
      return;
    }
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
