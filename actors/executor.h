// Executor: runs actors' turns and timers. ThreadPool and the seeded single-threaded
// executor implement it; the code that uses an Executor does not depend on which it is.
//
// Guarantees: a scheduled Runnable runs exactly once per Schedule, on a thread
// of the executor, and everything that happens before Schedule happens before Run.
// Threads: any, unless a method says otherwise. Lifetime: an executor outlives
// the systems that use it; a Runnable lives until it has run.
#ifndef UNDERSTUDY_ACTORS_EXECUTOR_H_
#define UNDERSTUDY_ACTORS_EXECUTOR_H_

#include <cstdint>
#include <string>
#include <vector>

#include "absl/functional/any_invocable.h"
#include "absl/functional/function_ref.h"
#include "absl/status/statusor.h"
#include "absl/time/time.h"
#include "understudy/actors/clock.h"

namespace understudy {

class Runnable {
 public:
  // Runs one turn. Run begins in kernel code, and runs user code under a UserCode
  // (internal/scheduling/worker.h). Only in user code can another thread hold this thread
  // there, to fence the turn or to take over the worker's queue.
  virtual void Run() = 0;

  // Returns a text for people: which turn this is and what it is doing. Called by another
  // thread while it holds the thread of this turn in user code.
  virtual std::string Describe() { return "a turn"; }

  // The id of the own thread (NewOwnThread) on which this runs; 0 for any thread. May be set
  // only while this is not scheduled.
  uint32_t own_thread() const { return own_thread_; }
  void set_own_thread(uint32_t id) { own_thread_ = id; }

 protected:
  ~Runnable() = default;

 private:
  uint32_t own_thread_ = 0;
};

// The state of a worker or an own thread, as Executor::Workers or Executor::OwnThreads found it.
struct WorkerInfo {
  // The turn whose user code the worker is in, to be compared only; null: the worker sleeps, or is in kernel code.
  const Runnable* turn = nullptr;
  std::string doing;              // Runnable::Describe of `turn`
  absl::Duration running;         // how long the worker has been in that section of user code, to some milliseconds
  bool is_parked = false;         // the worker sleeps
  bool is_taken_over = false;     // the worker is stuck in `turn`: its queue went to the other workers
  int64_t waiting_turns = 0;      // turns in its queue
  int64_t steals = 0;             // how often the worker took turns from the queue of another one
  uint64_t handlers_entered = 0;  // sections of user code so far
};

class Executor {
 public:
  virtual ~Executor() = default;

  // Returns the workers in a fixed order, or an empty list if the executor does not report them. The call stops no
  // worker, and does not wait for any.
  virtual std::vector<WorkerInfo> Workers() { return {}; }

  // Returns the threads that belong to a single actor (SpawnThread::kOwn) and are in user code now: for each thread the
  // turn that it runs, what the turn does, and for how long.
  virtual std::vector<WorkerInfo> OwnThreads() { return {}; }

  virtual Clock& clock() = 0;
  // The time of the clock to some milliseconds, without a look at the clock where that can be. It may be a little
  // behind the clock, and a little behind what another thread has seen.
  virtual MonotonicTime CoarseNow() { return clock().Now(); }

  // Schedules one run of `runnable`, which must not be scheduled already. If a turn calls this,
  // `runnable` may run next on the same thread, but it never waits there behind a handler that
  // does not return.
  virtual void Schedule(Runnable* runnable) = 0;

  // If a thread is in user code of `turn`, holds it there and calls `is_meant`. If that returns
  // true, marks the turn as fenced (internal::KernelCode::is_fenced), calls `action` and returns
  // true. `is_meant` decides because the memory of `turn` may belong to another actor by now.
  // Returns false and does nothing else if `is_meant` returns false, if no thread is in user
  // code of `turn` at the moment (the caller may try again later), or if the turn was fenced
  // before. Both functions must be short and must not wait. `turn` is only compared, so it need
  // not exist any more.
  virtual bool WhileInUserCode(Runnable* turn, absl::FunctionRef<bool()> is_meant,
                               absl::FunctionRef<void()> action) = 0;

  // Makes a thread for one Runnable, which may block there for any time. Returns its id, or 0
  // if this executor has no such threads. Full if there are limits::kOwnThreadsMax or the
  // operating system gives no thread.
  virtual absl::StatusOr<uint32_t> NewOwnThread() = 0;
  // The thread ends when the turn that it runs has returned. Nothing may be scheduled there
  // after this call. Does nothing for id 0.
  virtual void EndOwnThread(uint32_t id) = 0;

  // Calls `callback` once, at `time` or soon after it. No handler can delay it. `callback` must
  // be short and must not wait. Returns an id for Cancel, never 0.
  virtual uint64_t RunAt(MonotonicTime time, absl::AnyInvocable<void()> callback) = 0;
  // Returns true if the callback will not run, false if it has run or is about to.
  virtual bool Cancel(uint64_t timer) = 0;

  // Blocks a plain thread until `done` returns true, at most until `deadline`. Returns the last
  // result of `done`, which is called again after each Notify. CHECKs on a thread of the
  // executor. The seeded executor runs turns meanwhile, and returns early if nothing is left to
  // run.
  virtual bool BlockUntil(absl::FunctionRef<bool()> done, MonotonicTime deadline) = 0;
  virtual void Notify() = 0;
};

}  // namespace understudy

#endif  // UNDERSTUDY_ACTORS_EXECUTOR_H_
