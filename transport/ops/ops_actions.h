// The actions of the operator's service, without gRPC: permission, audit line, effect.
//
// Any thread but an actor's turn.
#ifndef UNDERSTUDY_TRANSPORT_OPS_OPS_ACTIONS_H_
#define UNDERSTUDY_TRANSPORT_OPS_OPS_ACTIONS_H_

#include <memory>
#include <string>
#include <vector>

#include "absl/status/status.h"
#include "absl/status/statusor.h"
#include "absl/strings/string_view.h"
#include "understudy/actors/actor_system.h"
#include "understudy/actors/message_trace.h"
#include "understudy/proto/ops.pb.h"
#include "understudy/transport/grants.h"
#include "understudy/transport/node.h"
#include "understudy/transport/ops/ops_caller.h"

namespace understudy::internal {

class OpsActions {
 public:
  // `system`, and `node` if it is not null, must outlive this object.
  OpsActions(ActorSystem& system, Node* node) : system_(system), node_(node) {}

  // Does what `request` says, and does not wait for its effect, except for half a second for a refusal by a supervisor.
  // PermissionDenied: the action is not allowed. Otherwise the errors of FindActor, and of the supervisor;
  // FailedPrecondition: there is no node to drain; InvalidArgument: no action is named.
  absl::StatusOr<proto::ActReply> Act(const OpsCaller& caller, const proto::ActRequest& request);
  // Begins the trace that `request` asks for, as Act does. Errors: PermissionDenied, those of FindActor and of
  // MessageTrace::Start.
  absl::StatusOr<std::unique_ptr<MessageTrace>> Trace(const OpsCaller& caller, const proto::TraceRequest& request);
  // Adds what `caller` may do to `out`, besides reading.
  static void Describe(const OpsCaller& caller, proto::NodeDetails& out);

 private:
  // Writes the audit line: `caller` asks to do what `asked` says, for which it needs `actions`.
  absl::Status Audit(const OpsCaller& caller, const std::string& asked, const std::vector<OpsAction>& actions);
  // The same after a failure, which is returned with a printable text.
  absl::Status Failed(const std::string& asked, const absl::Status& why);
  absl::StatusOr<std::string> Carry(const proto::ActRequest& request, const std::string& asked);
  // Writes a line of which each counts.
  void WriteAudit(absl::string_view line);
  absl::StatusOr<std::string> SetLogLevel(const std::string& level);
  absl::Status RestartChild(Pid supervisor, const std::string& child);

  ActorSystem& system_;
  Node* const node_;
};

}  // namespace understudy::internal

#endif  // UNDERSTUDY_TRANSPORT_OPS_OPS_ACTIONS_H_
