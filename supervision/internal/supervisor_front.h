// The front of a pool of several shards: its tree.
#ifndef UNDERSTUDY_SUPERVISION_INTERNAL_SUPERVISOR_FRONT_H_
#define UNDERSTUDY_SUPERVISION_INTERNAL_SUPERVISOR_FRONT_H_

#include <string>

#include "understudy/supervision/child_spec.h"

namespace understudy::internal {

// The supervisor of `pool`'s shards, which gives up when one of them ends: as
// by one supervisor, all children end together. Requires pool.pool->shards > 1.
SupervisorSpec FrontOf(const SupervisorSpec& pool);
std::string ShardId(int index);

}  // namespace understudy::internal

#endif  // UNDERSTUDY_SUPERVISION_INTERNAL_SUPERVISOR_FRONT_H_
