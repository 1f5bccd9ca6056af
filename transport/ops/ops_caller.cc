#include "understudy/transport/ops/ops_caller.h"

#include <unistd.h>

#include <set>
#include <string>
#include <vector>

#include "absl/status/status.h"
#include "absl/strings/str_cat.h"
#include "absl/strings/str_join.h"
#include "absl/strings/string_view.h"
#include "understudy/transport/ops/ops_reads.h"

namespace understudy::internal {

absl::Status OpsCaller::CheckMayRead() const {
  if (May(OpsAction::kRead)) return absl::OkStatus();
  return absl::PermissionDeniedError(
      absl::StrCat("this node lets ", name, " read nothing: ", where, " lacks OpsAction::kRead"));
}

absl::Status OpsCaller::Check(const std::vector<OpsAction>& actions, absl::string_view asked) const {
  for (const OpsAction action : actions) {
    if (May(action)) continue;
    return absl::PermissionDeniedError(
        absl::StrCat("this node does not allow ", name, " to ", asked, ": ", where, " lacks ", OpsActionName(action)));
  }
  return absl::OkStatus();
}

OpsCaller CallerOf(const StreamIdentity& identity, const Node* node, const std::set<OpsAction>& actions) {
  using Proof = StreamIdentity::Proof;
  if (identity.proof == Proof::kSameUser) {
    OpsCaller caller{.name = absl::StrCat("user ", geteuid()), .allowed = actions, .where = "OpsOptions::actions"};
    caller.allowed.insert(OpsAction::kRead);
    return caller;
  }
  OpsCaller caller;
  if (node != nullptr) caller.allowed = node->OpsGrants(identity);
  if (identity.proof == Proof::kCertificate) {
    const std::string names = ShownText(absl::StrJoin(identity.names, ", "));
    caller.name = absl::StrCat("certificate '", names, "'");
    caller.where = absl::StrCat("GrantEntry::ops of '", names, "'");
  } else {
    caller.name = "a process of this machine";
    caller.where = "NodeOptions::insecure_loopback_ops";
  }
  return caller;
}

}  // namespace understudy::internal
