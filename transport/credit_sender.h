// CreditSender: the sending end's account of credit in one session: what this
// node may send to the mailboxes of the peer (credit.h).
//
// A plain state machine: it is told what is sent and what the peer says, and
// answers what may be sent and what the peer is to be told.
#ifndef UNDERSTUDY_TRANSPORT_CREDIT_SENDER_H_
#define UNDERSTUDY_TRANSPORT_CREDIT_SENDER_H_

#include <cstddef>
#include <cstdint>
#include <map>
#include <string>

#include "absl/status/status.h"
#include "absl/types/optional.h"
#include "understudy/actors/room.h"
#include "understudy/transport/credit.h"

namespace understudy {

class CreditSender {
 public:
  explicit CreditSender(const CreditTerms& terms = kCreditTerms) : terms_(terms) {}

  // What a message of that many bytes would use, or nothing: there is no credit.
  absl::optional<Admission> Find(const MailboxAddress& to, int64_t bytes) const;
  // It was sent, and uses that.
  void OnSent(const MailboxAddress& to, int64_t bytes, Admission admission);
  // A message found no credit: true when the peer is to be told (kWant without a
  // number). False while it has not answered an earlier one.
  bool Asks(const MailboxAddress& to);

  // kGrant. InvalidArgument when it gives back allowance that is not in use, or
  // more than can be: a bad frame.
  absl::Status OnGrant(const CreditChange& grant);
  // kTakeBack: what is returned, perhaps nothing. It is gone from here.
  RoomAmount OnTakeBack(const CreditChange& request);

  // Mailboxes whose account is not as at first.
  size_t mailboxes() const { return accounts_.size(); }
  // Room that is granted and not used.
  RoomAmount granted() const { return granted_; }
  // Allowance that is in use.
  RoomAmount allowance_in_use() const { return in_use_; }
  // Every account, for traces: equal texts are equal states.
  std::string ToString() const;

 private:
  struct Account {
    RoomAmount allowance;  // left; bytes may be below 0 after a large message
    RoomAmount granted;
    bool is_asked = false;
  };
  using Accounts = std::map<MailboxAddress, Account>;

  Accounts::iterator FindOrOpen(const MailboxAddress& to) {
    return accounts_.try_emplace(to, Account{.allowance = terms_.first_allowance}).first;
  }
  void EraseIfUnused(Accounts::iterator account);

  CreditTerms terms_;
  Accounts accounts_;
  RoomAmount granted_;
  RoomAmount in_use_;
};

// Whether the first allowance covers a message: `left` is what is left of it,
// `in_use` what all mailboxes of the session use. Both ends decide by this.
bool IsCoveredByAllowance(const CreditTerms& terms, const RoomAmount& left, const RoomAmount& in_use, int64_t bytes);

}  // namespace understudy

#endif  // UNDERSTUDY_TRANSPORT_CREDIT_SENDER_H_
