// SupervisorEntry: a supervisor's entry in the list that LookAtSupervisors (supervisor_looks.h) reads, for as long as
// the object exists. Implemented in supervisor_looks.cc.
//
// Owner only. The destructor waits for a look at this supervisor, which takes microseconds.
#ifndef UNDERSTUDY_SUPERVISION_INTERNAL_SUPERVISOR_ENTRY_H_
#define UNDERSTUDY_SUPERVISION_INTERNAL_SUPERVISOR_ENTRY_H_

#include <cstdint>
#include <memory>

#include "understudy/actors/pid.h"
#include "understudy/supervision/child_spec.h"
#include "understudy/supervision/internal/restart_plan.h"

namespace understudy::internal {

class SupervisorEntry {
 public:
  // `plan` outlives this object, and carries `spec` out. `pool` is null unless the supervisor is a pool, or the front
  // of one, whose `spec` has the shards as children.
  SupervisorEntry(Pid self, Pid parent, const SupervisorSpec& spec, const PoolSpec* pool, const RestartPlan& plan);
  ~SupervisorEntry();
  SupervisorEntry(const SupervisorEntry&) = delete;
  SupervisorEntry& operator=(const SupervisorEntry&) = delete;

  class Listed;

 private:
  const std::shared_ptr<Listed> listed_;
  const uint64_t number_;
};

}  // namespace understudy::internal

#endif  // UNDERSTUDY_SUPERVISION_INTERNAL_SUPERVISOR_ENTRY_H_
