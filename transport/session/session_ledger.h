// SessionLedger: how many envelopes a session has taken, and what became of them. A value.
#ifndef UNDERSTUDY_TRANSPORT_SESSION_SESSION_LEDGER_H_
#define UNDERSTUDY_TRANSPORT_SESSION_SESSION_LEDGER_H_

#include <cstdint>

namespace understudy {

// Counts envelopes. `acknowledged` excludes envelopes whose message the peer refused;
// those are `refused_by_peer`. `unconfirmed` counts envelopes that were not acknowledged
// when a session ended; the peer may or may not have handled them.
struct SessionLedger {
  int64_t accepted = 0;
  int64_t acknowledged = 0;
  int64_t refused_by_peer = 0;
  int64_t unconfirmed = 0;
  int64_t waiting = 0;

  bool balances() const { return accepted == acknowledged + refused_by_peer + unconfirmed + waiting; }
  SessionLedger& operator+=(const SessionLedger& other) {
    accepted += other.accepted;
    acknowledged += other.acknowledged;
    refused_by_peer += other.refused_by_peer;
    unconfirmed += other.unconfirmed;
    waiting += other.waiting;
    return *this;
  }
  friend bool operator==(const SessionLedger&, const SessionLedger&) = default;
};

}  // namespace understudy

#endif  // UNDERSTUDY_TRANSPORT_SESSION_SESSION_LEDGER_H_
