// The actions of the operator's service, without gRPC: permission, audit line, effect.
//
// Threads: one at a time, not in an actor's turn.
#ifndef UNDERSTUDY_TRANSPORT_OPS_OPS_ACTIONS_H_
#define UNDERSTUDY_TRANSPORT_OPS_OPS_ACTIONS_H_

#include <functional>
#include <memory>
#include <string>
#include <vector>

#include "absl/status/status.h"
#include "absl/status/statusor.h"
#include "absl/types/optional.h"
#include "understudy/actors/actor_system.h"
#include "understudy/actors/message_trace.h"
#include "understudy/proto/ops.pb.h"
#include "understudy/transport/grants.h"
#include "understudy/transport/node.h"
#include "understudy/transport/ops/ops_caller.h"
#include "understudy/transport/ops/refusal_lines.h"

namespace understudy::internal {

class OpsActions {
 public:
  // `system`, and `node` if it is not null, must outlive this object.
  OpsActions(ActorSystem& system, Node* node) : system_(system), node_(node) {}
  // Writes the lines about refusals that were only counted so far.
  ~OpsActions();
  OpsActions(const OpsActions&) = delete;
  OpsActions& operator=(const OpsActions&) = delete;

  // Returns the result of an action, or nullopt while the result is not known yet. Call it until it returns a result,
  // and only while the OpsActions object lives. The result of a restart is returned after limits::kOpsOutcomeWithin at
  // the latest; any other action has its result at once.
  using Outcome = std::function<absl::optional<absl::StatusOr<proto::ActReply>>()>;
  // Begins the action of `request` and does not wait for it. PermissionDenied: the action is not allowed.
  // InvalidArgument: no action is named. Errors of the outcome: those of FindActor, of the supervisor, and of the start
  // of a child that was to be started again; Unknown: a restart's supervisor has not ended the child in time;
  // FailedPrecondition: there is no node to drain, or the supervisor would forget the child that is to be restarted.
  absl::StatusOr<Outcome> Act(const OpsCaller& caller, const proto::ActRequest& request);
  // The actions that a caller must be allowed for that trace.
  static std::vector<OpsAction> ActionsOf(const proto::TraceRequest& request);
  // Begins the trace that `request` asks for, as Act does. Errors: PermissionDenied, those of FindActor and of
  // MessageTrace::Start.
  absl::StatusOr<std::unique_ptr<MessageTrace>> Trace(const OpsCaller& caller, const proto::TraceRequest& request);
  // Adds what `caller` may do to `out`, besides reading.
  static void Describe(const OpsCaller& caller, proto::NodeDetails& out);

 private:
  // Writes the audit line: `caller` asks to do what `asked` says, for which it needs `actions`.
  absl::Status Audit(const OpsCaller& caller, const std::string& asked, const std::vector<OpsAction>& actions);
  // Writes the line for an action that failed. Returns `why` with its text made
  // printable.
  absl::Status Failed(const std::string& asked, const absl::Status& why);
  // Returns the text of ActReply::done, or nullopt while the result of the action is not
  // known yet.
  using Done = std::function<absl::optional<absl::StatusOr<std::string>>()>;
  absl::StatusOr<Done> Carry(const proto::ActRequest& request, const std::string& asked);
  absl::StatusOr<std::string> SetLogLevel(const std::string& level);
  absl::StatusOr<Done> RestartChild(Pid supervisor, const std::string& child);

  ActorSystem& system_;
  Node* const node_;
  RefusalLines refusals_;
};

}  // namespace understudy::internal

#endif  // UNDERSTUDY_TRANSPORT_OPS_OPS_ACTIONS_H_
