// Ledgers: counts of the messages of a system by what became of them, for each mailbox
// and for the whole system.
//
//   LOG << system.Ledger().ToString();
//   for (const MailboxLedger& mailbox : system.MailboxLedgers()) LOG << mailbox.ToString();
//
// A ledger balances if `accepted` is the sum of the dispositions and of `waiting`. Every
// ledger balances whenever no turn runs; one that is read while turns run may be slightly
// off.
// Threads: plain values.
#ifndef UNDERSTUDY_ACTORS_LEDGER_H_
#define UNDERSTUDY_ACTORS_LEDGER_H_

#include <array>
#include <cstddef>
#include <cstdint>
#include <ostream>
#include <string>

#include "absl/strings/string_view.h"
#include "understudy/actors/pid.h"

namespace understudy {

// What became of an accepted message; docs/spec/actors/sending.md says when each applies.
enum class Disposition { kHandled, kRejected, kFailed, kExpired, kCancelled, kDropped, kDeadLetter, kForwarded };
inline constexpr int kDispositionCount = 8;
// "handled", "dead letter", …
absl::string_view DispositionName(Disposition disposition);

// The counts are exact, except that the number of messages that a living actor has handled in
// one mailbox is counted modulo 2^32.
struct MessageLedger {
  int64_t accepted = 0;
  std::array<int64_t, kDispositionCount> dispositions{};
  int64_t waiting = 0;  // in its mailbox, in a handler that awaits, or in unhandled mail
  int64_t refused = 0;  // not accepted, and so not in the sum; counted for the whole system only

  int64_t of(Disposition disposition) const { return dispositions[static_cast<size_t>(disposition)]; }
  bool balances() const;
  MessageLedger& operator+=(const MessageLedger& other);
  std::string ToString() const;
  friend bool operator==(const MessageLedger&, const MessageLedger&) = default;
};

// The ledger of one mailbox.
struct MailboxLedger {
  // The actor. Null: the ledger is for all ended actors that had such a mailbox.
  Pid actor;
  // The mailbox's wire name and the type of its messages. Both are empty for messages that
  // were in no mailbox, because they came before the actor had declared its mailboxes or when
  // it had just ended.
  std::string mailbox;
  std::string type;
  MessageLedger messages;

  // "number (int) of <1.2.3>: accepted 5 = handled 4 + …".
  std::string ToString() const;
};

inline std::ostream& operator<<(std::ostream& out, const MessageLedger& ledger) { return out << ledger.ToString(); }
inline std::ostream& operator<<(std::ostream& out, const MailboxLedger& ledger) { return out << ledger.ToString(); }

}  // namespace understudy

#endif  // UNDERSTUDY_ACTORS_LEDGER_H_
