// Spans as OTLP has them (proto/otlp). Functions without state; any thread.
#ifndef UNDERSTUDY_TRANSPORT_TRACING_OTLP_SPANS_H_
#define UNDERSTUDY_TRANSPORT_TRACING_OTLP_SPANS_H_

#include <string>
#include <utility>
#include <vector>

#include "absl/time/time.h"
#include "understudy/actors/trace.h"
#include "understudy/proto/otlp/resource.pb.h"
#include "understudy/proto/otlp/trace.pb.h"

namespace understudy::internal {

// Converts a span. `epoch` is the wall time at which the monotonic clock was 0. The name is what happens and the wire
// name of the mailbox, "handle shop.Orders/Place", or, of StartTrace and TraceScope, the name that they were given.
opentelemetry::proto::trace::v1::Span ToOtlp(const Span& span, absl::Time epoch);

// `service` is the attribute service.name.
opentelemetry::proto::resource::v1::Resource ToResource(
    const std::string& service, const std::vector<std::pair<std::string, std::string>>& attributes);

}  // namespace understudy::internal

#endif  // UNDERSTUDY_TRANSPORT_TRACING_OTLP_SPANS_H_
