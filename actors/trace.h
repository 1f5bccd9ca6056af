// Traces: which messages one piece of work causes, across actors and nodes, with times (W3C Trace Context, OTLP).
//
// A trace is a tree of spans. It begins where the program says so: in a handler by Context::StartTrace, on a plain
// thread by a TraceScope (trace_scope.h), for gRPC clients in the gateway. Head sampling decides there whether spans
// are made (TracingOptions::sampled_ratio). From then on the context travels by itself:
// - What a handler sends, asks and forwards belongs to the trace of the message that it handles, also after co_await.
// - A message carries its context at the end of its block, and between nodes in a field of its envelope.
// - Timers, events, spawned actors, replies and items of streams carry none. A reply continues the handler that asked.
// A trace that goes on without end, such as that of two actors that always answer each other, stops being carried after
// limits::kTraceHopsMax messages one after another. Context::EndTrace stops it earlier.
//
//   auto exporter = OtlpExporter::Start({.collector = "127.0.0.1:4317"});   // transport/tracing/otlp_exporter.h
//   ActorSystem system({.tracing = {.spans = exporter->get(), .sampled_ratio = 0.01}});
//
// Spans: each message that is sent has one for its sending (a call's lasts until its answer); where it is handled, one
// for the time in its mailbox, and one for its handler, awaits included. These are children of the first.
// Bounds: a sampled flag of a peer or of a gRPC client counts only within TracingOptions::foreign_per_second.
// Costs: a system without TracingOptions::spans carries no context. A message without a trace is no byte longer, here
// and between nodes, and a tell of it executes no instruction more.
// Threads: all of this is values, except SpanSink, which any thread calls.
#ifndef UNDERSTUDY_ACTORS_TRACE_H_
#define UNDERSTUDY_ACTORS_TRACE_H_

#include <cstdint>
#include <string>

#include "absl/status/status.h"
#include "absl/strings/string_view.h"
#include "absl/types/optional.h"
#include "understudy/actors/clock.h"
#include "understudy/actors/pid.h"

namespace understudy {

struct TraceId {
  uint64_t high = 0;
  uint64_t low = 0;

  // False for the id that means "none".
  bool is_valid() const { return (high | low) != 0; }
  // 32 hexadecimal digits, as collectors and `traceparent` have it.
  std::string ToString() const;
  friend bool operator==(const TraceId&, const TraceId&) = default;
};

// A place in a trace: the span that is the parent of the next ones.
struct TraceContext {
  TraceId trace;
  uint64_t span = 0;
  uint8_t hops = 0;  // messages on the way here
  // Whether spans are made. False only in a context from a client (FromTraceParent): actors carry sampled contexts.
  bool is_sampled = true;

  friend bool operator==(const TraceContext&, const TraceContext&) = default;

  // Reads the header `traceparent` of W3C Trace Context, level 1, of any version. Returns nothing if it is malformed or
  // has an id of zeros. Text from outside may be given.
  static absl::optional<TraceContext> FromTraceParent(absl::string_view text);
  // Writes the header, in version 00, for a call to another service.
  std::string ToTraceParent() const;
};

// The context of the code that runs on this thread: of a handler, or of a plain thread with a TraceScope. For a client
// of another service, which sends CurrentTrace()->ToTraceParent() as `traceparent`. Nothing if it belongs to no trace.
absl::optional<TraceContext> CurrentTrace();

enum class SpanKind : uint8_t {
  kSend,    // a tell, until it was accepted or refused
  kCall,    // a call, until its answer came to its asker
  kWait,    // a message in its mailbox
  kHandle,  // a handler, awaits included
  kWork,    // what StartTrace or TraceScope began
  kServe    // the call of a gRPC client, in the gateway
};

// A span that has ended. A few words, so that a SpanSink can copy it.
struct Span {
  TraceId trace;
  uint64_t id = 0;
  uint64_t parent = 0;  // the id of the span that caused this one; 0 if this is the first of its trace
  SpanKind kind = SpanKind::kSend;
  bool is_call = false;  // the message is a call
  absl::StatusCode status = absl::StatusCode::kOk;
  MonotonicTime begin;
  MonotonicTime end;
  Pid actor;               // that sends, or handles; null for a plain thread
  uint32_t mailbox = 0;    // hash of the wire name (internal::MailboxNames); 0 for kWork
  absl::string_view name;  // of kWork and kServe; lives as long as the process
};

// How many of the spans that a SpanSink took were exported, and how many were dropped.
struct SpanCounts {
  int64_t exported = 0;      // a collector took them
  int64_t dropped_full = 0;  // too many waited
  int64_t dropped_sent = 0;  // the collector did not take them, or not in time
};

// Takes spans as they end. Any thread calls Take, in the kernel, also at the same time. It must return at once, and
// keeps the span or counts it as lost.
class SpanSink {
 public:
  virtual ~SpanSink() = default;
  virtual void Take(const Span& span) = 0;
  // Any thread. A sink that does not export has nothing to count.
  virtual SpanCounts counts() const { return {}; }
};

struct TracingOptions {
  SpanSink* spans = nullptr;  // must outlive the system; null: no traces
  // The part of the traces that begin here which are sampled, 0 to 1.
  double sampled_ratio = 0.01;
  // The messages in one second whose sampled flag, set by another node or a gRPC client, counts: a peer must not decide
  // how much this node traces. Those beyond belong to no trace here. 0: none counts.
  int64_t foreign_per_second = 1000;
};

namespace internal {

// The part of a message that belongs to a trace.
struct TracePart {
  TraceContext context;
  MonotonicTime accepted;  // when it was sent, or came from another node
};

// The context of this thread's code; null if it belongs to no trace. An access is one load, as for this_worker.
inline constinit thread_local const TraceContext* this_trace __attribute__((tls_model("initial-exec"))) = nullptr;

// The context of a message that is sent now, without a span of its own. Nothing if there is no trace, or its hops are
// used up.
absl::optional<TraceContext> TraceOfNextMessage();

}  // namespace internal
}  // namespace understudy

#endif  // UNDERSTUDY_ACTORS_TRACE_H_
