// RestartPlan decides what a supervisor does next. It is a pure state machine without threads, clock,
// actors or logging: its owner applies the actions and reports their results as inputs.
//
//   RestartPlan plan(spec, random);
//   plan.StartAll(now);
//   for (RestartPlan::Action& action : plan.TakeActions()) …   // kStart: spawn, then plan.Started(life, now)
//
// A *life* is one run of a child. Every kStart names a new life, and every later input about that run
// names the same life. Inputs about an ended life, and timers that were cancelled, are ignored, so the
// owner may report events that an action has overtaken.
//
// Plans. With one_for_one each child's restart or stop goes on by itself; the
// first start and the final stop go through the children in order. With
// one_for_all and rest_for_one one thing is done at a time. While an ordered
// plan runs, requests and exits that concern other children wait for its end,
// in the order of arrival. A wait for backoff, or for a name, is not a plan.
//
// An exit inside the running plan changes it: a child that is to be stopped
// anyway is merely down; one that the plan has already started is restarted by
// the rules of the strategy, which may turn the plan back: it then stops the
// group, and the start waits in its turn behind the requests and exits that came
// before. So does the next attempt of a start that failed. Terminating or
// deleting the child that is being started cancels its start, and with
// one_for_all and rest_for_one the plan: what it has not started stays down.
//
// A pool is a one_for_one whose children are made of one template, by request,
// are forgotten when they are down for good, and stop side by side. No input
// about one child costs more than a search among the others.
//
// An exclusive child whose killed handler runs on, or of whose life anything else
// is left, is not started before that life is gone; meanwhile it waits as for a
// backoff. Its id stays its own until then, also when the child is forgotten.
//
// After kFinish nothing follows. Owner only.
#ifndef UNDERSTUDY_SUPERVISION_INTERNAL_RESTART_PLAN_H_
#define UNDERSTUDY_SUPERVISION_INTERNAL_RESTART_PLAN_H_

#include <cstddef>
#include <cstdint>
#include <deque>
#include <functional>
#include <map>
#include <memory>
#include <set>
#include <string>
#include <utility>
#include <vector>

#include "absl/container/flat_hash_map.h"
#include "absl/status/status.h"
#include "absl/status/statusor.h"
#include "absl/strings/string_view.h"
#include "absl/time/time.h"
#include "absl/types/optional.h"
#include "understudy/actors/clock.h"
#include "understudy/actors/exit_reason.h"
#include "understudy/actors/pid.h"
#include "understudy/actors/random.h"
#include "understudy/supervision/child_spec.h"
#include "understudy/supervision/internal/restart_decision.h"
#include "understudy/supervision/supervision_event.h"

namespace understudy {

// What a child is doing.
enum class ChildState {
  kStopped,  // not running, and nobody is about to start it
  kStarting,
  kRunning,
  kStopping,    // told to stop
  kRestarting,  // down, to be started again: its turn has not come, or it waits
  kParked,      // down: it waits for its name
};
absl::string_view ChildStateName(ChildState state);

struct ChildInfo {
  std::string id;
  ChildState state = ChildState::kStopped;
  Pid pid;  // null unless starting, running or stopping
  ChildKind kind = ChildKind::kWorker;
  RestartType restart = RestartType::kPermanent;
  int restarts = 0;
  uint64_t place = 0;  // above those of all children before it
};

struct ChildCounts {
  int specs = 0;        // children, running or not
  int active = 0;       // running
  int supervisors = 0;  // of specs, running or not
  int workers = 0;      // the others
};

// What a pool answers to StartChild, and to RestartChild and DeleteChild.
absl::Status OnlyMembersError();
absl::Status NobodyIsStoppedError();

class RestartPlan {
 public:
  using LifeId = uint64_t;
  using TimerId = uint64_t;
  using RequestId = uint64_t;

