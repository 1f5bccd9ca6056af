// PlanSupervisor: the actor that carries out a RestartPlan. Every supervisor is
// one; Pool adds a typed way to start children.
//
// A pool of several shards is a *front*: a supervisor whose children are the
// shards. It hands each request to the shard that the child's id names, or asks
// all, and answers as one; a shard that ends is its own end.
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

#include "absl/functional/any_invocable.h"
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
#include "understudy/actors/task.h"
#include "understudy/actors/unhandled_mail.h"
#include "understudy/supervision/child_spec.h"
#include "understudy/supervision/internal/child_start.h"
#include "understudy/supervision/internal/exclusive_lives.h"
#include "understudy/supervision/internal/remote_child.h"
#include "understudy/supervision/internal/restart_plan.h"
#include "understudy/supervision/supervision_event.h"
#include "understudy/supervision/supervisor.h"

namespace understudy::internal {

// Called once with what became of a request: OK with the pid where there is one.
using AnswerRequest = absl::AnyInvocable<void(absl::StatusOr<Pid>) &&>;

// A request to start a child of a pool, from the front to a shard.
struct HandedStart {
  std::string id;
  std::shared_ptr<const ChildStart> start;
  AnswerRequest answer;
};
// The same for the end of one: NotFound at once when that is no child.
struct HandedTermination {
  Pid pid;
};
// An unknown pid that was to be terminated has ended by now, or never will.
struct Settle {
  uint64_t monitor = 0;
};

class PlanSupervisor : public Supervisor {
 public:
  explicit PlanSupervisor(std::shared_ptr<const SupervisorSpec> spec);

  StartResult Start() override;
  // Before Start, by the supervisor above: the lives of this one's children, which it keeps for all lives of this one,
  // and whether this one or a supervisor above it is exclusive.
  void SetAbove(std::shared_ptr<ExclusiveLives> lives, bool is_below_exclusive);

 protected:
  Mailbox<"HandedStart", HandedStart> handed_start{this, {.capacity_messages = limits::kSupervisorRequestsMax}};
  Mailbox<"HandedTermination", Call<HandedTermination, ChildDone>> handed_termination{
      this, {.capacity_messages = limits::kSupervisorRequestsMax}};
  Mailbox<"Settle", Settle> settle{this, {.capacity_messages = limits::kSupervisorRequestsMax}};

  // What it does with its mailboxes, and the clauses of a derived class.
  virtual Behavior Supervising() { return SupervisingAnd(); }
  template <class... More>
  Behavior SupervisingAnd(More&&... more);

  // Of a pool: starts a child that `start` makes (null: as the template is).
  void StartMemberOfPool(std::string id, std::shared_ptr<const ChildStart> start, AnswerRequest answer);
  // A front takes requests when its shards have started.
  bool IsStarted() const { return is_started_; }

 private:
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
  RequestId Remember(AnswerRequest answer);
  void TerminateUnknown(Pid pid, Replier<ChildDone> replier);
  void UnknownSettled(const Settle& settle);
  void UnknownDown(const Down& down);

  // Requests to a front (supervisor_front.cc).
  Task<absl::StatusOr<Children>> ListShards(WhichChildren query);
  Task<absl::StatusOr<ChildCounts>> TallyShards(CountChildren query);
  Task<absl::StatusOr<ChildSpec>> GetSpecOfShard(GetChildSpec query);
  Task<absl::StatusOr<ChildDone>> TerminateInShards(TerminateChild request);
  Task<absl::StatusOr<Subscribed>> SubscribeToShards(Subscribe request);
  void HandStart(std::string id, std::shared_ptr<const ChildStart> start, AnswerRequest answer);
  SupervisorRef ShardOf(absl::string_view id) const;
  void LearnShards();
  bool is_front() const { return shard_count_ > 1; }

  // Events.
  void Outcome(const SpawnOutcome& outcome);
  void ChildDown(Down down);  // this, not an exit, says that a child has ended
  void SubscriberDown(const Down& down) { subscribers_.erase(down.pid); }
  void LinkedExit(const ExitEvent&) {}
  void ParentExit(const ExitEvent& exit) { BeginShutdown(exit.reason); }
  void StopRequested(const StopRequest& request) { BeginShutdown(request.reason); }
  void BeginShutdown(const ExitReason& reason);
  void TimerCame();
  void NameChanged(const NameChange& change);
  // supervisor_predecessors.cc
  std::string KeyOf(const std::string& child);
  auto IsGone() {
    return [this](Pid life) { return context().IsGone(life); };
  }
  void RecordLife(const ChildSpec& child, Pid life);
  void InheritPredecessors();
  void NoticeWhatLingers(LifeId life);
  void LookAtPredecessors();
  void PredecessorDown(const Down& down);

