#include "understudy/actors/exit_reason.h"

#include <algorithm>
#include <csignal>
#include <cstring>
#include <memory>
#include <string>
#include <utility>
#include <vector>

#include "absl/status/status.h"
#include "absl/strings/cord.h"
#include "absl/strings/str_cat.h"
#include "absl/strings/str_replace.h"
#include "absl/strings/string_view.h"
#include "understudy/actors/cut_text.h"
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

// The bytes of one reason on the wire without its texts.
constexpr size_t kFixedBytes = 16;
// The most bytes that the texts and payloads of one reason have together, so that one reason is within the bound of a
// chain.
constexpr size_t kTextBytesMax = limits::kExitReasonBytesMax - kFixedBytes;
// A cause that does not fit into its chain is cut to the bytes that are left, but not to fewer than this, which would
// leave no useful text; it is then left out.
constexpr size_t kCauseBytesMin = 1024;

// `status` within `bytes_max`. Its text has at least half of that; payloads are kept whole, the smallest first, or not
// at all, and the text then says so.
absl::Status Cut(const absl::Status& status, size_t bytes_max) {
  size_t all_bytes = status.message().size();
  std::vector<std::pair<std::string, absl::Cord>> payloads;
  status.ForEachPayload([&](absl::string_view url, const absl::Cord& payload) {
    all_bytes += url.size() + payload.size();
    payloads.emplace_back(std::string(url), payload);
  });
  if (all_bytes <= bytes_max) return status;
  const auto bytes_of = [](const auto& payload) { return payload.first.size() + payload.second.size(); };
  std::sort(payloads.begin(), payloads.end(), [&](const auto& a, const auto& b) {
    return std::make_pair(bytes_of(a), absl::string_view(a.first)) <
           std::make_pair(bytes_of(b), absl::string_view(b.first));
  });
  constexpr size_t kMarkBytesMax = 64;
  const size_t payload_room = bytes_max - std::min(status.message().size(), bytes_max / 2) - kMarkBytesMax;
  size_t payload_bytes = 0;
  size_t cut_bytes = 0;
  for (auto& payload : payloads) {
    if (cut_bytes > 0 || payload_bytes + bytes_of(payload) > payload_room) {
      cut_bytes += bytes_of(payload);
      payload.first.clear();
    } else {
      payload_bytes += bytes_of(payload);
    }
  }
  const std::string mark = cut_bytes == 0 ? "" : absl::StrCat(" (payloads cut: they had ", cut_bytes, " bytes)");
  absl::Status cut(status.code(),
                   absl::StrCat(CutText(status.message(), bytes_max - payload_bytes - mark.size()), mark));
  for (const auto& payload : payloads) {
    if (!payload.first.empty()) cut.SetPayload(payload.first, payload.second);
  }
  return cut;
}

// Returns ": first line | second line", or "" if the note is empty.
std::string InOneLine(absl::string_view note) {
  return note.empty() ? std::string() : absl::StrCat(": ", absl::StrReplaceAll(note, {{"\n", " | "}}));
}

}  // namespace

ExitReason::ExitReason(Kind kind, absl::string_view detail) : kind_(kind) {
  if (detail.empty()) return;
  auto rest = std::make_shared<Rest>();
  rest->detail = CutText(detail, kTextBytesMax);
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

ExitReason ExitReason::FromParts(const Parts& parts) { return FromPartsWithin(parts, kTextBytesMax); }

ExitReason ExitReason::FromPartsWithin(const Parts& parts, size_t text_bytes_max) {
  ExitReason reason(parts.kind, "");
  reason.os_value_ = parts.os_value;
  reason.handler_running_ = parts.handler_running;
  if (parts.status.ok() && parts.exception_type.empty() && parts.detail.empty() && !parts.causes_cut) {
    return reason;
  }
  auto rest = std::make_shared<Rest>();
  // Only parts from a peer may have both a status and another text; each then gets half of the bytes.
  size_t room = text_bytes_max;
  if (!parts.status.ok()) {
    rest->status = Cut(parts.status, parts.exception_type.empty() && parts.detail.empty() ? room : room / 2);
    room /= 2;
  }
  rest->exception_type = CutText(parts.exception_type, room / 2);
  rest->detail = CutText(parts.detail, room - rest->exception_type.size());
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
  const size_t room = bytes_left - std::min(bytes_left, result.bytes());
  // `cause` without its own causes, cut to `room`.
  ExitReason last = cause;
  if (cause.rest_ != nullptr && (cause.rest_->cause != nullptr || cause.bytes() > room)) {
    last =
        FromPartsWithin({cause.kind(), cause.status(), std::string(cause.exception_type()), std::string(cause.detail()),
                         cause.os_value(), cause.handler_running(), cause.rest_->causes_cut},
                        std::max(room, kCauseBytesMin) - kFixedBytes)
            .WithCrash(cause.rest_->crash);
  }
  if (depth_left <= 1 || last.bytes() > room) {
    rest->causes_cut = true;
    return result;
  }
  if (cause.cause() != nullptr) last = last.WithCause(*cause.cause(), depth_left - 1, room);
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

bool ExitReason::IsSameWithoutCauses(const ExitReason& other) const {
  return kind_ == other.kind_ && os_value_ == other.os_value_ && handler_running_ == other.handler_running_ &&
         status() == other.status() && exception_type() == other.exception_type() && detail() == other.detail();
}

bool operator==(const ExitReason& a, const ExitReason& b) {
  const ExitReason* of_a = &a;
  const ExitReason* of_b = &b;
  for (; of_a != nullptr && of_b != nullptr; of_a = of_a->cause(), of_b = of_b->cause()) {
    if (!of_a->IsSameWithoutCauses(*of_b)) return false;
  }
  // Compared for the whole chains, because the mark of a chain that travelled is at its oldest reason.
  return of_a == nullptr && of_b == nullptr && a.causes_cut() == b.causes_cut();
}

}  // namespace understudy
