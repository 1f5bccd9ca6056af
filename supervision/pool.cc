#include "understudy/supervision/pool.h"

#include <memory>
#include <utility>

#include "understudy/supervision/child_spec.h"

namespace understudy {

SupervisorSpec PoolTree(const PoolOptions& options) {
  auto pool = std::make_shared<PoolSpec>();
  pool->child = {.id = options.id,
                 .restart = options.restart,
                 .shutdown = options.shutdown,
                 .significant = options.significant,
                 .backoff = options.backoff,
                 .budget = options.budget,
                 .exclusive = options.exclusive,
                 .start_within = options.start_within,
                 .registered_as = options.registered_as,
                 .published_as = options.published_as};
  pool->children_max = options.children_max;
  pool->shards = options.shards;
  SupervisorSpec tree;
  tree.intensity = options.intensity;
  tree.period = options.period;
  tree.auto_shutdown = options.auto_shutdown;
  tree.on_event = options.on_event;
  tree.pool = std::move(pool);
  return tree;
}

}  // namespace understudy
