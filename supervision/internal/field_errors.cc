#include "understudy/supervision/internal/field_errors.h"

#include <algorithm>
#include <cstddef>
#include <cstdint>
#include <map>
#include <string>
#include <vector>

#include "absl/strings/ascii.h"
#include "absl/strings/match.h"
#include "absl/strings/str_cat.h"
#include "absl/strings/string_view.h"
#include "absl/time/time.h"
#include "understudy/actors/limits.h"
#include "understudy/supervision/child_spec.h"
#include "understudy/supervision/internal/member_ids.h"
#include "understudy/supervision/limits.h"

namespace understudy {
namespace {

// Leaves room for '-' and a number of up to 20 digits, as in "job-17" (MemberNodeName).
constexpr size_t kProcessIdBytesMax = limits::kNodeNameBytesMax - 1 - 20;

}  // namespace

std::vector<FieldProblem> FindPoolProblems(const SupervisorSpec& spec) {
  std::vector<FieldProblem> found;
  // False for a value that is no RestartStrategy at all, which is reported elsewhere (FindSpecErrors).
  const bool has_order = spec.strategy == RestartStrategy::kOneForAll || spec.strategy == RestartStrategy::kRestForOne;
  if (spec.stop_together && has_order) {
    found.push_back({"stop_together", absl::StrCat(RestartStrategyName(spec.strategy),
                                                   " stops its children in an order; use one_for_one, or false")});
  }
  if (spec.pool == nullptr) return found;
  const PoolSpec& pool = *spec.pool;
  if (!spec.children.empty()) {
    found.push_back(
        {"children", absl::StrCat("there are ", spec.children.size(),
                                  "; a pool must have none here, since it starts its children by request")});
  }
  if (has_order) {
    found.push_back(
        {"strategy", absl::StrCat(RestartStrategyName(spec.strategy),
                                  " needs an order, which a pool's children do not have; use one_for_one")});
  }
  if (pool.children_max < 1 || pool.children_max > static_cast<int64_t>(limits::kChildrenPerSupervisorMax)) {
    found.push_back({"pool.children_max",
                     absl::StrCat(pool.children_max, " is not in [1, ", limits::kChildrenPerSupervisorMax, "]")});
  }
  if (pool.shards < 1 || pool.shards > limits::kPoolShardsMax) {
    found.push_back({"pool.shards", absl::StrCat(pool.shards, " is not in [1, ", limits::kPoolShardsMax, "]")});
  } else if (pool.shards > 1 && spec.auto_shutdown != AutoShutdown::kNever) {
    found.push_back({"auto_shutdown", "a shard does not know the children of the other shards; use 1 shard, or never"});
  }
  for (const std::string& name : {pool.child.registered_as, pool.child.published_as}) {
    if (name.empty() || absl::StrContains(name, kIdInName)) continue;
    found.push_back({"pool.child", absl::StrCat("has the name '", name,
                                                "', which only one of its children could have; put {id} into it, which "
                                                "stands for the id of each")});
  }
  if (pool.child.process.has_value() && !pool.child.process->node_name.empty()) {
    found.push_back({"pool.child", absl::StrCat("has the node name '", pool.child.process->node_name,
                                                "', which only one of its children could have; leave it out, and each "
                                                "is named by its id")});
  }
  if (pool.child.process.has_value() && pool.child.id.size() > kProcessIdBytesMax) {
    found.push_back({"pool.child", absl::StrCat("the id has ", pool.child.id.size(), " bytes; at most ",
                                                kProcessIdBytesMax, " leave room for a number in a node's name")});
  }
  if (IsMadeUpId(pool.child.id)) {
    found.push_back({"pool.child",
                     absl::StrCat("the id '", pool.child.id,
                                  "' contains '#', which the pool puts before its children's numbers; leave it out")});
  }
  return found;
}

std::vector<FieldProblem> FindBudgetProblems(const ChildSpec& child, const SupervisorSpec& parent) {
  std::vector<FieldProblem> found;
  const bool is_temporary = child.restart == RestartType::kTemporary;
  if (child.exclusive && is_temporary) found.push_back({"exclusive", "a temporary child is never restarted"});
  if (!child.budget.has_value()) return found;
  const RestartBudget& budget = *child.budget;
  if (is_temporary) found.push_back({"budget", "a temporary child is never restarted"});
  if (budget.intensity < 0 || budget.intensity > limits::kRestartIntensityMax) {
    found.push_back(
        {"budget.intensity", absl::StrCat(budget.intensity, " is not in [0, ", limits::kRestartIntensityMax, "]")});
    return found;
  }
  if (budget.period <= absl::ZeroDuration() || budget.period == absl::InfiniteDuration()) {
    found.push_back({"budget.period", absl::StrCat(absl::FormatDuration(budget.period),
                                                   " is not a period; it must be above 0 and finite")});
    return found;
  }
  if (budget.intensity > parent.intensity && budget.period <= parent.period) {
    found.push_back({"budget", absl::StrCat("is never spent: its supervisor gives up first, after ", parent.intensity,
                                            " restarts within ", absl::FormatDuration(parent.period))});
  }
  if (child.backoff.has_value() && child.backoff->reset_after > absl::ZeroDuration()) {
    // With a backoff, only the first restart after each healthy run is counted.
    absl::Duration rest;
    const int64_t healthy_times = absl::IDivDuration(budget.period, child.backoff->reset_after, &rest);
    if (healthy_times < budget.intensity) {
      found.push_back({"budget", absl::StrCat("is never spent: with this backoff at most ", healthy_times + 1,
                                              healthy_times == 0 ? " restart is" : " restarts are", " counted within ",
                                              absl::FormatDuration(budget.period))});
    }
  }
  return found;
}

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
    found.push_back({"factory", "is missing; name the factory of the other node that makes the child"});
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
    found.push_back(
        {"placement.connect_within", absl::StrCat(absl::FormatDuration(placement.connect_within),
                                                  " leaves no time to connect to a node; it must be above 0")});
  }
  if (!child.registered_as.empty()) {
    found.push_back({"registered_as", "is a name of this node, and the child runs on another; use published_as"});
  }
  if (child.exclusive) {
    found.push_back(
        {"exclusive",
         "cannot be promised on another node: when that node is lost, a handler of the child may still run there"});
  }
  return found;
}

}  // namespace understudy
