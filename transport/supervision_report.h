// Conversion of supervision events to protobuf messages and back, so that they can be
// sent to a peer, a file or a log pipeline.
//
//   SupervisorBuilder house = OneForOne().OnEvent(
//       [&](const SupervisionEvent& event) { file.Append(ToProto(event)); });
//
// A report has everything that the event has: the exit reason with its causes, the crash
// report of each crashed actor in that chain, and the part of the child's spec that OTP
// calls the offender: kind, restart, shutdown, significance, names, and the factory or
// binary that makes the child.
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

// Returns the event that `report` describes, for the actor system of `local` (which may
// be any pid of that system). InvalidArgument: the report is malformed.
// ResourceExhausted: see PidFromProto.
absl::StatusOr<SupervisionEvent> EventFromProto(const proto::SupervisionReport& report, Pid local);

}  // namespace understudy

#endif  // UNDERSTUDY_TRANSPORT_SUPERVISION_REPORT_H_
