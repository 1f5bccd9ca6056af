#include "understudy/transport/credit_sender.h"

#include <algorithm>
#include <cstdint>
#include <map>
#include <string>

#include "absl/status/status.h"
#include "absl/strings/str_cat.h"
#include "absl/types/optional.h"
#include "understudy/actors/room.h"
#include "understudy/transport/credit.h"

namespace understudy {

bool IsCoveredByAllowance(const RoomAmount& left, const RoomAmount& in_use, int64_t bytes) {
  if (left.messages < 1 || in_use.messages >= kSessionAllowanceMax.messages) return false;
  if (in_use.bytes + bytes > kSessionAllowanceMax.bytes && in_use.bytes > 0) return false;
  return bytes <= left.bytes || left == kFirstAllowance;
}

absl::optional<Admission> CreditSender::Find(const MailboxAddress& to, int64_t bytes) const {
  const auto found = accounts_.find(to);
  const Account account = found == accounts_.end() ? Account() : found->second;
  if (account.granted.messages > 0 && account.granted.bytes >= bytes) return Admission::kReserved;
  if (IsCoveredByAllowance(account.allowance, in_use_, bytes)) return Admission::kAllowance;
  return absl::nullopt;
}

void CreditSender::OnSent(const MailboxAddress& to, int64_t bytes, Admission admission) {
  const RoomAmount used{.messages = 1, .bytes = bytes};
  const auto account = accounts_.try_emplace(to).first;
  if (admission == Admission::kReserved) {
    account->second.granted -= used;
    granted_ -= used;
    EraseIfUnused(account);
  } else {
    account->second.allowance -= used;
    in_use_ += used;
  }
}

bool CreditSender::Asks(const MailboxAddress& to) {
  bool& is_asked = accounts_[to].is_asked;
  if (is_asked) return false;
  is_asked = true;
  return true;
}

absl::Status CreditSender::OnGrant(const CreditChange& grant) {
  const auto account = accounts_.try_emplace({grant.to, grant.mailbox}).first;
  RoomAmount& allowance = account->second.allowance;
  RoomAmount& granted = account->second.granted;
  allowance += grant.allowance;
  if (allowance.messages > kFirstAllowance.messages || allowance.bytes > kFirstAllowance.bytes) {
    return absl::InvalidArgumentError(absl::StrCat("credit gives back an allowance of ", grant.allowance.messages,
                                                   " messages and ", grant.allowance.bytes,
                                                   " bytes, of which some is not in use"));
  }
  in_use_ -= grant.allowance;
  granted += grant.granted;
  if (granted.messages > kGrantedMax.messages || granted.bytes > kGrantedMax.bytes) {
    return absl::InvalidArgumentError(absl::StrCat("credit of ", granted.messages, " messages and ", granted.bytes,
                                                   " bytes for one mailbox is more than any has room for"));
  }
  granted_ += grant.granted;
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
  granted -= returned;
  granted_ -= returned;
  EraseIfUnused(account);
  return returned;
}

std::string CreditSender::ToString() const {
  std::string text;
  for (const auto& [to, account] : accounts_) {
    absl::StrAppend(&text, to.first.ToString(), "/", to.second, ": ", account.allowance.messages, " of ",
                    account.allowance.bytes, ", granted ", account.granted.messages, " of ", account.granted.bytes,
                    account.is_asked ? ", asked; " : "; ");
  }
  return text;
}

void CreditSender::EraseIfUnused(std::map<MailboxAddress, Account>::iterator account) {
  const Account& unused = account->second;
  if (unused.allowance == kFirstAllowance && unused.granted.is_zero() && !unused.is_asked) accounts_.erase(account);
}

}  // namespace understudy
