#include "understudy/actors/message_trace.h"

#include <memory>
#include <utility>

#include "absl/status/status.h"
#include "absl/status/statusor.h"
#include "absl/strings/str_cat.h"
#include "absl/time/time.h"
#include "understudy/actors/internal/send/actor_cell.h"
#include "understudy/actors/internal/system/system_core.h"
#include "understudy/actors/limits.h"

namespace understudy {
namespace {

absl::Status Check(const TraceOptions& options) {
  if (options.messages_max < 1 || options.messages_max > limits::kTracedMessagesMax) {
    return absl::InvalidArgumentError(
        absl::StrCat("cannot trace ", options.messages_max, " messages: expected 1 to ", limits::kTracedMessagesMax));
  }
  if (options.time_max <= absl::ZeroDuration() || options.time_max > limits::kTraceTimeMax) {
    return absl::InvalidArgumentError(absl::StrCat("cannot trace for ", absl::FormatDuration(options.time_max),
                                                   ": expected more than 0 and at most ",
                                                   absl::FormatDuration(limits::kTraceTimeMax)));
  }
  if (options.every < 1) {
    return absl::InvalidArgumentError(
        absl::StrCat("cannot note one of ", options.every, " messages: expected at least 1"));
  }
  return absl::OkStatus();
}

}  // namespace

absl::StatusOr<std::unique_ptr<MessageTrace>> MessageTrace::Start(ActorSystem& system, Pid actor,
                                                                  const TraceOptions& options) {
  if (absl::Status checked = Check(options); !checked.ok()) return checked;
  internal::ActorCell* const cell = system.core().CellOf(actor);
  if (cell == nullptr || !cell->IsAlive(actor.life())) {
    return absl::NotFoundError(absl::StrCat(actor.ToString(), " has ended, or is not an actor of ", system.name()));
  }
  auto state = std::make_shared<internal::MessageTraceState>(options, system.clock().Now() + options.time_max);
  if (absl::Status added = system.core().message_traces().Add(actor.life(), state); !added.ok()) {
    return absl::Status(added.code(), absl::StrCat("cannot trace ", actor.ToString(), ": ", added.message()));
  }
  std::unique_ptr<MessageTrace> trace(new MessageTrace(system, actor, std::move(state)));
  trace->TellActor();
  return trace;
}

MessageTrace::~MessageTrace() {
  state_->End();
  system_.core().message_traces().Remove(actor_.life());
  TellActor();
}

bool MessageTrace::IsOver() const {
  const internal::ActorCell* const cell = system_.core().CellOf(actor_);
  return state_->IsOver(system_.clock().Now()) || !cell->IsAlive(actor_.life());
}

void MessageTrace::TellActor() {
  internal::SystemCore& core = system_.core();
  internal::PostOrDrop(*core.CellOf(actor_), core, actor_.life(),
                       internal::Envelope::Make(internal::EnvelopeKind::kTrace));
}

}  // namespace understudy
