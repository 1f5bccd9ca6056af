#include "understudy/supervision/internal/plan_supervisor.h"

#include <algorithm>
#include <cstddef>
#include <cstdint>
#include <memory>
#include <string>
#include <utility>
#include <variant>
#include <vector>

#include "absl/status/status.h"
#include "absl/status/statusor.h"
#include "absl/strings/str_cat.h"
#include "absl/strings/string_view.h"
#include "absl/types/optional.h"
#include "understudy/actors/actor.h"
#include "understudy/actors/actor_spec.h"
#include "understudy/actors/clock.h"
#include "understudy/actors/context.h"
#include "understudy/actors/events.h"
#include "understudy/actors/exit_reason.h"
#include "understudy/actors/pid.h"
#include "understudy/actors/registry.h"
#include "understudy/actors/replier.h"
#include "understudy/supervision/child_spec.h"
#include "understudy/supervision/internal/child_makers.h"
#include "understudy/supervision/internal/child_start.h"
#include "understudy/supervision/internal/member_ids.h"
#include "understudy/supervision/internal/pending_answers.h"
#include "understudy/supervision/internal/predecessor_watch.h"
#include "understudy/supervision/internal/remote_children.h"
#include "understudy/supervision/internal/restart_plan.h"
#include "understudy/supervision/internal/shards.h"
#include "understudy/supervision/limits.h"
#include "understudy/supervision/spec_errors.h"
#include "understudy/supervision/supervision_event.h"
#include "understudy/supervision/supervision_watch.h"
#include "understudy/supervision/supervisor.h"

namespace understudy::internal {
namespace {

constexpr absl::string_view kTimerName = "supervisor";

std::string UnknownTimer(uint64_t monitor) { return absl::StrCat("supervisor: unknown pid ", monitor); }

AnswerRequest With(Replier<ChildStarted> replier) {
  return AnswerWith(std::move(replier), [](Pid pid) { return ChildStarted{pid}; });
}

AnswerRequest With(Replier<ChildDone> replier) {
  return AnswerWith(std::move(replier), [](Pid) { return ChildDone(); });
}

// `options`: what all children have.
SpawnOptions OptionsOf(const ChildSpec& child, SpawnOptions options) {
  if (!child.registered_as.empty()) options.registered_as = child.registered_as;
  if (!child.published_as.empty() && !child.placement.has_value())
    options.published_as = child.published_as;  // a child on another node publishes its name there
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

}  // namespace

PlanSupervisor::PlanSupervisor(std::shared_ptr<const SupervisorSpec> spec)
    : spec_(std::move(spec)), listeners_(spec_), front_(spec_) {}

StartResult PlanSupervisor::Start() {
  if (absl::Status status = ValidateSpec(*spec_); !status.ok()) return status;
  const Behavior supervising = Supervising();
  context().TrapExits(&PlanSupervisor::LinkedExit, &PlanSupervisor::ParentExit);
  context().TrapStops(&PlanSupervisor::StopRequested);
  options_ =
      SpawnOptions{.link = SpawnLink::kOneWay}.OnOutcome(&PlanSupervisor::Outcome).OnDown(&PlanSupervisor::ChildDown);
  const SupervisorSpec spec = is_front() ? FrontOf(*spec_) : *spec_;
  plan_.emplace(spec, context().Random().Fork());
  entry_.emplace(context().Self(), context().Parent(), spec, spec_->pool.get(), *plan_);
  plan_->set_reports(listeners_.HearsWithoutSubscribers(context().Log()) ||
                     SupervisionWatch::IsWatched(context().Self().node()));
  exclusive_.Begin(context().Self(), /*has_made_up_ids=*/spec_->pool != nullptr && !is_front());
  for (const std::string& id : exclusive_.Inherited(IsGone())) {
    exclusive_.AwaitInherited(plan_->AddPredecessor(id), id);
  }
  plan_->StartAll(context().Now());
  Apply();
  LookAtPredecessors();
  if (IsStarted()) return supervising;
  stage_ = Stage::kStarting;
  return StartResult::Starting(supervising);
}

// ---- Requests.

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
  plan_->StartChild(std::move(request.spec), answers_.Add(With(std::move(replier))), context().Now());
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
    front_.Start(std::move(id), std::move(start), std::move(answer));
  } else {
    AddHanded({std::move(id), std::move(start), std::move(answer)});
  }
}

