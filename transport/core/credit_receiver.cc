#include "understudy/transport/core/credit_receiver.h"

#include <algorithm>
#include <cstdint>
#include <string>
#include <utility>
#include <vector>

#include "absl/status/status.h"
#include "absl/strings/str_cat.h"
#include "absl/types/optional.h"
#include "understudy/actors/clock.h"
#include "understudy/actors/error.h"
#include "understudy/actors/fault_point.h"
#include "understudy/actors/room.h"
#include "understudy/transport/codec/credit.h"
#include "understudy/transport/limits.h"

namespace understudy {
namespace {

// Rules that tests leave out.
FaultPoint kIsGivenOut("credit_is_given_out_beside_the_line");
FaultPoint kIsForgotten("credit_that_was_withheld_is_forgotten");

// The most granted bytes, used and unused, that a peer has in one mailbox, even if the mailbox itself has no bound in
// bytes: as much as a network of 10 Gbit/s carries in 13 ms.
constexpr int64_t kWindowBytesMax = int64_t{16} << 20;

// Returns InvalidArgument if no message can have so many bytes.
absl::Status CheckWanted(int64_t bytes) {
  if (bytes <= static_cast<int64_t>(limits::kMessageBytesMax)) return absl::OkStatus();
  return absl::InvalidArgumentError(
      absl::StrCat("a sender wants room for ", bytes, " bytes; a message has at most ", limits::kMessageBytesMax));
}

}  // namespace

void CreditReceiver::SetUsedUp(const MailboxAddress& to, Account& account) {
  if (std::exchange(account.is_used_up, true)) return;
  due_.insert(to);
  is_urgent_ = true;
}

void CreditReceiver::NoteGranted(const MailboxAddress& to, const Account& account) {
  if (account.granted.is_zero()) {
    granted_.erase(to);
  } else {
    granted_.insert(to);
  }
}

void CreditReceiver::EraseIfUnused(Accounts::iterator account) {
  const Account& unused = account->second;
  if (unused.allowance != terms_.first_allowance || !unused.granted.is_zero() || !unused.held.is_zero() ||
      !unused.held_beside.is_zero() || !unused.owed.is_zero() || !unused.in_line.is_zero() ||
      !unused.before_line.empty() || unused.is_reserving || unused.is_asked || due_.contains(account->first)) {
    return;
  }
  withheld_.erase(account->first);
  accounts_.erase(account);
}

bool CreditReceiver::OnArrived(const MailboxAddress& to, int64_t bytes, Admission admission, MonotonicTime now) {
  Account& account = FindOrOpen(to);
  const RoomAmount used{.messages = 1, .bytes = bytes};
  if (admission == Admission::kReserved) {
    if (!account.granted.CoversMessage(bytes)) return false;
    account.granted -= used;
    account.held += used;
    NoteGranted(to, account);
  } else {
    if (!in_use_.Covers(account.allowance, bytes)) return false;
    const RoomAmount before = account.allowance;
    account.allowance -= used;
    account.held_beside += used;
    in_use_.Change(before, account.allowance);
  }
  account.used = now;
  account.bytes_each = account.bytes_each == 0 ? bytes : account.bytes_each + (bytes - account.bytes_each) / 8;
  const bool has_grants = account.granted.CoversMessage(account.bytes_each);
  const bool has_allowance = account.allowance.messages * 2 > terms_.first_allowance.messages &&
                             account.allowance.bytes * 2 > terms_.first_allowance.bytes;
  if (!has_grants && (account.window > 0 || !has_allowance)) SetUsedUp(to, account);
  return true;
}

void CreditReceiver::OnReleased(const MailboxAddress& to, Admission admission, const RoomAmount& amount) {
  const auto found = accounts_.find(to);
  if (found == accounts_.end()) return;
  Account& account = found->second;
  const bool is_beside = admission == Admission::kAllowance;
  RoomAmount& held = is_beside ? account.held_beside : account.held;
  RoomAmount left{.messages = std::min(amount.messages, held.messages)};
  if (left.messages < 1) return;  // an earlier session brought them
  if (left.messages == held.messages) {
    left.bytes = held.bytes;
  } else if (amount.bytes >= 0) {
    left.bytes = std::min(amount.bytes, held.bytes);
  } else {
    left.bytes = held.bytes / held.messages * left.messages;
  }
  held -= left;
  account.left_messages += left.messages;
  if (is_beside) {
    account.owed += left;
    owed_ += left;
  }
  EnterLine(account);
  due_.insert(to);
  bool half_has_left = false;
  if (account.window > 0) {
    const int64_t missing = account.window - account.granted.messages - account.held.messages;
    half_has_left = missing * 2 >= account.window;
    account.is_used_up = account.is_used_up || half_has_left;
  } else if (account.is_used_up) {  // the mailbox has had no room for a window
    half_has_left = account.left_messages >= account.held.messages + account.held_beside.messages;
  }
  const bool has_nothing =
      !account.granted.CoversMessage(account.bytes_each) && !account.allowance.CoversMessage(account.bytes_each);
  const bool owes_much =
      owed_.messages * 4 >= kSessionAllowanceMax.messages || owed_.bytes * 4 >= kSessionAllowanceMax.bytes;
  if (half_has_left || has_nothing || owes_much) is_urgent_ = true;
}

absl::Status CreditReceiver::OnWanted(const MailboxAddress& to, int64_t bytes, MonotonicTime now) {
  if (absl::Status checked = CheckWanted(bytes); !checked.ok()) return checked;
  const auto known = accounts_.find(to);
  const bool is_asked = known != accounts_.end() && known->second.is_asked;
  if (!is_asked && asked_ >= limits::kCreditAccountsMax) {
    return absl::InvalidArgumentError(absl::StrCat("a peer wants room in more than ", asked_, " mailboxes at once"));
  }
  Account& account = FindOrOpen(to);
  if (!std::exchange(account.is_asked, true)) ++asked_;
  account.is_used_up = true;
  account.wanted = {.messages = 1, .bytes = bytes};
  account.bytes_each = std::max(account.bytes_each, bytes);
  account.used = now;
  due_.insert(to);
  is_urgent_ = true;
  return absl::OkStatus();
}

absl::Status CreditReceiver::OnReturned(const CreditChange& change) {
  const auto account = accounts_.find({change.to, change.mailbox});
  const RoomAmount granted = account == accounts_.end() ? RoomAmount() : account->second.granted;
  if (change.granted.messages > granted.messages || change.granted.bytes > granted.bytes) {
    return absl::InvalidArgumentError(absl::StrCat("room for ", change.granted.messages, " messages and ",
                                                   change.granted.bytes,
                                                   " bytes is returned, of which some was never granted"));
  }
  if (account == accounts_.end()) return absl::OkStatus();
  account->second.granted -= change.granted;
  account->second.is_asked_back = false;
  account->second.window =
      std::min(account->second.window, account->second.granted.messages + account->second.held.messages);
  NoteGranted(account->first, account->second);
  EnterLine(account->second);
  EraseIfUnused(account);
  return absl::OkStatus();
}

absl::Status CreditReceiver::OnWaits(const CreditChange& want) {
  if (waiting_.contains(want.want)) {
    return absl::InvalidArgumentError(absl::StrCat("a second sender waits with the number ", want.want));
  }
  if (absl::Status checked = CheckWanted(want.granted.bytes); !checked.ok()) return checked;
  if (waiting_.size() >= limits::kWantsPerSessionMax) {
    return MakeError(ErrorKind::kFull, absl::StrCat(waiting_.size(), " senders of that node wait for room already"));
  }
  const MailboxAddress to(want.to, want.mailbox);
  const uint64_t place = ++last_place_;
  waiting_.emplace(want.want, Waiting{.want = want.want, .to = to, .bytes = want.granted.bytes, .place = place});
  Account& account = FindOrOpen(to);
  account.before_line.emplace(place, want.want);
  EnterLine(account);
  return absl::OkStatus();
}

void CreditReceiver::EnterLine(Account& account) {
  while (!account.before_line.empty()) {
    Waiting& next = waiting_.at(account.before_line.begin()->second);
    const int64_t bytes = account.granted.bytes + account.held.bytes + account.in_line.bytes;
    if (bytes > 0 && bytes + next.bytes > kWindowBytesMax) return;
    next.is_in_line = true;
    account.in_line += {.messages = 1, .bytes = next.bytes};
    account.before_line.erase(account.before_line.begin());
    entering_.push_back(next);
  }
}

CreditReceiver::Accounts::iterator CreditReceiver::StopWaiting(std::map<uint64_t, Waiting>::iterator waiting) {
  const Waiting& sender = waiting->second;
  const auto account = accounts_.find(sender.to);
  if (sender.is_in_line) {
    account->second.in_line -= {.messages = 1, .bytes = sender.bytes};
  } else {
    account->second.before_line.erase(sender.place);
  }
  waiting_.erase(waiting);
  return account;
}

absl::optional<CreditReceiver::Waiting> CreditReceiver::OnGaveUp(const CreditChange& change) {
  const auto waiting = waiting_.find(change.want);
  if (waiting == waiting_.end()) return absl::nullopt;
  const Waiting gave_up = waiting->second;
  const auto account = StopWaiting(waiting);
  EnterLine(account->second);
  EraseIfUnused(account);
  return gave_up;
}

absl::optional<CreditChange> CreditReceiver::OnTurn(uint64_t want, const absl::Status& status, MonotonicTime now) {
  const auto waiting = waiting_.find(want);
  if (waiting == waiting_.end()) return absl::nullopt;
  const MailboxAddress to = waiting->second.to;
  const int64_t bytes = waiting->second.bytes;
  CreditChange told{
      .kind = CreditChange::Kind::kRefuse, .to = to.first, .mailbox = to.second, .want = want, .status = status};
  const auto found = StopWaiting(waiting);
  if (!status.ok()) {
    EnterLine(found->second);
    EraseIfUnused(found);
    return told;
  }
  told.kind = CreditChange::Kind::kGrant;
  told.granted = {.messages = 1, .bytes = bytes};
  Account& account = found->second;
  account.granted += told.granted;
  account.used = now;
  account.bytes_each = std::max(account.bytes_each, bytes);
  NoteGranted(to, account);
  account.is_used_up = false;
  SetUsedUp(to, account);
  return told;
}

std::vector<CreditReceiver::Waiting> CreditReceiver::waiting() const {
  std::vector<Waiting> all;
  all.reserve(waiting_.size());
  for (const auto& [want, waiting] : waiting_) all.push_back(waiting);
  return all;
}

std::vector<std::pair<MailboxAddress, RoomAmount>> CreditReceiver::TakeDue() {
  std::vector<std::pair<MailboxAddress, RoomAmount>> wishes;
  is_urgent_ = false;
  size_t with_grants = granted_.size();
  for (const MailboxAddress& to : std::exchange(due_, {})) {
    const auto found = accounts_.find(to);
    if (found == accounts_.end()) continue;
    Account& account = found->second;
    if (account.is_reserving) {
      due_.insert(to);
      continue;
    }
    account.is_reserving = true;
    account.left_messages = 0;
    if (account.is_used_up) {
      account.window = std::clamp(account.window * 2, terms_.first_window_messages, kWindowMessagesMax);
    }
    RoomAmount wish{.messages = account.window - account.granted.messages - account.held.messages,
                    .bytes = account.window * account.bytes_each - account.granted.bytes - account.held.bytes};
    wish.messages = std::max({wish.messages, account.wanted.messages - account.granted.messages, int64_t{0}});
    wish.bytes = std::max({wish.bytes, account.wanted.bytes - account.granted.bytes, int64_t{0}});
    // Room for messages needs room for their bytes. The bytes in one mailbox are bounded by kWindowBytesMax, except
    // that a mailbox where the peer has none yet may get one larger message.
    if (wish.messages > 0) wish.bytes = std::max(wish.bytes, wish.messages * account.bytes_each);
    const int64_t in_use_bytes = account.granted.bytes + account.held.bytes;
    const int64_t most = in_use_bytes == 0 ? std::max(kWindowBytesMax, account.wanted.bytes)
                                           : std::max(int64_t{0}, kWindowBytesMax - in_use_bytes);
    if (wish.bytes > most) {
      wish.bytes = most;
      wish.messages = std::min(wish.messages, most / std::max(int64_t{1}, account.bytes_each));
    }
    // Reserve nothing that could not be used: less than the wanted message needs, or bytes without a message.
    if (account.granted.bytes + wish.bytes < account.wanted.bytes || account.granted.messages + wish.messages == 0) {
      wish = {};
    }
    // Senders wait in this object for the bytes that become free, so the window must not take them.
    if (!account.before_line.empty()) wish = {};
    if (account.granted.is_zero() && !wish.is_zero()) {
      if (with_grants >= limits::kMailboxesWithGrantsMax) {
        wish = {};
      } else {
        ++with_grants;
      }
    }
    wishes.emplace_back(to, wish);
  }
  return wishes;
}

absl::optional<CreditChange> CreditReceiver::OnReserved(const MailboxAddress& to, const ReservedRoom& reserved) {
  const auto found = accounts_.find(to);
  if (found == accounts_.end()) return absl::nullopt;
  Account& account = found->second;
  account.is_reserving = false;
  const RoomAmount wanted = std::exchange(account.wanted, {});
  CreditChange grant{.kind = CreditChange::Kind::kGrant, .to = to.first, .mailbox = to.second};
  if (reserved.is_awaited && !kIsGivenOut.armed()) {
    if (!kIsForgotten.armed()) withheld_.insert(to);
  } else {
    withheld_.erase(to);
    grant.granted = reserved.amount;
    grant.allowance = std::exchange(account.owed, {});
    owed_ -= grant.allowance;
    account.granted += grant.granted;
    const RoomAmount before = account.allowance;
    account.allowance += grant.allowance;
    in_use_.Change(before, account.allowance);
    if (!grant.granted.is_zero()) account.is_used_up = false;
  }
  account.is_short = !wanted.is_zero() && !account.granted.CoversMessage(wanted.bytes);
  account.window = std::min(account.window, account.granted.messages + account.held.messages);
  NoteGranted(to, account);
  const bool was_asked = std::exchange(account.is_asked, false);
  if (was_asked) --asked_;
  const bool is_told = was_asked || !grant.granted.is_zero() || !grant.allowance.is_zero();
  EraseIfUnused(found);
  if (!is_told) return absl::nullopt;
  return grant;
}

absl::optional<CreditChange> CreditReceiver::AskBackIfShort(const MailboxAddress& to) {
  const auto account = accounts_.find(to);
  return account != accounts_.end() && account->second.is_short ? AskBack(to) : absl::nullopt;
}

absl::optional<CreditChange> CreditReceiver::AskBack(const MailboxAddress& to) {
  const auto account = accounts_.find(to);
  if (account == accounts_.end() || account->second.granted.is_zero()) return absl::nullopt;
  if (std::exchange(account->second.is_asked_back, true)) return absl::nullopt;
  return CreditChange{
      .kind = CreditChange::Kind::kTakeBack, .to = to.first, .mailbox = to.second, .granted = account->second.granted};
}

std::vector<CreditChange> CreditReceiver::Look(MonotonicTime now) {
  std::vector<CreditChange> told;
  for (const MailboxAddress& to : granted_) {
    if (now - accounts_.at(to).used < kCreditIdle) continue;
    if (absl::optional<CreditChange> change = AskBack(to); change.has_value()) told.push_back(*std::move(change));
  }
  for (const MailboxAddress& to : withheld_) {
    if (!accounts_.contains(to)) continue;
    due_.insert(to);
    is_urgent_ = true;
  }
  return told;
}

std::vector<std::pair<MailboxAddress, RoomAmount>> CreditReceiver::End() {
  std::vector<std::pair<MailboxAddress, RoomAmount>> unused;
  unused.reserve(granted_.size());
  for (const MailboxAddress& to : granted_) unused.emplace_back(to, accounts_.at(to).granted);
  *this = CreditReceiver(terms_);
  return unused;
}

std::string CreditReceiver::ToString() const {
  std::string text(is_urgent_ ? "urgent; " : "");
  const auto add = [&](const char* name, const RoomAmount& amount) {
    absl::StrAppend(&text, name, amount.messages, " of ", amount.bytes);
  };
  for (const auto& [to, account] : accounts_) {
    absl::StrAppend(&text, to.first.ToString(), "/", to.second);
    add(": ", account.allowance);
    add(", beside ", account.held_beside);
    add(", owed ", account.owed);
    add(", granted ", account.granted);
    add(", held ", account.held);
    absl::StrAppend(&text, ", left ", account.left_messages);
    add(", wanted ", account.wanted);
    add(", in line ", account.in_line);
    if (!account.before_line.empty()) absl::StrAppend(&text, ", before it ", account.before_line.size());
    absl::StrAppend(&text, ", window ", account.window, " of ", account.bytes_each,
                    account.is_used_up ? ", used up" : "", account.is_asked ? ", asked" : "",
                    account.is_asked_back ? ", asked back" : "", account.is_reserving ? ", reserving" : "",
                    due_.contains(to) ? ", due" : "", withheld_.contains(to) ? ", withheld; " : "; ");
  }
  return text;
}

RoomAmount CreditReceiver::granted() const {
  RoomAmount sum;
  for (const MailboxAddress& to : granted_) sum += accounts_.at(to).granted;
  return sum;
}

}  // namespace understudy
