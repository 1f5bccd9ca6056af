// Metrics with TLS: the certificate, its renewal, and when it expires.
#include <openssl/bio.h>
#include <openssl/ssl.h>
#include <pthread.h>
#include <signal.h>

#include <array>
#include <ctime>
#include <deque>
#include <filesystem>
#include <memory>
#include <string>
#include <utility>

#include "absl/status/status.h"
#include "absl/status/statusor.h"
#include "absl/strings/str_cat.h"
#include "absl/time/time.h"
#include "gmock/gmock.h"
#include "gtest/gtest.h"
#include "understudy/actors/actor_system.h"
#include "understudy/actors/clock.h"
#include "understudy/tests/transport/metrics/scrape.h"
#include "understudy/tests/transport/metrics/strict_exposition.h"
#include "understudy/tests/transport/test_certificates.h"
#include "understudy/transport/credentials.h"
#include "understudy/transport/metrics/metrics.h"
#include "understudy/transport/metrics/metrics_limits.h"

namespace understudy {
namespace {

using ::testing::HasSubstr;
using ::testing::Not;

constexpr absl::Duration kWithin = absl::Seconds(60);

// Two certificates of `scraped`, by authorities of their own.
class MetricsTlsTest : public ::testing::Test {
 protected:
  static void SetUpTestSuite() {
    certificates_ = new TestCertificates;
    for (const char* authority : {"old", "new"}) certificates_->Make(authority, "scraped");
  }
  static void TearDownTestSuite() { delete certificates_; }
  static std::string File(const std::string& name) { return certificates_->File(name); }
  static Credentials Tls(const std::string& authority) {
    return Credentials::Tls(certificates_->Files(authority, "scraped"));
  }

  // Copies the authority's certificate and its key to served.pem and served.key.
  static void Serve(const std::string& authority) {
    for (const char* end : {".pem", ".key"}) {
      const std::string next = File(absl::StrCat("next", end));
      std::filesystem::copy_file(File(absl::StrCat(authority, "/scraped", end)), next);
      std::filesystem::rename(next, File(absl::StrCat("served", end)));
    }
  }
  void StartMetrics(MetricsOptions options) {
    absl::StatusOr<std::unique_ptr<Metrics>> started = Metrics::Start(system_, std::move(options));
    ASSERT_TRUE(started.ok()) << started.status();
    metrics_ = *std::move(started);
  }
  // Serves the old certificate, and then lets the new one stand in the same files.
  void RenewCertificate() {
    Serve("old");
    StartMetrics(
        {.credentials = Credentials::Tls(
             {.certificate_file = File("served.pem"), .key_file = File("served.key"), .ca_file = File("old/ca.pem")})});
    EXPECT_THAT(Get("/livez", "old"), HasSubstr("200 OK"));
    Serve("new");
  }
  // Returns the server's answer to a client that trusts the authority; empty if the handshake fails or the server
  // closes the connection.
  std::string Get(const std::string& path, const std::string& authority) {
    // The client's library writes without MSG_NOSIGNAL.
    sigset_t pipe;
    sigemptyset(&pipe);
    sigaddset(&pipe, SIGPIPE);
    pthread_sigmask(SIG_BLOCK, &pipe, nullptr);
    const std::unique_ptr<SSL_CTX, decltype(&SSL_CTX_free)> context(SSL_CTX_new(TLS_client_method()), SSL_CTX_free);
    EXPECT_EQ(SSL_CTX_load_verify_locations(context.get(), File(authority + "/ca.pem").c_str(), nullptr), 1);
    SSL_CTX_set_verify(context.get(), SSL_VERIFY_PEER, nullptr);
    const std::unique_ptr<BIO, decltype(&BIO_free_all)> connection(BIO_new_ssl_connect(context.get()), BIO_free_all);
    const std::string port = metrics_->address().substr(metrics_->address().rfind(':') + 1);
    BIO_set_conn_hostname(connection.get(), absl::StrCat("127.0.0.1:", port).c_str());
    if (BIO_do_handshake(connection.get()) != 1) return "";
    const std::string request = absl::StrCat("GET ", path, " HTTP/1.1\r\nHost: scraped\r\n\r\n");
    const auto size = static_cast<int>(request.size());
    if (BIO_write(connection.get(), request.data(), size) != size) return "";
    std::string all;
    std::array<char, 4096> part;
    int got = 0;
    while ((got = BIO_read(connection.get(), part.data(), part.size())) > 0) all.append(part.data(), got);
    return all;
  }

