#include "understudy/actors/internal/turn/activations.h"

#include <algorithm>
#include <iterator>
#include <memory>
#include <utility>

namespace understudy::internal {

std::unique_ptr<Activation> Activations::TakeNewest() {
  if (begun_.empty()) return nullptr;
  return Remove(std::prev(begun_.end()));
}

bool Activations::BeginReceive(BehaviorPtr table, Waiter receiver) {
  if (!receives_.empty() && !receives_.back().is_taken) return false;
  receives_.push_back({.table = std::move(table), .receiver = receiver});
  return true;
}

void Activations::EndReceive() {
  resumable_.push_back(receives_.back().receiver);
  receives_.pop_back();
}

bool Activations::IsReceiver(const Activation& activation) const {
  return std::any_of(receives_.begin(), receives_.end(),
                     [&](const ReceiveUnderWay& receive) { return receive.receiver.activation == &activation; });
}

bool Activations::IsHeldBesideReceivers() const {
  return std::any_of(begun_.begin(), begun_.end(), [&](const std::unique_ptr<Activation>& begun) {
    return !begun->is_interleaved && !IsReceiver(*begun);
  });
}

}  // namespace understudy::internal
