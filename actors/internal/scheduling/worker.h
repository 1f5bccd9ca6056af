// Worker: what a thread that runs turns keeps for them; UserCode and KernelCode
// mark where it is.
//
//   void ActorCell::Run() {                 // kernel code
//     Worker& worker = *ThisWorker();
//     {
//       UserCode user(worker);
//       handler(message);                   // may call context(), which says KernelCode
//     }
//     if (worker.rights == Rights::kNone) … // the actor was fenced meanwhile
//   }
//
// A worker holds its lock in kernel code and gives it back around user code.
// The watchdog and fences seize the lock, and so act on a worker only while it
// is in user code, and keep it there. Every thread of an executor has a Worker
// while it runs turns.
#ifndef UNDERSTUDY_ACTORS_INTERNAL_SCHEDULING_WORKER_H_
#define UNDERSTUDY_ACTORS_INTERNAL_SCHEDULING_WORKER_H_

#include <atomic>
#include <cstdint>

#include "absl/base/optimization.h"
#include "understudy/actors/check.h"
#include "understudy/actors/executor.h"
#include "understudy/actors/internal/memory/atomics.h"
#include "understudy/actors/internal/memory/biased_lock.h"
#include "understudy/actors/internal/scheduling/ready_slot.h"

namespace understudy::internal {

// What the user code of a turn may ask of the kernel.
enum class Rights : uint8_t {
  kAll,
  // Its actor ends, and its suspended handlers are destroyed: what they hold is
  // given back, everything else is refused.
  kLettingGo,
  kNone,  // fenced
};

class Worker {
 public:
  // `local`: the executor that keeps a slot and a queue for this worker, or null.
  Worker(Executor& its_executor, Executor* local) : executor(its_executor), local_executor(local) {}
  Worker(const Worker&) = delete;
  Worker& operator=(const Worker&) = delete;

  // Own thread, kernel code. Runs a turn of `runnable`.
  void RunTurn(Runnable& runnable) {
    current.store(&runnable, std::memory_order_relaxed);
    rights.store(Rights::kAll, std::memory_order_relaxed);
    runnable.Run();
  }

  // Own thread, kernel or user code. `runnable`, which becomes runnable and is of the same executor, runs next here.
  // False when that is for the executor to say.
  [[nodiscard]] bool TryPutNext(Runnable* runnable);

  // Any other thread. True: this worker is in user code and cannot leave it until
  // EndSeizure. A handler that calls the kernel all the time is caught on its way
  // out, if it comes there within some microseconds.
  [[nodiscard]] bool TrySeize() {
    if (lock.TrySeize()) return true;
    is_wanted_.store(1, std::memory_order_relaxed);
    bool is_seized = false;
    for (int i = 0; i < kSeizeTries && !is_seized; ++i) is_seized = lock.TrySeize();
    is_wanted_.store(0, std::memory_order_release);
    StdAtomics::WakeAll(is_wanted_);
    return is_seized;
  }
  void EndSeizure() { lock.EndSeizure(); }

  // Own thread, in user code that it has just come back to: lets a seizure come first.
  void GiveWay() {
    if (ABSL_PREDICT_FALSE(is_wanted_.load(std::memory_order_relaxed) != 0)) {
      StdAtomics::WaitWhile(is_wanted_, uint32_t{1});
    }
  }

  // Any other thread. Calls `action` under a seizure, if this worker is in user
  // code of `turn` and `is_meant` says so there, and notes the fence. A turn that is
  // fenced already is nobody's: its Runnable may run again elsewhere.
  template <class Q, class F>
  bool WhileInUserCode(Runnable* turn, Q&& is_meant, F&& action) {
    // relaxed: a guess; under the seizure it is certain.
    if (current.load(std::memory_order_relaxed) != turn || !TrySeize()) return false;
    const bool is_here = current.load(std::memory_order_relaxed) == turn &&
                         rights.load(std::memory_order_relaxed) != Rights::kNone && is_meant();
    if (is_here) {
      // First: whoever hears of it finds the turn's sends refused.
      rights.store(Rights::kNone, std::memory_order_relaxed);
      action();
    }
    EndSeizure();
    return is_here;
  }

