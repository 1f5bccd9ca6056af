#include "understudy/transport/tracing/otlp_exporter.h"

#include <grpcpp/channel.h>
#include <grpcpp/client_context.h>
#include <grpcpp/create_channel.h>
#include <grpcpp/security/credentials.h>
#include <grpcpp/support/channel_arguments.h>

#include <algorithm>
#include <atomic>
#include <cstddef>
#include <cstdint>
#include <memory>
#include <string>
#include <thread>
#include <utility>
#include <vector>

#include "absl/base/thread_annotations.h"
#include "absl/status/status.h"
#include "absl/status/statusor.h"
#include "absl/strings/str_cat.h"
#include "absl/synchronization/mutex.h"
#include "absl/time/time.h"
#include "understudy/proto/otlp/otlp.grpc.pb.h"
#include "understudy/proto/otlp/otlp.pb.h"
#include "understudy/transport/grpc/grpc_credentials.h"
#include "understudy/transport/grpc/grpc_time.h"
#include "understudy/transport/sockets/thread.h"
#include "understudy/transport/tracing/otlp_spans.h"
#include "understudy/transport/tracing/span_queue.h"

namespace understudy {
namespace {

namespace otlp = opentelemetry::proto::collector::trace::v1;

// Between two attempts to connect, so that a collector that is back soon has spans.
constexpr int kReconnectsWithinMillis = 2000;
// What a collector far away may take for a TLS handshake. gRPC 1.51 ends an attempt after this time.
constexpr int kConnectsWithinMillis = 5000;

absl::StatusOr<NodeAddress> CheckedAddress(const OtlpOptions& options) {
  const absl::StatusOr<NodeAddress> address = NodeAddress::Parse(options.collector);
  if (!address.ok()) {
    return absl::InvalidArgumentError(
        absl::StrCat("OtlpOptions::collector is '", options.collector,
                     "': expected an address such as 127.0.0.1:4317 or unix:/run/collector.sock"));
  }
  if (address->reach == NodeAddress::Reach::kNetwork && !options.credentials.tls.has_value() &&
      !options.insecure_plaintext_beyond_loopback) {
    return absl::FailedPreconditionError(absl::StrCat(
        "spans would go without TLS to ", options.collector,
        ", which is another machine: expected an address of loopback, OtlpOptions::credentials with TLS, or "
        "OtlpOptions::insecure_plaintext_beyond_loopback"));
  }
  if (options.travel_every <= absl::ZeroDuration() || options.answers_within <= absl::ZeroDuration()) {
    return absl::InvalidArgumentError(
        absl::StrCat("OtlpOptions::travel_every is ", absl::FormatDuration(options.travel_every), ", answers_within ",
                     absl::FormatDuration(options.answers_within), ": expected positive times, such as 1s"));
  }
  if (options.waiting_spans_max == 0 || options.waiting_spans_max > limits::kSpansWaitingMax) {
    return absl::InvalidArgumentError(absl::StrCat("OtlpOptions::waiting_spans_max is ", options.waiting_spans_max,
                                                   ": expected 1 to ", limits::kSpansWaitingMax));
  }
  if (options.attributes.size() > limits::kResourceAttributesMax) {
    return absl::InvalidArgumentError(absl::StrCat("OtlpOptions::attributes has ", options.attributes.size(),
                                                   " entries: expected at most ", limits::kResourceAttributesMax));
  }
  return *address;
}

std::shared_ptr<grpc::Channel> ChannelTo(const NodeAddress& address, const OtlpOptions& options) {
  grpc::ChannelArguments arguments;
  std::shared_ptr<grpc::ChannelCredentials> credentials = grpc::InsecureChannelCredentials();
  if (options.credentials.tls.has_value() && address.reach != NodeAddress::Reach::kUnixSocket) {
    const std::string& name = options.server_name.empty() ? address.host : options.server_name;
    credentials = internal::TlsCertificates(*options.credentials.tls).ForDial(name);
    arguments.SetSslTargetNameOverride(name);  // what TLS asks the collector for (SNI)
  }
  arguments.SetInt(GRPC_ARG_INITIAL_RECONNECT_BACKOFF_MS, kReconnectsWithinMillis / 4);
  arguments.SetInt(GRPC_ARG_MIN_RECONNECT_BACKOFF_MS, kConnectsWithinMillis);
  arguments.SetInt(GRPC_ARG_MAX_RECONNECT_BACKOFF_MS, kReconnectsWithinMillis);
  arguments.SetInt(GRPC_ARG_ENABLE_HTTP_PROXY, 0);
  return grpc::CreateCustomChannel(address.ToGrpcTarget(), credentials, arguments);
}

}  // namespace

class OtlpExporter::Parts {
 public:
  Parts(OtlpOptions options, const NodeAddress& address)
      : options_(std::move(options)),
        queue_(options_.waiting_spans_max),
        resource_(internal::ToResource(options_.service, options_.attributes)),
        stub_(otlp::TraceService::NewStub(ChannelTo(address, options_))),
        thread_(internal::StartThread([this] { Run(); })) {}

  ~Parts() {
    (void)Flush(limits::kLastSpansWithin);
    {
      absl::MutexLock lock(&mu_);
      is_stopping_ = true;
      if (call_ != nullptr) call_->TryCancel();
    }
    thread_.join();
  }

  void Take(const Span& span) {
    if (!queue_.Add(span)) return;
    absl::MutexLock lock(&mu_);
    is_half_full_ = true;
  }

