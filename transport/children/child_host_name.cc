#include "understudy/transport/children/child_host_name.h"

#include <string>

#include "absl/strings/str_cat.h"
#include "absl/strings/string_view.h"
#include "understudy/actors/node_table.h"
#include "understudy/actors/pid.h"

namespace understudy::internal {

std::string ChildHostName(absl::string_view node) { return absl::StrCat("understudy/children/", node); }

absl::string_view NodeNameOf(Pid pid) {
  const NodeEntry* entry = NodeTable::Find(pid.place());
  return entry == nullptr ? absl::string_view("?") : absl::string_view(entry->name);
}

}  // namespace understudy::internal
