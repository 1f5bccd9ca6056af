// PoolFront: the front of a pool of several shards, as one supervisor to its callers. It forwards each request to the
// shard of the child's id, or to all shards, and joins their answers.
//
// Owner's turn only; the tasks are handlers of the front.
#ifndef UNDERSTUDY_SUPERVISION_INTERNAL_POOL_FRONT_H_
#define UNDERSTUDY_SUPERVISION_INTERNAL_POOL_FRONT_H_

#include <memory>
#include <string>
#include <utility>
#include <vector>

#include "absl/status/status.h"
#include "absl/status/statusor.h"
#include "understudy/actors/task.h"
#include "understudy/supervision/child_spec.h"
#include "understudy/supervision/internal/child_info.h"
#include "understudy/supervision/internal/child_start.h"
#include "understudy/supervision/internal/pending_answers.h"
#include "understudy/supervision/internal/shards.h"
#include "understudy/supervision/supervisor.h"

namespace understudy::internal {

class PoolFront {
 public:
  // `pool`: the spec of the pool that the shards share.
  explicit PoolFront(std::shared_ptr<const SupervisorSpec> pool) : pool_(std::move(pool)) {}

  // The shards have started, in the order of their indices. Call once, before the functions below.
  void Learn(const std::vector<ChildInfo>& shards) { shards_.Learn(shards); }

  // Starts a child that `start` makes or, if that is null, the template. An empty id is made up.
  void Start(std::string id, std::shared_ptr<const ChildStart> start, AnswerRequest answer);
  Task<absl::StatusOr<Children>> List(WhichChildren query);
  Task<absl::StatusOr<ChildCounts>> Tally(CountChildren query);
  Task<absl::StatusOr<ChildSpec>> GetSpec(GetChildSpec query);
  Task<absl::StatusOr<ChildDone>> Terminate(TerminateChild request);
  // Subscribes to the shards' events if `here`, the result of the subscription to the front's own events, is OK.
  Task<absl::StatusOr<Subscribed>> SubscribeToAll(Subscribe request, absl::Status here);

 private:
  const std::shared_ptr<const SupervisorSpec> pool_;
  Shards shards_;
};

}  // namespace understudy::internal

#endif  // UNDERSTUDY_SUPERVISION_INTERNAL_POOL_FRONT_H_
