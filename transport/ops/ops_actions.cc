#include "understudy/transport/ops/ops_actions.h"

#include <memory>
#include <string>
#include <utility>
#include <vector>

#include "absl/base/thread_annotations.h"
#include "absl/status/status.h"
#include "absl/status/statusor.h"
#include "absl/strings/str_cat.h"
#include "absl/strings/string_view.h"
#include "absl/synchronization/mutex.h"
#include "absl/time/time.h"
#include "absl/types/optional.h"
#include "understudy/actors/clock.h"
#include "understudy/actors/inspection.h"
#include "understudy/actors/limits.h"
#include "understudy/actors/log_sink.h"
#include "understudy/actors/message_trace.h"
#include "understudy/actors/pid.h"
#include "understudy/actors/printable_text.h"
#include "understudy/supervision/supervisor.h"
#include "understudy/supervision/supervisor_looks.h"
#include "understudy/transport/grants.h"
#include "understudy/transport/ops/ops_caller.h"
#include "understudy/transport/ops/ops_limits.h"
#include "understudy/transport/ops/ops_reads.h"

namespace understudy::internal {
namespace {

absl::optional<OpsAction> ActionOf(proto::Action action) {
  switch (action) {
    case proto::STOP:
      return OpsAction::kStop;
    case proto::KILL:
      return OpsAction::kKill;
    case proto::RESTART:
      return OpsAction::kRestart;
    case proto::DRAIN:
      return OpsAction::kDrain;
    case proto::LOG_LEVEL:
      return OpsAction::kLogLevel;
    case proto::SUSPEND:
    case proto::RESUME:
      return OpsAction::kSuspend;
    default:
      return absl::nullopt;
  }
}

proto::Action ActionValue(OpsAction action) {
  switch (action) {
    case OpsAction::kStop:
      return proto::STOP;
    case OpsAction::kKill:
      return proto::KILL;
    case OpsAction::kRestart:
      return proto::RESTART;
    case OpsAction::kDrain:
      return proto::DRAIN;
    case OpsAction::kLogLevel:
      return proto::LOG_LEVEL;
    case OpsAction::kSuspend:
      return proto::SUSPEND;
    case OpsAction::kTrace:
      return proto::TRACE;
    case OpsAction::kTraceContents:
      return proto::TRACE_CONTENTS;
    case OpsAction::kRead:
      break;
  }
  return proto::ACTION_NONE;
}

// "stop <house.7.42>", "restart child 'lot-1' of house", "drain the node", "suspend house for 30s".
std::string DescriptionOf(const proto::ActRequest& request) {
  const std::string actor = ShownText(request.actor());
  switch (request.action()) {
    case proto::STOP:
      return absl::StrCat("stop ", actor);
    case proto::KILL:
      return absl::StrCat("kill ", actor);
    case proto::RESTART:
      return absl::StrCat("restart child '", ShownText(request.child()), "' of ", actor);
    case proto::DRAIN:
      return "drain the node";
    case proto::LOG_LEVEL:
      return absl::StrCat("set the log level to ", ShownText(request.log_level()));
    case proto::SUSPEND:
      return absl::StrCat("suspend ", actor, " for ", absl::FormatDuration(absl::Nanoseconds(request.time_nanos())));
    case proto::RESUME:
      return absl::StrCat("resume ", actor);
    default:
      return "do nothing";
  }
}

// The text of an error, which may quote the bytes of a child's id.
std::string WhyNot(const absl::Status& status) { return PrintableText(status.message(), Backslashes::kKeep); }

// Writes a line that neither the limit by site nor the log level leaves out.
void WriteAudit(ActorSystem& system, absl::string_view line) {
  system.log().Put({.severity = LogSeverity::kWarning, .text = line, .node = {}, .limit = LogLimit::kNone});
}

// The supervisor's answers to a restart, as far as they have come. The callbacks of the asks and the outcome that the
// caller waits for share ownership, because either may live longer than the other.
class RestartAnswers {
 public:
  void SetEnded(absl::Status ended) {
    absl::MutexLock lock(&mu_);
    ended_ = std::move(ended);
  }
  void SetStarted(absl::StatusOr<ChildStarted> started) {
    absl::MutexLock lock(&mu_);
    started_ = std::move(started);
  }
  // To TerminateChild.
  absl::optional<absl::Status> ended() const {
    absl::MutexLock lock(&mu_);
    return ended_;
  }
  // To RestartChild, which is asked if the child has ended.
  absl::optional<absl::StatusOr<ChildStarted>> started() const {
    absl::MutexLock lock(&mu_);
    return started_;
  }
  bool AreComplete() const {
    absl::MutexLock lock(&mu_);
    return started_.has_value() || (ended_.has_value() && !ended_->ok());
  }

