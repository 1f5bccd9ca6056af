// What happens to an actor besides messages: plain structs, given to handlers
// like messages. Values; whoever has one has it alone, on any thread.
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
  // For the parent, in its first monitor: take `Down` by value to have it.
  UnhandledMail unhandled_mail;
};

// A linked actor has ended, or somebody called Exit; for actors that trap.
struct ExitEvent {
  Pid peer;
  ExitReason reason;
  bool from_parent = false;
  // Further exits that this one stands for, by whomever and why ever: somebody
  // called Exit while limits::kExitsWaitingPerActorMax waited already.
  int64_t merged = 0;
};

// Somebody called RequestStop.
struct StopRequest {
  Pid from;
  ExitReason reason;
  // Further requests that this one stands for, by whomever and why ever, as of ExitEvent.
  int64_t merged = 0;
};

// What became of a spawn: exactly one for each, before any Down.
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

// A timer of the actor has come.
struct TimerEvent {
  std::string name;  // empty for At, After and Idle
};

// A watched name has another owner, or none (a null pid), as also while its
// owner is being restarted.
struct NameChange {
  std::string name;
  Pid pid;
};

namespace internal {

// What a clause of Receive may name.
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
