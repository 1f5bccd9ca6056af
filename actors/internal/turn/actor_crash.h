// The functions by which an actor's turn reports: traces, notes for crash reports, and crashes; and the functions by
// which other threads look at an actor. Owner's turn only, in kernel code, except where a function says otherwise.
#ifndef UNDERSTUDY_ACTORS_INTERNAL_TURN_ACTOR_CRASH_H_
#define UNDERSTUDY_ACTORS_INTERNAL_TURN_ACTOR_CRASH_H_

#include <cstdint>

#include "absl/strings/string_view.h"
#include "understudy/actors/clock.h"
#include "understudy/actors/crash_report.h"
#include "understudy/actors/exit_reason.h"
#include "understudy/actors/internal/turn/activation.h"
#include "understudy/actors/log_sink.h"

namespace understudy {
struct ActorInfo;
}  // namespace understudy

namespace understudy::internal {

class ActorCell;
class ActorCore;
class FixedText;
class SystemCore;
enum class ExitCause : uint8_t;

// The actor "handles" or "resumes" `activation`: tells the system's tracer, and notes a message for later crash reports
// before its handler may move from it. Call it only if the system is observed.
void Trace(ActorCore& core, absl::string_view what, const Activation& activation);
// Tells the system's tracer, if there is one, that the actor ends with this reason.
void TraceEnd(ActorCore& core, const ExitReason& reason);
// A message of the traced actor is about to be handled: notes it for the trace. Ends the tracing if the trace is over.
void NoteTraced(ActorCore& core, const Envelope& message);
// Makes the report of an actor that ends for a reason of its own, whose `cause` is kOwn or kOwnOutside. Call it while
// the message or event that the actor was handling is still in hand.
void NoteCrash(ActorCore& core, ExitCause cause);
// Logs one report for an actor that ends abnormally by its own doing.
void LogCrash(ActorCore& core, const CrashReport& crash, const ExitReason& reason);
// Writes to `info` what the owner's state says (actor_info.h). InspectTies: the links and monitors. For the thread that
// holds the idle actor (ActorCell::WhileIdle), or holds this actor's thread in user code.
void Inspect(const ActorCore& core, ActorInfo& info);
void InspectTies(const ActorCore& core, ActorInfo& info);
// Writes to `info` how long the oldest messages have waited that the owner has sorted, or that did not wake it. For the
// same threads.
void InspectAges(ActorCore& core, MonotonicTime now, ActorInfo& info);
// Writes to `origin` which actor's turn writes a log line. For LogFormat::kText only its pid and node.
void DescribeForLog(const ActorCore& core, LogFormat format, LogOrigin& origin);
// Describes the actor for the fatal signal report: its pid in `who`, its class, names and current handler in `at`.
// Async-signal-safe. Call on the thread that runs the actor's turn.
void DescribeForSignal(const ActorCore& core, FixedText& who, FixedText& at);

// Logs `line` as an error.
void LogError(SystemCore& system, absl::string_view line, absl::string_view trace_id = {});

// Fills in what can be read of an actor that is neither idle nor in user code: its class, parent and behavior, and
// the mailboxes that the behavior does not name. Nothing if the actor with that life has not started or is ending. Any
// thread that has not locked SystemCore::look_mu().
void InspectQueued(SystemCore& system, ActorCell& cell, uint64_t life, MonotonicTime now, ActorInfo& info);

}  // namespace understudy::internal

#endif  // UNDERSTUDY_ACTORS_INTERNAL_TURN_ACTOR_CRASH_H_
