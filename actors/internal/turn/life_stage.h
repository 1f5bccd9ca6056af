// LifeStage: how far the life of one actor has come, from its constructor to its end, together with all else that makes
// a turn more than handling the oldest message, so that one comparison tells whether there is any of it.
//
// A plain state machine. Owner's turn only, except that another thread may call the const functions while it holds the
// actor's thread in user code, or holds the idle actor.
//
// Invariants between the fields:
//  1. kIsNotRunning is set exactly as long as start_ has not started.
//  2. kIsFenced implies kIsKilled and kIsEnding, and each of these three implies kHasExit. None of the four is ever
//     cleared.
#ifndef UNDERSTUDY_ACTORS_INTERNAL_TURN_LIFE_STAGE_H_
#define UNDERSTUDY_ACTORS_INTERNAL_TURN_LIFE_STAGE_H_

#include <cstdint>

#include "understudy/actors/internal/turn/actor_start.h"

namespace understudy::internal {

class LifeStage {
 public:
  // The start, in the order of StartProgress. The start is over when Started has been called, or the end is decided.
  const StartProgress& start() const { return start_; }
  void Constructed() { start_.Constructed(); }
  void Open() { start_.Open(); }
  void Decline() { start_.Decline(); }
  void BecomeProcess() { start_.BecomeProcess(); }
  void Started() {
    start_.Started();
    Set(kIsNotRunning, false);
  }

  // The end of the life is decided: the actor handles nothing more, and ends when its handler has returned. The first
  // decision counts: returns false if there was one before, which stays.
  bool DecideEnd() {
    if (has_exit()) return false;
    Set(kHasExit, true);
    return true;
  }
  // Likewise, by a Kill, so that no OnExit runs.
  bool DecideKill() {
    if (!DecideEnd()) return false;
    Set(kIsKilled, true);
    return true;
  }
  // The decided end begins: nothing can arrive any more.
  void BeginEnd() { Set(kIsEnding, true); }
  // Another thread ends the life while a handler runs.
  void BecomeFenced() { flags_ = static_cast<uint8_t>(flags_ | kHasExit | kIsKilled | kIsEnding | kIsFenced); }

  bool has_exit() const { return (flags_ & kHasExit) != 0; }
  bool is_killed() const { return (flags_ & kIsKilled) != 0; }
  bool is_ending() const { return (flags_ & kIsEnding) != 0; }
  // True if the life is over for all others, but its handler still runs.
  bool is_fenced() const { return (flags_ & kIsFenced) != 0; }

  // The behavior that was entered has one rank and neither guards nor predicates, or not so.
  void SetSimple(bool is_simple) { Set(kIsNotSimple, !is_simple); }
  // Kernel code has let go of user objects, which the turn is to destroy.
  void SetDeferred(bool has_deferred) { Set(kHasDeferred, has_deferred); }
  bool has_deferred() const { return (flags_ & kHasDeferred) != 0; }
  // The inbox is to be drained before the next message is handled.
  void SetDrainsSoon(bool drains_soon) { Set(kDrainsSoon, drains_soon); }
  bool drains_soon() const { return (flags_ & kDrainsSoon) != 0; }

  // True if the actor runs and does not end, its behavior is simple, no user objects are to be destroyed, and the inbox
  // need not be drained first.
  bool is_plain() const { return flags_ == 0; }

 private:
  enum Flag : uint8_t {
    kIsNotRunning = 1,
    kIsNotSimple = 2,
    kIsKilled = 4,
    kHasExit = 8,
    kIsFenced = 16,
    kHasDeferred = 32,
    kDrainsSoon = 64,
    kIsEnding = 128,
  };

  void Set(Flag flag, bool is_set) { flags_ = static_cast<uint8_t>(is_set ? flags_ | flag : flags_ & ~flag); }

  StartProgress start_;
  uint8_t flags_ = kIsNotRunning | kIsNotSimple;
};
static_assert(sizeof(LifeStage) == 2);

}  // namespace understudy::internal

#endif  // UNDERSTUDY_ACTORS_INTERNAL_TURN_LIFE_STAGE_H_
