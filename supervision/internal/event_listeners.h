// EventListeners: the receivers of one supervisor's events: the log, the OnEvent of its tree, and its subscribers.
//
// Owner only.
#ifndef UNDERSTUDY_SUPERVISION_INTERNAL_EVENT_LISTENERS_H_
#define UNDERSTUDY_SUPERVISION_INTERNAL_EVENT_LISTENERS_H_

#include <map>
#include <memory>
#include <utility>

#include "absl/status/status.h"
#include "understudy/actors/channel.h"
#include "understudy/actors/context.h"
#include "understudy/actors/log_sink.h"
#include "understudy/actors/pid.h"
#include "understudy/supervision/child_spec.h"
#include "understudy/supervision/supervision_event.h"

namespace understudy::internal {

class EventListeners {
 public:
  explicit EventListeners(std::shared_ptr<const SupervisorSpec> spec) : spec_(std::move(spec)) {}

  // True if some event would reach the log or the tree's OnEvent.
  bool HearsWithoutSubscribers(const LogSink& log) const;

  // ResourceExhausted if the subscription of that pid would exceed limits::kSupervisionSubscribersMax.
  absl::Status CheckRoomFor(Pid subscriber) const;
  // Adds a subscriber, which gets all later events. Replaces an earlier subscription of the same pid. `monitor` watches
  // the subscriber, and ends with the subscription.
  void Subscribe(const Channel<SupervisionEvent>& channel, MonitorHandle monitor) {
    subscribers_[channel.pid()] = {channel, std::move(monitor)};
  }
  void Unsubscribe(Pid subscriber) { subscribers_.erase(subscriber); }

  // Passes `event`, whose `supervisor` must be set, to all listeners.
  void Tell(const SupervisionEvent& event, LogSink& log);

 private:
  struct Subscriber {
    Channel<SupervisionEvent> channel;
    MonitorHandle monitor;
  };

  const std::shared_ptr<const SupervisorSpec> spec_;
  std::map<Pid, Subscriber> subscribers_;
};

}  // namespace understudy::internal

#endif  // UNDERSTUDY_SUPERVISION_INTERNAL_EVENT_LISTENERS_H_
