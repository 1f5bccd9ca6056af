// OtlpExporter: sends the spans of a system's traces (actors/trace.h) to a collector, as OTLP over gRPC.
//
//   absl::StatusOr<std::unique_ptr<OtlpExporter>> exporter =
//       OtlpExporter::Start({.collector = "127.0.0.1:4317", .service = "orders"});
//   ActorSystem system({.name = "orders", .tracing = {.spans = exporter->get(), .sampled_ratio = 0.01}});
//
// Spans wait in a bounded queue and travel in batches, on a thread of the exporter's own. No actor waits for the
// collector: while it is slow or gone, spans beyond the bound are dropped and counted, and so is a batch that it does
// not take within OtlpOptions::answers_within. The log says so at most once a minute.
// Security: a collector beyond loopback needs TLS (credentials.h), or an option that has `insecure` in its name. Spans
// have names of mailboxes, pids and times; never contents of messages.
// Threads: any. Lifetime: the exporter outlives the systems that use it. Its destructor sends what waits, for at most
// limits::kLastSpansWithin.
#ifndef UNDERSTUDY_TRANSPORT_TRACING_OTLP_EXPORTER_H_
#define UNDERSTUDY_TRANSPORT_TRACING_OTLP_EXPORTER_H_

#include <cstddef>
#include <cstdint>
#include <memory>
#include <string>
#include <utility>
#include <vector>

#include "absl/status/statusor.h"
#include "absl/time/time.h"
#include "understudy/actors/clock.h"
#include "understudy/actors/log_sink.h"
#include "understudy/actors/trace.h"
#include "understudy/transport/credentials.h"
#include "understudy/transport/tracing/tracing_limits.h"

namespace understudy {

struct OtlpOptions {
  // Where the collector listens (see NodeAddress): a TCP address, whose port is 4317 by custom, or a Unix socket.
  std::string collector = "127.0.0.1:4317";
  // With TLS: the authority that signed the collector's certificate, and the certificate with which this program proves
  // itself. A Unix socket stays plain.
  Credentials credentials;
  // With TLS: the DNS name (SAN) that the collector's certificate must have, as it is written there: "*.example" stands
  // only for itself. If empty, the host of `collector`.
  std::string server_name;
  // Allows a collector beyond loopback without TLS. Anyone on the network can then read the spans.
  bool insecure_plaintext_beyond_loopback = false;
  // What the collector shows as the source of the spans, such as the name of the node: service.name.
  std::string service = "understudy";
  // Further attributes of the source, such as {"service.version", "1.4"}; at most limits::kResourceAttributesMax.
  std::vector<std::pair<std::string, std::string>> attributes;
  size_t waiting_spans_max = limits::kSpansWaitingMax;
  absl::Duration travel_every = limits::kSpansTravelEvery;
  absl::Duration answers_within = limits::kCollectorAnswersWithin;
  Clock* clock = &Clock::Real();      // of the systems
  LogSink* log = &LogSink::Stderr();  // must outlive the exporter
};

class OtlpExporter final : public SpanSink {
 public:
  // InvalidArgument: an option is out of its range, or a file of `credentials` cannot be used. FailedPrecondition: the
  // collector needs TLS. Start does not wait for the collector, which may come later.
  [[nodiscard]] static absl::StatusOr<std::unique_ptr<OtlpExporter>> Start(OtlpOptions options);
  ~OtlpExporter() override;
  OtlpExporter(const OtlpExporter&) = delete;
  OtlpExporter& operator=(const OtlpExporter&) = delete;

  // For systems.
  void Take(const Span& span) override;

  // Blocks this plain thread until the spans that were taken before have reached the collector or are dropped, for at
  // most `within`; returns whether they have.
  bool Flush(absl::Duration within);

  SpanCounts counts() const override;

 private:
  class Parts;
  explicit OtlpExporter(std::unique_ptr<Parts> parts);

  const std::unique_ptr<Parts> parts_;
};

}  // namespace understudy

#endif  // UNDERSTUDY_TRANSPORT_TRACING_OTLP_EXPORTER_H_
