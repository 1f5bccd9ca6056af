// TurnScope: while it lives, a turn runs on this thread.
#ifndef UNDERSTUDY_ACTORS_INTERNAL_TURN_SCOPE_H_
#define UNDERSTUDY_ACTORS_INTERNAL_TURN_SCOPE_H_

#include "understudy/actors/internal/system_core.h"

namespace understudy::internal {

class TurnScope {
 public:
  // Nobody's.
  TurnScope() : outer_(this_turn) { this_turn = &turn_; }
  TurnScope(SystemCore* system, ActorCore* actor, Worker* worker, Pid self)
      : turn_{.system = system, .actor = actor, .worker = worker, .self = self}, outer_(this_turn) {
    this_turn = &turn_;
  }
  ~TurnScope() { this_turn = outer_; }
  CurrentTurn& turn() { return turn_; }
  TurnScope(const TurnScope&) = delete;
  TurnScope& operator=(const TurnScope&) = delete;

 private:
  CurrentTurn turn_;
  CurrentTurn* const outer_;
};

}  // namespace understudy::internal

#endif  // UNDERSTUDY_ACTORS_INTERNAL_TURN_SCOPE_H_
