#include "understudy/transport/gateway/rpc_status.h"

#include <grpcpp/support/status.h>

#include <string>

#include "absl/status/status.h"
#include "absl/strings/ascii.h"
#include "absl/strings/str_cat.h"
#include "absl/strings/string_view.h"
#include "absl/strings/strip.h"
#include "absl/types/optional.h"
#include "understudy/actors/cut_text.h"
#include "understudy/actors/error.h"
#include "understudy/proto/gateway.pb.h"
#include "understudy/transport/gateway/gateway_limits.h"

namespace understudy::internal {
namespace {

constexpr char kDomain[] = "understudy";
constexpr char kErrorInfoUrl[] = "type.googleapis.com/google.rpc.ErrorInfo";

// "CalleeExited" becomes "CALLEE_EXITED".
std::string ReasonOf(ErrorKind kind) {
  std::string reason;
  for (const char c : ErrorKindName(kind)) {
    if (absl::ascii_isupper(c) && !reason.empty()) reason += '_';
    reason += absl::ascii_toupper(c);
  }
  return reason;
}

std::string Details(ErrorKind kind, int code, const std::string& message) {
  proto::RpcErrorInfo info;
  info.set_reason(ReasonOf(kind));
  info.set_domain(kDomain);
  proto::RpcStatus status;
  status.set_code(code);
  status.set_message(message);
  google::protobuf::Any* const detail = status.add_details();
  detail->set_type_url(kErrorInfoUrl);
  info.SerializeToString(detail->mutable_value());
  return status.SerializeAsString();
}

constexpr ErrorKind kKinds[] = {
    ErrorKind::kFull,         ErrorKind::kNoMailbox,    ErrorKind::kNoProcess,  ErrorKind::kNoName,
    ErrorKind::kStopping,     ErrorKind::kCalleeExited, ErrorKind::kUnanswered, ErrorKind::kNoConnection,
    ErrorKind::kNotPermitted, ErrorKind::kExpired,      ErrorKind::kCancelled,  ErrorKind::kRestarting,
};

// The kind of error in the details, if Details wrote them.
absl::optional<ErrorKind> KindIn(const std::string& details) {
  proto::RpcStatus status;
  if (details.empty() || !status.ParseFromString(details)) return absl::nullopt;
  for (const google::protobuf::Any& detail : status.details()) {
    proto::RpcErrorInfo info;
    if (detail.type_url() != kErrorInfoUrl || !info.ParseFromString(detail.value()) || info.domain() != kDomain)
      continue;
    for (const ErrorKind kind : kKinds) {
      if (info.reason() == ReasonOf(kind)) return kind;
    }
  }
  return absl::nullopt;
}

// MakeError writes the kind in front of the text, where ToGrpc has left it.
absl::Status ErrorOf(ErrorKind kind, absl::string_view text) {
  (void)absl::ConsumePrefix(&text, absl::StrCat(ErrorKindName(kind), ": "));
  return MakeError(kind, text);
}

absl::optional<ErrorKind> KindOf(grpc::StatusCode code) {
  switch (code) {
    case grpc::StatusCode::UNAVAILABLE:
      return ErrorKind::kNoConnection;
    case grpc::StatusCode::DEADLINE_EXCEEDED:
      return ErrorKind::kExpired;
    case grpc::StatusCode::CANCELLED:
      return ErrorKind::kCancelled;
    case grpc::StatusCode::UNIMPLEMENTED:
      return ErrorKind::kNoMailbox;
    default:
      return absl::nullopt;
  }
}

}  // namespace

absl::Status FromServer(const grpc::Status& status) {
  if (status.ok()) return absl::OkStatus();
  const std::string text = CutText(status.error_message(), limits::kStatusMessageBytesMax);
  const auto code = static_cast<absl::StatusCode>(status.error_code());  // the numbers are the same
  if (const absl::optional<ErrorKind> told = KindIn(status.error_details()); told.has_value()) {
    absl::Status error = ErrorOf(*told, text);
    if (error.code() == code) return error;
  } else if (const absl::optional<ErrorKind> kind = KindOf(status.error_code()); kind.has_value()) {
    return ErrorOf(*kind, text);
  }
  const bool is_known = code > absl::StatusCode::kOk && code <= absl::StatusCode::kUnauthenticated;
  return absl::Status(is_known ? code : absl::StatusCode::kUnknown, text);
}

grpc::Status ToGrpc(const absl::Status& status) {
  if (status.ok()) return grpc::Status::OK;
  const auto code = static_cast<grpc::StatusCode>(status.code());  // the numbers are the same
  std::string message = CutText(status.message(), limits::kStatusMessageBytesMax);
  const absl::optional<ErrorKind> kind = ErrorKindOf(status);
  if (!kind.has_value()) return grpc::Status(code, message);
  return grpc::Status(code, message, Details(*kind, code, message));
}

}  // namespace understudy::internal
