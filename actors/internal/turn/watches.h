// Watches: whom one actor watches, each with the handler that is to be told: actors that it monitors, children whose
// outcome or end it asked to be told of when it spawned them, and names.
//
// A plain state machine: it sends nothing and runs no handler. What goes to the watched, and until when a monitor
// counts, is LinkTable's. A null handler means that a Receive is to take the event. Owner only.
#ifndef UNDERSTUDY_ACTORS_INTERNAL_TURN_WATCHES_H_
#define UNDERSTUDY_ACTORS_INTERNAL_TURN_WATCHES_H_

#include <cstddef>
#include <cstdint>
#include <functional>
#include <map>
#include <memory>
#include <string>
#include <utility>
#include <vector>

#include "absl/strings/string_view.h"
#include "absl/types/optional.h"
#include "understudy/actors/internal/turn/link_table.h"
#include "understudy/actors/internal/turn/message_handler.h"
#include "understudy/actors/pid.h"

namespace understudy::internal {

// A child whose outcome or end its parent asked to be told of.
struct SpawnedChild {
  Pid pid;
  bool is_tied = false;                     // SpawnLink::kOneWay: it ends with this actor
  std::shared_ptr<MessageHandler> outcome;  // null once it was told
  std::shared_ptr<MessageHandler> down;     // likewise
};

// A watch of one name.
struct NameWatch {
  uint64_t id = 0;
  uint64_t registry_id = 0;  // under which the registry knows it
  std::shared_ptr<MessageHandler> handler;
};

class Watches {
 public:
  using Handler = std::shared_ptr<MessageHandler>;

  // `id`: of a monitor in the actor's LinkTable.
  void AddMonitor(uint64_t id, Handler handler) { monitors_.emplace(id, std::move(handler)); }
  void RemoveMonitor(uint64_t id) { monitors_.erase(id); }
  // `id`: from LinkTable::NewId, of no monitor. At least one of the child's handlers is not null.
  void AddChild(uint64_t id, SpawnedChild child) { children_.emplace(id, std::move(child)); }

  // A Down of a monitor or a child arrived. Returns its handler, or none if the actor is no longer to be told.
  absl::optional<Handler> TakeDown(uint64_t id, LinkTable& links);
  // A child's outcome arrived. Returns its handler, or none if the actor is no longer to be told.
  absl::optional<Handler> TakeOutcome(uint64_t id);
  // By id. A child stays until all that was asked for has been told.
  const std::map<uint64_t, SpawnedChild>& children() const { return children_; }

  // Returns the id of a new watch of `name`. Requires that the name is not watched.
  uint64_t AddName(absl::string_view name, Handler handler);
  // Records the id under which the registry knows the watch of `name`.
  void SetRegistryId(absl::string_view name, uint64_t registry_id) {
    names_.find(name)->second.registry_id = registry_id;
  }
  // Removes and returns the watch of `name`; none if it is not watched.
  absl::optional<NameWatch> RemoveName(absl::string_view name);
  // None if the watch `id` of `name` has been removed.
  absl::optional<Handler> HandlerOfName(absl::string_view name, uint64_t id) const;
  std::vector<uint64_t> RegistryIds() const;
  size_t name_count() const { return names_.size(); }

  // The actor ends, and handles nothing more. Children and names stay, to be told of the end.
  void DropHandlers();

 private:
  std::map<uint64_t, Handler> monitors_;
  std::map<uint64_t, SpawnedChild> children_;
  std::map<std::string, NameWatch, std::less<>> names_;
  uint64_t last_name_ = 0;
};

}  // namespace understudy::internal

#endif  // UNDERSTUDY_ACTORS_INTERNAL_TURN_WATCHES_H_
