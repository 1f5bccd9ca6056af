// SupervisionWatch: hears every event of all supervisors of one actor system, for as long as the object exists.
//
//   SupervisionWatch watch(system.node(), [&](const SupervisionEvent& event) { kept.Add(event); });
//
// A supervisor that was started before the watch is heard too, unless the system's log discards all lines: such a
// supervisor makes no events (make the watch first).
// Threads: any. The listener is called in the turn of the supervisor, perhaps by several supervisors at once, and must
// neither wait nor send. When the destructor returns, it does not run.
#ifndef UNDERSTUDY_SUPERVISION_SUPERVISION_WATCH_H_
#define UNDERSTUDY_SUPERVISION_SUPERVISION_WATCH_H_

#include <cstdint>
#include <functional>
#include <utility>

#include "understudy/supervision/supervision_event.h"

namespace understudy {

class SupervisionWatch {
 public:
  using Listener = std::function<void(const SupervisionEvent&)>;

  // `node` is ActorSystem::node().
  SupervisionWatch(uint16_t node, Listener listener);
  ~SupervisionWatch();
  SupervisionWatch(const SupervisionWatch&) = delete;
  SupervisionWatch& operator=(const SupervisionWatch&) = delete;

  // For supervisors. True if there is a watch for that system.
  static bool IsWatched(uint16_t node);
  // For supervisors. Tells `event` to the watches of its supervisor's system.
  static void Tell(const SupervisionEvent& event);

 private:
  const uint16_t node_;
  const Listener listener_;
};

}  // namespace understudy

#endif  // UNDERSTUDY_SUPERVISION_SUPERVISION_WATCH_H_
