#include "understudy/supervision/child_spec.h"

#include <algorithm>
#include <cstddef>
#include <cstdint>
#include <memory>
#include <string>
#include <utility>
#include <vector>

#include "absl/strings/str_cat.h"
#include "absl/strings/str_join.h"
#include "absl/strings/string_view.h"
#include "absl/time/time.h"
#include "understudy/actors/internal/system/split_mix.h"
#include "understudy/supervision/limits.h"

namespace understudy {
namespace {

std::string ShutdownText(const ChildShutdown& shutdown) {
  switch (shutdown.kind) {
    case ChildShutdown::Kind::kWithin:
      return absl::StrCat("stopped within ", absl::FormatDuration(shutdown.timeout));
    case ChildShutdown::Kind::kBrutalKill:
      return "killed";
    case ChildShutdown::Kind::kInfinity:
      return "stopped without limit";
  }
  return "?";
}

std::string PlacementText(const NodePlacement& placement) {
  const absl::string_view how = placement.spread              ? " spread over "
                                : placement.nodes.size() == 1 ? " on "
                                                              : " on any of ";
  return absl::StrCat(how, absl::StrJoin(placement.nodes, ", "));
}

std::string RestartsText(int intensity, absl::Duration period) {
  return absl::StrCat(intensity, intensity == 1 ? " restart in " : " restarts in ", absl::FormatDuration(period));
}

void Describe(const SupervisorSpec& spec, int depth, std::string& out) {
  const std::string indent(static_cast<size_t>(depth) * 2, ' ');
  absl::StrAppend(&out, indent, spec.pool != nullptr ? "pool" : RestartStrategyName(spec.strategy), ", at most ",
                  RestartsText(spec.intensity, spec.period));
  if (spec.stop_together) absl::StrAppend(&out, ", stopped together");
  if (spec.pool != nullptr && spec.pool->shards > 1) absl::StrAppend(&out, ", in ", spec.pool->shards, " shards");
  absl::StrAppend(&out, "\n");
  if (spec.pool != nullptr) absl::StrAppend(&out, indent, "  each ", DescribeChild(spec.pool->child), "\n");
  for (const ChildSpec& child : spec.children) {
    absl::StrAppend(&out, indent, "  ", DescribeChild(child), "\n");
    if (child.subtree != nullptr && depth < 2 * limits::kTreeDepthMax) Describe(*child.subtree, depth + 2, out);
  }
}

// Destroys the tree. Subtrees that no other tree shares are destroyed afterwards by the loop of the outermost call, not
// by recursion, so that a deep tree needs no deep stack.
void Destroy(const SupervisorSpec* tree) {
  thread_local std::vector<const SupervisorSpec*>* later = nullptr;
  if (later != nullptr) {
    later->push_back(tree);
    return;
  }
  std::vector<const SupervisorSpec*> trees = {tree};
  later = &trees;
  while (!trees.empty()) {
    const SupervisorSpec* const next = trees.back();
    trees.pop_back();
    delete next;
  }
  later = nullptr;
}

}  // namespace

std::shared_ptr<const SupervisorSpec> Subtree(SupervisorSpec tree) {
  return std::shared_ptr<const SupervisorSpec>(new SupervisorSpec(std::move(tree)), &Destroy);
}

ChildShutdown ChildShutdown::Within(absl::Duration timeout) {
  if (timeout == absl::InfiniteDuration()) return Infinity();
  return {Kind::kWithin, timeout};
}
ChildShutdown ChildShutdown::BrutalKill() { return {Kind::kBrutalKill, absl::ZeroDuration()}; }
ChildShutdown ChildShutdown::Infinity() { return {Kind::kInfinity, absl::InfiniteDuration()}; }

absl::Duration ChildShutdown::LongestStop() const {
  switch (kind) {
    case Kind::kWithin:
      return timeout;
    case Kind::kBrutalKill:
      return absl::ZeroDuration();
    case Kind::kInfinity:
      return absl::InfiniteDuration();
  }
  return absl::InfiniteDuration();
}

NodePlacement OnNode(std::string node) { return OnAnyOf({std::move(node)}); }
NodePlacement OnAnyOf(std::vector<std::string> nodes) { return {.nodes = std::move(nodes)}; }
NodePlacement SpreadOver(std::vector<std::string> nodes) { return {.nodes = std::move(nodes), .spread = true}; }

std::vector<std::string> NodesInTurn(const NodePlacement& placement, absl::string_view child_id) {
  std::vector<std::string> nodes = placement.nodes;
  if (!placement.spread || nodes.empty()) return nodes;
  uint64_t hash = 14695981039346656037U;  // FNV-1a
  for (const char c : child_id) hash = (hash ^ static_cast<unsigned char>(c)) * 1099511628211U;
  hash = internal::SplitMix64(hash, 0);  // FNV alone spreads short, similar ids badly
  const size_t first = hash % nodes.size();
  std::rotate(nodes.begin(), nodes.begin() + static_cast<std::ptrdiff_t>(first), nodes.end());
  return nodes;
}

ChildShutdown ShutdownOf(const ChildSpec& child) {
  if (child.shutdown.has_value()) return *child.shutdown;
  return child.kind == ChildKind::kSupervisor ? ChildShutdown::Infinity() : ChildShutdown();
}

absl::Duration LongestStopOfChildren(const SupervisorSpec& spec) {
  if (spec.pool != nullptr) return ShutdownOf(spec.pool->child).LongestStop();
  absl::Duration sum = absl::ZeroDuration();
  for (const ChildSpec& child : spec.children) {
    const absl::Duration stop = ShutdownOf(child).LongestStop();
    sum = spec.stop_together ? std::max(sum, stop) : sum + stop;
  }
  return sum;
}

absl::string_view RestartTypeName(RestartType type) {
  switch (type) {
    case RestartType::kPermanent:
      return "permanent";
    case RestartType::kTransient:
      return "transient";
    case RestartType::kTemporary:
      return "temporary";
  }
  return "?";
}

absl::string_view RestartStrategyName(RestartStrategy strategy) {
  switch (strategy) {
    case RestartStrategy::kOneForOne:
      return "one_for_one";
    case RestartStrategy::kOneForAll:
      return "one_for_all";
    case RestartStrategy::kRestForOne:
      return "rest_for_one";
  }
  return "?";
}

absl::string_view ChildKindName(ChildKind kind) {
  switch (kind) {
    case ChildKind::kWorker:
      return "worker";
    case ChildKind::kSupervisor:
      return "supervisor";
    case ChildKind::kProcess:
      return "process";
  }
  return "?";
}

std::string DescribeChild(const ChildSpec& child) {
  std::string text = absl::StrCat(child.id, ": ", RestartTypeName(child.restart), " ", ChildKindName(child.kind));
  if (child.process.has_value()) absl::StrAppend(&text, " ", child.process->binary);
  if (child.factory.has_value()) absl::StrAppend(&text, " ", child.factory->name);
  if (child.placement.has_value()) absl::StrAppend(&text, PlacementText(*child.placement));
  absl::StrAppend(&text, ", ", ShutdownText(ShutdownOf(child)));
  if (child.significant) absl::StrAppend(&text, ", significant");
  if (child.backoff.has_value()) {
    absl::StrAppend(&text, ", backoff from ", absl::FormatDuration(child.backoff->min), " to ",
                    absl::FormatDuration(child.backoff->max));
  }
  if (child.budget.has_value()) {
    absl::StrAppend(&text, ", itself at most ", RestartsText(child.budget->intensity, child.budget->period));
  }
  if (child.exclusive) absl::StrAppend(&text, ", exclusive");
  if (child.start_within != absl::InfiniteDuration()) {
    absl::StrAppend(&text, ", started within ", absl::FormatDuration(child.start_within));
  }
  if (!child.registered_as.empty()) absl::StrAppend(&text, ", registered as ", child.registered_as);
  if (!child.published_as.empty()) absl::StrAppend(&text, ", published as ", child.published_as);
  return text;
}

std::string DescribeTree(const SupervisorSpec& spec) {
  std::string out;
  Describe(spec, 0, out);
  return out;
}

}  // namespace understudy
