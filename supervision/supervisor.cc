#include "understudy/supervision/supervisor.h"

#include <functional>
#include <map>
#include <memory>
#include <string>
#include <utility>
#include <vector>

#include "absl/status/status.h"
#include "absl/status/statusor.h"
#include "absl/strings/str_cat.h"
#include "absl/time/time.h"
#include "absl/types/optional.h"
#include "absl/types/variant.h"
#include "understudy/actors/actor.h"
#include "understudy/actors/actor_spec.h"
#include "understudy/actors/channel.h"
#include "understudy/actors/clock.h"
#include "understudy/actors/context.h"
#include "understudy/actors/error.h"
#include "understudy/actors/events.h"
#include "understudy/actors/exit_reason.h"
#include "understudy/actors/log_sink.h"
#include "understudy/actors/pid.h"
#include "understudy/actors/replier.h"
#include "understudy/actors/spawner.h"
#include "understudy/supervision/child_spec.h"
#include "understudy/supervision/child_start.h"
#include "understudy/supervision/limits.h"
#include "understudy/supervision/restart_plan.h"
#include "understudy/supervision/spec_errors.h"
#include "understudy/supervision/supervision_event.h"

namespace understudy {
namespace {

constexpr absl::string_view kTimerName = "supervisor";

LogSeverity SeverityOf(const SupervisionEvent& event) {
  switch (event.kind) {
    case SupervisionEvent::Kind::kGaveUp:
      return LogSeverity::kError;
    case SupervisionEvent::Kind::kStartFailed:
      return LogSeverity::kWarning;
    case SupervisionEvent::Kind::kExited:
    case SupervisionEvent::Kind::kStopped:
      return event.reason.is_abnormal() ? LogSeverity::kWarning : LogSeverity::kInfo;
    default:
      return LogSeverity::kInfo;
  }
}

class PlanSupervisor final : public Supervisor {
 public:
  explicit PlanSupervisor(std::shared_ptr<const SupervisorSpec> spec) : spec_(std::move(spec)) {}

  Next Start() override;

 private:
  using Action = RestartPlan::Action;
  using RequestId = RestartPlan::RequestId;
  using MakeActor = std::function<std::unique_ptr<Actor>()>;
  struct Life {
    RestartPlan::LifeId id = 0;
    MonitorHandle monitor;  // its Down, not an exit, says that it has ended
  };

  // Requests.
  Children List(const WhichChildren&) { return {plan_->WhichChildren()}; }
  ChildCounts Count(const CountChildren&) { return plan_->CountChildren(); }
  absl::StatusOr<ChildSpec> GetSpec(const GetChildSpec& query) { return plan_->GetChildSpec(query.id); }
  void Add(StartChild request, Replier<ChildStarted> replier);
  void Terminate(const TerminateChild& request, Replier<ChildDone> replier);
  void Restart(const RestartChild& request, Replier<ChildStarted> replier);
  void Delete(const DeleteChild& request, Replier<ChildDone> replier);
  absl::StatusOr<Subscribed> AddSubscriber(const Subscribe& request);

  // Events.
  void Outcome(const SpawnOutcome& outcome);
  void ChildDown(const Down& down);
  void SubscriberDown(const Down& down) { subscribers_.erase(down.pid); }
  void LinkedExit(const ExitEvent&) {}
  void ParentExit(const ExitEvent& exit) { BeginShutdown(exit.reason); }
  void StopRequested(const StopRequest& request) { BeginShutdown(request.reason); }
  void BeginShutdown(const ExitReason& reason);
  void TimerCame();
  void NameChanged(const NameChange& change);

  // Actions.
  void CarryOut();
  void CarryOut(Action& action);
  void StartLife(const Action& action);
  absl::StatusOr<MakeActor> MakerOf(const ChildSpec& child);
  SpawnOptions OptionsOf(const ChildSpec& child) const;
  Pid PidOf(RestartPlan::LifeId life) const;
  void ArmEarliest();
  void Answer(Action& action);
  void Tell(SupervisionEvent event);

