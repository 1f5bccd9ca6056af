// Burial: what a fence leaves for after its seizure. Destructors and listeners
// may wait for a lock that the fenced handler has, and that waits for the end of
// the seizure. So what remains is ended later, in a turn of its own.
//
//   auto burial = std::make_unique<Burial>(system, self(), reason);
//   {
//     const Remains::Scope scope(burial->remains());
//     …
//   }
//   Burial::Begin(std::move(burial));
//
// Threads: that of its fence, then that of its turn. Its system lives as long.
#ifndef UNDERSTUDY_ACTORS_INTERNAL_BURIAL_H_
#define UNDERSTUDY_ACTORS_INTERNAL_BURIAL_H_

#include <memory>
#include <string>

#include "understudy/actors/executor.h"
#include "understudy/actors/exit_reason.h"
#include "understudy/actors/internal/remains.h"
#include "understudy/actors/pid.h"

namespace understudy::internal {

class SystemCore;

class Burial final : public Runnable {
 public:
  Burial(SystemCore& system, Pid whose, ExitReason reason);
  Burial(const Burial&) = delete;
  Burial& operator=(const Burial&) = delete;

  Remains& remains() { return remains_; }

  // Its turn is next; nothing when there is nothing to do. Its actor still counts
  // as live.
  static void Begin(std::unique_ptr<Burial> burial);

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
  Remains remains_;
};

}  // namespace understudy::internal

#endif  // UNDERSTUDY_ACTORS_INTERNAL_BURIAL_H_
