// Occupation: what an actor is doing, as crash reports, fatal signal reports, reports of stuck handlers and the search
// for call cycles name it. CrashNotes: the last messages that an actor has begun to handle, for its crash report.
//
// Plain values and a plain state machine: no clock, no log. Owner's turn only, except that another thread may make and
// read an Occupation while it holds the actor's thread in user code.
#ifndef UNDERSTUDY_ACTORS_INTERNAL_TURN_CRASH_NOTES_H_
#define UNDERSTUDY_ACTORS_INTERNAL_TURN_CRASH_NOTES_H_

#include <cstddef>
#include <cstdint>
#include <string>
#include <vector>

#include "absl/strings/string_view.h"
#include "absl/types/span.h"
#include "understudy/actors/crash_report.h"
#include "understudy/actors/exit_reason.h"
#include "understudy/actors/internal/send/envelope.h"
#include "understudy/actors/internal/send/mailbox_layout.h"
#include "understudy/actors/internal/system/fixed_text.h"
#include "understudy/actors/pid.h"

namespace understudy::internal {

struct Occupation {
  enum class Kind : uint8_t {
    kConstructor,
    kStarting,   // no handler, and Start has not returned a behavior or a coroutine
    kNoHandler,  // a guard, a predicate, a hook, a destructor or the actor's end
    kStart,      // Start, or the coroutine that it returned, until the actor has started
    kProcess,    // the coroutine that Start returned, in the process style
    kEvent,
    kMessage,
  };
  Kind kind = Kind::kNoHandler;
  const MailboxDeclaration* mailbox = nullptr;  // of the message, for kMessage

  // The handler, after "in the handler of": the mailbox's wire name, "an event", "Start", …
  absl::string_view HandlerName() const;
  // For CrashReport::doing. `message` is the message in hand, for kMessage; null if its block has the answer already.
  std::string ForCrashReport(const Envelope* message) const;
  // For the fatal signal report. Async-signal-safe.
  void AddTo(FixedText& text) const;
};

// The note of `message`, which waits in or came from `mailbox`, without its size and contents.
MessageNote NoteOf(const Envelope& message, const MailboxDeclaration& mailbox);
// Like NoteOf, but also notes the size of the message, which its handler may have moved from. A protobuf message can
// still be measured then; for another type the size is sizeof, because its MessageBytes may not work any more.
MessageNote NoteWithBytesLeft(const Envelope& message, const MailboxDeclaration& mailbox);

class CrashNotes {
 public:
  // Keeps `note` of a message that is about to be handled. At most `kept_max` notes are kept; the oldest go first.
  void Keep(MessageNote note, size_t kept_max);
  std::vector<MessageNote> NewestFirst() const { return {messages_.rbegin(), messages_.rend()}; }

 private:
  std::vector<MessageNote> messages_;  // oldest first
};

// Whether the log line of a crash has the report's messages. It has them if the system keeps last messages.
enum class NamesMessages { kNo, kYes };
// The log line of an actor that ended abnormally by its own doing, as OTP's proc_lib writes it: its pid and class, the
// reason, what it was handling, its parent, and up to 8 of `peers`, the actors linked to it.
std::string LineOf(const CrashReport& crash, const ExitReason& reason, absl::Span<const Pid> peers,
                   NamesMessages names_messages);

}  // namespace understudy::internal

#endif  // UNDERSTUDY_ACTORS_INTERNAL_TURN_CRASH_NOTES_H_
