// AllowancesInUse: what the first allowances of all mailboxes have in use in one
// session (credit.h). Both ends keep it, and decide by it alike.
//
// Two bounds, so that one large message keeps nobody from a first contact: what
// each mailbox uses of its allowance, kSessionAllowanceMax in all; and what large
// messages use beyond theirs, as many bytes again, or one message of any size.
#ifndef UNDERSTUDY_TRANSPORT_CORE_ALLOWANCES_H_
#define UNDERSTUDY_TRANSPORT_CORE_ALLOWANCES_H_

#include <cstdint>

#include "understudy/actors/room.h"
#include "understudy/transport/codec/credit.h"

namespace understudy {

class AllowancesInUse {
 public:
  explicit AllowancesInUse(const CreditTerms& terms) : first_(terms.first_allowance) {}

  // Whether a message of so many bytes may go to a mailbox whose allowance has
  // `left`: what is left covers it, or the allowance is untouched.
  bool Covers(const RoomAmount& left, int64_t bytes) const;
  // The allowance of a mailbox had `before`, and has `after`.
  void Change(const RoomAmount& before, const RoomAmount& after);

  RoomAmount amount() const { return {.messages = within_.messages, .bytes = within_.bytes + beyond_}; }

 private:
  int64_t WithinBytes(const RoomAmount& left) const;
  int64_t BeyondBytes(const RoomAmount& left) const;

  RoomAmount first_;
  RoomAmount within_;   // the mailboxes' allowances
  int64_t beyond_ = 0;  // bytes of large messages
};

}  // namespace understudy

#endif  // UNDERSTUDY_TRANSPORT_CORE_ALLOWANCES_H_
