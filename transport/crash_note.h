// Converts crash reports to protobuf messages and back, for supervision reports and for what a process child tells its
// parent.
//
// Threads: any.
#ifndef UNDERSTUDY_TRANSPORT_CRASH_NOTE_H_
#define UNDERSTUDY_TRANSPORT_CRASH_NOTE_H_

#include <memory>

#include "absl/status/statusor.h"
#include "understudy/actors/clock.h"
#include "understudy/actors/crash_report.h"
#include "understudy/actors/pid.h"
#include "understudy/proto/supervision_report.pb.h"

namespace understudy {

// Returns a note with everything that the report has, but without a `link`.
proto::CrashNote ToProto(const CrashReport& crash);

// Returns the report that `note` describes, for the actor system of `local` (which may be any pid of that system).
// InvalidArgument: the note is malformed. ResourceExhausted: see PidFromProto.
absl::StatusOr<std::shared_ptr<CrashReport>> CrashFromProto(const proto::CrashNote& note, Pid local);

// Changes the times of a report from another process, whose clock begins at another time, as if its actor had failed at
// `now`.
void MoveTimes(CrashReport& crash, MonotonicTime now);

}  // namespace understudy

#endif  // UNDERSTUDY_TRANSPORT_CRASH_NOTE_H_
