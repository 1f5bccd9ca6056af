// Bounds of the exporter of spans.
#ifndef UNDERSTUDY_TRANSPORT_TRACING_TRACING_LIMITS_H_
#define UNDERSTUDY_TRANSPORT_TRACING_TRACING_LIMITS_H_

#include <cstddef>

#include "absl/time/time.h"

namespace understudy::limits {

// Spans that wait for the exporter. They take about 1 MiB, and are enough for a node with some hundred traced messages
// a second while its collector is restarted.
inline constexpr size_t kSpansWaitingMax = 8192;
// Parts of that queue, each with a lock, so that workers that end spans at the same time rarely meet.
inline constexpr size_t kSpanQueueShards = 8;
// Spans of one request: some 150 KiB, far below the 4 MiB that a gRPC server takes.
inline constexpr size_t kSpansPerRequestMax = 512;
// Bytes of a span's name and of the text of an attribute.
inline constexpr size_t kSpanTextBytesMax = 256;
// Attributes of the resource.
inline constexpr size_t kResourceAttributesMax = 64;
// How long a span waits for others to travel with it.
inline constexpr absl::Duration kSpansTravelEvery = absl::Seconds(1);
// How long the collector has to answer a request.
inline constexpr absl::Duration kCollectorAnswersWithin = absl::Seconds(10);
// How long the exporter's destructor waits for its collector.
inline constexpr absl::Duration kLastSpansWithin = absl::Seconds(2);
// Between two log lines that say that spans are lost.
inline constexpr absl::Duration kSpansLostLinePause = absl::Minutes(1);

}  // namespace understudy::limits

#endif  // UNDERSTUDY_TRANSPORT_TRACING_TRACING_LIMITS_H_
