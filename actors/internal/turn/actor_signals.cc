#include "understudy/actors/internal/turn/actor_signals.h"

#include <memory>
#include <utility>

#include "absl/status/status.h"
#include "absl/strings/str_cat.h"
#include "absl/types/optional.h"
#include "understudy/actors/check.h"
#include "understudy/actors/error.h"
#include "understudy/actors/internal/system/late_ends.h"
#include "understudy/actors/internal/turn/actor_asks.h"
#include "understudy/actors/internal/turn/actor_core.h"
#include "understudy/actors/internal/turn/actor_queues.h"
#include "understudy/actors/internal/turn/actor_streams.h"
#include "understudy/actors/internal/turn/current_turn.h"
#include "understudy/actors/limits.h"

namespace understudy::internal {

bool AddEvent(ActorCore& core, Event event) {
  event.stamp = core.NextStamp();
  if (core.parts().events().Add(std::move(event))) return true;
  core.system().counts().merged_exits.Add();
  return false;
}

namespace {

ExitReason TooManyLinks() {
  return ExitReason::Failed(
      MakeError(ErrorKind::kFull, absl::StrCat("an actor has at most ", limits::kLinksPerActorMax, " links")));
}

bool HasRoomForLink(ActorCore& core, Pid peer) {
  return core.parts().links().link_count() < limits::kLinksPerActorMax || core.parts().links().IsLinked(peer);
}

// A peer's exit came along a link. Returns false if the link had ended.
bool EndsLink(ActorCore& core, Pid peer) {
  const bool is_tie = core.parts().parent_tie().TakeTiedExit(peer);
  return core.parts().links().OnLinkExit(peer) || is_tie;
}

// If there is no room for the link, it ends at once: the peer gets an exit, as if this actor had failed.
void OnLinkSignal(ActorCore& core, const Signal& signal) {
  if (!core.stage().is_ending() && !HasRoomForLink(core, signal.from)) {
    core.system().Post(
        {.kind = SignalKind::kExit, .from = core.self(), .to = signal.from, .is_link = true, .reason = TooManyLinks()});
    return;
  }
  core.parts().links().OnLink(signal.from);
}

void OnExitSignal(ActorCore& core, const Signal& signal) {
  ParentTie& parent = core.parts().parent_tie();
  const bool was_tied = parent.is_tied();
  if (signal.is_link && !EndsLink(core, signal.from)) return;
  const bool from_parent = parent.IsParentsExit(signal.from, signal.is_link);
  const bool is_own = signal.from == core.self();
  const Exits::Effect effect = core.parts().exits_or_default().EffectOf(signal.reason, is_own);
  if (effect == Exits::Effect::kEndsActor) {
    core.SetExit(signal.reason, is_own ? ExitCause::kOwnOutside : ExitCause::kTold);
    // Noted although the actor ends now: if its OnExit does not return and it has to be killed, that kill counts as
    // overdue.
    if (from_parent) core.parts().exits().NoteParentsExit();
  }
  if (effect != Exits::Effect::kIsEvent) return;
  Event event{
      .kind = from_parent ? Event::Kind::kParentExit : Event::Kind::kExit,
      .is_sent = !signal.is_link,
      .is_tied_exit = was_tied && !parent.is_tied(),
      .peer = signal.from,
      .reason = signal.reason,
      .payload = Payload::Of(ExitEvent{.peer = signal.from, .reason = signal.reason, .from_parent = from_parent})};
  if (!AddEvent(core, std::move(event))) return;
  if (!from_parent) return;
  Exits& exits = core.parts().exits();
  exits.NoteParentsExit();
  const absl::Duration within = core.parts().spawn_or_default().options().shutdown_within;
  if (exits.parents_timer() == 0 && within != absl::InfiniteDuration()) {
    exits.SetParentsTimer(KillAfter(core.system(), within, *ThisTurn().cell, core.self().life()));
  }
}

void OnDemonitor(ActorCore& core, const Signal& signal) {
  if (core.parts().parent_tie().OnDemonitor(signal.from, signal.id, core.parts().spawn_or_default().parents_id()))
    return;
  core.parts().links().OnDemonitor(signal.from, signal.id);
}

void OnDownSignal(ActorCore& core, Signal signal) {
  // If something is left of the target's life, Defer keeps the Down and sends it again when the target is gone.
  if (LinkTable::IsUntilGone(signal.id) && core.parts().links().IsMonitoring(signal.id) &&
      core.system().lingering_lives().Defer(signal)) {
    return;
  }
  Watches* const watches = core.parts().known_watches();
  if (watches == nullptr) return;
  absl::optional<std::shared_ptr<MessageHandler>> handler = watches->TakeDown(signal.id, core.parts().links());
  if (!handler.has_value()) return;
  Down down{.pid = signal.from, .monitor = signal.id, .reason = std::move(signal.reason)};
  if (signal.payload.is_typed()) down.unhandled_mail = std::move(signal.payload.As<UnhandledMail>());
  AddEvent(core, {.kind = Event::Kind::kDown,
                  .id = signal.id,
                  .peer = signal.from,
                  .payload = Payload::Of(std::move(down)),
                  .handler = *std::move(handler)});
}

void OnRequestStop(ActorCore& core, const Signal& signal) {
  AddEvent(core, {.kind = Event::Kind::kStopRequest,
                  .is_sent = true,
                  .peer = signal.from,
                  .reason = signal.reason,
                  .payload = Payload::Of(StopRequest{.from = signal.from, .reason = signal.reason})});
}

// Sends this actor what a child whose start fails tells its parent. The caller destroys what the options and the
// factory hold.
void TellOfRefusedSpawn(ActorCore& core, Pid pid, SpawnLink link, const SpawnNotifications& notifications,
                        SpawnOptions& options) {
  SystemCore& system = core.system();
  const Pid self = core.self();
  const ExitReason reason = system.population().TooManyActors();
  if (notifications.tells_outcome) {
    PostOrDrop(
        *ThisTurn().cell, system, self.life(),
        MakeEnvelope(EnvelopeKind::kOutcome,
                     SpawnReport{.id = notifications.id,
                                 .outcome = {.pid = pid, .kind = SpawnOutcome::Kind::kFailed, .reason = reason}}));
  }
  if (link == SpawnLink::kLinked) {
    system.Post({.kind = SignalKind::kExit, .from = pid, .to = self, .is_link = true, .reason = reason});
  }
  if (!notifications.tells_down) return;
  Signal down{.kind = SignalKind::kDown, .from = pid, .to = self, .id = notifications.id, .reason = reason};
  if (options.unhandled_mail != nullptr) down.payload = Payload::Of(std::move(*options.unhandled_mail));
  system.Post(std::move(down));
}

uint64_t BeginMonitor(ActorCore& core, uint64_t id, Pid target, std::shared_ptr<MessageHandler> handler) {
  core.parts().links().Monitor(id, target);
  core.parts().watches().AddMonitor(id, std::move(handler));
  if (core.parts().links().monitor_count() > limits::kMonitorsPerActorMax) {
    core.system().Post(Signal{
        .kind = SignalKind::kDown,
        .from = target,
        .to = core.self(),
        .id = id,
        .reason = ExitReason::Failed(MakeError(
            ErrorKind::kFull, absl::StrCat("an actor has at most ", limits::kMonitorsPerActorMax, " monitors")))});
  } else if (!core.stage().is_ending()) {
    core.system().Post({.kind = SignalKind::kMonitor, .from = core.self(), .to = target, .id = id});
  }
  return id;
}

}  // namespace

void Act(ActorCore& core, Signal signal) {
  switch (signal.kind) {
    case SignalKind::kExit:
      OnExitSignal(core, signal);
      return;
    case SignalKind::kKill:
      if (!core.stage().has_exit() && core.parts().exits_or_default().is_told_to_end())
        core.system().counts().overdue_ends.Add();
      core.SetExit(ExitReason::Killed(), ExitCause::kKill);
      return;
    case SignalKind::kLink:
      OnLinkSignal(core, signal);
      return;
    case SignalKind::kUnlink:
      core.parts().links().OnUnlink(signal.from);
      core.system().Post({.kind = SignalKind::kUnlinkAck, .from = core.self(), .to = signal.from, .id = signal.id});
      return;
    case SignalKind::kUnlinkAck:
      core.parts().links().OnUnlinkAck(signal.from, signal.id);
      return;
    case SignalKind::kMonitor:
      core.parts().links().OnMonitor(signal.from, signal.id);
      return;
    case SignalKind::kDemonitor:
      OnDemonitor(core, signal);
      return;
    case SignalKind::kDown:
      OnDownSignal(core, std::move(signal));
      return;
    case SignalKind::kRequestStop:
      OnRequestStop(core, signal);
      return;
    case SignalKind::kCancel:
      CancelCall(signal.from, signal.id);
      if (ItemBits(signal.id) != 0) OnItemsCancel(core, signal);
      return;
    case SignalKind::kReply:
      if (!AnswerAsk(core, signal.id, std::move(signal.status), std::move(signal.payload))) {
        core.system().counts().late_replies.Add();
      }
      return;
    case SignalKind::kItem:
    case SignalKind::kUploadItem:
      OnItem(core, std::move(signal));
      return;
    case SignalKind::kStreamCredit:
    case SignalKind::kUploadCredit:
      OnItemCredit(core, signal);
      return;
    case SignalKind::kUploadEnd:
      OnUploadEnd(core, signal);
      return;
    case SignalKind::kUploadCancel:
      OnUploadCancel(core, signal);
      return;
  }
}

void ActAfterEnd(ActorCore& core, Signal& signal) {
  switch (signal.kind) {
    case SignalKind::kLink:
    case SignalKind::kUnlink:
    case SignalKind::kUnlinkAck:
    case SignalKind::kMonitor:
    case SignalKind::kDemonitor:
      Act(core, std::move(signal));
      break;
    case SignalKind::kExit:
      if (core.stage().is_fenced() && signal.from == core.parts().parent()) core.parts().exits().NoteParentsExit();
      if (signal.is_link) (void)EndsLink(core, signal.from);
      break;
    case SignalKind::kKill:
      if (core.stage().is_fenced() && core.parts().exits_or_default().is_told_to_end())
        core.system().counts().overdue_ends.Add();
      break;
    case SignalKind::kDown:
      if (Watches* const watches = core.parts().known_watches(); watches != nullptr) {
        (void)watches->TakeDown(signal.id, core.parts().links());
      }
      break;
    case SignalKind::kReply:
    case SignalKind::kItem:
    case SignalKind::kUploadItem:
      core.system().counts().late_replies.Add();
      break;
    default:
      break;
  }
}

void TellOutcome(ActorCore& core, SpawnOutcome::Kind kind, const ExitReason& reason) {
  if (!core.parts().parent_tie().TakeOutcome()) return;
  ActorCell* to = core.system().CellOf(core.parts().parent());
  if (to == nullptr) return;
  PostOrDrop(*to, core.system(), core.parts().parent().life(),
             MakeEnvelope(EnvelopeKind::kOutcome,
                          SpawnReport{.id = core.parts().spawn_or_default().parents_id(),
                                      .outcome = {.pid = core.self(), .kind = kind, .reason = reason}}));
}

void OnOutcome(ActorCore& core, SpawnReport report) {
  absl::optional<std::shared_ptr<MessageHandler>> handler = core.parts().watches().TakeOutcome(report.id);
  if (!handler.has_value()) return;
  AddEvent(core, {.kind = Event::Kind::kOutcome,
                  .peer = report.outcome.pid,
                  .payload = Payload::Of(std::move(report.outcome)),
                  .handler = *std::move(handler)});
}

Pid SpawnChild(ActorCore& core, SpawnOptions&& options, MakeActor&& make) {
  SystemCore& system = core.system();
  const SpawnLink link = options.link;
  SpawnedChild child{.is_tied = link == SpawnLink::kOneWay,
                     .outcome = std::move(options.outcome_handler),
                     .down = std::move(options.down_handler)};
  UNDERSTUDY_CHECK(!child.is_tied || child.down != nullptr,
                   "SpawnLink::kOneWay without OnDown: nobody would be told of the actor's end");
  SpawnNotifications notifications{.tells_outcome = child.outcome != nullptr, .tells_down = child.down != nullptr};
  if (notifications.tells_outcome || notifications.tells_down) notifications.id = core.parts().links().NewId();
  const bool is_refused = link == SpawnLink::kLinked && core.parts().links().link_count() >= limits::kLinksPerActorMax;
  absl::optional<ExitReason> has_failed;
  if (is_refused) has_failed = TooManyLinks();
  // While the system stops, a child that outlives its spawner would never be told to end, so it fails at once.
  const bool is_left_over = link == SpawnLink::kUnlinked || core.stage().is_ending() || core.stage().has_exit();
  if (is_left_over && system.population().is_stopping.load(std::memory_order_relaxed))
    has_failed = ExitReason::Shutdown();
  const bool is_full = system.population().is_full();
  const Pid pid = is_full ? system.NewRefusedPid()
                          : ActorCore::Spawn(system, core.self(), std::move(options), std::move(make), notifications,
                                             std::move(has_failed));
  child.pid = pid;
  if (link == SpawnLink::kLinked) core.parts().links().OnLink(pid);  // if it is refused, until its end is told
  if (notifications.id != 0) core.parts().watches().AddChild(notifications.id, std::move(child));
  if (is_full) TellOfRefusedSpawn(core, pid, link, notifications, options);
  return pid;
}

void Link(ActorCore& core, Pid peer) {
  if (peer == core.self()) return;
  if (!HasRoomForLink(core, peer)) {
    (void)core.parts().links().Link(peer);  // until its end is told
    core.system().Post(
        Signal{.kind = SignalKind::kExit, .from = peer, .to = core.self(), .is_link = true, .reason = TooManyLinks()});
    return;
  }
  if (core.parts().links().Link(peer)) core.system().Post({.kind = SignalKind::kLink, .from = core.self(), .to = peer});
}

void Unlink(ActorCore& core, Pid peer) {
  if (core.parts().events().RemoveExitsOfLink(peer))
    core.system().executor().Cancel(core.parts().exits().TakeParentsTimer());
  const uint64_t id = core.parts().links().Unlink(peer);
  if (id != 0) core.system().Post({.kind = SignalKind::kUnlink, .from = core.self(), .to = peer, .id = id});
}

uint64_t Monitor(ActorCore& core, Pid target, std::shared_ptr<MessageHandler> handler) {
  return BeginMonitor(core, core.parts().links().NewId(), target, std::move(handler));
}

uint64_t MonitorUntilGone(ActorCore& core, Pid target, std::shared_ptr<MessageHandler> handler) {
  LinkTable& links = core.parts().links();
  const bool is_full = links.monitor_count() >= limits::kMonitorsPerActorMax;  // which is told at once
  return BeginMonitor(core, is_full ? links.NewId() : links.NewIdUntilGone(), target, std::move(handler));
}

void Demonitor(ActorCore& core, uint64_t id) {
  core.parts().events().Remove(Event::Kind::kDown, id);
  core.parts().watches().RemoveMonitor(id);
  if (!core.parts().links().IsMonitoring(id)) return;
  TellOfDemonitor(core, id, core.parts().links().Demonitor(id));
}

void TellOfDemonitor(ActorCore& core, uint64_t id, Pid target) {
  if (LinkTable::IsUntilGone(id)) core.system().lingering_lives().Forget(target, core.self(), id);
  core.system().Post({.kind = SignalKind::kDemonitor, .from = core.self(), .to = target, .id = id});
}

void TellChildrenOfEnd(ActorCore& core, const Watches& watches, const ExitReason& reason) {
  for (const auto& [id, child] : watches.children()) {
    Signal signal{.kind = SignalKind::kDemonitor, .from = core.self(), .to = child.pid, .id = id};
    if (child.is_tied) {
      signal.kind = SignalKind::kExit;
      signal.is_link = true;
      signal.reason = reason;
    }
    core.system().Post(std::move(signal));
  }
}

}  // namespace understudy::internal
