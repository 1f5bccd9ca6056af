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

bool IsCoveredByAllowance(const CreditTerms& terms, const RoomAmount& left, const RoomAmount& in_use, int64_t bytes) {
  if (left.messages < 1 || in_use.messages >= kSessionAllowanceMax.messages) return false;
  if (in_use.bytes + bytes > kSessionAllowanceMax.bytes && in_use.bytes > 0) return false;
  return bytes <= left.bytes || left == terms.first_allowance;
}

absl::optional<Admission> CreditSender::Find(const MailboxAddress& to, int64_t bytes) const {
  const auto found = accounts_.find(to);
  const Account unused{.allowance = terms_.first_allowance};
  const Account& account = found == accounts_.end() ? unused : found->second;
  if (account.granted.messages > 0 && account.granted.bytes >= bytes) return Admission::kReserved;
  if (IsCoveredByAllowance(terms_, account.allowance, in_use_, bytes)) return Admission::kAllowance;
  return absl::nullopt;
}

void CreditSender::OnSent(const MailboxAddress& to, int64_t bytes, Admission admission) {
  const RoomAmount used{.messages = 1, .bytes = bytes};
  const auto account = FindOrOpen(to);
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
  bool& is_asked = FindOrOpen(to)->second.is_asked;
  if (is_asked) return false;
  is_asked = true;
  return true;
}

absl::Status CreditSender::OnGrant(const CreditChange& grant) {
  const auto account = FindOrOpen({grant.to, grant.mailbox});
  RoomAmount& allowance = account->second.allowance;
  RoomAmount& granted = account->second.granted;
  allowance += grant.allowance;
  if (allowance.messages > terms_.first_allowance.messages || allowance.bytes > terms_.first_allowance.bytes) {
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

void CreditSender::EraseIfUnused(Accounts::iterator account) {
  const Account& unused = account->second;
  if (unused.allowance == terms_.first_allowance && unused.granted.is_zero() && !unused.is_asked) {
    accounts_.erase(account);
  }
}

}  // namespace understudy
