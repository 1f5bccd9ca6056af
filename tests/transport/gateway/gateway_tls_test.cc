// A gateway with TLS: who may connect, and which client may call what.
#include <grpcpp/security/credentials.h>
#include <grpcpp/support/channel_arguments.h>
#include <grpcpp/support/status.h>
#include <unistd.h>

#include <cstdlib>
#include <filesystem>
#include <fstream>
#include <memory>
#include <sstream>
#include <string>

#include "absl/strings/str_cat.h"
#include "gmock/gmock.h"
#include "gtest/gtest.h"
#include "understudy/tests/transport/gateway/desk.actor.h"
#include "understudy/tests/transport/gateway/front.h"
#include "understudy/transport/credentials.h"
#include "understudy/transport/gateway/exported_service.h"
#include "understudy/transport/gateway/gateway.h"

namespace understudy {
namespace {

using ::testing::HasSubstr;

std::string Contents(const std::string& path) {
  std::stringstream text;
  text << std::ifstream(path).rdbuf();
  return text.str();
}

// Certificates of `front`, `billing` and `ops` by one authority, and of `billing` by another.
class GatewayTlsTest : public ::testing::Test {
 protected:
  static void SetUpTestSuite() {
    folder_ = new std::string("/tmp/understudy.XXXXXX");
    ASSERT_NE(mkdtemp(folder_->data()), nullptr);
    Make(absl::StrCat(*folder_, "/good front billing ops"));
    Make(absl::StrCat(*folder_, "/other billing"));
  }
  static void TearDownTestSuite() {
    std::filesystem::remove_all(*folder_);
    delete folder_;
  }
  static void Make(const std::string& arguments) {
    ASSERT_EQ(system(absl::StrCat("tools/make_certs ", arguments, " 2>/dev/null").c_str()), 0);
  }
  static std::string File(const std::string& name) { return absl::StrCat(*folder_, "/", name); }

  static GatewayOptions Options() {
    return {.credentials = Credentials::Tls({.certificate_file = File("good/front.pem"),
                                             .key_file = File("good/front.key"),
                                             .ca_file = File("good/ca.pem")}),
            .exports = {Export<desk::DeskRef>("desk").ForClients({"billing", "audit"})}};
  }
  // A client with that certificate, such as "good/billing", or with none.
  static std::shared_ptr<grpc::ChannelCredentials> Client(const std::string& certificate) {
    grpc::SslCredentialsOptions options;
    options.pem_root_certs = Contents(File("good/ca.pem"));
    if (!certificate.empty()) {
      options.pem_cert_chain = Contents(File(certificate + ".pem"));
      options.pem_private_key = Contents(File(certificate + ".key"));
    }
    return grpc::SslCredentials(options);
  }
  static grpc::ChannelArguments ToFront() {
    grpc::ChannelArguments arguments;
    arguments.SetSslTargetNameOverride("front");
    return arguments;
  }

  static std::string* folder_;
};

std::string* GatewayTlsTest::folder_ = nullptr;

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

TEST_F(GatewayTlsTest, AnotherClientIsDeniedAndDoesNotReachTheActor) {
  Front front(Options(), Client("good/ops"), ToFront());
  const grpc::Status status = front.EchoStatus();
  EXPECT_EQ(status.error_code(), grpc::StatusCode::PERMISSION_DENIED);
  EXPECT_THAT(status.error_message(), HasSubstr("'ops' may not call desk.Desk"));
  const grpc::Status stream = front.CallBytes("/desk.Desk/Count", "");
  EXPECT_EQ(stream.error_code(), grpc::StatusCode::PERMISSION_DENIED);
  EXPECT_EQ(front.gateway->counters().calls, 0);
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
