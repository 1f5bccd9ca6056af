#include "understudy/tools/understudy/observer/tree_changes.h"

#include <algorithm>
#include <cstddef>
#include <map>
#include <string>
#include <utility>
#include <vector>

#include "absl/strings/str_cat.h"
#include "absl/strings/str_join.h"
#include "absl/strings/string_view.h"
#include "understudy/proto/ops.pb.h"
#include "understudy/tools/understudy/observer/json.h"
#include "understudy/tools/understudy/observer/observer_limits.h"

namespace understudy::tool {
namespace {

// Joins from `next` on, with commas, what keeps the whole below a part's length, but at least one if `text` is empty.
std::string TakeSome(const std::vector<std::string>& items, size_t& next, size_t used) {
  std::string text;
  while (next < items.size() && (used + text.size() == 0 || used + text.size() < limits::kObserverTreePartChars)) {
    absl::StrAppend(&text, text.empty() ? "" : ",", items[next++]);
  }
  return text;
}

}  // namespace

std::vector<std::string> TreeChanges::Look(proto::GetTreeReply tree) {
  const std::map<std::string, Known> before = std::exchange(supervisors_, {});
  Changes changes;
  for (proto::SupervisorDetails& supervisor : *tree.mutable_supervisors()) {
    const auto [place, is_new] = supervisors_.try_emplace(supervisor.pid());
    if (!is_new) continue;  // an impostor may name a pid twice
    Known& now = place->second;
    now.children.Swap(supervisor.mutable_children());
    now.own = std::move(supervisor);
    const auto old = before.find(place->first);
    old == before.end() ? changes.supervisors.push_back(WholeJson(now)) : AddChanges(old->second, now, changes);
  }
  for (const auto& [pid, supervisor] : before) {
    if (!supervisors_.contains(pid)) changes.gone.push_back(ToJson(absl::string_view(pid)));
  }
  clock_nanos_ = tree.clock_nanos();
  const bool more_changed = std::exchange(has_more_, tree.has_next()) != has_more_;
  const bool has_changes =
      !changes.gone.empty() || !changes.supervisors.empty() || !changes.own.empty() || !changes.children.empty();
  if (!has_changes && !more_changed) return {};
  return Parts(/*is_whole=*/false, changes);
}

std::vector<std::string> TreeChanges::All() const {
  Changes all;
  all.supervisors.reserve(supervisors_.size());
  for (const auto& [pid, supervisor] : supervisors_) all.supervisors.push_back(WholeJson(supervisor));
  return Parts(/*is_whole=*/true, all);
}

std::string TreeChanges::WholeJson(const Known& supervisor) {
  proto::SupervisorDetails whole = supervisor.own;
  *whole.mutable_children() = supervisor.children;
  return ToJson(whole);
}

void TreeChanges::AddChanges(const Known& before, const Known& now, Changes& changes) {
  const bool has_same_children =
      std::equal(before.children.begin(), before.children.end(), now.children.begin(), now.children.end(),
                 [](const proto::ChildDetails& a, const proto::ChildDetails& b) { return a.id() == b.id(); });
  if (!has_same_children) {
    changes.supervisors.push_back(WholeJson(now));
    return;
  }
  if (before.own.SerializeAsString() != now.own.SerializeAsString()) changes.own.push_back(ToJson(now.own));
  for (int i = 0; i < now.children.size(); ++i) {
    const proto::ChildDetails& child = now.children[i];
    if (before.children[i].SerializeAsString() == child.SerializeAsString()) continue;
    changes.children.push_back(absl::StrCat("{\"of\":", ToJson(absl::string_view(now.own.pid())), ",\"at\":", i,
                                            ",\"child\":", ToJson(child), "}"));
  }
}

std::vector<std::string> TreeChanges::Parts(bool is_whole, const Changes& changes) const {
  std::vector<std::string> parts;
  size_t next_supervisor = 0;
  size_t next_own = 0;
  size_t next_child = 0;
  do {
    const bool is_first = parts.empty();
    const std::string supervisors = TakeSome(changes.supervisors, next_supervisor, 0);
    const std::string own = TakeSome(changes.own, next_own, supervisors.size());
    const std::string children = TakeSome(changes.children, next_child, supervisors.size() + own.size());
    parts.push_back(absl::StrCat("{\"whole\":", is_whole && is_first ? "true" : "false",
                                 ",\"more\":", has_more_ ? "true" : "false", ",\"clock\":", clock_nanos_, ",\"gone\":[",
                                 is_first ? absl::StrJoin(changes.gone, ",") : "", "],\"supervisors\":[", supervisors,
                                 "],\"own\":[", own, "],\"children\":[", children, "]}"));
  } while (next_supervisor < changes.supervisors.size() || next_own < changes.own.size() ||
           next_child < changes.children.size());
  return parts;
}

}  // namespace understudy::tool
