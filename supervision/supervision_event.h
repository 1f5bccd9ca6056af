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
    kStarted = 1,      // the child runs
    kIgnored = 2,      // its Start declined
    kStartFailed = 3,  // its Start failed: `reason`
    kExited = 4,       // it ended by itself: `reason`
    kRestarting = 5,   // it will be started again, now
    kBackoff = 6,      // it will be started again after `wait`
    kStopped = 7,      // its supervisor stopped it: `reason`
    kGaveUp = 8,       // the supervisor gives up because of it: `reason`
    kShutdown = 9,     // the supervisor begins to stop its children: `reason`
    kParked = 10,      // it has lost its name, and waits for it: `reason`
    kHeld = 11,        // it is exclusive, and waits, at most `wait`, for the handler of its killed life to return
  };
  static constexpr int kKindMax = 11;
  Kind kind = Kind::kStarted;
  Pid supervisor;
  std::string child;  // its id; empty for kShutdown
  Pid pid;            // the child's, in the life this is about; null where there is none
  ExitReason reason;
  int restarts = 0;  // of this child, until now
  absl::Duration wait;
  MonotonicTime time;
  // The child's spec: how it is restarted and stopped, and what makes it; null
  // for kShutdown. What a crashed child was at is reason.crash().
  std::shared_ptr<const ChildSpec> spec;

  // "child 'ledger' <house.7.42> exited: Failed(…); because of …"
  std::string ToString() const;
  // Returns a report in several lines, for finding the cause: the supervisor, the event, every reason
  // of the chain with its actor's activity and last messages, and the offender. The report has at most
  // `bytes_max` bytes, and says so if text was cut.
  std::string ToReport(size_t bytes_max = limits::kSupervisionReportBytesMax) const;
  friend std::ostream& operator<<(std::ostream& out, const SupervisionEvent& event) { return out << event.ToString(); }
};

// "started", "start failed", …
absl::string_view SupervisionEventName(SupervisionEvent::Kind kind);

}  // namespace understudy

#endif  // UNDERSTUDY_SUPERVISION_SUPERVISION_EVENT_H_
