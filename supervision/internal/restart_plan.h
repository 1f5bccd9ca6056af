// RestartPlan decides what a supervisor does next. It is a pure state machine without threads, clock,
// actors or logging: its owner applies the actions and reports their results as inputs.
//
//   RestartPlan plan(spec, random);
//   plan.StartAll(now);
//   for (RestartPlan::Action& action : plan.TakeActions()) …   // StartLife: spawn, then plan.Started(life, now)
//
// A *life* is one run of a child. Every StartLife names a new life, and every later input about that run
// names the same life. Inputs about an ended life, and timers that were cancelled, are ignored, so the
// owner may report events that an action has overtaken.
//
// Ordered plans. With one_for_one each child is restarted or stopped on its own; only the first start and the
// final stop go through the children in order. With one_for_all and rest_for_one one thing is done at a time:
// while an ordered plan runs, requests and exits that concern other children wait until it has ended, in the
// order of arrival. A wait for a backoff or for a name is not part of a plan.
//
// An exit of a child of the running plan's group changes the plan. A child that is to be stopped anyway is
// merely down. A child that the plan has already started is restarted by the rules of the strategy, which may
// turn the plan back: the plan then stops the group, and the start waits in its turn behind the requests and
// exits that came before. So does the next attempt of a start that failed. Terminating or deleting the child
// that is being started cancels its start and, with one_for_all and rest_for_one, the plan: the children that
// it has not started stay down.
//
// A pool is a one_for_one whose children are made from one template by request. A child of a pool is forgotten
// when it is down for good, and the children stop side by side. An input about one child takes at most logarithmic
// time in the number of children.
//
// A killed handler of an exclusive child, or an actor below it, may still run after the child's end. The child is
// not started again before that life is gone; meanwhile it waits as for a backoff. No other exclusive child can
// get its id until then, even when the child is forgotten.
//
// The parts: ChildTable (the children and their states), WaitingInputs (requests and exits that wait for their
// turn), OrderedPlan (the progress of the running plan), ChildTimers, Predecessors, WatchedNames, KeptNames,
// RestartDecider.
//
// Finish is the last action. Owner only, except for ChildTable::Look and RestartWindow::CountAt.
#ifndef UNDERSTUDY_SUPERVISION_INTERNAL_RESTART_PLAN_H_
#define UNDERSTUDY_SUPERVISION_INTERNAL_RESTART_PLAN_H_

#include <cstdint>
#include <memory>
#include <string>
#include <utility>
#include <variant>
#include <vector>

#include "absl/status/status.h"
#include "absl/strings/string_view.h"
#include "absl/time/time.h"
#include "absl/types/optional.h"
#include "understudy/actors/clock.h"
#include "understudy/actors/exit_reason.h"
#include "understudy/actors/pid.h"
#include "understudy/actors/random.h"
#include "understudy/supervision/child_spec.h"
#include "understudy/supervision/internal/child_names.h"
#include "understudy/supervision/internal/child_table.h"
#include "understudy/supervision/internal/child_waits.h"
#include "understudy/supervision/internal/ordered_plan.h"
#include "understudy/supervision/internal/restart_decision.h"
#include "understudy/supervision/internal/restart_window.h"
#include "understudy/supervision/internal/waiting_inputs.h"
#include "understudy/supervision/supervision_event.h"

namespace understudy {

// The answer of a pool to StartChild.
absl::Status OnlyMembersError();
// The answer of a pool to RestartChild and DeleteChild.
absl::Status NobodyIsStoppedError();
// The answer to a TerminateChild for a pid that no child of the supervisor has.
absl::Status UnknownPidError(const Pid& pid);

class RestartPlan {
 public:
  using LifeId = ChildTable::LifeId;
  using TimerId = ChildTimers::TimerId;
  using RequestId = ChildTable::RequestId;

  // Actions.
  struct StartLife {
    LifeId life = 0;
    std::shared_ptr<const ChildSpec> child;
  };
  // Ask the life to exit with Shutdown.
  struct StopLife {
    LifeId life = 0;
  };
  struct KillLife {
    LifeId life = 0;
  };
  // Call TimerElapsed(timer) after `wait`, unless a CancelTimer comes before.
  struct ArmTimer {
    TimerId timer = 0;
    absl::Duration wait;
  };
  struct CancelTimer {
    TimerId timer = 0;
  };
  struct Reply {
    RequestId request = 0;
    absl::Status status;
    Pid pid;  // the child's if `status` is OK; null if the answer has none
  };
  // Call NameTaken if `name` has an owner and whenever it gets one, and NameFreed when it is free again.
  struct WatchName {
    std::string name;
  };
  // Call Gone when `life`, for which Lingers was called, is gone.
  struct AwaitGone {
    LifeId life = 0;
    std::shared_ptr<const ChildSpec> child;
  };
  // Stop keeping the child's names, which were kept since StartLife: the child will not be started again.
  struct FreeNames {
    std::shared_ptr<const ChildSpec> child;
  };
  // Drop everything that is kept for a next life of the child: it is forgotten.
  struct ForgetChild {
    std::shared_ptr<const ChildSpec> child;
  };
  // Tell the listeners of `event`, whose `supervisor` is left for the owner to fill in.
  struct Report {
    SupervisionEvent event;
  };
  // The first start is complete. Comes at most once.
  struct StartDone {};
  // Every child has ended: end with `reason`. The last action.
  struct Finish {
    ExitReason reason;
  };
  using Action = std::variant<StartLife, StopLife, KillLife, ArmTimer, CancelTimer, Reply, WatchName, AwaitGone,
                              FreeNames, ForgetChild, Report, StartDone, Finish>;

