#include "understudy/transport/credentials.h"

#include <string>

#include "absl/status/status.h"
#include "absl/status/statusor.h"
#include "absl/strings/string_view.h"
#include "gmock/gmock.h"
#include "gtest/gtest.h"

namespace understudy {
namespace {

using ::testing::HasSubstr;
using Reach = NodeAddress::Reach;

NodeAddress Parsed(absl::string_view text) {
  absl::StatusOr<NodeAddress> address = NodeAddress::Parse(text);
  EXPECT_TRUE(address.ok()) << address.status();
  return address.ok() ? *address : NodeAddress();
}

TEST(NodeAddress, KnowsWhoCanReachIt) {
  EXPECT_EQ(Parsed("127.0.0.1:7000").reach, Reach::kLoopback);
  EXPECT_EQ(Parsed("127.9.9.9:0").reach, Reach::kLoopback);
  EXPECT_EQ(Parsed("[::1]:7000").reach, Reach::kLoopback);
  EXPECT_EQ(Parsed("localhost:7000").reach, Reach::kLoopback);
  EXPECT_EQ(Parsed("unix:/tmp/a.sock").reach, Reach::kUnixSocket);
  EXPECT_EQ(Parsed("0.0.0.0:7000").reach, Reach::kNetwork);
  EXPECT_EQ(Parsed("[::]:7000").reach, Reach::kNetwork);
  EXPECT_EQ(Parsed("10.0.0.1:7000").reach, Reach::kNetwork);
  EXPECT_EQ(Parsed("ledger.example:7000").reach, Reach::kNetwork);
  // Looks like loopback to a careless eye.
  EXPECT_EQ(Parsed("127.0.0.1.example:7000").reach, Reach::kNetwork);
}

TEST(NodeAddress, PrintsInTheFormThatItReads) {
  for (const absl::string_view text : {"127.0.0.1:7000", "[::1]:7000", "unix:/tmp/a.sock", "ledger.example:1"}) {
    EXPECT_EQ(Parsed(text).ToString(), text);
  }
}

TEST(NodeAddress, IsAGrpcTargetInWhichOnlyNamesAreResolved) {
  EXPECT_EQ(Parsed("127.0.0.1:7000").ToGrpcTarget(), "ipv4:127.0.0.1:7000");
  EXPECT_EQ(Parsed("[::1]:7000").ToGrpcTarget(), "ipv6:[::1]:7000");
  EXPECT_EQ(Parsed("ledger.example:1").ToGrpcTarget(), "dns:///ledger.example:1");
  EXPECT_EQ(Parsed("unix:/tmp/a.sock").ToGrpcTarget(), "unix:/tmp/a.sock");
}

TEST(NodeAddress, SaysWhatIsWrongWithABadOne) {
  for (const absl::string_view text :
       {"", "127.0.0.1", "127.0.0.1:", "127.0.0.1:70000", "127.0.0.1:-1", "127.0.0.1:x", "127.0.0.1: 0", "127.0.0.1:+1",
        ":7000", "::1:7000", "[::1:7000", "a b:7000", "unix:", "dns:///evil:1"}) {
    const absl::StatusOr<NodeAddress> address = NodeAddress::Parse(text);
    EXPECT_EQ(address.status().code(), absl::StatusCode::kInvalidArgument) << text;
    EXPECT_THAT(std::string(address.status().message()), HasSubstr(std::string(text)));
  }
  EXPECT_FALSE(NodeAddress::Parse("unix:/" + std::string(200, 'x')).ok());
}

TEST(Credentials, OffLoopbackTlsIsRequired) {
  EXPECT_TRUE(CheckAllowed(Credentials::Insecure(), Parsed("127.0.0.1:7000"), "listen on").ok());
  EXPECT_TRUE(CheckAllowed(Credentials::Insecure(), Parsed("unix:/tmp/a.sock"), "listen on").ok());
  const absl::Status status = CheckAllowed(Credentials::Insecure(), Parsed("0.0.0.0:7000"), "listen on");
  EXPECT_EQ(status.code(), absl::StatusCode::kFailedPrecondition);
  EXPECT_THAT(std::string(status.message()), HasSubstr("cannot listen on 0.0.0.0:7000"));
  EXPECT_THAT(std::string(status.message()), HasSubstr("TLS is required"));
  EXPECT_THAT(std::string(status.message()), HasSubstr("tools/make_certs"));
  EXPECT_TRUE(CheckAllowed(Credentials::Tls({}), Parsed("10.0.0.1:7000"), "listen on").ok());
}

}  // namespace
}  // namespace understudy
