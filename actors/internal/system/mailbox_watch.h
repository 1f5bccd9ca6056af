// MailboxWatch: finds mailboxes that have been closed, with mail, for a long time,
// and logs each of them once.
//
// A program with guards typically hangs because no behavior opens some mailbox
// again. Its senders see no error, because a closed mailbox accepts messages. The
// watch looks at all actors periodically, so that sends and turns pay nothing. A
// mailbox that is closed with mail at two looks, and that no message left between
// them, counts as closed since the first look. Any thread.
#ifndef UNDERSTUDY_ACTORS_INTERNAL_SYSTEM_MAILBOX_WATCH_H_
#define UNDERSTUDY_ACTORS_INTERNAL_SYSTEM_MAILBOX_WATCH_H_

#include <cstdint>
#include <map>
#include <memory>
#include <string>
#include <utility>
#include <vector>

#include "absl/base/thread_annotations.h"
#include "absl/synchronization/mutex.h"
#include "absl/time/time.h"
#include "understudy/actors/clock.h"
#include "understudy/actors/pid.h"

namespace understudy {

namespace internal {

class SystemCore;

}  // namespace internal

// A mailbox that is closed and has mail.
struct ClosedMailbox {
  Pid actor;
  std::string mailbox;
  int64_t waiting = 0;
  absl::Duration closed_for;  // since the look that found it first
};

class MailboxWatch {
 public:
  // Looks four times within `limit`, but not more often than every limits::kClosedMailPauseMin, and logs mailboxes that
  // have been closed for `limit` or longer. With an infinite limit it looks only when Look is called, and logs nothing.
  // `system` must outlive this object.
  MailboxWatch(internal::SystemCore& system, absl::Duration limit);
  ~MailboxWatch();
  MailboxWatch(const MailboxWatch&) = delete;
  MailboxWatch& operator=(const MailboxWatch&) = delete;

  // Looks now, and logs as the periodic looks do. Returns the closed mailboxes with mail, in the order of the actors'
  // cells and of their mailboxes.
  std::vector<ClosedMailbox> Look();

 private:
  struct Seen {
    uint64_t life = 0;
    uint32_t left = 0;
    MonotonicTime since;
    bool is_logged = false;
  };
  // Shared with the timer's callback, which may run after the watch was destroyed.
  struct State;

  std::shared_ptr<State> state_;
};

}  // namespace understudy

#endif  // UNDERSTUDY_ACTORS_INTERNAL_SYSTEM_MAILBOX_WATCH_H_
