// LingeringLives: of which lives something is left after their end: a handler that runs on (the actor was fenced), or
// what a LifeHold stands for, such as a process. A life is *gone* when it has ended and does not linger; then its
// object and its coroutine frames are destroyed. A monitor until gone (Context::MonitorUntilGone) has its Down then.
//
// Guarantees: a hold that is taken before the life's end is told is seen by whoever was told of the end. Each Down that
// was deferred is posted once, after the last hold is released, unless the system has ended.
//
// Only fences, holds and such monitors come here: an actor that ends in order costs nothing. Bounds: a fenced life
// keeps a thread or a frame of one, a hold is its holder's; an actor has limits::kMonitorsPerActorMax monitors.
//
// Threads: any, in user code too. Nothing is posted while mu_ is held: a fence takes a hold under a seizure, and a
// thread that posts may wait for the end of that seizure.
#ifndef UNDERSTUDY_ACTORS_INTERNAL_SYSTEM_LINGERING_LIVES_H_
#define UNDERSTUDY_ACTORS_INTERNAL_SYSTEM_LINGERING_LIVES_H_

#include <cstdint>
#include <map>
#include <memory>
#include <utility>

#include "absl/base/thread_annotations.h"
#include "absl/synchronization/mutex.h"
#include "understudy/actors/message.h"
#include "understudy/actors/pid.h"

namespace understudy::internal {

class SystemCore;

class LingeringLives {
 public:
  explicit LingeringLives(SystemCore& system) : system_(&system) {}
  LingeringLives(const LingeringLives&) = delete;
  LingeringLives& operator=(const LingeringLives&) = delete;

  // A hold on a life of this system that is not gone.
  void Hold(Pid life);
  // The end of one hold. After the last, the Downs that wait for it are posted.
  void Release(Pid life);
  // A hold that ends with the last copy of what this returns, which may outlive the system.
  static std::shared_ptr<const void> Share(const std::shared_ptr<LingeringLives>& lives, Pid life);

  bool Lingers(Pid life) const;
  // Takes `down` until the life that it tells of is gone. False, and it stays the caller's, when that is so already.
  bool Defer(Signal& down);
  // The monitor of a Down that may have been deferred ends.
  void Forget(Pid life, Pid watcher, uint64_t monitor);

  // The system ends: nothing is posted from now on. Waits for a Release that is posting.
  void Close();

 private:
  struct Entry {
    uint64_t holds = 0;
    std::map<std::pair<Pid, uint64_t>, Signal> downs;  // by the watcher and its monitor
  };

  mutable absl::Mutex mu_;
  SystemCore* system_ ABSL_GUARDED_BY(mu_);  // null after Close
  int posting_ ABSL_GUARDED_BY(mu_) = 0;     // calls of Release that are
  std::map<Pid, Entry> entries_ ABSL_GUARDED_BY(mu_);
};

}  // namespace understudy::internal

#endif  // UNDERSTUDY_ACTORS_INTERNAL_SYSTEM_LINGERING_LIVES_H_
