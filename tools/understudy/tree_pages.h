// AllTreePages, AllActorPages, AllNamePages: a node's supervision tree, its actors or its names, from as many replies
// as it takes. Any thread.
#ifndef UNDERSTUDY_TOOLS_UNDERSTUDY_TREE_PAGES_H_
#define UNDERSTUDY_TOOLS_UNDERSTUDY_TREE_PAGES_H_

#include <cstddef>
#include <cstdint>
#include <vector>

#include "absl/functional/function_ref.h"
#include "absl/status/statusor.h"
#include "absl/strings/string_view.h"
#include "understudy/proto/ops.pb.h"

namespace understudy::tool {

using AskTree = absl::FunctionRef<absl::StatusOr<proto::GetTreeReply>(const proto::GetTreeRequest&)>;

// Asks for page after page, and returns them as one reply. Stops after the last page, or at a page's end once there are
// `entries_max` supervisors and children; then `next` is set in the reply. Each supervisor is in the reply once, with
// all its children. Errors: the errors of `ask`; Internal if a page says that the next page begins no later than the
// page itself.
absl::StatusOr<proto::GetTreeReply> AllTreePages(size_t entries_max, AskTree ask);

using AskActors = absl::FunctionRef<absl::StatusOr<proto::ListActorsReply>(const proto::ListActorsRequest&)>;

// Asks for page after page of the actors that `request` is about. Errors: the errors of `ask`; Internal if a page says
// that the next page begins no later than the page itself.
absl::StatusOr<std::vector<proto::ActorDetails>> AllActorPages(proto::ListActorsRequest request, AskActors ask);

using AskNames = absl::FunctionRef<absl::StatusOr<proto::ListNamesReply>(const proto::ListNamesRequest&)>;

// Asks for page after page of the names that begin with `prefix`, and returns them as one reply. Errors: the errors of
// `ask`; Internal if a page says that the next page begins where the page itself does.
absl::StatusOr<proto::ListNamesReply> AllNamePages(absl::string_view prefix, AskNames ask);

// Sets the clock of `tree` to `clock_nanos` and shifts all times in `tree` by the same difference, so that they can be
// shown beside the times of another node.
void MoveClock(int64_t clock_nanos, proto::GetTreeReply& tree);

}  // namespace understudy::tool

#endif  // UNDERSTUDY_TOOLS_UNDERSTUDY_TREE_PAGES_H_
