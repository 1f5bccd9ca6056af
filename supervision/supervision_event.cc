#include "understudy/supervision/supervision_event.h"

#include <string>

#include "absl/strings/str_cat.h"
#include "absl/strings/str_replace.h"
#include "absl/strings/string_view.h"
#include "absl/time/time.h"
#include "understudy/actors/crash_report.h"
#include "understudy/actors/cut_text.h"
#include "understudy/supervision/child_spec.h"

namespace understudy {

namespace {

// Replaces line breaks, which the text of a status may contain.
std::string OneLine(absl::string_view text) { return absl::StrReplaceAll(text, {{"\n", "\\n"}}); }

}  // namespace

absl::string_view SupervisionEventName(SupervisionEvent::Kind kind) {
  switch (kind) {
    case SupervisionEvent::Kind::kStarted:
      return "started";
    case SupervisionEvent::Kind::kIgnored:
      return "declined to start";
    case SupervisionEvent::Kind::kStartFailed:
      return "failed to start";
    case SupervisionEvent::Kind::kExited:
      return "exited";
    case SupervisionEvent::Kind::kRestarting:
      return "is restarted";
    case SupervisionEvent::Kind::kBackoff:
      return "is restarted later";
    case SupervisionEvent::Kind::kStopped:
      return "was stopped";
    case SupervisionEvent::Kind::kGaveUp:
      return "is given up";
    case SupervisionEvent::Kind::kShutdown:
      return "stops its children";
    case SupervisionEvent::Kind::kParked:
      return "waits for its name";
    case SupervisionEvent::Kind::kHeld:
      return "waits for the handler of its last life to return";
  }
  return "?";
}

std::string SupervisionEvent::ToString() const {
  if (kind == Kind::kShutdown) {
    return OneLine(
        absl::StrCat("supervisor ", supervisor.ToString(), " ", SupervisionEventName(kind), ": ", reason.ToString()));
  }
  std::string text = absl::StrCat("child '", child, "'");
  if (!pid.is_null()) absl::StrAppend(&text, " ", pid.ToString());
  absl::StrAppend(&text, " ", SupervisionEventName(kind));
  switch (kind) {
    case Kind::kStarted:
    case Kind::kIgnored:
    case Kind::kShutdown:
      break;
    case Kind::kRestarting:
      absl::StrAppend(&text, ", restart ", restarts);
      break;
    case Kind::kBackoff:
      absl::StrAppend(&text, ", in ", absl::FormatDuration(wait), ", restart ", restarts);
      break;
    case Kind::kHeld:
      absl::StrAppend(&text, ", at most ", absl::FormatDuration(wait));
      break;
    case Kind::kStartFailed:
    case Kind::kExited:
    case Kind::kStopped:
    case Kind::kGaveUp:
    case Kind::kParked:
      absl::StrAppend(&text, ": ", reason.ToString());
      break;
  }
  return OneLine(text);
}

std::string SupervisionEvent::ToReport(size_t bytes_max) const {
  std::string text = absl::StrCat("supervisor: ", supervisor.ToString(), "\n",
                                  "event: ", child.empty() ? "" : absl::StrCat("child '", child, "' "),
                                  SupervisionEventName(kind), "\n");
  if (kind == Kind::kBackoff || kind == Kind::kHeld) absl::StrAppend(&text, "wait: ", absl::FormatDuration(wait), "\n");
  const bool has_reason = kind != Kind::kStarted && kind != Kind::kIgnored;
  for (const ExitReason* r = has_reason ? &reason : nullptr; r != nullptr; r = r->cause()) {
    absl::StrAppend(&text, r == &reason ? "reason: " : "  because of: ", r->ToStringWithoutCauses(), "\n");
    if (r->crash() == nullptr) continue;
    const CrashReport& crash = *r->crash();
    absl::StrAppend(&text, "    of ", crash.pid.ToString(), crash.label.empty() ? "" : " (", crash.label,
                    crash.label.empty() ? "" : ")", " in ", crash.doing, "\n");
    for (const MessageNote& message : crash.messages) {
      absl::StrAppend(&text, "    handled ", message.ToString(), "\n");
    }
  }
  if (has_reason && reason.causes_cut()) absl::StrAppend(&text, "  (older causes were cut)\n");
  if (spec != nullptr) {
    absl::StrAppend(&text, "offender: ", pid.is_null() ? "" : absl::StrCat(pid.ToString(), ", "), DescribeChild(*spec),
                    ", restarts: ", restarts, "\n");
  }
  return CutText(text, bytes_max);
}

}  // namespace understudy
