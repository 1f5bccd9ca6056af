#include "understudy/transport/supervision_report.h"

#include <algorithm>
#include <cstdint>
#include <memory>
#include <string>
#include <utility>
#include <vector>

#include "absl/status/status.h"
#include "absl/status/statusor.h"
#include "absl/strings/str_cat.h"
#include "absl/time/time.h"
#include "understudy/actors/clock.h"
#include "understudy/actors/crash_report.h"
#include "understudy/actors/exit_reason.h"
#include "understudy/actors/limits.h"
#include "understudy/actors/pid.h"
#include "understudy/proto/supervision_report.pb.h"
#include "understudy/supervision/child_spec.h"
#include "understudy/supervision/supervision_event.h"
#include "understudy/transport/codec/frame_codec.h"
#include "understudy/transport/crash_note.h"
#include "understudy/transport/ref_proto.h"
#include "understudy/transport/tree/tree_words.h"

namespace understudy {
namespace {

absl::Status Bad(absl::string_view what) {
  return absl::InvalidArgumentError(absl::StrCat("a bad supervision report: ", what));
}

void ToProto(const ChildSpec& spec, proto::Offender& out) {
  if (spec.factory.has_value()) out.set_made_by(spec.factory->name);
  switch (spec.kind) {
    case ChildKind::kWorker:
      out.set_kind(proto::Offender::WORKER);
      break;
    case ChildKind::kSupervisor:
      out.set_kind(proto::Offender::SUPERVISOR);
      break;
    case ChildKind::kProcess:
      out.set_kind(proto::Offender::PROCESS);
      if (spec.process.has_value()) out.set_made_by(spec.process->binary);
      break;
  }
  out.set_restart(tree_words::RestartOf(spec.restart));
  out.set_shutdown(tree_words::TextOf(ShutdownOf(spec)));
  out.set_significant(spec.significant);
  out.set_registered_as(spec.registered_as);
  out.set_published_as(spec.published_as);
  if (!spec.placement.has_value()) return;
  for (const std::string& node : spec.placement->nodes) out.add_nodes(node);
  out.set_spread(spec.placement->spread);
}

absl::StatusOr<std::shared_ptr<const ChildSpec>> SpecOf(const proto::SupervisionReport& report) {
  const proto::Offender& in = report.offender();
  auto spec = std::make_shared<ChildSpec>();
  spec->id = report.child();
  switch (in.kind()) {
    case proto::Offender::WORKER:
      break;
    case proto::Offender::SUPERVISOR:
      spec->kind = ChildKind::kSupervisor;
      break;
    case proto::Offender::PROCESS:
      spec->kind = ChildKind::kProcess;
      spec->process.emplace().binary = in.made_by();
      break;
    default:
      return Bad(absl::StrCat("the child is of the unknown kind ", static_cast<int>(in.kind())));
  }
  if (spec->kind != ChildKind::kProcess && !in.made_by().empty()) spec->factory.emplace().name = in.made_by();
  if (!proto::SupervisedChild::Restart_IsValid(in.restart())) {
    return Bad(absl::StrCat("the restart type is unknown: ", static_cast<int>(in.restart())));
  }
  spec->restart = tree_words::RestartOf(in.restart());
  spec->shutdown = tree_words::ShutdownOf(in.shutdown());
  if (!spec->shutdown.has_value()) return Bad("the way to stop is missing or unknown");
  spec->significant = in.significant();
  spec->registered_as = in.registered_as();
  spec->published_as = in.published_as();
  if (in.nodes_size() > static_cast<int>(limits::kPeersMax)) {
    return Bad(absl::StrCat(in.nodes_size(), " nodes: at most ", limits::kPeersMax, " are allowed"));
  }
  if (in.nodes_size() > 0) {
    spec->placement.emplace().nodes.assign(in.nodes().begin(), in.nodes().end());
    spec->placement->spread = in.spread();
  }
  return spec;
}

// Returns `reason` with the crash reports that `report` has for it and its causes.
absl::StatusOr<ExitReason> WithCrashes(const ExitReason& reason, const proto::SupervisionReport& report, Pid local) {
  std::vector<ExitReason> links;
  for (const ExitReason* r = &reason; r != nullptr; r = r->cause()) {
    links.push_back(ExitReason::FromParts({.kind = r->kind(),
                                           .status = r->status(),
                                           .exception_type = std::string(r->exception_type()),
                                           .detail = std::string(r->detail()),
                                           .os_value = r->os_value(),
                                           .handler_running = r->handler_running(),
                                           .causes_cut = r->cause() == nullptr && r->causes_cut()}));
  }
  if (report.crashes_size() > static_cast<int>(links.size())) {
    return Bad(
        absl::StrCat(report.crashes_size(), " crashes: expected at most one for each of ", links.size(), " reasons"));
  }
  for (const proto::CrashNote& note : report.crashes()) {
    if (note.link() < 0 || static_cast<size_t>(note.link()) >= links.size()) {
      return Bad(absl::StrCat("a crash is of reason ", note.link(), ": expected 0 to ", links.size(), " - 1"));
    }
    absl::StatusOr<std::shared_ptr<const CrashReport>> crash = CrashFromProto(note, local);
    if (!crash.ok()) return crash.status();
    ExitReason& link = links[static_cast<size_t>(note.link())];
    link = link.WithCrash(*std::move(crash));
  }
  ExitReason whole = links.back();
  for (size_t i = links.size() - 1; i > 0; --i) whole = links[i - 1].CausedBy(whole);
  return whole;
}

}  // namespace

proto::SupervisionReport ToProto(const SupervisionEvent& event) {
  proto::SupervisionReport out;
  out.set_kind(static_cast<int>(event.kind));
  *out.mutable_supervisor() = ToProto(event.supervisor);
  out.set_child(event.child);
  *out.mutable_pid() = ToProto(event.pid);
  *out.mutable_reason() = ToProto(event.reason);
  int place = 0;
  for (const ExitReason* r = &event.reason; r != nullptr; r = r->cause(), ++place) {
    if (r->crash() == nullptr) continue;
    proto::CrashNote& note = *out.add_crashes();
    note = ToProto(*r->crash());
    note.set_link(place);
  }
  out.set_restarts(event.restarts);
  if (event.wait != absl::InfiniteDuration()) {
    out.mutable_wait()->set_seconds(absl::ToInt64Seconds(event.wait));
    out.mutable_wait()->set_nanos(
        static_cast<int32_t>(absl::ToInt64Nanoseconds(event.wait - absl::Seconds(absl::ToInt64Seconds(event.wait)))));
  }
  out.set_time_nanos(event.time.nanos());
  if (event.spec != nullptr) ToProto(*event.spec, *out.mutable_offender());
  return out;
}

absl::StatusOr<SupervisionEvent> EventFromProto(const proto::SupervisionReport& report, Pid local) {
  SupervisionEvent event;
  if (report.kind() < 1 || report.kind() > SupervisionEvent::kKindMax) {
    return Bad(absl::StrCat("the event is of kind ", report.kind(), ": expected 1 to ", SupervisionEvent::kKindMax));
  }
  event.kind = static_cast<SupervisionEvent::Kind>(report.kind());
  event.child = report.child();
  absl::StatusOr<Pid> pid = PidFromProto(report.supervisor(), local);
  if (!pid.ok()) return pid.status();
  event.supervisor = *pid;
  pid = PidFromProto(report.pid(), local);
  if (!pid.ok()) return pid.status();
  event.pid = *pid;
  const absl::StatusOr<ExitReason> reason = FromProto(report.reason());
  if (!reason.ok()) return reason.status();
  absl::StatusOr<ExitReason> whole = WithCrashes(*reason, report, local);
  if (!whole.ok()) return whole.status();
  event.reason = *std::move(whole);
  event.restarts = report.restarts();
  event.wait = report.has_wait() ? absl::Seconds(report.wait().seconds()) + absl::Nanoseconds(report.wait().nanos())
                                 : absl::InfiniteDuration();
  event.time = MonotonicTime::FromNanos(report.time_nanos());
  if (report.has_offender()) {
    absl::StatusOr<std::shared_ptr<const ChildSpec>> spec = SpecOf(report);
    if (!spec.ok()) return spec.status();
    event.spec = *std::move(spec);
  }
  return event;
}

}  // namespace understudy
