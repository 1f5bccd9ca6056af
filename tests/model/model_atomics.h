// ModelAtomics: the policy under which lock-free code is explored. actors/internal/memory/atomics.h describes policies,
// and schedules.h describes the exploration.
#ifndef UNDERSTUDY_TESTS_MODEL_MODEL_ATOMICS_H_
#define UNDERSTUDY_TESTS_MODEL_MODEL_ATOMICS_H_

#include <atomic>
#include <cstdint>
#include <cstring>
#include <type_traits>

#include "understudy/tests/model/execution.h"

namespace understudy::model {

// The interface of std::atomic, for types that fit in 64 bits.
template <class T>
class ModelAtomic {
  static_assert(std::is_trivially_copyable_v<T> && sizeof(T) <= sizeof(uint64_t));

 public:
  ModelAtomic() : ModelAtomic(T()) {}
  ModelAtomic(T value) : location_(Execution::Current().AddLocation(this, Raw(value))) {}  // NOLINT: as std::atomic's
  ModelAtomic(const ModelAtomic&) = delete;
  ModelAtomic& operator=(const ModelAtomic&) = delete;

  T load(std::memory_order order = std::memory_order_seq_cst) const {
    return Value(Execution::Current().Load(location_, order));
  }
  void store(T value, std::memory_order order = std::memory_order_seq_cst) {
    Execution::Current().Store(location_, Raw(value), order);
  }
  T exchange(T value, std::memory_order order = std::memory_order_seq_cst) {
    return Change(order, [value](T) { return value; });
  }
  bool compare_exchange_strong(T& expected, T value, std::memory_order success, std::memory_order failure) {
    uint64_t seen = Raw(expected);
    const bool succeeds = Execution::Current().CompareExchange(location_, seen, Raw(value), success, failure);
    if (!succeeds) expected = Value(seen);
    return succeeds;
  }
  bool compare_exchange_strong(T& expected, T value, std::memory_order order = std::memory_order_seq_cst) {
    return compare_exchange_strong(expected, value, order, OnFailure(order));
  }
  bool compare_exchange_weak(T& expected, T value, std::memory_order success, std::memory_order failure) {
    return compare_exchange_strong(expected, value, success, failure);
  }
  bool compare_exchange_weak(T& expected, T value, std::memory_order order = std::memory_order_seq_cst) {
    return compare_exchange_strong(expected, value, order, OnFailure(order));
  }
  template <class D>
  T fetch_add(D by, std::memory_order order = std::memory_order_seq_cst) {
    return Change(order, [by](T old) { return static_cast<T>(old + by); });
  }
  template <class D>
  T fetch_sub(D by, std::memory_order order = std::memory_order_seq_cst) {
    return Change(order, [by](T old) { return static_cast<T>(old - by); });
  }
  T fetch_or(T bits, std::memory_order order = std::memory_order_seq_cst) {
    return Change(order, [bits](T old) { return static_cast<T>(old | bits); });
  }
  T fetch_and(T bits, std::memory_order order = std::memory_order_seq_cst) {
    return Change(order, [bits](T old) { return static_cast<T>(old & bits); });
  }

 private:
  friend struct ModelAtomics;
  static uint64_t Raw(T value) {
    uint64_t raw = 0;
    std::memcpy(&raw, &value, sizeof(T));
    return raw;
  }
  static T Value(uint64_t raw) {
    T value;
    std::memcpy(&value, &raw, sizeof(T));
    return value;
  }
  static std::memory_order OnFailure(std::memory_order order) {
    if (order == std::memory_order_acq_rel) return std::memory_order_acquire;
    return order == std::memory_order_release ? std::memory_order_relaxed : order;
  }
  template <class F>
  T Change(std::memory_order order, F change) {
    return Value(Execution::Current().ReadModifyWrite(location_, order,
                                                      [change](uint64_t old) { return Raw(change(Value(old))); }));
  }

  const size_t location_;
};

// A variable that is not atomic. Two accesses of which at least one writes must have a happens-before order; otherwise
// the run fails with a race.
template <class T>
class ModelPlain {
 public:
  ModelPlain() : ModelPlain(T()) {}
  ModelPlain(T value) : value_(value) { Execution::Current().Create(state_); }  // NOLINT: as a T
  ModelPlain(const ModelPlain& other) : ModelPlain(static_cast<T>(other)) {}
  ModelPlain& operator=(const ModelPlain& other) { return *this = static_cast<T>(other); }
  ModelPlain& operator=(T value) {
    Execution::Current().Write(state_);
    value_ = value;
    return *this;
  }
  operator T() const {  // NOLINT: as a T
    Execution::Current().Read(state_);
    return value_;
  }
  T operator->() const { return *this; }
  ModelPlain& operator++() { return *this = static_cast<T>(*this) + 1; }
  ModelPlain& operator--() { return *this = static_cast<T>(*this) - 1; }
  ModelPlain& operator+=(T by) { return *this = static_cast<T>(*this) + by; }

 private:
  mutable PlainState state_;  // the first member, so that its address is the variable's
  T value_;
};

struct ModelAtomics {
  template <class T>
  using Atomic = ModelAtomic<T>;
  template <class T>
  using Plain = ModelPlain<T>;

  static bool PrepareBarriers() { return true; }
  static void LightBarrier() { Execution::Current().LightBarrier(); }
  static void HeavyBarrier() { Execution::Current().HeavyBarrier(); }
  template <class T>
  static T WaitWhile(const ModelAtomic<T>& atomic, T value) {
    return ModelAtomic<T>::Value(Execution::Current().WaitWhile(atomic.location_, ModelAtomic<T>::Raw(value)));
  }
  template <class T>
  static void WakeAll(ModelAtomic<T>& atomic) {
    Execution::Current().WakeAll(atomic.location_);
  }
  static void Fence(std::memory_order order) { Execution::Current().Fence(order); }
};

}  // namespace understudy::model

#endif  // UNDERSTUDY_TESTS_MODEL_MODEL_ATOMICS_H_
