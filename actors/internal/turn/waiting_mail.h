// WaitingMail: which mailboxes of one actor have mail. It changes the rings of the mailboxes' queues (envelope_ring.h),
// so that bit i is set exactly if the queue of mailbox i has a message. Messages that were postponed are not in the
// queues (postponed_mail.h). It counts nothing: whoever takes a message out tells the gate. Owner only.
#ifndef UNDERSTUDY_ACTORS_INTERNAL_TURN_WAITING_MAIL_H_
#define UNDERSTUDY_ACTORS_INTERNAL_TURN_WAITING_MAIL_H_

#include <cstddef>
#include <cstdint>

#include "understudy/actors/internal/send/actor_cell.h"
#include "understudy/actors/internal/send/envelope.h"
#include "understudy/actors/internal/turn/envelope_ring.h"

namespace understudy::internal {

class WaitingMail {
 public:
  // Bit i: mailbox i has mail.
  uint64_t mailboxes() const { return mailboxes_; }

  // Appends `envelope`, which is newer than all in `queue`, the queue of mailbox `place`.
  void Add(Queue& queue, size_t place, Envelope* envelope) {
    Append(queue.newest, envelope);
    mailboxes_ |= uint64_t{1} << place;
  }
  // Puts the messages of `ring`, of which `ring` is the newest, where their stamps belong in `queue`.
  void Return(Queue& queue, size_t place, Envelope* ring) {
    Merge(queue.newest, ring);
    mailboxes_ |= uint64_t{1} << place;
  }
  // Takes `envelope` out of `queue`. `before` precedes it there.
  void Cut(Queue& queue, size_t place, Envelope* envelope, Envelope* before) {
    if (envelope == before) mailboxes_ &= ~(uint64_t{1} << place);
    CutOut(queue.newest, envelope, before);
  }

 private:
  uint64_t mailboxes_ = 0;
};

}  // namespace understudy::internal

#endif  // UNDERSTUDY_ACTORS_INTERNAL_TURN_WAITING_MAIL_H_
