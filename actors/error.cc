#include "understudy/actors/error.h"

#include <cstddef>
#include <cstdint>
#include <cstring>
#include <string>
#include <utility>
#include <vector>

#include "absl/status/status.h"
#include "absl/strings/cord.h"
#include "absl/strings/str_cat.h"
#include "absl/strings/string_view.h"
#include "absl/types/optional.h"
#include "understudy/actors/exit_reason.h"
#include "understudy/actors/limits.h"
#include "understudy/actors/status_payloads.h"

namespace understudy {
namespace {

constexpr absl::string_view kKindUrl = "understudy.dev/error-kind";
constexpr absl::string_view kReasonUrl = "understudy.dev/exit-reason";

absl::StatusCode CodeOf(ErrorKind kind) {
  switch (kind) {
    case ErrorKind::kFull:
      return absl::StatusCode::kResourceExhausted;
    case ErrorKind::kNoMailbox:
      return absl::StatusCode::kUnimplemented;
    case ErrorKind::kNoProcess:
    case ErrorKind::kNoName:
      return absl::StatusCode::kNotFound;
    case ErrorKind::kStopping:
    case ErrorKind::kNoConnection:
    case ErrorKind::kRestarting:
      return absl::StatusCode::kUnavailable;
    case ErrorKind::kCalleeExited:
      return absl::StatusCode::kAborted;
    case ErrorKind::kUnanswered:
      return absl::StatusCode::kInternal;
    case ErrorKind::kNotPermitted:
      return absl::StatusCode::kPermissionDenied;
    case ErrorKind::kExpired:
      return absl::StatusCode::kDeadlineExceeded;
    case ErrorKind::kCancelled:
      return absl::StatusCode::kCancelled;
  }
  return absl::StatusCode::kUnknown;
}

// The encoding of an exit reason in a status's payload: for each reason of the chain its kind, flags, texts and the
// payloads of its status, each text after its length. It may come from a peer, so decoding checks everything.
void Put32(std::string& out, uint32_t value) { out.append(reinterpret_cast<const char*>(&value), sizeof(value)); }

void PutText(std::string& out, absl::string_view text) {
  Put32(out, static_cast<uint32_t>(text.size()));
  out.append(text.data(), text.size());
}

bool Get32(absl::string_view& in, uint32_t& value) {
  if (in.size() < sizeof(value)) return false;
  std::memcpy(&value, in.data(), sizeof(value));
  in.remove_prefix(sizeof(value));
  return true;
}

bool GetText(absl::string_view& in, std::string& text) {
  uint32_t size = 0;
  if (!Get32(in, size) || size > in.size()) return false;
  text.assign(in.data(), size);
  in.remove_prefix(size);
  return true;
}

void PutPayloads(std::string& out, const absl::Status& status) {
  const internal::StatusPayloads payloads = internal::PayloadsToEncode(status);
  Put32(out, static_cast<uint32_t>(payloads.kept.size()));
  for (const auto& [url, payload] : payloads.kept) {
    PutText(out, url);
    PutText(out, std::string(payload));
  }
}

bool GetPayloads(absl::string_view& in, absl::Status& status) {
  uint32_t count = 0;
  if (!Get32(in, count) || count > limits::kStatusPayloadsMax) return false;
  for (; count > 0; --count) {
    std::string url;
    std::string payload;
    if (!GetText(in, url) || !GetText(in, payload)) return false;
    status.SetPayload(url, absl::Cord(std::move(payload)));
  }
  return true;
}

std::string Encode(const ExitReason& reason) {
  std::string out;
  for (const ExitReason* r = &reason; r != nullptr; r = r->cause()) {
    Put32(out, static_cast<uint32_t>(r->kind()));
    Put32(out, (r->handler_running() ? 1U : 0U) | (r->cause() == nullptr && reason.causes_cut() ? 2U : 0U));
    Put32(out, static_cast<uint32_t>(r->os_value()));
    Put32(out, static_cast<uint32_t>(r->status().code()));
    PutText(out, r->status().message());
    PutText(out, r->exception_type());
    PutText(out, r->detail());
    PutPayloads(out, r->status());
  }
  return out;
}

bool DecodeOne(absl::string_view& in, ExitReason& reason) {
  uint32_t kind = 0;
  uint32_t flags = 0;
  uint32_t os_value = 0;
  uint32_t code = 0;
  std::string message;
  ExitReason::Parts parts;
  if (!Get32(in, kind) || !Get32(in, flags) || !Get32(in, os_value) || !Get32(in, code) || !GetText(in, message) ||
      !GetText(in, parts.exception_type) || !GetText(in, parts.detail)) {
    return false;
  }
  if (kind < 1 || kind > ExitReason::kKindMax) return false;
  parts.kind = static_cast<ExitReason::Kind>(kind);
  parts.handler_running = (flags & 1U) != 0;
  parts.causes_cut = (flags & 2U) != 0;
  parts.os_value = static_cast<int>(os_value);
  parts.status = absl::Status(static_cast<absl::StatusCode>(code), message);
  if (!GetPayloads(in, parts.status)) return false;
  reason = ExitReason::FromParts(parts);
  return true;
}

absl::optional<ExitReason> Decode(absl::string_view in) {
  std::vector<ExitReason> chain;
  while (!in.empty()) {
    ExitReason reason;
    if (chain.size() >= limits::kExitCausesMax || !DecodeOne(in, reason)) {
      return absl::nullopt;
    }
    chain.push_back(std::move(reason));
  }
  if (chain.empty()) return absl::nullopt;
  ExitReason result = chain.back();
  for (size_t i = chain.size() - 1; i-- > 0;) {
    result = chain[i].CausedBy(result);
  }
  return result;
}

bool IsKind(const absl::Status& status, ErrorKind kind) { return !status.ok() && ErrorKindOf(status) == kind; }

}  // namespace

absl::string_view ErrorKindName(ErrorKind kind) {
  switch (kind) {
    case ErrorKind::kFull:
      return "Full";
    case ErrorKind::kNoMailbox:
      return "NoMailbox";
    case ErrorKind::kNoProcess:
      return "NoProcess";
    case ErrorKind::kNoName:
      return "NoName";
    case ErrorKind::kStopping:
      return "Stopping";
    case ErrorKind::kCalleeExited:
      return "CalleeExited";
    case ErrorKind::kUnanswered:
      return "Unanswered";
    case ErrorKind::kNoConnection:
      return "NoConnection";
    case ErrorKind::kNotPermitted:
      return "NotPermitted";
    case ErrorKind::kExpired:
      return "Expired";
    case ErrorKind::kCancelled:
      return "Cancelled";
    case ErrorKind::kRestarting:
      return "Restarting";
  }
  return "?";
}

absl::Status MakeError(ErrorKind kind, absl::string_view what) {
  absl::Status status(CodeOf(kind), absl::StrCat(ErrorKindName(kind), ": ", what));
  status.SetPayload(kKindUrl, absl::Cord(absl::StrCat(static_cast<int>(kind))));
  return status;
}

absl::Status CalleeExitedError(absl::string_view callee, const ExitReason& reason) {
  absl::Status status =
      MakeError(ErrorKind::kCalleeExited, absl::StrCat(callee, " ended before it answered: ", reason.ToString()));
  status.SetPayload(kReasonUrl, absl::Cord(Encode(reason)));
  return status;
}

absl::Status AskerExitedError(absl::string_view asker, const ExitReason& reason) {
  absl::Status status = MakeError(ErrorKind::kCancelled, absl::StrCat(asker, " ended: ", reason.ToString()));
  status.SetPayload(kReasonUrl, absl::Cord(Encode(reason)));
  return status;
}

absl::optional<ErrorKind> ErrorKindOf(const absl::Status& status) {
  const absl::optional<absl::Cord> payload = status.GetPayload(kKindUrl);
  if (!payload.has_value()) return absl::nullopt;
  for (int kind = 1; kind <= static_cast<int>(ErrorKind::kRestarting); ++kind) {
    if (*payload == absl::StrCat(kind)) return static_cast<ErrorKind>(kind);
  }
  return absl::nullopt;
}

absl::optional<ExitReason> ExitReasonOf(const absl::Status& status) {
  const absl::optional<absl::Cord> payload = status.GetPayload(kReasonUrl);
  if (!payload.has_value()) return absl::nullopt;
  return Decode(std::string(*payload));
}

bool IsFull(const absl::Status& s) { return IsKind(s, ErrorKind::kFull); }
bool IsNoMailbox(const absl::Status& s) { return IsKind(s, ErrorKind::kNoMailbox); }
bool IsNoProcess(const absl::Status& s) { return IsKind(s, ErrorKind::kNoProcess); }
bool IsNoName(const absl::Status& s) { return IsKind(s, ErrorKind::kNoName); }
bool IsStopping(const absl::Status& s) { return IsKind(s, ErrorKind::kStopping); }
bool IsCalleeExited(const absl::Status& s) { return IsKind(s, ErrorKind::kCalleeExited); }
bool IsUnanswered(const absl::Status& s) { return IsKind(s, ErrorKind::kUnanswered); }
bool IsNoConnection(const absl::Status& s) { return IsKind(s, ErrorKind::kNoConnection); }
bool IsNotPermitted(const absl::Status& s) { return IsKind(s, ErrorKind::kNotPermitted); }
bool IsExpired(const absl::Status& s) { return IsKind(s, ErrorKind::kExpired); }
bool IsCancelled(const absl::Status& s) { return IsKind(s, ErrorKind::kCancelled); }
bool IsRestarting(const absl::Status& s) { return IsKind(s, ErrorKind::kRestarting); }

}  // namespace understudy
