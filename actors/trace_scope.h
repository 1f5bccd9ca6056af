// TraceScope: begins a trace (trace.h) on a plain thread.
//
//   TraceScope trace(system, "checkout");
//   absl::StatusOr<Receipt> receipt = system.Ask(desk[&Desk::buy], basket, absl::Seconds(5));
//
// While the object lives, the messages that this thread sends to actors, and its asks with or without a callback,
// belong to the trace, if head sampling says so. The span ends with the object. Scopes nest: the inner one continues
// the trace of the outer one. Threads: the one that made the object destroys it. CHECKs in an actor's turn, where
// Context::StartTrace does this. Lifetime: the system outlives the object.
#ifndef UNDERSTUDY_ACTORS_TRACE_SCOPE_H_
#define UNDERSTUDY_ACTORS_TRACE_SCOPE_H_

#include "absl/strings/string_view.h"
#include "understudy/actors/trace.h"

namespace understudy {

class ActorSystem;
namespace internal {
class Tracing;
}  // namespace internal

class TraceScope {
 public:
  // `name` is the name of the span, and lives as long as the process.
  TraceScope(ActorSystem& system, absl::string_view name);
  // Continues the trace of a caller outside the system, such as the context of a `traceparent`, if it is sampled and
  // within TracingOptions::foreign_per_second. The trace of an outer scope is not continued.
  TraceScope(ActorSystem& system, absl::string_view name, const TraceContext& caller);
  ~TraceScope();
  TraceScope(const TraceScope&) = delete;
  TraceScope& operator=(const TraceScope&) = delete;

  bool is_sampled() const { return tracing_ != nullptr; }
  // The context to send with a call to another service. Requires is_sampled().
  const TraceContext& context() const { return context_; }

 private:
  void Begin(internal::Tracing& tracing, absl::string_view name, const TraceContext& context);

  const TraceContext* const outer_;
  internal::Tracing* tracing_ = nullptr;  // null if the trace is not sampled
  TraceContext context_;
  Span span_;
};

}  // namespace understudy

#endif  // UNDERSTUDY_ACTORS_TRACE_SCOPE_H_
