// The operator's service over TCP: mutual TLS, the node's grants, and hostile clients.
#include <grpcpp/channel.h>
#include <grpcpp/create_channel.h>
#include <grpcpp/security/credentials.h>
#include <grpcpp/support/channel_arguments.h>
#include <grpcpp/support/status.h>

#include <memory>
#include <string>
#include <utility>
#include <vector>

#include "absl/status/status.h"
#include "absl/status/statusor.h"
#include "absl/strings/str_cat.h"
#include "gmock/gmock.h"
#include "gtest/gtest.h"
#include "understudy/actors/actor_system.h"
#include "understudy/proto/ops.grpc.pb.h"
#include "understudy/proto/ops.pb.h"
#include "understudy/tests/transport/metrics/scrape.h"
#include "understudy/tests/transport/ops/ops_client.h"
#include "understudy/tests/transport/test_certificates.h"
#include "understudy/transport/credentials.h"
#include "understudy/transport/grants.h"
#include "understudy/transport/node.h"
#include "understudy/transport/ops/ops.h"
#include "understudy/transport/ops/ops_limits.h"

namespace understudy {
namespace {

using ::testing::Contains;
using ::testing::HasSubstr;
using ::testing::SizeIs;

// Certificates of the node desk and of operators: `good`, `other` of another authority, `expired` of the good one.
class OpsTlsTest : public OpsClientTest {
 protected:
  static void SetUpTestSuite() {
    certificates_ = new TestCertificates;
    certificates_->Make("good", "desk alice mallory");
    certificates_->Make("other", "alice");
    certificates_->MakeExpired("expired", "good", "alice");
  }
  static void TearDownTestSuite() { delete certificates_; }
  static TlsFiles Files(const std::string& folder, const std::string& name) {
    return certificates_->Files(folder, name);
  }

  void StartNode(NodeOptions options = {}) {
    options.listen = "";
    absl::StatusOr<std::unique_ptr<Node>> started = Node::Start(system_, std::move(options));
    ASSERT_TRUE(started.ok()) << started.status();
    node_ = *std::move(started);
  }
  void StartTls() {
    StartNode({.grants = {{.node = "alice", .ops = {OpsAction::kRead, OpsAction::kStop, OpsAction::kDrain}}}});
    StartTcp({.credentials = Credentials::Tls(Files("good", "desk"))});
  }
  void StartTcp(OpsOptions options = {}) {
    options.listen = "127.0.0.1:0";
    options.node = node_.get();
    absl::StatusOr<std::unique_ptr<Ops>> started = Ops::Start(system_, std::move(options));
    ASSERT_TRUE(started.ok()) << started.status();
    ops_ = *std::move(started);
  }
  void TearDown() override {
    OpsClientTest::TearDown();
    node_ = nullptr;
  }
  // A client that trusts the good authority, and shows the certificate of `name` in `folder`; none if that is empty.
  std::unique_ptr<Stub> Client(const std::string& folder, const std::string& name) {
    grpc::SslCredentialsOptions ssl{.pem_root_certs = certificates_->Text("good/ca.pem")};
    if (!name.empty()) {
      ssl.pem_private_key = certificates_->Text(absl::StrCat(folder, "/", name, ".key"));
      ssl.pem_cert_chain = certificates_->Text(absl::StrCat(folder, "/", name, ".pem"));
    }
    grpc::ChannelArguments arguments;
    arguments.SetInt(GRPC_ARG_USE_LOCAL_SUBCHANNEL_POOL, 1);
    arguments.SetSslTargetNameOverride("desk");
    return proto::Ops::NewStub(
        grpc::CreateCustomChannel(ops_->address(), grpc::SslCredentials(ssl), std::move(arguments)));
  }
  std::unique_ptr<Stub> PlainClient() {
    return proto::Ops::NewStub(grpc::CreateChannel(ops_->address(), grpc::InsecureChannelCredentials()));
  }

