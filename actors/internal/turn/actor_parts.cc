#include "understudy/actors/internal/turn/actor_parts.h"

#include <memory>

namespace understudy::internal {

ActorParts::Made& ActorParts::MakeAll() {
  made_ = std::make_unique<Made>();
  return *made_;
}

template <class Part>
Part& ActorParts::Make(std::unique_ptr<Part> Made::* part) {
  std::unique_ptr<Part>& made = this->made().*part;
  made = std::make_unique<Part>();
  return *made;
}
template AskTable& ActorParts::Make(std::unique_ptr<AskTable> Made::*);
template ActorTimers& ActorParts::Make(std::unique_ptr<ActorTimers> Made::*);
template Exits& ActorParts::Make(std::unique_ptr<Exits> Made::*);
template Watches& ActorParts::Make(std::unique_ptr<Watches> Made::*);
template CrashNotes& ActorParts::Make(std::unique_ptr<CrashNotes> Made::*);

LinkTable& ActorParts::links() {
  LinkTable& links = made().links;
  if (parent_.TakeLink()) links.OnLink(parent());
  return links;
}

const Exits& ActorParts::exits_or_default() const {
  if (const Exits* const known = known_exits(); known != nullptr) return *known;
  static const Exits* const none = new Exits;
  return *none;
}

const SpawnRecord& ActorParts::spawn_or_default() const {
  if (!empty()) return made_->spawn;
  static const SpawnRecord* const none = new SpawnRecord;
  return *none;
}

}  // namespace understudy::internal