  static TestCertificates* certificates_;
  ActorSystem system_{{.name = "desk"}};
  std::unique_ptr<Metrics> metrics_;
};

TestCertificates* MetricsTlsTest::certificates_ = nullptr;

TEST_F(MetricsTlsTest, BeyondLoopbackItServesTlsToClientsWithoutCertificate) {
  StartMetrics({.listen = "0.0.0.0:0", .credentials = Tls("old")});
  const std::string answer = Get("/metrics", "old");
  EXPECT_THAT(answer, HasSubstr("HTTP/1.1 200 OK\r\n"));
  EXPECT_TRUE(ParseExposition(answer.substr(answer.find("\r\n\r\n") + 4)).ok());
  EXPECT_THAT(Get("/livez", "old"), HasSubstr("\r\n\r\nok\n"));
  EXPECT_EQ(Get("/livez", "new"), "") << "its authority has not signed the certificate";
}

TEST_F(MetricsTlsTest, AClientWithoutTlsGetsNothingAndDisturbsNobody) {
  StartMetrics({.credentials = Tls("old")});
  RawClient plain(metrics_->address());
  (void)plain.Say("GET /metrics HTTP/1.1\r\nHost: a\r\n\r\n");
  EXPECT_THAT(plain.Hear(), Not(HasSubstr("understudy")));
  RawClient silent(metrics_->address());
  EXPECT_THAT(Get("/livez", "old"), HasSubstr("200 OK"));
}

TEST_F(MetricsTlsTest, ARenewedCertificateIsServedSoon) {
  RenewCertificate();
  const MonotonicTime deadline = Clock::Real().Now() + kWithin;
  std::string answer;
  while (answer.empty() && Clock::Real().Now() < deadline) answer = Get("/livez", "new");
  EXPECT_THAT(answer, HasSubstr("200 OK"));
}

TEST_F(MetricsTlsTest, ARenewedCertificateIsServedSoonAlsoIfThereIsAlwaysAConnection) {
  RenewCertificate();
  // Several, so that the server has accepted one before another ends.
  std::deque<std::unique_ptr<RawClient>> silent;
  const MonotonicTime deadline = Clock::Real().Now() + kWithin;
  std::string answer;
  while (answer.empty() && Clock::Real().Now() < deadline) {
    silent.push_back(std::make_unique<RawClient>(metrics_->address()));
    if (silent.size() > limits::kMetricsConnectionsMax / 2) silent.pop_front();
    answer = Get("/livez", "new");
  }
  EXPECT_THAT(answer, HasSubstr("200 OK"));
}

TEST_F(MetricsTlsTest, FilesThatCannotBeUsedAreAnErrorOfTheStart) {
  Credentials credentials = Tls("old");
  credentials.tls->key_file = File("new/scraped.key");
  const absl::Status status = Metrics::Start(system_, {.credentials = credentials}).status();
  EXPECT_EQ(status.code(), absl::StatusCode::kInvalidArgument);
  EXPECT_THAT(std::string(status.message()), HasSubstr("is not that of the certificate"));
}

TEST_F(MetricsTlsTest, APageTellsWhenTheCertificatesExpire) {
  StartMetrics({.certificate_files = {File("old/scraped.pem"), File("none.pem"), File("old/scraped.pem")}});
  absl::StatusOr<Series> page = ParseExposition(Fetch(metrics_->address(), "/metrics").body);
  ASSERT_TRUE(page.ok()) << page.status();
  const auto expiry = [&](const std::string& file) {
    return (*page)[absl::StrCat("understudy_certificate_expiry_timestamp_seconds{file=\"", File(file), "\"}")];
  };
  EXPECT_EQ(expiry("none.pem"), 0);
  const auto now = static_cast<double>(time(nullptr));
  constexpr double kDay = 24 * 60 * 60;
  EXPECT_GT(expiry("old/scraped.pem"), now + kDay);
  EXPECT_LT(expiry("old/scraped.pem"), now + 100 * 366 * kDay);
}

}  // namespace
}  // namespace understudy
