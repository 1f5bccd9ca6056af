// Spawner: starts an actor somewhere else, so that supervision needs to know
// nothing of processes and nodes.
//
// A spawner puts a local actor in the place of what it starts. That actor is
// started when the thing it stands for has started, ends with the reason that
// the thing ended with (a process's wait status), ends it when it is told to
// stop, and SIGKILLs it when it is killed itself. So links, monitors, Started
// and shutdown timeouts work as for every other actor. The proxy of a process
// is gone (Context::MonitorUntilGone) when the process has ended: after a SIGKILL
// that is later than the proxy's end.
//
// A Node installs its spawners in its ActorSystem; context().Spawner() gives
// them to actors.
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
  // A path; one that begins with neither / nor . is looked for beside this
  // program, and in its runfiles (FindBinary of transport/process/os_process.h).
  std::string binary;
  std::vector<std::string> arguments;
  // Added to the environment of this process.
  std::vector<std::pair<std::string, std::string>> environment;
  // The name of its node: a DNS label.
  std::string node_name;
  // From asking it to stop to SIGTERM, and from there to SIGKILL; infinite:
  // neither.
  absl::Duration stop_within = absl::Seconds(5);
  ProcessLimits limits;
  // A child whose node says nothing for so long is killed, because it is stuck or
  // stopped. ForProcess refuses what SessionTimes::Validate does not take as a
  // silence_timeout; the heartbeat is at most a quarter of it.
  absl::Duration silent_within = limits::kProcessChildSilence;
};

// An actor on another node, made there by a factory that the node has registered
// for others.
struct NodeChild {
  // Tried in this order: the first that is connected has it.
  std::vector<std::string> nodes;
  // Waits so long for one of them to be connected.
  absl::Duration connect_within = absl::Seconds(5);
  std::string factory;
  // A protobuf message for the factory: its full name and its bytes. Both empty
  // for none.
  std::string argument_type;
  std::string argument;
  // Its name in the cluster, and what people call it; may be empty.
  std::string published_as;
  std::string label;
  // What it has to end in when its parent's node is lost: infinite is no limit,
  // 0 a kill.
  absl::Duration stop_within = absl::Seconds(5);
  // Told who the actor is, in the proxy's turn, just before that has started;
  // may be null.
  std::function<void(Pid)> on_started;
  // What the last life of the same child left, on the node where it ran, in
  // mailboxes that are kept (unhandled_mail.h); after this life's end, what this one did.
  // A life that begins on that node has it. It is dead letters when another node
  // has the next life, or when it is let go. May be null: nothing is kept.
  std::shared_ptr<std::shared_ptr<const void>> left;
};

// Any thread.
class Spawner {
 public:
  virtual ~Spawner() = default;

  // Makes the actors that stand for `child`: one per call of the result, so a
  // supervisor can start it again. FailedPrecondition or InvalidArgument when
  // this could never start.
  virtual absl::StatusOr<std::function<std::unique_ptr<Actor>()>> ForProcess(const ProcessChild& child) = 0;

  // The same for an actor on another node. Its node's loss ends the proxy
  // with NoConnection.
  virtual absl::StatusOr<std::function<std::unique_ptr<Actor>()>> ForNode(const NodeChild& child) = 0;

  // Whether that actor, of another node, may start actors here.
  virtual bool Grants(Pid asker) = 0;
};

}  // namespace understudy

#endif  // UNDERSTUDY_ACTORS_SPAWNER_H_
