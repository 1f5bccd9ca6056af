#include "understudy/actors/exit_reason.h"

#include <csignal>
#include <cstring>
#include <memory>
#include <string>
#include <utility>

#include "absl/status/status.h"
#include "absl/strings/str_cat.h"
#include "absl/strings/str_replace.h"
#include "absl/strings/string_view.h"
#include "understudy/actors/limits.h"

namespace understudy {

struct ExitReason::Rest {
  absl::Status status;
  std::string exception_type;
  std::string detail;
  bool causes_cut = false;
  std::shared_ptr<const CrashReport> crash;
  std::shared_ptr<const ExitReason> cause;
};

namespace {

// Of one text of one reason; its chain has a bound of its own. A reason has at
// most three such parts.
constexpr size_t kTextBytesMax = limits::kExitReasonBytesMax / 4;

std::string Clip(absl::string_view text) { return std::string(text.substr(0, kTextBytesMax)); }

// What fits of the payloads; they share the room of one text.
absl::Status Clip(const absl::Status& status) {
  size_t all_bytes = 0;
  status.ForEachPayload(
      [&](absl::string_view url, const absl::Cord& payload) { all_bytes += url.size() + payload.size(); });
  if (all_bytes <= kTextBytesMax && status.message().size() <= kTextBytesMax) return status;
  absl::Status clipped(status.code(), Clip(status.message()));
  size_t payload_bytes = 0;
  status.ForEachPayload([&](absl::string_view url, const absl::Cord& payload) {
    const size_t bytes = url.size() + payload.size();
    if (bytes > kTextBytesMax - payload_bytes) return;
    payload_bytes += bytes;
    clipped.SetPayload(url, payload);
  });
  return clipped;
}

// ": first line | second line"; nothing of nothing.
std::string InOneLine(absl::string_view note) {
  return note.empty() ? std::string() : absl::StrCat(": ", absl::StrReplaceAll(note, {{"\n", " | "}}));
}

}  // namespace

ExitReason::ExitReason(Kind kind, absl::string_view detail) : kind_(kind) {
  if (detail.empty()) return;
  auto rest = std::make_shared<Rest>();
  rest->detail = Clip(detail);
  rest_ = std::move(rest);
}

ExitReason ExitReason::Normal() { return ExitReason(); }
ExitReason ExitReason::Shutdown() { return {Kind::kShutdown, ""}; }
ExitReason ExitReason::Killed() { return {Kind::kKilled, ""}; }
ExitReason ExitReason::NoProcess() { return {Kind::kNoProcess, ""}; }
ExitReason ExitReason::StartTimeout() { return {Kind::kStartTimeout, ""}; }
ExitReason ExitReason::Stuck() { return {Kind::kStuck, ""}; }

ExitReason ExitReason::KilledHandlerRunning() {
  ExitReason reason(Kind::kKilled, "");
  reason.handler_running_ = true;
  return reason;
}

ExitReason ExitReason::StartTimeoutHandlerRunning() {
  ExitReason reason = StartTimeout();
  reason.handler_running_ = true;
  return reason;
}

ExitReason ExitReason::NoConnection(absl::string_view why) { return {Kind::kNoConnection, why}; }
ExitReason ExitReason::NotPermitted(absl::string_view why) { return {Kind::kNotPermitted, why}; }
ExitReason ExitReason::RestartsExhausted(absl::string_view what) { return {Kind::kRestartsExhausted, what}; }
ExitReason ExitReason::NameConflict(absl::string_view name) { return {Kind::kNameConflict, name}; }
ExitReason ExitReason::NameLost(absl::string_view name) { return {Kind::kNameLost, name}; }
ExitReason ExitReason::Overflow(absl::string_view mailbox) { return {Kind::kOverflow, mailbox}; }

ExitReason ExitReason::Failed(absl::Status status) {
  if (status.ok()) {
    status = absl::InternalError("failed with an OK status");
  }
  return FromParts({.kind = Kind::kFailed, .status = std::move(status)});
}

ExitReason ExitReason::Exception(absl::string_view type, absl::string_view what) {
  return FromParts({.kind = Kind::kException, .exception_type = std::string(type), .detail = std::string(what)});
}

ExitReason ExitReason::OsExit(int code, absl::string_view note) {
  return FromParts({.kind = Kind::kOsExit, .detail = std::string(note), .os_value = code});
}

ExitReason ExitReason::OsSignal(int number, absl::string_view note) {
  return FromParts({.kind = Kind::kOsSignal, .detail = std::string(note), .os_value = number});
}

ExitReason ExitReason::FromParts(const Parts& parts) {
  ExitReason reason(parts.kind, "");
  reason.os_value_ = parts.os_value;
  reason.handler_running_ = parts.handler_running;
  if (parts.status.ok() && parts.exception_type.empty() && parts.detail.empty() && !parts.causes_cut) {
    return reason;
  }
  auto rest = std::make_shared<Rest>();
  if (!parts.status.ok()) {
    rest->status = Clip(parts.status);
  }
  rest->exception_type = Clip(parts.exception_type);
  rest->detail = Clip(parts.detail);
  rest->causes_cut = parts.causes_cut;
  reason.rest_ = std::move(rest);
  return reason;
}

absl::Status ExitReason::status() const { return rest_ == nullptr ? absl::OkStatus() : rest_->status; }

absl::string_view ExitReason::exception_type() const {
  return rest_ == nullptr ? absl::string_view() : rest_->exception_type;
}

absl::string_view ExitReason::detail() const { return rest_ == nullptr ? absl::string_view() : rest_->detail; }

const CrashReport* ExitReason::crash() const { return rest_ == nullptr ? nullptr : rest_->crash.get(); }

ExitReason ExitReason::WithCrash(std::shared_ptr<const CrashReport> crash) const {
  ExitReason result = *this;
  if (rest_ == nullptr && crash == nullptr) return result;
  auto rest = rest_ == nullptr ? std::make_shared<Rest>() : std::make_shared<Rest>(*rest_);
  rest->crash = std::move(crash);
  result.rest_ = std::move(rest);
  return result;
}

const ExitReason* ExitReason::cause() const { return rest_ == nullptr ? nullptr : rest_->cause.get(); }

bool ExitReason::causes_cut() const {
  for (const ExitReason* r = this; r != nullptr; r = r->cause()) {
    if (r->rest_ != nullptr && r->rest_->causes_cut) return true;
  }
  return false;
}

int ExitReason::depth() const {
  int depth = 0;
  for (const ExitReason* r = this; r != nullptr; r = r->cause()) ++depth;
  return depth;
}

size_t ExitReason::bytes() const {
  constexpr size_t kFixedBytes = 16;
  size_t bytes = 0;
  for (const ExitReason* r = this; r != nullptr; r = r->cause()) {
    bytes += kFixedBytes;
    if (r->rest_ == nullptr) continue;
    bytes += r->rest_->status.message().size() + r->rest_->exception_type.size() + r->rest_->detail.size();
    r->rest_->status.ForEachPayload(
        [&](absl::string_view url, const absl::Cord& payload) { bytes += url.size() + payload.size(); });
  }
  return bytes;
}

ExitReason ExitReason::CausedBy(const ExitReason& cause) const {
  if (this->cause() != nullptr) {
    return WithCause(this->cause()->CausedBy(cause), limits::kExitCausesMax, limits::kExitReasonBytesMax);
  }
  return WithCause(cause, limits::kExitCausesMax, limits::kExitReasonBytesMax);
}

ExitReason ExitReason::WithCause(const ExitReason& cause, int depth_left, size_t bytes_left) const {
  ExitReason result = *this;
  auto rest = std::make_shared<Rest>();
  if (rest_ != nullptr) {
    rest->status = rest_->status;
    rest->exception_type = rest_->exception_type;
    rest->detail = rest_->detail;
    rest->causes_cut = rest_->causes_cut;
    rest->crash = rest_->crash;
  }
  result.rest_ = rest;
  const size_t own = result.bytes();
  ExitReason last = cause;  // `cause` alone: what the bounds are tried on
  if (cause.rest_ != nullptr && cause.rest_->cause != nullptr) {
    last = FromParts({cause.kind(), cause.status(), std::string(cause.exception_type()), std::string(cause.detail()),
                      cause.os_value(), cause.handler_running(), cause.rest_->causes_cut})
               .WithCrash(cause.rest_->crash);
  }
  if (depth_left <= 1 || own + last.bytes() > bytes_left) {
    rest->causes_cut = true;
    return result;
  }
  if (cause.cause() != nullptr) {
    last = last.WithCause(*cause.cause(), depth_left - 1, bytes_left - own);
  }
  rest->cause = std::make_shared<const ExitReason>(std::move(last));
  return result;
}

absl::string_view ExitKindName(ExitReason::Kind kind) {
  switch (kind) {
    case ExitReason::Kind::kNormal:
      return "Normal";
    case ExitReason::Kind::kShutdown:
      return "Shutdown";
    case ExitReason::Kind::kFailed:
      return "Failed";
    case ExitReason::Kind::kException:
      return "Exception";
    case ExitReason::Kind::kKilled:
      return "Killed";
    case ExitReason::Kind::kNoProcess:
      return "NoProcess";
    case ExitReason::Kind::kNoConnection:
      return "NoConnection";
    case ExitReason::Kind::kNotPermitted:
      return "NotPermitted";
    case ExitReason::Kind::kRestartsExhausted:
      return "RestartsExhausted";
    case ExitReason::Kind::kNameConflict:
      return "NameConflict";
    case ExitReason::Kind::kNameLost:
      return "NameLost";
    case ExitReason::Kind::kOverflow:
      return "Overflow";
    case ExitReason::Kind::kStartTimeout:
      return "StartTimeout";
    case ExitReason::Kind::kStuck:
      return "Stuck";
    case ExitReason::Kind::kOsExit:
      return "OsExit";
    case ExitReason::Kind::kOsSignal:
      return "OsSignal";
  }
  return "?";
}

std::string ExitReason::ToStringWithoutCauses() const {
  const absl::string_view name = ExitKindName(kind_);
  switch (kind_) {
    case Kind::kFailed:
      return absl::StrCat(name, "(", status().ToString(absl::StatusToStringMode::kWithNoExtraData), ")");
    case Kind::kException:
      return absl::StrCat(name, "(", exception_type(), detail().empty() ? "" : ": ", detail(), ")");
    case Kind::kOsExit:
      return absl::StrCat(name, "(", os_value_, InOneLine(detail()), ")");
    case Kind::kOsSignal: {
      const char* abbreviation = sigabbrev_np(os_value_);
      return absl::StrCat(name, "(", os_value_, abbreviation == nullptr ? "" : " SIG",
                          abbreviation == nullptr ? "" : abbreviation, InOneLine(detail()), ")");
    }
    case Kind::kKilled:
    case Kind::kStartTimeout:
      return absl::StrCat(name, handler_running_ ? "(handler running)" : "");
    default:
      return detail().empty() ? std::string(name) : absl::StrCat(name, "(", detail(), ")");
  }
}

std::string ExitReason::ToString() const {
  std::string text;
  for (const ExitReason* r = this; r != nullptr; r = r->cause()) {
    absl::StrAppend(&text, text.empty() ? "" : "; because of ", r->ToStringWithoutCauses());
  }
  if (causes_cut()) absl::StrAppend(&text, "; older causes cut");
  return text;
}

bool operator==(const ExitReason& a, const ExitReason& b) {
  if (a.kind_ != b.kind_ || a.os_value_ != b.os_value_ || a.handler_running_ != b.handler_running_ ||
      a.status() != b.status() || a.exception_type() != b.exception_type() || a.detail() != b.detail()) {
    return false;
  }
  if ((a.cause() == nullptr) != (b.cause() == nullptr)) return false;
  return a.cause() == nullptr || *a.cause() == *b.cause();
}

}  // namespace understudy
