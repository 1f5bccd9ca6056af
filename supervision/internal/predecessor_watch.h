// PredecessorWatch: the earlier lives of exclusive children that are not gone, for which a supervisor waits.
//
// A life of a child that is a supervisor may consist of several actors that are not gone, and such an actor may start
// others. A life is therefore looked at again (it is *due*) whenever the actor that was found last is gone. In between
// the life is *awaited*, by a monitor of that actor.
//
// The class sets up no monitors; it only knows their ids. Owner only.
#ifndef UNDERSTUDY_SUPERVISION_INTERNAL_PREDECESSOR_WATCH_H_
#define UNDERSTUDY_SUPERVISION_INTERNAL_PREDECESSOR_WATCH_H_

#include <cstdint>
#include <map>
#include <string>
#include <utility>
#include <vector>

#include "understudy/supervision/internal/restart_plan.h"

namespace understudy::internal {

// A life of an exclusive child that may not be gone.
struct Predecessor {
  RestartPlan::LifeId life = 0;
  std::string child;  // its id
  std::string key;    // its key in ExclusiveLives
};

class PredecessorWatch {
 public:
  // Adds a life that is due.
  void Add(Predecessor predecessor) { due_.push_back(std::move(predecessor)); }
  // Removes and returns the lives that are due, oldest first. The caller gives each that is not gone to Await.
  std::vector<Predecessor> TakeDue() { return std::exchange(due_, {}); }
  // An actor of that life is not gone; `monitor` is the id of the monitor that fires when it is.
  void Await(Predecessor predecessor, uint64_t monitor) { awaited_.emplace(monitor, std::move(predecessor)); }
  // Call when that monitor has fired. Returns true if a life is due now because of this.
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
