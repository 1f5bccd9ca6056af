// DeferredDestruction: what a fence leaves for after its seizure. Destructors and listeners
// may wait for a lock that the fenced handler has, and that waits for the end of
// the seizure. So what remains is ended later, in a turn of its own.
//
//   auto destruction = std::make_unique<DeferredDestruction>(system, self(), reason);
//   {
//     const DestructionQueue::Scope scope(destruction->deferred());
//     …
//   }
//   DeferredDestruction::Begin(std::move(destruction));
//
// Threads: that of its fence, then that of its turn. Its system lives as long.
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

  // Its turn is next; nothing when there is nothing to do. Its actor still counts
  // as live.
  static void Begin(std::unique_ptr<DeferredDestruction> destruction);

  // What this thread destroys waited for an actor that was fenced; else null.
  static const DeferredDestruction* Running();

  Pid whose() const { return whose_; }
  const ExitReason& reason() const { return reason_; }

  // Runnable. It deletes itself.
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
