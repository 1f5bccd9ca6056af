#include "understudy/transport/gateway/rpc_status.h"

#include <grpcpp/support/status.h>

#include <cstdint>
#include <string>

#include "absl/status/status.h"
#include "absl/strings/str_cat.h"
#include "gtest/gtest.h"
#include "understudy/actors/error.h"
#include "understudy/proto/gateway.pb.h"

namespace understudy::internal {
namespace {

TEST(ToGrpcTest, EachErrorOfTheLibraryHasItsCodeItsTextAndItsReason) {
  const struct {
    ErrorKind kind;
    grpc::StatusCode code;
    const char* reason;
  } cases[] = {
      {ErrorKind::kFull, grpc::StatusCode::RESOURCE_EXHAUSTED, "FULL"},
      {ErrorKind::kNoMailbox, grpc::StatusCode::UNIMPLEMENTED, "NO_MAILBOX"},
      {ErrorKind::kNoProcess, grpc::StatusCode::NOT_FOUND, "NO_PROCESS"},
      {ErrorKind::kNoName, grpc::StatusCode::NOT_FOUND, "NO_NAME"},
      {ErrorKind::kRestarting, grpc::StatusCode::UNAVAILABLE, "RESTARTING"},
      {ErrorKind::kStopping, grpc::StatusCode::UNAVAILABLE, "STOPPING"},
      {ErrorKind::kCalleeExited, grpc::StatusCode::ABORTED, "CALLEE_EXITED"},
      {ErrorKind::kUnanswered, grpc::StatusCode::INTERNAL, "UNANSWERED"},
      {ErrorKind::kNoConnection, grpc::StatusCode::UNAVAILABLE, "NO_CONNECTION"},
      {ErrorKind::kNotPermitted, grpc::StatusCode::PERMISSION_DENIED, "NOT_PERMITTED"},
      {ErrorKind::kExpired, grpc::StatusCode::DEADLINE_EXCEEDED, "EXPIRED"},
      {ErrorKind::kCancelled, grpc::StatusCode::CANCELLED, "CANCELLED"},
  };
  for (const auto& [kind, code, reason] : cases) {
    const grpc::Status status = ToGrpc(MakeError(kind, "what was wrong"));
    EXPECT_EQ(status.error_code(), code) << reason;
    EXPECT_EQ(status.error_message(), absl::StrCat(ErrorKindName(kind), ": what was wrong"));
    proto::RpcStatus details;
    ASSERT_TRUE(details.ParseFromString(status.error_details()));
    ASSERT_EQ(details.details_size(), 1);
    proto::RpcErrorInfo info;
    ASSERT_TRUE(info.ParseFromString(details.details(0).value()));
    EXPECT_EQ(info.reason(), reason);
  }
}

TEST(ToGrpcTest, OkAndStatusesOfUsersHaveNoDetails) {
  EXPECT_TRUE(ToGrpc(absl::OkStatus()).ok());
  const grpc::Status status = ToGrpc(absl::FailedPreconditionError("closed"));
  EXPECT_EQ(status.error_code(), grpc::StatusCode::FAILED_PRECONDITION);
  EXPECT_EQ(status.error_message(), "closed");
  EXPECT_EQ(status.error_details(), "");
}

}  // namespace
}  // namespace understudy::internal
