#include "understudy/transport/node_grants.h"

#include <string>
#include <utility>
#include <vector>

#include "absl/status/status.h"
#include "absl/status/statusor.h"
#include "absl/strings/string_view.h"
#include "absl/synchronization/mutex.h"
#include "understudy/transport/grants.h"

namespace understudy::internal {

absl::Status NodeGrants::SetEntries(std::vector<GrantEntry> entries, Install install) {
  absl::MutexLock lock(&mu_);
  GrantTable table = table_;
  table.entries = std::move(entries);
  absl::StatusOr<Grants> grants = Grants::Make(table);
  if (!grants.ok()) return grants.status();
  table_ = std::move(table);
  install(*std::move(grants));
  return absl::OkStatus();
}

void NodeGrants::AddSibling(absl::string_view node, Install install) {
  absl::MutexLock lock(&mu_);
  // Make cannot fail: it accepted the entries before, and it does not check the names of siblings.
  if (table_.siblings.emplace(node).second) install(*Grants::Make(table_));
}

void NodeGrants::RemoveSibling(absl::string_view node, Install install) {
  absl::MutexLock lock(&mu_);
  if (table_.siblings.erase(std::string(node)) > 0) install(*Grants::Make(table_));
}

}  // namespace understudy::internal
