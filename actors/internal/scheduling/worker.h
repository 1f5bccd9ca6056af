// Worker: the state of a thread that runs turns. UserCode and KernelCode mark
// whether the thread is in a handler or in the kernel (the framework's code).
//
//   void ActorCore::Run() {                 // kernel code
//     Worker& worker = *ThisWorker();
//     {
//       UserCode user(worker);
//       handler(message);                   // may call the kernel, whose functions construct a KernelCode
//     }
//     if (worker.rights == Rights::kNone) … // the actor was fenced meanwhile
//   }
//
// A worker holds its lock in kernel code and releases it around user code. The
// watchdog and fences seize the lock before they act on a worker. They can do so
// only while the worker is in user code, and the worker cannot leave user code until
// the seizure ends. Every thread of an executor has a Worker while it runs turns.
#ifndef UNDERSTUDY_ACTORS_INTERNAL_SCHEDULING_WORKER_H_
#define UNDERSTUDY_ACTORS_INTERNAL_SCHEDULING_WORKER_H_

#include <atomic>
#include <cstdint>

#include "absl/base/optimization.h"
#include "understudy/actors/check.h"
#include "understudy/actors/executor.h"
#include "understudy/actors/internal/memory/atomics.h"
#include "understudy/actors/internal/memory/biased_lock.h"
#include "understudy/actors/internal/scheduling/handler_timer.h"
#include "understudy/actors/internal/scheduling/message_ring.h"
#include "understudy/actors/internal/scheduling/ready_slot.h"

namespace understudy::internal {

// Which calls to the kernel the user code of a turn may make.
enum class Rights : uint8_t {
  kAll,
  // All, in a handler of a trace: a send takes the path on which it is traced.
  kAllTraced,
  // The actor is ending and its suspended handlers are being destroyed: calls that
  // release what they hold succeed, all others are refused.
  kLettingGo,
  kNone,  // the actor was fenced: all calls are refused
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

  // Own thread, kernel or user code. Makes `runnable`, of the same executor, the next to run on this worker. Returns
  // false if that is not possible; the caller then schedules it with the executor.
  [[nodiscard]] bool TryPutNext(Runnable* runnable);

  // Any other thread. If true, this worker is in user code and cannot leave it until
  // EndSeizure. Retries for some microseconds, so that a handler that calls the
  // kernel all the time can be seized when it returns to user code (GiveWay).
  [[nodiscard]] bool TrySeize() {
    if (lock.TrySeize()) return true;
    // relaxed: is_wanted_ is a request that publishes nothing. A worker that sees it late only makes more tries fail.
    is_wanted_.store(1, std::memory_order_relaxed);
    bool is_seized = false;
    for (int i = 0; i < kSeizeTries && !is_seized; ++i) is_seized = lock.TrySeize();
    // release: pairs with the acquire of WaitWhile in GiveWay.
    is_wanted_.store(0, std::memory_order_release);
    StdAtomics::WakeAll(is_wanted_);
    return is_seized;
  }
  void EndSeizure() { lock.EndSeizure(); }

  // Any thread; the value may be stale, as that of `rights`.
  bool refuses() const { return rights.load(std::memory_order_relaxed) >= Rights::kLettingGo; }
  // Own thread, kernel code: whether the handler belongs to a trace. Rights that were taken stay so.
  void SetTraced(bool is_traced) {
    if (refuses()) return;
    rights.store(is_traced ? Rights::kAllTraced : Rights::kAll, std::memory_order_relaxed);
  }

  // Own thread, when it has just returned to user code: waits while another thread tries to seize the lock.
  void GiveWay() {
    if (ABSL_PREDICT_FALSE(is_wanted_.load(std::memory_order_relaxed) != 0)) {
      StdAtomics::WaitWhile(is_wanted_, uint32_t{1});
    }
  }

  // Any other thread. If this worker is in user code of `turn` and `is_meant`, which
  // is called under the seizure, returns true: sets `rights` to kNone and calls
  // `action` under the seizure. Returns whether it did. A turn that was fenced before
  // does not count, because its Runnable may run again on another worker by now.
  template <class Q, class F>
  bool WhileInUserCode(Runnable* turn, Q&& is_meant, F&& action) {
    // relaxed: the value may be stale; it is checked again under the seizure.
    if (current.load(std::memory_order_relaxed) != turn || !TrySeize()) return false;
    const bool is_here = current.load(std::memory_order_relaxed) == turn &&
                         rights.load(std::memory_order_relaxed) != Rights::kNone && is_meant();
    if (is_here) {
      // Before `action`, so that the turn's sends are refused by the time that another actor learns of the fence.
      rights.store(Rights::kNone, std::memory_order_relaxed);
      action();
    }
    EndSeizure();
    return is_here;
  }

  Executor& executor;
  Executor* const local_executor;
  BiasedLock<StdAtomics> lock;
  // The actor that runs next, if there is a local executor. Guarded by lock.
  ReadySlot<Runnable> slot;
  // The turn that runs, or the last one. Written in kernel code. On other threads the
  // value may be stale, unless they hold a seizure.
  std::atomic<Runnable*> current{nullptr};
  // The rights of the user code of `current`. Another thread writes kNone under a
  // seizure; a send loads it in user code, where the value may be stale.
  std::atomic<Rights> rights{Rights::kAll};
  // Sections of user code entered so far. Written by the own thread.
  std::atomic<uint64_t> handlers{0};
  // Own thread, kernel code.
  HandlerTimer timer;
  MessageRing ring;

 protected:
  ~Worker() = default;

 private:
  static constexpr int kSeizeTries = 2000;

  // 1 while another thread tries to seize the lock: the worker then waits when it returns to user code (GiveWay).
  std::atomic<uint32_t> is_wanted_{0};
};

// Null on a thread that runs no turns. The initial-exec model makes an access one load, without a call, because the
// offset of the variable is known when the program is loaded.
inline constinit thread_local Worker* this_worker __attribute__((tls_model("initial-exec"))) = nullptr;
inline Worker* ThisWorker() { return this_worker; }

// While the scope lives, this thread runs turns as `worker`.
class WorkerScope {
 public:
  explicit WorkerScope(Worker& worker) : outer_(this_worker) { this_worker = &worker; }
  ~WorkerScope() { this_worker = outer_; }
  WorkerScope(const WorkerScope&) = delete;
  WorkerScope& operator=(const WorkerScope&) = delete;

 private:
  Worker* const outer_;
};

// While the object lives, the thread is in user code. Construct it in kernel code, with the thread's own worker.
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

// A call from user code into the kernel, which lasts while the object lives. Does
// nothing on a thread that is in the kernel already or runs no turns. It does not
// begin a new section of user code (Worker::handlers), so the watchdog also finds a
// stuck handler that calls the kernel all the time.
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

  // True if the turn's actor was fenced.
  bool is_fenced() const {
    return worker_ != nullptr && worker_->rights.load(std::memory_order_relaxed) == Rights::kNone;
  }
  // True if the turn's actor was fenced, or is ending and its suspended handlers are being destroyed.
  bool is_refused() const { return worker_ != nullptr && worker_->refuses(); }

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
