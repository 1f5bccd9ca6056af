#include "understudy/transport/crash_note.h"

#include <memory>

#include "absl/status/status.h"
#include "absl/status/statusor.h"
#include "absl/strings/str_cat.h"
#include "absl/time/time.h"
#include "understudy/actors/clock.h"
#include "understudy/actors/crash_report.h"
#include "understudy/actors/limits.h"
#include "understudy/actors/pid.h"
#include "understudy/proto/supervision_report.pb.h"
#include "understudy/transport/ref_proto.h"

namespace understudy {

proto::CrashNote ToProto(const CrashReport& crash) {
  proto::CrashNote out;
  *out.mutable_pid() = ToProto(crash.pid);
  out.set_label(crash.label);
  out.set_doing(crash.doing);
  *out.mutable_parent() = ToProto(crash.parent);
  for (const MessageNote& message : crash.messages) {
    proto::HandledMessage& note = *out.add_messages();
    note.set_mailbox(message.mailbox);
    note.set_type(message.type);
    note.set_size_bytes(message.bytes);
    *note.mutable_from() = ToProto(message.from);
    note.set_contents(message.contents);
    note.set_time_nanos(message.time.nanos());
  }
  out.set_trace_id(crash.trace_id);
  out.set_time_nanos(crash.time.nanos());
  return out;
}

absl::StatusOr<std::shared_ptr<CrashReport>> CrashFromProto(const proto::CrashNote& note, Pid local) {
  if (note.messages_size() > limits::kLastMessagesMax) {
    return absl::InvalidArgumentError(absl::StrCat("a crash report has ", note.messages_size(),
                                                   " messages: expected at most ", limits::kLastMessagesMax));
  }
  auto crash = std::make_shared<CrashReport>();
  absl::StatusOr<Pid> pid = PidFromProto(note.pid(), local);
  if (!pid.ok()) return pid.status();
  crash->pid = *pid;
  pid = PidFromProto(note.parent(), local);
  if (!pid.ok()) return pid.status();
  crash->parent = *pid;
  crash->label = note.label();
  crash->doing = note.doing();
  for (const proto::HandledMessage& message : note.messages()) {
    pid = PidFromProto(message.from(), local);
    if (!pid.ok()) return pid.status();
    crash->messages.push_back({.mailbox = message.mailbox(),
                               .type = message.type(),
                               .bytes = message.size_bytes(),
                               .from = *pid,
                               .contents = message.contents(),
                               .time = MonotonicTime::FromNanos(message.time_nanos())});
  }
  crash->trace_id = note.trace_id();
  crash->time = MonotonicTime::FromNanos(note.time_nanos());
  return crash;
}

void MoveTimes(CrashReport& crash, MonotonicTime now) {
  const absl::Duration shift = now - crash.time;
  for (MessageNote& note : crash.messages) {
    if (note.time != MonotonicTime()) note.time = note.time + shift;
  }
  crash.time = now;
}

}  // namespace understudy
