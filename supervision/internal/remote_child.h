// How a supervisor starts a child on another node.
#ifndef UNDERSTUDY_SUPERVISION_INTERNAL_REMOTE_CHILD_H_
#define UNDERSTUDY_SUPERVISION_INTERNAL_REMOTE_CHILD_H_

#include <memory>

#include "absl/status/statusor.h"
#include "understudy/actors/pid.h"
#include "understudy/actors/spawner.h"
#include "understudy/supervision/child_spec.h"
#include "understudy/supervision/internal/child_start.h"

namespace understudy::internal {

// What a supervisor and the proxy of a child on another node know of one life.
// The proxy writes: `child` before it has started, `left` before it ends.
struct RemoteLife {
  Pid child;                         // its own pid
  std::shared_ptr<const void> left;  // see NodeChild::left
};

// Makes what stands for that child, which has a placement, here. `spawner` is
// this system's, or null: FailedPrecondition. `elsewhere` is that life;
// what it has already is the next one's.
absl::StatusOr<ChildStart::MakeActor> MakerElsewhere(const ChildSpec& child, Spawner* spawner,
                                                     const std::shared_ptr<RemoteLife>& elsewhere);

}  // namespace understudy::internal

#endif  // UNDERSTUDY_SUPERVISION_INTERNAL_REMOTE_CHILD_H_
