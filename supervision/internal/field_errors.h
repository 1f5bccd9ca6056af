// Parts of FindSpecErrors (spec_errors.h): the checks of a pool, of a child's restart budget, and of the nodes on which
// a child is to run.
//
// Pure functions; any thread.
#ifndef UNDERSTUDY_SUPERVISION_INTERNAL_FIELD_ERRORS_H_
#define UNDERSTUDY_SUPERVISION_INTERNAL_FIELD_ERRORS_H_

#include <string>
#include <vector>

#include "absl/strings/string_view.h"
#include "understudy/supervision/child_spec.h"

namespace understudy {

struct FieldProblem {
  std::string field;
  std::string what;
};

// Returns the problems of `spec.pool`, except those that any child with the fields of its template would have. Also
// checks `spec.stop_together`, which needs a strategy without an order, for supervisors that are not pools.
std::vector<FieldProblem> FindPoolProblems(const SupervisorSpec& spec);

// Returns the problems of `child.budget` and `child.exclusive`.
std::vector<FieldProblem> FindBudgetProblems(const ChildSpec& child, const SupervisorSpec& parent);

// Returns the problems of `child.placement` and of the fields that a child with a placement may not have; none without
// a placement. `is_made_by_class`: the child is the template of a pool of a class, which makes its children.
std::vector<FieldProblem> FindPlacementProblems(const ChildSpec& child, bool is_made_by_class);

// True if `name` is a DNS label of small letters: letters, digits and inner hyphens (RFC 1035, with RFC 1123's leading
// digit).
bool IsDnsLabel(absl::string_view name);

}  // namespace understudy

#endif  // UNDERSTUDY_SUPERVISION_INTERNAL_FIELD_ERRORS_H_
