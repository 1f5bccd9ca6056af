// UnownedNames: the names that were resolved lately although they had no owner, so that
// the error of a send through such a name can say which name it was. A pid is too small
// for a name: the pid that stands for an owner that is missing has a tag of the name
// (Pid::Unnamed), and the name is looked for here when the error is made.
//
// The process has one table, with limits::kUnownedNamesMax slots. A name has a fixed
// slot, which it loses when another name with that slot is resolved; the error then says
// "that name". Two names have the same tag with a probability of 1 in 2^30; then the
// error may tell the wrong one.
//
// Threads: any. Sends to an actor do not come here.
#ifndef UNDERSTUDY_ACTORS_INTERNAL_SYSTEM_UNOWNED_NAMES_H_
#define UNDERSTUDY_ACTORS_INTERNAL_SYSTEM_UNOWNED_NAMES_H_

#include <cstdint>
#include <string>

#include "absl/status/status.h"
#include "absl/strings/string_view.h"
#include "understudy/actors/pid.h"

namespace understudy::internal {

class UnownedNames {
 public:
  // Remembers `name` and returns its tag: the same for the same name, above 0 and at most
  // Pid::kNameTagMax.
  static uint32_t Remember(absl::string_view name);
  // Returns the name with that tag, or "" if it is not remembered. A name longer than
  // limits::kNameBytesMax, which no actor can have, is cut.
  static std::string Find(uint32_t tag);
};

// The errors of a send to the owner of `name`, which is missing. An empty `name` is one that
// is not known.
absl::Status NoNameError(absl::string_view name);
absl::Status RestartingError(absl::string_view name);
// The error of a send to `unnamed`, for which is_unnamed() is true.
absl::Status UnnamedError(Pid unnamed);

}  // namespace understudy::internal

#endif  // UNDERSTUDY_ACTORS_INTERNAL_SYSTEM_UNOWNED_NAMES_H_
