#include "understudy/tools/understudy/observe.h"

#include <pthread.h>
#include <signal.h>

#include <algorithm>
#include <functional>
#include <memory>
#include <ostream>
#include <string>
#include <vector>

#include "absl/status/status.h"
#include "absl/status/statusor.h"
#include "understudy/tools/understudy/arguments.h"
#include "understudy/tools/understudy/observer/observer.h"
#include "understudy/tools/understudy/ops_channel.h"

namespace understudy::tool {

absl::Status RunObserve(const Arguments& arguments, std::ostream& out) {
  // Blocked before there are other threads, so that the signals wait for sigwait.
  sigset_t ends;
  sigemptyset(&ends);
  for (const int signal : {SIGINT, SIGTERM, SIGHUP}) sigaddset(&ends, signal);
  pthread_sigmask(SIG_BLOCK, &ends, nullptr);

  // A node of several may start later, but a page of which no node is there was called with wrong names, and files for
  // TLS that are wrong now would keep the node from being reached.
  std::vector<absl::Status> checks;
  for (const std::string& address : arguments.operands) {
    checks.push_back(CheckTarget({.address = address, .tls = arguments.tls}));
    if (absl::IsInvalidArgument(checks.back())) return checks.back();
  }
  if (std::none_of(checks.begin(), checks.end(), std::mem_fn(&absl::Status::ok))) return checks[0];
  const absl::StatusOr<std::unique_ptr<Observer>> observer =
      Observer::Start({.nodes = arguments.operands, .tls = arguments.tls, .port = arguments.port});
  if (!observer.ok()) return observer.status();
  out << (*observer)->PrintedAddress() << std::endl;
  int signal = 0;
  sigwait(&ends, &signal);
  return absl::OkStatus();
}

}  // namespace understudy::tool
