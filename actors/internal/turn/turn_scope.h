// Scopes that set whose turn runs on this thread.
#ifndef UNDERSTUDY_ACTORS_INTERNAL_TURN_TURN_SCOPE_H_
#define UNDERSTUDY_ACTORS_INTERNAL_TURN_TURN_SCOPE_H_

#include "understudy/actors/check.h"
#include "understudy/actors/internal/send/actor_cell.h"
#include "understudy/actors/internal/system/system_core.h"
#include "understudy/actors/internal/turn/current_turn.h"

namespace understudy::internal {

// While it lives, this thread runs a turn of the actor in `cell`. Requires that the thread runs no actor's turn.
class TurnScope {
 public:
  TurnScope(SystemCore* system, ActorCell& cell)
      : turn_{.system = system,
              .cell = &cell,
              .self = cell.pid(),
              .gates = cell.gates(),
              .layout = cell.layout(),
              .left_remote = {},
              .remains = {}} {
    UNDERSTUDY_DCHECK(this_turn->cell == nullptr, "a turn within a turn");
    this_turn = &turn_;
  }
  ~TurnScope() { this_turn = &no_turn; }
  TurnScope(const TurnScope&) = delete;
  TurnScope& operator=(const TurnScope&) = delete;
  CurrentTurn& turn() { return turn_; }

 private:
  CurrentTurn turn_;
};

// Within a turn: while it lives, code on this thread counts as running in no actor's turn.
class NobodysTurn {
 public:
  NobodysTurn() : outer_(this_turn) { this_turn = &no_turn; }
  ~NobodysTurn() { this_turn = outer_; }
  NobodysTurn(const NobodysTurn&) = delete;
  NobodysTurn& operator=(const NobodysTurn&) = delete;

 private:
  CurrentTurn* const outer_;
};

}  // namespace understudy::internal

#endif  // UNDERSTUDY_ACTORS_INTERNAL_TURN_TURN_SCOPE_H_
