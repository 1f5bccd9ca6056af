// ActorInfo and MailboxInfo: one actor and its mailboxes as seen from outside, for people and tools.
//
//   if (absl::optional<ActorInfo> info = InspectActor(system, pid)) {
//     for (const MailboxInfo& mailbox : info->mailboxes) std::cout << mailbox.name << ClosedByName(mailbox.closed_by);
//   }
//
// Guarantees: a copy of one moment, which may be past when the caller reads it. Of an actor that waits for a worker
// only some fields are known (is_complete). inspection.h, which makes these values, says how an actor is read and what
// that costs.
//
// Threads: plain values.
#ifndef UNDERSTUDY_ACTORS_ACTOR_INFO_H_
#define UNDERSTUDY_ACTORS_ACTOR_INFO_H_

#include <cstdint>
#include <string>
#include <vector>

#include "absl/strings/string_view.h"
#include "absl/time/time.h"
#include "absl/types/optional.h"
#include "understudy/actors/ledger.h"
#include "understudy/actors/pid.h"

namespace understudy {

enum class ActorState {
  kIdle,      // no handler runs, and nothing that has arrived wakes the actor
  kAwaiting,  // as kIdle, and a handler that has begun awaits something
  kQueued,    // scheduled, or in the framework's code
  kRunning,   // in a handler, a guard or other user code
  kStuck,     // as kRunning, for limits::kNameHandlerAfter or longer
};
// "idle", "awaiting", …
absl::string_view ActorStateName(ActorState state);

// The reason why the messages in a mailbox are not handled.
enum class ClosedBy {
  kNothing,      // the mailbox is open
  kUnknown,      // the mailbox is closed; the actor was queued, so no reason but kBehavior could be read
  kStart,        // the actor has not started
  kBehavior,     // the behavior, or the Receive, does not name the mailbox
  kGuard,        // the guard of the mailbox's clause does not hold
  kScopedClose,  // a ScopedClose
  kSuspension,   // ActorSystem::Suspend
  kHandler,      // a handler that awaits keeps the actor from handling messages
};
// "open", "closed", "start", "behavior", …
absl::string_view ClosedByName(ClosedBy closed_by);

struct MailboxInfo {
  std::string name;     // wire name
  std::string request;  // the type of its messages
  std::string reply;    // empty for a mailbox of tells
  int64_t capacity_messages = 0;
  // The bytes that wait, and their bound; nullopt if the mailbox is not bounded in bytes.
  absl::optional<int64_t> bytes;
  absl::optional<int64_t> capacity_bytes;
  ClosedBy closed_by = ClosedBy::kNothing;  // as of the last time that the actor became idle
  MessageLedger messages;                   // what became of its messages; `waiting` is how many wait
  // How long the oldest message has waited, with the limits of ActorInfo::oldest_age.
  absl::Duration oldest_age;
};

struct ActorInfo {
  Pid pid;
  ActorState state = ActorState::kIdle;
  // For kRunning and kStuck: the handler or function that runs, such as "auction.Auction/MakeOffer" or "Start", and for
  // how long, to some milliseconds.
  std::string doing;
  absl::Duration doing_for;
  absl::Duration suspended_for;    // time until its suspension ends (ActorSystem::Suspend); zero if it is not suspended
  int64_t waiting = 0;             // messages that wait in all its mailboxes
  int64_t waiting_bytes = 0;       // their bytes, in the mailboxes that are bounded in bytes
  std::vector<std::string> names;  // of the node and of the cluster, in order

  // False if the actor was queued when it was looked at. Then the fields below are empty, except noted_within and, if
  // its start is over and it is not ending, its parent, class and behavior.
  bool is_complete = false;
  // If the actor is queued, its mailboxes and its behavior are shown as its last turn left them, at most this long ago.
  // The time counts from when the actor last sorted a message that had waited; zero if that is not known.
  absl::Duration noted_within;
  Pid parent;  // null: a plain thread spawned the actor
  std::string class_name;
  std::string label;     // SpawnOptions::label
  std::string behavior;  // the name of the current behavior; empty if it has none
  // The handlers that have begun and await something, the oldest first.
  std::vector<std::string> awaiting;
  // The callees of the actor's calls that have no answer yet: one for each call, in no particular order, at most
  // limits::kTiesToldMax.
  std::vector<Pid> asks;
  // The number of the actor's running timers: its named timers, and the timers of its behavior (At, After, Every,
  // Idle). The first timer is due in `next_timer_in`, which is zero if that timer is late, and infinite if there is
  // none.
  int64_t timers = 0;
  absl::Duration next_timer_in = absl::InfiniteDuration();
  // How long the oldest message has waited in a mailbox, to 100 ms; zero if none waits. The time counts from the turn
  // that sorted the message. A message that did not wake the actor counts from its arrival, and a message that arrived
  // while the present handler runs counts from the beginning of that handler. Of messages that were never sorted, only
  // the newest limits::kArrivedLookMax are looked at. If a message did not wake the actor and waits unsorted for longer
  // than nine hours and three quarters, its age is shown too low (WaitingMark).
  absl::Duration oldest_age;

  // Only InspectActor sets the fields below.

  std::vector<MailboxInfo> mailboxes;  // in order of declaration
  // The actors linked to this one, the actors that it monitors, and the actors that monitor it. Empty if is_complete is
  // false. Each list has at most the first limits::kTiesToldMax actors; the counts below are complete.
  std::vector<Pid> links;
  std::vector<Pid> monitors;
  std::vector<Pid> monitored_by;
  int64_t link_count = 0;
  int64_t monitor_count = 0;
  int64_t monitored_by_count = 0;
};

}  // namespace understudy

#endif  // UNDERSTUDY_ACTORS_ACTOR_INFO_H_
