// ParentTie: how one actor is tied to its parent, and what the parent asked to be told when it spawned the actor.
//
// A plain state machine: it sends nothing. The actor tells it what happened, and asks it whether the parent is to be
// told. The parent keeps the handlers that are to be told (watches.h). A link to the parent is here, and not in the
// actor's LinkTable, until the actor needs that table. Each actor has a ParentTie, so it is 13 bytes long and has no
// alignment. Owner's turn only.
#ifndef UNDERSTUDY_ACTORS_INTERNAL_TURN_PARENT_TIE_H_
#define UNDERSTUDY_ACTORS_INTERNAL_TURN_PARENT_TIE_H_

#include <array>
#include <cstdint>
#include <cstring>

#include "understudy/actors/actor_spec.h"
#include "understudy/actors/pid.h"

namespace understudy::internal {

// Which notifications the parent asked for when it spawned the actor.
struct SpawnNotifications {
  uint64_t id = 0;  // the parent's id of this child, and of its monitor of this child; 0 if it asked for none
  bool tells_outcome = false;  // the outcome of the start
  bool tells_down = false;     // the end
};

class ParentTie {
 public:
  // `parent` is null if a plain thread spawned the actor. Then `link` is ignored.
  ParentTie(Pid parent, SpawnLink link, const SpawnNotifications& asked);

  Pid parent() const {
    uint64_t life = 0;
    uint32_t cell = 0;
    std::memcpy(&life, life_.data(), sizeof(life));
    std::memcpy(&cell, cell_.data(), sizeof(cell));
    return Pid::OfLife(life, cell);
  }

  // True until TakeLink: there is a link to the parent, and it is not in the actor's LinkTable.
  bool is_linked() const { return is_linked_; }
  // Returns is_linked(). If true, the caller puts the link into the LinkTable, or ends it.
  [[nodiscard]] bool TakeLink() {
    const bool was_linked = is_linked_;
    is_linked_ = false;
    return was_linked;
  }

  // True if the actor ends with its parent, which does not end with it (SpawnLink::kOneWay).
  bool is_tied() const { return is_tied_; }
  // An exit of `peer` came along a link. Returns true if it came along the tie to the parent, so that it counts
  // although the LinkTable has no link. That tie has ended then, and nobody is there to be told of this actor's end.
  [[nodiscard]] bool TakeTiedExit(Pid peer);
  // True if an exit of `from` counts as the parent's. If this actor has no parent, exits sent by threads outside actors
  // do. An exit along a link to the null pid does not: it only ends that link.
  bool IsParentsExit(Pid from, bool is_along_link) const;

  // A Demonitor of `watcher` with `id` came. Returns true if it ended the monitor that the parent asked for when it
  // spawned this actor, with SpawnNotifications::id `parents_id`: the parent is not told of the end then.
  [[nodiscard]] bool OnDemonitor(Pid watcher, uint64_t id, uint64_t parents_id);
  // True if the parent is to be told of the actor's end, without having sent a Monitor signal.
  bool tells_down() const { return tells_down_; }
  // The start has an outcome. Returns true if the parent is to be told; once.
  [[nodiscard]] bool TakeOutcome() {
    const bool tells = tells_outcome_;
    tells_outcome_ = false;
    return tells;
  }

 private:
  std::array<unsigned char, sizeof(uint64_t)> life_;
  std::array<unsigned char, sizeof(uint32_t)> cell_;
  bool is_linked_ : 1;
  bool is_tied_ : 1;
  bool tells_outcome_ : 1;
  bool tells_down_ : 1;
};
static_assert(sizeof(ParentTie) == 13 && alignof(ParentTie) == 1);

inline ParentTie::ParentTie(Pid parent, SpawnLink link, const SpawnNotifications& asked)
    : is_linked_(link == SpawnLink::kLinked && !parent.is_null()),
      is_tied_(link == SpawnLink::kOneWay && !parent.is_null()),
      tells_outcome_(asked.tells_outcome),
      tells_down_(asked.tells_down) {
  const uint64_t life = parent.life();
  const uint32_t cell = parent.cell();
  std::memcpy(life_.data(), &life, sizeof(life));
  std::memcpy(cell_.data(), &cell, sizeof(cell));
}

inline bool ParentTie::TakeTiedExit(Pid peer) {
  if (!is_tied_ || peer != parent()) return false;
  is_tied_ = false;
  tells_down_ = false;
  return true;
}

inline bool ParentTie::IsParentsExit(Pid from, bool is_along_link) const {
  return from == parent() && !(is_along_link && from.is_null());
}

inline bool ParentTie::OnDemonitor(Pid watcher, uint64_t id, uint64_t parents_id) {
  if (id != parents_id || watcher != parent()) return false;
  tells_down_ = false;
  return true;
}

}  // namespace understudy::internal

#endif  // UNDERSTUDY_ACTORS_INTERNAL_TURN_PARENT_TIE_H_
