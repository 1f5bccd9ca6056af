// Signals: links, exits, monitors, stops, replies, cancellations.
#include <algorithm>
#include <memory>
#include <utility>

#include "absl/status/status.h"
#include "absl/strings/str_cat.h"
#include "understudy/actors/error.h"
#include "understudy/actors/internal/actor_core.h"
#include "understudy/actors/limits.h"

namespace understudy::internal {

void ActorCore::Act(Signal signal) {
  switch (signal.kind) {
    case SignalKind::kExit:
      OnExitSignal(signal);
      return;
    case SignalKind::kKill:
      SetExit(ExitReason::Killed(), /*is_kill=*/true);
      return;
    case SignalKind::kLink:
      links_.OnLink(signal.from);
      return;
    case SignalKind::kUnlink:
      links_.OnUnlink(signal.from);
      system_.Post({.kind = SignalKind::kUnlinkAck, .from = self_, .to = signal.from, .id = signal.id});
      return;
    case SignalKind::kUnlinkAck:
      links_.OnUnlinkAck(signal.from, signal.id);
      return;
    case SignalKind::kMonitor:
      links_.OnMonitor(signal.from, signal.id);
      return;
    case SignalKind::kDemonitor:
      links_.OnDemonitor(signal.from, signal.id);
      return;
    case SignalKind::kDown:
      OnDownSignal(signal);
      return;
    case SignalKind::kRequestStop:
      OnRequestStop(signal);
      return;
    case SignalKind::kCancel:
      CancelWaiting(signal.from, signal.id);
      return;
    case SignalKind::kReply:
      if (!Answered(signal.id, std::move(signal.status), std::move(signal.payload))) system_.CountLateReply();
      return;
  }
}

// The first exit wins.
void ActorCore::SetExit(ExitReason reason, bool is_kill) {
  if (exit_) return;
  exit_ = std::move(reason);
  is_killed_ = is_kill;
}

void ActorCore::AddEvent(Event event) {
  event.stamp = ++last_stamp_;
  events_.push_back(std::move(event));
}

void ActorCore::OnExitSignal(const Signal& signal) {
  if (signal.is_link && !links_.OnLinkExit(signal.from)) return;
  const bool from_parent = !parent_.is_null() ? signal.from == parent_ : signal.from.is_null();
  if (!traps_exits_) {
    // Normal ends nobody but its sender.
    if (signal.reason.is_normal() && signal.from != self_) return;
    SetExit(signal.reason, /*is_kill=*/false);
    return;
  }
  Event event{
      .kind = from_parent ? Event::Kind::kParentExit : Event::Kind::kExit,
      .peer = signal.from,
      .reason = signal.reason,
      .payload = Payload::Of(ExitEvent{.peer = signal.from, .reason = signal.reason, .from_parent = from_parent}),
      .handler = from_parent ? parent_exit_handler_ : exit_handler_};
  AddEvent(std::move(event));
  if (from_parent && parent_exit_timer_ == 0 && options_.shutdown_within != absl::InfiniteDuration()) {
    parent_exit_timer_ = AddTimer(system_.clock().Now() + options_.shutdown_within, {.kind = Timer::Kind::kParentExit});
  }
}

void ActorCore::OnDownSignal(const Signal& signal) {
  if (!links_.OnDown(signal.id)) return;
  const auto handler = monitor_handlers_.find(signal.id);
  if (handler == monitor_handlers_.end()) return;
  AddEvent({.kind = Event::Kind::kDown,
            .id = signal.id,
            .peer = signal.from,
            .payload = Payload::Of(Down{.pid = signal.from, .monitor = signal.id, .reason = signal.reason}),
            .handler = std::move(handler->second)});
  monitor_handlers_.erase(handler);
}

void ActorCore::OnRequestStop(const Signal& signal) {
  AddEvent({.kind = Event::Kind::kStopRequest,
            .peer = signal.from,
            .reason = signal.reason,
            .payload = Payload::Of(StopRequest{.from = signal.from, .reason = signal.reason}),
            .handler = stop_handler_});
}

void ActorCore::CancelWaiting(Pid asker, uint64_t ask) {
  for (size_t i = 0; i < mailboxes_.size(); ++i) {
    auto& queue = mailboxes_[i].queue;
    const auto place = std::find_if(queue.begin(), queue.end(), [&](const Waiting& waiting) {
      return waiting.message.ask == ask && waiting.message.from == asker;
    });
    if (place == queue.end()) continue;
    const Waiting waiting = std::move(*place);
    queue.erase(place);
    Leave(static_cast<int>(i), waiting);
    system_.Count(Fate::kCancelled);  // its asker knows
    return;
  }
}

Pid ActorCore::SpawnChild(SpawnOptions options, MakeActor make) {
  const bool is_linked = options.link == SpawnLink::kLinked;
  std::shared_ptr<MessageHandler> outcome = options.outcome_handler;
  const Pid child = Spawn(system_, self_, std::move(options), std::move(make));
  if (is_linked) links_.OnLink(child);
  if (outcome != nullptr) outcome_handlers_.emplace(child, std::move(outcome));
  return child;
}

void ActorCore::Link(Pid peer) {
  if (peer == self_) return;
  if (links_.link_count() >= limits::kLinksPerActorMax) {
    cell_->Post(
        LifeOf(self_),
        Signal{.kind = SignalKind::kExit,
               .from = peer,
               .to = self_,
               .reason = ExitReason::Failed(MakeError(
                   ErrorKind::kFull, absl::StrCat("an actor has at most ", limits::kLinksPerActorMax, " links")))});
    return;
  }
  if (links_.Link(peer)) system_.Post({.kind = SignalKind::kLink, .from = self_, .to = peer});
}

void ActorCore::Unlink(Pid peer) {
  const bool takes_back = std::any_of(events_.begin(), events_.end(), [&](const Event& event) {
    return event.kind == Event::Kind::kParentExit && event.peer == peer;
  });
  if (takes_back) timers_.Remove(std::exchange(parent_exit_timer_, 0));
  events_.erase(std::remove_if(events_.begin(), events_.end(),
                               [&](const Event& event) {
                                 return (event.kind == Event::Kind::kExit || event.kind == Event::Kind::kParentExit) &&
                                        event.peer == peer;
                               }),
                events_.end());
  const uint64_t id = links_.Unlink(peer);
  if (id != 0) system_.Post({.kind = SignalKind::kUnlink, .from = self_, .to = peer, .id = id});
}

uint64_t ActorCore::Monitor(Pid target, std::shared_ptr<MessageHandler> handler) {
  const uint64_t id = links_.Monitor(target);
  monitor_handlers_.emplace(id, std::move(handler));
  if (links_.monitor_count() > limits::kMonitorsPerActorMax) {
    cell_->Post(LifeOf(self_), Signal{.kind = SignalKind::kDown,
                                      .from = target,
                                      .to = self_,
                                      .id = id,
                                      .reason = ExitReason::Failed(MakeError(
                                          ErrorKind::kFull, absl::StrCat("an actor has at most ",
                                                                         limits::kMonitorsPerActorMax, " monitors")))});
    return id;
  }
  if (is_ending_) return id;
  system_.Post({.kind = SignalKind::kMonitor, .from = self_, .to = target, .id = id});
  return id;
}

void ActorCore::Demonitor(uint64_t id) {
  events_.erase(std::remove_if(events_.begin(), events_.end(),
                               [&](const Event& event) { return event.kind == Event::Kind::kDown && event.id == id; }),
                events_.end());
  monitor_handlers_.erase(id);
  const auto watched = links_.monitored().find(id);
  if (watched == links_.monitored().end()) return;
  const Pid target = links_.Demonitor(id);
  system_.Post({.kind = SignalKind::kDemonitor, .from = self_, .to = target, .id = id});
}

void ActorCore::SetTraps(std::shared_ptr<MessageHandler> handler, std::shared_ptr<MessageHandler> parent_handler) {
  traps_exits_ = true;
  exit_handler_ = std::move(handler);
  parent_exit_handler_ = std::move(parent_handler);
}

}  // namespace understudy::internal
