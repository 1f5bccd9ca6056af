// CallTrace: the span of a client's call, and the trace that the call belongs to.
//
// A client's `traceparent` (W3C Trace Context) is continued if it is sampled, within
// TracingOptions::foreign_per_second; a call without one is sampled as TracingOptions says. One call has one CallTrace.
// Threads: Begin and Scope on the thread that begins the call, then End on any thread, once.
#ifndef UNDERSTUDY_TRANSPORT_GATEWAY_CALL_TRACE_H_
#define UNDERSTUDY_TRANSPORT_GATEWAY_CALL_TRACE_H_

#include <grpcpp/server_context.h>

#include <memory>

#include "absl/status/status.h"
#include "absl/strings/string_view.h"
#include "understudy/actors/trace.h"
#include "understudy/transport/gateway/service_host.h"

namespace understudy::internal {

class Tracing;

class CallTrace {
 public:
  // Null if the call belongs to no trace. `service` and `rpc` name the rpc that is
  // called.
  static std::unique_ptr<CallTrace> Begin(const ServiceHost& host, const grpc::ServerContextBase& context,
                                          absl::string_view service, absl::string_view rpc);

  // While it lives, what this thread sends and asks belongs to the trace. `trace` may be null.
  class Scope {
   public:
    explicit Scope(const CallTrace* trace) : outer_(this_trace) {
      this_trace = trace == nullptr ? nullptr : &trace->context_;
    }
    ~Scope() { this_trace = outer_; }
    Scope(const Scope&) = delete;
    Scope& operator=(const Scope&) = delete;

   private:
    const TraceContext* const outer_;
  };

  // The call ends with that code.
  void End(absl::StatusCode code);

 private:
  CallTrace(Tracing& tracing, const TraceContext& context, const Span& span)
      : tracing_(tracing), context_(context), span_(span) {}

  Tracing& tracing_;
  const TraceContext context_;  // its span is the call's
  Span span_;
};

}  // namespace understudy::internal

#endif  // UNDERSTUDY_TRANSPORT_GATEWAY_CALL_TRACE_H_
