// CreditSender: the sending end's account of credit in one session: what this
// node may send to the mailboxes of the peer (credit.h).
//
// A state machine without a lock or a clock. Its caller reports what is sent and
// what the peer says; its functions return what may be sent and what to tell the
// peer. It also keeps the senders that wait for room. Each has a number, from its
// want until the peer refuses it, or until it has used or given up the room that the
// peer granted it.
#ifndef UNDERSTUDY_TRANSPORT_CORE_CREDIT_SENDER_H_
#define UNDERSTUDY_TRANSPORT_CORE_CREDIT_SENDER_H_

#include <cstddef>
#include <cstdint>
#include <map>
#include <string>
#include <utility>
#include <vector>

#include "absl/status/status.h"
#include "absl/status/statusor.h"
#include "absl/types/optional.h"
#include "understudy/actors/pid.h"
#include "understudy/actors/room.h"
#include "understudy/transport/codec/credit.h"
#include "understudy/transport/core/allowances.h"

namespace understudy {

class CreditSender {
 public:
  explicit CreditSender(const CreditTerms& terms = kCreditTerms) : terms_(terms) {}

  // Returns the kind of credit that a message of `bytes` bytes would use, or nothing
  // if there is no credit for it.
  absl::optional<Admission> Find(const MailboxAddress& to, int64_t bytes) const;
  // A message was sent and uses `admission`, which Find returned.
  void OnSent(const MailboxAddress& to, int64_t bytes, Admission admission);
  // A message found no credit. Returns true if the caller is to tell the peer (kWant
  // without a number). Returns false while the peer has not answered an earlier want
  // for this mailbox, and if the mailbox would need an account beyond
  // limits::kCreditAccountsMax.
  bool Asks(const MailboxAddress& to);

  // The peer sent a kGrant without a number. Returns InvalidArgument (a bad frame) if
  // it gives back allowance that is not in use, or grants more than kGrantedMax,
  // kGrantedInAllMax or limits::kMailboxesWithGrantsMax allow.
  absl::Status OnGrant(const CreditChange& grant);
  // The peer sent a kTakeBack. Returns the unused room to return to it, which may be
  // zero, and takes that room off the account.
  RoomAmount OnTakeBack(const CreditChange& request);

  // ---- Senders that wait ----

  // A sender, and the number of the wait by which it is answered.
  using Waiter = std::pair<Pid, uint64_t>;

  // `waiter` begins to wait for room for a message of `bytes` bytes. Returns the kWant
  // to send to the peer; or nothing, and `waiter` does not wait, if
  // limits::kWantsPerSessionMax are in use. Requires that `waiter` does not wait yet.
  absl::optional<CreditChange> Wants(const MailboxAddress& to, int64_t bytes, const Waiter& waiter);
  // Whether a sender waits for room in that mailbox; another one that is willing to
  // wait must then wait too, so as not to overtake it.
  bool IsAwaited(const MailboxAddress& to) const;
  // The peer sent a kGrant or kRefuse with a number. Returns the waiter that it
  // answers; or, if that waiter gave up, what to tell the peer. Returns
  // InvalidArgument (a bad frame) if no want with that number is unanswered, or if the
  // answer is for another mailbox or amount than was asked for.
  struct WantAnswered {
    absl::optional<Waiter> waiter;      // none: it gave up
    absl::optional<CreditChange> told;  // returns the room that a waiter that gave up was granted
  };
  absl::StatusOr<WantAnswered> OnWantAnswered(const CreditChange& answer);
  // Whether the peer granted `waiter` room that it has neither used nor given up.
  bool HasRoom(const Waiter& waiter) const;
  // The message of `waiter` was sent into the room that it was granted. Requires HasRoom.
  void OnSentInRoom(const Waiter& waiter);
  // `waiter` stops waiting, or will not use the room that it was granted. Returns what
  // to tell the peer; or nothing if it neither waits nor has room.
  absl::optional<CreditChange> GiveUp(const Waiter& waiter);
  // The session is over. Returns the waiters that have no answer, each with the
  // mailbox to which it would send, and resets all accounts.
  std::vector<std::pair<Waiter, MailboxAddress>> End();

  // Numbers in use.
  size_t wants() const { return wants_.size(); }

  // ---- Observers ----

  // The number of accounts. A mailbox never sent to has none, nor has one whose account is as new.
  size_t mailboxes() const { return accounts_.size(); }
  // Room that is granted and not used.
  RoomAmount granted() const { return granted_; }
  // Allowance that is in use.
  RoomAmount allowance_in_use() const { return in_use_.amount(); }
  // Every account, for traces: equal texts are equal states.
  std::string ToString() const;

 private:
  struct Account {
    RoomAmount allowance;  // left; bytes may be below 0 after a large message
    RoomAmount granted;
    bool is_asked = false;
    int64_t waiting = 0;  // senders without an answer
  };
  // A sender that waits for the peer's answer, or has room that it has not used, or
  // gave up before the peer answered.
  struct Want {
    enum class Stage : uint8_t { kWaits, kHasRoom, kGivenUp };
    MailboxAddress to;
    int64_t bytes = 0;
    Waiter waiter;
    Stage stage = Stage::kWaits;
  };
  using Accounts = std::map<MailboxAddress, Account>;

  Accounts::iterator FindOrOpen(const MailboxAddress& to) {
    return accounts_.try_emplace(to, Account{.allowance = terms_.first_allowance}).first;
  }
  void EraseIfUnused(Accounts::iterator account);
  // Updates with_grants_ after the granted room of `account` changed from `before`.
  void CountGrants(const RoomAmount& before, const Account& account);
  void EndWaiting(const MailboxAddress& to);

  CreditTerms terms_;
  Accounts accounts_;
  RoomAmount granted_;
  size_t with_grants_ = 0;  // accounts with granted room
  AllowancesInUse in_use_{terms_};
  std::map<uint64_t, Want> wants_;
  std::map<Waiter, uint64_t> waiters_;  // the senders that wait or have room
  uint64_t last_want_ = 0;
};

}  // namespace understudy

#endif  // UNDERSTUDY_TRANSPORT_CORE_CREDIT_SENDER_H_
