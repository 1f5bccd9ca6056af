// How a supervisor makes the actor that is a child, or the proxy of a child that is a process or runs on another node.
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

// Both return FailedPrecondition if `spawner`, which is that of this system, is null.
//
// The proxy of `child`, which has a placement. It fills in `life`, and hands what that has left to the child.
absl::StatusOr<ChildStart::MakeActor> MakerElsewhere(const ChildSpec& child, Spawner* spawner,
                                                     const std::shared_ptr<RemoteLife>& life);
// The proxy of `child`, which is a process.
absl::StatusOr<ChildStart::MakeActor> MakerOfProcess(const ChildSpec& child, Spawner* spawner);

// An actor whose start fails with `status`, in place of a child that cannot be made: so each attempt takes a turn,
// and requests are handled between two attempts.
ChildStart::MakeActor FailedStart(absl::Status status);

}  // namespace understudy::internal

#endif  // UNDERSTUDY_SUPERVISION_INTERNAL_CHILD_MAKERS_H_
