// ClosedMailboxes: counts, for each mailbox of one actor, the scoped closes that keep it closed, also while the
// behavior handles it. Owner only.
#ifndef UNDERSTUDY_ACTORS_INTERNAL_TURN_CLOSED_MAILBOXES_H_
#define UNDERSTUDY_ACTORS_INTERNAL_TURN_CLOSED_MAILBOXES_H_

#include <algorithm>
#include <cstddef>
#include <cstdint>
#include <vector>

#include "understudy/actors/check.h"

namespace understudy::internal {

class ClosedMailboxes {
 public:
  // Closes `mailbox` once more.
  void Close(int mailbox) {
    const auto place = static_cast<size_t>(mailbox);
    times_.resize(std::max(times_.size(), place + 1));
    ++times_[place];
    mask_ |= uint64_t{1} << place;
  }
  // Takes back one Close: `mailbox` is open again when all are taken back.
  void Reopen(int mailbox) {
    const auto place = static_cast<size_t>(mailbox);
    UNDERSTUDY_DCHECK((mask_ >> place & 1U) != 0, "mailbox ", mailbox, " is opened more often than it was closed");
    if (--times_[place] == 0) mask_ &= ~(uint64_t{1} << place);
  }
  // Bit i: mailbox i is closed.
  uint64_t mask() const { return mask_; }

 private:
  uint64_t mask_ = 0;
  std::vector<uint32_t> times_;  // by mailbox
};

}  // namespace understudy::internal

#endif  // UNDERSTUDY_ACTORS_INTERNAL_TURN_CLOSED_MAILBOXES_H_
