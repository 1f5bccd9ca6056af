// NodeGrants: the grants of a node at present. They consist of the entries of its
// options, which may be replaced, and of the siblings: process children of this node's
// parent, which come and go and may publish any name.
//
// A sibling that connects over a Unix socket is admitted as a process of the same user.
// A sibling that connects over TCP proves its name by its certificate, and is known to
// be a sibling only because the parent said so.
//
// Threads: any. `install` is called with the grants that hold from then on, one
// call at a time, in the order of the changes; it must not call back.
#ifndef UNDERSTUDY_TRANSPORT_NODE_GRANTS_H_
#define UNDERSTUDY_TRANSPORT_NODE_GRANTS_H_

#include <set>
#include <utility>
#include <vector>

#include "absl/base/thread_annotations.h"
#include "absl/functional/function_ref.h"
#include "absl/status/status.h"
#include "absl/strings/string_view.h"
#include "absl/synchronization/mutex.h"
#include "understudy/transport/grants.h"
#include "understudy/transport/session/stream_identity.h"

namespace understudy::internal {

class NodeGrants {
 public:
  using Install = absl::FunctionRef<void(Grants)>;

  // SetEntries comes before all else.
  NodeGrants(bool insecure_loopback_grants, std::set<OpsAction> insecure_loopback_ops) {
    table_.insecure_loopback_grants = insecure_loopback_grants;
    table_.insecure_loopback_ops = std::move(insecure_loopback_ops);
  }

  // Replaces the entries. Returns the error of Grants::Make; the entries are then
  // unchanged.
  absl::Status SetEntries(std::vector<GrantEntry> entries, Install install);
  void AddSibling(absl::string_view node, Install install);
  void RemoveSibling(absl::string_view node, Install install);
  // Returns Grants::OpsOf of the present grants.
  std::set<OpsAction> OpsOf(const StreamIdentity& identity) const;

 private:
  // Has the table's grants hold from now on.
  void InstallTable(Install install) ABSL_EXCLUSIVE_LOCKS_REQUIRED(mu_);

  mutable absl::Mutex mu_;
  GrantTable table_ ABSL_GUARDED_BY(mu_);  // Grants::Make accepts it
  Grants present_ ABSL_GUARDED_BY(mu_);    // what it made of table_
};

}  // namespace understudy::internal

#endif  // UNDERSTUDY_TRANSPORT_NODE_GRANTS_H_
