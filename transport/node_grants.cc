#include "understudy/transport/node_grants.h"

#include <set>
#include <string>
#include <utility>
#include <vector>

#include "absl/status/status.h"
#include "absl/status/statusor.h"
#include "absl/strings/string_view.h"
#include "absl/synchronization/mutex.h"
#include "understudy/transport/grants.h"
#include "understudy/transport/session/stream_identity.h"

namespace understudy::internal {

absl::Status NodeGrants::SetEntries(std::vector<GrantEntry> entries, Install install) {
  absl::MutexLock lock(&mu_);
  GrantTable table = table_;
  table.entries = std::move(entries);
  const absl::StatusOr<Grants> grants = Grants::Make(table);
  if (!grants.ok()) return grants.status();
  table_ = std::move(table);
  InstallTable(install);
  return absl::OkStatus();
}

void NodeGrants::InstallTable(Install install) {
  present_ = *Grants::Make(table_);  // accepted before; the names of siblings are not checked
  install(present_);
}

std::set<OpsAction> NodeGrants::OpsOf(const StreamIdentity& identity) const {
  absl::MutexLock lock(&mu_);
  return present_.OpsOf(identity);
}

void NodeGrants::AddSibling(absl::string_view node, Install install) {
  absl::MutexLock lock(&mu_);
  if (table_.siblings.emplace(node).second) InstallTable(install);
}

void NodeGrants::RemoveSibling(absl::string_view node, Install install) {
  absl::MutexLock lock(&mu_);
  if (table_.siblings.erase(std::string(node)) > 0) InstallTable(install);
}

}  // namespace understudy::internal