  struct Action {
    enum class Kind {
      kStart,        // start `child` as `life`
      kStop,         // ask `life` to exit with Shutdown
      kKill,         // kill `life`
      kArmTimer,     // call TimerElapsed(timer) after `wait`
      kCancelTimer,  // …no longer
      kReply,        // answer `request` with `status`, and `pid` where there is one
      kWatchName,    // call NameTaken(name) if `name` has an owner and whenever it gets one, NameFreed(name) when it is
                     // free again
      kAwaitGone,    // call Gone(life) when `life`, of `child`, is gone, which Lingers was called for
      kFreeNames,    // `child` will not be started again: its names, kept since kStart, are kept no longer
      kForget,       // `child` is no child any more: nobody is to have what it left
      kReport,       // tell of `event` (its `supervisor` is left to the owner)
      kStartDone,    // the first start is complete; once
      kFinish,       // every child has ended; end with `reason`. The last action
    };
    Kind kind = Kind::kStart;
    LifeId life = 0;
    TimerId timer = 0;
    absl::Duration wait;
    RequestId request = 0;
    absl::Status status;
    Pid pid;
    std::string name;
    ExitReason reason;
    std::shared_ptr<const ChildSpec> child;
    std::unique_ptr<SupervisionEvent> event;
  };

  // Requires a valid spec.
  RestartPlan(const SupervisorSpec& spec, Random random);
  RestartPlan(const RestartPlan&) = delete;
  RestartPlan& operator=(const RestartPlan&) = delete;

  // Sets whether the plan emits kReport actions (initially true). Turn them off while there is no listener.
  void set_reports(bool reports) { has_reports_ = reports; }

  // Returns the actions to apply, oldest first. Applying an action may call any input.
  std::vector<Action> TakeActions();

  // Inputs: the first start, and the end.
  // Call before StartAll. Records that a life of the child `id`, left by a previous instance of this
  // supervisor, is not gone; `id` need not be a current child. Continues as after a kAwaitGone of the
  // result.
  LifeId AddPredecessor(absl::string_view id);
  void StartAll(MonotonicTime now);
  // Stops every child, in reverse order, and finishes with `reason`. A second
  // call changes nothing.
  void Shutdown(const ExitReason& reason, MonotonicTime now);

  // Inputs: what became of lives. A failed or ignored start ends its life; a
  // Down before the outcome is a failed start.
  void Spawned(LifeId life, Pid pid);
  void Started(LifeId life, MonotonicTime now);
  void Ignored(LifeId life, MonotonicTime now);
  void Failed(LifeId life, const ExitReason& reason, MonotonicTime now);
  void Down(LifeId life, const ExitReason& reason, MonotonicTime now);
  // Exclusive children only: call just before one of the inputs above if a part of that life outlives it.
  void Lingers(LifeId life) { lingering_ = life; }
  void TimerElapsed(TimerId timer, MonotonicTime now);
  void NameTaken(absl::string_view name) { taken_names_.emplace(name); }
  void NameFreed(absl::string_view name, MonotonicTime now);
  void Gone(LifeId life, MonotonicTime now);

  // Inputs: requests. Each gets one kReply, at once or later:
  // StartChild: OK and the pid (null when it declined to start); AlreadyExists,
  //   see existing_child.h; InvalidArgument for a bad spec. When the child could
  //   not start: the reason, with the code of its cause (FailedPrecondition for an
  //   exception or the end of a process); the spec is then forgotten.
  // TerminateChild: OK when it is down. It stays down until it is started by
  //   RestartChild or with its siblings; a temporary child is forgotten.
  // RestartChild: as StartChild, for a child that is stopped; else
  //   FailedPrecondition. When it could not start it stays stopped.
  // DeleteChild: OK for a stopped child (or one being started, which is then
  //   stopped); else FailedPrecondition.
  // StartMember: StartChild for a pool: its template, with this id (empty: one
  //   is made up, of the template's and a number after '#'), made by `start` (null: as the template is).
  // All: NotFound for an unknown id, Stopping once the end has begun,
  //   ResourceExhausted beyond the limits; FailedPrecondition where a pool has
  //   no such thing, and where only a pool has.
  // The pid is the child's present one, or while it is down its last.
  void StartChild(ChildSpec spec, RequestId request, MonotonicTime now);
  void StartMember(std::string id, std::shared_ptr<const ChildStart> start, RequestId request, MonotonicTime now);
  void TerminateChild(absl::string_view id, RequestId request, MonotonicTime now);
  void TerminateChild(Pid pid, RequestId request, MonotonicTime now);
  void RestartChild(absl::string_view id, RequestId request, MonotonicTime now);
  void DeleteChild(absl::string_view id, RequestId request, MonotonicTime now);

