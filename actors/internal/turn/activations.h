// Activations: the handlers of one actor that have begun and not ended, which of them may go on, and its Receives.
//
// A plain state machine: it resumes nothing. A handler that awaits keeps the actor from other work, unless it is
// interleaved or it is the receiver of a Receive. Owner only.
#ifndef UNDERSTUDY_ACTORS_INTERNAL_TURN_ACTIVATIONS_H_
#define UNDERSTUDY_ACTORS_INTERNAL_TURN_ACTIVATIONS_H_

#include <algorithm>
#include <list>
#include <memory>
#include <utility>
#include <vector>

#include "absl/container/inlined_vector.h"
#include "understudy/actors/check.h"
#include "understudy/actors/internal/asks/ask_table.h"
#include "understudy/actors/internal/turn/activation.h"
#include "understudy/actors/internal/turn/behavior_table.h"
#include "understudy/actors/internal/turn/message_handler.h"

namespace understudy::internal {

// A Receive of the process style.
struct ReceiveUnderWay {
  BehaviorPtr table;
  Waiter receiver;
  std::shared_ptr<MessageHandler> timeout_now;  // of an After that does not wait
  bool is_taken = false;                        // what it waited for is in hand
  bool looks_again = false;                     // before a timeout, at what has come
};

class Activations {
 public:
  // A handler that may await has begun.
  void Add(std::unique_ptr<Activation> begun) { begun_.push_back(std::move(begun)); }
  // It has ended. CHECKs that it had begun.
  std::unique_ptr<Activation> Take(const Activation& ended);
  // The one that began last; null when there is none.
  std::unique_ptr<Activation> TakeNewest();
  // Oldest first.
  const std::list<std::unique_ptr<Activation>>& all() const { return begun_; }

  // What `waiter` awaits is there. They go on in the order in which they may.
  void AddResumable(Waiter waiter) { resumable_.push_back(waiter); }
  bool HasResumable() const { return !resumable_.empty(); }
  // Requires HasResumable.
  Waiter TakeResumable();
  void ForgetResumable() { resumable_.clear(); }

  // A Receive begins. False when another waits already: only the handler of what a Receive has taken may begin one.
  bool BeginReceive(BehaviorPtr table, Waiter receiver);
  bool IsReceiving() const { return !receives_.empty(); }
  // The innermost. Requires IsReceiving.
  ReceiveUnderWay& receive() { return receives_.back(); }
  const ReceiveUnderWay& receive() const { return receives_.back(); }
  // What the innermost Receive has taken is handled: its receiver may go on.
  void EndReceive();
  // They are forgotten, and their receivers do not go on.
  void DropReceives() { receives_.clear(); }

  // A handler keeps the actor, which begins nothing else meanwhile.
  bool IsHeld() const;
  // Nothing is to be done but to handle messages.
  bool IsQuiet() const { return resumable_.empty() && receives_.empty() && (begun_.empty() || !IsHeld()); }

 private:
  bool IsReceiver(const Activation& activation) const;

  std::list<std::unique_ptr<Activation>> begun_;
  absl::InlinedVector<Waiter, 2> resumable_;
  std::vector<ReceiveUnderWay> receives_;  // the innermost last
};

inline std::unique_ptr<Activation> Activations::Take(const Activation& ended) {
  const auto place = std::find_if(begun_.begin(), begun_.end(),
                                  [&](const std::unique_ptr<Activation>& begun) { return begun.get() == &ended; });
  UNDERSTUDY_CHECK(place != begun_.end(), "a handler ended twice");
  std::unique_ptr<Activation> taken = std::move(*place);
  begun_.erase(place);
  return taken;
}

inline Waiter Activations::TakeResumable() {
  const Waiter next = resumable_.front();
  resumable_.erase(resumable_.begin());
  return next;
}

}  // namespace understudy::internal

#endif  // UNDERSTUDY_ACTORS_INTERNAL_TURN_ACTIVATIONS_H_
