// Exits: what an actor does about exits and requests to stop, whether its parent has told it to end, and why it ends.
//
// A plain state machine: it has no clock, sends nothing and runs no handler. The exits that wait for a handler are in
// EventQueue. Owner only.
#ifndef UNDERSTUDY_ACTORS_INTERNAL_TURN_EXITS_H_
#define UNDERSTUDY_ACTORS_INTERNAL_TURN_EXITS_H_

#include <cstdint>
#include <memory>
#include <utility>

#include "absl/types/optional.h"
#include "understudy/actors/crash_report.h"
#include "understudy/actors/exit_reason.h"
#include "understudy/actors/internal/turn/event_queue.h"
#include "understudy/actors/internal/turn/message_handler.h"

namespace understudy::internal {

class Exits {
 public:
  using Handler = std::shared_ptr<MessageHandler>;

  // From now on exits are events. A null handler: a Receive takes them, or, of the parent, the actor ends.
  void Trap(Handler handler, Handler parents_handler);
  // Null, as without a call: the actor ends.
  void SetStopHandler(Handler handler) { stop_handler_ = std::move(handler); }

  // The effect of an exit signal on the actor: none, its end, or an event for a handler.
  enum class Effect { kNothing, kEndsActor, kIsEvent };
  // `is_own`: the actor has sent it to itself.
  Effect EffectOf(const ExitReason& reason, bool is_own) const;

  // True for exits and requests to stop. Their handler is the one that is set when they are handled, not the one that
  // was set when they arrived.
  static bool IsHandled(Event::Kind kind) {
    return kind == Event::Kind::kExit || kind == Event::Kind::kParentExit || kind == Event::Kind::kStopRequest;
  }
  // Requires IsHandled(kind). Null if no handler is set.
  const Handler& HandlerOf(Event::Kind kind) const;

  // Records that an exit of the parent has arrived, so the actor has been told to end.
  void NoteParentsExit() { is_told_to_end_ = true; }
  // Never false again once it is true.
  bool is_told_to_end() const { return is_told_to_end_; }
  // The executor's timer that kills the actor if it takes too long for its parent's exit; 0 when none runs.
  uint64_t parents_timer() const { return parents_timer_; }
  void SetParentsTimer(uint64_t timer) { parents_timer_ = timer; }
  uint64_t TakeParentsTimer() { return std::exchange(parents_timer_, 0); }

  // Sets the reason with which the actor ends. A later call replaces it, as when an ending actor is fenced.
  void End(ExitReason reason) { reason_ = std::move(reason); }
  // Null if End was not called: then the actor, if it ends, ends with Normal.
  const ExitReason* reason() const { return reason_.has_value() ? &*reason_ : nullptr; }
  // Adds the report of an actor that ends abnormally by its own doing to its reason. Requires that End was called.
  void AddCrash(std::shared_ptr<const CrashReport> crash);
  // The report that AddCrash added. Null without AddCrash, also when the reason came from a peer and has a report.
  const CrashReport* crash() const { return has_crashed_ ? reason_->crash() : nullptr; }

  // The actor handles nothing more.
  void DropHandlers();

 private:
  Handler handler_;
  Handler parents_handler_;
  Handler stop_handler_;
  absl::optional<ExitReason> reason_;
  uint64_t parents_timer_ = 0;
  bool traps_ = false;
  bool is_told_to_end_ = false;
  bool has_crashed_ = false;
};

}  // namespace understudy::internal

#endif  // UNDERSTUDY_ACTORS_INTERNAL_TURN_EXITS_H_