  // Requires a valid spec.
  RestartPlan(const SupervisorSpec& spec, Random random);
  RestartPlan(const RestartPlan&) = delete;
  RestartPlan& operator=(const RestartPlan&) = delete;

  // Sets whether the plan emits Report actions, as it does at first. The owner turns them off while there is no
  // listener.
  void set_reports(bool reports) { has_reports_ = reports; }

  // Returns the actions to apply, oldest first. Applying an action may call any input.
  std::vector<Action> TakeActions();

  // Inputs: the first start, and the end.
  // Call before StartAll. Records that a life of the child `id`, left by a previous instance of this
  // supervisor, is not gone; `id` need not be a current child. Continues as after an AwaitGone of the
  // result.
  LifeId AddPredecessor(absl::string_view id);
  void StartAll(MonotonicTime now);
  // Stops every child, in reverse order, and finishes with `reason`. A second
  // call changes nothing.
  void Shutdown(const ExitReason& reason, MonotonicTime now);

  // Inputs: what became of lives. Ignored and Down end the life; a Down before Started is a failed start.
  void Spawned(LifeId life, Pid pid) { children_.SetPid(life, pid); }
  void Started(LifeId life, MonotonicTime now);
  void Ignored(LifeId life, MonotonicTime now);
  void Down(LifeId life, const ExitReason& reason, MonotonicTime now);
  // Call just before Ignored or Down for a life of an exclusive child that is not gone then, because its killed handler
  // runs on, say. An AwaitGone for the life follows, and the child's next start waits for Gone.
  void Lingers(LifeId life) { predecessors_.Lingers(life); }
  void TimerElapsed(TimerId timer, MonotonicTime now);
  void NameTaken(absl::string_view name) { watched_names_.Taken(name); }
  void NameFreed(absl::string_view name, MonotonicTime now);
  void Gone(LifeId life, MonotonicTime now);

  // Inputs: requests. Each gets one Reply, at once or later:
  // StartChild: OK and the pid (null if the child declined to start); AlreadyExists,
  //   see existing_child.h; InvalidArgument for a bad spec. If the child could
  //   not start: the reason, with the code of its cause (FailedPrecondition for an
  //   exception or the end of a process); the spec is then forgotten.
  // TerminateChild: OK when the child is down. It stays down until it is started by
  //   RestartChild or with its siblings; a temporary child is forgotten.
  // RestartChild: as StartChild, for a child that is stopped; else
  //   FailedPrecondition. A child that could not start stays stopped.
  // DeleteChild: OK for a stopped child, and for a child that is being started, which is then
  //   stopped first; else FailedPrecondition.
  // StartMember: StartChild for a pool: starts a child of its template with this id (if empty, the template's
  //   id, '#' and a number), made by `start` (if null, as the template says).
  // All: NotFound for an unknown id, Stopping once the end has begun,
  //   ResourceExhausted beyond the limits; FailedPrecondition if only other supervisors than pools, or only
  //   pools, have such a request.
  // A pid means the child that has it, or the child that is down and had it last.
  void StartChild(ChildSpec spec, RequestId request, MonotonicTime now);
  void StartMember(std::string id, std::shared_ptr<const ChildStart> start, RequestId request, MonotonicTime now);
  void TerminateChild(absl::string_view id, RequestId request, MonotonicTime now);
  void TerminateChild(Pid pid, RequestId request, MonotonicTime now);
  void RestartChild(absl::string_view id, RequestId request, MonotonicTime now);
  void DeleteChild(absl::string_view id, RequestId request, MonotonicTime now);

  // Observers; they answer at once, from the present state.
  const ChildTable& children() const { return children_; }
  const RestartWindow& window() const { return decider_.window(); }
  // True if a life of an exclusive child with that id has ended and is not gone.
  bool HasPredecessor(absl::string_view id) const { return predecessors_.Has(id); }
  // True if the names of that life's child are to be kept when it goes down: from each start on, unless the child
  // is temporary, and for as long as it will be started again.
  bool KeepsNames(LifeId life) const;
  bool is_stopping() const { return plan_.has_value() && plan_->kind() == OrderedPlan::Kind::kStopAll; }
  bool is_finished() const { return stage_ == Stage::kFinished; }

