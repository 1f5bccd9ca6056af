// Functions that make the actor of a child that is a process or runs on another node: its proxy on this node.
//
// Any thread.
#ifndef UNDERSTUDY_SUPERVISION_INTERNAL_CHILD_MAKERS_H_
#define UNDERSTUDY_SUPERVISION_INTERNAL_CHILD_MAKERS_H_

#include <memory>

#include "absl/status/status.h"
#include "absl/status/statusor.h"
#include "understudy/actors/spawner.h"
#include "understudy/supervision/child_spec.h"
#include "understudy/supervision/internal/child_start.h"
#include "understudy/supervision/internal/remote_children.h"

namespace understudy::internal {

// Makes the proxy of `child`, which runs on another node. `child` must have a placement. The proxy writes to `life`;
// `life->left`, from the child's last life, is used for the new one. `spawner` is this system's spawner; returns
// FailedPrecondition if it is null.
absl::StatusOr<ChildStart::MakeActor> MakerElsewhere(const ChildSpec& child, Spawner* spawner,
                                                     const std::shared_ptr<RemoteLife>& life);
// Makes the proxy of `child`, which must be a process. FailedPrecondition if `spawner` is null.
absl::StatusOr<ChildStart::MakeActor> MakerOfProcess(const ChildSpec& child, Spawner* spawner);

// Makes an actor whose start fails with `status`, in place of a child that cannot be made. Each attempt thus takes a
// turn of its own, and the supervisor handles requests between two attempts.
ChildStart::MakeActor FailedStart(absl::Status status);

}  // namespace understudy::internal

#endif  // UNDERSTUDY_SUPERVISION_INTERNAL_CHILD_MAKERS_H_
