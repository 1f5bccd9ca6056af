// Executor: runs actors' turns and timers. The thread pool and the seeded
// single-threaded executor implement it; nothing above knows which.
//
// Guarantees: a scheduled Runnable runs exactly once per Schedule, on a thread
// of the executor, and what happened before Schedule happens before Run.
// Threads: any, unless a method says otherwise. Lifetime: an executor outlives
// the systems that use it; a Runnable lives until it has run.
#ifndef UNDERSTUDY_ACTORS_EXECUTOR_H_
#define UNDERSTUDY_ACTORS_EXECUTOR_H_

#include <cstdint>

#include "absl/functional/any_invocable.h"
#include "absl/functional/function_ref.h"
#include "understudy/actors/clock.h"

namespace understudy {

class Runnable {
 public:
  virtual void Run() = 0;

 protected:
  ~Runnable() = default;
};

class Executor {
 public:
  virtual ~Executor() = default;

  virtual Clock& clock() = 0;

  // `runnable` is not scheduled already.
  virtual void Schedule(Runnable* runnable) = 0;

  // Calls `callback` once at or soon after `time`. It must be short and not
  // wait. Returns an id, never 0.
  virtual uint64_t RunAt(MonotonicTime time, absl::AnyInvocable<void()> callback) = 0;
  // True when the callback will not run; false when it has run or is about to.
  virtual bool Cancel(uint64_t timer) = 0;

  // Waits on a plain thread until `done` returns true; Notify makes waiting
  // threads ask again. CHECKs on a thread of the executor. The seeded executor
  // runs turns meanwhile, and returns early when nothing is left to run.
  // Returns the last answer of `done`.
  virtual bool BlockUntil(absl::FunctionRef<bool()> done, MonotonicTime deadline) = 0;
  virtual void Notify() = 0;
};

}  // namespace understudy

#endif  // UNDERSTUDY_ACTORS_EXECUTOR_H_
