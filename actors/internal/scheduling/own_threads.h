// OwnThreads: the threads of one executor that each serve one Runnable, for
// actors that block by design.
//
// Any thread. Lifetime: the destructor waits for the turns that run.
#ifndef UNDERSTUDY_ACTORS_INTERNAL_SCHEDULING_OWN_THREADS_H_
#define UNDERSTUDY_ACTORS_INTERNAL_SCHEDULING_OWN_THREADS_H_

#include <cstdint>
#include <map>
#include <memory>
#include <vector>

#include "absl/base/thread_annotations.h"
#include "absl/functional/function_ref.h"
#include "absl/status/statusor.h"
#include "absl/synchronization/mutex.h"
#include "understudy/actors/executor.h"
#include "understudy/actors/internal/scheduling/os_thread.h"
#include "understudy/actors/internal/scheduling/worker.h"

namespace understudy::internal {

class OwnThreads {
 public:
  explicit OwnThreads(Executor& executor) : executor_(executor) {}
  ~OwnThreads();
  OwnThreads(const OwnThreads&) = delete;
  OwnThreads& operator=(const OwnThreads&) = delete;

  // These functions implement Executor::NewOwnThread, EndOwnThread and WhileInUserCode for the threads here.
  absl::StatusOr<uint32_t> New();
  void End(uint32_t id);
  bool WhileInUserCode(Runnable* turn, absl::FunctionRef<bool()> is_meant, absl::FunctionRef<void()> action);
  // Implements Executor::OwnThreads.
  std::vector<WorkerInfo> InUserCode();
  // `runnable` has one of these threads.
  void Schedule(Runnable* runnable);

  // Threads that have not been ended.
  int size() const;

 private:
  class OwnThread;
  void JoinEnded() ABSL_EXCLUSIVE_LOCKS_REQUIRED(mu_);

  Executor& executor_;
  mutable absl::Mutex mu_;
  uint32_t last_id_ ABSL_GUARDED_BY(mu_) = 0;
  // Shared, because WhileInUserCode uses a thread without holding mu_.
  std::map<uint32_t, std::shared_ptr<OwnThread>> threads_ ABSL_GUARDED_BY(mu_);
  std::vector<std::shared_ptr<OwnThread>> ended_ ABSL_GUARDED_BY(mu_);  // End was called; New joins those that are done
};

}  // namespace understudy::internal

#endif  // UNDERSTUDY_ACTORS_INTERNAL_SCHEDULING_OWN_THREADS_H_