 private:
  using Key = ChildTable::Key;
  using Child = ChildTable::Child;
  using State = ChildTable::State;

  enum class Stage {
    kFirstStart,
    kStarted,   // StartDone was emitted
    kFinished,  // Finish was emitted
  };

  // Children and their lives (restart_plan.cc).
  void Forget(Child& child);
  void SetState(Child& child, State state);
  bool IsForgottenWhenDown(const Child& child) const;
  void EndLife(Child& child);
  void BeginStart(Child& child);
  void ForgetArguments(Child& child);
  void BeginStop(Child& child);
  void NoteExit(Child& child, const ExitReason& reason);
  void HandleIgnored(Child& child);
  void HandleStartFailed(Child& child, const ExitReason& reason);
  void HandleExited(Child& child, const ExitReason& reason);
  void HandleStopped(Child& child, const ExitReason& reason);
  void StartIsOver(const Child& child);

  // Decisions after an exit (restart_plan.cc).
  bool MayJudge(const Child& child) const;
  void JudgeExit(Child& child, const ExitReason& reason);
  void RestartOrGiveUp(Child& child, const ExitReason& reason);
  void GiveUp(Child& child, const RestartDecision& decision, const ExitReason& reason);
  void RestartGroup(const Child& child);
  void CheckAutoShutdown();
  void BeginStopAll(const ExitReason& reason);

  // Waits for a name or a predecessor, and the names that are kept meanwhile (restart_plan_waits.cc).
  void Park(Child& child, const ExitReason& reason);
  void WaitIsOver(Child& child);
  void AwaitTurn(const Child& child);
  void StopForsaken();
  bool MustWait(const Child& child) const { return child.spec->exclusive && HasPredecessor(child.spec->id); }
  void StartOrHold(Child& child);
  void Hold(Child& child);
  void HoldAllWithPredecessors();
  void StopKeepingNames(const Child& child);
  bool WillBeStarted(const Child& child) const;

  // Ordered plans, and inputs that wait for their end (restart_plan_steps.cc). StepPlan returns true if the plan has
  // ended; StepStop, StepStopTogether and StepStart return true if the stop or the start of the plan has.
  void Advance();
  bool StepPlan();
  bool StepStop();
  bool StepStopTogether();
  bool StepStart();
  void EndFirstStart();
  bool RunOneWaiting();
  void Run(const WaitingInput& input);

  // Requests (restart_plan_requests.cc).
  void Request(WaitingInput request, MonotonicTime now);
  bool AnswerWhileStarting(const WaitingInput& request);
  void DoStart(const WaitingInput& request);
  void DoTerminate(const WaitingInput& request, Child& child);
  void DoRestart(const WaitingInput& request, Child& child);
  void DoDelete(const WaitingInput& request, Child& child);
  void CancelRestart(Child& child);

  // Actions (restart_plan.cc). Request 0 stands for no request: its answer is dropped.
  void Answer(RequestId request, absl::Status status, Pid pid = Pid());
  void Tell(SupervisionEvent::Kind kind, const Child& child, Pid pid, const ExitReason& reason,
            absl::Duration wait = absl::ZeroDuration());
  void Arm(const Child& child, absl::Duration wait);
  void Disarm(const Child& child);

  // True for the strategies with an order, which do one thing at a time.
  bool is_serial() const { return flags_.strategy != RestartStrategy::kOneForOne; }
  bool is_pool() const { return flags_.pool != nullptr; }

  const SupervisorSpec flags_;  // without its children

  // The parts. Invariants between them: a child has a timer only while it is stopping, in backoff, held or parked;
  // inputs are deferred only with children that are starting or stopping; waiting_ is empty once is_stopping().
  RestartDecider decider_;
  ChildTable children_;
  ChildTimers timers_;
  Predecessors predecessors_;
  WatchedNames watched_names_;
  KeptNames kept_names_;
  WaitingInputs waiting_;
  absl::optional<OrderedPlan> plan_;  // the running one

  Stage stage_ = Stage::kFirstStart;
  MonotonicTime now_;               // the time of the present input
  bool auto_shutdown_due_ = false;  // a significant child has ended during the first start
  uint64_t last_member_ = 0;        // the number in the last generated id
  bool has_reports_ = true;
  std::vector<Action> actions_;  // those that TakeActions has not returned yet
};

}  // namespace understudy

#endif  // UNDERSTUDY_SUPERVISION_INTERNAL_RESTART_PLAN_H_
