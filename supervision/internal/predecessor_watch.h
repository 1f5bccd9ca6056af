// PredecessorWatch: the lives of exclusive children that a supervisor waits for, until all of each is gone.
//
// Of a life several actors may be left, one below another, and an actor that is not gone may start others. So a life
// is *due* to be looked at again whenever the actor that was found last is gone; in between it is awaited, by a monitor
// of that actor.
//
// Knows monitors by their ids only, and sets none up. Owner only.
#ifndef UNDERSTUDY_SUPERVISION_INTERNAL_PREDECESSOR_WATCH_H_
#define UNDERSTUDY_SUPERVISION_INTERNAL_PREDECESSOR_WATCH_H_

#include <cstdint>
#include <map>
#include <string>
#include <utility>
#include <vector>

#include "understudy/supervision/internal/restart_plan.h"

namespace understudy::internal {

// A life of an exclusive child, of which something may be left.
struct Predecessor {
  RestartPlan::LifeId life = 0;
  std::string child;  // its id
  std::string key;    // its key in ExclusiveLives
};

class PredecessorWatch {
 public:
  // The life is to be looked at.
  void Add(Predecessor predecessor) { due_.push_back(std::move(predecessor)); }
  // Removes and returns the lives to look at, oldest first. Each is gone or is given to Await.
  std::vector<Predecessor> TakeDue() { return std::exchange(due_, {}); }
  // Something of that life is not gone. `monitor` is the id of a monitor that fires when it is.
  void Await(Predecessor predecessor, uint64_t monitor) { awaited_.emplace(monitor, std::move(predecessor)); }
  // That monitor has fired. Returns whether a life is due again for it.
  [[nodiscard]] bool Fired(uint64_t monitor) {
    auto found = awaited_.extract(monitor);
    if (found.empty()) return false;
    Add(std::move(found.mapped()));
    return true;
  }

 private:
  std::vector<Predecessor> due_;
  std::map<uint64_t, Predecessor> awaited_;  // by monitor
};

}  // namespace understudy::internal

#endif  // UNDERSTUDY_SUPERVISION_INTERNAL_PREDECESSOR_WATCH_H_
