// AskHandle: cancels an ask with a callback (ActorSystem::Ask).
//
//   AskHandle asked = system.Ask(lot.make_offer(), offer, absl::Seconds(1),
//                                [reactor](absl::StatusOr<OfferResult> result) { reactor->Answer(std::move(result));
//                                });
//   …
//   asked.Cancel();
//
// Threads: any, including the one that runs the callback. Lifetime: a copyable value. Destroying it does not cancel the
// ask. It may outlive its system; while the system is being destroyed, no plain thread may use it.
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
  // A handle of no ask: Cancel returns false.
  AskHandle() = default;
  // For the library. `waiter` is the actor that waits for the answer, or null if there is none.
  AskHandle(std::shared_ptr<internal::CallbackTurn> turn, Pid waiter) : turn_(std::move(turn)), waiter_(waiter) {}

  // Cancels the ask, as Pending::Cancel does. Returns true if the ask had no outcome yet: the callback then runs with
  // Cancelled, perhaps before this returns, and at the latest before the system is destroyed. Returns false if the
  // callback has run or will run with another outcome, if the ask was cancelled before, or if this is a handle of no
  // ask.
  bool Cancel() const;

 private:
  std::shared_ptr<internal::CallbackTurn> turn_;
  Pid waiter_;
};

}  // namespace understudy

#endif  // UNDERSTUDY_ACTORS_ASK_HANDLE_H_
