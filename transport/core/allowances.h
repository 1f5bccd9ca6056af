// AllowancesInUse: counts how much of the first allowances (credit.h) of all
// mailboxes is in use in one session. Both ends of the session keep this count and
// apply the same rule, so they agree on which messages an allowance covers.
//
// There are two bounds. What messages use within the allowances of their mailboxes
// is at most kSessionAllowanceMax in all. The bytes that large messages use beyond
// the allowance of their mailbox are counted apart: at most kSessionAllowanceMax.bytes,
// or one message of any size. So a large message does not prevent a first message to
// another mailbox. In each mailbox at most one message at a time, the last one, uses
// bytes beyond the allowance.
#ifndef UNDERSTUDY_TRANSPORT_CORE_ALLOWANCES_H_
#define UNDERSTUDY_TRANSPORT_CORE_ALLOWANCES_H_

#include <cstdint>

#include "understudy/actors/room.h"
#include "understudy/transport/codec/credit.h"

namespace understudy {

class AllowancesInUse {
 public:
  explicit AllowancesInUse(const CreditTerms& terms) : terms_(terms) {}

  // Returns whether a message of `bytes` bytes may be sent on the allowance of a
  // mailbox that has `left` of it: `left` covers the message, or the message is large
  // and CreditTerms::large_messages permits it, and the session's two bounds hold with
  // the message.
  bool Covers(const RoomAmount& left, int64_t bytes) const;
  // Records that what is left of one mailbox's allowance changed from `before` to `after`.
  void Change(const RoomAmount& before, const RoomAmount& after);

  RoomAmount amount() const { return {.messages = within_.messages, .bytes = within_.bytes + beyond_}; }

 private:
  int64_t WithinBytes(const RoomAmount& left) const;
  int64_t BeyondBytes(const RoomAmount& left) const;

  // Whether a message that is larger than the bytes in `left` may use them all the same.
  bool CoversLarge(const RoomAmount& left) const;

  CreditTerms terms_;
  RoomAmount within_;   // used within the mailboxes' allowances
  int64_t beyond_ = 0;  // bytes that large messages use beyond them
};

}  // namespace understudy

#endif  // UNDERSTUDY_TRANSPORT_CORE_ALLOWANCES_H_
