#include "understudy/supervision/internal/event_listeners.h"

#include <algorithm>
#include <iterator>
#include <string>

#include "absl/status/status.h"
#include "absl/strings/str_cat.h"
#include "understudy/actors/channel.h"
#include "understudy/actors/error.h"
#include "understudy/actors/log_sink.h"
#include "understudy/actors/pid.h"
#include "understudy/supervision/child_spec.h"
#include "understudy/supervision/limits.h"
#include "understudy/supervision/supervision_event.h"
#include "understudy/supervision/supervision_watch.h"

namespace understudy::internal {
namespace {

// The severity of an event in the log. The children of a pool come and go with its work, so their ordinary events are
// logged for debugging only. The children of the front of a sharded pool are its shards, so their events are not.
LogSeverity SeverityOf(const SupervisionEvent& event, const SupervisorSpec& spec) {
  const bool is_of_pool = spec.pool != nullptr && spec.pool->shards == 1;
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

bool EventListeners::HearsWithoutSubscribers(const LogSink& log) const {
  if (spec_->on_event != nullptr) return true;
  constexpr LogSeverity kAll[] = {LogSeverity::kDebug, LogSeverity::kInfo, LogSeverity::kWarning, LogSeverity::kError};
  return std::any_of(std::begin(kAll), std::end(kAll), [&](LogSeverity severity) { return log.Wants(severity); });
}

absl::Status EventListeners::CheckRoomFor(Pid subscriber) const {
  if (subscribers_.size() < limits::kSupervisionSubscribersMax || subscribers_.contains(subscriber)) {
    return absl::OkStatus();
  }
  return MakeError(ErrorKind::kFull,
                   absl::StrCat("the supervisor has ", subscribers_.size(), " subscribers, its limit"));
}

void EventListeners::Tell(const SupervisionEvent& event, LogSink& log) {
  if (const LogSeverity severity = SeverityOf(event, *spec_); log.Wants(severity)) {
    const std::string text = event.ToString();
    const bool names_it = event.kind == SupervisionEvent::Kind::kShutdown;
    log.Write(severity, names_it ? text : absl::StrCat("supervisor ", event.supervisor.ToString(), ": ", text));
  }
  if (spec_->on_event) spec_->on_event(event);
  SupervisionWatch::Tell(event);
  for (auto next = subscribers_.begin(); next != subscribers_.end();) {
    const auto subscriber = next++;
    const Channel<SupervisionEvent>& channel = subscriber->second.channel;
    const absl::Status sent = channel.Send(event);
    if (IsNoProcess(sent) || IsStopping(sent) || IsNoConnection(sent)) {
      subscribers_.erase(subscriber);  // as its Down, which is on the way, would do
    } else if (!sent.ok()) {
      channel.Tell(event);  // if it is refused again, a dead letter says that an event is lost
    }
  }
}

}  // namespace understudy::internal
