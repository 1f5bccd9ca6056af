#include "understudy/examples/auction/node_reporters.h"

#include <unistd.h>

#include <string>

#include "absl/status/statusor.h"
#include "absl/strings/str_cat.h"
#include "absl/strings/string_view.h"
#include "absl/time/time.h"
#include "understudy/actors/context.h"
#include "understudy/actors/ref.h"
#include "understudy/supervision/supervisor.h"

namespace auction {

using understudy::SupervisionEvent;

bool IsNoteworthy(const SupervisionEvent& event, ReportedStops stops) {
  switch (event.kind) {
    case SupervisionEvent::Kind::kStarted:
      return event.restarts > 0;
    case SupervisionEvent::Kind::kStopped:
      return stops == ReportedStops::kAll || event.reason.is_abnormal();
    case SupervisionEvent::Kind::kShutdown:
      return false;
    default:
      return true;
  }
}

understudy::Task<understudy::StartResult> Reporter::Subscribe() {
  // Traps exits so that the parent's exit ends this actor only after the events that were sent before it.
  context().TrapExits([](const understudy::ExitEvent&) {});
  const bool has_own = supervisor_.pid() != understudy::Pid();
  const understudy::SupervisorRef supervisor(has_own ? supervisor_.pid() : context().Parent());
  const auto mine = context().ChannelTo(event_);
  auto asked = supervisor.subscribe().Ask({mine}, absl::Seconds(5));
  absl::StatusOr<understudy::Subscribed> subscribed = co_await asked;
  if (!subscribed.ok()) co_return subscribed.status();
  co_return passing_on_;
}

void Reporter::Forward(const SupervisionEvent& event) {
  if (!IsNoteworthy(event, stops_)) return;
  const absl::Time time = wall_start_ + (event.time - start_);
  using Kind = SupervisionEvent::Kind;
  const bool has_reason = event.kind != Kind::kStarted && event.kind != Kind::kRestarting;
  const std::string why = has_reason ? event.reason.ToString() : "";
  chronicle_->note().Tell(MakeHappening(time, node_, understudy::SupervisionEventName(event.kind), event.child, why));
}

NodeReport NodeSteward::MakeReport(const ReportRequest&) {
  NodeReport report = totals_();
  report.set_node(node_);
  report.set_os_pid(getpid());
  // The request in hand has left its mailbox, and has no disposition yet.
  report.set_waiting(report.waiting() + 1);
  return report;
}

std::string StewardName(absl::string_view node) { return absl::StrCat("steward/", node); }

}  // namespace auction
