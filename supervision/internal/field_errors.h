// Parts of FindSpecErrors (spec_errors.h): what is wrong with a pool, with the restart budget of a child, and with
// where a child is to run.
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

// Returns the problems of `spec.pool`, but those that its template has as a child. None if `spec` is not a pool, unless
// it has `stop_together` beside a strategy with an order.
std::vector<FieldProblem> FindPoolProblems(const SupervisorSpec& spec);

// Returns the problems of `child.budget` and `child.exclusive`.
std::vector<FieldProblem> FindBudgetProblems(const ChildSpec& child, const SupervisorSpec& parent);

// Returns the problems of `child.placement` and of the fields that a child with a placement may not have; none without
// a placement. `is_made_by_class`: the child is the template of a pool of a class, which makes its children.
std::vector<FieldProblem> FindPlacementProblems(const ChildSpec& child, bool is_made_by_class);

// A DNS label: letters, digits and inner hyphens (RFC 1035, with RFC 1123's
// leading digit).
bool IsDnsLabel(absl::string_view name);

}  // namespace understudy

#endif  // UNDERSTUDY_SUPERVISION_INTERNAL_FIELD_ERRORS_H_
