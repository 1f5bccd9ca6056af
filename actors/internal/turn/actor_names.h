// The functions for names in an actor's turn: its own name, names that it keeps, looks up or watches. The
// functions use no other state of the actor than its public parts. Owner's turn only, and in kernel code unless a
// function says otherwise.
#ifndef UNDERSTUDY_ACTORS_INTERNAL_TURN_ACTOR_NAMES_H_
#define UNDERSTUDY_ACTORS_INTERNAL_TURN_ACTOR_NAMES_H_

#include <memory>
#include <vector>

#include "absl/status/status.h"
#include "absl/strings/string_view.h"
#include "absl/time/time.h"
#include "absl/types/optional.h"
#include "understudy/actors/exit_reason.h"
#include "understudy/actors/internal/asks/ask_table.h"
#include "understudy/actors/internal/turn/message_handler.h"
#include "understudy/actors/pid.h"
#include "understudy/actors/registry.h"
#include "understudy/actors/task.h"

namespace understudy::internal {

class ActorCore;

// The actor's mailboxes, as a lookup of its name returns them. Empty until the constructor has run.
std::vector<MailboxSignature> Signatures(const ActorCore& core);

// Begins a lookup of `name`. Its answer is the name's record, or an error if the name has no owner within `timeout`.
PendingId StartLookup(ActorCore& core, absl::string_view name, absl::Duration timeout);
// Takes `name` on this node, and begins to publish it. The answer says whether that succeeded.
PendingId Publish(ActorCore& core, absl::string_view name, Pid kept_by = Pid());
absl::Status Register(ActorCore& core, absl::string_view name, Pid kept_by = Pid());
// At the beginning of the start, in user code: takes the names that the spawn gave the actor. Returns the reason with
// which the start ends if one was not taken.
Task<absl::optional<ExitReason>> TakeNames(ActorCore& core);
void KeepName(ActorCore& core, NameKeep keep);
// Each change of the owner of `name` becomes an event for `handler`. A watch of that name that the actor has is ended
// first. InvalidArgument if it is no name; Full.
absl::Status WatchName(ActorCore& core, absl::string_view name, std::shared_ptr<MessageHandler> handler);
// Ends the watch of `name`, if there is one, and removes its events.
void UnwatchName(ActorCore& core, absl::string_view name);

}  // namespace understudy::internal

#endif  // UNDERSTUDY_ACTORS_INTERNAL_TURN_ACTOR_NAMES_H_
