#include "understudy/transport/core/peer_credit.h"

#include <cstddef>
#include <cstdint>
#include <deque>
#include <iterator>
#include <map>
#include <utility>
#include <vector>

#include "absl/functional/function_ref.h"
#include "absl/status/status.h"
#include "absl/status/statusor.h"
#include "absl/strings/str_cat.h"
#include "absl/strings/string_view.h"
#include "absl/types/optional.h"
#include "understudy/actors/clock.h"
#include "understudy/actors/error.h"
#include "understudy/actors/limits.h"
#include "understudy/actors/message.h"
#include "understudy/actors/pid.h"
#include "understudy/actors/room.h"
#include "understudy/transport/codec/credit.h"
#include "understudy/transport/core/credit_receiver.h"
#include "understudy/transport/core/credit_sender.h"
#include "understudy/transport/limits.h"
#include "understudy/transport/session/handshake.h"

namespace understudy::internal {

void PeerCredit::Begin(NodePlace place, uint64_t session, uint64_t features) {
  CreditTerms terms;
  if ((features & kFeatureLargeAfterSmall) == 0) terms.large_messages = CreditTerms::LargeMessages::kNeedUntouched;
  place_ = place;
  session_ = session;
  out_ = CreditSender(terms);
  in_ = CreditReceiver(terms);
}

void PeerCredit::TellOfEnd(const Waiter& waiter, Pid to, absl::string_view awaited) {
  work_.emplace_back(Signal{
      .kind = SignalKind::kReply,
      .from = to,
      .to = waiter.first,
      .id = waiter.second,
      .status = MakeError(ErrorKind::kNoConnection, absl::StrCat("the session with node ", peer_,
                                                                 " ended while the message waited for ", awaited))});
}

void PeerCredit::End() {
  for (const GrantedSender& sender : std::exchange(line_, {})) {
    if (out_.HasRoom(sender.waiter)) TellOfEnd(sender.waiter, sender.to, "its room");
  }
  kept_bytes_.clear();
  for (const auto& [waiter, mailbox] : out_.End()) TellOfEnd(waiter, mailbox.first, "room in a mailbox there");
  for (const CreditReceiver::Waiting& waiting : in_.waiting()) {
    if (waiting.is_in_line) work_.emplace_back(LineChange{.kind = LineChange::Kind::kLeaves, .wait = WaitOf(waiting)});
  }
  for (const auto& [mailbox, amount] : in_.End()) {
    work_.emplace_back(RoomReturn{.room = RequestOf(mailbox, amount)});
  }
  due_at_ = MonotonicTime::InfiniteFuture();
  look_at_ = MonotonicTime::InfiniteFuture();
  is_reserving_ = false;
  told_.clear();
}

// ---- What actors of this node send ----

absl::optional<Admission> PeerCredit::FindInTurn(const MailboxAddress& to, int64_t bytes) const {
  return line_.empty() && !out_.IsAwaited(to) ? out_.Find(to, bytes) : absl::nullopt;
}

absl::Status PeerCredit::OnFull(const MailboxAddress& to, int64_t bytes, Backlog backlog) {
  ++refused_;
  if (backlog == Backlog::kSmall && out_.Asks(to)) {
    told_.push_back({.kind = CreditChange::Kind::kWant,
                     .to = to.first,
                     .mailbox = to.second,
                     .granted = {.messages = 1, .bytes = bytes}});
  }
  return MakeError(ErrorKind::kFull,
                   absl::StrCat("node ", peer_, " has granted no room for ", bytes, " more bytes in mailbox ",
                                MailboxNames::Find(to.second), " of ", to.first.ToString(), "; send later"));
}

absl::Status PeerCredit::Wait(const MailboxAddress& to, int64_t bytes, const Waiter& waiter) {
  absl::optional<CreditChange> want = out_.Wants(to, bytes, waiter);
  if (!want.has_value()) {
    return MakeError(ErrorKind::kFull,
                     absl::StrCat(limits::kWantsPerSessionMax, " senders of this node wait for room of node ", peer_,
                                  " already, or gave up just now"));
  }
  told_.push_back(*std::move(want));
  return absl::OkStatus();
}

size_t PeerCredit::KeptBytes(const Waiter& waiter) const {
  const auto kept = kept_bytes_.find(waiter);
  return kept == kept_bytes_.end() ? 0 : kept->second;
}

void PeerCredit::OnSentInRoom(const Waiter& waiter) {
  out_.OnSentInRoom(waiter);
  kept_bytes_.erase(waiter);
}

absl::optional<size_t> PeerCredit::GiveUp(const Waiter& waiter) {
  absl::optional<CreditChange> told = out_.GiveUp(waiter);
  if (!told.has_value()) return absl::nullopt;
  told_.push_back(*std::move(told));
  const size_t kept = KeptBytes(waiter);
  kept_bytes_.erase(waiter);
  return kept;
}

void PeerCredit::ServeLine(absl::FunctionRef<bool(size_t bytes)> keep) {
  for (; !line_.empty(); line_.pop_front()) {
    const GrantedSender& first = line_.front();
    if (!out_.HasRoom(first.waiter)) continue;  // it has given up
    if (!keep(first.bytes_max)) return;
    kept_bytes_.emplace(first.waiter, first.bytes_max);
    work_.emplace_back(
        Signal{.kind = SignalKind::kReply, .from = first.to, .to = first.waiter.first, .id = first.waiter.second});
  }
}

// ---- What the peer tells ----

absl::Status PeerCredit::OnChange(const CreditChange& change, MonotonicTime now) {
  const MailboxAddress mailbox(change.to, change.mailbox);
  switch (change.kind) {
    case CreditChange::Kind::kGrant:
      return change.want != 0 ? OnWantAnswered(change) : out_.OnGrant(change);
    case CreditChange::Kind::kWant:
      return change.want != 0 ? OnPeerWaits(change) : in_.OnWanted(mailbox, change.granted.bytes, now);
    case CreditChange::Kind::kTakeBack:
      told_.push_back({.kind = CreditChange::Kind::kReturn,
                       .to = change.to,
                       .mailbox = change.mailbox,
                       .granted = out_.OnTakeBack(change)});
      return absl::OkStatus();
    case CreditChange::Kind::kReturn: {
      if (change.want != 0) {
        OnPeerGaveUp(change);
        return absl::OkStatus();
      }
      absl::Status returned = in_.OnReturned(change);
      if (returned.ok() && !change.granted.is_zero()) {
        work_.emplace_back(RoomReturn{.room = RequestOf(mailbox, change.granted)});
      }
      return returned;
    }
    case CreditChange::Kind::kRefuse:
      return OnWantAnswered(change);
  }
  return absl::OkStatus();
}

absl::Status PeerCredit::OnWantAnswered(const CreditChange& answer) {
  absl::StatusOr<CreditSender::WantAnswered> answered = out_.OnWantAnswered(answer);
  if (!answered.ok()) return answered.status();
  if (answered->told.has_value()) told_.push_back(*std::move(answered->told));
  if (!answered->waiter.has_value()) return absl::OkStatus();
  if (answer.kind == CreditChange::Kind::kGrant) {
    line_.push_back({.waiter = *answered->waiter,
                     .to = answer.to,
                     .bytes_max = static_cast<size_t>(answer.granted.bytes) + limits::kEnvelopeOverheadBytesMax});
  } else {
    work_.emplace_back(Signal{.kind = SignalKind::kReply,
                              .from = answer.to,
                              .to = answered->waiter->first,
                              .id = answered->waiter->second,
                              .status = answer.status});
  }
  return absl::OkStatus();
}

absl::Status PeerCredit::OnPeerWaits(const CreditChange& want) {
  absl::Status taken = in_.OnWaits(want);
  if (absl::IsInvalidArgument(taken)) return taken;
  if (!taken.ok()) {
    told_.push_back({.kind = CreditChange::Kind::kRefuse,
                     .to = want.to,
                     .mailbox = want.mailbox,
                     .want = want.want,
                     .status = std::move(taken)});
    return absl::OkStatus();
  }
  EnterLines();
  return absl::OkStatus();
}

void PeerCredit::OnPeerGaveUp(const CreditChange& change) {
  const absl::optional<CreditReceiver::Waiting> gave_up = in_.OnGaveUp(change);
  if (!gave_up.has_value()) return;
  told_.push_back({.kind = CreditChange::Kind::kRefuse,
                   .to = gave_up->to.first,
                   .mailbox = gave_up->to.second,
                   .want = change.want,
                   .status = MakeError(ErrorKind::kCancelled, "it gave up")});
  if (gave_up->is_in_line) {
    work_.emplace_back(LineChange{.kind = LineChange::Kind::kLeaves, .wait = WaitOf(*gave_up)});
  }
  EnterLines();
}

void PeerCredit::EnterLines() {
  for (const CreditReceiver::Waiting& entering : in_.TakeEntering()) {
    work_.emplace_back(LineChange{.kind = LineChange::Kind::kEnters, .wait = WaitOf(entering)});
  }
}

// ---- What the system says, and what is due ----

void PeerCredit::OnTurn(const RoomWait& wait, const absl::Status& status, MonotonicTime now) {
  absl::optional<CreditChange> told = in_.OnTurn(wait.want, status, now);
  if (told.has_value()) {
    told_.push_back(*std::move(told));
  } else if (status.ok()) {
    work_.emplace_back(RoomReturn{.room = wait.room});
  }
}

void PeerCredit::AskBack(const MailboxAddress& to, Backlog backlog) {
  if (backlog == Backlog::kLarge) return;
  absl::optional<CreditChange> change = in_.AskBack(to);
  if (change.has_value()) told_.push_back(*std::move(change));
}

void PeerCredit::Schedule(MonotonicTime now) {
  EnterLines();
  if (in_.is_urgent() && !std::exchange(is_reserving_, true)) {
    work_.emplace_back(ReserveDue{});
  } else if (in_.is_due() && due_at_.is_infinite()) {
    due_at_ = now + delay_;
  }
  if (in_.needs_look() && look_at_.is_infinite()) look_at_ = now + kCreditIdle;
}

void PeerCredit::Tick(MonotonicTime now, Backlog backlog) {
  if (look_at_ <= now) {
    look_at_ = MonotonicTime::InfiniteFuture();
    if (backlog == Backlog::kSmall) {
      std::vector<CreditChange> asked = in_.Look(now);
      told_.insert(told_.end(), std::make_move_iterator(asked.begin()), std::make_move_iterator(asked.end()));
    }
    Schedule(now);
  }
  if (due_at_ <= now) {
    due_at_ = MonotonicTime::InfiniteFuture();
    if (!std::exchange(is_reserving_, true)) work_.emplace_back(ReserveDue{});
  }
}

std::vector<RoomRequest> PeerCredit::TakeDue(MonotonicTime now, Backlog backlog) {
  is_reserving_ = false;
  std::vector<RoomRequest> requests;
  if (backlog == Backlog::kLarge) {
    due_at_ = now + delay_;
    return requests;
  }
  for (const auto& [mailbox, amount] : in_.TakeDue()) requests.push_back(RequestOf(mailbox, amount));
  return requests;
}

void PeerCredit::OnReserved(const RoomRequest& request, const ReservedRoom& reserved) {
  const MailboxAddress mailbox(request.to, request.mailbox);
  absl::optional<CreditChange> grant = in_.OnReserved(mailbox, reserved);
  if (grant.has_value()) told_.push_back(*std::move(grant));
  absl::optional<CreditChange> in_the_way = in_.AskBackIfShort(mailbox);
  if (in_the_way.has_value()) told_.push_back(*std::move(in_the_way));
}

RoomRequest PeerCredit::RequestOf(const MailboxAddress& to, const RoomAmount& amount) const {
  return {.node = place_, .to = to.first, .mailbox = to.second, .amount = amount};
}

RoomWait PeerCredit::WaitOf(const CreditReceiver::Waiting& sender) const {
  return {
      .room = RequestOf(sender.to, {.messages = 1, .bytes = sender.bytes}), .session = session_, .want = sender.want};
}

}  // namespace understudy::internal
