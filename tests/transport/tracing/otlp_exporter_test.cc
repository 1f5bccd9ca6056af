// OtlpExporter with a collector on loopback: one that takes spans, a slow one, and none.
#include "understudy/transport/tracing/otlp_exporter.h"

#include <grpc/grpc_security_constants.h>
#include <grpcpp/security/server_credentials.h>

#include <cstddef>
#include <cstdint>
#include <memory>
#include <string>
#include <utility>
#include <vector>

#include "absl/status/status.h"
#include "absl/status/statusor.h"
#include "absl/strings/str_cat.h"
#include "absl/strings/str_join.h"
#include "absl/time/time.h"
#include "gmock/gmock.h"
#include "gtest/gtest.h"
#include "understudy/actors/clock.h"
#include "understudy/actors/testing/kept_log.h"
#include "understudy/actors/trace.h"
#include "understudy/tests/transport/test_certificates.h"
#include "understudy/tests/transport/tracing/test_collector.h"
#include "understudy/transport/credentials.h"
#include "understudy/transport/tracing/tracing_limits.h"

namespace understudy {
namespace {

using ::testing::Each;
using ::testing::HasSubstr;
using ::testing::Le;
using ::testing::SizeIs;

constexpr absl::Duration kLong = absl::Seconds(60);

Span Numbered(uint64_t number) {
  return {.trace = {.high = 1, .low = 2}, .id = number, .kind = SpanKind::kWork, .name = "work"};
}

class OtlpExporterTest : public ::testing::Test {
 protected:
  std::unique_ptr<OtlpExporter> Exporter(OtlpOptions options) {
    options.service = "shop";
    options.log = &log_;
    auto exporter = OtlpExporter::Start(std::move(options));
    EXPECT_TRUE(exporter.ok()) << exporter.status();
    return *std::move(exporter);
  }
  static void Take(OtlpExporter& exporter, int spans) {
    for (int i = 1; i <= spans; ++i) exporter.Take(Numbered(static_cast<uint64_t>(i)));
  }

  KeptLog log_;
};

TEST_F(OtlpExporterTest, SpansReachTheCollectorInBatches) {
  constexpr int kSpans = 900;
  TestCollector collector;
  const auto exporter = Exporter({.collector = collector.address()});
  Take(*exporter, kSpans);
  EXPECT_TRUE(exporter->Flush(kLong));
  EXPECT_THAT(collector.spans(), SizeIs(kSpans));
  EXPECT_THAT(collector.requests(), Each(Le(static_cast<int>(limits::kSpansPerRequestMax))));
  EXPECT_EQ(collector.spans()[0].service, "shop");
  EXPECT_EQ(exporter->counts().exported, kSpans);
  EXPECT_EQ(exporter->counts().dropped_full + exporter->counts().dropped_sent, 0);
}

TEST_F(OtlpExporterTest, SpansTravelWithoutAFlushAndTheLastOnesAtTheEnd) {
  TestCollector collector;
  auto exporter = Exporter({.collector = collector.address(), .travel_every = absl::Milliseconds(10)});
  Take(*exporter, 1);
  EXPECT_TRUE(collector.Await([](const TestCollector::Spans& spans) { return spans.size() == 1; }));
  auto slow = Exporter({.collector = collector.address(), .travel_every = absl::Hours(1)});
  Take(*slow, 1);
  slow = nullptr;
  EXPECT_THAT(collector.spans(), SizeIs(2));
}

TEST_F(OtlpExporterTest, WhileTheCollectorIsSlowNobodyWaitsAndSpansAreDroppedAndCounted) {
  constexpr int kWaiting = 80;
  TestCollector collector;
  collector.Pause();
  const auto exporter =
      Exporter({.collector = collector.address(), .waiting_spans_max = kWaiting, .answers_within = kLong});
  for (int i = 0; i < 100; ++i) Take(*exporter, kWaiting);  // returns, although the collector does not
  EXPECT_GT(exporter->counts().dropped_full, 0);
  collector.Resume();
  EXPECT_TRUE(exporter->Flush(kLong));
  const SpanCounts counts = exporter->counts();
  EXPECT_EQ(counts.exported + counts.dropped_full, 100 * kWaiting);
  EXPECT_EQ(collector.spans().size(), static_cast<size_t>(counts.exported));
}

TEST_F(OtlpExporterTest, ACollectorThatDoesNotAnswerInTimeLosesItsBatch) {
  TestCollector collector;
  collector.Pause();
  const auto exporter = Exporter({.collector = collector.address(), .answers_within = absl::Milliseconds(50)});
  Take(*exporter, 3);
  EXPECT_TRUE(exporter->Flush(kLong));
  EXPECT_EQ(exporter->counts().dropped_sent, 3);
  EXPECT_THAT(absl::StrJoin(log_.lines(), "\n"), HasSubstr("3 were not taken"));
}

TEST_F(OtlpExporterTest, WithoutACollectorSpansAreDroppedUntilItComes) {
  int port = 0;
  {
    TestCollector gone;
    port = gone.port();
  }
  const auto exporter = Exporter({.collector = absl::StrCat("127.0.0.1:", port)});
  Take(*exporter, 3);
  EXPECT_TRUE(exporter->Flush(kLong));
  EXPECT_EQ(exporter->counts().dropped_sent, 3);
  TestCollector back(port);
  if (back.port() == 0) GTEST_SKIP() << "another process has taken the port";
  const MonotonicTime until = Clock::Real().Now() + kLong;
  while (exporter->counts().exported == 0 && Clock::Real().Now() < until) {
    Take(*exporter, 1);
    EXPECT_TRUE(exporter->Flush(kLong));
  }
  EXPECT_GT(exporter->counts().exported, 0);
}

TEST_F(OtlpExporterTest, WhatTheCollectorRejectsIsCounted) {
  TestCollector collector;
  collector.RejectOfEach(2);
  const auto exporter = Exporter({.collector = collector.address()});
  Take(*exporter, 5);
  EXPECT_TRUE(exporter->Flush(kLong));
  const SpanCounts counts = exporter->counts();
  EXPECT_EQ(counts.exported + counts.dropped_sent, 5);
  EXPECT_GE(counts.dropped_sent, 2);
}

TEST_F(OtlpExporterTest, ItsEndDoesNotWaitLongForASlowCollector) {
  TestCollector collector;
  collector.Pause();
  auto exporter = Exporter({.collector = collector.address(), .answers_within = absl::Hours(1)});
  Take(*exporter, 2000);
  exporter = nullptr;  // or this test times out
}

class OtlpExporterTlsTest : public OtlpExporterTest {
 protected:
  OtlpExporterTlsTest() {
    certificates_.Make("good", "collector shop");
    certificates_.Make("other", "shop");
  }
  // A collector that requires a certificate of its clients.
  std::shared_ptr<grpc::ServerCredentials> OfCollector() const {
    grpc::SslServerCredentialsOptions options(GRPC_SSL_REQUEST_AND_REQUIRE_CLIENT_CERTIFICATE_AND_VERIFY);
    options.pem_root_certs = certificates_.Text("good/ca.pem");
    options.pem_key_cert_pairs.push_back(
        {certificates_.Text("good/collector.key"), certificates_.Text("good/collector.pem")});
    return grpc::SslServerCredentials(options);
  }
  // An exporter with the certificate and the authority in these folders has sent three spans, or lost them.
  std::unique_ptr<OtlpExporter> Sent(const TestCollector& collector, const std::string& certificate,
                                     const std::string& authority, const std::string& server_name) {
    std::unique_ptr<OtlpExporter> exporter =
        Exporter({.collector = collector.address(),
                  .credentials = Credentials::Tls(certificates_.Files(certificate, "shop", authority)),
                  .server_name = server_name});
    Take(*exporter, 3);
    EXPECT_TRUE(exporter->Flush(kLong));
    EXPECT_EQ(exporter->counts().exported + exporter->counts().dropped_sent, 3);
    return exporter;
  }