  // Observers; they answer at once, from the present state.
  // In start order, at most so many of those whose place is above `after`.
  std::vector<ChildInfo> WhichChildren(uint64_t after = 0, size_t at_most = SIZE_MAX) const;
  ChildCounts CountChildren() const { return counts_; }
  bool HasChild(Pid pid) const { return pids_.contains(pid); }
  bool HasChild(absl::string_view id) const { return FindId(id) != nullptr; }
  // The present life of the child with that pid; 0 when there is none.
  LifeId LifeOf(Pid pid) const;
  // Whether the last life of an exclusive child of that id is not gone.
  bool HasPredecessor(absl::string_view id) const { return predecessors_.contains(id); }
  // Of a present life; null when it has none yet, and of other lives.
  Pid PidOf(LifeId life) const;
  // Requires a present life.
  std::shared_ptr<const ChildSpec> SpecOf(LifeId life) const { return FindLife(life)->spec; }
  // Whether the names of the child are to be kept while it is down: from its start on, unless it is temporary, and as
  // long as it will be started again.
  bool KeepsNames(LifeId life) const;
  // NotFound for an unknown id.
  absl::StatusOr<ChildSpec> GetChildSpec(absl::string_view id) const;
  bool is_stopping() const { return plan_.has_value() && plan_->kind == PlanKind::kStopAll; }
  bool is_finished() const { return finished_; }

 private:
  using Key = uint64_t;  // of a child; in start order

  // kDue: to be started; kHeld: so, when its predecessor is gone; kDown: its
  // exit waits to be judged.
  enum class State { kStopped, kStarting, kRunning, kStopping, kDue, kBackoff, kHeld, kParked, kDown };
  static bool HasName(const ChildSpec& spec) { return !spec.registered_as.empty() || !spec.published_as.empty(); }
  static bool IsBusy(State state) { return state == State::kStarting || state == State::kStopping; }
  // Down for another reason than that it failed.
  static bool IsExcused(State state) {
    return state == State::kStopped || state == State::kDue || state == State::kHeld || state == State::kParked;
  }
  struct Child {
    Key key = 0;
    std::shared_ptr<const ChildSpec> spec;
    State state = State::kStopped;
    MonotonicTime since;  // when it came to be so
    LifeId life = 0;      // the present one, or the last
    Pid pid;
    Pid address;                            // the last that was not null
    TimerId timer = 0;                      // of the stop or the wait
    absl::optional<MonotonicTime> started;  // of the present life, or the last
    bool has_started = false;               // ever
    bool was_parked = false;                // and has not started since
    bool is_new = false;                    // by a StartChild that is not answered yet
    bool delete_on_stop = false;            // a DeleteChild waits for its stop
    bool keeps_names = false;
    RequestId start_request = 0;
    std::vector<RequestId> stop_requests;
    RestartHistory history;
    int restarts = 0;
  };

  enum class PlanKind { kFirstStart, kGroup, kStopAll };
  enum class Phase { kStop, kStart };
  // An ordered plan: stop the children from `first` on, in reverse, then start
  // them in order. While stopping, every child at or above `cursor` is down;
  // while starting, `cursor` is the next one, or when `in_hand` the one that
  // is being started.
  struct Plan {
    PlanKind kind = PlanKind::kFirstStart;
    Phase phase = Phase::kStart;
    Key first = 0;
    Key cursor = 0;
    bool in_hand = false;
    bool cancelled = false;
    bool ends_when_stopped = false;  // the start is a plan of its own, which waits for its turn
    ExitReason reason;               // of kStopAll
  };

  // What waits for the end of a plan.
  struct Waiting {
    enum class Kind { kExit, kDue, kStart, kTerminate, kRestart, kDelete };
    Kind kind = Kind::kExit;
    Key key = 0;  // of kExit and kDue, with the life that it is about
    LifeId life = 0;
    ExitReason reason;
    std::string id;
    std::shared_ptr<const ChildSpec> spec;  // of kStart
    RequestId request = 0;
    bool is_member = false;  // of kStart: of a pool's template
  };

  // Children and their lives.
  static ChildInfo InfoOf(const Child& child);
  Child* FindLife(LifeId life) const;
  Child* FindId(absl::string_view id);
  const Child* FindId(absl::string_view id) const;
  Child& Add(std::shared_ptr<const ChildSpec> spec);
  void Forget(Child& child);
  void SetState(Child& child, State state);
  void Count(const Child& child, int n);
  bool IsForgottenWhenDown(const Child& child) const;
  bool MustWait(const Child& child) const { return child.spec->exclusive && HasPredecessor(child.spec->id); }
  void EndLife(Child& child);
  void BeginStart(Child& child);
  void ForgetArguments(Child& child);
  void BeginStop(Child& child);
  void HandleStarted(Child& child);
  void HandleIgnored(Child& child);
  void HandleStartFailed(Child& child, const ExitReason& reason);
  void HandleExited(Child& child, const ExitReason& reason);
  void HandleStopped(Child& child, const ExitReason& reason);
  void StartSettled(const Child& child);

