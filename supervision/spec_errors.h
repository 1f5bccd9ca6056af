// FindSpecErrors: what is wrong with a supervision tree, before it starts.
//
// Every bad field gives one error of its own, and all are found at once. An
// error says where (the ids from the root), which field, its value, and what
// would be right. Besides bad values it finds what cannot work: ids and names
// given twice, a supervisor that has less time to stop than its children need
// one after another, a significant permanent child, a backoff that the
// intensity or the child's own budget never lets begin, a child with nothing to
// start.
//
//   absl::Status status = ValidateSpec(spec);
//   // INVALID_ARGUMENT: 2 errors in the supervision tree:
//   //   intensity: -1 is negative; 0 or more restarts may be allowed
//   //   child 'lots' / child 'lot-1': id: given to 2 children; each needs its own
//
// Pure functions; any thread.
#ifndef UNDERSTUDY_SUPERVISION_SPEC_ERRORS_H_
#define UNDERSTUDY_SUPERVISION_SPEC_ERRORS_H_

#include <cstddef>
#include <cstdint>
#include <string>
#include <vector>

#include "absl/status/status.h"
#include "understudy/supervision/child_spec.h"

namespace understudy {

struct SpecError {
  std::string where;  // "child 'lots' / child 'lot-1'"; empty for the root
  std::string field;  // "shutdown"
  std::string what;   // "5s is not more than …"
  // `where` as indices from the root: unlike ids they are never the same.
  std::vector<size_t> path;
  // In a path: the template of a pool.
  static constexpr size_t kTemplate = SIZE_MAX;

  // "child 'lots': shutdown: 5s is not more than …"
  std::string ToString() const;
};

// "child 'lots' / child 'lot-1'": the child at that path. Empty for the root.
std::string PlaceOf(const SupervisorSpec& root, const std::vector<size_t>& path);

// In the order of the tree. Empty when the tree is good.
std::vector<SpecError> FindSpecErrors(const SupervisorSpec& spec);

// The errors of one child to be added to a running supervisor of that kind
// (its `children` are not looked at).
std::vector<SpecError> FindSpecErrors(const ChildSpec& child, const SupervisorSpec& parent);

// OK, or InvalidArgument with all the errors, one a line.
absl::Status ValidateSpec(const SupervisorSpec& spec);
absl::Status ValidateSpec(const ChildSpec& child, const SupervisorSpec& parent);

}  // namespace understudy

#endif  // UNDERSTUDY_SUPERVISION_SPEC_ERRORS_H_
