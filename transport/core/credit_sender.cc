#include "understudy/transport/core/credit_sender.h"

#include <algorithm>
#include <cstdint>
#include <map>
#include <string>
#include <utility>
#include <vector>

#include "absl/status/status.h"
#include "absl/status/statusor.h"
#include "absl/strings/str_cat.h"
#include "absl/types/optional.h"
#include "understudy/actors/room.h"
#include "understudy/transport/codec/credit.h"
#include "understudy/transport/limits.h"

namespace understudy {

absl::optional<Admission> CreditSender::Find(const MailboxAddress& to, int64_t bytes) const {
  const auto found = accounts_.find(to);
  const Account unused{.allowance = terms_.first_allowance};
  const Account& account = found == accounts_.end() ? unused : found->second;
  if (account.granted.CoversMessage(bytes)) return Admission::kReserved;
  if (in_use_.Covers(account.allowance, bytes)) return Admission::kAllowance;
  return absl::nullopt;
}

void CreditSender::CountGrants(const RoomAmount& before, const Account& account) {
  if (before.is_zero() && !account.granted.is_zero()) ++with_grants_;
  if (!before.is_zero() && account.granted.is_zero()) --with_grants_;
}

void CreditSender::OnSent(const MailboxAddress& to, int64_t bytes, Admission admission) {
  const RoomAmount used{.messages = 1, .bytes = bytes};
  const auto account = FindOrOpen(to);
  if (admission == Admission::kReserved) {
    const RoomAmount before = account->second.granted;
    account->second.granted -= used;
    granted_ -= used;
    CountGrants(before, account->second);
    EraseIfUnused(account);
  } else {
    const RoomAmount before = account->second.allowance;
    account->second.allowance -= used;
    in_use_.Change(before, account->second.allowance);
  }
}

bool CreditSender::Asks(const MailboxAddress& to) {
  if (accounts_.size() >= limits::kCreditAccountsMax && !accounts_.contains(to)) return false;
  bool& is_asked = FindOrOpen(to)->second.is_asked;
  if (is_asked) return false;
  is_asked = true;
  return true;
}

absl::Status CreditSender::OnGrant(const CreditChange& grant) {
  const auto account = FindOrOpen({grant.to, grant.mailbox});
  RoomAmount& allowance = account->second.allowance;
  RoomAmount& granted = account->second.granted;
  const RoomAmount before = allowance;
  allowance += grant.allowance;
  if (allowance.messages > terms_.first_allowance.messages || allowance.bytes > terms_.first_allowance.bytes) {
    return absl::InvalidArgumentError(absl::StrCat("credit gives back an allowance of ", grant.allowance.messages,
                                                   " messages and ", grant.allowance.bytes,
                                                   " bytes, of which some is not in use"));
  }
  in_use_.Change(before, allowance);
  const RoomAmount granted_before = granted;
  granted += grant.granted;
  if (granted.messages > kGrantedMax.messages || granted.bytes > kGrantedMax.bytes) {
    return absl::InvalidArgumentError(absl::StrCat("credit of ", granted.messages, " messages and ", granted.bytes,
                                                   " bytes for one mailbox is more than any has room for"));
  }
  granted_ += grant.granted;
  CountGrants(granted_before, account->second);
  if (granted_.messages > kGrantedInAllMax.messages || granted_.bytes > kGrantedInAllMax.bytes) {
    return absl::InvalidArgumentError(absl::StrCat("credit of ", granted_.messages, " messages and ", granted_.bytes,
                                                   " bytes is more than all mailboxes of a node have room for"));
  }
  if (with_grants_ > limits::kMailboxesWithGrantsMax) {
    return absl::InvalidArgumentError(absl::StrCat("credit for ", with_grants_, " mailboxes at once: at most ",
                                                   limits::kMailboxesWithGrantsMax, " are allowed"));
  }
  account->second.is_asked = false;
  EraseIfUnused(account);
  return absl::OkStatus();
}

RoomAmount CreditSender::OnTakeBack(const CreditChange& request) {
  const auto account = accounts_.find({request.to, request.mailbox});
  if (account == accounts_.end()) return {};
  RoomAmount& granted = account->second.granted;
  RoomAmount returned{.messages = std::min(granted.messages, request.granted.messages),
                      .bytes = std::min(granted.bytes, request.granted.bytes)};
  // Bytes without messages are of no use, nor are messages without bytes.
  if (returned.messages == granted.messages) returned.bytes = granted.bytes;
  const RoomAmount before = granted;
  granted -= returned;
  granted_ -= returned;
  CountGrants(before, account->second);
  EraseIfUnused(account);
  return returned;
}

absl::optional<CreditChange> CreditSender::Wants(const MailboxAddress& to, int64_t bytes, const Waiter& waiter) {
  if (wants_.size() >= limits::kWantsPerSessionMax) return absl::nullopt;
  const uint64_t number = ++last_want_;
  wants_.emplace(number, Want{.to = to, .bytes = bytes, .waiter = waiter});
  waiters_.emplace(waiter, number);
  ++FindOrOpen(to)->second.waiting;
  return CreditChange{.kind = CreditChange::Kind::kWant,
                      .to = to.first,
                      .mailbox = to.second,
                      .granted = {.messages = 1, .bytes = bytes},
                      .want = number};
}

bool CreditSender::IsAwaited(const MailboxAddress& to) const {
  const auto account = accounts_.find(to);
  return account != accounts_.end() && account->second.waiting > 0;
}

void CreditSender::EndWaiting(const MailboxAddress& to) {
  const auto account = accounts_.find(to);
  --account->second.waiting;
  EraseIfUnused(account);
}

absl::StatusOr<CreditSender::WantAnswered> CreditSender::OnWantAnswered(const CreditChange& answer) {
  const auto found = wants_.find(answer.want);
  if (found == wants_.end() || found->second.stage == Want::Stage::kHasRoom) {
    return absl::InvalidArgumentError(
        absl::StrCat("credit answers a sender with the number ", answer.want, ", which does not wait"));
  }
  Want& want = found->second;
  const MailboxAddress mailbox(answer.to, answer.mailbox);
  const RoomAmount amount{.messages = 1, .bytes = want.bytes};
  const bool is_grant = answer.kind == CreditChange::Kind::kGrant;
  if (mailbox != want.to || (is_grant && (answer.granted != amount || !answer.allowance.is_zero()))) {
    return absl::InvalidArgumentError(absl::StrCat("credit for the sender with the number ", answer.want, " is for ",
                                                   answer.granted.messages, " messages of ", answer.granted.bytes,
                                                   " bytes; it waits for one of ", want.bytes));
  }
  WantAnswered told;
  if (want.stage == Want::Stage::kGivenUp) {
    if (is_grant) {
      told.told = CreditChange{
          .kind = CreditChange::Kind::kReturn, .to = answer.to, .mailbox = answer.mailbox, .granted = amount};
    }
    wants_.erase(found);
    return told;
  }
  told.waiter = want.waiter;
  EndWaiting(want.to);
  if (is_grant) {
    want.stage = Want::Stage::kHasRoom;
    granted_ += amount;
  } else {
    waiters_.erase(want.waiter);
    wants_.erase(found);
  }
  return told;
}

bool CreditSender::HasRoom(const Waiter& waiter) const {
  const auto number = waiters_.find(waiter);
  return number != waiters_.end() && wants_.at(number->second).stage == Want::Stage::kHasRoom;
}

void CreditSender::OnSentInRoom(const Waiter& waiter) {
  const auto number = waiters_.find(waiter);
  const auto want = wants_.find(number->second);
  granted_ -= {.messages = 1, .bytes = want->second.bytes};
  wants_.erase(want);
  waiters_.erase(number);
}

absl::optional<CreditChange> CreditSender::GiveUp(const Waiter& waiter) {
  const auto number = waiters_.find(waiter);
  if (number == waiters_.end()) return absl::nullopt;
  const auto want = wants_.find(number->second);
  CreditChange told{
      .kind = CreditChange::Kind::kReturn, .to = want->second.to.first, .mailbox = want->second.to.second};
  waiters_.erase(number);
  if (want->second.stage == Want::Stage::kHasRoom) {
    told.granted = {.messages = 1, .bytes = want->second.bytes};
    granted_ -= told.granted;
    wants_.erase(want);
  } else {
    told.want = want->first;
    want->second.stage = Want::Stage::kGivenUp;
    EndWaiting(want->second.to);
  }
  return told;
}

std::vector<std::pair<CreditSender::Waiter, MailboxAddress>> CreditSender::End() {
  std::vector<std::pair<Waiter, MailboxAddress>> waiting;
  for (const auto& [number, want] : wants_) {
    if (want.stage == Want::Stage::kWaits) waiting.emplace_back(want.waiter, want.to);
  }
  *this = CreditSender(terms_);
  return waiting;
}

std::string CreditSender::ToString() const {
  std::string text;
  for (const auto& [to, account] : accounts_) {
    absl::StrAppend(&text, to.first.ToString(), "/", to.second, ": ", account.allowance.messages, " of ",
                    account.allowance.bytes, ", granted ", account.granted.messages, " of ", account.granted.bytes,
                    account.is_asked ? ", asked; " : "; ");
  }
  for (const auto& [number, want] : wants_) {
    absl::StrAppend(&text, "want ", number, " of ", want.bytes, " at stage ", static_cast<int>(want.stage), "; ");
  }
  return text;
}

void CreditSender::EraseIfUnused(Accounts::iterator account) {
  const Account& unused = account->second;
  if (unused.allowance == terms_.first_allowance && unused.granted.is_zero() && !unused.is_asked &&
      unused.waiting == 0) {
    accounts_.erase(account);
  }
}

}  // namespace understudy
