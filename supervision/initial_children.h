// InitialChildren: starts the children that a pool is to have from its beginning. It is the child after the pool under
// rest_for_one, because a pool that starts again is empty.
//
//   RestForOne()
//       .Child("jobs", Of<Jobs>(PoolOptions()).RegisteredAs("jobs"))             // using Jobs =
//       Pool<Worker(JobConfig)> .Child("first jobs", Of<InitialChildren<Jobs>>("jobs", ListJobs))        //
//       StatusOr<vector<Keyed<JobConfig>>>
//
// The actor has started when all children have, so the siblings after it under rest_for_one find them; then it declines
// to run. If the list or a child fails, the actor's start fails with the same reason. A child that the pool already has
// counts as started.
//
// Threads: `list` is called in the turns of this actor, at each start.
#ifndef UNDERSTUDY_SUPERVISION_INITIAL_CHILDREN_H_
#define UNDERSTUDY_SUPERVISION_INITIAL_CHILDREN_H_

#include <functional>
#include <string>
#include <utility>
#include <vector>

#include "absl/status/statusor.h"
#include "absl/time/time.h"
#include "understudy/actors/actor.h"
#include "understudy/actors/named.h"
#include "understudy/actors/task.h"
#include "understudy/supervision/pool.h"

namespace understudy {

template <class Pool>
class InitialChildren final : public Actor {
 public:
  using List = std::function<absl::StatusOr<std::vector<Keyed<typename Pool::Arguments>>>()>;

  // `pool` is a name of the pool, on this node or in the cluster. Each child may take `within` to start.
  InitialChildren(std::string pool, List list, absl::Duration within = absl::Seconds(5))
      : pool_(std::move(pool)), list_(std::move(list)), within_(within) {}

 private:
  StartResult Start() override { return StartAll(); }

  Task<StartResult> StartAll() {
    absl::StatusOr<std::vector<Keyed<typename Pool::Arguments>>> children = list_();
    if (!children.ok()) co_return children.status();
    for (const Keyed<typename Pool::Arguments>& child : *children) {
      auto asked = pool_->find_or_start().Ask(child, within_);
      absl::StatusOr<typename Pool::ChildRef> started = co_await asked;
      if (!started.ok()) co_return started.status();
    }
    co_return StartResult::Ignore();
  }

  const Named<typename Pool::Ref> pool_;
  const List list_;
  const absl::Duration within_;
};

}  // namespace understudy

#endif  // UNDERSTUDY_SUPERVISION_INITIAL_CHILDREN_H_
