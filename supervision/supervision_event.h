// SupervisionEvent: one thing that a supervisor did or saw.
//
// A plain struct for subscribers, logs and tests. The fields are those of
// OTP's supervisor and progress reports (the offender is `child`, `pid` and
// `spec`), with the cause chain and the last messages of what crashed (in
// `reason`) and how often the child was restarted. Its wire form is
// proto/supervision_report.proto.
#ifndef UNDERSTUDY_SUPERVISION_SUPERVISION_EVENT_H_
#define UNDERSTUDY_SUPERVISION_SUPERVISION_EVENT_H_

#include <cstddef>
#include <cstdint>
#include <memory>
#include <ostream>
#include <string>

#include "absl/strings/string_view.h"
#include "absl/time/time.h"
#include "understudy/actors/clock.h"
#include "understudy/actors/exit_reason.h"
#include "understudy/actors/pid.h"
#include "understudy/supervision/child_spec.h"
#include "understudy/supervision/limits.h"

namespace understudy {

struct SupervisionEvent {
  enum class Kind : uint8_t {
    kStarted = 1,      // the child has started
    kIgnored = 2,      // the child declined to start
    kStartFailed = 3,  // the child's start failed with `reason`
    kExited = 4,       // the child ended with `reason`, without being stopped
    kRestarting = 5,   // the child will be started again now
    kBackoff = 6,      // the child will be started again after `wait`
    kStopped = 7,      // the supervisor stopped the child, which ended with `reason`
    kGaveUp = 8,       // the child exceeded a limit, so the supervisor, or in a pool the child alone, is given up
    kShutdown = 9,     // the supervisor begins to stop its children, because of `reason`
    kParked = 10,      // the child lost its name or found it taken (`reason`), and waits until it is free
    kHeld = 11,        // the child is exclusive and waits, at most `wait`, until its killed life is gone
  };
  static constexpr int kKindMax = 11;
  Kind kind = Kind::kStarted;
  Pid supervisor;
  std::string child;  // the child's id; empty for kShutdown
  Pid pid;            // the pid of the child's life that the event is about; null if it is about none
  ExitReason reason;
  int restarts = 0;  // how often the child was restarted until now
  absl::Duration wait;
  MonotonicTime time;
  // The child's spec: how it is made, restarted and stopped; null
  // for kShutdown. If the child crashed, reason.crash() says what it was doing.
  std::shared_ptr<const ChildSpec> spec;

  // "child 'ledger' <house.7.42> exited: Failed(…); because of …"
  std::string ToString() const;
  // Returns a report in several lines, for finding the cause: the supervisor, the event, every reason
  // of the chain with its actor's activity and last messages, and the offender. The report has at most
  // `bytes_max` bytes, and says so if text was cut.
  std::string ToReport(size_t bytes_max = limits::kSupervisionReportBytesMax) const;
  friend std::ostream& operator<<(std::ostream& out, const SupervisionEvent& event) { return out << event.ToString(); }
};

// "started", "failed to start", …, as in ToString.
absl::string_view SupervisionEventName(SupervisionEvent::Kind kind);

}  // namespace understudy

#endif  // UNDERSTUDY_SUPERVISION_SUPERVISION_EVENT_H_
