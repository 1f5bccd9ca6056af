#include "understudy/transport/ops/ops_actions.h"

#include <unistd.h>

#include <string>
#include <utility>

#include "absl/status/status.h"
#include "absl/status/statusor.h"
#include "absl/strings/str_cat.h"
#include "absl/types/optional.h"
#include "understudy/actors/exit_reason.h"
#include "understudy/actors/log_sink.h"
#include "understudy/actors/pid.h"
#include "understudy/supervision/supervisor.h"
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
  }
  return proto::ACTION_NONE;
}

// "stop <house.7.42>", "restart child 'lot-1' of house", "drain the node".
std::string TextOf(const proto::ActRequest& request) {
  const std::string actor = PrintableUtf8(request.actor());
  switch (request.action()) {
    case proto::STOP:
      return absl::StrCat("stop ", actor);
    case proto::KILL:
      return absl::StrCat("kill ", actor);
    case proto::RESTART:
      return absl::StrCat("restart child '", PrintableUtf8(request.child()), "' of ", actor);
    case proto::DRAIN:
      return "drain the node";
    default:
      return "do nothing";
  }
}

}  // namespace

absl::StatusOr<proto::ActReply> OpsActions::Act(const proto::ActRequest& request) {
  const absl::optional<OpsAction> action = ActionOf(request.action());
  if (!action.has_value()) {
    return absl::InvalidArgumentError(
        absl::StrCat("unknown action ", static_cast<int>(request.action()), ": expected STOP, KILL, RESTART or DRAIN"));
  }
  const std::string asked = TextOf(request);
  const std::string who = absl::StrCat("ops: user ", geteuid(), " asks to ", asked);
  if (!allowed_.contains(*action)) {
    system_.log().Write(LogSeverity::kWarning, absl::StrCat(who, ": refused, OpsOptions::actions does not allow it"));
    return absl::PermissionDeniedError(
        absl::StrCat("this node does not allow its operator to ", asked, ": OpsOptions::actions lacks it"));
  }
  system_.log().Write(LogSeverity::kWarning, who);
  absl::StatusOr<std::string> done = Carry(request, asked);
  if (!done.ok()) return done.status();
  proto::ActReply reply;
  reply.set_done(*std::move(done));
  return reply;
}

absl::StatusOr<std::string> OpsActions::Carry(const proto::ActRequest& request, const std::string& asked) {
  if (request.action() == proto::DRAIN) {
    if (node_ == nullptr) return absl::FailedPreconditionError("there is no node to drain: OpsOptions::node is null");
    node_->RequestStop();
    return std::string("the node drains");
  }
  const absl::StatusOr<Pid> actor = FindActor(system_, request.actor());
  if (!actor.ok()) return actor.status();
  switch (request.action()) {
    case proto::STOP:
      system_.RequestStop(*actor);
      break;
    case proto::KILL:
      system_.Kill(*actor);
      break;
    default:
      if (request.child().empty()) return absl::InvalidArgumentError("no child is named: expected the id of a child");
      RestartChild(*actor, request.child());
      break;
  }
  return absl::StrCat("told ", actor->ToString(), ": ", asked);
}

void OpsActions::RestartChild(Pid supervisor, const std::string& child) {
  const SupervisorRef ref(supervisor);
  system_.Ask(ref.terminate_child(), TerminateChild{.id = child}, limits::kOpsRestartWithin,
              [&system = system_, ref, child](absl::StatusOr<ChildDone> ended) {
                if (!ended.ok()) {
                  system.log().Write(LogSeverity::kWarning,
                                     absl::StrCat("ops: child '", PrintableUtf8(child),
                                                  "' was not ended: ", ended.status().message()));
                  return;
                }
                system.Ask(ref.restart_child(), understudy::RestartChild{.id = child}, limits::kOpsRestartWithin,
                           [&system, child](absl::StatusOr<ChildStarted> started) {
                             const std::string outcome =
                                 started.ok() ? absl::StrCat(" runs as ", started->pid.ToString())
                                              : absl::StrCat(" was not started again: ", started.status().message());
                             system.log().Write(LogSeverity::kWarning,
                                                absl::StrCat("ops: child '", PrintableUtf8(child), "'", outcome));
                           });
              });
}

void OpsActions::Describe(proto::NodeDetails& out) const {
  for (const OpsAction action : allowed_) out.add_actions(ActionValue(action));
}

}  // namespace understudy::internal
