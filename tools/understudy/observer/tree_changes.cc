#include "understudy/tools/understudy/observer/tree_changes.h"

#include <cstddef>
#include <map>
#include <string>
#include <utility>
#include <vector>

#include "absl/strings/str_cat.h"
#include "absl/strings/str_join.h"
#include "understudy/proto/ops.pb.h"
#include "understudy/tools/understudy/observer/json.h"
#include "understudy/tools/understudy/observer/observer_limits.h"

namespace understudy::tool {

std::vector<std::string> TreeChanges::Look(const proto::GetTreeReply& tree) {
  std::map<std::string, std::string> before = std::exchange(supervisors_, {});
  std::vector<const std::string*> changed;
  for (const proto::SupervisorDetails& supervisor : tree.supervisors()) {
    const auto [place, is_new] = supervisors_.emplace(supervisor.pid(), ToJson(supervisor));
    if (!is_new) continue;  // an impostor may name a pid twice
    const auto old = before.find(supervisor.pid());
    if (old == before.end() || old->second != place->second) changed.push_back(&place->second);
    if (old != before.end()) before.erase(old);
  }
  std::vector<std::string> gone;
  for (const auto& [pid, json] : before) gone.push_back(ToJson(pid));
  const bool more_changed = std::exchange(has_more_, tree.has_more()) != has_more_;
  if (changed.empty() && gone.empty() && !more_changed) return {};
  return Parts(/*is_whole=*/false, gone, changed);
}

std::vector<std::string> TreeChanges::All() const {
  std::vector<const std::string*> all;
  all.reserve(supervisors_.size());
  for (const auto& [pid, json] : supervisors_) all.push_back(&json);
  return Parts(/*is_whole=*/true, {}, all);
}

std::vector<std::string> TreeChanges::Parts(bool is_whole, const std::vector<std::string>& gone,
                                            const std::vector<const std::string*>& supervisors) const {
  std::vector<std::string> parts;
  size_t next = 0;
  do {
    const bool is_first = parts.empty();
    std::string list;
    while (next < supervisors.size() && (list.empty() || list.size() < limits::kObserverTreePartChars)) {
      absl::StrAppend(&list, list.empty() ? "" : ",", *supervisors[next++]);
    }
    parts.push_back(absl::StrCat("{\"whole\":", is_whole && is_first ? "true" : "false",
                                 ",\"more\":", has_more_ ? "true" : "false", ",\"gone\":[",
                                 is_first ? absl::StrJoin(gone, ",") : "", "],\"supervisors\":[", list, "]}"));
  } while (next < supervisors.size());
  return parts;
}

}  // namespace understudy::tool
