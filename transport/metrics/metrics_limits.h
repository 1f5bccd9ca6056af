// Bounds of the metrics and of their connections.
#ifndef UNDERSTUDY_TRANSPORT_METRICS_METRICS_LIMITS_H_
#define UNDERSTUDY_TRANSPORT_METRICS_METRICS_LIMITS_H_

#include <cstddef>

#include "absl/time/time.h"

namespace understudy::limits {

// Connections at once: two Prometheus servers, the probes of a kubelet, and some people. Further ones take the places
// of those that have not sent a request, or wait in the kernel's queue until one of these ends.
inline constexpr unsigned kMetricsConnectionsMax = 32;
// Scrapes that wait while a page is made; further ones are refused, so that there are places left for the probes.
inline constexpr size_t kMetricsScrapesMax = 16;
// A connection is one request, and ends after this time, however slowly its client sends or reads: some seconds less
// than Prometheus' default for a scrape.
inline constexpr absl::Duration kMetricsConnectionWithin = absl::Seconds(5);
// How long a scrape waits for its page. A little less than the time of its connection, so that its client is told.
inline constexpr absl::Duration kMetricsPageWithin = absl::Seconds(4);
// The memory of one connection; the line and the headers of a request must fit into half of it. The answer is not
// counted.
inline constexpr size_t kMetricsConnectionBytesMax = size_t{16} << 10;
// A page that was made for a scrape answers all scrapes of this time, so that the cost of scraping is bounded; and if
// this is longer, of the second number times the time that the page took.
inline constexpr absl::Duration kMetricsPageAgeMax = absl::Milliseconds(500);
inline constexpr int kMetricsPageAgePerCost = 20;
// Values of the label `mailbox`, and of `peer`, at once: some ten lines of the page each. All other mailboxes, or
// peers, share the value "other".
inline constexpr size_t kMetricsMailboxesMax = 100;
inline constexpr size_t kMetricsPeersMax = 100;
// Classes with a mailbox that have a histogram of their own: fifteen lines of the page each.
inline constexpr size_t kMetricsHandlerKindsMax = 50;
// A longer text becomes "other".
inline constexpr size_t kMetricsLabelBytesMax = 200;

}  // namespace understudy::limits

#endif  // UNDERSTUDY_TRANSPORT_METRICS_METRICS_LIMITS_H_
