// AllTreePages: a node's supervision tree, from as many replies as it takes. Any thread.
#ifndef UNDERSTUDY_TOOLS_UNDERSTUDY_TREE_PAGES_H_
#define UNDERSTUDY_TOOLS_UNDERSTUDY_TREE_PAGES_H_

#include <cstddef>
#include <cstdint>

#include "absl/functional/function_ref.h"
#include "absl/status/statusor.h"
#include "understudy/proto/ops.pb.h"

namespace understudy::tool {

using AskTree = absl::FunctionRef<absl::StatusOr<proto::GetTreeReply>(const proto::GetTreeRequest&)>;

// Asks for page after page, until the last one or until there are `entries_max` supervisors and children; then `next`
// is set in what is returned. Each supervisor is there once, with all its children. Internal: a page does not say that
// the next one begins after it.
absl::StatusOr<proto::GetTreeReply> AllTreePages(size_t entries_max, AskTree ask);

// Sets the clock of `tree` to `clock_nanos` and moves all its times with it, so that they can be shown beside those of
// another node.
void MoveClock(int64_t clock_nanos, proto::GetTreeReply& tree);

}  // namespace understudy::tool

#endif  // UNDERSTUDY_TOOLS_UNDERSTUDY_TREE_PAGES_H_
