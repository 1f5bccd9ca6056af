// The trace of the handler that runs, or is suspended (trace.h).
//
// An Activation has a HandlerTrace if its handler belongs to a trace. While the handler runs, this_trace refers to its
// context, and the worker's rights are kAllTraced, so that sends take the slow path. Owner's turn, kernel code.
#ifndef UNDERSTUDY_ACTORS_INTERNAL_TURN_ACTOR_TRACING_H_
#define UNDERSTUDY_ACTORS_INTERNAL_TURN_ACTOR_TRACING_H_

#include "absl/status/status.h"
#include "absl/strings/string_view.h"
#include "absl/types/optional.h"
#include "understudy/actors/internal/memory/slow_path.h"
#include "understudy/actors/internal/turn/activation.h"
#include "understudy/actors/router.h"
#include "understudy/actors/trace.h"

namespace understudy {

class Context;

namespace internal {

class ActorCore;

// The message of `activation` belongs to a trace, and its handler is about to begin: ends the span of its waiting.
// Returns false if the system has no traces.
UNDERSTUDY_SLOW_PATH bool BeginHandling(ActorCore& core, Activation& activation);
// The handler of `activation`, which has a HandlerTrace, runs from now on; and it has returned, or awaits.
UNDERSTUDY_SLOW_PATH void EnterTrace(Activation& activation);
UNDERSTUDY_SLOW_PATH void LeaveTrace();

// For Context: begins a trace in the handler that runs, if it belongs to none. Returns whether it belongs to one now.
bool StartTrace(ActorCore& core, absl::string_view name);
// For Context: what the handler sends from now on belongs to no trace.
void EndTrace(ActorCore& core);
// For an actor that asks in place of a thread, in its handler: continues the thread's trace, if it had one. User code.
void ContinueTrace(Context& context, const absl::optional<TraceContext>& trace);

// Sends the call of an ask by a handler of a trace.
UNDERSTUDY_SLOW_PATH absl::Status SendTracedCall(ActorCore& core, const OutboundMessage& call);

}  // namespace internal
}  // namespace understudy

#endif  // UNDERSTUDY_ACTORS_INTERNAL_TURN_ACTOR_TRACING_H_
