#include "understudy/transport/gateway/call_trace.h"

#include <grpcpp/server_context.h>

#include <iterator>
#include <memory>

#include "absl/status/status.h"
#include "absl/strings/str_cat.h"
#include "absl/strings/string_view.h"
#include "absl/types/optional.h"
#include "understudy/actors/actor_system.h"
#include "understudy/actors/internal/system/tracing.h"
#include "understudy/actors/message.h"

namespace understudy::internal {
namespace {

constexpr char kTraceParent[] = "traceparent";

// The context that the client says. None if it says several, because the header may come once.
absl::optional<TraceContext> ContextOf(const grpc::ServerContextBase& context) {
  const auto [begin, end] = context.client_metadata().equal_range(kTraceParent);
  if (begin == end || std::next(begin) != end) return absl::nullopt;
  return TraceContext::FromTraceParent(absl::string_view(begin->second.data(), begin->second.size()));
}

}  // namespace

std::unique_ptr<CallTrace> CallTrace::Begin(const ServiceHost& host, const grpc::ServerContextBase& context,
                                            absl::string_view service, absl::string_view rpc) {
  Tracing* const tracing = host.system->tracing();
  if (tracing == nullptr) return nullptr;
  TraceContext own;
  Span span{.kind = SpanKind::kServe, .is_call = true};
  if (const absl::optional<TraceContext> clients = ContextOf(context); clients.has_value()) {
    if (!clients->is_sampled || !tracing->AdmitsForeign()) return nullptr;
    own = *clients;
    own.span = tracing->NewSpanId();
    span.parent = clients->span;
  } else if (const absl::optional<TraceContext> begun = tracing->Begin(); begun.has_value()) {
    own = *begun;
  } else {
    return nullptr;
  }
  span.trace = own.trace;
  span.id = own.span;
  span.begin = tracing->Now();
  span.mailbox = MailboxNames::Meant(absl::StrCat(service, "/", rpc));
  return std::unique_ptr<CallTrace>(new CallTrace(*tracing, own, span));
}

void CallTrace::End(absl::StatusCode code) {
  span_.status = code;
  span_.end = tracing_.Now();
  tracing_.Take(span_);
}

}  // namespace understudy::internal
