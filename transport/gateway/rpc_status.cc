#include "understudy/transport/gateway/rpc_status.h"

#include <grpcpp/support/status.h>

#include <string>

#include "absl/status/status.h"
#include "absl/strings/ascii.h"
#include "absl/strings/str_cat.h"
#include "absl/strings/string_view.h"
#include "absl/types/optional.h"
#include "understudy/actors/cut_text.h"
#include "understudy/actors/error.h"
#include "understudy/proto/gateway.pb.h"
#include "understudy/transport/gateway/gateway_limits.h"

namespace understudy::internal {
namespace {

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
  info.set_domain("understudy");
  proto::RpcStatus status;
  status.set_code(code);
  status.set_message(message);
  google::protobuf::Any* const detail = status.add_details();
  detail->set_type_url("type.googleapis.com/google.rpc.ErrorInfo");
  info.SerializeToString(detail->mutable_value());
  return status.SerializeAsString();
}

}  // namespace

grpc::Status ToGrpc(const absl::Status& status) {
  if (status.ok()) return grpc::Status::OK;
  const auto code = static_cast<grpc::StatusCode>(status.code());  // the numbers are the same
  std::string message = CutText(status.message(), limits::kStatusMessageBytesMax);
  const absl::optional<ErrorKind> kind = ErrorKindOf(status);
  if (!kind.has_value()) return grpc::Status(code, message);
  return grpc::Status(code, message, Details(*kind, code, message));
}

}  // namespace understudy::internal
