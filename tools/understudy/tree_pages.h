// AllTreePages, AllActorPages, AllNamePages: a node's supervision tree, its actors or its names, from as many replies
// as it takes. A node whose pages do not end is refused (PageBound). Any thread.
#ifndef UNDERSTUDY_TOOLS_UNDERSTUDY_TREE_PAGES_H_
#define UNDERSTUDY_TOOLS_UNDERSTUDY_TREE_PAGES_H_

#include <google/protobuf/message.h>

#include <cstddef>
#include <cstdint>
#include <vector>

#include "absl/functional/function_ref.h"
#include "absl/status/status.h"
#include "absl/status/statusor.h"
#include "absl/strings/string_view.h"
#include "understudy/proto/ops.pb.h"

namespace understudy::tool {

// Counts the pages of one answer, so that a listener that is not a node cannot give pages for ever.
class PageBound {
 public:
  // Ten times as many pages as the names or actors of the largest node have, and the bytes of the actors of a node that
  // has as many as a system has unless told otherwise.
  static constexpr int kPagesMax = 10'000;
  static constexpr size_t kBytesMax = size_t{2} << 30;

  // ResourceExhausted: with this page there are more.
  absl::Status Add(const google::protobuf::Message& page);

 private:
  int pages_ = 0;
  size_t bytes_ = 0;
};

// The bounds of what is read of a tree: supervisors and children, and their bytes before they become text.
struct TreeBounds {
  size_t entries_max = SIZE_MAX;
  size_t bytes_max = SIZE_MAX;
};

using AskTree = absl::FunctionRef<absl::StatusOr<proto::GetTreeReply>(const proto::GetTreeRequest&)>;

// Asks for page after page, and returns them as one reply. Stops after the last page, at a page's end once there are
// bounds.entries_max supervisors and children, or where bounds.bytes_max would be exceeded; `next` is set in the reply
// if that was not the end of the tree. Each supervisor is in the reply once. Errors: the errors of `ask`; Internal if a
// page says that the next page begins no later than the page itself; ResourceExhausted: see PageBound.
absl::StatusOr<proto::GetTreeReply> AllTreePages(const TreeBounds& bounds, AskTree ask);

using AskActors = absl::FunctionRef<absl::StatusOr<proto::ListActorsReply>(const proto::ListActorsRequest&)>;

// Asks for page after page of the actors that `request` is about. Errors: as AllTreePages.
absl::StatusOr<std::vector<proto::ActorDetails>> AllActorPages(proto::ListActorsRequest request, AskActors ask);

using AskNames = absl::FunctionRef<absl::StatusOr<proto::ListNamesReply>(const proto::ListNamesRequest&)>;

// Asks for page after page of the names that begin with `prefix`, and returns them as one reply. Errors: as
// AllTreePages.
absl::StatusOr<proto::ListNamesReply> AllNamePages(absl::string_view prefix, AskNames ask);

// Sets the clock of `tree` to `clock_nanos` and shifts all times in `tree` by the same difference, so that they can be
// shown beside the times of another node.
void MoveClock(int64_t clock_nanos, proto::GetTreeReply& tree);

}  // namespace understudy::tool

#endif  // UNDERSTUDY_TOOLS_UNDERSTUDY_TREE_PAGES_H_