  // What follows from an exit.
  bool MayJudge(const Child& child) const;
  void JudgeExit(Child& child, const ExitReason& reason);
  void RestartOrGiveUp(Child& child, const ExitReason& reason);
  void GiveUp(Child& child, const RestartDecision& decision, const ExitReason& reason);
  void RestartGroup(const Child& child);
  void AwaitTurn(const Child& child);
  bool MayPark(const Child& child, const ExitReason& reason) const;
  void Park(Child& child, const ExitReason& reason);
  bool IsNameTaken(const Child& child) const;
  void WaitIsOver(Child& child);
  void StopForsaken();
  void StartOrHold(Child& child);
  void Hold(Child& child);
  void HoldAllWithPredecessors();
  void CheckAutoShutdown();
  void BeginStopAll(const ExitReason& reason);

  // Names (restart_plan_names.cc).
  void MayFreeNames(const Child& child);
  void FreeNames(Child& child);
  bool WillBeStarted(const Child& child) const;

  // Plans. A step is true when the plan has ended.
  void Advance();
  bool StepPlan();
  bool StepStop();
  bool StepStopTogether();
  bool StepStart();
  void EndFirstStart();
  bool RunOneWaiting();
  bool Defer(Waiting& waiting);
  void Run(const Waiting& waiting);

  // Requests.
  void Request(Waiting request, MonotonicTime now);
  absl::Status RefuseForPool(const Waiting& request) const;
  bool AnswerWhileStarting(const Waiting& request);
  void DoStart(const Waiting& request);
  void DoTerminate(const Waiting& request, Child& child);
  void DoRestart(const Waiting& request, Child& child);
  void DoDelete(const Waiting& request, Child& child);
  void CancelRestart(Child& child);

  void Reply(RequestId request, absl::Status status, Pid pid = Pid());
  void Report(SupervisionEvent::Kind kind, const Child& child, Pid pid, const ExitReason& reason,
              absl::Duration wait = absl::ZeroDuration());
  void ArmTimer(Child& child, absl::Duration wait);
  void CancelTimer(Child& child);
  bool is_serial() const { return flags_.strategy != RestartStrategy::kOneForOne; }
  bool is_pool() const { return flags_.pool != nullptr; }

  const SupervisorSpec flags_;  // without its children
  RestartDecider decider_;
  std::map<Key, Child> children_;  // their places stay
  std::map<std::string, Key, std::less<>> ids_;
  absl::flat_hash_map<LifeId, Child*> lives_;
  std::map<TimerId, Key> timers_;
  absl::flat_hash_map<Pid, Child*> pids_;  // by Child::address
  // Exclusive children's earlier lives that are not gone, both ways.
  std::map<std::string, LifeId, std::less<>> predecessors_;  // by the child's id
  std::map<LifeId, std::string> not_gone_;
  LifeId lingering_ = 0;
  Key last_key_ = 0;
  uint64_t last_member_ = 0;
  LifeId last_life_ = 0;
  TimerId last_timer_ = 0;
  int busy_ = 0;         // children starting or stopping
  int waits_ = 0;        // children in backoff or held
  int due_ = 0;          // children that are to be started
  int significant_ = 0;  // significant children that are not stopped
  ChildCounts counts_;
  std::set<Key> parked_;          // children that wait for their name
  std::set<Key> may_free_names_;  // children that keep their names, and may be down for good
  std::set<std::string> watched_names_;
  std::set<std::string, std::less<>> taken_names_;  // of these

  MonotonicTime now_;  // of the present input
  absl::optional<Plan> plan_;
  std::deque<Waiting> waiting_;
  // With one_for_one: requests about a child that is starting or stopping.
  std::map<Key, std::vector<Waiting>> deferred_;
  size_t deferred_count_ = 0;
  bool start_done_ = false;
  bool auto_shutdown_due_ = false;  // a significant child ended in the first start
  bool finished_ = false;
  bool has_reports_ = true;
  std::vector<Action> actions_;
};

}  // namespace understudy

#endif  // UNDERSTUDY_SUPERVISION_INTERNAL_RESTART_PLAN_H_
