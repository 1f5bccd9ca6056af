// CreditReceiver: the receiving end's account of credit in one session: what the
// peer may send to mailboxes here (credit.h), and when it is given more.
//
// A state machine without a lock or a clock. Its caller reports which messages
// arrive and leave their mailboxes, what the peer asks for and how much room a
// reservation got; its functions return what to reserve, what to give back to a
// mailbox and what to tell the peer.
//
// How a window grows. A window is the number of messages for which the peer has
// granted room in one mailbox, used or not. A mailbox gets a window when the peer
// has used up its credit there: no granted room is left and half of the allowance is
// used, or the peer says so (kWant). The window doubles each time it is used up
// again, and each time half of it has left the mailbox before room was reserved
// anew, as far as the mailbox has room and up to the node's fair share (RemoteRoom).
// When messages leave the mailbox, room is reserved anew up to the window. This is
// delayed, so that several changes travel together, but done at once when half of
// the window has left, when half of the messages in a mailbox without a window have
// left, when the peer has no credit for a message of the usual size, or when a
// quarter of the session's allowances is to be given back. While senders wait in line
// for room in a mailbox, its room is granted only to them, in their order: the
// window does not grow, and no allowance is given back.
//
// The messages of the peer's senders in a mailbox's line count against the bytes
// that a peer may have in one mailbox as if they were there already. At that bound
// further senders wait in this object, in the order in which they came, and enter
// the line when there are bytes again.
//
// Guarantees. The peer is never granted more than was reserved in the mailbox.
// OnArrived returns false for a message for which the peer has no credit. End returns
// all room that is reserved and unused, once.
#ifndef UNDERSTUDY_TRANSPORT_CORE_CREDIT_RECEIVER_H_
#define UNDERSTUDY_TRANSPORT_CORE_CREDIT_RECEIVER_H_

#include <cstddef>
#include <cstdint>
#include <map>
#include <set>
#include <string>
#include <utility>
#include <vector>

#include "absl/status/status.h"
#include "absl/types/optional.h"
#include "understudy/actors/clock.h"
#include "understudy/actors/room.h"
#include "understudy/transport/codec/credit.h"
#include "understudy/transport/core/allowances.h"

namespace understudy {

class CreditReceiver {
 public:
  explicit CreditReceiver(const CreditTerms& terms = kCreditTerms) : terms_(terms) {}

  // A message of `bytes` bytes arrived that uses credit of the kind `admission`.
  // Returns false if the peer has no such credit, so that the frame is bad.
  [[nodiscard]] bool OnArrived(const MailboxAddress& to, int64_t bytes, Admission admission, MonotonicTime now);
  // `amount` of messages left their mailbox, or were refused at their arrival.
  // Messages that an earlier session brought are not counted. `amount.bytes` is -1 if
  // the bytes are not known; the average of the messages in the mailbox is used then.
  void OnReleased(const MailboxAddress& to, Admission admission, const RoomAmount& amount);
  // The peer sent a kWant without a number: one of its senders found no credit for a
  // message of `bytes` bytes, and does not wait. Returns InvalidArgument (a bad frame)
  // if `bytes` exceeds limits::kMessageBytesMax, or if limits::kCreditAccountsMax other
  // mailboxes wait for an answer: CreditSender::Asks asks for no more.
  absl::Status OnWanted(const MailboxAddress& to, int64_t bytes, MonotonicTime now);
  // The peer sent a kReturn without a number: it returns granted room, which the
  // caller gives back to the mailbox. Returns InvalidArgument (a bad frame) if the
  // peer returns more than it has.
  absl::Status OnReturned(const CreditChange& change);

  // ---- Senders of the peer that wait ----

  struct Waiting {
    uint64_t want = 0;  // the peer's number for this sender
    MailboxAddress to;
    int64_t bytes = 0;
    uint64_t place = 0;       // the order of arrival
    bool is_in_line = false;  // in the mailbox's line; false: it waits in this object
  };
  // The peer sent a kWant with a number: one of its senders waits for room. Returns
  // OK if the sender waits; TakeEntering then returns it when it is to enter the
  // mailbox's line. Returns Full if too many wait; the caller tells the peer (kRefuse).
  // Returns InvalidArgument (a bad frame) for a number in use, or for more bytes than
  // limits::kMessageBytesMax.
  absl::Status OnWaits(const CreditChange& want);
  // Returns the senders that are to enter the lines of their mailboxes now. Call
  // after each OnReleased, OnReturned, OnWaits, OnGaveUp and OnTurn, any of which may
  // let senders enter, before the next call of this object.
  std::vector<Waiting> TakeEntering() { return std::exchange(entering_, {}); }
  // The peer sent a kReturn with a number: the sender does not wait any more. Returns
  // the sender, which the caller removes from the mailbox's line if it is there; or
  // nothing if the sender was answered already and the answer crossed this kReturn.
  absl::optional<Waiting> OnGaveUp(const CreditChange& change);
  // The mailbox's line answered the sender: `status` is OK if room for its message is
  // reserved, else it says why none will be. Returns what to tell the peer; or nothing
  // if the sender gave up or belongs to an earlier session, and then the caller gives
  // the reserved room back.
  absl::optional<CreditChange> OnTurn(uint64_t want, const absl::Status& status, MonotonicTime now);
  // The senders that wait, in lines or in this object, by their numbers.
  std::vector<Waiting> waiting() const;