  static TestCertificates* certificates_;
  std::unique_ptr<Node> node_;
};

TestCertificates* OpsTlsTest::certificates_ = nullptr;

TEST_F(OpsTlsTest, ACertificateMayDoWhatItsEntrySaysAndNoMore) {
  StartTls();
  StartTree();
  const std::unique_ptr<Stub> alice = Client("good", "alice");
  proto::NodeDetails details;
  ASSERT_TRUE(Call(*alice, &Stub::GetNode, proto::GetNodeRequest(), &details).ok());
  EXPECT_EQ(details.name(), "desk");
  EXPECT_THAT(details.actions(), ::testing::ElementsAre(proto::STOP, proto::DRAIN));
  const grpc::Status killed = Act(*alice, proto::KILL, "clerk");
  EXPECT_EQ(killed.error_code(), grpc::StatusCode::PERMISSION_DENIED);
  EXPECT_THAT(killed.error_message(), HasSubstr("GrantEntry::ops of 'alice' lacks kill"));
  EXPECT_THAT(log_.lines(), Contains(HasSubstr("ops: certificate 'alice' asks to kill clerk: refused")));
  EXPECT_TRUE(Act(*alice, proto::STOP, "clerk").ok());
  EXPECT_THAT(log_.lines(), Contains(HasSubstr("ops: certificate 'alice' asks to stop clerk")));
}

TEST_F(OpsTlsTest, ACertificateWithoutAnEntryGetsNothing) {
  StartTls();
  const std::unique_ptr<Stub> mallory = Client("good", "mallory");
  const grpc::Status read = GetNode(*mallory);
  EXPECT_EQ(read.error_code(), grpc::StatusCode::PERMISSION_DENIED);
  EXPECT_THAT(read.error_message(), HasSubstr("GrantEntry::ops of 'mallory' lacks OpsAction::kRead"));
  grpc::ClientContext context;
  const auto events = mallory->FollowEvents(&context, proto::FollowRequest());
  proto::EventEntry event;
  EXPECT_FALSE(events->Read(&event));
  EXPECT_EQ(events->Finish().error_code(), grpc::StatusCode::PERMISSION_DENIED);
  grpc::ClientContext crashes_context;
  const auto crashes = mallory->FollowCrashReports(&crashes_context, proto::FollowRequest());
  proto::CrashEntry crash;
  EXPECT_FALSE(crashes->Read(&crash));
  EXPECT_EQ(crashes->Finish().error_code(), grpc::StatusCode::PERMISSION_DENIED);
  for (const char* method : {"GetNode", "FollowEvents", "FollowCrashReports"}) {
    EXPECT_THAT(log_.lines(), Contains(absl::StrCat("ops: certificate 'mallory' asks to read (", method,
                                                    "): refused, GrantEntry::ops of 'mallory' does not allow it")));
  }
  EXPECT_EQ(Act(*mallory, proto::DRAIN, "").error_code(), grpc::StatusCode::PERMISSION_DENIED);
  EXPECT_THAT(log_.lines(), Contains(HasSubstr("certificate 'mallory' asks to drain the node: refused")));
}

TEST_F(OpsTlsTest, AClientWithoutAGoodCertificateIsNotServed) {
  StartTls();
  const std::vector<std::pair<std::string, std::unique_ptr<Stub>>> clients = [&] {
    std::vector<std::pair<std::string, std::unique_ptr<Stub>>> made;
    made.emplace_back("no certificate", Client("", ""));
    made.emplace_back("another authority", Client("other", "alice"));
    made.emplace_back("expired", Client("expired", "alice"));
    made.emplace_back("no TLS", PlainClient());
    return made;
  }();
  for (const auto& [what, stub] : clients) {
    EXPECT_EQ(GetNode(*stub).error_code(), grpc::StatusCode::UNAVAILABLE) << what;
  }
  EXPECT_TRUE(GetNode(*Client("good", "alice")).ok());
}

TEST_F(OpsTlsTest, NewGrantsCountAtOnce) {
  StartTls();
  const std::unique_ptr<Stub> alice = Client("good", "alice");
  EXPECT_TRUE(GetNode(*alice).ok());
  grpc::ClientContext context;
  const auto events = alice->FollowEvents(&context, proto::FollowRequest());
  StartTree();
  proto::EventEntry event;
  EXPECT_TRUE(events->Read(&event));
  EXPECT_TRUE(node_->SetGrants({}).ok());
  while (events->Read(&event)) {
  }
  EXPECT_EQ(events->Finish().error_code(), grpc::StatusCode::PERMISSION_DENIED);
  EXPECT_EQ(GetNode(*alice).error_code(), grpc::StatusCode::PERMISSION_DENIED);
}

TEST_F(OpsTlsTest, LoopbackWithoutTlsHasNothingUnlessItIsNamed) {
  StartNode({.insecure_loopback_grants = true});
  StartTcp();
  const grpc::Status status = GetNode(*PlainClient());
  EXPECT_EQ(status.error_code(), grpc::StatusCode::PERMISSION_DENIED);
  EXPECT_THAT(status.error_message(), HasSubstr("NodeOptions::insecure_loopback_ops lacks OpsAction::kRead"));
  ops_ = nullptr;
  node_ = nullptr;
  StartNode({.insecure_loopback_ops = {OpsAction::kRead}});
  StartTcp();
  EXPECT_TRUE(GetNode(*PlainClient()).ok());
  EXPECT_EQ(Act(*PlainClient(), proto::DRAIN, "").error_code(), grpc::StatusCode::PERMISSION_DENIED);
}

TEST_F(OpsTlsTest, BeyondLoopbackItDoesNotListenWithoutTls) {
  StartNode({.insecure_loopback_ops = {OpsAction::kRead}});
  for (const char* address : {"0.0.0.0:0", "[::]:0", "desk.example:7000"}) {
    const absl::Status status = Ops::Start(system_, {.listen = address, .node = node_.get()}).status();
    EXPECT_EQ(status.code(), absl::StatusCode::kFailedPrecondition) << address;
  }
  TlsFiles wrong = Files("good", "desk");
  wrong.key_file = Files("good", "alice").key_file;
  EXPECT_EQ(Ops::Start(system_, {.listen = "127.0.0.1:0", .node = node_.get(), .credentials = Credentials::Tls(wrong)})
                .status()
                .code(),
            absl::StatusCode::kInvalidArgument);
}

TEST_F(OpsTlsTest, SilentConnectionsDoNotKeepAnOperatorOut) {
  StartTls();
  std::vector<std::unique_ptr<RawClient>> silent;
  for (size_t i = 0; i < 2 * limits::kOpsConnectionsMax; ++i) {
    silent.push_back(std::make_unique<RawClient>(ops_->address()));
  }
  EXPECT_TRUE(GetNode(*Client("good", "alice")).ok());
  EXPECT_THAT(silent, SizeIs(2 * limits::kOpsConnectionsMax));
}

TEST_F(OpsTlsTest, ConnectionsWhoseCallsAreRefusedDoNotKeepAnOperatorOut) {
  StartTls();
  std::vector<std::unique_ptr<Stub>> refused;
  for (size_t i = 0; i < limits::kOpsConnectionsMax; ++i) {
    refused.push_back(Client("good", "mallory"));
    EXPECT_EQ(GetNode(*refused.back()).error_code(), grpc::StatusCode::PERMISSION_DENIED);
  }
  EXPECT_TRUE(GetNode(*Client("good", "alice")).ok());
}

}  // namespace
}  // namespace understudy
