// Burial: what a fence leaves for after its seizure. To destroy a message runs
// code of its type, and a dead letter runs listeners: either may wait for a lock
// that the fenced handler has, and that waits for the end of the seizure. So
// both come later, in a turn of their own, as user code.
//
//   auto burial = std::make_unique<Burial>(system, self(), reason);
//   {
//     const Burial::Scope scope(*burial);
//     …                                     // LetGo and OnDeadLetter only collect
//   }
//   Burial::Begin(std::move(burial));
//
// Threads: that of its fence, then that of its turn. Its system lives as long.
#ifndef UNDERSTUDY_ACTORS_INTERNAL_BURIAL_H_
#define UNDERSTUDY_ACTORS_INTERNAL_BURIAL_H_

#include <memory>
#include <string>
#include <utility>
#include <vector>

#include "understudy/actors/dead_letters.h"
#include "understudy/actors/executor.h"
#include "understudy/actors/exit_reason.h"
#include "understudy/actors/internal/envelope.h"
#include "understudy/actors/pid.h"

namespace understudy::internal {

class SystemCore;

class Burial final : public Runnable {
 public:
  Burial(SystemCore& system, Pid whose, ExitReason reason);
  Burial(const Burial&) = delete;
  Burial& operator=(const Burial&) = delete;

  // While it lives, `burial` collects what this thread lets go.
  class Scope {
   public:
    explicit Scope(Burial& burial);
    ~Scope();
    Scope(const Scope&) = delete;
    Scope& operator=(const Scope&) = delete;

   private:
    Burial* const outer_;
  };

  // Its turn is next; nothing when there is nothing to do. Its actor still counts
  // as live.
  static void Begin(std::unique_ptr<Burial> burial);

  // Destroys it, now or in the burial whose scope this thread is in.
  static void LetGo(Envelope* envelope);
  // True: the burial whose scope this thread is in has it.
  static bool Takes(const SystemCore& system, const DeadLetter& letter);
  // What this thread destroys waited for an actor that was fenced; else null.
  static const Burial* Running();

  Pid whose() const { return whose_; }
  const ExitReason& reason() const { return reason_; }

  // Runnable. It deletes itself.
  void Run() override;
  std::string Describe() override;

 private:
  SystemCore& system_;
  const Pid whose_;
  const ExitReason reason_;
  std::vector<DeadLetter> letters_;
  std::vector<Envelope*> envelopes_;
};

}  // namespace understudy::internal

#endif  // UNDERSTUDY_ACTORS_INTERNAL_BURIAL_H_
