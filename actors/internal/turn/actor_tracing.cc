#include "understudy/actors/internal/turn/actor_tracing.h"

#include <memory>
#include <utility>

#include "absl/status/status.h"
#include "absl/types/optional.h"
#include "understudy/actors/context.h"
#include "understudy/actors/internal/scheduling/worker.h"
#include "understudy/actors/internal/system/tracing.h"
#include "understudy/actors/internal/turn/actor_core.h"

namespace understudy::internal {
namespace {

// Makes `trace` that of the handler that runs.
void SetTrace(Activation& activation, const HandlerTrace& trace) {
  activation.Hold().trace = std::make_unique<HandlerTrace>(trace);
}

// Ends the span of the handler.
void TakeSpan(Activation& activation) {
  HandlerTrace& trace = *activation.held()->trace;
  if (this_trace == &trace.context) LeaveTrace();
  Tracing* const tracing = activation.core().system().tracing();
  if (!trace.has_span || tracing == nullptr) return;
  trace.span.end = tracing->Now();
  trace.span.status = activation.has_failed ? absl::StatusCode::kAborted : activation.status().code();
  tracing->Take(trace.span);
}

}  // namespace

void Activation::DropHeld() {
  if (held_->trace != nullptr) TakeSpan(*this);
  delete held_;
}

bool BeginHandling(ActorCore& core, Activation& activation) {
  Tracing* const tracing = core.system().tracing();
  if (tracing == nullptr) return false;
  const TracePart& part = activation.envelope->trace();
  const MonotonicTime now = tracing->Now();
  Span span{.trace = part.context.trace,
            .id = tracing->NewSpanId(),
            .parent = part.context.span,
            .kind = SpanKind::kWait,
            .is_call = activation.is_call(),
            .begin = part.accepted,
            .end = now,
            .actor = core.self(),
            .mailbox = core.layout()[activation.envelope->mailbox].hash};
  tracing->Take(span);
  span.id = tracing->NewSpanId();
  span.kind = SpanKind::kHandle;
  span.begin = now;
  TraceContext context = part.context;
  context.span = span.id;
  SetTrace(activation, {.context = context, .span = span, .has_span = true});
  return true;
}

void EnterTrace(Activation& activation) {
  this_trace = &activation.held()->trace->context;
  ThisWorker()->SetTraced(true);
}

void LeaveTrace() {
  this_trace = nullptr;
  ThisWorker()->SetTraced(false);
}

bool StartTrace(ActorCore& core, absl::string_view name) {
  Activation* const current = core.current();
  Tracing* const tracing = core.system().tracing();
  if (current == nullptr || tracing == nullptr) return false;
  if (current->held() != nullptr && current->held()->trace != nullptr) return true;
  const absl::optional<TraceContext> begun = tracing->Begin();
  if (!begun.has_value()) return false;
  const Span span{.trace = begun->trace,
                  .id = begun->span,
                  .kind = SpanKind::kWork,
                  .begin = tracing->Now(),
                  .actor = core.self(),
                  .name = name};
  SetTrace(*current, {.context = *begun, .span = span, .has_span = true});
  EnterTrace(*current);
  return true;
}

void EndTrace(ActorCore& core) {
  Activation* const current = core.current();
  if (current == nullptr || current->held() == nullptr || current->held()->trace == nullptr) return;
  TakeSpan(*current);
  current->held()->trace = nullptr;
}

void ContinueTrace(Context& context, const absl::optional<TraceContext>& trace) {
  if (!trace.has_value()) return;
  const KernelCode kernel;
  Activation* const current = context.core().current();
  if (current == nullptr || kernel.is_refused()) return;
  SetTrace(*current, {.context = *trace});
  EnterTrace(*current);
}

absl::Status SendTracedCall(ActorCore& core, const OutboundMessage& call) {
  Tracing* const tracing = core.system().tracing();
  if (tracing == nullptr) return core.system().SendPrepared(call, TransferMode::kMove);
  SendSpan span(*tracing, call.from, call.mailbox);
  OutboundMessage traced = call;
  traced.trace = span.part();
  core.parts().asks().NoteSpan(call.ask, span.OfCall());
  return core.system().SendPrepared(traced, TransferMode::kMove);
}

}  // namespace understudy::internal
