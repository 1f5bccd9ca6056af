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

  // What an exit does.
  enum class Effect { kNothing, kEndsActor, kIsEvent };
  // `is_own`: the actor has sent it to itself.
  Effect EffectOf(const ExitReason& reason, bool is_own) const;

  // Of exits and requests to stop, which are handled by what is set when they are handled, not when they came.
  static bool IsHandled(Event::Kind kind) {
    return kind == Event::Kind::kExit || kind == Event::Kind::kParentExit || kind == Event::Kind::kStopRequest;
  }
  // Of a kind that IsHandled.
  const Handler& HandlerOf(Event::Kind kind) const;

  // The parent's exit came, and waits for its handler, or would.
  void NoteParentsExit() { is_told_to_end_ = true; }
  // Stays so.
  bool is_told_to_end() const { return is_told_to_end_; }
  // The executor's timer that kills the actor if it takes too long for its parent's exit; 0 when none runs.
  uint64_t parents_timer() const { return parents_timer_; }
  void SetParentsTimer(uint64_t timer) { parents_timer_ = timer; }
  uint64_t TakeParentsTimer() { return std::exchange(parents_timer_, 0); }

  // It is decided that the actor ends, and why. The later of two calls counts.
  void End(ExitReason reason) { reason_ = std::move(reason); }
  // Null when that was not said: then it is Normal, if it ends.
  const ExitReason* reason() const { return reason_.has_value() ? &*reason_ : nullptr; }
  // The actor ends abnormally by its own doing. After End.
  void AddCrash(std::shared_ptr<const CrashReport> crash);
  // What AddCrash added; null without it, also when the reason is a crashed peer's.
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