  TestCertificates certificates_;
};

TEST_F(OtlpExporterTlsTest, SpansReachACollectorThatProvesItself) {
  TestCollector collector(0, OfCollector());
  EXPECT_EQ(Sent(collector, "good", "good", "collector")->counts().exported, 3);
  EXPECT_THAT(collector.spans(), SizeIs(3));
}

TEST_F(OtlpExporterTlsTest, WithoutAProofNoSpanIsSent) {
  TestCollector collector(0, OfCollector());
  EXPECT_EQ(Sent(collector, "good", "other", "collector")->counts().exported, 0) << "an authority that is not trusted";
  EXPECT_EQ(Sent(collector, "other", "good", "collector")->counts().exported, 0) << "the collector does not trust ours";
  EXPECT_EQ(Sent(collector, "good", "good", "elsewhere")->counts().exported, 0) << "a certificate of another name";
  EXPECT_EQ(Sent(collector, "good", "good", "")->counts().exported, 0) << "a certificate of a name that is no address";
  TestCollector plain;
  EXPECT_EQ(Sent(plain, "good", "good", "collector")->counts().exported, 0) << "no TLS";
  const auto exporter = Exporter({.collector = collector.address()});
  Take(*exporter, 3);
  EXPECT_TRUE(exporter->Flush(kLong));
  EXPECT_EQ(exporter->counts().dropped_sent, 3) << "we speak no TLS";
  EXPECT_THAT(collector.spans(), SizeIs(0));
  EXPECT_THAT(plain.spans(), SizeIs(0));
}

TEST_F(OtlpExporterTest, OptionsOutOfTheirRangeAreRefused) {
  const auto refused = [](const OtlpOptions& options) { return OtlpExporter::Start(options).status(); };
  EXPECT_EQ(refused({.collector = "nowhere"}).code(), absl::StatusCode::kInvalidArgument);
  EXPECT_EQ(refused({.travel_every = absl::ZeroDuration()}).code(), absl::StatusCode::kInvalidArgument);
  EXPECT_EQ(refused({.waiting_spans_max = limits::kSpansWaitingMax + 1}).code(), absl::StatusCode::kInvalidArgument);
  EXPECT_EQ(refused({.credentials = Credentials::Tls({.certificate_file = "/nothing"})}).code(),
            absl::StatusCode::kInvalidArgument);
  const absl::Status beyond = refused({.collector = "192.0.2.1:4317"});
  EXPECT_EQ(beyond.code(), absl::StatusCode::kFailedPrecondition);
  EXPECT_THAT(beyond.message(), HasSubstr("insecure_plaintext_beyond_loopback"));
}

}  // namespace
}  // namespace understudy