  // ---- What to do ----

  // is_due: TakeDue is to be called, after a delay if it is not urgent. is_urgent: at once.
  bool is_urgent() const { return is_urgent_; }
  bool is_due() const { return !due_.empty(); }
  // Returns the mailboxes that are due, each with the amount to reserve there, which
  // may be zero. Call OnReserved for each of them with what the mailbox gave; it
  // returns what to tell the peer, if anything.
  std::vector<std::pair<MailboxAddress, RoomAmount>> TakeDue();
  absl::optional<CreditChange> OnReserved(const MailboxAddress& to, const ReservedRoom& reserved);
  // Call after OnReserved, and tell the peer the change of OnReserved first. If the peer wanted room for a message and
  // the reservation was too small for it, returns a request that the peer return its unused room in this mailbox,
  // because the message may need more than the node's fair share, or an empty mailbox. The peer must want room for the
  // message again to get it.
  absl::optional<CreditChange> AskBackIfShort(const MailboxAddress& to);

  // Other senders want the room that the peer has in this mailbox. Returns a request
  // that the peer return it, or nothing if the peer has none unused or was asked already.
  absl::optional<CreditChange> AskBack(const MailboxAddress& to);
  // Call Look every kCreditIdle while needs_look(). It asks the peer to return room
  // that was not used for that long, and makes mailboxes due again whose allowance is
  // withheld. Returns what to tell the peer.
  bool needs_look() const { return !granted_.empty() || !withheld_.empty(); }
  std::vector<CreditChange> Look(MonotonicTime now);

  // The session is over. Returns the room that is reserved and unused, and resets all accounts.
  std::vector<std::pair<MailboxAddress, RoomAmount>> End();

  // Mailboxes with an account.
  size_t mailboxes() const { return accounts_.size(); }
  // Room that is granted and not used.
  RoomAmount granted() const;
  RoomAmount allowance_in_use() const { return in_use_.amount(); }
  // Every account, for traces: equal texts are equal states, but for times.
  std::string ToString() const;

 private:
  struct Account {
    // The allowance in three parts, which are together CreditTerms::first_allowance: what the peer may still use
    // (allowance); what waits in the mailbox (held_beside); and what has left the mailbox, but is not yet given back to
    // the peer (owed).
    RoomAmount allowance;
    RoomAmount held_beside;
    RoomAmount owed;
    // Granted room in two parts: what the peer has not used (granted), and what waits in the mailbox (held).
    RoomAmount granted;
    RoomAmount held;
    int64_t window = 0;                        // the messages that granted and held should add up to
    int64_t bytes_each = 0;                    // moving average of the bytes of a message
    RoomAmount wanted;                         // by a message that found no credit
    int64_t left_messages = 0;                 // messages that left the mailbox since TakeDue
    RoomAmount in_line;                        // what the peer's senders in the line wait for
    std::map<uint64_t, uint64_t> before_line;  // senders that wait in this object: place to number
    bool is_used_up = false;
    bool is_asked = false;       // the peer waits for an answer
    bool is_asked_back = false;  // for its unused room, and has not returned it
    bool is_reserving = false;   // TakeDue without OnReserved
    bool is_short = false;       // OnReserved left what was wanted without enough
    MonotonicTime used;          // when the peer last used or wanted credit
  };
  using Accounts = std::map<MailboxAddress, Account>;

  Account& FindOrOpen(const MailboxAddress& to) {
    return accounts_.try_emplace(to, Account{.allowance = terms_.first_allowance}).first->second;
  }
  void SetUsedUp(const MailboxAddress& to, Account& account);
  void NoteGranted(const MailboxAddress& to, const Account& account);
  void EraseIfUnused(Accounts::iterator account);
  Accounts::iterator StopWaiting(std::map<uint64_t, Waiting>::iterator waiting);
  // Lets the senders that wait in this object enter the mailbox's line, in order, while the bytes of the peer's
  // messages stay within the bound for one mailbox.
  void EnterLine(Account& account);

  CreditTerms terms_;
  Accounts accounts_;
  std::map<uint64_t, Waiting> waiting_;  // by the peer's number
  uint64_t last_place_ = 0;
  std::vector<Waiting> entering_;
  std::set<MailboxAddress> due_;
  std::set<MailboxAddress> granted_;   // have granted room that is not used
  std::set<MailboxAddress> withheld_;  // get no allowance back until no sender waits in line
  AllowancesInUse in_use_{terms_};
  RoomAmount owed_;   // of all accounts
  size_t asked_ = 0;  // accounts with is_asked
  bool is_urgent_ = false;
};

}  // namespace understudy

#endif  // UNDERSTUDY_TRANSPORT_CORE_CREDIT_RECEIVER_H_
