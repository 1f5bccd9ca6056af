// What is wrong with where a child is to run. Parts of FindSpecErrors.
//
// Pure functions; any thread.
#ifndef UNDERSTUDY_SUPERVISION_INTERNAL_PLACEMENT_ERRORS_H_
#define UNDERSTUDY_SUPERVISION_INTERNAL_PLACEMENT_ERRORS_H_

#include <vector>

#include "absl/strings/string_view.h"
#include "understudy/supervision/child_spec.h"
#include "understudy/supervision/internal/pool_errors.h"

namespace understudy {

// A DNS label: letters, digits and inner hyphens (RFC 1035, with RFC 1123's
// leading digit).
bool IsDnsLabel(absl::string_view name);

// Of a child that has a placement; nothing for others. `is_made_by_class`: it is
// the template of a pool of a class, which makes its members.
std::vector<FieldProblem> FindPlacementProblems(const ChildSpec& child, bool is_made_by_class);

}  // namespace understudy

#endif  // UNDERSTUDY_SUPERVISION_INTERNAL_PLACEMENT_ERRORS_H_
