// Whose turn runs on this thread.
#ifndef UNDERSTUDY_ACTORS_INTERNAL_TURN_TURN_SCOPE_H_
#define UNDERSTUDY_ACTORS_INTERNAL_TURN_TURN_SCOPE_H_

#include "understudy/actors/check.h"
#include "understudy/actors/internal/send/actor_cell.h"
#include "understudy/actors/internal/system/system_core.h"

namespace understudy::internal {

// A turn of the actor that has the cell. Where none runs: afterwards it is nobody's.
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

// Nobody's, within a turn.
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
