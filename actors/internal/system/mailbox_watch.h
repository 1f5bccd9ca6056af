// MailboxWatch: finds the mailboxes that have been closed, with mail, for a
// long time, and says so in the log, once for each.
//
// A mailbox that no behaviour opens again is how a program of guards hangs; its
// senders see nothing, for a closed mailbox accepts. The watch looks at all
// actors now and then, so that neither a send nor a turn pays for it: what is
// closed with mail at two looks, and has let nothing out between them, counts as
// closed since the first. Any thread.
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
#include "understudy/actors/internal/system/system_core.h"
#include "understudy/actors/pid.h"

namespace understudy {

// A mailbox that is closed and has mail.
struct ClosedMailbox {
  Pid actor;
  std::string mailbox;
  int64_t waiting = 0;
  absl::Duration closed_for;  // since the look that found it first
};

class MailboxWatch {
 public:
  // Looks four times within `limit`, at most each limits::kClosedMailPauseMin, and
  // logs what has been closed for longer; with an infinite limit only when asked. The system outlives it.
  MailboxWatch(internal::SystemCore& system, absl::Duration limit);
  ~MailboxWatch();
  MailboxWatch(const MailboxWatch&) = delete;
  MailboxWatch& operator=(const MailboxWatch&) = delete;

  // Looks now; in order of actors and of their mailboxes.
  std::vector<ClosedMailbox> Look();

 private:
  struct Seen {
    uint64_t life = 0;
    uint32_t left = 0;
    MonotonicTime since;
    bool is_logged = false;
  };
  // What a timer's callback may outlive.
  struct State;

  std::shared_ptr<State> state_;
};

}  // namespace understudy

#endif  // UNDERSTUDY_ACTORS_INTERNAL_SYSTEM_MAILBOX_WATCH_H_