  Executor& executor;
  Executor* const local_executor;
  BiasedLock<StdAtomics> lock;
  // What runs next, where there is a local executor. Guarded by lock.
  ReadySlot<Runnable> slot;
  // The turn that runs, or the last one. Written in kernel code; what another
  // thread reads is certain only under a seizure.
  std::atomic<Runnable*> current{nullptr};
  // Of the user code that `current` is in, or was in. kNone is written under a
  // seizure; a send reads it from user code, where it may be old.
  std::atomic<Rights> rights{Rights::kAll};
  // Sections of user code entered so far. Written by the own thread.
  std::atomic<uint64_t> handlers{0};

 protected:
  ~Worker() = default;

 private:
  static constexpr int kSeizeTries = 2000;

  // Somebody tries to seize the lock: whoever leaves the kernel for user code waits for that.
  std::atomic<uint32_t> is_wanted_{0};
};

// Null on a thread that runs no turns. Static storage of the thread, at an offset known when the program is loaded: one
// load, no call.
inline constinit thread_local Worker* this_worker __attribute__((tls_model("initial-exec"))) = nullptr;
inline Worker* ThisWorker() { return this_worker; }

// This thread runs turns as `worker` while the scope lasts.
class WorkerScope {
 public:
  explicit WorkerScope(Worker& worker) : outer_(this_worker) { this_worker = &worker; }
  ~WorkerScope() { this_worker = outer_; }
  WorkerScope(const WorkerScope&) = delete;
  WorkerScope& operator=(const WorkerScope&) = delete;

 private:
  Worker* const outer_;
};

// The thread is in user code while it lives. Own worker only, in kernel code.
class UserCode {
 public:
  explicit UserCode(Worker& worker) : worker_(worker) {
    UNDERSTUDY_DCHECK(worker.lock.IsHeldByOwner(), "user code within user code");
    worker.handlers.store(worker.handlers.load(std::memory_order_relaxed) + 1, std::memory_order_relaxed);
    worker.lock.Release();
  }
  ~UserCode() { worker_.lock.Acquire(); }
  UserCode(const UserCode&) = delete;
  UserCode& operator=(const UserCode&) = delete;

 private:
  Worker& worker_;
};

// A call from user code back into the kernel, while it lives. Nothing on a
// thread that is in the kernel already, or that runs no turns. The section of
// user code goes on afterwards: a handler that calls the kernel all the time
// runs as long as one that does not.
class KernelCode {
 public:
  KernelCode() : KernelCode(ThisWorker()) {}
  // `worker` is this thread's.
  explicit KernelCode(Worker* worker)
      : worker_(worker), has_entered_(worker != nullptr && !worker->lock.IsHeldByOwner()) {
    if (has_entered_) worker_->lock.Acquire();
  }
  ~KernelCode() {
    if (!has_entered_) return;
    worker_->lock.Release();
    worker_->GiveWay();
  }
  KernelCode(const KernelCode&) = delete;
  KernelCode& operator=(const KernelCode&) = delete;

  // The turn's actor was declared dead while its handler ran.
  bool is_fenced() const {
    return worker_ != nullptr && worker_->rights.load(std::memory_order_relaxed) == Rights::kNone;
  }
  // That, or it ends, and its suspended handlers are destroyed.
  bool is_refused() const {
    return worker_ != nullptr && worker_->rights.load(std::memory_order_relaxed) != Rights::kAll;
  }

 private:
  Worker* const worker_;
  const bool has_entered_;
};

inline bool Worker::TryPutNext(Runnable* runnable) {
  if (ABSL_PREDICT_FALSE(local_executor == nullptr || runnable->own_thread() != 0)) return false;
  if (ABSL_PREDICT_FALSE(lock.IsHeldByOwner())) return slot.TryPut(runnable);
  lock.Acquire();
  if (ABSL_PREDICT_FALSE(!slot.TryPut(runnable))) {
    lock.Release();
    return false;
  }
  lock.Release();
  GiveWay();
  return true;
}

}  // namespace understudy::internal

#endif  // UNDERSTUDY_ACTORS_INTERNAL_SCHEDULING_WORKER_H_
