// PeerCore: credit, that is room in mailboxes, between the session's state machine of credit (peer_credit.h) and the
// system.
#include <algorithm>
#include <cstddef>
#include <cstdint>
#include <utility>
#include <variant>
#include <vector>

#include "absl/status/status.h"
#include "absl/synchronization/mutex.h"
#include "absl/types/optional.h"
#include "understudy/actors/message.h"
#include "understudy/actors/pid.h"
#include "understudy/actors/room.h"
#include "understudy/actors/router.h"
#include "understudy/transport/codec/credit.h"
#include "understudy/transport/codec/credit_codec.h"
#include "understudy/transport/codec/frame_codec.h"
#include "understudy/transport/core/overloads.h"
#include "understudy/transport/core/peer_core.h"
#include "understudy/transport/core/peer_credit.h"
#include "understudy/transport/limits.h"
#include "understudy/transport/session/send_queues.h"

namespace understudy::internal {

// ---- From the system ----

bool PeerCore::Released(const ReleasedMessages& messages) {
  const Changing changing(*this, Change::kCall);
  if (!Reaches(messages.node)) return false;
  peer_->credit.OnReleased({messages.receiver, messages.mailbox}, messages.admission, messages.amount);
  ScheduleCredit();
  return true;
}

void PeerCore::AskBack(Pid receiver, uint32_t mailbox) {
  const Changing changing(*this, Change::kCall);
  if (!peer_.has_value() || !peer_->session.is_live()) return;
  peer_->credit.AskBack({receiver, mailbox}, CreditBacklog());
  if (!peer_->credit.has_actions()) return;
  ApplyCredit();
  Apply();
}

void PeerCore::GiveBack(const RoomRequest& room) {
  const Changing changing(*this, Change::kCall);
  deliveries_.push_back(RoomReturn{.room = room});
}

bool PeerCore::EndWait(const RoomWait& wait, const absl::Status& status) {
  const Changing changing(*this, Change::kCall);
  if (!Reaches(wait.room.node) || peer_->session.number() != wait.session) return false;
  peer_->credit.OnTurn(wait, status, Now());
  ScheduleCredit();
  Apply();
  return true;
}

bool PeerCore::StopWaiting(Pid from, uint64_t wait) {
  const Changing changing(*this, Change::kCall);
  if (!peer_.has_value() || !GiveUp({from, wait})) return false;
  Apply();
  return true;
}

bool PeerCore::GiveUp(const PeerCredit::Waiter& waiter) {
  const absl::optional<size_t> kept_bytes = peer_->credit.GiveUp(waiter);
  if (!kept_bytes.has_value()) return false;
  if (*kept_bytes != 0) peer_->session.StopKeeping(*kept_bytes);
  ApplyCredit();
  return true;
}

// ---- From the peer ----

void PeerCore::OnCredit(const CreditChanges& changes) {
  for (const CreditChange& change : changes) {
    // The frame that brought the changes may have ended the session, whose end gives all reserved room back.
    if (!peer_->session.is_live()) return;
    if (change.kind == CreditChange::Kind::kWant && change.want != 0) CountForged(change.to);
    const absl::Status taken = peer_->credit.OnChange(change, Now());
    if (!taken.ok()) {
      peer_->session.EndForBadFrame(taken.message(), Now());
      return;
    }
  }
  ScheduleCredit();
}

// ---- What is to be done ----

PeerCredit::Backlog PeerCore::CreditBacklog() const {
  return peer_->session.bytes_waiting(Room::kCredit) <= limits::kCreditUnhurriedBytesMax ? PeerCredit::Backlog::kSmall
                                                                                         : PeerCredit::Backlog::kLarge;
}

void PeerCore::ScheduleCredit() {
  if (!peer_->session.is_live()) return;
  peer_->credit.Schedule(Now());
  ApplyCredit();
  SetDue();
}

void PeerCore::ApplyCredit() {
  if (!peer_->credit.has_actions()) return;
  const CreditChanges told = peer_->credit.TakeTold();
  for (PeerCredit::Work& work : peer_->credit.TakeWork()) {
    std::visit(Overloads{[this](PeerCredit::ReserveDue& /*due*/) ABSL_EXCLUSIVE_LOCKS_REQUIRED(mu_) {
                           deliveries_.push_back(CreditWork{.session = Session()});
                         },
                         [this](auto& delivery)
                             ABSL_EXCLUSIVE_LOCKS_REQUIRED(mu_) { deliveries_.push_back(std::move(delivery)); }},
               work);
  }
  for (size_t first = 0; first < told.size() && peer_->session.is_live(); first += kCreditChangesTold) {
    const size_t last = std::min(told.size(), first + kCreditChangesTold);
    const CreditChanges part(told.begin() + static_cast<ptrdiff_t>(first), told.begin() + static_cast<ptrdiff_t>(last));
    AppendOrEnd({.bytes = EncodeCredit(peer_->session.nodes(), part), .room = Room::kCredit});
  }
}

void PeerCore::Perform(const LineChange& change) {
  if (change.kind == LineChange::Kind::kEnters) {
    options_.inbound->WaitForRoom(change.wait);
  } else {
    options_.inbound->StopWaiting(change.wait);
  }
}

// The system is called for the reservations without mu_, so the session may end meanwhile; then the reserved room is
// given back. All that was reserved is granted together.
void PeerCore::Perform(const CreditWork& work) {
  std::vector<RoomRequest> wishes;
  {
    const Locked lock(*this);
    if (!IsLive(work.session)) return;
    wishes = peer_->credit.TakeDue(Now(), CreditBacklog());
    SetDue();
  }
  if (wishes.empty()) return;
  std::vector<ReservedRoom> reserved;
  reserved.reserve(wishes.size());
  for (const RoomRequest& wish : wishes) reserved.push_back(options_.inbound->Reserve(wish));
  const Locked lock(*this);
  const bool is_over = !IsLive(work.session);
  for (size_t i = 0; i < wishes.size(); ++i) {
    if (is_over) {
      wishes[i].amount = reserved[i].amount;
      deliveries_.push_back(RoomReturn{.room = wishes[i]});
    } else {
      peer_->credit.OnReserved(wishes[i], reserved[i]);
    }
  }
  if (is_over) return;
  ScheduleCredit();
  Apply();
}

}  // namespace understudy::internal
