// AnswerRight: who may answer a call whose Replier was taken. The Replier and the
// list of the actor that has it share one; whichever of them comes first answers.
#ifndef UNDERSTUDY_ACTORS_INTERNAL_TURN_ANSWER_RIGHT_H_
#define UNDERSTUDY_ACTORS_INTERNAL_TURN_ANSWER_RIGHT_H_

#include <algorithm>
#include <atomic>
#include <cstddef>
#include <cstdint>
#include <memory>
#include <utility>
#include <vector>

#include "understudy/actors/pid.h"

namespace understudy::internal {

// Any thread.
class AnswerRight {
 public:
  // Tells one holder from the next; that of a right that is used up is kUsed.
  using Hand = uint32_t;
  static constexpr Hand kUsed = 0;

  // relaxed, all: nothing else is handed over with it.
  Hand hand() const { return hand_.load(std::memory_order_relaxed); }
  // It changes hands: whoever had it has it no more. The new hand, or kUsed.
  Hand Pass() {
    Hand hand = this->hand();
    while (hand != kUsed && !hand_.compare_exchange_weak(hand, hand + 1, std::memory_order_relaxed)) {
    }
    return hand == kUsed ? kUsed : hand + 1;
  }
  // True for the one that is to answer.
  bool Use() { return hand_.exchange(kUsed, std::memory_order_relaxed) != kUsed; }
  // The same, for whom `hand` was given.
  bool UseAs(Hand hand) { return hand_.compare_exchange_strong(hand, kUsed, std::memory_order_relaxed); }

 private:
  std::atomic<Hand> hand_{1};
};

// As an actor has it.
struct HeldRight {
  std::shared_ptr<AnswerRight> right;
  AnswerRight::Hand hand = AnswerRight::kUsed;
  Pid callee;
  Pid asker;
  uint64_t ask = 0;
};

// Those of one actor. Owner's turn only.
class HeldRights {
 public:
  void Add(HeldRight held) {
    if (all_.size() >= prune_at_) Prune();
    all_.push_back(std::move(held));
  }
  std::vector<HeldRight> TakeAll() { return std::exchange(all_, {}); }

 private:
  static constexpr size_t kPruneAt = 16;

  // Lets go those that were used or forwarded since.
  void Prune() {
    all_.erase(
        std::remove_if(all_.begin(), all_.end(), [](const HeldRight& held) { return held.right->hand() != held.hand; }),
        all_.end());
    prune_at_ = std::max(kPruneAt, all_.size() * 2);
  }

  std::vector<HeldRight> all_;
  size_t prune_at_ = kPruneAt;
};

}  // namespace understudy::internal

#endif  // UNDERSTUDY_ACTORS_INTERNAL_TURN_ANSWER_RIGHT_H_
