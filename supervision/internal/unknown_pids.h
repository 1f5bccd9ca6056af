// UnknownPids: requests to terminate an actor that is not a child. Such an actor may have ended (OK) or be somebody
// else's (NotFound); a monitor tells which.
//
// Owner only.
#ifndef UNDERSTUDY_SUPERVISION_INTERNAL_UNKNOWN_PIDS_H_
#define UNDERSTUDY_SUPERVISION_INTERNAL_UNKNOWN_PIDS_H_

#include <cstdint>
#include <map>
#include <utility>

#include "understudy/actors/events.h"
#include "understudy/actors/exit_reason.h"
#include "understudy/actors/pid.h"
#include "understudy/actors/replier.h"
#include "understudy/supervision/spec_errors.h"
#include "understudy/supervision/supervisor.h"

namespace understudy::internal {

class UnknownPids {
 public:
  // A request to terminate `pid`, which `monitor` monitors. Returns the monitor's id.
  uint64_t Add(Pid pid, Replier<ChildDone> replier, MonitorHandle monitor) {
    const uint64_t id = monitor.id();
    requests_.emplace(id, Request{pid, std::move(replier), std::move(monitor)});
    return id;
  }
  // The monitor has fired: the actor has ended, or its node is not reached.
  void Ended(const Down& down) {
    auto request = requests_.extract(down.monitor);
    if (request.empty()) return;
    if (down.reason.kind() == ExitReason::Kind::kNoConnection) {
      request.mapped().replier.Reply(UnknownPidError(down.pid));
    } else {
      request.mapped().replier.Reply(ChildDone());
    }
  }
  // The monitor would have fired by now if the actor had ended.
  void StillAlive(uint64_t monitor) {
    auto request = requests_.extract(monitor);
    if (!request.empty()) request.mapped().replier.Reply(UnknownPidError(request.mapped().pid));
  }

 private:
  struct Request {
    Pid pid;
    Replier<ChildDone> replier;
    MonitorHandle monitor;
  };
  std::map<uint64_t, Request> requests_;  // by monitor
};

}  // namespace understudy::internal

#endif  // UNDERSTUDY_SUPERVISION_INTERNAL_UNKNOWN_PIDS_H_
