// Events: what happens to an actor besides messages. A handler takes an event as it takes a message; the function of
// Context, clause or spawn option that asks for the event names the handler. In the process style a Receive may take
// it.
//
//   monitor_ = context().Monitor(worker_, &Owner::WorkerDown);
//   void WorkerDown(const Down& down) { last_ = down.reason; }
//
// Guarantees: an event runs in the place in which it arrived among the actor's messages, and no guard can hold it back.
// Room for it is reserved when its cause is made, so none is lost; exits and requests to stop beyond a limit are merged
// (ExitEvent::merged). While another handler of the actor awaits, an event waits too, unless that handler is
// Interleaved. A handler that takes `Down` by value may move the unhandled mail out of it; others take const
// references.
//
// Threads: plain values.
#ifndef UNDERSTUDY_ACTORS_EVENTS_H_
#define UNDERSTUDY_ACTORS_EVENTS_H_

#include <cstdint>
#include <string>

#include "understudy/actors/exit_reason.h"
#include "understudy/actors/pid.h"
#include "understudy/actors/unhandled_mail.h"

namespace understudy {

// A monitored actor has ended, or could not be reached.
struct Down {
  Pid pid;
  uint64_t monitor = 0;  // MonitorHandle::id()
  ExitReason reason;
  // The messages that the actor left (unhandled_mail.h). Only in the Down of the first monitor
  // that its parent has on it. To move it out, the handler takes `Down` by value.
  UnhandledMail unhandled_mail;
};

// A linked actor has ended, or an actor or thread has called Exit. For actors that trap exits.
struct ExitEvent {
  Pid peer;
  ExitReason reason;
  bool from_parent = false;
  // The number of other exits, from any sender and with any reason, that were merged into this
  // event: calls of Exit that came while limits::kExitsWaitingPerActorMax were waiting.
  int64_t merged = 0;
};

// An actor or thread has called RequestStop.
struct StopRequest {
  Pid from;  // null: a plain thread
  ExitReason reason;
  // The number of other requests that were merged into this event; see ExitEvent::merged.
  int64_t merged = 0;
};

// The outcome of a spawn. Each spawn with OnOutcome has exactly one, before any Down.
struct SpawnOutcome {
  enum class Kind {
    kStarted,
    kIgnored,  // Start gave StartResult::Ignore()
    kFailed,   // constructor or Start failed, with `reason`
  };
  Pid pid;
  Kind kind = Kind::kStarted;
  ExitReason reason;
};

// A timer of the actor is due.
struct TimerEvent {
  std::string name;  // empty for At, After and Idle
};

// A watched name has another owner, or has none. The pid is null while the name has no owner,
// also while the owner is being restarted.
struct NameChange {
  std::string name;
  Pid pid;
};

namespace internal {

// True for the events that a clause of Receive may name.
template <class T>
inline constexpr bool kIsEvent = false;
template <>
inline constexpr bool kIsEvent<Down> = true;
template <>
inline constexpr bool kIsEvent<ExitEvent> = true;
template <>
inline constexpr bool kIsEvent<StopRequest> = true;
template <>
inline constexpr bool kIsEvent<TimerEvent> = true;
template <>
inline constexpr bool kIsEvent<NameChange> = true;

}  // namespace internal
}  // namespace understudy

#endif  // UNDERSTUDY_ACTORS_EVENTS_H_
