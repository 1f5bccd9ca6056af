#include "understudy/transport/gateway/rpc_status.h"

#include <grpcpp/support/status.h>

#include <cstdint>
#include <string>

#include "absl/status/status.h"
#include "absl/strings/match.h"
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

TEST(FromServerTest, AnErrorThatToGrpcToldIsTheSameErrorAgain) {
  for (int number = 1; number <= 12; ++number) {
    const absl::Status error = MakeError(static_cast<ErrorKind>(number), "what was wrong");
    const absl::Status back = FromServer(ToGrpc(error));
    EXPECT_EQ(back, error);
    EXPECT_EQ(ErrorKindOf(back), static_cast<ErrorKind>(number));
  }
  const absl::Status own = absl::FailedPreconditionError("closed");
  EXPECT_EQ(FromServer(ToGrpc(own)), own);
  EXPECT_TRUE(FromServer(grpc::Status::OK).ok());
}

TEST(FromServerTest, WithoutDetailsTheCodeDecides) {
  const auto from = [](grpc::StatusCode code) { return FromServer(grpc::Status(code, "text")); };
  EXPECT_TRUE(IsNoConnection(from(grpc::StatusCode::UNAVAILABLE)));
  EXPECT_TRUE(IsExpired(from(grpc::StatusCode::DEADLINE_EXCEEDED)));
  EXPECT_TRUE(understudy::IsCancelled(from(grpc::StatusCode::CANCELLED)));
  EXPECT_TRUE(IsNoMailbox(from(grpc::StatusCode::UNIMPLEMENTED)));
  for (int code = 1; code <= 16; ++code) {
    const absl::Status status = from(static_cast<grpc::StatusCode>(code));
    EXPECT_EQ(static_cast<int>(status.code()), code);
    EXPECT_TRUE(absl::EndsWith(status.message(), "text")) << status;
  }
  EXPECT_EQ(from(grpc::StatusCode::RESOURCE_EXHAUSTED), absl::ResourceExhaustedError("text"));
  // The enumeration has 5 bits and a sign.
  EXPECT_EQ(from(static_cast<grpc::StatusCode>(31)).code(), absl::StatusCode::kUnknown);
}

TEST(FromServerTest, DetailsThatAreNotOursOrContradictTheCodeAreIgnored) {
  const std::string full = ToGrpc(MakeError(ErrorKind::kFull, "text")).error_details();
  const absl::Status contradicts = FromServer(grpc::Status(grpc::StatusCode::INTERNAL, "text", full));
  EXPECT_EQ(contradicts, absl::InternalError("text"));
  const absl::Status broken = FromServer(grpc::Status(grpc::StatusCode::RESOURCE_EXHAUSTED, "text", "\xFF\xFF"));
  EXPECT_EQ(broken, absl::ResourceExhaustedError("text"));
  const absl::Status longer = FromServer(grpc::Status(grpc::StatusCode::INTERNAL, std::string(1 << 20, 'x')));
  EXPECT_LE(longer.message().size(), 1024U);
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
