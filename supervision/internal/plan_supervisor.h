// PlanSupervisor: the actor that applies a RestartPlan's actions and tells the plan their results. Every supervisor is
// a PlanSupervisor; Pool adds a typed way to start children.
//
// A pool of several shards is a *front*: a supervisor whose children are the shards. It hands requests to them
// (PoolFront), and ends when a shard ends.
//
// Invariant: every input that may give actions is followed by Apply in the same turn, so no action waits between turns.
//
// Owner's turn only.
#ifndef UNDERSTUDY_SUPERVISION_INTERNAL_PLAN_SUPERVISOR_H_
#define UNDERSTUDY_SUPERVISION_INTERNAL_PLAN_SUPERVISOR_H_

#include <cstdint>
#include <map>
#include <memory>
#include <set>
#include <string>
#include <utility>
#include <vector>

#include "absl/status/status.h"
#include "absl/status/statusor.h"
#include "absl/strings/string_view.h"
#include "absl/types/optional.h"
#include "understudy/actors/actor.h"
#include "understudy/actors/actor_spec.h"
#include "understudy/actors/channel.h"
#include "understudy/actors/clock.h"
#include "understudy/actors/context.h"
#include "understudy/actors/events.h"
#include "understudy/actors/exit_reason.h"
#include "understudy/actors/mailbox.h"
#include "understudy/actors/pid.h"
#include "understudy/actors/registry.h"
#include "understudy/actors/replier.h"
#include "understudy/actors/unhandled_mail.h"
#include "understudy/supervision/child_spec.h"
#include "understudy/supervision/internal/child_start.h"
#include "understudy/supervision/internal/event_listeners.h"
#include "understudy/supervision/internal/exclusive_children.h"
#include "understudy/supervision/internal/exclusive_lives.h"
#include "understudy/supervision/internal/pending_answers.h"
#include "understudy/supervision/internal/plan_timers.h"
#include "understudy/supervision/internal/pool_front.h"
#include "understudy/supervision/internal/remote_children.h"
#include "understudy/supervision/internal/restart_plan.h"
#include "understudy/supervision/internal/supervisor_entry.h"
#include "understudy/supervision/internal/unknown_pids.h"
#include "understudy/supervision/supervision_event.h"
#include "understudy/supervision/supervisor.h"

namespace understudy::internal {

// A request to start a child of a pool, from the front to a shard.
struct HandedStart {
  std::string id;
  std::shared_ptr<const ChildStart> start;
  AnswerRequest answer;
};
// A request to terminate a child of a pool, from the front to all shards. Answered with NotFound at once by a shard
// that has no child with that pid.
struct HandedTermination {
  Pid pid;
};
// Sent by the supervisor to itself: the Down of that monitor, of an unknown pid that was to be terminated, would have
// come before this message if the actor had ended.
struct Settle {
  uint64_t monitor = 0;
};

class PlanSupervisor : public Supervisor {
 public:
  explicit PlanSupervisor(std::shared_ptr<const SupervisorSpec> spec);

  StartResult Start() override;
  // Called before Start by the supervisor above. `lives` are the lives of this supervisor's children, kept by the
  // supervisor above from one life of this supervisor to the next; `is_below_exclusive`: this supervisor or one above
  // it is exclusive.
  void SetAbove(std::shared_ptr<ExclusiveLives> lives, bool is_below_exclusive) {
    exclusive_.SetAbove(std::move(lives), is_below_exclusive);
  }

 protected:
  Mailbox<"HandedStart", HandedStart> handed_start{this, {.capacity_messages = limits::kSupervisorRequestsMax}};
  Mailbox<"HandedTermination", Call<HandedTermination, ChildDone>> handed_termination{
      this, {.capacity_messages = limits::kSupervisorRequestsMax}};
  Mailbox<"Settle", Settle> settle{this, {.capacity_messages = limits::kSupervisorRequestsMax}};

