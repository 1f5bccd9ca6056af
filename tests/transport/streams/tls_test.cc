// Mutual TLS between nodes, with certificates that tools/make_certs makes.
#include <dlfcn.h>
#include <netdb.h>
#include <unistd.h>

#include <atomic>
#include <cstdio>
#include <cstdlib>
#include <filesystem>
#include <memory>
#include <string>
#include <utility>
#include <vector>

#include "absl/status/status.h"
#include "absl/status/statusor.h"
#include "absl/strings/ascii.h"
#include "absl/strings/match.h"
#include "absl/strings/str_cat.h"
#include "absl/strings/string_view.h"
#include "absl/time/time.h"
#include "gmock/gmock.h"
#include "gtest/gtest.h"
#include "understudy/actors/clock.h"
#include "understudy/tests/transport/streams/stream_end.h"
#include "understudy/tests/transport/test_certificates.h"
#include "understudy/transport/credentials.h"
#include "understudy/transport/grpc/grpc_stream.h"
#include "understudy/transport/session/frame_stream.h"
#include "understudy/transport/session/stream_identity.h"

namespace {

// Where peer.test is: 0 for 127.0.0.1, 1 for 127.0.0.2.
std::atomic<int> moves{0};
// gRPC's own resolver does not ask getaddrinfo. It reads this when the first channel is made.
const int is_native = setenv("GRPC_DNS_RESOLVER", "native", /*overwrite=*/1);

}  // namespace

// Replaces the C library's getaddrinfo for gRPC.
extern "C" int getaddrinfo(const char* node, const char* service, const addrinfo* hints, addrinfo** found) {
  static const auto real = reinterpret_cast<decltype(&getaddrinfo)>(dlsym(RTLD_NEXT, "getaddrinfo"));
  const bool is_peer = node != nullptr && std::string(node) == "peer.test";
  return real(!is_peer ? node : moves.load() == 0 ? "127.0.0.1" : "127.0.0.2", service, hints, found);
}

namespace understudy {
namespace {

using net_testing::Accepting;
using net_testing::End;
using net_testing::ExpectCarries;
using net_testing::kStreamDeadline;
using ::testing::AllOf;
using ::testing::ElementsAre;
using ::testing::HasSubstr;
using ::testing::Not;

// Certificates of nodes a, b and c in folders: `good`, `other` of another authority, `expired` of the good one.
class Certificates : public TestCertificates {
 public:
  Certificates() {
    Make("good", "a b c");
    Make("other", "a b");
    MakeExpired("expired", "good", "a b");
  }
};

const Certificates& Made() {
  static const Certificates made;
  return made;
}

class TlsTest : public ::testing::Test {
 protected:
  static Credentials Good(absl::string_view node) { return Credentials::Tls(Made().Files("good", node)); }

  // Node b listens.
  void Listen(const Credentials& credentials, absl::string_view address = "127.0.0.1:0") {
    absl::StatusOr<std::unique_ptr<GrpcListener>> listener =
        GrpcListener::Listen(address, credentials, accepting_.Accept());
    ASSERT_TRUE(listener.ok()) << listener.status();
    listener_ = *std::move(listener);
  }
  // The dialling node finds node `to` there.
  void ExpectCarried(const Credentials& dialler, absl::string_view to = "b") {
    ExpectCarried(*NewGrpcDialer(dialler), listener_->address(), to);
  }
  void ExpectCarried(Dialer& dialer, absl::string_view address, absl::string_view to = "b") {
    End client;
    client.Take(dialer.Dial(to, address, &client));
    End& server = accepting_.Wait(accepted_++);
    ExpectCarries(client, server);
    client.Drop();
    server.Drop();
    EXPECT_FALSE(client.WaitUntilClosed().ok());
    EXPECT_FALSE(server.WaitUntilClosed().ok());
  }
  // The stream closes, and the listening node has heard of none.
  absl::Status Refused(const Credentials& dialler, absl::string_view to = "b") {
    End client;
    client.Take(NewGrpcDialer(dialler)->Dial(to, listener_->address(), &client));
    const absl::Status why = client.WaitUntilClosed();
    EXPECT_FALSE(why.ok());
    EXPECT_EQ(accepting_.count(), accepted_);
    client.Drop();
    return why;
  }

