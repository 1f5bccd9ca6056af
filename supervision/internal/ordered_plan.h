// OrderedPlan: how far a supervisor has come with starting or stopping its children one after another.
//
// A plan has a group: the children whose key is at least `first`. It stops those of them that are up, the last one
// first, and then starts them in order; a first start has nothing to stop, and a stop of all starts nothing.
//
// Invariant: while the plan stops, every child of the group at or above `cursor` is down (or told to stop, where
// children are stopped together). While it starts, every child of the group below `cursor` has had its start, and
// `cursor` is the next one, or the one that is being started.
//
// Knows keys only: its owner says what became of the children, and asks where to go on. Owner only.
#ifndef UNDERSTUDY_SUPERVISION_INTERNAL_ORDERED_PLAN_H_
#define UNDERSTUDY_SUPERVISION_INTERNAL_ORDERED_PLAN_H_

#include <utility>

#include "understudy/actors/exit_reason.h"
#include "understudy/supervision/internal/child_table.h"

namespace understudy {

class OrderedPlan {
 public:
  using Key = ChildTable::Key;

  enum class Kind {
    kFirstStart,  // the supervisor is not started before it has ended
    kGroup,
    kStopAll,  // the supervisor ends afterwards
  };

  // Starts all children. Call TurnBack for a plan that begins by stopping some.
  explicit OrderedPlan(Kind kind) : kind_(kind) {}
  // Stops all children; `end` is above their keys.
  static OrderedPlan StopAll(ExitReason reason, Key end) {
    OrderedPlan plan(Kind::kStopAll);
    plan.reason_ = std::move(reason);
    plan.TurnBack(0, end);
    return plan;
  }

  // The plan stops the children from `first` on, whatever it was doing; `end` is above all keys.
  void TurnBack(Key first, Key end) {
    is_stopping_ = true;
    first_ = first;
    cursor_ = end;
    is_starting_one_ = false;
    is_cancelled_ = false;
  }
  // The plan ends when the group is stopped, because its start is another plan.
  void EndWhenStopped() { ends_when_stopped_ = true; }
  // The plan starts no child after the present one.
  void Cancel() { is_cancelled_ = true; }

  void MoveTo(Key cursor) { cursor_ = cursor; }
  // The group is stopped: its start begins.
  void HasStopped() {
    is_stopping_ = false;
    cursor_ = first_;
  }
  void BeginsToStart(Key key) {
    is_starting_one_ = true;
    cursor_ = key;
  }
  // The start of that child is over, whether it runs or not. Ignored unless the plan began that start.
  void StartIsOver(Key key) {
    if (!is_starting_one_ || cursor_ != key) return;
    is_starting_one_ = false;
    cursor_ = key + 1;
  }

  Kind kind() const { return kind_; }
  const ExitReason& reason() const { return reason_; }  // of kStopAll
  Key first() const { return first_; }
  Key cursor() const { return cursor_; }
  bool is_stopping() const { return is_stopping_; }
  bool is_starting_one() const { return is_starting_one_; }
  bool ends_when_stopped() const { return ends_when_stopped_; }
  // Nothing is left to start, because the plan was cancelled.
  bool is_abandoned() const { return is_cancelled_ && !is_starting_one_; }
  bool Includes(Key key) const { return key >= first_; }
  bool WillStop(Key key) const { return is_stopping_ && Includes(key); }
  // Whether the plan will start that child, or is starting it.
  bool WillStart(Key key) const { return !is_cancelled_ && Includes(key) && (is_stopping_ || key >= cursor_); }

 private:
  Kind kind_;
  ExitReason reason_;
  Key first_ = 0;
  Key cursor_ = 0;
  bool is_stopping_ = false;
  bool is_starting_one_ = false;
  bool is_cancelled_ = false;
  bool ends_when_stopped_ = false;
};

}  // namespace understudy

#endif  // UNDERSTUDY_SUPERVISION_INTERNAL_ORDERED_PLAN_H_
