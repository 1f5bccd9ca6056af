// AnswerRight: decides who answers a call that has a Replier. The Replier shares it with the HeldRights of the actor
// that has the Replier, because a fence answers for a stuck actor; the first of the two to use the right answers.
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
  // Identifies the current holder: each transfer gives a new value. kUsed: the call has been answered.
  using Hand = uint32_t;
  static constexpr Hand kUsed = 0;

  // All accesses are relaxed: the right decides who answers, and publishes no other data.
  Hand hand() const { return hand_.load(std::memory_order_relaxed); }
  // Transfers the right: UseAs fails for the previous holder from now on. Returns the new holder's hand, or kUsed.
  Hand Pass() {
    Hand hand = this->hand();
    while (hand != kUsed && !hand_.compare_exchange_weak(hand, hand + 1, std::memory_order_relaxed)) {
    }
    return hand == kUsed ? kUsed : hand + 1;
  }
  // Uses the right, whoever holds it. Returns true if it was not used yet: then the caller must answer.
  bool Use() { return hand_.exchange(kUsed, std::memory_order_relaxed) != kUsed; }
  // Uses the right if `hand` still holds it. Returns true if the caller must answer.
  bool UseAs(Hand hand) { return hand_.compare_exchange_strong(hand, kUsed, std::memory_order_relaxed); }

 private:
  std::atomic<Hand> hand_{1};
};

// A right as its holder records it, with what is needed to answer the call.
struct HeldRight {
  std::shared_ptr<AnswerRight> right;
  AnswerRight::Hand hand = AnswerRight::kUsed;
  Pid callee;
  Pid asker;
  uint64_t ask = 0;
};

// The rights of the Repliers that one actor has. Owner's turn only.
class HeldRights {
 public:
  void Add(HeldRight held) {
    if (all_.size() >= prune_at_) Prune();
    all_.push_back(std::move(held));
  }
  std::vector<HeldRight> TakeAll() { return std::exchange(all_, {}); }

 private:
  static constexpr size_t kPruneAt = 16;

  // Removes the rights that have been used or transferred since they were added.
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
