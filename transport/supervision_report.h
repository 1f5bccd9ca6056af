// What supervisors tell, as protobuf messages: for a peer, a file or a log
// pipeline.
//
//   SupervisorBuilder house = OneForOne().OnEvent(
//       [&](const SupervisionEvent& event) { file.Append(ToProto(event)); });
//
// A report says what the event says, with its cause chain, what each crashed
// actor of the chain was at, and of the child's spec what OTP calls the
// offender: kind, restart, shutdown, significance, names, and the factory or
// binary that makes it.
//
// Any thread.
#ifndef UNDERSTUDY_TRANSPORT_SUPERVISION_REPORT_H_
#define UNDERSTUDY_TRANSPORT_SUPERVISION_REPORT_H_

#include "absl/status/statusor.h"
#include "understudy/actors/pid.h"
#include "understudy/proto/supervision_report.pb.h"
#include "understudy/supervision/supervision_event.h"

namespace understudy {

proto::SupervisionReport ToProto(const SupervisionEvent& event);

// The event behind a report, for the actor system that `local` (any of its
// pids) belongs to. InvalidArgument when the report is not possible;
// ResourceExhausted as PidFromProto.
absl::StatusOr<SupervisionEvent> EventFromProto(const proto::SupervisionReport& report, Pid local);

}  // namespace understudy

#endif  // UNDERSTUDY_TRANSPORT_SUPERVISION_REPORT_H_
