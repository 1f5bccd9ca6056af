#include "understudy/actors/trace_scope.h"

#include "absl/strings/string_view.h"
#include "absl/types/optional.h"
#include "understudy/actors/actor_system.h"
#include "understudy/actors/internal/system/tracing.h"
#include "understudy/actors/trace.h"

namespace understudy {

TraceScope::TraceScope(ActorSystem& system, absl::string_view name) : outer_(internal::this_trace) {
  ActorSystem::CheckOutsideOfActors("a TraceScope in an actor's turn; use context().StartTrace");
  internal::Tracing* const tracing = system.tracing();
  if (tracing == nullptr) return;
  if (outer_ != nullptr) {
    Begin(*tracing, name, *outer_);
  } else if (const absl::optional<TraceContext> begun = tracing->Begin(); begun.has_value()) {
    Begin(*tracing, name, {.trace = begun->trace});
  }
}

TraceScope::TraceScope(ActorSystem& system, absl::string_view name, const TraceContext& caller)
    : outer_(internal::this_trace) {
  ActorSystem::CheckOutsideOfActors("a TraceScope in an actor's turn; use context().StartTrace");
  internal::this_trace = nullptr;
  internal::Tracing* const tracing = system.tracing();
  if (tracing != nullptr && caller.is_sampled && tracing->AdmitsForeign()) Begin(*tracing, name, caller);
}

// `context` is the context of the span's parent. Its span id is 0 if the new span is the trace's first.
void TraceScope::Begin(internal::Tracing& tracing, absl::string_view name, const TraceContext& context) {
  tracing_ = &tracing;
  context_ = context;
  context_.span = tracing.NewSpanId();
  span_ = {.trace = context.trace,
           .id = context_.span,
           .parent = context.span,
           .kind = SpanKind::kWork,
           .begin = tracing.Now(),
           .name = name};
  internal::this_trace = &context_;
}

TraceScope::~TraceScope() {
  internal::this_trace = outer_;
  if (tracing_ == nullptr) return;
  span_.end = tracing_->Now();
  tracing_->Take(span_);
}

}  // namespace understudy
