// How a supervisor starts a child on another node.
#ifndef UNDERSTUDY_SUPERVISION_REMOTE_CHILD_H_
#define UNDERSTUDY_SUPERVISION_REMOTE_CHILD_H_

#include <memory>

#include "absl/status/statusor.h"
#include "understudy/actors/pid.h"
#include "understudy/actors/spawner.h"
#include "understudy/supervision/child_spec.h"
#include "understudy/supervision/child_start.h"

namespace understudy::internal {

// Makes what stands for that child, which has a placement, here. `spawner` is
// this system's, or null: FailedPrecondition. `elsewhere` is set to the child's
// own pid before the stand-in has started.
absl::StatusOr<ChildStart::MakeActor> MakerElsewhere(const ChildSpec& child, Spawner* spawner,
                                                     const std::shared_ptr<Pid>& elsewhere);

}  // namespace understudy::internal

#endif  // UNDERSTUDY_SUPERVISION_REMOTE_CHILD_H_