void PlanSupervisor::AddHanded(HandedStart request) {
  plan_->StartMember(std::move(request.id), std::move(request.start), answers_.Add(std::move(request.answer)),
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
  plan_->TerminateChild(request.id, answers_.Add(With(std::move(replier))), context().Now());
  Apply();
}

void PlanSupervisor::TerminateHanded(const HandedTermination& request, Replier<ChildDone> replier) {
  plan_->TerminateChild(request.pid, answers_.Add(With(std::move(replier))), context().Now());
  Apply();
}

// Tells an actor that has ended (OK) from one that is alive and not a child (NotFound), by monitoring
// it. For an ended actor of this node the Down arrives before the Settle that is sent below. For an
// actor of another node the Down arrives only when that node answers, so a timer takes Settle's place.
void PlanSupervisor::TerminateUnknown(Pid pid, Replier<ChildDone> replier) {
  const uint64_t id = unknown_pids_.Add(pid, std::move(replier), context().Monitor(pid, &PlanSupervisor::UnknownDown));
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
  context().CancelTimer(UnknownTimer(down.monitor));
  unknown_pids_.Ended(down);
}

void PlanSupervisor::Restart(const RestartChild& request, Replier<ChildStarted> replier) {
  plan_->RestartChild(request.id, answers_.Add(With(std::move(replier))), context().Now());
  Apply();
}

void PlanSupervisor::Delete(const DeleteChild& request, Replier<ChildDone> replier) {
  plan_->DeleteChild(request.id, answers_.Add(With(std::move(replier))), context().Now());
  Apply();
}

absl::StatusOr<Subscribed> PlanSupervisor::AddSubscriber(const Subscribe& request) {
  const Pid pid = request.subscriber.pid();
  if (absl::Status room = listeners_.CheckRoomFor(pid); !room.ok()) return room;
  listeners_.Subscribe(request.subscriber, context().Monitor(pid, &PlanSupervisor::SubscriberDown));
  plan_->set_reports(true);
  return Subscribed();
}

// ---- Events.

void PlanSupervisor::Outcome(const SpawnOutcome& outcome) {
  const LifeId life = LifeOf(outcome.pid);
  if (life == 0) return;
  switch (outcome.kind) {
    case SpawnOutcome::Kind::kStarted:
      if (const Pid child = remote_.ChildOf(life); !child.is_null()) {
        plan_->Spawned(life, child);  // others know the child, not its proxy
        KeepNameElsewhere(life);
      }
      plan_->Started(life, context().Now());
      Apply();
      break;
    case SpawnOutcome::Kind::kIgnored:
      declined_.insert(life);
      break;  // the plan is told when the Down comes, which has the unhandled mail
    case SpawnOutcome::Kind::kFailed:
      break;  // likewise; the Down has the same reason
  }
}

void PlanSupervisor::ChildDown(Down down) {
  const LifeId life = LifeOf(down.pid);
  if (life == 0) return;
  const std::string id = plan_->children().SpecOf(life)->id;
  if (!down.unhandled_mail.empty()) unhandled_[id].Append(std::move(down.unhandled_mail));
  remote_.Ended(life, id);
  if (exclusive_.Lingers(*plan_->children().SpecOf(life), IsGone())) plan_->Lingers(life);
  if (declined_.erase(life) > 0) {
    plan_->Ignored(life, context().Now());
  } else {
    plan_->Down(life, down.reason, context().Now());
  }
  Apply();
  LookAtPredecessors();
}

void PlanSupervisor::BeginShutdown(const ExitReason& reason) {
  if (!plan_->is_stopping()) is_told_to_end_ = true;
  plan_->Shutdown(reason, context().Now());
  Apply();
}

void PlanSupervisor::TimerCame() {
  timers_.Came();
  while (const absl::optional<RestartPlan::TimerId> timer = timers_.PopDue(context().Now())) {
    plan_->TimerElapsed(*timer, context().Now());
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

void PlanSupervisor::LookAtPredecessors() {
  const auto gone = [this](const Predecessor& predecessor) {
    plan_->Gone(predecessor.life, context().Now());
    if (!plan_->children().HasChild(predecessor.child)) exclusive_.ForgetPredecessor(predecessor, IsGone());
    Apply();
  };
  const auto monitor = [this](Pid left) {
    return context().MonitorUntilGone(left, &PlanSupervisor::PredecessorDown).Keep();
  };
  exclusive_.Look(IsGone(), gone, monitor);
}

// ---- Actions.

void PlanSupervisor::Apply() {
  for (;;) {
    std::vector<Action> actions = plan_->TakeActions();
    if (actions.empty()) return;
    for (Action& action : actions) {
      std::visit([this](auto&& what) { this->Apply(std::forward<decltype(what)>(what)); }, std::move(action));
    }
  }
}

void PlanSupervisor::Apply(const RestartPlan::StopLife& stop) {
  listeners_.Unsubscribe(ActorOf(stop.life));
  KeepNames(stop.life, NameKeep::After::kAnyEnd);  // because the child may be started again with its siblings
  context().Exit(ActorOf(stop.life), ExitReason::Shutdown());
}

void PlanSupervisor::Apply(const RestartPlan::KillLife& kill) {
  listeners_.Unsubscribe(ActorOf(kill.life));
  KeepNames(kill.life, NameKeep::After::kAnyEnd);
  context().Kill(ActorOf(kill.life));
}

void PlanSupervisor::Apply(const RestartPlan::ArmTimer& timer) {
  timers_.Arm(timer.timer, context().Now() + timer.wait);
  ArmEarliest();
}

void PlanSupervisor::Apply(const RestartPlan::WatchName& watch) {
  // If too many names are watched, only the child's timer has it tried again.
  (void)context().WatchName(watch.name, &PlanSupervisor::NameChanged);
}

void PlanSupervisor::Apply(const RestartPlan::ForgetChild& forget) {
  const std::string& id = forget.child->id;
  unhandled_.erase(id);
  remote_.Forget(id);
  if (!plan_->HasPredecessor(id)) exclusive_.Forget(id, IsGone());
}

void PlanSupervisor::Apply(const RestartPlan::StartDone&) {
  if (is_front()) front_.Learn(plan_->children().WhichChildren());
  if (std::exchange(stage_, Stage::kStarted) == Stage::kStarting) context().FinishStart();
}

void PlanSupervisor::Apply(const RestartPlan::Finish& finish) {
  if (is_told_to_end_) {
    context().StopAs(finish.reason);  // no crash report: the reason comes from elsewhere
  } else {
    context().Stop(finish.reason);
  }
}

void PlanSupervisor::Apply(const RestartPlan::StartLife& action) {
  const auto elsewhere = action.child->placement.has_value() ? remote_.NewLife(action.child->id) : nullptr;
  absl::StatusOr<MakeActor> make = MakerOf(action.child, elsewhere);
  KeepNames(action.life, action.child->restart == RestartType::kTransient ? NameKeep::After::kAbnormalEnd
                                                                          : NameKeep::After::kAnyEnd);
  SpawnOptions options = OptionsOf(*action.child, options_);
  options.names_kept_by = context().Self();
  if (auto left = unhandled_.extract(action.child->id); !left.empty()) {
    options = std::move(options).WithUnhandledMail(std::move(left.mapped()));
  }
  const Pid spawned =
      context().SpawnMade(std::move(options), make.ok() ? *std::move(make) : FailedStart(make.status()));
  plan_->Spawned(action.life, spawned);
  exclusive_.Began(*action.child, spawned, IsGone());
  if (elsewhere != nullptr) remote_.Spawned(action.life, spawned, elsewhere);
}

absl::StatusOr<MakeActor> PlanSupervisor::MakerOf(const std::shared_ptr<const ChildSpec>& spec,
                                                  const std::shared_ptr<RemoteLife>& elsewhere) {
  const ChildSpec& child = *spec;
  const bool is_below_exclusive = exclusive_.IsBelowExclusive(child);
  if (child.placement.has_value()) {
    if (!is_below_exclusive) return MakerElsewhere(child, context().Spawner(), elsewhere);
    return absl::FailedPreconditionError(absl::StrCat(
        "child '", child.id, "' is to run on another node, but a supervisor above it is exclusive: when that ",
        "node is lost, a handler of the child may still run there"));
  }
  if (child.kind == ChildKind::kProcess) return MakerOfProcess(child, context().Spawner());
  if (child.subtree == nullptr && child.start == nullptr) {
    return absl::FailedPreconditionError(
        absl::StrCat("child '", child.id, "' has nothing to start: no ChildSpec::start"));
  }
  // Gives the actor the ExclusiveLives for its own children if it is a supervisor, which a factory may make too.
  auto hand_down = [below = exclusive_.Below(child.id), is_below_exclusive](std::unique_ptr<Actor> made) {
    if (auto* const supervisor = dynamic_cast<PlanSupervisor*>(made.get()); supervisor != nullptr) {
      supervisor->SetAbove(below(), is_below_exclusive);
    }
    return made;
  };
  if (child.subtree == nullptr) {
    return MakeActor([spec, hand_down = std::move(hand_down)] { return hand_down(spec->start->make()()); });
  }
  SupervisorSpec subtree = *child.subtree;
  if (!subtree.on_event) subtree.on_event = spec_->on_event;
  ChildStart::MakeActor make =
      child.start != nullptr ? child.start->MakerOf(std::move(subtree)) : MakeSupervisor(std::move(subtree)).make;
  return MakeActor([make = std::move(make), hand_down = std::move(hand_down)] { return hand_down(make()); });
}

Pid PlanSupervisor::ActorOf(LifeId life) const {
  const Pid proxy = remote_.ProxyOf(life);
  return proxy.is_null() ? plan_->children().PidOf(life) : proxy;
}

PlanSupervisor::LifeId PlanSupervisor::LifeOf(Pid actor) const {
  const LifeId life = remote_.LifeOf(actor);
  return life == 0 ? plan_->children().LifeOf(actor) : life;
}

// Keeps the names of the child if the plan wants it (NameKeep in registry.h). The name of a child on another node is
// kept by KeepNameElsewhere.
void PlanSupervisor::KeepNames(LifeId life, NameKeep::After after) {
  if (!plan_->KeepsNames(life)) return;
  const std::shared_ptr<const ChildSpec> child = plan_->children().SpecOf(life);
  if (child->placement.has_value()) return;
  if (!child->registered_as.empty()) {
    context().KeepName({.name = child->registered_as, .scope = NameScope::kNode, .after = after});
  }
  if (!child->published_as.empty()) {
    context().KeepName({.name = child->published_as, .scope = NameScope::kCluster, .after = after});
  }
}

// Call when the child has started on another node, and has its name there.
void PlanSupervisor::KeepNameElsewhere(LifeId life) {
  if (!plan_->KeepsNames(life)) return;
  context().KeepName(
      {.name = plan_->children().SpecOf(life)->published_as, .scope = NameScope::kCluster, .is_elsewhere = true});
}

void PlanSupervisor::Apply(const RestartPlan::FreeNames& free) {
  const ChildSpec& child = *free.child;
  if (!child.registered_as.empty()) context().FreeName(child.registered_as);
  if (!child.published_as.empty()) context().FreeName(child.published_as);
}

void PlanSupervisor::ArmEarliest() {
  const absl::optional<MonotonicTime> earliest = timers_.TakeToArm();
  if (!earliest.has_value()) return;
  const absl::Status armed = context().StartTimer(kTimerName, *earliest - context().Now(), &PlanSupervisor::TimerCame);
  if (!armed.ok()) Fail(armed);  // one timer is always within the limit
}

void PlanSupervisor::Apply(RestartPlan::Report&& report) {
  report.event.supervisor = context().Self();
  listeners_.Tell(report.event, context().Log());
}

}  // namespace understudy::internal
