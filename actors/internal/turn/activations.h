// Activations: the handlers of one actor that have begun and not ended, which of them may go on, and its Receives.
//
// A plain state machine: it resumes nothing. A handler that awaits keeps the actor from other work, unless it is
// interleaved or it is the receiver of a Receive. Owner only.
#ifndef UNDERSTUDY_ACTORS_INTERNAL_TURN_ACTIVATIONS_H_
#define UNDERSTUDY_ACTORS_INTERNAL_TURN_ACTIVATIONS_H_

#include <cstddef>
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
  bool is_taken = false;                        // the message or event that it waited for is in hand
  bool looks_again = false;                     // it looks once more at what has arrived before it takes its timeout
};

class Activations {
 public:
  // A handler that may await has begun.
  void Add(std::unique_ptr<Activation> begun);
  // Removes and returns the activation `ended`, whose handler has ended. CHECKs that it had been added.
  std::unique_ptr<Activation> Take(Activation& ended);
  // Removes and returns the activation that began last; null when there is none.
  std::unique_ptr<Activation> TakeNewest();
  // Oldest first.
  const std::list<std::unique_ptr<Activation>>& all() const { return begun_; }

  // Call when `waiter` may be resumed, because all that it awaits has arrived. Waiters are resumed in the order of
  // these calls.
  void AddResumable(Waiter waiter) { resumable_.push_back(waiter); }
  bool HasResumable() const { return taken_ < resumable_.size(); }
  // Requires HasResumable.
  Waiter TakeResumable();
  void ForgetResumable() {
    resumable_.clear();
    taken_ = 0;
  }

  // Begins a Receive. Returns false if the innermost Receive still waits: Receives nest only when the handler of the
  // message or event that the outer Receive has taken begins the inner one.
  bool BeginReceive(BehaviorPtr table, Waiter receiver);
  bool IsReceiving() const { return !receives_.empty(); }
  // The innermost. Requires IsReceiving.
  ReceiveUnderWay& receive() { return receives_.back(); }
  const ReceiveUnderWay& receive() const { return receives_.back(); }
  // The handler of what the innermost Receive has taken has ended: removes that Receive and makes its receiver
  // resumable.
  void EndReceive();
  // Removes all Receives. Their receivers are not resumed.
  void DropReceives() { receives_.clear(); }

  // True if a handler awaits that is neither interleaved nor the receiver of a Receive: until it has ended, the actor
  // begins no other handler.
  bool IsHeld() const { return holding_ > 0 && (receives_.empty() || IsHeldBesideReceivers()); }
  // True if no handler is to be resumed, no Receive is under way, and no handler keeps the actor from handling
  // messages.
  bool IsQuiet() const { return !HasResumable() && receives_.empty() && !IsHeld(); }

 private:
  bool IsReceiver(const Activation& activation) const;
  bool IsHeldBesideReceivers() const;
  std::unique_ptr<Activation> Remove(std::list<std::unique_ptr<Activation>>::iterator place);

  // An actor may have begun a hundred thousand interleaved handlers, so what is done for each message takes a constant
  // time.
  std::list<std::unique_ptr<Activation>> begun_;
  size_t holding_ = 0;  // how many of them are not interleaved
  absl::InlinedVector<Waiter, 2> resumable_;
  size_t taken_ = 0;                       // how many at the front of resumable_ were taken
  std::vector<ReceiveUnderWay> receives_;  // the innermost last
};

inline void Activations::Add(std::unique_ptr<Activation> begun) {
  if (!begun->is_interleaved) ++holding_;
  Activation& added = *begun;
  added.Hold().place = begun_.insert(begun_.end(), std::move(begun));
}

inline std::unique_ptr<Activation> Activations::Remove(std::list<std::unique_ptr<Activation>>::iterator place) {
  std::unique_ptr<Activation> removed = std::move(*place);
  begun_.erase(place);
  if (!removed->is_interleaved) --holding_;
  removed->held()->place.reset();
  return removed;
}

inline std::unique_ptr<Activation> Activations::Take(Activation& ended) {
  UNDERSTUDY_CHECK(ended.held() != nullptr && ended.held()->place.has_value(), "a handler ended twice");
  return Remove(*ended.held()->place);
}

inline Waiter Activations::TakeResumable() {
  const Waiter next = resumable_[taken_++];
  if (taken_ * 2 >= resumable_.size()) {
    resumable_.erase(resumable_.begin(), resumable_.begin() + static_cast<std::ptrdiff_t>(taken_));
    taken_ = 0;
  }
  return next;
}

}  // namespace understudy::internal

#endif  // UNDERSTUDY_ACTORS_INTERNAL_TURN_ACTIVATIONS_H_
