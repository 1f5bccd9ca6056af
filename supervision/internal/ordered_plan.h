// OrderedPlan: the progress of a supervisor that stops and starts its children one after another.
//
// A plan has a group: the children whose key is at least `first`. The plan stops the children of the group that are up,
// the last one first, and then starts the group in order. The first start of a supervisor has no children to stop; the
// plan that stops all children starts none.
//
// Invariant: while the plan stops, every child of the group at or above `cursor` is down (or told to stop, where
// children are stopped together). While it starts, every child of the group below `cursor` has had its start, and
// `cursor` is the next one, or the one that is being started.
//
// The class knows only the keys of children: its owner starts and stops them, and tells the plan. Owner only.
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
    kFirstStart,  // the supervisor counts as started when the plan has ended
    kGroup,       // restarts a group
    kStopAll,     // the supervisor ends when the plan has ended
  };

  // Makes a plan that starts all children. Call TurnBack then for a plan that begins by stopping some.
  explicit OrderedPlan(Kind kind) : kind_(kind) {}
  // Makes a plan that stops all children; `end` is greater than their keys.
  static OrderedPlan StopAll(ExitReason reason, Key end) {
    OrderedPlan plan(Kind::kStopAll);
    plan.reason_ = std::move(reason);
    plan.TurnBack(0, end);
    return plan;
  }

  // Replaces the present plan: stops the children from `first` on, and then starts them. `end` must be greater than the
  // key of every child.
  void TurnBack(Key first, Key end) {
    is_stopping_ = true;
    first_ = first;
    cursor_ = end;
    is_starting_one_ = false;
    is_cancelled_ = false;
  }
  // Makes the plan end when the group is stopped. Another plan starts the group.
  void EndWhenStopped() { ends_when_stopped_ = true; }
  // Makes the plan start no child after the one that is being started.
  void Cancel() { is_cancelled_ = true; }

  void MoveTo(Key cursor) { cursor_ = cursor; }
  // Call when the group is stopped. The plan then starts the group.
  void HasStopped() {
    is_stopping_ = false;
    cursor_ = first_;
  }
  void BeginsToStart(Key key) {
    is_starting_one_ = true;
    cursor_ = key;
  }
  // Call when the start of that child has succeeded, failed or was cancelled. Ignored unless the plan began that start.
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
  // True if the plan was cancelled and no start that it began is under way.
  bool is_abandoned() const { return is_cancelled_ && !is_starting_one_; }
  bool Includes(Key key) const { return key >= first_; }
  bool WillStop(Key key) const { return is_stopping_ && Includes(key); }
  // True if the plan is starting that child or will start it.
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
