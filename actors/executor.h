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
#include <string>

#include "absl/functional/any_invocable.h"
#include "absl/functional/function_ref.h"
#include "absl/status/statusor.h"
#include "understudy/actors/clock.h"

namespace understudy {

class Runnable {
 public:
  // One turn. It runs in kernel code, and user code in it runs under a UserCode
  // (internal/scheduling/worker.h): only there can it be held off, and its worker's queue
  // be taken over.
  virtual void Run() = 0;

  // For people: who this is and what it is doing. Called by another thread,
  // which holds the one that runs it in its user code.
  virtual std::string Describe() { return "a turn"; }

  // The thread of its own that it runs on, as NewOwnThread gave it; 0: any.
  // Set while it is not scheduled.
  uint32_t own_thread() const { return own_thread_; }
  void set_own_thread(uint32_t id) { own_thread_ = id; }

 protected:
  ~Runnable() = default;

 private:
  uint32_t own_thread_ = 0;
};

class Executor {
 public:
  virtual ~Executor() = default;

  virtual Clock& clock() = 0;

  // `runnable` is not scheduled already. From a turn it may run next, on the
  // same thread; it never waits there behind a handler that does not return.
  virtual void Schedule(Runnable* runnable) = 0;

  // Calls `is_meant` and, if that says so, `action`, while the thread that runs
  // `turn` is in its user's code and cannot come back from there, and marks that
  // turn as fenced (internal::KernelCode::is_fenced): the same Runnable may be
  // another's by now, who is not harmed. Both are short and do not wait. False, and
  // nothing is done, when no thread is in user code of that turn now, or the turn
  // was fenced before: try again later; or it is not meant. `turn` need not be
  // there any more: it is only compared.
  virtual bool WhileInUserCode(Runnable* turn, absl::FunctionRef<bool()> is_meant,
                               absl::FunctionRef<void()> action) = 0;

  // A thread for one Runnable, which may block there as it likes. Full beyond
  // limits::kOwnThreadsMax, or when the operating system refuses. It ends after
  // EndOwnThread, when the turn it runs has returned. 0 where an executor has no
  // threads of its own.
  virtual absl::StatusOr<uint32_t> NewOwnThread() = 0;
  // Nothing is scheduled there any more. Nothing for 0.
  virtual void EndOwnThread(uint32_t id) = 0;

  // Calls `callback` once at or soon after `time`, whatever the turns do: no
  // timer waits behind a handler. It must be short and not wait. Returns an id,
  // never 0.
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
