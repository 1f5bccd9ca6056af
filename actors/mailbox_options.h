// MailboxOptions: what a mailbox declares besides its name and type. A value, on any thread.
#ifndef UNDERSTUDY_ACTORS_MAILBOX_OPTIONS_H_
#define UNDERSTUDY_ACTORS_MAILBOX_OPTIONS_H_

#include <cstddef>
#include <cstdint>

#include "absl/time/time.h"
#include "absl/types/optional.h"
#include "understudy/actors/limits.h"

namespace understudy {

// What happens to a message for a full mailbox.
enum class Overflow {
  kRefuse,      // the sender gets Full
  kDropOldest,  // on the receiver's turn; Full at twice the capacity
  kFailActor,   // the actor exits with Overflow, the sender gets Full
};

// What happens to tells that wait when the actor ends: they are dead letters, or
// its successor gets them, if its parent, a supervisor for one, starts one (unhandled_mail.h).
enum class OnRestart { kDiscard, kKeep };

// Whether a CrashReport may show what its messages say.
enum class ReportContents { kNo, kYes };

// Out of range an option fails the actor's start with InvalidArgument, which names class, mailbox, value and range.
struct MailboxOptions {
  // 1 to limits::kMailboxCapacityMessagesMax.
  int64_t capacity_messages = limits::kMailboxCapacityMessages;
  // By MessageBytes(message), else by its wire size or sizeof; at least 1, or SIZE_MAX for no bound. Null:
  // limits::kMailboxCapacityBytes where the library can tell messages of different sizes (SizedMessage: wire messages,
  // strings, vectors, Cords, types with MessageBytes), which costs each send that look; else no bound. An empty mailbox
  // accepts one message of any size.
  absl::optional<size_t> capacity_bytes;
  Overflow overflow = Overflow::kRefuse;
  // A message that has waited so long, or longer, is not handled: it expires. Positive.
  absl::Duration time_to_live = absl::InfiniteDuration();
  OnRestart on_restart = OnRestart::kDiscard;
  ReportContents report_contents = ReportContents::kNo;
};

}  // namespace understudy

#endif  // UNDERSTUDY_ACTORS_MAILBOX_OPTIONS_H_