  // Actions.
  void Apply();
  void Carry(const RestartPlan::StartLife& action);
  void Carry(const RestartPlan::StopLife& stop);
  void Carry(const RestartPlan::KillLife& kill);
  void Carry(const RestartPlan::ArmTimer& timer);
  void Carry(const RestartPlan::CancelTimer& timer);
  void Carry(RestartPlan::Reply&& reply);
  void Carry(const RestartPlan::WatchName& watch);
  void Carry(const RestartPlan::AwaitGone& await);
  void Carry(const RestartPlan::FreeNames& free);
  void Carry(const RestartPlan::ForgetChild& forget);
  void Carry(RestartPlan::Report&& report);
  void Carry(const RestartPlan::StartDone& done);
  void Carry(const RestartPlan::Finish& finish);
  // supervisor_names.cc
  void KeepNames(LifeId life, NameKeep::After after);
  void KeepNameElsewhere(LifeId life);
  // supervisor_makers.cc
  absl::StatusOr<MakeActor> MakerOf(const std::shared_ptr<const ChildSpec>& spec,
                                    const std::shared_ptr<RemoteLife>& elsewhere);
  absl::StatusOr<MakeActor> MakerOfProcess(const ChildSpec& child);
  // An actor whose start fails with `status`, in place of a child that cannot be made: so each attempt takes a turn,
  // and requests are handled between two attempts.
  static MakeActor FailedStart(absl::Status status);
  // The actor here that is the child, or stands in for it, and back.
  Pid ActorOf(LifeId life) const;
  LifeId LifeOf(Pid actor) const;
  void ForgetProxy(LifeId life);
  SpawnOptions OptionsOf(const ChildSpec& child) const;
  void ArmEarliest();
  bool HasListeners();

  // Constant after construction.
  const std::shared_ptr<const SupervisorSpec> spec_;  // as it was given; a front's own is made of it
  const int shard_count_;

  // Constant from Start on.
  std::shared_ptr<ExclusiveLives> lives_;
  bool is_below_exclusive_ = false;

  absl::optional<RestartPlan> plan_;
  SpawnOptions options_;  // that all children have
  // Of children on other nodes: who stands in for them here, and who they are
  // there, once that is known.
  struct Elsewhere {
    Pid proxy;
    std::shared_ptr<RemoteLife> life;
  };
  std::map<LifeId, Elsewhere> elsewhere_;
  std::map<Pid, LifeId> proxies_;
  std::set<LifeId> declined_;  // to start; their Downs are yet to come
  // What the last lives of children left for the next, by the child's id.
  std::map<std::string, UnhandledMail> unhandled_;
  std::map<std::string, std::shared_ptr<const void>> left_elsewhere_;  // on other nodes; see NodeChild::left
  // A life of an exclusive child that may not be gone, or what is below it.
  struct Predecessor {
    LifeId life = 0;
    std::string child;
    std::string key;
    MonitorHandle monitor;  // of something that is not gone
  };
  std::vector<Predecessor> predecessors_due_;  // to be looked at before the turn's end
  std::map<uint64_t, Predecessor> awaited_;    // by monitor
  // The plan's timers share one of the actor's: the earliest.
  std::map<std::pair<MonotonicTime, RestartPlan::TimerId>, RestartPlan::TimerId> deadlines_;
  std::map<RestartPlan::TimerId, MonotonicTime> timers_;
  MonotonicTime armed_ = MonotonicTime::InfiniteFuture();
  RequestId last_request_ = 0;
  std::map<RequestId, AnswerRequest> answers_;
  struct UnknownPid {
    Replier<ChildDone> replier;
    MonitorHandle monitor;
  };
  std::map<uint64_t, UnknownPid> unknown_pids_;  // by monitor
  struct Subscriber {
    Channel<SupervisionEvent> channel;
    MonitorHandle monitor;
  };
  std::map<Pid, Subscriber> subscribers_;
  std::vector<SupervisorRef> shards_;
  uint64_t last_member_ = 0;  // of a front
  bool in_start_ = false;
  bool is_started_ = false;
};

template <class... More>
Behavior PlanSupervisor::SupervisingAnd(More&&... more) {
  if (is_front()) {
    constexpr auto kIsStarted = &PlanSupervisor::IsStarted;
    return Behavior("sharing out",  //
                    On(which_children, &PlanSupervisor::ListShards).Interleaved().When(kIsStarted),
                    On(count_children, &PlanSupervisor::TallyShards).Interleaved().When(kIsStarted),
                    On(get_child_spec, &PlanSupervisor::GetSpecOfShard).Interleaved().When(kIsStarted),
                    On(start_member, &PlanSupervisor::AddMember).When(kIsStarted),
                    On(terminate_child, &PlanSupervisor::TerminateInShards).Interleaved().When(kIsStarted),
                    On(subscribe, &PlanSupervisor::SubscribeToShards).Interleaved().When(kIsStarted),
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
