// EarlyCancels: the cancel signals that overtook their calls. A call that the actor has forwarded to itself lies in its
// inbox, perhaps behind the cancel signal of its asker, which then finds no call. Such a cancel is kept until the batch
// that is being drained has been sorted, and is tried again. Owner's turn only.
#ifndef UNDERSTUDY_ACTORS_INTERNAL_TURN_EARLY_CANCELS_H_
#define UNDERSTUDY_ACTORS_INTERNAL_TURN_EARLY_CANCELS_H_

#include <cstdint>
#include <utility>
#include <vector>

#include "understudy/actors/pid.h"

namespace understudy::internal {

class EarlyCancels {
 public:
  struct Cancel {
    Pid asker;
    uint64_t ask = 0;
  };

  // The actor has forwarded a call. Until the first one, no cancel is kept: the call that it does not find is gone.
  void NoteForwarded() { forwards_calls_ = true; }
  // A cancel found no call.
  void Add(Cancel cancel) {
    if (forwards_calls_) cancels_.push_back(cancel);
  }
  bool empty() const { return cancels_.empty(); }
  // Removes and returns the cancels, in their order.
  std::vector<Cancel> TakeAll() { return std::exchange(cancels_, {}); }

 private:
  bool forwards_calls_ = false;
  std::vector<Cancel> cancels_;
};

}  // namespace understudy::internal

#endif  // UNDERSTUDY_ACTORS_INTERNAL_TURN_EARLY_CANCELS_H_