  // The behavior of the supervisor. A derived class adds its clauses with SupervisingAnd.
  virtual Behavior Supervising() { return SupervisingAnd(); }
  template <class... More>
  Behavior SupervisingAnd(More&&... more);

  // Pools only: starts a child that `start` makes or, if that is null, the template. An empty id is made up.
  void StartMemberOfPool(std::string id, std::shared_ptr<const ChildStart> start, AnswerRequest answer);
  // A front handles requests only when all its shards have started.
  bool IsStarted() const { return stage_ == Stage::kStarted; }

 private:
  friend class PoolFront;  // sends to the mailboxes of shards

  using Action = RestartPlan::Action;
  using LifeId = RestartPlan::LifeId;
  using RequestId = RestartPlan::RequestId;

  // Requests.
  Children List(const WhichChildren& query);
  ChildCounts Tally(const CountChildren&) { return plan_->children().CountChildren(); }
  absl::StatusOr<ChildSpec> GetSpec(const GetChildSpec& query) { return plan_->children().GetChildSpec(query.id); }
  void Add(StartChild request, Replier<ChildStarted> replier);
  void AddMember(StartMember request, Replier<ChildStarted> replier);
  void AddHanded(HandedStart request);
  void Terminate(const TerminateChild& request, Replier<ChildDone> replier);
  void TerminateHanded(const HandedTermination& request, Replier<ChildDone> replier);
  void Restart(const RestartChild& request, Replier<ChildStarted> replier);
  void Delete(const DeleteChild& request, Replier<ChildDone> replier);
  absl::StatusOr<Subscribed> AddSubscriber(const Subscribe& request);
  void TerminateUnknown(Pid pid, Replier<ChildDone> replier);
  void UnknownSettled(const Settle& settled) { unknown_pids_.StillAlive(settled.monitor); }
  void UnknownDown(const Down& down);

  bool is_front() const { return spec_->pool != nullptr && spec_->pool->shards > 1; }

  // Events.
  void Outcome(const SpawnOutcome& outcome);
  void ChildDown(Down down);  // the end of a child; its exit is ignored
  void SubscriberDown(const Down& down) { listeners_.Unsubscribe(down.pid); }
  void LinkedExit(const ExitEvent&) {}
  void ParentExit(const ExitEvent& exit) { BeginShutdown(exit.reason); }
  void StopRequested(const StopRequest& request) { BeginShutdown(request.reason); }
  void BeginShutdown(const ExitReason& reason);
  void TimerCame();
  void NameChanged(const NameChange& change);

  // Lives of exclusive children that are not gone.
  auto IsGone() {
    return [this](Pid life) { return context().IsGone(life); };
  }
  void LookAtPredecessors();
  void PredecessorDown(const Down& down) {
    if (exclusive_.Fired(down.monitor)) LookAtPredecessors();
  }

  // Actions. Apply applies the plan's actions, and those that follow from them, until there are none.
  void Apply();
  void Apply(const RestartPlan::StartLife& action);
  void Apply(const RestartPlan::StopLife& stop);
  void Apply(const RestartPlan::KillLife& kill);
  void Apply(const RestartPlan::ArmTimer& timer);
  void Apply(const RestartPlan::CancelTimer& timer) { timers_.Cancel(timer.timer); }
  void Apply(RestartPlan::Reply&& reply) { answers_.Answer(std::move(reply)); }
  void Apply(const RestartPlan::WatchName& watch);
  void Apply(const RestartPlan::AwaitGone& await) { exclusive_.Await(await.life, await.child->id); }
  void Apply(const RestartPlan::FreeNames& free);
  void Apply(const RestartPlan::ForgetChild& forget);
  void Apply(RestartPlan::Report&& report);
  void Apply(const RestartPlan::StartDone& done);
  void Apply(const RestartPlan::Finish& finish);
  void KeepNames(LifeId life, NameKeep::After after);
  void KeepNameElsewhere(LifeId life);
  absl::StatusOr<MakeActor> MakerOf(const std::shared_ptr<const ChildSpec>& spec,
                                    const std::shared_ptr<RemoteLife>& elsewhere);
  // The actor of this node for that life of a child: the child itself or, for a child on another node, its proxy. Null
  // if the life has ended.
  Pid ActorOf(LifeId life) const;
  // The inverse of ActorOf; 0 if `actor` is neither a child nor a proxy.
  LifeId LifeOf(Pid actor) const;
  void ArmEarliest();

