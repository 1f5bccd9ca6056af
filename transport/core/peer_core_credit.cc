// PeerCore: credit, that is room in mailboxes, between the accounts of a session
// and the system.
#include <algorithm>
#include <cstddef>
#include <cstdint>
#include <deque>
#include <utility>
#include <vector>

#include "absl/status/status.h"
#include "absl/status/statusor.h"
#include "absl/strings/str_cat.h"
#include "absl/strings/string_view.h"
#include "absl/synchronization/mutex.h"
#include "absl/types/optional.h"
#include "understudy/actors/clock.h"
#include "understudy/actors/error.h"
#include "understudy/actors/exit_reason.h"
#include "understudy/actors/limits.h"
#include "understudy/actors/message.h"
#include "understudy/actors/pid.h"
#include "understudy/actors/room.h"
#include "understudy/transport/codec/credit.h"
#include "understudy/transport/codec/credit_codec.h"
#include "understudy/transport/core/credit_receiver.h"
#include "understudy/transport/core/credit_sender.h"
#include "understudy/transport/core/peer_core.h"
#include "understudy/transport/limits.h"
#include "understudy/transport/session/send_queues.h"

namespace understudy::internal {
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

absl::Status PeerCore::NoCredit(const MailboxAddress& mailbox, int64_t bytes) {
  ++peer_->without_credit;
  if (MayTellMore() && peer_->credit_out.Asks(mailbox)) {
    TellCredit({{.kind = CreditChange::Kind::kWant,
                 .to = mailbox.first,
                 .mailbox = mailbox.second,
                 .granted = {.messages = 1, .bytes = bytes}}});
  }
  return MakeError(ErrorKind::kFull,
                   absl::StrCat("node ", peer_->name, " has granted no room for ", bytes, " more bytes in mailbox ",
                                MailboxNames::Find(mailbox.second), " of ", mailbox.first.ToString(), "; send later"));
}

// ---- From the system ----

bool PeerCore::Released(const ReleasedMessages& messages) {
  const Changing changing(*this, Change::kCall);
  if (!Reaches(messages.node)) return false;
  peer_->credit_in.OnReleased({messages.receiver, messages.mailbox}, messages.admission, messages.amount);
  ScheduleCredit();
  return true;
}

void PeerCore::AskBack(Pid receiver, uint32_t mailbox) {
  const Changing changing(*this, Change::kCall);
  if (!peer_.has_value() || !peer_->session.is_live() || !MayTellMore()) return;
  const absl::optional<CreditChange> change = peer_->credit_in.AskBack({receiver, mailbox});
  if (!change.has_value()) return;
  TellCredit({*change});
  Apply();
}

void PeerCore::GiveBack(const RoomRequest& room) {
  const Changing changing(*this, Change::kCall);
  deliveries_.push_back(RoomReturn{.room = room});
}

// ---- From the peer ----

void PeerCore::OnCredit(const CreditChanges& changes) {
  CreditChanges told;
  for (const CreditChange& change : changes) {
    // The frame that brought the changes may have ended the session, whose end gives all reserved room back.
    if (!peer_->session.is_live()) return;
    const absl::Status taken = OnCreditChange(change, told);
    if (!taken.ok()) {
      peer_->session.EndForBadFrame(taken.message(), Now());
      return;
    }
  }
  TellCredit(told);
  ScheduleCredit();
}

absl::Status PeerCore::OnCreditChange(const CreditChange& change, CreditChanges& told) {
  const MailboxAddress mailbox(change.to, change.mailbox);
  switch (change.kind) {
    case CreditChange::Kind::kGrant:
      return change.want != 0 ? OnWantAnswered(change, told) : peer_->credit_out.OnGrant(change);
    case CreditChange::Kind::kWant:
      return change.want != 0 ? OnPeerWaits(change, told)
                              : peer_->credit_in.OnWanted(mailbox, change.granted.bytes, Now());
    case CreditChange::Kind::kTakeBack:
      told.push_back({.kind = CreditChange::Kind::kReturn,
                      .to = change.to,
                      .mailbox = change.mailbox,
                      .granted = peer_->credit_out.OnTakeBack(change)});
      return absl::OkStatus();
    case CreditChange::Kind::kReturn: {
      if (change.want != 0) {
        OnPeerGaveUp(change, told);
        return absl::OkStatus();
      }
      absl::Status returned = peer_->credit_in.OnReturned(change);
      if (returned.ok() && !change.granted.is_zero()) {
        deliveries_.push_back(RoomReturn{.room = {.node = peer_->session.nodes().peer_node,
                                                  .to = change.to,
                                                  .mailbox = change.mailbox,
                                                  .amount = change.granted}});
      }
      return returned;
    }
    case CreditChange::Kind::kRefuse:
      return OnWantAnswered(change, told);
  }
  return absl::OkStatus();
}

// ---- Senders that wait for room ----

absl::Status PeerCore::OnWantAnswered(const CreditChange& answer, CreditChanges& told) {
  absl::StatusOr<CreditSender::WantAnswered> answered = peer_->credit_out.OnWantAnswered(answer);
  if (!answered.ok()) return answered.status();
  if (answered->told.has_value()) told.push_back(*std::move(answered->told));
  if (!answered->waiter.has_value()) return absl::OkStatus();
  if (answer.kind == CreditChange::Kind::kGrant) {
    peer_->session_line.push_back(
        {.waiter = *answered->waiter,
         .to = answer.to,
         .bytes_max = static_cast<size_t>(answer.granted.bytes) + limits::kEnvelopeOverheadBytesMax});
  } else {
    deliveries_.push_back(Signal{.kind = SignalKind::kReply,
                                 .from = answer.to,
                                 .to = answered->waiter->first,
                                 .id = answered->waiter->second,
                                 .status = answer.status});
  }
  return absl::OkStatus();
}

void PeerCore::ServeSessionLine() {
  std::deque<GrantedSender>& line = peer_->session_line;
  for (; !line.empty(); line.pop_front()) {
    const GrantedSender& first = line.front();
    if (!peer_->credit_out.HasRoom(first.waiter)) continue;  // it has given up
    if (!peer_->session.Keep(first.bytes_max).ok()) return;
    peer_->kept_bytes.emplace(first.waiter, first.bytes_max);
    deliveries_.push_back(
        Signal{.kind = SignalKind::kReply, .from = first.to, .to = first.waiter.first, .id = first.waiter.second});
  }
}

bool PeerCore::GiveUp(const CreditSender::Waiter& waiter) {
  absl::optional<CreditChange> told = peer_->credit_out.GiveUp(waiter);
  if (!told.has_value()) return false;
  if (const auto kept = peer_->kept_bytes.find(waiter); kept != peer_->kept_bytes.end()) {
    peer_->session.StopKeeping(kept->second);
    peer_->kept_bytes.erase(kept);
  }
  TellCredit({*std::move(told)});
  return true;
}

absl::Status PeerCore::OnPeerWaits(const CreditChange& want, CreditChanges& told) {
  CountForged(want.to);
  absl::Status taken = peer_->credit_in.OnWaits(want);
  if (absl::IsInvalidArgument(taken)) return taken;
  if (!taken.ok()) {
    told.push_back({.kind = CreditChange::Kind::kRefuse,
                    .to = want.to,
                    .mailbox = want.mailbox,
                    .want = want.want,
                    .status = std::move(taken)});
    return absl::OkStatus();
  }
  EnterLines();
  return absl::OkStatus();
}

void PeerCore::EnterLines() {
  for (const CreditReceiver::Waiting& entering : peer_->credit_in.TakeEntering()) {
    deliveries_.push_back(
        LineChange{.kind = LineChange::Kind::kEnters,
                   .wait = WaitOf(peer_->session.nodes().peer_node, peer_->session.epoch(), entering)});
  }
}

void PeerCore::OnPeerGaveUp(const CreditChange& change, CreditChanges& told) {
  const absl::optional<CreditReceiver::Waiting> gave_up = peer_->credit_in.OnGaveUp(change);
  if (!gave_up.has_value()) return;
  told.push_back({.kind = CreditChange::Kind::kRefuse,
                  .to = gave_up->to.first,
                  .mailbox = gave_up->to.second,
                  .want = change.want,
                  .status = MakeError(ErrorKind::kCancelled, "it gave up")});
  if (gave_up->is_in_line) {
    deliveries_.push_back(
        LineChange{.kind = LineChange::Kind::kLeaves,
                   .wait = WaitOf(peer_->session.nodes().peer_node, peer_->session.epoch(), *gave_up)});
  }
  EnterLines();
}

void PeerCore::Carry(const LineChange& change) {
  if (change.kind == LineChange::Kind::kEnters) {
    options_.inbound->WaitForRoom(change.wait);
  } else {
    options_.inbound->StopWaiting(change.wait);
  }
}

bool PeerCore::EndWait(const RoomWait& wait, const absl::Status& status) {
  const Changing changing(*this, Change::kCall);
  if (!Reaches(wait.room.node) || peer_->session.epoch() != wait.session) return false;
  absl::optional<CreditChange> told = peer_->credit_in.OnTurn(wait.want, status, Now());
  if (told.has_value()) {
    TellCredit({*std::move(told)});
    ScheduleCredit();
    Apply();
  } else if (status.ok()) {
    deliveries_.push_back(RoomReturn{.room = wait.room});
  }
  return true;
}

bool PeerCore::StopWaiting(Pid from, uint64_t wait) {
  const Changing changing(*this, Change::kCall);
  if (!peer_.has_value() || !GiveUp({from, wait})) return false;
  Apply();
  return true;
}

// ---- Telling the peer, and reserving room ----

void PeerCore::TellCredit(const CreditChanges& changes) {
  if (!peer_->session.is_live()) return;
  for (size_t first = 0; first < changes.size(); first += kCreditChangesTold) {
    const size_t last = std::min(changes.size(), first + kCreditChangesTold);
    CreditChanges part(changes.begin() + static_cast<ptrdiff_t>(first), changes.begin() + static_cast<ptrdiff_t>(last));
    AppendOrEnd({.bytes = EncodeCredit(peer_->session.nodes(), part), .room = Room::kCredit});
  }
}

bool PeerCore::MayTellMore() const {
  return peer_->session.bytes_waiting(Room::kCredit) <= limits::kCreditUnhurriedBytesMax;
}

void PeerCore::ScheduleCredit() {
  if (!peer_->session.is_live()) return;
  EnterLines();
  const MonotonicTime now = Now();
  if (peer_->credit_in.is_urgent() && !std::exchange(peer_->is_crediting, true)) {
    deliveries_.push_back(CreditWork{.session = Session()});
  } else if (peer_->credit_in.is_due() && peer_->credit_at.is_infinite()) {
    peer_->credit_at = now + options_.credit_delay;
  }
  if (peer_->credit_in.needs_look() && peer_->credit_look_at.is_infinite()) {
    peer_->credit_look_at = now + kCreditIdle;
  }
  SetDue();
}

void PeerCore::TickCredit(MonotonicTime now) {
  if (peer_->credit_look_at <= now) {
    peer_->credit_look_at = MonotonicTime::InfiniteFuture();
    if (MayTellMore()) TellCredit(peer_->credit_in.Look(now));
    ScheduleCredit();
  }
  if (peer_->credit_at <= now) {
    peer_->credit_at = MonotonicTime::InfiniteFuture();
    if (!std::exchange(peer_->is_crediting, true)) {
      deliveries_.push_back(CreditWork{.session = Session()});
    }
  }
}

void PeerCore::EndCredit(NodePlace peer_node, uint64_t epoch) {
  const auto tell = [&](const CreditSender::Waiter& waiter, Pid to, absl::string_view what) {
    mu_.AssertHeld();
    deliveries_.push_back(Signal{
        .kind = SignalKind::kReply,
        .from = to,
        .to = waiter.first,
        .id = waiter.second,
        .status = MakeError(ErrorKind::kNoConnection, absl::StrCat("the session with node ", peer_->name,
                                                                   " ended while the message waited for ", what))});
  };
  for (const GrantedSender& sender : std::exchange(peer_->session_line, {})) {
    if (peer_->credit_out.HasRoom(sender.waiter)) tell(sender.waiter, sender.to, "its room");
  }
  peer_->kept_bytes.clear();
  for (const auto& [waiter, mailbox] : peer_->credit_out.End()) tell(waiter, mailbox.first, "room in a mailbox there");
  for (const CreditReceiver::Waiting& waiting : peer_->credit_in.waiting()) {
    if (!waiting.is_in_line) continue;
    deliveries_.push_back(LineChange{.kind = LineChange::Kind::kLeaves, .wait = WaitOf(peer_node, epoch, waiting)});
  }
  for (const auto& [mailbox, amount] : peer_->credit_in.End()) {
    deliveries_.push_back(
        RoomReturn{.room = {.node = peer_node, .to = mailbox.first, .mailbox = mailbox.second, .amount = amount}});
  }
  peer_->credit_at = MonotonicTime::InfiniteFuture();
  peer_->credit_look_at = MonotonicTime::InfiniteFuture();
  peer_->is_crediting = false;
}

// The system is called for the reservations without mu_, so the session may end meanwhile; then the reserved room is
// given back. All that was reserved is granted together.
void PeerCore::Carry(const CreditWork& work) {
  std::vector<RoomRequest> wishes;
  {
    const Locked lock(*this);
    if (!IsLive(work.session)) return;
    peer_->is_crediting = false;
    if (!MayTellMore()) {
      peer_->credit_at = Now() + options_.credit_delay;
      SetDue();
      return;
    }
    for (const auto& [mailbox, amount] : peer_->credit_in.TakeDue()) {
      wishes.push_back(
          {.node = peer_->session.nodes().peer_node, .to = mailbox.first, .mailbox = mailbox.second, .amount = amount});
    }
  }
  if (wishes.empty()) return;
  std::vector<ReservedRoom> reserved;
  reserved.reserve(wishes.size());
  for (const RoomRequest& wish : wishes) reserved.push_back(options_.inbound->Reserve(wish));
  {
    const Locked lock(*this);
    const bool is_over = !IsLive(work.session);
    CreditChanges grants;
    for (size_t i = 0; i < wishes.size(); ++i) {
      if (is_over) {
        wishes[i].amount = reserved[i].amount;
        deliveries_.push_back(RoomReturn{.room = wishes[i]});
        continue;
      }
      const MailboxAddress mailbox(wishes[i].to, wishes[i].mailbox);
      absl::optional<CreditChange> grant = peer_->credit_in.OnReserved(mailbox, reserved[i]);
      if (grant.has_value()) grants.push_back(*std::move(grant));
      absl::optional<CreditChange> in_the_way = peer_->credit_in.AskBackIfShort(mailbox);
      if (in_the_way.has_value()) grants.push_back(*std::move(in_the_way));
    }
    if (is_over) return;
    TellCredit(grants);
    ScheduleCredit();
    Apply();
  }
}

}  // namespace understudy::internal
