// DeferredDestruction: destroys what a fenced actor left, after the fence has
// ended its seizure of the worker. During the seizure it could deadlock: a user's
// destructor or a dead-letter listener may wait for a lock that the fenced handler
// holds, while that handler waits for the end of the seizure (BiasedLock::Acquire).
// So the destructors and listeners run later, in a turn of their own.
//
//   auto destruction = std::make_unique<DeferredDestruction>(system, self(), reason);
//   {
//     const DestructionQueue::Scope scope(destruction->deferred());
//     …
//   }
//   DeferredDestruction::Begin(std::move(destruction));
//
// Threads: the one that fences, until Begin; then the one that runs the turn. The
// system is not destroyed before that turn has finished.
#ifndef UNDERSTUDY_ACTORS_INTERNAL_MEMORY_DEFERRED_DESTRUCTION_H_
#define UNDERSTUDY_ACTORS_INTERNAL_MEMORY_DEFERRED_DESTRUCTION_H_

#include <memory>
#include <string>

#include "understudy/actors/executor.h"
#include "understudy/actors/exit_reason.h"
#include "understudy/actors/internal/memory/destruction_queue.h"
#include "understudy/actors/pid.h"

namespace understudy::internal {

class SystemCore;

class DeferredDestruction final : public Runnable {
 public:
  DeferredDestruction(SystemCore& system, Pid whose, ExitReason reason);
  DeferredDestruction(const DeferredDestruction&) = delete;
  DeferredDestruction& operator=(const DeferredDestruction&) = delete;

  DestructionQueue& deferred() { return deferred_; }

  // Schedules Run, or destroys `destruction` at once if it is empty. Requires that
  // the fenced actor still counts as live, so that the system exists.
  static void Begin(std::unique_ptr<DeferredDestruction> destruction);

  // The object whose Run is on this thread, calling destructors and listeners;
  // null if there is none.
  static const DeferredDestruction* Running();

  Pid whose() const { return whose_; }
  const ExitReason& reason() const { return reason_; }

  // Runnable. Run deletes this object.
  void Run() override;
  std::string Describe() override;

 private:
  SystemCore& system_;
  const Pid whose_;
  const ExitReason reason_;
  DestructionQueue deferred_;
};

}  // namespace understudy::internal

#endif  // UNDERSTUDY_ACTORS_INTERNAL_MEMORY_DEFERRED_DESTRUCTION_H_
