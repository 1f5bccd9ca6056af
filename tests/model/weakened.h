// Policies with a bug: their memory orders are weaker than the code asks for. If the code passes a model under such a
// policy too, that model does not show that the orders are needed.
#ifndef UNDERSTUDY_TESTS_MODEL_WEAKENED_H_
#define UNDERSTUDY_TESTS_MODEL_WEAKENED_H_

#include <atomic>

#include "understudy/tests/model/model_atomics.h"

namespace understudy::model {

enum class Lost { kRelease, kAcquire, kTotalOrder };

// The result may be an order that the operation cannot have, such as acq_rel for a load. The model then takes the part
// of it that the operation can have.
template <Lost kLost>
constexpr std::memory_order Weaker(std::memory_order order) {
  switch (order) {
    case std::memory_order_seq_cst:
      return kLost == Lost::kTotalOrder ? std::memory_order_acq_rel : order;
    case std::memory_order_release:
      return kLost == Lost::kRelease ? std::memory_order_relaxed : order;
    case std::memory_order_acquire:
      return kLost == Lost::kAcquire ? std::memory_order_relaxed : order;
    case std::memory_order_acq_rel:
      if (kLost == Lost::kTotalOrder) return order;
      return kLost == Lost::kRelease ? std::memory_order_acquire : std::memory_order_release;
    default:
      return order;
  }
}

template <class T, Lost kLost>
class WeakenedAtomic : public ModelAtomic<T> {
 public:
  using Base = ModelAtomic<T>;
  using Base::Base;
  WeakenedAtomic() = default;

  T load(std::memory_order order) const { return Base::load(Weaker<kLost>(order)); }
  void store(T value, std::memory_order order) { Base::store(value, Weaker<kLost>(order)); }
  T exchange(T value, std::memory_order order) { return Base::exchange(value, Weaker<kLost>(order)); }
  bool compare_exchange_strong(T& expected, T value, std::memory_order success, std::memory_order failure) {
    return Base::compare_exchange_strong(expected, value, Weaker<kLost>(success), Weaker<kLost>(failure));
  }
  bool compare_exchange_weak(T& expected, T value, std::memory_order success, std::memory_order failure) {
    return compare_exchange_strong(expected, value, success, failure);
  }
  template <class D>
  T fetch_add(D by, std::memory_order order) {
    return Base::fetch_add(by, Weaker<kLost>(order));
  }
  template <class D>
  T fetch_sub(D by, std::memory_order order) {
    return Base::fetch_sub(by, Weaker<kLost>(order));
  }
};

template <Lost kLost>
struct Weakened : ModelAtomics {
  template <class T>
  using Atomic = WeakenedAtomic<T, kLost>;
};

using WithoutRelease = Weakened<Lost::kRelease>;
using WithoutAcquire = Weakened<Lost::kAcquire>;
using WithoutTotalOrder = Weakened<Lost::kTotalOrder>;

}  // namespace understudy::model

#endif  // UNDERSTUDY_TESTS_MODEL_WEAKENED_H_
