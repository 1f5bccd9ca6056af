// Rare: the state that an actor has besides its mailboxes and its behavior, allocated at the first use of any of it.
// Most members are parts: classes that keep one invariant each and know neither the clock nor the system, so their
// tests (actor_core.h lists them) need no actor. Owner's turn only.
#ifndef UNDERSTUDY_ACTORS_INTERNAL_TURN_ACTOR_RARE_H_
#define UNDERSTUDY_ACTORS_INTERNAL_TURN_ACTOR_RARE_H_

#include <cstdint>
#include <memory>
#include <string>
#include <vector>

#include "absl/status/status.h"
#include "absl/time/time.h"
#include "absl/types/optional.h"
#include "understudy/actors/actor_spec.h"
#include "understudy/actors/behavior.h"
#include "understudy/actors/clock.h"
#include "understudy/actors/exit_reason.h"
#include "understudy/actors/internal/asks/ask_table.h"
#include "understudy/actors/internal/system/ledger_book.h"
#include "understudy/actors/internal/turn/activations.h"
#include "understudy/actors/internal/turn/actor_start.h"
#include "understudy/actors/internal/turn/actor_timers.h"
#include "understudy/actors/internal/turn/answer_right.h"
#include "understudy/actors/internal/turn/behavior_stack.h"
#include "understudy/actors/internal/turn/closed_mailboxes.h"
#include "understudy/actors/internal/turn/crash_notes.h"
#include "understudy/actors/internal/turn/event_queue.h"
#include "understudy/actors/internal/turn/exits.h"
#include "understudy/actors/internal/turn/link_table.h"
#include "understudy/actors/internal/turn/postponed_mail.h"
#include "understudy/actors/internal/turn/watches.h"
#include "understudy/actors/message.h"
#include "understudy/actors/pid.h"
#include "understudy/actors/random.h"

namespace understudy::internal {

// The arguments that Spawn stores for the actor's first turn, which constructs the actor.
struct SpawnArguments {
  MakeActor make;
  SpawnRecord record;
  absl::optional<ExitReason> has_failed;  // if set, the actor ends with this reason and is not constructed
};

struct Rare {
  SpawnRecord spawn;

  std::unique_ptr<Exits> exits;             // made at first use
  std::unique_ptr<CrashNotes> crash_notes;  // likewise, where the system keeps last messages
  absl::optional<Random> random;

  LedgerBook::Page* ledger = nullptr;  // of dispositions other than handled
  PostponedMail postponed;
  std::vector<Envelope*> unsorted;  // arrived after the signal that ends the actor
  EventQueue events;
  Activations activations;
  BehaviorStack behaviors;
  bool passes_calls_on = false;
  std::vector<std::pair<Pid, uint64_t>> early_cancels;  // of calls that may follow in the batch that is being drained

  ClosedMailboxes closed;

  LinkTable links;
  std::unique_ptr<Watches> watches;  // made at first use
  // Until the actor has started: the mailboxes that no clause names, though one has to. Bit i is mailbox i.
  uint64_t unhandled_mailboxes = 0;

  std::unique_ptr<ActorTimers> timers;  // made at first use
  // When the first of the messages that WatchExpiry looks at expires.
  MonotonicTime expires_at = MonotonicTime::InfiniteFuture();
  uint64_t executor_timer = 0;
  MonotonicTime executor_time = MonotonicTime::InfiniteFuture();

  std::unique_ptr<AskTable> asks;
  HeldRights rights;  // to answer the calls whose Repliers this actor has
};

}  // namespace understudy::internal

#endif  // UNDERSTUDY_ACTORS_INTERNAL_TURN_ACTOR_RARE_H_
