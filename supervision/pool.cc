#include "understudy/supervision/pool.h"

#include <memory>
#include <utility>

#include "absl/status/statusor.h"
#include "absl/types/optional.h"
#include "understudy/actors/error.h"
#include "understudy/actors/pid.h"
#include "understudy/supervision/child_spec.h"
#include "understudy/supervision/internal/existing_child.h"
#include "understudy/supervision/internal/pending_answers.h"

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

internal::AnswerRequest internal::OrExisting(AnswerRequest answer) {
  return [answer = std::move(answer)](absl::StatusOr<Pid> started) mutable {
    const absl::optional<Pid> existing = ExistingChild(started.status());
    if (!existing.has_value()) {
      std::move(answer)(std::move(started));
    } else if (existing->is_null()) {
      std::move(answer)(MakeError(ErrorKind::kRestarting, started.status().message()));
    } else {
      std::move(answer)(*existing);
    }
  };
}

}  // namespace understudy
