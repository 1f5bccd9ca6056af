// LingeringLives: the lives of one system that linger after their end, because a handler still runs (the actor was
// fenced) or a LifeHold is kept, for example for a process that still runs. A life is *gone* when it has ended and does
// not linger; its object and its coroutine frames are destroyed then. A monitor of Context::MonitorUntilGone gets its
// Down when the life is gone.
//
// Guarantees: an actor that learns of a life's end sees each hold that was taken before the end was told. Each deferred
// Down is posted once, after the last hold is released, unless the system has ended.
//
// Only fences, holds and such monitors use this class, so an actor that ends normally costs nothing. The entries are
// bounded: a fenced life occupies a thread or a stack frame, a hold belongs to its holder, and an actor has at most
// limits::kMonitorsPerActorMax monitors.
//
// Threads: any, in kernel code and in user code. No signal is posted while mu_ is held: a fence calls Hold under a
// seizure, and a thread that posts may wait for the end of that seizure, so the two could deadlock.
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

  // Adds a hold on a life of this system that is not gone.
  void Hold(Pid life);
  // Removes one hold. After the last one, posts the Downs that wait for the life to be gone.
  void Release(Pid life);
  // Adds a hold that ends with the last copy of the returned pointer, which may outlive the system.
  static std::shared_ptr<const void> Share(const std::shared_ptr<LingeringLives>& lives, Pid life);

  // True if there is a hold on that life.
  bool Lingers(Pid life) const;
  // Keeps `down` until the life whose end it tells (down.from) is gone. Returns false, and leaves `down` alone, if that
  // life does not linger.
  bool Defer(Signal& down);
  // Drops the Down of a monitor that has ended, if it was deferred.
  void Forget(Pid life, Pid watcher, uint64_t monitor);

  // Call when the system ends: nothing is posted from then on. Waits for calls of Release that are posting.
  void Close();

 private:
  struct Entry {
    uint64_t holds = 0;
    std::map<std::pair<Pid, uint64_t>, Signal> downs;  // by the watcher and its monitor
  };

  mutable absl::Mutex mu_;
  SystemCore* system_ ABSL_GUARDED_BY(mu_);  // null after Close
  int posting_ ABSL_GUARDED_BY(mu_) = 0;     // number of calls of Release that are posting
  std::map<Pid, Entry> entries_ ABSL_GUARDED_BY(mu_);
};

}  // namespace understudy::internal

#endif  // UNDERSTUDY_ACTORS_INTERNAL_SYSTEM_LINGERING_LIVES_H_
