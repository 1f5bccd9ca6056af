// A gateway with TLS: who may connect, and which client may call what.
#include <grpcpp/client_context.h>
#include <grpcpp/completion_queue.h>
#include <grpcpp/generic/generic_stub.h>
#include <grpcpp/security/credentials.h>
#include <grpcpp/support/channel_arguments.h>
#include <grpcpp/support/status.h>

#include <cstddef>
#include <memory>
#include <string>

#include "absl/strings/str_cat.h"
#include "gmock/gmock.h"
#include "gtest/gtest.h"
#include "understudy/tests/transport/gateway/desk.actor.h"
#include "understudy/tests/transport/gateway/front.h"
#include "understudy/tests/transport/test_certificates.h"
#include "understudy/transport/credentials.h"
#include "understudy/transport/gateway/exported_service.h"
#include "understudy/transport/gateway/gateway.h"
#include "understudy/transport/gateway/gateway_limits.h"

namespace understudy {
namespace {

using ::testing::HasSubstr;

// Certificates of `front`, `billing`, `ops`, `till` and `crowd` by one authority, and of `billing` by another. The
// certificates of `till` and `crowd` have further names.
class GatewayTlsTest : public ::testing::Test {
 protected:
  static void SetUpTestSuite() {
    certificates_ = new TestCertificates;
    certificates_->Make("good", "front billing ops");
    certificates_->Make("good", "till", "--also URI:spiffe://shop/till,IP:192.0.2.7,email:till@shop.example,DNS:spare");
    std::string crowd = "DNS:crowd-1";
    for (size_t i = 2; i <= limits::kCallerNamesMax; ++i) absl::StrAppend(&crowd, ",DNS:crowd-", i);
    certificates_->Make("good", "crowd", absl::StrCat("--also ", crowd));
    certificates_->Make("other", "billing");
  }
  static void TearDownTestSuite() { delete certificates_; }

  static GatewayOptions Options() {
    return {.credentials = Credentials::Tls(certificates_->Files("good", "front")),
            .exports = {Export<desk::DeskRef>("desk").ForClients({"billing", "audit"})}};
  }
  // A client with that certificate, such as "good/billing", or with none.
  static std::shared_ptr<grpc::ChannelCredentials> Client(const std::string& certificate) {
    grpc::SslCredentialsOptions options;
    options.pem_root_certs = certificates_->Text("good/ca.pem");
    if (!certificate.empty()) {
      options.pem_cert_chain = certificates_->Text(certificate + ".pem");
      options.pem_private_key = certificates_->Text(certificate + ".key");
    }
    return grpc::SslCredentials(options);
  }
  static grpc::ChannelArguments ToFront() {
    grpc::ChannelArguments arguments;
    arguments.SetSslTargetNameOverride("front");
    return arguments;
  }

