#include "understudy/transport/metrics/metrics.h"

#include <functional>
#include <map>
#include <memory>
#include <string>
#include <utility>
#include <vector>

#include "absl/status/status.h"
#include "absl/status/statusor.h"
#include "absl/strings/str_cat.h"
#include "absl/time/time.h"
#include "understudy/transport/http/http_message.h"
#include "understudy/transport/http/http_server.h"
#include "understudy/transport/metrics/exposition.h"
#include "understudy/transport/metrics/health.h"
#include "understudy/transport/metrics/metrics_limits.h"
#include "understudy/transport/metrics/page_thread.h"
#include "understudy/transport/metrics/process_metrics.h"
#include "understudy/transport/metrics/system_metrics.h"

namespace understudy {
namespace {

using internal::HttpAnswer;
using internal::HttpReplier;
using internal::HttpRequest;

absl::StatusOr<NodeAddress> CheckedAddress(const MetricsOptions& options) {
  absl::StatusOr<NodeAddress> address = NodeAddress::Parse(options.listen);
  if (!address.ok() || address->reach == NodeAddress::Reach::kUnixSocket) {
    return absl::InvalidArgumentError(absl::StrCat("MetricsOptions::listen is '", options.listen,
                                                   "': expected a TCP address, such as 127.0.0.1:9464 or [::1]:9464"));
  }
  if (address->reach == NodeAddress::Reach::kNetwork && !options.credentials.tls.has_value() &&
      !options.insecure_plaintext_beyond_loopback) {
    return absl::FailedPreconditionError(absl::StrCat(
        "the metrics would be served without TLS at ", options.listen,
        ", which other machines can reach: expected an address of loopback, MetricsOptions::credentials with TLS, or "
        "MetricsOptions::insecure_plaintext_beyond_loopback"));
  }
  return address;
}

std::vector<std::string> CertificateFiles(const MetricsOptions& options) {
  std::vector<std::string> files = options.certificate_files;
  if (options.credentials.tls.has_value()) files.push_back(options.credentials.tls->certificate_file);
  return files;
}

HttpAnswer ToAnswer(const absl::Status& status) {
  if (status.ok()) return {.body = "ok\n"};
  return {.status = 503, .body = absl::StrCat(status.message(), "\n")};
}

}  // namespace

class Metrics::Parts {
 public:
  Parts(ActorSystem& system, const MetricsOptions& options)
      : system_metrics_(system, options.node),
        process_metrics_(options.version, CertificateFiles(options)),
        health_(system, options.node, options.stuck_after) {}

  absl::Status Serve(const NodeAddress& address, const Credentials& credentials) {
    absl::StatusOr<std::unique_ptr<internal::HttpServer>> server = internal::HttpServer::Start(
        address, credentials,
        {.connections_max = limits::kMetricsConnectionsMax,
         .connection_within = limits::kMetricsConnectionWithin,
         .connection_bytes_max = limits::kMetricsConnectionBytesMax,
         .answer_within = limits::kMetricsPageWithin},
        [this](const HttpRequest& request, const HttpReplier& replier) { Answer(request, replier); });
    if (!server.ok()) return server.status();
    server_ = *std::move(server);
    return absl::OkStatus();
  }
  const std::string& address() const { return server_->address(); }

 private:
  // Runs on the server's thread.
  void Answer(const HttpRequest& request, const HttpReplier& replier) {
    const auto page = pages_.find(request.path);
    if (page == pages_.end()) return replier.Answer({.status = 404, .body = "not found\n"});
    if (request.method != "GET" && request.method != "HEAD") {
      return replier.Answer({.status = 405, .body = "expected GET or HEAD\n", .headers = {{"Allow", "GET, HEAD"}}});
    }
    page->second(replier);
  }
  // Runs on the thread of page_thread_.
  std::string Page() {
    internal::Exposition exposition;
    system_metrics_.Write(exposition, health_.Ready().ok());
    process_metrics_.Write(exposition);
    return exposition.text();
  }

  const std::map<std::string, std::function<void(const HttpReplier&)>> pages_ = {
      {"/metrics", [this](const HttpReplier& replier) { page_thread_.Answer(replier); }},
      {"/livez", [this](const HttpReplier& replier) { replier.Answer(ToAnswer(health_.Live())); }},
      {"/readyz", [this](const HttpReplier& replier) { replier.Answer(ToAnswer(health_.Ready())); }},
  };
  internal::SystemMetrics system_metrics_;
  internal::ProcessMetrics process_metrics_;
  internal::Health health_;
  internal::PageThread page_thread_{[this] { return Page(); }};
  std::unique_ptr<internal::HttpServer> server_;  // the last member, so that its thread ends first
};

Metrics::Metrics(std::unique_ptr<Parts> parts) : parts_(std::move(parts)) {}

Metrics::~Metrics() = default;

const std::string& Metrics::address() const { return parts_->address(); }

absl::StatusOr<std::unique_ptr<Metrics>> Metrics::Start(ActorSystem& system, MetricsOptions options) {
  const absl::StatusOr<NodeAddress> address = CheckedAddress(options);
  if (!address.ok()) return address.status();
  if (options.stuck_after <= absl::ZeroDuration()) {
    return absl::InvalidArgumentError(absl::StrCat("MetricsOptions::stuck_after is ",
                                                   absl::FormatDuration(options.stuck_after),
                                                   ": expected a positive time, such as 10s"));
  }
  auto parts = std::make_unique<Parts>(system, options);
  if (absl::Status served = parts->Serve(*address, options.credentials); !served.ok()) return served;
  return std::unique_ptr<Metrics>(new Metrics(std::move(parts)));
}

}  // namespace understudy