  bool Flush(absl::Duration within) {
    absl::MutexLock lock(&mu_);
    const uint64_t mine = ++flushes_asked_;
    const auto is_done = [this, mine] {
      mu_.AssertReaderHeld();
      return flushes_done_ >= mine;
    };
    return mu_.AwaitWithTimeout(absl::Condition(&is_done), within);
  }

  SpanCounts counts() const {
    return {.exported = exported_.load(std::memory_order_relaxed),
            .dropped_full = queue_.dropped(),
            .dropped_sent = dropped_sent_.load(std::memory_order_relaxed)};
  }

 private:
  // All functions below run on thread_.

  void Run() {
    while (true) {
      uint64_t flushes = 0;
      {
        absl::MutexLock lock(&mu_);
        const auto has_work = [this] {
          mu_.AssertReaderHeld();
          return is_stopping_ || is_half_full_ || flushes_asked_ != flushes_done_;
        };
        (void)mu_.AwaitWithTimeout(absl::Condition(&has_work), options_.travel_every);
        if (is_stopping_) return;
        is_half_full_ = false;
        flushes = flushes_asked_;
      }
      spans_.clear();
      queue_.TakeAll(spans_);
      for (size_t from = 0; from < spans_.size(); from += limits::kSpansPerRequestMax) {
        Send(from, std::min(spans_.size(), from + limits::kSpansPerRequestMax));
      }
      absl::MutexLock lock(&mu_);
      flushes_done_ = flushes;
    }
  }

  // Sends the spans [from, to).
  void Send(size_t from, size_t to) {
    const absl::Time epoch = options_.clock->WallNow() - absl::Nanoseconds(options_.clock->Now().nanos());
    otlp::ExportTraceServiceRequest request;
    auto& source = *request.add_resource_spans();
    *source.mutable_resource() = resource_;
    auto& scope = *source.add_scope_spans();
    scope.mutable_scope()->set_name("understudy");
    for (size_t i = from; i < to; ++i) *scope.add_spans() = internal::ToOtlp(spans_[i], epoch);

    grpc::ClientContext context;
    context.set_deadline(internal::GrpcDeadlineIn(options_.answers_within));
    {
      absl::MutexLock lock(&mu_);
      if (is_stopping_) context.TryCancel();
      call_ = &context;
    }
    otlp::ExportTraceServiceResponse response;
    const grpc::Status sent = stub_->Export(&context, request, &response);
    {
      absl::MutexLock lock(&mu_);
      call_ = nullptr;
    }
    const auto spans = static_cast<int64_t>(to - from);
    const int64_t rejected =
        sent.ok() ? std::clamp<int64_t>(response.partial_success().rejected_spans(), 0, spans) : spans;
    exported_.fetch_add(spans - rejected, std::memory_order_relaxed);
    dropped_sent_.fetch_add(rejected, std::memory_order_relaxed);
    NoteLoss(sent.ok() ? response.partial_success().error_message() : sent.error_message());
  }

  // Writes a line to the log if spans were lost since the last line, but at most one in limits::kSpansLostLinePause.
  // `why` is the last error text of the collector or gRPC.
  void NoteLoss(const std::string& why) {
    const SpanCounts now = counts();
    const MonotonicTime time = options_.clock->Now();
    const int64_t lost = now.dropped_full + now.dropped_sent;
    if (lost == lost_told_ || (lost_told_ != 0 && time - told_at_ < limits::kSpansLostLinePause)) return;
    lost_told_ = lost;
    told_at_ = time;
    options_.log->Write(LogSeverity::kWarning,
                        absl::StrCat("of the spans for the collector at ", options_.collector, ", ", now.dropped_full,
                                     " found the queue full and ", now.dropped_sent, " were not taken, ", now.exported,
                                     " were: ", why.empty() ? "see the collector's log" : why));
  }

  const OtlpOptions options_;
  internal::SpanQueue queue_;
  const opentelemetry::proto::resource::v1::Resource resource_;
  const std::unique_ptr<otlp::TraceService::Stub> stub_;
  // relaxed, both: counters that publish nothing.
  std::atomic<int64_t> exported_{0};
  std::atomic<int64_t> dropped_sent_{0};
  // Used by thread_ only.
  std::vector<Span> spans_;
  int64_t lost_told_ = 0;
  MonotonicTime told_at_;

  absl::Mutex mu_;
  bool is_stopping_ ABSL_GUARDED_BY(mu_) = false;
  bool is_half_full_ ABSL_GUARDED_BY(mu_) = false;
  uint64_t flushes_asked_ ABSL_GUARDED_BY(mu_) = 0;
  uint64_t flushes_done_ ABSL_GUARDED_BY(mu_) = 0;
  grpc::ClientContext* call_ ABSL_GUARDED_BY(mu_) = nullptr;  // the request under way, or null
  std::thread thread_;                                        // the last member, so that it finds the others made
};

OtlpExporter::OtlpExporter(std::unique_ptr<Parts> parts) : parts_(std::move(parts)) {}

OtlpExporter::~OtlpExporter() = default;

absl::StatusOr<std::unique_ptr<OtlpExporter>> OtlpExporter::Start(OtlpOptions options) {
  const absl::StatusOr<NodeAddress> address = CheckedAddress(options);
  if (!address.ok()) return address.status();
  if (absl::Status files = options.credentials.Check(); !files.ok()) return files;
  return std::unique_ptr<OtlpExporter>(new OtlpExporter(std::make_unique<Parts>(std::move(options), *address)));
}

void OtlpExporter::Take(const Span& span) { parts_->Take(span); }

bool OtlpExporter::Flush(absl::Duration within) { return parts_->Flush(within); }

SpanCounts OtlpExporter::counts() const { return parts_->counts(); }

}  // namespace understudy
