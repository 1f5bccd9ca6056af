// NodeGrants: what a node grants at present: the entries of its options, which
// may be replaced, and to process children of its own parent, which come and go,
// that they publish any name.
//
// A sibling on a Unix socket is known by its user. One that comes over TCP is
// known by its certificate, and only the parent's word makes it a sibling.
//
// Threads: any. `install` is called with the grants that hold from then on, one
// call at a time, in the order of the changes; it must not call back.
#ifndef UNDERSTUDY_TRANSPORT_NODE_GRANTS_H_
#define UNDERSTUDY_TRANSPORT_NODE_GRANTS_H_

#include <vector>

#include "absl/base/thread_annotations.h"
#include "absl/functional/function_ref.h"
#include "absl/status/status.h"
#include "absl/strings/string_view.h"
#include "absl/synchronization/mutex.h"
#include "understudy/transport/grants.h"

namespace understudy::internal {

class NodeGrants {
 public:
  using Install = absl::FunctionRef<void(Grants)>;

  explicit NodeGrants(bool insecure_loopback_grants) { table_.insecure_loopback_grants = insecure_loopback_grants; }

  // Grants::Make's error; then nothing has changed.
  absl::Status SetEntries(std::vector<GrantEntry> entries, Install install);
  void AddSibling(absl::string_view node, Install install);
  void RemoveSibling(absl::string_view node, Install install);

 private:
  absl::Mutex mu_;
  GrantTable table_ ABSL_GUARDED_BY(mu_);  // valid
};

}  // namespace understudy::internal

#endif  // UNDERSTUDY_TRANSPORT_NODE_GRANTS_H_
