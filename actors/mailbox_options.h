// MailboxOptions: how much may wait in one mailbox, what it does when it is full, and what becomes of a message that
// waits for long or when the actor ends.
//
//   Mailbox<"watch", WatchRequest> watch{this, {.capacity_messages = 100, .overflow = Overflow::kDropOldest}};
//
// Requires: each option is in the range that its comment gives. Otherwise the actor's start fails with InvalidArgument,
// which names the mailbox, the option, its value and the range.
// Guarantees: the options hold from the declaration to the end of the actor. A mailbox is bounded also without options.
// In a .proto file they are options of the rpc (proto/options.proto).
//
// Threads: a plain value.
#ifndef UNDERSTUDY_ACTORS_MAILBOX_OPTIONS_H_
#define UNDERSTUDY_ACTORS_MAILBOX_OPTIONS_H_

#include <cstddef>
#include <cstdint>

#include "absl/time/time.h"
#include "absl/types/optional.h"
#include "understudy/actors/limits.h"

namespace understudy {

// The policy for a message that is sent to a full mailbox.
enum class Overflow {
  kRefuse,      // refuses the message: the sender gets Full
  kDropOldest,  // accepts the message; the receiver drops its oldest messages on its next turn. At twice the capacity,
                // which a slow receiver may reach before that turn, the sender gets Full
  kFailActor,   // the actor exits with Overflow, and the sender gets Full
};

// The treatment of tells that still wait in the mailbox when the actor ends.
enum class OnRestart {
  kDiscard,  // they are dead letters
  kKeep      // the actor's successor gets them, if its parent (such as a supervisor) starts one (unhandled_mail.h)
};

// Whether a CrashReport may show the contents of this mailbox's messages.
enum class ReportContents { kNo, kYes };

struct MailboxOptions {
  // 1 to limits::kMailboxCapacityMessagesMax.
  int64_t capacity_messages = limits::kMailboxCapacityMessages;
  // The bound on the bytes that wait in the mailbox: at least 1, or SIZE_MAX for no bound. A message's size is
  // its wire size if it is a wire message, else MessageBytes(message) if its type has it, else its sizeof.
  // Null means limits::kMailboxCapacityBytes if messages of the type vary in size (concept SizedMessage: wire messages,
  // strings, vectors, Cords, types with MessageBytes), and no bound otherwise. With a bound, every send computes the
  // size of its message. An empty mailbox accepts one message of any size.
  absl::optional<size_t> capacity_bytes;
  Overflow overflow = Overflow::kRefuse;
  // A message that has waited for this time or longer expires instead of being handled. Must be positive.
  absl::Duration time_to_live = absl::InfiniteDuration();
  OnRestart on_restart = OnRestart::kDiscard;
  ReportContents report_contents = ReportContents::kNo;
};

}  // namespace understudy

#endif  // UNDERSTUDY_ACTORS_MAILBOX_OPTIONS_H_
