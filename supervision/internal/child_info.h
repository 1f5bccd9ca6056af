// ChildInfo and ChildCounts: a supervisor's answers to queries about its children. ChildLook: the state of a child as
// another thread reads it without asking the supervisor (supervisor_looks.h).
//
// Threads: values.
#ifndef UNDERSTUDY_SUPERVISION_INTERNAL_CHILD_INFO_H_
#define UNDERSTUDY_SUPERVISION_INTERNAL_CHILD_INFO_H_

#include <cstdint>
#include <string>

#include "absl/strings/string_view.h"
#include "absl/types/optional.h"
#include "understudy/actors/clock.h"
#include "understudy/actors/pid.h"
#include "understudy/supervision/child_spec.h"

namespace understudy {

// The state of a child, as users see it.
enum class ChildState {
  kStopped,  // not running, and no start of it is planned
  kStarting,
  kRunning,
  kStopping,    // told to stop
  kRestarting,  // down; it will be started again after a wait, or after other children and requests
  kParked,      // down until its name is free, which another actor has
};

inline absl::string_view ChildStateName(ChildState state) {
  switch (state) {
    case ChildState::kStopped:
      return "stopped";
    case ChildState::kStarting:
      return "starting";
    case ChildState::kRunning:
      return "running";
    case ChildState::kStopping:
      return "stopping";
    case ChildState::kRestarting:
      return "restarting";
    case ChildState::kParked:
      return "parked";
  }
  return "?";
}

struct ChildInfo {
  std::string id;
  ChildState state = ChildState::kStopped;
  Pid pid;  // null unless starting, running or stopping
  ChildKind kind = ChildKind::kWorker;
  RestartType restart = RestartType::kPermanent;
  int restarts = 0;
  uint64_t place = 0;  // grows in start order: a child's place is above those of all children before it
};

struct ChildLook {
  ChildInfo info;
  ChildShutdown shutdown;
  absl::optional<RestartBackoff> backoff;
  absl::optional<RestartBudget> budget;
  bool significant = false;
  // While the child waits for the end of a backoff: when it is started again.
  absl::optional<MonotonicTime> next_start;
  // The reason with which the child's last life ended, or could not start, with its causes: at most
  // limits::kLastExitBytesMax bytes. Empty if no life has ended.
  std::string last_exit;
  MonotonicTime exited;  // when that was
};

struct ChildCounts {
  int specs = 0;        // children, running or not
  int active = 0;       // running children
  int supervisors = 0;  // children that are supervisors, running or not
  int workers = 0;      // all other children, running or not
};

}  // namespace understudy

#endif  // UNDERSTUDY_SUPERVISION_INTERNAL_CHILD_INFO_H_
