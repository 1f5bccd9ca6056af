#include "understudy/supervision/internal/placement_errors.h"

#include <algorithm>
#include <map>
#include <string>
#include <vector>

#include "absl/strings/ascii.h"
#include "absl/strings/str_cat.h"
#include "absl/strings/string_view.h"
#include "absl/time/time.h"
#include "understudy/actors/limits.h"
#include "understudy/supervision/child_spec.h"
#include "understudy/supervision/internal/pool_errors.h"

namespace understudy {

bool IsDnsLabel(absl::string_view name) {
  if (name.empty() || name.size() > limits::kNodeNameBytesMax || name.front() == '-' || name.back() == '-')
    return false;
  return std::all_of(name.begin(), name.end(),
                     [](unsigned char c) { return absl::ascii_islower(c) || absl::ascii_isdigit(c) || c == '-'; });
}

std::vector<FieldProblem> FindPlacementProblems(const ChildSpec& child, bool is_made_by_class) {
  std::vector<FieldProblem> found;
  if (!child.placement.has_value()) return found;
  if (is_made_by_class) {
    found.push_back({"placement",
                     "given for a template whose pool has a class, which makes its children, here; a pool "
                     "that is data makes them by the factory"});
    return found;
  }
  if (child.kind != ChildKind::kWorker) {
    found.push_back({"placement", absl::StrCat("given for a ", ChildKindName(child.kind),
                                               "; only a worker is started on another node (its factory may make a "
                                               "supervisor)")});
    return found;
  }
  if (!child.factory.has_value()) {
    found.push_back({"factory", "is missing: which factory of the other node makes the child?"});
  }
  const NodePlacement& placement = *child.placement;
  if (placement.nodes.empty()) found.push_back({"placement.nodes", "is empty; name at least one node"});
  if (placement.nodes.size() > limits::kPeersMax) {
    found.push_back({"placement.nodes", absl::StrCat("there are ", placement.nodes.size(), "; a node has at most ",
                                                     limits::kPeersMax, " peers")});
  }
  std::map<std::string, int> uses;
  for (const std::string& node : placement.nodes) {
    if (++uses[node] == 2) found.push_back({"placement.nodes", absl::StrCat("'", node, "' is given more than once")});
    if (IsDnsLabel(node) || uses[node] > 1) continue;
    found.push_back(
        {"placement.nodes",
         absl::StrCat("'", node, "' cannot be a node's name: at most 63 small letters, digits and inner hyphens")});
  }
  if (placement.connect_within <= absl::ZeroDuration()) {
    found.push_back({"placement.connect_within", absl::StrCat(absl::FormatDuration(placement.connect_within),
                                                              " is no time to wait for a node; it must be above 0")});
  }
  if (!child.registered_as.empty()) {
    found.push_back({"registered_as", "is a name of this node, and the child runs on another; use published_as"});
  }
  if (child.exclusive) {
    found.push_back({"exclusive", "cannot be kept: when its node is lost nobody knows whether its handler runs on"});
  }
  return found;
}

}  // namespace understudy
