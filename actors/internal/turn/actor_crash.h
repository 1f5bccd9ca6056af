// The functions by which an actor's turn reports: traces, notes for crash reports, and crashes. The functions use no
// other state of the actor than its public parts. Owner's turn only, in kernel code.
#ifndef UNDERSTUDY_ACTORS_INTERNAL_TURN_ACTOR_CRASH_H_
#define UNDERSTUDY_ACTORS_INTERNAL_TURN_ACTOR_CRASH_H_

#include "absl/strings/string_view.h"
#include "understudy/actors/crash_report.h"
#include "understudy/actors/exit_reason.h"
#include "understudy/actors/internal/turn/activation.h"

namespace understudy::internal {

class ActorCore;
class SystemCore;

// The actor "handles" or "resumes" `activation`: tells the system's tracer, and notes a message for later crash reports
// before its handler may move from it. Call it only if the system is observed.
void Trace(ActorCore& core, absl::string_view what, const Activation& activation);
// Logs one report for an actor that ends abnormally by its own doing.
void LogCrash(ActorCore& core, const CrashReport& crash, const ExitReason& reason);
// Logs `line` as an error.
void LogError(SystemCore& system, absl::string_view line);

}  // namespace understudy::internal

#endif  // UNDERSTUDY_ACTORS_INTERNAL_TURN_ACTOR_CRASH_H_
