// OpsCaller: identifies a client of the operator's service and says what it may do. A plain value; any thread.
#ifndef UNDERSTUDY_TRANSPORT_OPS_OPS_CALLER_H_
#define UNDERSTUDY_TRANSPORT_OPS_OPS_CALLER_H_

#include <set>
#include <string>
#include <vector>

#include "absl/status/status.h"
#include "absl/strings/string_view.h"
#include "understudy/transport/grants.h"
#include "understudy/transport/node.h"
#include "understudy/transport/session/stream_identity.h"

namespace understudy::internal {

struct OpsCaller {
  std::string name;             // for the log: "user 1000", "certificate 'alice'", "a process of this machine"
  std::set<OpsAction> allowed;  // with kRead
  std::string where;            // what decides that, for errors: "OpsOptions::actions"

  bool May(OpsAction action) const { return allowed.contains(action); }
  // PermissionDenied unless the caller may read.
  absl::Status CheckMayRead() const;
  // PermissionDenied unless the caller may do all of `actions`; `asked` says what for, as in "stop clerk".
  absl::Status Check(const std::vector<OpsAction>& actions, absl::string_view asked) const;
};

// The caller that has proved `identity`, with `actions` if it is a process of this user. `node` is null only if all
// are.
OpsCaller CallerOf(const StreamIdentity& identity, const Node* node, const std::set<OpsAction>& actions);

}  // namespace understudy::internal

#endif  // UNDERSTUDY_TRANSPORT_OPS_OPS_CALLER_H_