 private:
  mutable absl::Mutex mu_;
  absl::optional<absl::Status> ended_ ABSL_GUARDED_BY(mu_);
  absl::optional<absl::StatusOr<ChildStarted>> started_ ABSL_GUARDED_BY(mu_);
};

// "runs as <house.9.4>", for the log and for the caller.
std::string OutcomeText(const absl::StatusOr<ChildStarted>& started) {
  if (!started.ok()) return absl::StrCat("was not started again: ", WhyNot(started.status()));
  return started->pid.is_null() ? "declined to start again" : absl::StrCat("runs as ", TextOf(started->pid));
}

}  // namespace

OpsActions::~OpsActions() {
  for (const std::string& line : refusals_.Due(MonotonicTime::InfiniteFuture())) WriteAudit(system_, line);
}

absl::Status OpsActions::Audit(const OpsCaller& caller, const std::string& asked,
                               const std::vector<OpsAction>& actions) {
  const std::string who = absl::StrCat("ops: ", caller.name, " asks to ", asked);
  absl::Status may = caller.Check(actions, asked);
  const MonotonicTime now = system_.clock().Now();
  for (const std::string& line : refusals_.Due(now)) WriteAudit(system_, line);
  if (may.ok()) {
    WriteAudit(system_, who);
  } else if (refusals_.Add(caller.name, now)) {
    WriteAudit(system_, absl::StrCat(who, ": refused, ", caller.where, " does not allow it"));
  }
  return may;
}

absl::Status OpsActions::Failed(const std::string& asked, const absl::Status& why) {
  const std::string text = WhyNot(why);
  WriteAudit(system_, absl::StrCat("ops: did not ", asked, ": ", text));
  return absl::Status(why.code(), text);
}

absl::StatusOr<OpsActions::Outcome> OpsActions::Act(const OpsCaller& caller, const proto::ActRequest& request) {
  const absl::optional<OpsAction> action = ActionOf(request.action());
  if (!action.has_value()) {
    return absl::InvalidArgumentError(
        absl::StrCat("unknown action ", static_cast<int>(request.action()),
                     ": expected STOP, KILL, RESTART, DRAIN, LOG_LEVEL, SUSPEND or RESUME"));
  }
  const std::string asked = DescriptionOf(request);
  if (absl::Status allowed = Audit(caller, asked, {*action}); !allowed.ok()) return allowed;
  absl::StatusOr<Done> begun = Carry(request, asked);
  if (!begun.ok()) return Failed(asked, begun.status());
  return Outcome([this, asked, known = *std::move(begun)]() -> absl::optional<absl::StatusOr<proto::ActReply>> {
    absl::optional<absl::StatusOr<std::string>> done = known();
    if (!done.has_value()) return absl::nullopt;
    if (absl::IsUnknown(done->status())) {  // the log will say
      return absl::Status(done->status().code(), WhyNot(done->status()));
    }
    if (!done->ok()) return Failed(asked, done->status());
    proto::ActReply reply;
    reply.set_done(**std::move(done));
    return reply;
  });
}

std::vector<OpsAction> OpsActions::ActionsOf(const proto::TraceRequest& request) {
  std::vector<OpsAction> needed = {OpsAction::kTrace};
  if (request.contents()) needed.push_back(OpsAction::kTraceContents);
  return needed;
}

absl::StatusOr<std::unique_ptr<MessageTrace>> OpsActions::Trace(const OpsCaller& caller,
                                                                const proto::TraceRequest& request) {
  TraceOptions options;
  if (request.messages_max() != 0) options.messages_max = request.messages_max();
  if (request.time_nanos() != 0) options.time_max = absl::Nanoseconds(request.time_nanos());
  if (request.every() != 0) options.every = request.every();
  if (request.contents()) options.contents = TraceContents::kYes;
  const std::string asked =
      absl::StrCat("trace ", options.messages_max, " messages of ", ShownText(request.actor()), " for at most ",
                   absl::FormatDuration(options.time_max), request.contents() ? " with their contents" : "");
  if (absl::Status allowed = Audit(caller, asked, ActionsOf(request)); !allowed.ok()) return allowed;
  const absl::StatusOr<Pid> actor = FindActor(system_, request.actor());
  if (!actor.ok()) return Failed(asked, actor.status());
  absl::StatusOr<std::unique_ptr<MessageTrace>> trace = MessageTrace::Start(system_, *actor, options);
  if (!trace.ok()) return Failed(asked, trace.status());
  return trace;
}

absl::StatusOr<OpsActions::Done> OpsActions::Carry(const proto::ActRequest& request, const std::string& asked) {
  const auto at_once = [](std::string text) { return Done([text = std::move(text)] { return text; }); };
  if (request.action() == proto::DRAIN) {
    if (node_ == nullptr) return absl::FailedPreconditionError("there is no node to drain: OpsOptions::node is null");
    node_->RequestStop();
    return at_once("the node drains");
  }
  if (request.action() == proto::LOG_LEVEL) {
    absl::StatusOr<std::string> done = SetLogLevel(request.log_level());
    if (!done.ok()) return done.status();
    return at_once(*std::move(done));
  }
  const absl::StatusOr<Pid> actor = FindActor(system_, request.actor());
  if (!actor.ok()) return actor.status();
  if (!HasActor(system_, *actor)) {
    return absl::NotFoundError(absl::StrCat(TextOf(*actor), " has ended"));
  }
  switch (request.action()) {
    case proto::STOP:
      system_.RequestStop(*actor);
      break;
    case proto::KILL:
      system_.Kill(*actor);
      break;
    case proto::SUSPEND: {
      const absl::Duration time = absl::Nanoseconds(request.time_nanos());
      if (time <= absl::ZeroDuration() || time > limits::kOpsSuspensionMax) {
        return absl::InvalidArgumentError(absl::StrCat("cannot suspend for ", absl::FormatDuration(time),
                                                       ": expected more than 0 and at most ",
                                                       absl::FormatDuration(limits::kOpsSuspensionMax)));
      }
      system_.Suspend(*actor, time);
      break;
    }
    case proto::RESUME:
      system_.Resume(*actor);
      break;
    default:
      if (request.child().empty()) return absl::InvalidArgumentError("no child is named: expected the id of a child");
      return RestartChild(*actor, TextFromPrintable(request.child()));
  }
  return at_once(absl::StrCat("told ", TextOf(*actor), ": ", asked));
}

absl::StatusOr<std::string> OpsActions::SetLogLevel(const std::string& level) {
  const absl::optional<LogSeverity> least = LogSeverityOf(level);
  if (!least.has_value()) {
    return absl::InvalidArgumentError(
        absl::StrCat("'", ShownText(level), "' is not a log level: expected debug, info, warning or error"));
  }
  if (absl::Status refused = system_.SetLogLevel(*least); !refused.ok()) return refused;
  return absl::StrCat("the log has lines of severity ", level, " and above");
}

absl::StatusOr<OpsActions::Done> OpsActions::RestartChild(Pid supervisor, const std::string& child) {
  const SupervisorRef ref(supervisor);
  const std::string shown = absl::StrCat("child '", ShownText(child), "' ");
  if (IsForgottenWhenDown(supervisor, child)) {
    return absl::FailedPreconditionError(absl::StrCat(
        TextOf(supervisor), " would forget ", shown,
        "once it has ended, and could not start it again: expected a child that is neither temporary nor of a pool"));
  }
  auto answers = std::make_shared<RestartAnswers>();
  const auto on_started = [&system = system_, shown, answers](absl::StatusOr<ChildStarted> started) {
    WriteAudit(system, absl::StrCat("ops: ", shown, OutcomeText(started)));
    answers->SetStarted(std::move(started));
  };
  // The child may take any time to stop, and its supervisor goes on stopping it after the deadline of a request. So
  // neither request has one: else the child would stay down.
  system_.Ask(ref.terminate_child(), understudy::TerminateChild{.id = child}, limits::kAskTimeoutMax,
              [&system = system_, ref, child, shown, answers, on_started](absl::StatusOr<ChildDone> ended) {
                if (ended.ok()) {
                  system.Ask(ref.restart_child(), understudy::RestartChild{.id = child}, limits::kAskTimeoutMax,
                             on_started);
                } else {
                  WriteAudit(system, absl::StrCat("ops: ", shown, "was not ended: ", WhyNot(ended.status())));
                }
                answers->SetEnded(ended.status());
              });
  const MonotonicTime until = system_.clock().Now() + limits::kOpsOutcomeWithin;
  return [&clock = system_.clock(), until, shown, answers]() -> absl::optional<absl::StatusOr<std::string>> {
    if (!answers->AreComplete() && clock.Now() < until) return absl::nullopt;
    const absl::optional<absl::Status> ended = answers->ended();
    if (!ended.has_value()) {
      return absl::UnknownError(
          absl::StrCat("it is not known yet whether ", shown, "is restarted: its supervisor has not ended it within ",
                       absl::FormatDuration(limits::kOpsOutcomeWithin), "; the node's log will say"));
    }
    if (!ended->ok()) return *ended;
    const absl::optional<absl::StatusOr<ChildStarted>> started = answers->started();
    if (!started.has_value()) {
      return absl::StrCat(shown, "has ended and is being started; the node's log will say how it went");
    }
    const std::string outcome = absl::StrCat(shown, OutcomeText(*started));
    if (!started->ok()) return absl::Status(started->status().code(), outcome);
    return outcome;
  };
}

void OpsActions::Describe(const OpsCaller& caller, proto::NodeDetails& out) {
  for (const OpsAction action : caller.allowed) {
    if (action != OpsAction::kRead) out.add_actions(ActionValue(action));
    if (action == OpsAction::kSuspend) out.add_actions(proto::RESUME);
  }
}

}  // namespace understudy::internal
