// CreditReceiver: the receiving end's account of credit in one session: what the
// peer may send to mailboxes here (credit.h), and when it is given more.
//
// A plain state machine: it is told what arrives, what leaves its mailbox, what
// the peer asks for and what a reservation got, and answers what to reserve,
// what to give back and what to tell the peer.
//
// How a window grows. A mailbox whose credit the peer has used up (no granted
// room left, and the allowance half used; or the peer says so) gets a window of
// granted room, which doubles each time it is used up again, or half of it has left
// the mailbox before it was reserved anew, as far as there is room and up to the
// node's fair share (RemoteRoom). What leaves the mailbox is reserved anew, up to
// the window: after a while, so that changes travel together, and at once when half
// of it has left, when half of what filled the mailbox has left, when the peer has
// no credit for a message of the usual size, and when much of the session's
// allowances is to be told. While senders wait there for room nothing is given out
// but by their line: no window, and no allowance back.
//
// The peer's senders in a mailbox's line count against the bytes that a peer may
// have in one mailbox as if their messages were there. At that bound the next ones
// wait here, in the order in which they came, and enter the line when there are
// bytes again.
//
// Guarantees. Never more is granted than was reserved here. Of a message that
// arrives its credit is known to be there, or OnArrived says no. At the end all
// that is reserved and unused is given back, once.
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

  // A message came that uses such credit. False when the peer had none: a bad
  // frame.
  [[nodiscard]] bool OnArrived(const MailboxAddress& to, int64_t bytes, Admission admission, MonotonicTime now);
  // So many left their mailbox, or were refused at their arrival. Counts only what
  // this session brought. `bytes` of the amount is -1 when they are not known.
  void OnReleased(const MailboxAddress& to, Admission admission, const RoomAmount& amount);
  // kWant without a number: a sender there found no credit for a message of so many
  // bytes, and does not wait. InvalidArgument for more bytes than any message has: a
  // bad frame.
  absl::Status OnWanted(const MailboxAddress& to, int64_t bytes, MonotonicTime now);
  // kReturn: what is given back to the mailbox. InvalidArgument when so much was
  // not granted: a bad frame.
  absl::Status OnReturned(const CreditChange& change);

  // ---- Senders of the peer that wait ----

  struct Waiting {
    uint64_t want = 0;  // the peer's number
    MailboxAddress to;
    int64_t bytes = 0;
    uint64_t place = 0;       // among those that wait here
    bool is_in_line = false;  // else it waits here
  };
  // kWant with a number. OK: it waits, and TakeEntering says when it is to enter the
  // line. Full: it does not, and the peer is told so (kRefuse). InvalidArgument for
  // a number in use, or more bytes than any message has: a bad frame.
  absl::Status OnWaits(const CreditChange& want);
  // Those that are to enter the lines of their mailboxes now. Call after whatever may
  // have made room, before anything else is asked of this object.
  std::vector<Waiting> TakeEntering() { return std::exchange(entering_, {}); }
  // kReturn with a number. It waits no more, and leaves the line that it is in.
  // Nothing when it has been answered, and the answer has crossed this.
  absl::optional<Waiting> OnGaveUp(const CreditChange& change);
  // The line has answered: OK, and its room is reserved, or why it never is. What
  // the peer is told; nothing when that sender gave up, or is of an earlier
  // session: then what was reserved goes back.
  absl::optional<CreditChange> OnTurn(uint64_t want, const absl::Status& status, MonotonicTime now);
  // Those in lines and here, by their numbers.
  std::vector<Waiting> waiting() const;

  // ---- What to do ----

  // Something is worth doing at once (is_urgent), or after a while.
  bool is_urgent() const { return is_urgent_; }
  bool is_due() const { return !due_.empty(); }
  // For each mailbox that is due what is to be reserved, perhaps nothing; then
  // OnReserved says what the peer is told.
  std::vector<std::pair<MailboxAddress, RoomAmount>> TakeDue();
  absl::optional<CreditChange> OnReserved(const MailboxAddress& to, const ReservedRoom& reserved);
  // Call after OnReserved, whose change is told first. A message that found no credit has not enough still, and what
  // the peer has there is in its way: it may need more than the node's fair share, or an empty mailbox. What the peer
  // is told; the message is reserved anew when it is wanted again.
  absl::optional<CreditChange> AskBackIfShort(const MailboxAddress& to);

  // Somebody wants that room: what the peer is told, if it has any unused and
  // was not asked yet.
  absl::optional<CreditChange> AskBack(const MailboxAddress& to);
  // Each kCreditIdle, while needs_look(): what the peer is told.
  bool needs_look() const { return !granted_.empty() || !withheld_.empty(); }
  std::vector<CreditChange> Look(MonotonicTime now);

  // What is reserved and was not used. Leaves nothing behind.
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
    // The allowance: what the peer has left, what waits in the mailbox, and what has left it and was not told yet. In
    // all CreditTerms::first_allowance.
    RoomAmount allowance;
    RoomAmount held_beside;
    RoomAmount owed;
    // Granted room: what the peer has not used, and what waits in the mailbox.
    RoomAmount granted;
    RoomAmount held;
    int64_t window = 0;                        // messages that granted and held together are to be
    int64_t bytes_each = 0;                    // of late, on average
    RoomAmount wanted;                         // a message that found no credit
    int64_t left_messages = 0;                 // the mailbox, since TakeDue
    RoomAmount in_line;                        // what the peer's senders in the line wait for
    std::map<uint64_t, uint64_t> before_line;  // those that wait here: place to number
    bool is_used_up = false;
    bool is_asked = false;       // the peer waits for an answer
    bool is_asked_back = false;  // and has not returned it
    bool is_reserving = false;   // TakeDue without OnReserved
    bool is_short = false;       // OnReserved left what was wanted without enough
    MonotonicTime used;
  };
  using Accounts = std::map<MailboxAddress, Account>;

  Account& FindOrOpen(const MailboxAddress& to) {
    return accounts_.try_emplace(to, Account{.allowance = terms_.first_allowance}).first->second;
  }
  void SetUsedUp(const MailboxAddress& to, Account& account);
  void NoteGranted(const MailboxAddress& to, const Account& account);
  void EraseIfUnused(Accounts::iterator account);
  Accounts::iterator StopWaiting(std::map<uint64_t, Waiting>::iterator waiting);
  // Those that wait here enter the line, as far as there are bytes.
  void EnterLine(Account& account);

  CreditTerms terms_;
  Accounts accounts_;
  std::map<uint64_t, Waiting> waiting_;  // by the peer's number
  uint64_t last_place_ = 0;
  std::vector<Waiting> entering_;
  std::set<MailboxAddress> due_;
  std::set<MailboxAddress> granted_;   // with granted room that is not used
  std::set<MailboxAddress> withheld_;  // whose allowance waits for the end of a line
  AllowancesInUse in_use_{terms_};
  RoomAmount owed_;  // of all accounts
  bool is_urgent_ = false;
};

}  // namespace understudy

#endif  // UNDERSTUDY_TRANSPORT_CORE_CREDIT_RECEIVER_H_
