// Signals: links, exits, monitors, stops, replies, cancellations.
#include <memory>
#include <utility>

#include "absl/status/status.h"
#include "absl/strings/str_cat.h"
#include "absl/types/optional.h"
#include "understudy/actors/check.h"
#include "understudy/actors/error.h"
#include "understudy/actors/internal/turn/actor_asks.h"
#include "understudy/actors/internal/turn/actor_core.h"
#include "understudy/actors/limits.h"

namespace understudy::internal {

namespace {

ExitReason TooManyLinks() {
  return ExitReason::Failed(
      MakeError(ErrorKind::kFull, absl::StrCat("an actor has at most ", limits::kLinksPerActorMax, " links")));
}

}  // namespace

void ActorCore::Act(Signal signal) {
  switch (signal.kind) {
    case SignalKind::kExit:
      OnExitSignal(signal);
      return;
    case SignalKind::kKill:
      if (!has_exit() && KnownExits().is_told_to_end()) system().CountOverdueEnd();
      SetExit(ExitReason::Killed(), ExitCause::kKill);
      return;
    case SignalKind::kLink:
      OnLinkSignal(signal);
      return;
    case SignalKind::kUnlink:
      links().OnUnlink(signal.from);
      system().Post({.kind = SignalKind::kUnlinkAck, .from = self(), .to = signal.from, .id = signal.id});
      return;
    case SignalKind::kUnlinkAck:
      links().OnUnlinkAck(signal.from, signal.id);
      return;
    case SignalKind::kMonitor:
      links().OnMonitor(signal.from, signal.id);
      return;
    case SignalKind::kDemonitor:
      OnDemonitor(signal);
      return;
    case SignalKind::kDown:
      OnDownSignal(std::move(signal));
      return;
    case SignalKind::kRequestStop:
      OnRequestStop(signal);
      return;
    case SignalKind::kCancel:
      // A call that was forwarded may arrive behind its cancel signal: the drain looks for it again at its end.
      if (!CancelWaiting(signal.from, signal.id) && rare_ != nullptr && rare_->passes_calls_on) {
        rare_->early_cancels.emplace_back(signal.from, signal.id);
      }
      return;
    case SignalKind::kReply:
      if (!AnswerAsk(*this, signal.id, std::move(signal.status), std::move(signal.payload))) system().CountLateReply();
      return;
  }
}

// The first exit wins.
void ActorCore::SetExit(ExitReason reason, ExitCause cause) {
  if (has_exit()) return;
  Set(kHasExit);
  is_killed_ = cause == ExitCause::kKill;
  if (!reason.is_normal()) exits().End(std::move(reason));
  if (cause <= ExitCause::kOwnOutside && this->reason().is_abnormal()) NoteCrash(cause);
}

LinkTable& ActorCore::links() {
  if (parent_.TakeLink()) rare().links.OnLink(parent());
  return rare().links;
}

bool ActorCore::AddEvent(Event event) {
  event.stamp = ++last_stamp_;
  if (rare().events.Add(std::move(event))) return true;
  system().CountMergedExit();
  return false;
}

// A peer's exit came along a link. False when there is none any more.
bool ActorCore::EndsLink(Pid peer) {
  const bool is_tie = parent_.TakeTiedExit(peer);
  return links().OnLinkExit(peer) || is_tie;
}

// If there is no room for the link, it ends at once: the peer gets an exit, as if this actor had failed.
void ActorCore::OnLinkSignal(const Signal& signal) {
  if (!is_ending_ && !HasRoomForLink(signal.from)) {
    system().Post(
        {.kind = SignalKind::kExit, .from = self(), .to = signal.from, .is_link = true, .reason = TooManyLinks()});
    return;
  }
  links().OnLink(signal.from);
}

void ActorCore::OnExitSignal(const Signal& signal) {
  const bool was_tied = parent_.is_tied();
  if (signal.is_link && !EndsLink(signal.from)) return;
  const bool from_parent = parent_.IsParentsExit(signal.from, signal.is_link);
  const bool is_own = signal.from == self();
  const Exits::Effect effect = KnownExits().EffectOf(signal.reason, is_own);
  if (effect == Exits::Effect::kEndsActor) {
    SetExit(signal.reason, is_own ? ExitCause::kOwnOutside : ExitCause::kTold);
    // Noted although the actor ends now: if its OnExit does not return and it has to be killed, that kill counts as
    // overdue.
    if (from_parent) exits().NoteParentsExit();
  }
  if (effect != Exits::Effect::kIsEvent) return;
  Event event{
      .kind = from_parent ? Event::Kind::kParentExit : Event::Kind::kExit,
      .is_sent = !signal.is_link,
      .is_tied_exit = was_tied && !parent_.is_tied(),
      .peer = signal.from,
      .reason = signal.reason,
      .payload = Payload::Of(ExitEvent{.peer = signal.from, .reason = signal.reason, .from_parent = from_parent})};
  if (!AddEvent(std::move(event))) return;
  if (!from_parent) return;
  exits().NoteParentsExit();
  const absl::Duration within = spawn_record().options().shutdown_within;
  if (exits().parents_timer() == 0 && within != absl::InfiniteDuration()) {
    exits().SetParentsTimer(system().KillAfter(within, cell(), life()));
  }
}

Exits& ActorCore::exits() {
  std::unique_ptr<Exits>& exits = rare().exits;
  if (exits == nullptr) exits = std::make_unique<Exits>();
  return *exits;
}

const Exits& ActorCore::KnownExits() const {
  static const Exits* const none = new Exits;
  return rare_ == nullptr || rare_->exits == nullptr ? *none : *rare_->exits;
}

Watches& ActorCore::watches() {
  std::unique_ptr<Watches>& watches = rare().watches;
  if (watches == nullptr) watches = std::make_unique<Watches>();
  return *watches;
}

void ActorCore::OnOutcome(SpawnReport report) {
  absl::optional<std::shared_ptr<MessageHandler>> handler = watches().TakeOutcome(report.id);
  if (!handler.has_value()) return;
  AddEvent({.kind = Event::Kind::kOutcome,
            .peer = report.child,
            .payload = Payload::Of(SpawnOutcome{.pid = report.child,
                                                .kind = static_cast<SpawnOutcome::Kind>(report.kind),
                                                .reason = std::move(report.reason)}),
            .handler = *std::move(handler)});
}

void ActorCore::OnDemonitor(const Signal& signal) {
  if (parent_.OnDemonitor(signal.from, signal.id, spawn_record().parents_id())) return;
  links().OnDemonitor(signal.from, signal.id);
}

void ActorCore::OnDownSignal(Signal signal) {
  // If something is left of the target's life, Defer keeps the Down and sends it again when the target is gone.
  if (LinkTable::IsUntilGone(signal.id) && links().IsMonitoring(signal.id) &&
      system().lingering_lives().Defer(signal)) {
    return;
  }
  if (rare_ == nullptr || rare_->watches == nullptr) return;
  absl::optional<std::shared_ptr<MessageHandler>> handler = watches().TakeDown(signal.id, links());
  if (!handler.has_value()) return;
  Down down{.pid = signal.from, .monitor = signal.id, .reason = std::move(signal.reason)};
  if (signal.payload.is_typed()) down.unhandled_mail = std::move(signal.payload.As<UnhandledMail>());
  AddEvent({.kind = Event::Kind::kDown,
            .id = signal.id,
            .peer = signal.from,
            .payload = Payload::Of(std::move(down)),
            .handler = *std::move(handler)});
}

void ActorCore::OnRequestStop(const Signal& signal) {
  AddEvent({.kind = Event::Kind::kStopRequest,
            .is_sent = true,
            .peer = signal.from,
            .reason = signal.reason,
            .payload = Payload::Of(StopRequest{.from = signal.from, .reason = signal.reason})});
}

Pid ActorCore::SpawnChild(SpawnOptions&& options, MakeActor&& make) {
  const SpawnLink link = options.link;
  SpawnedChild child{.is_tied = link == SpawnLink::kOneWay,
                     .outcome = std::move(options.outcome_handler),
                     .down = std::move(options.down_handler)};
  UNDERSTUDY_CHECK(!child.is_tied || child.down != nullptr,
                   "SpawnLink::kOneWay without OnDown: nobody would be told of the actor's end");
  SpawnNotifications notifications{.tells_outcome = child.outcome != nullptr, .tells_down = child.down != nullptr};
  if (notifications.tells_outcome || notifications.tells_down) notifications.id = links().NewId();
  const bool is_refused = link == SpawnLink::kLinked && links().link_count() >= limits::kLinksPerActorMax;
  absl::optional<ExitReason> has_failed;
  if (is_refused) has_failed = TooManyLinks();
  // While the system stops, a child that outlives its spawner would never be told to end, so it fails at once.
  const bool is_left_over = link == SpawnLink::kUnlinked || is_ending_ || has_exit();
  if (is_left_over && system().is_stopping.load(std::memory_order_relaxed)) has_failed = ExitReason::Shutdown();
  const bool is_full = system().is_full();
  const Pid pid =
      is_full ? system().NewRefusedPid()
              : Spawn(system(), self(), std::move(options), std::move(make), notifications, std::move(has_failed));
  child.pid = pid;
  if (link == SpawnLink::kLinked) links().OnLink(pid);  // if it is refused, until its end is told
  if (notifications.id != 0) watches().AddChild(notifications.id, std::move(child));
  if (is_full) TellOfRefusedSpawn(pid, link, notifications, options);
  return pid;
}

// Sends this actor what a child whose start fails tells its parent. The caller destroys what the options and the
// factory hold.
void ActorCore::TellOfRefusedSpawn(Pid pid, SpawnLink link, const SpawnNotifications& notifications,
                                   SpawnOptions& options) {
  const ExitReason reason = system().TooManyActors();
  if (notifications.tells_outcome) {
    PostOrDrop(
        cell(), system(), life(),
        MakeEnvelope(
            EnvelopeKind::kOutcome,
            SpawnReport{.child = pid, .id = notifications.id, .kind = SpawnReport::Kind::kFailed, .reason = reason}));
  }
  if (link == SpawnLink::kLinked) {
    system().Post({.kind = SignalKind::kExit, .from = pid, .to = self(), .is_link = true, .reason = reason});
  }
  if (!notifications.tells_down) return;
  Signal down{.kind = SignalKind::kDown, .from = pid, .to = self(), .id = notifications.id, .reason = reason};
  if (options.unhandled_mail != nullptr) down.payload = Payload::Of(std::move(*options.unhandled_mail));
  system().Post(std::move(down));
}

bool ActorCore::HasRoomForLink(Pid peer) {
  return links().link_count() < limits::kLinksPerActorMax || links().IsLinked(peer);
}

void ActorCore::Link(Pid peer) {
  if (peer == self()) return;
  if (!HasRoomForLink(peer)) {
    (void)links().Link(peer);  // until its end is told
    system().Post(
        Signal{.kind = SignalKind::kExit, .from = peer, .to = self(), .is_link = true, .reason = TooManyLinks()});
    return;
  }
  if (links().Link(peer)) system().Post({.kind = SignalKind::kLink, .from = self(), .to = peer});
}

void ActorCore::Unlink(Pid peer) {
  if (rare().events.RemoveExitsOfLink(peer)) system().executor().Cancel(exits().TakeParentsTimer());
  const uint64_t id = links().Unlink(peer);
  if (id != 0) system().Post({.kind = SignalKind::kUnlink, .from = self(), .to = peer, .id = id});
}

uint64_t ActorCore::Monitor(Pid target, std::shared_ptr<MessageHandler> handler) {
  return BeginMonitor(links().NewId(), target, std::move(handler));
}

uint64_t ActorCore::MonitorUntilGone(Pid target, std::shared_ptr<MessageHandler> handler) {
  const bool is_full = links().monitor_count() >= limits::kMonitorsPerActorMax;  // which is told at once
  return BeginMonitor(is_full ? links().NewId() : links().NewIdUntilGone(), target, std::move(handler));
}

uint64_t ActorCore::BeginMonitor(uint64_t id, Pid target, std::shared_ptr<MessageHandler> handler) {
  links().Monitor(id, target);
  watches().AddMonitor(id, std::move(handler));
  if (links().monitor_count() > limits::kMonitorsPerActorMax) {
    system().Post(Signal{
        .kind = SignalKind::kDown,
        .from = target,
        .to = self(),
        .id = id,
        .reason = ExitReason::Failed(MakeError(
            ErrorKind::kFull, absl::StrCat("an actor has at most ", limits::kMonitorsPerActorMax, " monitors")))});
  } else if (!is_ending_) {
    system().Post({.kind = SignalKind::kMonitor, .from = self(), .to = target, .id = id});
  }
  return id;
}

void ActorCore::Demonitor(uint64_t id) {
  rare().events.RemoveDowns(id);
  watches().RemoveMonitor(id);
  if (!links().IsMonitoring(id)) return;
  TellOfDemonitor(id, links().Demonitor(id));
}

void ActorCore::TellOfDemonitor(uint64_t id, Pid target) {
  if (LinkTable::IsUntilGone(id)) system().lingering_lives().Forget(target, self(), id);
  system().Post({.kind = SignalKind::kDemonitor, .from = self(), .to = target, .id = id});
}

}  // namespace understudy::internal
