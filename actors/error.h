// The errors with which sends, asks and operations on names fail.
//
// Each is an absl::Status with a code, a payload that tells its kind (statuses
// of user code have none), and a predicate:
//
//   if (IsFull(status)) …
//
// | kind         | code               |
// | Full         | ResourceExhausted  | a mailbox's bound, or a limit on links, monitors, timers, asks
// | NoMailbox    | Unimplemented      | the actor has none of that name and type
// | NoProcess    | NotFound           | that actor has ended
// | NoName       | NotFound           | the name is free
// | Restarting   | Unavailable        | the owner of the name is down, and its supervisor will start it again
// | Stopping     | Unavailable        | the actor or node takes no more
// | CalleeExited | Aborted            | the callee ended with the call in hand or waiting
// | Unanswered   | Internal           | a Replier was destroyed unused
// | NoConnection | Unavailable        | the session ended; the call may have been handled
// | NotPermitted | PermissionDenied   | not granted to that peer
// | Expired      | DeadlineExceeded   | deadline or time to live
// | Cancelled    | Cancelled          | by the asker, or by a fenced actor
//
// Status::ToString() also prints payloads, which are binary. To show an error to people,
// use status.message(), and ExitReasonOf(status) for the causes.
//
// Argument-dependent lookup also finds absl::IsCancelled, so write
// understudy::IsCancelled. Threads: any.
#ifndef UNDERSTUDY_ACTORS_ERROR_H_
#define UNDERSTUDY_ACTORS_ERROR_H_

#include <cstdint>

#include "absl/status/status.h"
#include "absl/strings/string_view.h"
#include "absl/types/optional.h"
#include "understudy/actors/exit_reason.h"

namespace understudy {

// The numbers are also used on the wire.
enum class ErrorKind : uint8_t {
  kFull = 1,
  kNoMailbox = 2,
  kNoProcess = 3,
  kNoName = 4,
  kStopping = 5,
  kCalleeExited = 6,
  kUnanswered = 7,
  kNoConnection = 8,
  kNotPermitted = 9,
  kExpired = 10,
  kCancelled = 11,
  kRestarting = 12,
};

// "Full", "NoMailbox", …
absl::string_view ErrorKindName(ErrorKind kind);

// Returns an error of kind `kind`. `what` tells what was wrong and what would be right.
absl::Status MakeError(ErrorKind kind, absl::string_view what);

// Returns a CalleeExited error that carries the callee's exit reason; see ExitReasonOf.
absl::Status CalleeExitedError(absl::string_view callee, const ExitReason& reason);
// Cancelled, because `asker` ended with `reason`.
absl::Status AskerExitedError(absl::string_view asker, const ExitReason& reason);

// Returns the kind, or nothing if the status is not one of these errors.
absl::optional<ErrorKind> ErrorKindOf(const absl::Status& status);

// Returns the exit reason, with its causes, that a CalleeExited error carries; or nothing.
absl::optional<ExitReason> ExitReasonOf(const absl::Status& status);

bool IsFull(const absl::Status& status);
bool IsNoMailbox(const absl::Status& status);
bool IsNoProcess(const absl::Status& status);
bool IsNoName(const absl::Status& status);
bool IsStopping(const absl::Status& status);
bool IsCalleeExited(const absl::Status& status);
bool IsUnanswered(const absl::Status& status);
bool IsNoConnection(const absl::Status& status);
bool IsNotPermitted(const absl::Status& status);
bool IsExpired(const absl::Status& status);
bool IsCancelled(const absl::Status& status);
bool IsRestarting(const absl::Status& status);

}  // namespace understudy

#endif  // UNDERSTUDY_ACTORS_ERROR_H_
