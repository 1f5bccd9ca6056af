// Ledgers: what became of the messages of a system, for each mailbox and in all.
//
//   LOG << system.Ledger().ToString();
//   for (const MailboxLedger& mailbox : system.MailboxLedgers()) LOG << mailbox.ToString();
//
// Whenever no turn runs, each ledger balances: what was accepted is the sum of
// the dispositions and of what waits. Read while turns run, it is about right.
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

// What became of an accepted message; semantics of each in actors/README.md.
enum class Disposition { kHandled, kRejected, kFailed, kExpired, kCancelled, kDropped, kDeadLetter, kForwarded };
inline constexpr int kDispositionCount = 8;
// "handled", "dead letter", …
absl::string_view DispositionName(Disposition disposition);

// Of what one actor has handled in one mailbox while it lives, the number
// modulo 2^32; all else is exact.
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

// One mailbox's part of it.
struct MailboxLedger {
  // Null: all actors that had such a mailbox and have ended, together.
  Pid actor;
  // Its wire name and the type of its messages. Both are empty for what is in no
  // mailbox: it came before there were any, or when its actor had just ended.
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
