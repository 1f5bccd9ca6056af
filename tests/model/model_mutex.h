// ModelMutex: a mutex over ModelAtomics, for models of protocols that use a mutex.
#ifndef UNDERSTUDY_TESTS_MODEL_MODEL_MUTEX_H_
#define UNDERSTUDY_TESTS_MODEL_MODEL_MUTEX_H_

#include <atomic>

#include "understudy/tests/model/model_atomics.h"

namespace understudy::model {

class ModelMutex {
 public:
  void Lock() {
    for (int free = 0; !state_.compare_exchange_strong(free, 1, std::memory_order_acquire, std::memory_order_relaxed);
         free = 0) {
      ModelAtomics::WaitWhile(state_, 1);
    }
  }
  void Unlock() {
    state_.store(0, std::memory_order_release);
    ModelAtomics::WakeAll(state_);
  }

 private:
  ModelAtomic<int> state_{0};
};

}  // namespace understudy::model

#endif  // UNDERSTUDY_TESTS_MODEL_MODEL_MUTEX_H_
