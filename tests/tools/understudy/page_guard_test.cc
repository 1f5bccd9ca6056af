#include "understudy/tools/understudy/page_guard.h"

#include <string>

#include "absl/status/status.h"
#include "absl/strings/string_view.h"
#include "gtest/gtest.h"

namespace understudy {
namespace {

constexpr absl::string_view kAuthority = "127.0.0.1:4711";
constexpr absl::string_view kOrigin = "http://127.0.0.1:4711";

std::string TokenOf(const PageGuard& guard) {
  const std::string address = guard.PrintedAddress();
  return address.substr(address.find('#') + 1);
}

class PageGuardTest : public ::testing::Test {
 protected:
  absl::StatusCode Check(const PageRequest& request, PageNeed need) const { return guard_.Check(request, need).code(); }

  const PageGuard guard_{std::string(kAuthority)};
  const std::string token_ = TokenOf(guard_);
  const PageRequest read_{.method = "GET", .host = kAuthority, .origin = {}, .token = token_};
  const PageRequest action_{.method = "POST", .host = kAuthority, .origin = kOrigin, .token = token_};
};

TEST_F(PageGuardTest, ThePrintedPageMayReadAndAct) {
  EXPECT_EQ(Check(read_, PageNeed::kRead), absl::StatusCode::kOk);
  EXPECT_EQ(Check(action_, PageNeed::kAction), absl::StatusCode::kOk);
  PageRequest asset = read_;
  asset.token.reset();
  EXPECT_EQ(Check(asset, PageNeed::kAsset), absl::StatusCode::kOk);
}

TEST_F(PageGuardTest, TheTokenHas128BitsThatDifferFromGuardToGuard) {
  EXPECT_EQ(token_.size(), 32U);
  EXPECT_EQ(token_.find_first_not_of("0123456789abcdef"), std::string::npos);
  EXPECT_NE(token_, TokenOf(PageGuard(std::string(kAuthority))));
}

TEST_F(PageGuardTest, ARequestWithoutTheTokenIsRefusedAndTheErrorDoesNotShowTheToken) {
  std::string other = token_;
  other.back() = other.back() == '0' ? '1' : '0';
  PageRequest request = read_;
  for (const absl::string_view wrong :
       {absl::string_view(), absl::string_view(token_).substr(1), absl::string_view(other)}) {
    request.token = wrong;
    const absl::Status refused = guard_.Check(request, PageNeed::kRead);
    EXPECT_EQ(refused.code(), absl::StatusCode::kUnauthenticated) << wrong;
    EXPECT_EQ(refused.message().find(token_), absl::string_view::npos);
  }
  request.token.reset();
  EXPECT_EQ(Check(request, PageNeed::kRead), absl::StatusCode::kUnauthenticated);
}

TEST_F(PageGuardTest, AnotherHostIsRefusedForAssetsTooSoThatARebindingNameLoadsNothing) {
  PageRequest request = read_;
  for (const absl::string_view host : {"evil.example:4711", "127.0.0.1", "127.0.0.1:47110", "localhost:4711", ""}) {
    request.host = host;
    EXPECT_EQ(Check(request, PageNeed::kAsset), absl::StatusCode::kPermissionDenied) << host;
    EXPECT_EQ(Check(request, PageNeed::kRead), absl::StatusCode::kPermissionDenied) << host;
  }
  request.host.reset();
  EXPECT_EQ(Check(request, PageNeed::kAsset), absl::StatusCode::kPermissionDenied);
}

TEST_F(PageGuardTest, AnotherOriginIsRefusedAndAnActionNeedsOne) {
  PageRequest read = read_;
  PageRequest action = action_;
  for (const absl::string_view origin : {"null", "http://evil.example", "https://127.0.0.1:4711", ""}) {
    read.origin = action.origin = origin;
    EXPECT_EQ(Check(read, PageNeed::kRead), absl::StatusCode::kPermissionDenied) << origin;
    EXPECT_EQ(Check(action, PageNeed::kAction), absl::StatusCode::kPermissionDenied) << origin;
  }
  action.origin.reset();
  EXPECT_EQ(Check(action, PageNeed::kAction), absl::StatusCode::kPermissionDenied);
}

TEST_F(PageGuardTest, AnActionByGetAndAReadByAnotherMethodAreRefused) {
  PageRequest action = action_;
  action.method = "GET";
  EXPECT_EQ(Check(action, PageNeed::kAction), absl::StatusCode::kUnimplemented);
  PageRequest read = read_;
  for (const absl::string_view method : {"POST", "OPTIONS", "HEAD", "get", ""}) {
    read.method = method;
    EXPECT_EQ(Check(read, PageNeed::kRead), absl::StatusCode::kUnimplemented) << method;
  }
}

}  // namespace
}  // namespace understudy