  const std::shared_ptr<const SupervisorSpec> spec_;
  absl::optional<RestartPlan> plan_;
  std::map<Pid, Life> lives_;
  std::map<RestartPlan::LifeId, Pid> pids_;
  // The plan's timers share one of the actor's: the earliest.
  std::map<std::pair<MonotonicTime, RestartPlan::TimerId>, RestartPlan::TimerId> deadlines_;
  std::map<RestartPlan::TimerId, MonotonicTime> timers_;
  MonotonicTime armed_ = MonotonicTime::InfiniteFuture();
  RequestId last_request_ = 0;
  std::map<RequestId, absl::variant<Replier<ChildStarted>, Replier<ChildDone>>> repliers_;
  struct Subscriber {
    Channel<SupervisionEvent> channel;
    MonitorHandle monitor;
  };
  std::map<Pid, Subscriber> subscribers_;
  bool in_start_ = false;
  bool is_started_ = false;

  Behavior supervising_{"supervising",
                        On(which_children, &PlanSupervisor::List),
                        On(count_children, &PlanSupervisor::Count),
                        On(get_child_spec, &PlanSupervisor::GetSpec),
                        On(start_child, &PlanSupervisor::Add),
                        On(terminate_child, &PlanSupervisor::Terminate),
                        On(restart_child, &PlanSupervisor::Restart),
                        On(delete_child, &PlanSupervisor::Delete),
                        On(subscribe, &PlanSupervisor::AddSubscriber)};
};

Next PlanSupervisor::Start() {
  if (absl::Status status = ValidateSpec(*spec_); !status.ok()) return status;
  context().TrapExits(&PlanSupervisor::LinkedExit, &PlanSupervisor::ParentExit);
  context().TrapStops(&PlanSupervisor::StopRequested);
  plan_.emplace(*spec_, context().Random().Fork());
  in_start_ = true;
  plan_->StartAll(context().Now());
  CarryOut();
  in_start_ = false;
  return is_started_ ? Next(supervising_) : Next::Starting(supervising_);
}

// ---- Requests.

void PlanSupervisor::Add(StartChild request, Replier<ChildStarted> replier) {
  repliers_.emplace(++last_request_, std::move(replier));
  plan_->StartChild(std::move(request.spec), last_request_, context().Now());
  CarryOut();
}

void PlanSupervisor::Terminate(const TerminateChild& request, Replier<ChildDone> replier) {
  repliers_.emplace(++last_request_, std::move(replier));
  plan_->TerminateChild(request.id, last_request_, context().Now());
  CarryOut();
}

void PlanSupervisor::Restart(const RestartChild& request, Replier<ChildStarted> replier) {
  repliers_.emplace(++last_request_, std::move(replier));
  plan_->RestartChild(request.id, last_request_, context().Now());
  CarryOut();
}

void PlanSupervisor::Delete(const DeleteChild& request, Replier<ChildDone> replier) {
  repliers_.emplace(++last_request_, std::move(replier));
  plan_->DeleteChild(request.id, last_request_, context().Now());
  CarryOut();
}

absl::StatusOr<Subscribed> PlanSupervisor::AddSubscriber(const Subscribe& request) {
  const Pid pid = request.subscriber.pid();
  if (subscribers_.size() >= limits::kSupervisionSubscribersMax && !subscribers_.contains(pid)) {
    return MakeError(ErrorKind::kFull,
                     absl::StrCat("the supervisor has ", subscribers_.size(), " subscribers already"));
  }
  subscribers_[pid] = {request.subscriber, context().Monitor(pid, &PlanSupervisor::SubscriberDown)};
  return Subscribed();
}

// ---- Events.

void PlanSupervisor::Outcome(const SpawnOutcome& outcome) {
  const auto found = lives_.find(outcome.pid);
  if (found == lives_.end()) return;
  const RestartPlan::LifeId life = found->second.id;
  if (outcome.kind == SpawnOutcome::Kind::kStarted) {
    plan_->Started(life, context().Now());
  } else {
    lives_.erase(found);
    pids_.erase(life);
    if (outcome.kind == SpawnOutcome::Kind::kIgnored) {
      plan_->Ignored(life, context().Now());
    } else {
      plan_->Failed(life, outcome.reason, context().Now());
    }
  }
  CarryOut();
}

void PlanSupervisor::ChildDown(const Down& down) {
  const auto found = lives_.find(down.pid);
  if (found == lives_.end()) return;
  const RestartPlan::LifeId life = found->second.id;
  lives_.erase(found);
  pids_.erase(life);
  plan_->Down(life, down.reason, context().Now());
  CarryOut();
}

void PlanSupervisor::BeginShutdown(const ExitReason& reason) {
  plan_->Shutdown(reason, context().Now());
  CarryOut();
}

void PlanSupervisor::TimerCame() {
  armed_ = MonotonicTime::InfiniteFuture();
  while (!deadlines_.empty() && deadlines_.begin()->first.first <= context().Now()) {
    const RestartPlan::TimerId timer = deadlines_.begin()->second;
    deadlines_.erase(deadlines_.begin());
    timers_.erase(timer);
    plan_->TimerElapsed(timer, context().Now());
    CarryOut();
  }
  ArmEarliest();
}

void PlanSupervisor::NameChanged(const NameChange& change) {
  if (!change.pid.is_null()) return;
  plan_->NameFreed(change.name, context().Now());
  CarryOut();
}

// ---- Actions.

void PlanSupervisor::CarryOut() {
  for (std::vector<Action> actions = plan_->TakeActions(); !actions.empty(); actions = plan_->TakeActions()) {
    for (Action& action : actions) CarryOut(action);
  }
}

void PlanSupervisor::CarryOut(Action& action) {
  switch (action.kind) {
    case Action::Kind::kStart:
      StartLife(action);
      break;
    case Action::Kind::kStop:
      context().Exit(PidOf(action.life), ExitReason::Shutdown());
      break;
    case Action::Kind::kKill:
      context().Kill(PidOf(action.life));
      break;
    case Action::Kind::kArmTimer: {
      const MonotonicTime deadline = context().Now() + action.wait;
      timers_[action.timer] = deadline;
      deadlines_[{deadline, action.timer}] = action.timer;
      ArmEarliest();
      break;
    }
    case Action::Kind::kCancelTimer:
      if (const auto found = timers_.find(action.timer); found != timers_.end()) {
        deadlines_.erase({found->second, action.timer});
        timers_.erase(found);
      }
      break;
    case Action::Kind::kReply:
      Answer(action);
      break;
    case Action::Kind::kWatchName:
      context().WatchName(action.name, &PlanSupervisor::NameChanged);
      break;
    case Action::Kind::kReport:
      Tell(std::move(action.event));
      break;
    case Action::Kind::kStartDone:
      is_started_ = true;
      if (!in_start_) context().FinishStart();
      break;
    case Action::Kind::kFinish:
      context().Stop(action.reason);
      break;
  }
}

void PlanSupervisor::StartLife(const Action& action) {
  absl::StatusOr<MakeActor> make = MakerOf(*action.child);
  if (!make.ok()) {
    plan_->Failed(action.life, ExitReason::Failed(make.status()), context().Now());
    return;
  }
  const Pid pid = context().SpawnMade(OptionsOf(*action.child).OnOutcome(&PlanSupervisor::Outcome), *std::move(make));
  lives_[pid] = {action.life, context().Monitor(pid, &PlanSupervisor::ChildDown)};
  pids_[action.life] = pid;
  plan_->Spawned(action.life, pid);
}

absl::StatusOr<PlanSupervisor::MakeActor> PlanSupervisor::MakerOf(const ChildSpec& child) {
  if (child.start != nullptr) return child.start->make();
  if (child.subtree != nullptr) {
    SupervisorSpec subtree = *child.subtree;
    if (!subtree.on_event) subtree.on_event = spec_->on_event;
    return MakeSupervisor(std::move(subtree)).make;
  }
  if (!child.process.has_value()) {
    return absl::FailedPreconditionError(
        absl::StrCat("child '", child.id, "' has nothing to start: no ChildSpec::start"));
  }
  understudy::Spawner* spawner = context().Spawner();
  if (spawner == nullptr) {
    return absl::FailedPreconditionError(
        absl::StrCat("child '", child.id, "' is a process, and this system cannot start one: it has no node"));
  }
  ProcessChild process{.binary = child.process->binary,
                       .arguments = child.process->arguments,
                       .environment = child.process->environment,
                       .node_name = child.process->node_name.empty() ? child.id : child.process->node_name,
                       .limits = child.process->limits};
  // SIGTERM in the middle of the time it has; SIGKILL by us at its end.
  const ChildShutdown shutdown = ShutdownOf(child);
  if (shutdown.kind == ChildShutdown::Kind::kWithin) process.stop_within = shutdown.timeout / 2;
  return spawner->ForProcess(process);
}

SpawnOptions PlanSupervisor::OptionsOf(const ChildSpec& child) const {
  SpawnOptions options;
  options.registered_as = child.registered_as;
  options.published_as = child.published_as;
  options.start_within = child.start_within;
  options.shutdown_within = ShutdownOf(child).LongestStop();
  options.label = child.start != nullptr && !child.start->label().empty()
                      ? absl::StrCat(child.id, " (", child.start->label(), ")")
                      : child.id;
  return options;
}

Pid PlanSupervisor::PidOf(RestartPlan::LifeId life) const {
  const auto found = pids_.find(life);
  return found == pids_.end() ? Pid() : found->second;
}

void PlanSupervisor::ArmEarliest() {
  if (deadlines_.empty()) return;
  const MonotonicTime earliest = deadlines_.begin()->first.first;
  if (earliest >= armed_) return;
  armed_ = earliest;
  const absl::Status armed = context().StartTimer(kTimerName, earliest - context().Now(), &PlanSupervisor::TimerCame);
  if (!armed.ok()) Fail(armed);  // one timer is always within the limit
}

void PlanSupervisor::Answer(Action& action) {
  auto found = repliers_.extract(action.request);
  if (found.empty()) return;
  if (auto* started = absl::get_if<Replier<ChildStarted>>(&found.mapped()); started != nullptr) {
    if (action.status.ok()) {
      started->Reply(ChildStarted{action.pid});
    } else {
      started->Reply(std::move(action.status));
    }
    return;
  }
  auto& done = absl::get<Replier<ChildDone>>(found.mapped());
  if (action.status.ok()) {
    done.Reply(ChildDone());
  } else {
    done.Reply(std::move(action.status));
  }
}

void PlanSupervisor::Tell(SupervisionEvent event) {
  event.supervisor = context().Self();
  context().Log().Write(SeverityOf(event),
                        absl::StrCat("supervisor ", event.supervisor.ToString(), ": ", event.ToString()));
  if (spec_->on_event) spec_->on_event(event);
  for (const auto& [pid, subscriber] : subscribers_) subscriber.channel.Tell(event);
}

}  // namespace

std::vector<MailboxSignature> SupervisorRef::Mailboxes() {
  return {SignatureOf(&Supervisor::which_children),  SignatureOf(&Supervisor::count_children),
          SignatureOf(&Supervisor::get_child_spec),  SignatureOf(&Supervisor::start_child),
          SignatureOf(&Supervisor::terminate_child), SignatureOf(&Supervisor::restart_child),
          SignatureOf(&Supervisor::delete_child),    SignatureOf(&Supervisor::subscribe)};
}

ActorSpec<SupervisorRef> MakeSupervisor(SupervisorSpec spec) {
  ActorSpec<SupervisorRef> made;
  made.make = [shared = std::make_shared<const SupervisorSpec>(std::move(spec))]() -> std::unique_ptr<Actor> {
    return std::make_unique<PlanSupervisor>(shared);
  };
  made.options.label = "supervisor";
  made.options.shutdown_within = absl::InfiniteDuration();  // its children have limits of their own
  return made;
}

}  // namespace understudy
