#include "understudy/actors/internal/turn/watches.h"

#include <cstdint>
#include <utility>
#include <vector>

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

uint64_t Watches::AddName(Handler handler) {
  names_[++last_name_].handler = std::move(handler);
  return last_name_;
}

absl::optional<Watches::Handler> Watches::HandlerOfName(uint64_t name_watch) const {
  const auto found = names_.find(name_watch);
  if (found == names_.end()) return absl::nullopt;
  return found->second.handler;
}

std::vector<uint64_t> Watches::RegistryIds() const {
  std::vector<uint64_t> ids;
  for (const auto& [id, name] : names_) ids.push_back(name.registry_id);
  return ids;
}

void Watches::DropHandlers() {
  (void)std::exchange(monitors_, {});  // what a handler holds may come back here when it is destroyed
  for (auto& [id, child] : children_) child.outcome = child.down = nullptr;
  for (auto& [id, name] : names_) name.handler = nullptr;
}

}  // namespace understudy::internal
