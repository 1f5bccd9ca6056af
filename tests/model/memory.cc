#include "understudy/tests/model/memory.h"

#include <algorithm>
#include <atomic>
#include <cstddef>
#include <cstdint>

#include "understudy/actors/check.h"
#include "understudy/tests/model/view.h"

namespace understudy::model {

bool Memory::IsAcquire(std::memory_order order) {
  return order == std::memory_order_acquire || order == std::memory_order_acq_rel ||
         order == std::memory_order_seq_cst || order == std::memory_order_consume;
}

bool Memory::IsRelease(std::memory_order order) {
  return order == std::memory_order_release || order == std::memory_order_acq_rel || order == std::memory_order_seq_cst;
}

void Memory::Clear() {
  for (size_t i = 0; i < used_; ++i) histories_[i].stores.clear();
  used_ = 0;
  threads_.fill(ThreadState());
  for (size_t i = 0; i < kThreadsMax; ++i) threads_[i].seen.clock[i] = 1;
  total_order_ = light_ = heavy_ = View();
}

size_t Memory::AddLocation(size_t thread, uint64_t value) {
  UNDERSTUDY_CHECK(used_ < kLocationsMax, "a run has at most ", kLocationsMax, " atomics");
  // All views have front 0 for a new location, which is its first value. Other threads can learn of the atomic only
  // from its creator.
  History& history = histories_[used_];
  history.stores.push_back({.value = value, .released = View()});
  history.creator = thread;
  history.created = threads_[thread].seen.clock[thread];
  return used_++;
}

bool Memory::Knows(size_t thread, size_t location) const {
  const History& history = histories_[location];
  return threads_[thread].seen.clock[history.creator] >= history.created;
}

size_t Memory::OldestVisible(size_t thread, size_t location, std::memory_order order) const {
  size_t oldest = static_cast<size_t>(threads_[thread].seen.front[location]);
  if (order == std::memory_order_seq_cst) {
    oldest = std::max(oldest, static_cast<size_t>(total_order_.front[location]));
  }
  return oldest;
}

void Memory::Load(size_t thread, size_t location, size_t index, std::memory_order order) {
  ThreadState& state = threads_[thread];
  const auto at = static_cast<int16_t>(index);
  state.seen.front[location] = std::max(state.seen.front[location], at);
  const View& released = histories_[location].stores[index].released;
  if (IsAcquire(order)) {
    state.seen.Join(released);
  } else {
    state.acquired.Join(released);
  }
  if (order == std::memory_order_seq_cst) {
    total_order_.front[location] = std::max(total_order_.front[location], at);
  }
  Tick(thread);
}

void Memory::Append(size_t thread, size_t location, uint64_t value, std::memory_order order, const View* continued) {
  ThreadState& state = threads_[thread];
  const auto index = static_cast<int16_t>(histories_[location].stores.size());
  state.seen.front[location] = index;
  StoreRecord record{.value = value, .released = IsRelease(order) ? state.seen : state.released};
  record.released.front[location] = index;
  if (continued != nullptr) record.released.Join(*continued);
  histories_[location].stores.push_back(record);
  if (order == std::memory_order_seq_cst) total_order_.front[location] = index;
  Tick(thread);
}

void Memory::Store(size_t thread, size_t location, uint64_t value, std::memory_order order) {
  Append(thread, location, value, order, nullptr);
}

void Memory::Exchange(size_t thread, size_t location, uint64_t value, std::memory_order order) {
  const size_t newest = NewestIndex(location);
  const View continued = histories_[location].stores[newest].released;
  ThreadState& state = threads_[thread];
  if (IsAcquire(order)) {
    state.seen.Join(continued);
  } else {
    state.acquired.Join(continued);
  }
  Append(thread, location, value, order, &continued);
}

void Memory::Fence(size_t thread, std::memory_order order) {
  ThreadState& state = threads_[thread];
  if (IsAcquire(order)) state.seen.Join(state.acquired);
  if (order == std::memory_order_seq_cst) {
    state.seen.JoinFront(total_order_);
    total_order_.JoinFront(state.seen);
  }
  if (IsRelease(order)) state.released = state.seen;
  Tick(thread);
}

void Memory::LightBarrier(size_t thread) {
  View& seen = threads_[thread].seen;
  seen.JoinFront(heavy_);
  light_.JoinFront(seen);
  Tick(thread);
}

void Memory::HeavyBarrier(size_t thread) {
  View& seen = threads_[thread].seen;
  seen.JoinFront(light_);
  seen.JoinFront(heavy_);
  Fence(thread, std::memory_order_seq_cst);
  heavy_.JoinFront(seen);
}

void Memory::Hand(size_t from, size_t thread) {
  threads_[thread].seen.Join(threads_[from].seen);
  Tick(from);
}

int Memory::Read(size_t thread, PlainState& plain) const {
  const View& seen = threads_[thread].seen;
  plain.read[thread] = seen.clock[thread];
  return seen.clock[static_cast<size_t>(plain.writer)] < plain.written ? plain.writer : -1;
}

int Memory::Write(size_t thread, PlainState& plain) const {
  const View& seen = threads_[thread].seen;
  int unordered = seen.clock[static_cast<size_t>(plain.writer)] < plain.written ? plain.writer : -1;
  for (size_t i = 0; i < kThreadsMax; ++i) {
    if (seen.clock[i] < plain.read[i]) unordered = static_cast<int>(i);
  }
  plain.writer = static_cast<int8_t>(thread);
  plain.written = seen.clock[thread];
  plain.read = {};
  return unordered;
}

void Memory::Create(size_t thread, PlainState& plain) const {
  plain = PlainState();
  (void)Write(thread, plain);
}

}  // namespace understudy::model
