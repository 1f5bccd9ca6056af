#include "understudy/supervision/internal/plan_supervisor.h"

#include <algorithm>
#include <cstddef>
#include <cstdint>
#include <iterator>
#include <map>
#include <memory>
#include <string>
#include <utility>
#include <variant>
#include <vector>

#include "absl/status/status.h"
#include "absl/status/statusor.h"
#include "absl/strings/str_cat.h"
#include "absl/strings/string_view.h"
#include "absl/time/time.h"
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
#include "understudy/actors/registry.h"
#include "understudy/actors/replier.h"
#include "understudy/supervision/child_spec.h"
#include "understudy/supervision/internal/child_start.h"
#include "understudy/supervision/internal/exclusive_lives.h"
#include "understudy/supervision/internal/member_ids.h"
#include "understudy/supervision/internal/remote_child.h"
#include "understudy/supervision/internal/restart_plan.h"
#include "understudy/supervision/internal/supervisor_front.h"
#include "understudy/supervision/limits.h"
#include "understudy/supervision/spec_errors.h"
#include "understudy/supervision/supervision_event.h"
#include "understudy/supervision/supervisor.h"

namespace understudy::internal {
namespace {

constexpr absl::string_view kTimerName = "supervisor";

std::string UnknownTimer(uint64_t monitor) { return absl::StrCat("supervisor: unknown pid ", monitor); }

AnswerRequest With(Replier<ChildStarted> replier) {
  return [replier = std::move(replier)](absl::StatusOr<Pid> pid) mutable {
    if (pid.ok()) {
      replier.Reply(ChildStarted{*pid});
    } else {
      replier.Reply(std::move(pid).status());
    }
  };
}

AnswerRequest With(Replier<ChildDone> replier) {
  return [replier = std::move(replier)](absl::StatusOr<Pid> pid) mutable {
    if (pid.ok()) {
      replier.Reply(ChildDone());
    } else {
      replier.Reply(std::move(pid).status());
    }
  };
}

// A pool's children come and go with its work, so what is usual of them is for debugging.
LogSeverity SeverityOf(const SupervisionEvent& event, bool is_of_pool) {
  const LogSeverity usual = is_of_pool && !event.child.empty() ? LogSeverity::kDebug : LogSeverity::kInfo;
  switch (event.kind) {
    case SupervisionEvent::Kind::kGaveUp:
      return LogSeverity::kError;
    case SupervisionEvent::Kind::kStartFailed:
      return LogSeverity::kWarning;
    case SupervisionEvent::Kind::kExited:
    case SupervisionEvent::Kind::kStopped:
      return event.reason.is_abnormal() ? LogSeverity::kWarning : usual;
    default:
      return usual;
  }
}

}  // namespace

PlanSupervisor::PlanSupervisor(std::shared_ptr<const SupervisorSpec> spec)
    : spec_(std::move(spec)), shard_count_(spec_->pool == nullptr ? 1 : spec_->pool->shards) {}

StartResult PlanSupervisor::Start() {
  if (absl::Status status = ValidateSpec(*spec_); !status.ok()) return status;
  const Behavior supervising = Supervising();
  context().TrapExits(&PlanSupervisor::LinkedExit, &PlanSupervisor::ParentExit);
  context().TrapStops(&PlanSupervisor::StopRequested);
  options_ =
      SpawnOptions{.link = SpawnLink::kOneWay}.OnOutcome(&PlanSupervisor::Outcome).OnDown(&PlanSupervisor::ChildDown);
  plan_.emplace(is_front() ? FrontOf(*spec_) : *spec_, context().Random().Fork());
  plan_->set_reports(HasListeners());
  in_start_ = true;
  if (lives_ == nullptr) lives_ = std::make_shared<ExclusiveLives>();
  InheritPredecessors();
  plan_->StartAll(context().Now());
  Apply();
  LookAtPredecessors();
  in_start_ = false;
  return is_started_ ? StartResult(supervising) : StartResult::Starting(supervising);
}

// ---- Requests.

RestartPlan::RequestId PlanSupervisor::Remember(AnswerRequest answer) {
  answers_.emplace(++last_request_, std::move(answer));
  return last_request_;
}

Children PlanSupervisor::List(const WhichChildren& query) {
  const size_t at_most = std::clamp<size_t>(query.at_most, 1, limits::kChildrenPerAnswerMax);
  Children answer{.children = plan_->children().WhichChildren(query.after, at_most + 1)};
  if (answer.children.size() > at_most) {
    answer.children.pop_back();
    answer.next = answer.children.back().place;
  }
  return answer;
}

void PlanSupervisor::Add(StartChild request, Replier<ChildStarted> replier) {
  plan_->StartChild(std::move(request.spec), Remember(With(std::move(replier))), context().Now());
  Apply();
}

void PlanSupervisor::AddMember(StartMember request, Replier<ChildStarted> replier) {
  StartMemberOfPool(std::move(request.id), nullptr, With(std::move(replier)));
}

void PlanSupervisor::StartMemberOfPool(std::string id, std::shared_ptr<const ChildStart> start, AnswerRequest answer) {
  absl::Status refused = spec_->pool == nullptr ? absl::OkStatus() : GivenIdError(id, spec_->pool->child);
  if (refused.ok() && start != nullptr && spec_->pool != nullptr && spec_->pool->child.placement.has_value()) {
    refused = absl::FailedPreconditionError(
        "a child on another node is made by a factory there, which gets no arguments from here; use start_member");
  }
  if (!refused.ok()) {
    std::move(answer)(std::move(refused));
    return;
  }
  if (is_front()) {
    HandStart(std::move(id), std::move(start), std::move(answer));
  } else {
    AddHanded({std::move(id), std::move(start), std::move(answer)});
  }
}

void PlanSupervisor::AddHanded(HandedStart request) {
  plan_->StartMember(std::move(request.id), std::move(request.start), Remember(std::move(request.answer)),
                     context().Now());
  Apply();
}

void PlanSupervisor::Terminate(const TerminateChild& request, Replier<ChildDone> replier) {
  if (request.id.empty() && !request.pid.is_null() && !plan_->children().HasChild(request.pid)) {
    TerminateUnknown(request.pid, std::move(replier));
    return;
  }
  if (request.id.empty()) {
    TerminateHanded({request.pid}, std::move(replier));
    return;
  }
  plan_->TerminateChild(request.id, Remember(With(std::move(replier))), context().Now());
  Apply();
}

void PlanSupervisor::TerminateHanded(const HandedTermination& request, Replier<ChildDone> replier) {
  plan_->TerminateChild(request.pid, Remember(With(std::move(replier))), context().Now());
  Apply();
}

// Tells an actor that has ended (OK) from one that is alive and not a child (NotFound), by monitoring
// it. For an ended actor of this node the Down arrives before the Settle that is sent below. For an
// actor of another node the Down arrives only when that node answers, so a timer takes Settle's place.
void PlanSupervisor::TerminateUnknown(Pid pid, Replier<ChildDone> replier) {
  MonitorHandle monitor = context().Monitor(pid, &PlanSupervisor::UnknownDown);
  const uint64_t id = monitor.id();
  unknown_pids_.emplace(id, UnknownPid{std::move(replier), std::move(monitor)});
  const bool is_elsewhere = pid.node() != context().Self().node();
  if (is_elsewhere && context()
                          .StartTimer(UnknownTimer(id), limits::kUnknownPidAnswersWithin,
                                      [this, id](const TimerEvent&) { UnknownSettled({id}); })
                          .ok()) {
    return;
  }
  context().Tell(settle, Settle{id});
}

void PlanSupervisor::UnknownDown(const Down& down) {
  auto stranger = unknown_pids_.extract(down.monitor);
  if (stranger.empty()) return;
  context().CancelTimer(UnknownTimer(down.monitor));
  if (down.reason.kind() == ExitReason::Kind::kNoConnection) {
    stranger.mapped().replier.Reply(absl::NotFoundError(absl::StrCat(down.pid.ToString(), " is no child")));
  } else {
    stranger.mapped().replier.Reply(ChildDone());
  }
}

void PlanSupervisor::UnknownSettled(const Settle& settled) {
  auto stranger = unknown_pids_.extract(settled.monitor);
  if (!stranger.empty()) stranger.mapped().replier.Reply(absl::NotFoundError("there is no child with that pid"));
}

void PlanSupervisor::Restart(const RestartChild& request, Replier<ChildStarted> replier) {
  plan_->RestartChild(request.id, Remember(With(std::move(replier))), context().Now());
  Apply();
}

void PlanSupervisor::Delete(const DeleteChild& request, Replier<ChildDone> replier) {
  plan_->DeleteChild(request.id, Remember(With(std::move(replier))), context().Now());
  Apply();
}

absl::StatusOr<Subscribed> PlanSupervisor::AddSubscriber(const Subscribe& request) {
  const Pid pid = request.subscriber.pid();
  if (subscribers_.size() >= limits::kSupervisionSubscribersMax && !subscribers_.contains(pid)) {
    return MakeError(ErrorKind::kFull,
                     absl::StrCat("the supervisor has ", subscribers_.size(), " subscribers already"));
  }
  subscribers_[pid] = {request.subscriber, context().Monitor(pid, &PlanSupervisor::SubscriberDown)};
  plan_->set_reports(true);
  return Subscribed();
}

// ---- Events.

void PlanSupervisor::Outcome(const SpawnOutcome& outcome) {
  const LifeId life = LifeOf(outcome.pid);
  if (life == 0) return;
  switch (outcome.kind) {
    case SpawnOutcome::Kind::kStarted:
      if (const auto found = elsewhere_.find(life); found != elsewhere_.end() && !found->second.life->child.is_null()) {
        plan_->Spawned(life, found->second.life->child);  // others know the child, not its proxy
        KeepNameElsewhere(life);
      }
      plan_->Started(life, context().Now());
      Apply();
      break;
    case SpawnOutcome::Kind::kIgnored:
      declined_.insert(life);
      break;  // its Down is next, with what it leaves
    case SpawnOutcome::Kind::kFailed:
      break;  // so it is, with the same reason
  }
}

void PlanSupervisor::ChildDown(Down down) {
  const LifeId life = LifeOf(down.pid);
  if (life == 0) return;
  if (!down.unhandled_mail.empty())
    unhandled_[plan_->children().SpecOf(life)->id].Append(std::move(down.unhandled_mail));
  if (const auto found = elsewhere_.find(life); found != elsewhere_.end() && found->second.life->left != nullptr) {
    left_elsewhere_[plan_->children().SpecOf(life)->id] = std::move(found->second.life->left);
  }
  ForgetProxy(life);
  NoticeWhatLingers(life);
  if (declined_.erase(life) > 0) {
    plan_->Ignored(life, context().Now());
  } else {
    plan_->Down(life, down.reason, context().Now());
  }
  Apply();
  LookAtPredecessors();
}

void PlanSupervisor::BeginShutdown(const ExitReason& reason) {
  plan_->Shutdown(reason, context().Now());
  Apply();
}

void PlanSupervisor::TimerCame() {
  armed_ = MonotonicTime::InfiniteFuture();
  while (!deadlines_.empty() && deadlines_.begin()->first.first <= context().Now()) {
    const RestartPlan::TimerId timer = deadlines_.begin()->second;
    deadlines_.erase(deadlines_.begin());
    timers_.erase(timer);
    plan_->TimerElapsed(timer, context().Now());
    Apply();
  }
  ArmEarliest();
}

void PlanSupervisor::NameChanged(const NameChange& change) {
  if (!change.pid.is_null()) {
    plan_->NameTaken(change.name);
    return;
  }
  plan_->NameFreed(change.name, context().Now());
  Apply();
}

// ---- Actions.

void PlanSupervisor::Apply() {
  for (;;) {
    std::vector<Action> actions = plan_->TakeActions();
    if (actions.empty()) return;
    for (Action& action : actions) {
      std::visit([this](auto&& what) { this->Carry(std::forward<decltype(what)>(what)); }, std::move(action));
    }
  }
}

void PlanSupervisor::Carry(const RestartPlan::StopLife& stop) {
  subscribers_.erase(ActorOf(stop.life));
  KeepNames(stop.life, NameKeep::After::kAnyEnd);  // if it is to be started again with its siblings
  context().Exit(ActorOf(stop.life), ExitReason::Shutdown());
}

void PlanSupervisor::Carry(const RestartPlan::KillLife& kill) {
  subscribers_.erase(ActorOf(kill.life));
  KeepNames(kill.life, NameKeep::After::kAnyEnd);
  context().Kill(ActorOf(kill.life));
}

void PlanSupervisor::Carry(const RestartPlan::ArmTimer& timer) {
  const MonotonicTime deadline = context().Now() + timer.wait;
  timers_[timer.timer] = deadline;
  deadlines_[{deadline, timer.timer}] = timer.timer;
  ArmEarliest();
}

void PlanSupervisor::Carry(const RestartPlan::CancelTimer& timer) {
  const auto found = timers_.find(timer.timer);
  if (found == timers_.end()) return;
  deadlines_.erase({found->second, timer.timer});
  timers_.erase(found);
}

void PlanSupervisor::Carry(const RestartPlan::WatchName& watch) {
  context().WatchName(watch.name, &PlanSupervisor::NameChanged);
}

void PlanSupervisor::Carry(const RestartPlan::ForgetChild& forget) {
  const std::string& id = forget.child->id;
  unhandled_.erase(id);
  left_elsewhere_.erase(id);
  if (!plan_->HasPredecessor(id)) lives_->Forget(KeyOf(id), IsGone());
}

void PlanSupervisor::Carry(const RestartPlan::StartDone&) {
  is_started_ = true;
  LearnShards();
  if (!in_start_) context().FinishStart();
}

void PlanSupervisor::Carry(const RestartPlan::Finish& finish) { context().Stop(finish.reason); }

void PlanSupervisor::Carry(const RestartPlan::StartLife& action) {
  const auto elsewhere = action.child->placement.has_value() ? std::make_shared<RemoteLife>() : nullptr;
  absl::StatusOr<MakeActor> make = MakerOf(action.child, elsewhere);
  if (auto left = left_elsewhere_.extract(action.child->id); !left.empty() && elsewhere != nullptr) {
    elsewhere->left = std::move(left.mapped());
  }
  KeepNames(action.life, action.child->restart == RestartType::kTransient ? NameKeep::After::kAbnormalEnd
                                                                          : NameKeep::After::kAnyEnd);
  SpawnOptions options = OptionsOf(*action.child);
  options.names_kept_by = context().Self();
  if (auto left = unhandled_.extract(action.child->id); !left.empty()) {
    options = std::move(options).WithUnhandledMail(std::move(left.mapped()));
  }
  const Pid spawned =
      context().SpawnMade(std::move(options), make.ok() ? *std::move(make) : FailedStart(make.status()));
  plan_->Spawned(action.life, spawned);
  RecordLife(*action.child, spawned);
  if (elsewhere == nullptr) return;
  elsewhere_[action.life] = {.proxy = spawned, .life = elsewhere};
  proxies_[spawned] = action.life;
}

Pid PlanSupervisor::ActorOf(LifeId life) const {
  const auto found = elsewhere_.find(life);
  return found == elsewhere_.end() ? plan_->children().PidOf(life) : found->second.proxy;
}

PlanSupervisor::LifeId PlanSupervisor::LifeOf(Pid actor) const {
  const auto found = proxies_.find(actor);
  return found == proxies_.end() ? plan_->children().LifeOf(actor) : found->second;
}

void PlanSupervisor::ForgetProxy(LifeId life) {
  if (const auto found = elsewhere_.extract(life); !found.empty()) proxies_.erase(found.mapped().proxy);
}

SpawnOptions PlanSupervisor::OptionsOf(const ChildSpec& child) const {
  SpawnOptions options = options_;
  if (!child.registered_as.empty()) options.registered_as = child.registered_as;
  if (!child.published_as.empty() && !child.placement.has_value())
    options.published_as = child.published_as;  // else there
  options.start_within = child.start_within;
  options.shutdown_within = ShutdownOf(child).LongestStop();
  options.label = child.id;
  if (child.start != nullptr) options.thread = child.start->thread();
  if (child.start != nullptr && !child.start->label().empty()) {
    options.label.reserve(child.id.size() + child.start->label().size() + 3);
    options.label.append(" (").append(child.start->label()).push_back(')');
  }
  return options;
}

void PlanSupervisor::ArmEarliest() {
  if (deadlines_.empty()) return;
  const MonotonicTime earliest = deadlines_.begin()->first.first;
  if (earliest >= armed_) return;
  armed_ = earliest;
  const absl::Status armed = context().StartTimer(kTimerName, earliest - context().Now(), &PlanSupervisor::TimerCame);
  if (!armed.ok()) Fail(armed);  // one timer is always within the limit
}

void PlanSupervisor::Carry(RestartPlan::Reply&& reply) {
  auto found = answers_.extract(reply.request);
  if (found.empty()) return;
  if (reply.status.ok()) {
    std::move(found.mapped())(reply.pid);
  } else {
    std::move(found.mapped())(std::move(reply.status));
  }
}

bool PlanSupervisor::HasListeners() {
  const LogSink& log = context().Log();
  if (spec_->on_event != nullptr) return true;
  constexpr LogSeverity kAll[] = {LogSeverity::kDebug, LogSeverity::kInfo, LogSeverity::kWarning, LogSeverity::kError};
  return std::any_of(std::begin(kAll), std::end(kAll), [&](LogSeverity severity) { return log.Wants(severity); });
}

void PlanSupervisor::Carry(RestartPlan::Report&& report) {
  SupervisionEvent& event = report.event;
  event.supervisor = context().Self();
  LogSink& log = context().Log();
  if (const LogSeverity severity = SeverityOf(event, spec_->pool != nullptr && !is_front()); log.Wants(severity)) {
    const std::string text = event.ToString();
    const bool names_it = event.kind == SupervisionEvent::Kind::kShutdown;
    log.Write(severity, names_it ? text : absl::StrCat("supervisor ", event.supervisor.ToString(), ": ", text));
  }
  if (spec_->on_event) spec_->on_event(event);
  for (auto next = subscribers_.begin(); next != subscribers_.end();) {
    const auto subscriber = next++;
    const Channel<SupervisionEvent>& channel = subscriber->second.channel;
    const absl::Status sent = channel.Send(event);
    if (IsNoProcess(sent) || IsStopping(sent) || IsNoConnection(sent)) {
      subscribers_.erase(subscriber);  // its Down is on its way
    } else if (!sent.ok()) {
      channel.Tell(event);  // if it is refused again, a dead letter says that an event is lost
    }
  }
}

}  // namespace understudy::internal
