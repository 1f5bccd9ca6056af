// Metrics: tells monitoring what a system and its node do, over HTTP: Prometheus' text format, and the probes of an
// orchestrator.
//
//   absl::StatusOr<std::unique_ptr<Metrics>> metrics =
//       Metrics::Start(system, {.listen = "127.0.0.1:9464", .node = node->get()});
//
//   /metrics  the metrics (README.md has the list)
//   /livez    200 while workers and timers turn; else 503 and a line that says what stands still (health.h)
//   /readyz   200 once the node's tree has started, until the node drains; else 503 and a line that says why
//
// Guarantees: a thread of its own answers, also while every worker is stuck in a handler and while the node drains; a
// second one makes the pages of /metrics, so that probes do not wait for a page that takes long. A scrape costs no
// actor anything on the path of its messages, and its own cost is proportional to the number of actors; scrapes share a
// page for limits::kMetricsPageAgeMax, or for kMetricsPageAgePerCost times what it took to make. No label has a pid,
// and the labels `mailbox` and `peer` have a bounded number of values.
//
// Security: whoever reaches the address can read names of mailboxes and peers, and counts; never contents of messages.
// Beyond loopback TLS is required, but clients need no certificate, because a probe has none. Connections are bounded
// in number, size and time (http_server.h).
//
// Threads: any. Lifetime: this object must be destroyed before the node and before the system. Make it before the
// supervisors, so that their events are counted whatever the system's log is (supervision_watch.h).
#ifndef UNDERSTUDY_TRANSPORT_METRICS_METRICS_H_
#define UNDERSTUDY_TRANSPORT_METRICS_METRICS_H_

#include <memory>
#include <string>
#include <vector>

#include "absl/status/statusor.h"
#include "absl/time/time.h"
#include "understudy/actors/actor_system.h"
#include "understudy/transport/credentials.h"
#include "understudy/transport/node.h"

namespace understudy {

struct MetricsOptions {
  // The TCP address to listen on (see NodeAddress). Port 0 means a free port.
  std::string listen = "127.0.0.1:0";
  // The node of the system, if it has one.
  Node* node = nullptr;
  // With TLS, every connection is TLS. The certificate and its key are used, not the authority. They are read again
  // within some seconds of a change.
  Credentials credentials;
  // Allows an address beyond loopback without TLS. Anyone on the network can then read the metrics, and change them on
  // their way.
  bool insecure_plaintext_beyond_loopback = false;
  // PEM files of certificates whose times of expiry are reported, such as the node's. The certificate of `credentials`
  // is reported in any case.
  std::vector<std::string> certificate_files;
  // The version of the program, for understudy_build_info.
  std::string version;
  // How long all workers must stand still until /livez says so.
  absl::Duration stuck_after = absl::Seconds(10);
};

class Metrics {
 public:
  // InvalidArgument: `listen` is malformed or a Unix socket, `stuck_after` is not positive, or a file of `credentials`
  // cannot be used. FailedPrecondition: `listen` needs TLS. AlreadyExists, Unavailable: the address cannot be listened
  // on.
  [[nodiscard]] static absl::StatusOr<std::unique_ptr<Metrics>> Start(ActorSystem& system, MetricsOptions options = {});

  // Ends all connections.
  ~Metrics();
  Metrics(const Metrics&) = delete;
  Metrics& operator=(const Metrics&) = delete;

  // The address with the actual port.
  const std::string& address() const;

 private:
  class Parts;
  explicit Metrics(std::unique_ptr<Parts> parts);

  const std::unique_ptr<Parts> parts_;
};

}  // namespace understudy

#endif  // UNDERSTUDY_TRANSPORT_METRICS_METRICS_H_
