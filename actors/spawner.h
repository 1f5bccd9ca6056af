// Spawner: starts a process or an actor on another node, so that supervision does not
// depend on processes and nodes.
//
// A spawner makes a local actor, the proxy, which represents the process or remote
// actor. The proxy is started when the process or actor has started, and ends with its
// exit reason (for a process, its wait status). If the proxy is told to stop, it stops
// the process or actor; if it is killed, a process gets SIGKILL and a remote actor is
// killed. So links, monitors, Started and shutdown timeouts work as for every other
// actor. The proxy of a process is gone (Context::MonitorUntilGone) when the process has
// ended; after a SIGKILL that is later than the end of the proxy.
//
// A Node installs its spawner in its ActorSystem; actors get it from context().Spawner().
#ifndef UNDERSTUDY_ACTORS_SPAWNER_H_
#define UNDERSTUDY_ACTORS_SPAWNER_H_

#include <functional>
#include <memory>
#include <string>
#include <utility>
#include <vector>

#include "absl/status/statusor.h"
#include "absl/time/time.h"
#include "understudy/actors/limits.h"
#include "understudy/actors/pid.h"
#include "understudy/actors/process_limits.h"

namespace understudy {

class Actor;

// An operating-system process with a node of its own (its main calls
// Node::FromParent).
struct ProcessChild {
  // The path of the program. A path that begins with neither / nor . is searched beside
  // this program and in its runfiles (FindBinary of transport/process/os_process.h).
  std::string binary;
  std::vector<std::string> arguments;
  // Added to the environment of this process.
  std::vector<std::pair<std::string, std::string>> environment;
  // The name of its node: a DNS label.
  std::string node_name;
  // The time from the request to stop until SIGTERM, and from SIGTERM until SIGKILL.
  // Not negative. Infinite: no signal is sent.
  absl::Duration stop_within = absl::Seconds(5);
  ProcessLimits limits;
  // A child whose node sends nothing for this time is killed, because it is stuck or
  // stopped. Must be valid as SessionTimes::silence_timeout; the heartbeat is at most a
  // quarter of it.
  absl::Duration silent_within = limits::kProcessChildSilence;
};

// An actor on another node, made there by a factory that the node has registered
// for other nodes.
struct NodeChild {
  // The nodes on which the actor may run. They are tried in this order, and the first
  // that is connected is used.
  std::vector<std::string> nodes;
  // How long to wait until one of `nodes` is connected; not negative.
  absl::Duration connect_within = absl::Seconds(5);
  // The name of the factory.
  std::string factory;
  // A protobuf message for the factory: its full name and its bytes. Both are empty if
  // there is none.
  std::string argument_type;
  std::string argument;
  // The actor's name in the cluster and its label in logs; each may be empty.
  std::string published_as;
  std::string label;
  // How long the actor may take to end when its node has lost the node of its parent.
  // Not negative. Infinite: no limit; zero: it is killed.
  absl::Duration stop_within = absl::Seconds(5);
  // Called with the actor's pid in the proxy's turn, just before the proxy is started.
  // May be null.
  std::function<void(Pid)> on_started;
  // Refers to the unhandled mail of the child's last life, which the node where it ran
  // keeps (unhandled_mail.h). The proxy gives that mail to the new life if it starts on
  // the same node, and at the end of this life stores here what this life has left. The
  // mail becomes dead letters if the next life starts on another node, or when this
  // reference is destroyed. Null: no mail is kept.
  std::shared_ptr<std::shared_ptr<const void>> left;
};

// Any thread.
class Spawner {
 public:
  virtual ~Spawner() = default;

  // Returns a function that makes a new proxy for `child` at each call, so that a
  // supervisor can start the child again. Returns an error if `child` could never start:
  // FailedPrecondition if this node starts no processes, and InvalidArgument, NotFound or
  // PermissionDenied for a bad name, time or program.
  virtual absl::StatusOr<std::function<std::unique_ptr<Actor>()>> ForProcess(const ProcessChild& child) = 0;

  // Like ForProcess, for an actor on another node. The proxy ends with NoConnection if the
  // session with that node ends.
  virtual absl::StatusOr<std::function<std::unique_ptr<Actor>()>> ForNode(const NodeChild& child) = 0;

  // True if `asker`, an actor of another node, may start actors on this node.
  virtual bool Grants(Pid asker) = 0;
};

}  // namespace understudy

#endif  // UNDERSTUDY_ACTORS_SPAWNER_H_
