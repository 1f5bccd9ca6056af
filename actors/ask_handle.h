// AskHandle: an ask with a callback (ActorSystem::Ask) that may still be given up.
//
//   AskHandle asked = system.Ask(lot.make_offer(), offer, absl::Seconds(1),
//                                [reactor](absl::StatusOr<OfferResult> result) { reactor->Answer(std::move(result));
//                                });
//   …
//   asked.Cancel();
//
// Threads: any, the callback's too. Lifetime: a copyable value. Destroying it gives nothing up. It outlives its system
// harmlessly, but no plain thread uses it while that is being destroyed.
#ifndef UNDERSTUDY_ACTORS_ASK_HANDLE_H_
#define UNDERSTUDY_ACTORS_ASK_HANDLE_H_

#include <memory>
#include <utility>

#include "understudy/actors/pid.h"

namespace understudy {

namespace internal {
class CallbackTurn;
}  // namespace internal

class AskHandle {
 public:
  // Of no ask.
  AskHandle() = default;
  // For the library. `waiter` is null when there is no actor to end.
  AskHandle(std::shared_ptr<internal::CallbackTurn> turn, Pid waiter) : turn_(std::move(turn)), waiter_(waiter) {}

  // Gives the ask up, as Pending::Cancel does. Returns true if that came before any other outcome: then the callback
  // runs with Cancelled, and not with an answer that comes later. It may have run when this returns, and else runs
  // before the system is destroyed. Returns false if the callback has run or will run with another outcome, if the ask
  // was cancelled before, and for a handle of no ask.
  bool Cancel() const;

 private:
  std::shared_ptr<internal::CallbackTurn> turn_;
  Pid waiter_;
};

}  // namespace understudy

#endif  // UNDERSTUDY_ACTORS_ASK_HANDLE_H_
