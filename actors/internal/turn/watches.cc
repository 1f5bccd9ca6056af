#include "understudy/actors/internal/turn/watches.h"

#include <cstdint>
#include <string>
#include <utility>
#include <vector>

#include "absl/strings/string_view.h"
#include "absl/types/optional.h"
#include "understudy/actors/internal/turn/link_table.h"

namespace understudy::internal {

absl::optional<Watches::Handler> Watches::TakeDown(uint64_t id, LinkTable& links) {
  if (const auto found = children_.find(id); found != children_.end()) {
    SpawnedChild& child = found->second;
    child.is_tied = false;
    Handler handler = std::move(child.down);
    if (child.outcome == nullptr) children_.erase(found);
    if (handler == nullptr) return absl::nullopt;
    return handler;
  }
  if (!links.OnDown(id)) return absl::nullopt;
  auto monitor = monitors_.extract(id);
  if (monitor.empty()) return absl::nullopt;
  return std::move(monitor.mapped());
}

absl::optional<Watches::Handler> Watches::TakeOutcome(uint64_t id) {
  const auto found = children_.find(id);
  if (found == children_.end() || found->second.outcome == nullptr) return absl::nullopt;
  Handler handler = std::move(found->second.outcome);
  if (found->second.down == nullptr) children_.erase(found);
  return handler;
}

uint64_t Watches::AddName(absl::string_view name, Handler handler) {
  names_.emplace(std::string(name), NameWatch{.id = ++last_name_, .handler = std::move(handler)});
  return last_name_;
}

absl::optional<NameWatch> Watches::RemoveName(absl::string_view name) {
  const auto found = names_.find(name);
  if (found == names_.end()) return absl::nullopt;
  NameWatch removed = std::move(found->second);
  names_.erase(found);
  return removed;
}

absl::optional<Watches::Handler> Watches::HandlerOfName(absl::string_view name, uint64_t id) const {
  const auto found = names_.find(name);
  if (found == names_.end() || found->second.id != id) return absl::nullopt;
  return found->second.handler;
}

std::vector<uint64_t> Watches::RegistryIds() const {
  std::vector<uint64_t> ids;
  for (const auto& [name, watch] : names_) ids.push_back(watch.registry_id);
  return ids;
}

void Watches::DropHandlers() {
  (void)std::exchange(monitors_, {});  // what a handler holds may come back here when it is destroyed
  for (auto& [id, child] : children_) child.outcome = child.down = nullptr;
  for (auto& [name, watch] : names_) watch.handler = nullptr;
}

}  // namespace understudy::internal
