// The actions of the operator's service, without gRPC: permission, audit line, effect.
//
// Any thread but an actor's turn.
#ifndef UNDERSTUDY_TRANSPORT_OPS_OPS_ACTIONS_H_
#define UNDERSTUDY_TRANSPORT_OPS_OPS_ACTIONS_H_

#include <set>
#include <string>
#include <utility>

#include "absl/status/status.h"
#include "absl/status/statusor.h"
#include "absl/strings/string_view.h"
#include "understudy/actors/actor_system.h"
#include "understudy/proto/ops.pb.h"
#include "understudy/transport/node.h"
#include "understudy/transport/ops/ops.h"

namespace understudy::internal {

class OpsActions {
 public:
  // `system`, and `node` if it is not null, must outlive this object.
  OpsActions(ActorSystem& system, Node* node, std::set<OpsAction> allowed)
      : system_(system), node_(node), allowed_(std::move(allowed)) {}

  // Does what `request` says, and does not wait for its effect, except for half a second for a refusal by a supervisor.
  // PermissionDenied: the action is not allowed. Otherwise the errors of FindActor, and of the supervisor;
  // FailedPrecondition: there is no node to drain; InvalidArgument: no action is named.
  absl::StatusOr<proto::ActReply> Act(const proto::ActRequest& request);
  // Adds the allowed actions to `out`.
  void Describe(proto::NodeDetails& out) const;

 private:
  absl::StatusOr<std::string> Carry(const proto::ActRequest& request, const std::string& asked);
  void Audit(absl::string_view line);
  absl::StatusOr<std::string> SetLogLevel(const std::string& level);
  absl::Status RestartChild(Pid supervisor, const std::string& child);

  ActorSystem& system_;
  Node* const node_;
  const std::set<OpsAction> allowed_;
};

}  // namespace understudy::internal

#endif  // UNDERSTUDY_TRANSPORT_OPS_OPS_ACTIONS_H_
