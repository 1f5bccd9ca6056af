// What is wrong with a pool, and with a child's own restart budget; the part of
// FindSpecErrors (spec_errors.h) that looks at these. Pure functions; any thread.
#ifndef UNDERSTUDY_SUPERVISION_INTERNAL_POOL_ERRORS_H_
#define UNDERSTUDY_SUPERVISION_INTERNAL_POOL_ERRORS_H_

#include <string>
#include <vector>

#include "understudy/supervision/child_spec.h"

namespace understudy {

struct FieldProblem {
  std::string field;
  std::string what;
};

// Of `spec.pool`; its template is also a child like any other. None for what is
// no pool.
std::vector<FieldProblem> FindPoolProblems(const SupervisorSpec& spec);

// Of `child.budget` and `child.exclusive`.
std::vector<FieldProblem> FindBudgetProblems(const ChildSpec& child, const SupervisorSpec& parent);

}  // namespace understudy

#endif  // UNDERSTUDY_SUPERVISION_INTERNAL_POOL_ERRORS_H_
