// Health: whether a process lives and is ready, as the probes of an orchestrator ask (/livez, /readyz).
//
// A system lives unless it is certain that it has stood still for `stuck_after`:
//  - each worker is in a handler that has run for that time;
//  - or turns have waited for that time, and no worker has entered user code meanwhile;
//  - or the executor's timers have not run for that time;
//  - or the node's heartbeats have been due for that time.
// The second and the third are seen by comparing one call with earlier ones, so the second call that is `stuck_after`
// later tells. Threads: Ready any; else one. No call waits for a worker, a handler or a timer.
#ifndef UNDERSTUDY_TRANSPORT_METRICS_HEALTH_H_
#define UNDERSTUDY_TRANSPORT_METRICS_HEALTH_H_

#include <atomic>
#include <cstdint>
#include <memory>
#include <vector>

#include "absl/status/status.h"
#include "absl/time/time.h"
#include "absl/types/optional.h"
#include "understudy/actors/actor_system.h"
#include "understudy/actors/clock.h"
#include "understudy/actors/executor.h"
#include "understudy/transport/node.h"

namespace understudy::internal {

// WorkersPulse: judges from several looks whether the workers are stuck. A state machine without threads or a clock.
class WorkersPulse {
 public:
  explicit WorkersPulse(absl::Duration stuck_after) : stuck_after_(stuck_after) {}

  // OK, or Unavailable with a line that says what stands still.
  absl::Status Look(const std::vector<WorkerInfo>& workers, MonotonicTime now);

 private:
  const absl::Duration stuck_after_;
  // Since when turns have waited and the workers have entered user code `entered_` times.
  absl::optional<MonotonicTime> still_since_;
  uint64_t entered_ = 0;
};

// Whether the timers of an executor run, judged over several looks, each of which sets a timer if none is pending.
class TimersPulse {
 public:
  TimersPulse(Executor& executor, absl::Duration stuck_after) : executor_(executor), stuck_after_(stuck_after) {}
  ~TimersPulse();
  TimersPulse(const TimersPulse&) = delete;
  TimersPulse& operator=(const TimersPulse&) = delete;

  // OK, or Unavailable with a line that says for how long no timer has run.
  absl::Status Look(MonotonicTime now);

 private:
  Executor& executor_;
  const absl::Duration stuck_after_;
  // Whether the last timer has fired. Shared with its callback, which may run after the destructor.
  std::shared_ptr<std::atomic<bool>> has_run_;
  MonotonicTime set_at_;
  uint64_t timer_ = 0;
};

// Whether the heartbeats of a node turn: OK, or Unavailable with a line that says since when they are due.
absl::Status HeartbeatsPulse(absl::Duration overdue, absl::Duration stuck_after);

class Health {
 public:
  // `node` may be null. Both must outlive this object.
  Health(ActorSystem& system, const Node* node, absl::Duration stuck_after);

  // OK, or Unavailable with a line that says why.
  absl::Status Live();
  absl::Status Ready() const;

 private:
  ActorSystem& system_;
  const Node* const node_;
  const absl::Duration stuck_after_;
  WorkersPulse workers_;
  TimersPulse timers_;
};

}  // namespace understudy::internal

#endif  // UNDERSTUDY_TRANSPORT_METRICS_HEALTH_H_