  static TestCertificates* certificates_;
};

TestCertificates* GatewayTlsTest::certificates_ = nullptr;

TEST_F(GatewayTlsTest, AClientIsKnownByItsCertificateAndMayCallWhatIsExportedToIt) {
  Front front(Options(), Client("good/billing"), ToFront());
  EXPECT_EQ(front.Echo("hello"), "hello");
}

TEST_F(GatewayTlsTest, AHandlerIsToldTheNamesInTheClientsCertificate) {
  GatewayOptions options = Options();
  options.exports = {Export<desk::DeskRef>("desk").WithCaller()};
  Front front(options, Client("good/ops"), ToFront());
  grpc::ClientContext context;
  desk::Text reply;
  const grpc::Status status = front.stub->Who(&context, TextOf(""), &reply);
  EXPECT_TRUE(status.ok()) << status.error_message();
  EXPECT_EQ(reply.text(), "names:ops\ndeadline:none");
}

TEST_F(GatewayTlsTest, AHandlerIsToldEachNameInTheClientsCertificate) {
  GatewayOptions options = Options();
  options.exports = {Export<desk::DeskRef>("desk").WithCaller()};
  Front front(options, Client("good/till"), ToFront());
  grpc::ClientContext context;
  desk::Text reply;
  const grpc::Status status = front.stub->Who(&context, TextOf(""), &reply);
  EXPECT_TRUE(status.ok()) << status.error_message();
  EXPECT_EQ(reply.text(), "names:till,spiffe://shop/till,192.0.2.7,till@shop.example,spare\ndeadline:none");
}

TEST_F(GatewayTlsTest, AnyNameInItsCertificateLetsAClientCall) {
  GatewayOptions options = Options();
  for (const char* name : {"till", "spiffe://shop/till", "192.0.2.7", "till@shop.example", "spare"}) {
    options.exports = {Export<desk::DeskRef>("desk").ForClients({"nobody", name})};
    Front front(options, Client("good/till"), ToFront());
    EXPECT_EQ(front.Echo(name), name);
  }
  options.exports = {Export<desk::DeskRef>("desk").ForClients({"spiffe://shop", "192.0.2.70", "shop.example"})};
  Front front(options, Client("good/till"), ToFront());
  const grpc::Status status = front.EchoStatus();
  EXPECT_EQ(status.error_code(), grpc::StatusCode::PERMISSION_DENIED);
  EXPECT_THAT(status.error_message(), HasSubstr("'till', 'spiffe://shop/till', '192.0.2.7', 'till@shop.example', "));
}

TEST_F(GatewayTlsTest, AClientWithMoreNamesThanTheBoundIsRefusedWhereTheActorIsToldThem) {
  GatewayOptions options = Options();
  options.exports = {Export<desk::DeskRef>("desk").ForClients({"crowd"}).WithCaller()};
  Front front(options, Client("good/crowd"), ToFront());
  const grpc::Status status = front.EchoStatus();
  EXPECT_EQ(status.error_code(), grpc::StatusCode::RESOURCE_EXHAUSTED);
  EXPECT_THAT(status.error_message(), HasSubstr("65 names in its certificate"));
  options.exports = {Export<desk::DeskRef>("desk").ForClients({"crowd"})};
  Front untold(options, Client("good/crowd"), ToFront());
  EXPECT_EQ(untold.Echo("hello"), "hello");
}

TEST_F(GatewayTlsTest, AnotherClientIsDeniedAndDoesNotReachTheActor) {
  Front front(Options(), Client("good/ops"), ToFront());
  const grpc::Status status = front.EchoStatus();
  EXPECT_EQ(status.error_code(), grpc::StatusCode::PERMISSION_DENIED);
  EXPECT_THAT(status.error_message(), HasSubstr("'ops' may not call desk.Desk"));
  const grpc::Status stream = front.CallBytes("/desk.Desk/Count", "");
  EXPECT_EQ(stream.error_code(), grpc::StatusCode::PERMISSION_DENIED);
  EXPECT_EQ(front.gateway->counters().calls, 0);
}

TEST_F(GatewayTlsTest, AClientThatMayNotCallIsToldSoBeforeItSendsARequest) {
  Front front(Options(), Client("good/ops"), ToFront());
  for (const char* path : {"/desk.Desk/Echo", "/desk.Desk/Count", "/desk.Desk/Collect"}) {
    grpc::ClientContext context;
    grpc::CompletionQueue queue;
    const auto call = grpc::GenericStub(front.channel).PrepareCall(&context, path, &queue);
    void* tag = nullptr;
    bool ok = false;
    call->StartCall(nullptr);
    ASSERT_TRUE(queue.Next(&tag, &ok));
    grpc::Status status;
    call->Finish(&status, nullptr);
    ASSERT_TRUE(queue.Next(&tag, &ok));
    EXPECT_EQ(status.error_code(), grpc::StatusCode::PERMISSION_DENIED) << path << ": " << status.error_message();
  }
}

TEST_F(GatewayTlsTest, EveryClientOfTheAuthorityMayCallWhatIsExportedToAll) {
  GatewayOptions options = Options();
  options.exports = {Export<desk::DeskRef>("desk")};
  Front front(options, Client("good/ops"), ToFront());
  EXPECT_EQ(front.Echo("hello"), "hello");
}

TEST_F(GatewayTlsTest, AnEmptyListLetsNobodyCall) {
  GatewayOptions options = Options();
  options.exports = {Export<desk::DeskRef>("desk").ForClients({})};
  Front front(options, Client("good/billing"), ToFront());
  EXPECT_EQ(front.EchoStatus().error_code(), grpc::StatusCode::PERMISSION_DENIED);
}

TEST_F(GatewayTlsTest, AClientWithoutACertificateOfTheAuthorityDoesNotConnect) {
  for (const char* certificate : {"", "other/billing"}) {
    Front front(Options(), Client(certificate), ToFront());
    EXPECT_EQ(front.EchoStatus().error_code(), grpc::StatusCode::UNAVAILABLE) << certificate;
  }
  Front front(Options());  // a client that speaks no TLS
  EXPECT_EQ(front.EchoStatus().error_code(), grpc::StatusCode::UNAVAILABLE);
}

TEST_F(GatewayTlsTest, WithTlsAGatewayListensOffLoopback) {
  GatewayOptions options = Options();
  options.listen = {"0.0.0.0:0"};
  ActorSystem system;
  EXPECT_TRUE(Gateway::Start(system, options).ok());
}

TEST_F(GatewayTlsTest, OffLoopbackReflectionIsServedOnlyIfTheOptionSaysSo) {
  const std::string reflect = "/grpc.reflection.v1.ServerReflection/ServerReflectionInfo";
  GatewayOptions options = Options();
  options.listen = {"0.0.0.0:0"};
  Front silent(options, Client("good/billing"), ToFront());
  EXPECT_EQ(silent.CallBytes(reflect, "").error_code(), grpc::StatusCode::UNIMPLEMENTED);
  options.reflection = ServeReflection::kAlways;
  Front open(options, Client("good/billing"), ToFront());
  EXPECT_TRUE(open.CallBytes(reflect, "").ok());
}

}  // namespace
}  // namespace understudy
