// CreditSender: the sending end's account of credit in one session: what this
// node may send to the mailboxes of the peer (credit.h).
//
// A plain state machine: it is told what is sent and what the peer says, and
// answers what may be sent and what the peer is to be told. It also has the
// senders that wait for room: each has a number, from its want until the peer's
// answer, or until it has used or given up the room that it was granted.
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

  // What a message of that many bytes would use, or nothing: there is no credit.
  absl::optional<Admission> Find(const MailboxAddress& to, int64_t bytes) const;
  // It was sent, and uses that.
  void OnSent(const MailboxAddress& to, int64_t bytes, Admission admission);
  // A message found no credit: true when the peer is to be told (kWant without a
  // number). False while it has not answered an earlier one, and when there are
  // limits::kCreditAccountsMax accounts.
  bool Asks(const MailboxAddress& to);

  // kGrant. InvalidArgument when it gives back allowance that is not in use, or
  // grants more than kGrantedMax, kGrantedInAllMax or limits::kMailboxesWithGrantsMax
  // allow: a bad frame.
  absl::Status OnGrant(const CreditChange& grant);
  // kTakeBack: what is returned, perhaps nothing. It is gone from here.
  RoomAmount OnTakeBack(const CreditChange& request);

  // ---- Senders that wait ----

  // A sender and an ask of its own, which is answered.
  using Waiter = std::pair<Pid, uint64_t>;

  // A new want for a message of so many bytes: what the peer is told. Nothing
  // when there are limits::kWantsPerSessionMax. `waiter` does not wait yet.
  absl::optional<CreditChange> Wants(const MailboxAddress& to, int64_t bytes, const Waiter& waiter);
  // A sender waits for room there: others that would wait are not to overtake it.
  bool IsAwaited(const MailboxAddress& to) const;
  // kGrant or kRefuse with a number: whom it is for, or that it is for nobody any
  // more and what the peer is told. InvalidArgument for a number that is not in
  // use, or another amount than was asked for: a bad frame.
  struct WantAnswered {
    absl::optional<Waiter> waiter;
    absl::optional<CreditChange> told;
  };
  absl::StatusOr<WantAnswered> OnWantAnswered(const CreditChange& answer);
  // Room was granted for it, and it has neither used nor given it up.
  bool HasRoom(const Waiter& waiter) const;
  // Its message was sent into that room. Requires HasRoom.
  void OnSentInRoom(const Waiter& waiter);
  // It waits no more, or does not use its room: what the peer is told.
  absl::optional<CreditChange> GiveUp(const Waiter& waiter);
  // The session is over: those that wait without an answer, and where they would
  // send. Leaves nothing behind.
  std::vector<std::pair<Waiter, MailboxAddress>> End();

  // Numbers in use.
  size_t wants() const { return wants_.size(); }

  // ---- Observers ----

  // Mailboxes whose account is not as at first.
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
  // One that waits, or has room, or gave up and is not answered.
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
  // Granted room that the account had `before` has changed.
  void CountGrants(const RoomAmount& before, const Account& account);
  void EndWaiting(const MailboxAddress& to);

  CreditTerms terms_;
  Accounts accounts_;
  RoomAmount granted_;
  size_t with_grants_ = 0;  // accounts with granted room
  AllowancesInUse in_use_{terms_};
  std::map<uint64_t, Want> wants_;
  std::map<Waiter, uint64_t> waiters_;  // those that wait or have room
  uint64_t last_want_ = 0;
};

}  // namespace understudy

#endif  // UNDERSTUDY_TRANSPORT_CORE_CREDIT_SENDER_H_