  Accepting accepting_;
  std::unique_ptr<GrpcListener> listener_;
  size_t accepted_ = 0;
};

TEST_F(TlsTest, FramesCrossAndBothEndsKnowTheNames) {
  ::testing::internal::CaptureStderr();
  Listen(Good("b"));
  ExpectCarried(Good("a"));
  // gRPC logs this text when the server name that the dialler asks for is not in the certificate.
  EXPECT_THAT(::testing::internal::GetCapturedStderr(), Not(HasSubstr("No match found for server name")));
  EXPECT_EQ(accepting_.identity().proof, StreamIdentity::Proof::kCertificate);
  EXPECT_THAT(accepting_.identity().names, ElementsAre("a"));
  const auto dialer = NewGrpcDialer(Good("a"));
  EXPECT_THAT(dialer->IdentityAt("b", "127.0.0.1:7000").names, ElementsAre("b"));
  EXPECT_EQ(dialer->IdentityAt("b", "unix:/tmp/b").proof, StreamIdentity::Proof::kSameUser);
}

TEST_F(TlsTest, AHostsNameIsResolvedAnewAtEachDial) {
  Listen(Good("b"));
  const std::string port = listener_->address().substr(listener_->address().rfind(':'));
  const auto dialer = NewGrpcDialer(Good("a"));
  moves = 0;
  ExpectCarried(*dialer, absl::StrCat("peer.test", port));
  listener_->Stop();
  // The host has another address now.
  Listen(Good("b"), absl::StrCat("127.0.0.2", port));
  moves = 1;
  ExpectCarried(*dialer, absl::StrCat("peer.test", port));
}

TEST_F(TlsTest, ADiallerWhoseCertificateIsOfAnotherAuthorityIsRefused) {
  Listen(Good("b"));
  Refused(Credentials::Tls(Made().Files("other", "a", "good"))).IgnoreError();
  ExpectCarried(Good("a"));
}

TEST_F(TlsTest, AListenerWhoseCertificateIsOfAnotherAuthorityIsRefused) {
  Listen(Credentials::Tls(Made().Files("other", "b", "good")));
  Refused(Good("a")).IgnoreError();
}

TEST_F(TlsTest, AnExpiredCertificateIsRefusedAtBothEnds) {
  Listen(Good("b"));
  Refused(Credentials::Tls(Made().Files("expired", "a"))).IgnoreError();
  Listen(Credentials::Tls(Made().Files("expired", "b")));
  Refused(Good("a")).IgnoreError();
}

TEST_F(TlsTest, ANodeThatIsNotTheOneThatWasDialledIsRefused) {
  Listen(Good("b"));
  Refused(Good("a"), "c").IgnoreError();
  Refused(Good("a"), "a").IgnoreError();
  ExpectCarried(Good("a"), "b");
}

TEST_F(TlsTest, APeerWithoutACertificateIsRefused) {
  Listen(Good("b"));
  const NodeAddress address = *NodeAddress::Parse(listener_->address());
  const std::string command = absl::StrCat("openssl s_client -connect 127.0.0.1:", address.port, " -alpn h2 -CAfile ",
                                           Made().File("good/ca.pem"), " </dev/null 2>&1");
  FILE* const client = popen(command.c_str(), "r");
  ASSERT_NE(client, nullptr);
  std::string said;
  char buffer[1024];
  while (const size_t bytes = fread(buffer, 1, sizeof(buffer), client)) said.append(buffer, bytes);
  pclose(client);
  EXPECT_THAT(said, HasSubstr("Acceptable client certificate CA names"));
  EXPECT_EQ(accepting_.count(), 0U);
  ExpectCarried(Good("a"));
}

// This test runs the same client command three times. It is accepted with TLS 1.2, and with TLS 1.1 by a server that
// sets no minimum, so the version is the only reason why the node refuses it.
TEST_F(TlsTest, AVersionOfTlsBefore1Dot2IsRefused) {
  const std::string key_pair = absl::StrCat(" -cert ", Made().File("good/a.pem"), " -key ", Made().File("good/a.key"),
                                            " -cipher DEFAULT@SECLEVEL=0");
  const auto connects = [&](absl::string_view address, absl::string_view version) {
    const std::string command = absl::StrCat("timeout 60 openssl s_client -connect ", address, " ", version,
                                             " -alpn h2", key_pair, " </dev/null >/dev/null 2>&1");
    return system(command.c_str()) == 0;
  };
  Listen(Good("b"));
  const std::string node = absl::StrCat("127.0.0.1:", NodeAddress::Parse(listener_->address())->port);
  EXPECT_TRUE(connects(node, "-tls1_2"));
  EXPECT_FALSE(connects(node, "-tls1_1"));

  // The server writes "ACCEPT 127.0.0.1:PORT", and ends after one connection.
  const std::string serve =
      absl::StrCat("timeout 60 openssl s_server -www -accept 127.0.0.1:0 -naccept 1", key_pair, " </dev/null 2>&1");
  FILE* const server = popen(serve.c_str(), "r");
  ASSERT_NE(server, nullptr);
  std::string said;
  char line[256];
  while (!absl::StartsWith(said, "ACCEPT ") && fgets(line, sizeof(line), server) != nullptr) said = line;
  ASSERT_TRUE(absl::StartsWith(said, "ACCEPT ")) << said;
  EXPECT_TRUE(connects(absl::StripAsciiWhitespace(said.substr(7)), "-tls1_1"));
  pclose(server);
}

TEST_F(TlsTest, PlaintextToATlsPortIsRefused) {
  Listen(Good("b"));
  Refused(Credentials::Insecure()).IgnoreError();
}

TEST_F(TlsTest, TlsToAPlaintextPortIsRefused) {
  Listen(Credentials::Insecure());
  Refused(Good("a")).IgnoreError();
}

TEST_F(TlsTest, ACertificateThatWasReplacedIsUsedWithoutARestart) {
  const std::string live = Made().File("live/");
  std::filesystem::create_directory(live);
  const auto put = [&](absl::string_view set) {
    for (const char* file : {"b.key", "b.pem"}) {
      std::filesystem::copy(Made().File(absl::StrCat(set, "/", file)), absl::StrCat(live, file, ".new"));
      std::filesystem::rename(absl::StrCat(live, file, ".new"), absl::StrCat(live, file));
    }
  };
  put("expired");
  Listen(Credentials::Tls(Made().Files("live", "b", "good")));
  const auto dialer = NewGrpcDialer(Good("a"));
  const auto dial = [&] {
    End client;
    client.Take(dialer->Dial("b", listener_->address(), &client));
    client.Write("ping");
    const bool is_refused = client.WaitForFrameOrEnd();
    client.Drop();
    EXPECT_FALSE(client.WaitUntilClosed().ok());
    return !is_refused;
  };
  accepting_.SetEcho();
  EXPECT_FALSE(dial());
  put("good");
  const MonotonicTime deadline = Clock::Real().Now() + kStreamDeadline;
  bool is_carried = false;
  while (!is_carried && Clock::Real().Now() < deadline) is_carried = dial();
  EXPECT_TRUE(is_carried);
}

TEST(Credentials, FilesThatCannotBeUsedAreNamed) {
  EXPECT_TRUE(Credentials::Insecure().Check().ok());
  EXPECT_TRUE(Credentials::Tls(Made().Files("good", "a")).Check().ok());
  const absl::Status missing = Credentials::Tls(Made().Files("good", "nobody")).Check();
  EXPECT_EQ(missing.code(), absl::StatusCode::kInvalidArgument);
  EXPECT_THAT(std::string(missing.message()), HasSubstr("nobody.pem"));
  EXPECT_THAT(std::string(missing.message()), HasSubstr("tools/make_certs"));
  TlsFiles mixed = Made().Files("good", "a");
  mixed.key_file = "tools/make_certs";
  EXPECT_THAT(std::string(Credentials::Tls(mixed).Check().message()),
              HasSubstr("'tools/make_certs' is not a PEM file"));
  TlsFiles swapped = Made().Files("good", "a");
  swapped.key_file = swapped.certificate_file;
  EXPECT_THAT(std::string(Credentials::Tls(swapped).Check().message()), HasSubstr("has no private key"));
}

TEST(Credentials, TheCertificateOfAnotherNodeIsRefusedWithItsNames) {
  const Credentials of_a = Credentials::Tls(Made().Files("good", "a"));
  EXPECT_TRUE(of_a.CheckForNode("a").ok());
  EXPECT_TRUE(Credentials::Insecure().CheckForNode("b").ok());
  const absl::Status wrong = of_a.CheckForNode("b");
  EXPECT_EQ(wrong.code(), absl::StatusCode::kInvalidArgument);
  EXPECT_THAT(std::string(wrong.message()), AllOf(HasSubstr("a.pem' is not one of node b: its DNS names are a, "),
                                                  HasSubstr("tools/make_certs DIR b")));
}

TEST(Credentials, AKeyOfAnotherCertificateIsRefusedWithBothFiles) {
  TlsFiles pair = Made().Files("good", "a");
  pair.key_file = Made().Files("good", "b").key_file;
  const absl::Status wrong = Credentials::Tls(pair).Check();
  EXPECT_EQ(wrong.code(), absl::StatusCode::kInvalidArgument);
  EXPECT_THAT(std::string(wrong.message()),
              AllOf(HasSubstr(pair.key_file), HasSubstr("is not that of the certificate in"),
                    HasSubstr(pair.certificate_file), HasSubstr("tools/make_certs")));
}

TEST(MakeCerts, ANameThatIsNotANodesIsRefused) {
  EXPECT_NE(system("tools/make_certs /tmp/understudy.none 'No Label' 2>/dev/null"), 0);
  EXPECT_FALSE(std::filesystem::exists("/tmp/understudy.none"));
}

}  // namespace
}  // namespace understudy