  enum class Stage {
    kInStart,   // not started, or Start is running
    kStarting,  // Start has returned; some child has not started yet
    kStarted,
  };

  // Constant after construction.
  const std::shared_ptr<const SupervisorSpec> spec_;  // as given; a front makes its own tree from it (FrontOf)

  SpawnOptions options_;  // that all children have; constant from Start on

  // The parts.
  absl::optional<RestartPlan> plan_;       // set from Start on
  absl::optional<SupervisorEntry> entry_;  // likewise; destroyed before plan_, which it reads
  PlanTimers timers_;
  PendingAnswers answers_;
  EventListeners listeners_;
  RemoteChildren remote_;
  ExclusiveChildren exclusive_;
  UnknownPids unknown_pids_;
  PoolFront front_;

  Stage stage_ = Stage::kInStart;
  bool is_told_to_end_ = false;  // it ends because its parent ended or RequestStop came, so its end is not a crash
  std::set<LifeId> declined_;    // lives that declined to start; their Downs are yet to come
  std::map<std::string, UnhandledMail> unhandled_;  // the mail of a child's last life for the next one, by child id
};

template <class... More>
Behavior PlanSupervisor::SupervisingAnd(More&&... more) {
  if (is_front()) {
    constexpr auto kIsStarted = &PlanSupervisor::IsStarted;
    const auto list = [this](WhichChildren query) { return front_.List(std::move(query)); };
    const auto tally = [this](CountChildren query) { return front_.Tally(query); };
    const auto get_spec = [this](GetChildSpec query) { return front_.GetSpec(std::move(query)); };
    const auto terminate = [this](TerminateChild request) { return front_.Terminate(std::move(request)); };
    const auto subscribe_to_all = [this](Subscribe request) {
      absl::Status here = AddSubscriber(request).status();
      return front_.SubscribeToAll(std::move(request), std::move(here));
    };
    return Behavior("sharing out",  //
                    On(which_children, list).Interleaved().When(kIsStarted),
                    On(count_children, tally).Interleaved().When(kIsStarted),
                    On(get_child_spec, get_spec).Interleaved().When(kIsStarted),
                    On(start_member, &PlanSupervisor::AddMember).When(kIsStarted),
                    On(terminate_child, terminate).Interleaved().When(kIsStarted),
                    On(subscribe, subscribe_to_all).Interleaved().When(kIsStarted),
                    Refuse(start_child, OnlyMembersError()), Refuse(restart_child, NobodyIsStoppedError()),
                    Refuse(delete_child, NobodyIsStoppedError()), std::forward<More>(more)...);
  }
  return Behavior("supervising", On(which_children, &PlanSupervisor::List), On(count_children, &PlanSupervisor::Tally),
                  On(get_child_spec, &PlanSupervisor::GetSpec), On(start_child, &PlanSupervisor::Add),
                  On(restart_child, &PlanSupervisor::Restart), On(delete_child, &PlanSupervisor::Delete),
                  On(start_member, &PlanSupervisor::AddMember), On(handed_start, &PlanSupervisor::AddHanded),
                  On(handed_termination, &PlanSupervisor::TerminateHanded),
                  On(terminate_child, &PlanSupervisor::Terminate), On(settle, &PlanSupervisor::UnknownSettled),
                  On(subscribe, &PlanSupervisor::AddSubscriber), std::forward<More>(more)...);
}

}  // namespace understudy::internal

#endif  // UNDERSTUDY_SUPERVISION_INTERNAL_PLAN_SUPERVISOR_H_
