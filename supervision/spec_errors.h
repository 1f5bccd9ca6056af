// FindSpecErrors: finds the errors of a supervision tree before it starts.
//
// Every bad field gives one error of its own, and all are found at once. An
// error says where the field is (the ids from the root), which field it is, its
// value, and what is expected. Besides bad values FindSpecErrors finds combinations
// that cannot work: ids and names given twice, a supervisor that has less time to
// stop than its children need, a significant permanent child, a backoff that never
// begins because of the intensity or the child's own budget, a child with nothing
// to start.
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
  // `where` as indices from the root, which are unique even if two children have the same id.
  std::vector<size_t> path;
  // The index that stands for the template of a pool in a path.
  static constexpr size_t kTemplate = SIZE_MAX;

  // "child 'lots': shutdown: 5s is not more than …"
  std::string ToString() const;
};

// Describes the child at that path: "child 'lots' / child 'lot-1'". Empty for the root.
std::string PlaceOf(const SupervisorSpec& root, const std::vector<size_t>& path);

// Returns the errors in the order of the tree, followed by those about names and node names that are used twice. Empty
// if the tree is valid.
std::vector<SpecError> FindSpecErrors(const SupervisorSpec& spec);

// Returns the errors of one child that is to be added to a running supervisor with the flags of `parent`, whose
// `children` are ignored.
std::vector<SpecError> FindSpecErrors(const ChildSpec& child, const SupervisorSpec& parent);

// OK, or InvalidArgument with all the errors, one a line.
absl::Status ValidateSpec(const SupervisorSpec& spec);
absl::Status ValidateSpec(const ChildSpec& child, const SupervisorSpec& parent);

}  // namespace understudy

#endif  // UNDERSTUDY_SUPERVISION_SPEC_ERRORS_H_
