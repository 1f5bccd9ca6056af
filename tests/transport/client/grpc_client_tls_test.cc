// A client with TLS: both ends prove themselves.
#include <grpc/grpc_security_constants.h>
#include <grpcpp/security/server_credentials.h>

#include <memory>
#include <string>

#include "absl/status/status.h"
#include "absl/status/statusor.h"
#include "absl/time/time.h"
#include "gtest/gtest.h"
#include "understudy/actors/actor_system.h"
#include "understudy/actors/exit_reason.h"
#include "understudy/tests/transport/client/client_fixture.h"
#include "understudy/tests/transport/client/plain_desk.h"
#include "understudy/tests/transport/gateway/desk.actor.h"
#include "understudy/tests/transport/test_certificates.h"
#include "understudy/transport/client/grpc_client.h"
#include "understudy/transport/credentials.h"

namespace understudy {
namespace {

// Certificates of `shop` and `billing` by one authority, and of `billing` by another.
class GrpcClientTlsTest : public ::testing::Test {
 protected:
  GrpcClientTlsTest() {
    certificates_.Make("good", "shop billing");
    certificates_.Make("other", "billing");
  }
  // The server `shop`, which requires a certificate of its clients.
  std::shared_ptr<grpc::ServerCredentials> OfServer() const {
    grpc::SslServerCredentialsOptions options(GRPC_SSL_REQUEST_AND_REQUIRE_CLIENT_CERTIFICATE_AND_VERIFY);
    options.pem_root_certs = certificates_.Text("good/ca.pem");
    options.pem_key_cert_pairs.push_back({certificates_.Text("good/shop.key"), certificates_.Text("good/shop.pem")});
    return grpc::SslServerCredentials(options);
  }
  // The client `billing`, with the certificate and the authority in these folders.
  GrpcClientOptions Options(const PlainDesk& server, const std::string& certificate, const std::string& authority) {
    return {.target = server.address(),
            .credentials = Credentials::Tls(certificates_.Files(certificate, "billing", authority)),
            .server_name = "shop"};
  }
  void ExpectNoConnection(GrpcClientOptions options) {
    options.connect_within = absl::Milliseconds(500);
    const absl::StatusOr<ExitReason> reason = actors.AwaitEnd(actors.Spawn<DeskClient>(options).pid(), kWithin);
    ASSERT_TRUE(reason.ok()) << reason.status();
    EXPECT_EQ(reason->kind(), ExitReason::Kind::kNoConnection) << reason->ToString();
  }

  TestCertificates certificates_;
  ActorSystem actors;
};

TEST_F(GrpcClientTlsTest, TheServerAndTheClientProveThemselves) {
  PlainDesk server(OfServer());
  const desk::DeskRef desk = actors.Spawn<DeskClient>(Options(server, "good", "good"));
  const absl::StatusOr<desk::Text> reply = actors.Ask(desk.echo(), TextOf("hello"), kWithin);
  ASSERT_TRUE(reply.ok()) << reply.status();
  EXPECT_EQ(reply->text(), "hello");
}

TEST_F(GrpcClientTlsTest, WithoutAProofThereIsNoConnection) {
  PlainDesk server(OfServer());
  ExpectNoConnection(Options(server, "good", "other"));  // the server's authority is unknown
  ExpectNoConnection(Options(server, "other", "good"));  // the client's is
  GrpcClientOptions elsewhere = Options(server, "good", "good");
  elsewhere.server_name = "bank";
  ExpectNoConnection(elsewhere);
  elsewhere.server_name.clear();  // "127.0.0.1"
  ExpectNoConnection(elsewhere);
  ExpectNoConnection({.target = server.address()});
  PlainDesk plain;
  ExpectNoConnection(Options(plain, "good", "good"));
  EXPECT_EQ(server.counts.echoes, 0);
}

}  // namespace
}  // namespace understudy
