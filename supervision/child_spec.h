// ChildSpec and SupervisorSpec: a supervision tree as data.
//
// Specs say what a supervisor has to do. How a child is started is opaque here (`start`). The
// builders of builders.h fill specs in; FindSpecErrors (spec_errors.h) lists the errors of a spec.
//
// Terms and defaults are those of OTP's supervisor module where OTP has them: a child is
// permanent and is stopped within 5 s (a child that is a supervisor: without limit); a
// supervisor has intensity 1 in 5 s and does not shut down automatically.
//
// Threads: values.
#ifndef UNDERSTUDY_SUPERVISION_CHILD_SPEC_H_
#define UNDERSTUDY_SUPERVISION_CHILD_SPEC_H_

#include <functional>
#include <memory>
#include <ostream>
#include <string>
#include <utility>
#include <vector>

#include "absl/strings/string_view.h"
#include "absl/time/time.h"
#include "absl/types/optional.h"
#include "understudy/actors/limits.h"
#include "understudy/actors/process_limits.h"

namespace understudy {

// Which exits a child is restarted after.
enum class RestartType {
  kPermanent,  // every one
  kTransient,  // abnormal ones: neither Normal nor Shutdown
  kTemporary,  // none; its spec goes with it
};

// Which other children are restarted together with a child.
enum class RestartStrategy {
  kOneForOne,   // none
  kOneForAll,   // every child
  kRestForOne,  // the children started after it
};

// Whether the end of significant children ends their supervisor.
enum class AutoShutdown { kNever, kAnySignificant, kAllSignificant };

enum class ChildKind { kWorker, kSupervisor, kProcess };

// How a child is stopped.
struct ChildShutdown {
  enum class Kind {
    kWithin,      // asked to exit with Shutdown, killed after `timeout`
    kBrutalKill,  // killed
    kInfinity,    // asked, and waited for
  };
  Kind kind = Kind::kWithin;
  absl::Duration timeout = absl::Seconds(5);  // of kWithin

  // An infinite `timeout` is Infinity.
  static ChildShutdown Within(absl::Duration timeout);
  static ChildShutdown BrutalKill();
  static ChildShutdown Infinity();

  // How long a stop may take: `timeout`, nothing, or for ever.
  absl::Duration LongestStop() const;
  friend bool operator==(const ChildShutdown&, const ChildShutdown&) = default;
};

// How long to wait before a restart. The first restart after a healthy time is
// immediate; the second waits `min`, each further one `factor` times as long,
// up to `max`. A restart that waited is not counted in the supervisor's
// intensity: such a child gives up by the limits here, and its supervisor with
// it.
struct RestartBackoff {
  absl::Duration min = absl::Milliseconds(100);
  absl::Duration max = absl::Seconds(30);
  double factor = 2.0;
  // The part of a wait that is random: the wait is uniform in
  // [(1 - jitter) * d, d].
  double jitter = 0.2;
  // A child that ran this long is healthy, and begins anew.
  absl::Duration reset_after = absl::Seconds(30);
  // Restarts without a healthy time between them, and how long these may go
  // on; whichever is reached first.
  int give_up_after_attempts = 1000;
  absl::Duration give_up_after = absl::InfiniteDuration();
  friend bool operator==(const RestartBackoff&, const RestartBackoff&) = default;
};

// How often one child may be restarted, besides the supervisor's intensity: more
// than `intensity` counted restarts within `period` and this child is given up.
// A pool then goes on without it; every other supervisor gives up with it.
struct RestartBudget {
  int intensity = 1;
  absl::Duration period = absl::Seconds(5);
  friend bool operator==(const RestartBudget&, const RestartBudget&) = default;
};

// A child that is an operating-system process, and a node, of its own.
struct ProcessSpec {
  // A path; one that begins with neither / nor . is looked for beside this
  // program, and in its runfiles (FindBinary of transport/process/os_process.h).
  std::string binary;
  std::vector<std::string> arguments;
  // Added to the environment of this process.
  std::vector<std::pair<std::string, std::string>> environment;
  // A DNS label; the child's id when empty.
  std::string node_name;
  // The most that the process may use. If the platform cannot enforce a limit, the
  // start of the process fails.
  ProcessLimits limits;
  // Killed when its node says nothing for so long: it is stuck or stopped. From
  // limits::kProcessChildSilenceMin to kProcessChildSilenceMax.
  absl::Duration silent_within = limits::kProcessChildSilence;
  friend bool operator==(const ProcessSpec&, const ProcessSpec&) = default;
};

// A worker that a registered factory makes (actor_factories.h): unlike any
// other it can be written to a file.
struct FactoryCall {
  std::string name;
  // A protobuf message for the factory: its full name and its bytes. Both empty
  // for none.
  std::string argument_type;
  std::string argument;
  friend bool operator==(const FactoryCall&, const FactoryCall&) = default;
};

// Which nodes of the cluster a child may run on. It is started on the first of
// them that is connected, also when it is started again; so it leaves a node that
// is lost, and stays on one where it merely crashed.
struct NodePlacement {
  // DNS labels; this node's own name may be among them.
  std::vector<std::string> nodes;
  // The list is begun at a place that depends on the child's id, so that many
  // children share the nodes.
  bool spread = false;
  // A start waits so long for one of them to be connected, then it has failed
  // with NoConnection.
  absl::Duration connect_within = absl::Seconds(5);
  friend bool operator==(const NodePlacement&, const NodePlacement&) = default;
};

// The child runs on `node` only.
NodePlacement OnNode(std::string node);
// The child runs on the first of `nodes` that is connected.
NodePlacement OnAnyOf(std::vector<std::string> nodes);
// Like OnAnyOf, but each child begins at a different place in the list.
NodePlacement SpreadOver(std::vector<std::string> nodes);

// In which order the nodes are tried for the child of that id; the same in every
// run of every program.
std::vector<std::string> NodesInTurn(const NodePlacement& placement, absl::string_view child_id);

struct SupervisionEvent;
struct SupervisorSpec;
class ChildStart;  // how to start a worker: see child_start.h

struct ChildSpec {
  std::string id;
  ChildKind kind = ChildKind::kWorker;
  RestartType restart = RestartType::kPermanent;
  // Unset: within 5 s, and Infinity for a supervisor.
  absl::optional<ChildShutdown> shutdown;
  // The child's own end may end its supervisor; see AutoShutdown.
  bool significant = false;
  absl::optional<RestartBackoff> backoff;
  absl::optional<RestartBudget> budget;
  // The child is started again only when nothing of its last life is left (Context::MonitorUntilGone): of an actor its
  // handler, object and LifeHolds; of a process the process; of a supervisor also every actor and process below it.
  // The child is given up (Stuck) if this takes longer than its `shutdown`, or than 5 s for kBrutalKill; for kInfinity
  // the wait has no limit. Not for a child on another node, nor for a supervisor with such a child below it.
  bool exclusive = false;
  // Bounds the constructor and Start.
  absl::Duration start_within = absl::InfiniteDuration();
  // A name of this node, and one of the cluster; empty for none.
  std::string registered_as;
  std::string published_as;
  // Supervisors only: the tree below the child, where known; see Subtree.
  std::shared_ptr<const SupervisorSpec> subtree;
  // Set if the child is a process.
  absl::optional<ProcessSpec> process;
  // Set for a worker or a pool that a registered factory makes (actor_factories.h). Unless the child has a placement,
  // `start` must be set too, to what ActorFactories makes of this call; in a tree read from a file it is.
  absl::optional<FactoryCall> factory;
  // Set for a worker on another node: the nodes where it may run. `factory` must then name a factory that is registered
  // there, and `start` is not used.
  absl::optional<NodePlacement> placement;
  std::shared_ptr<const ChildStart> start;
};

// Makes a supervisor a pool: its children are started by request, all from one template, and stop
// concurrently. OTP: simple_one_for_one.
struct PoolSpec {
  // The template. Its id begins the ids of children that were given none:
  // "job#17". Of a process each child's node has its id as its name: "job-17".
  // In its names "{id}" stands for the child's id, and must be there.
  ChildSpec child;
  int children_max = 100000;
  // Above 1: that many supervisors share the children, by their ids; intensity
  // and children_max are then counted in each, with its part of children_max.
  int shards = 1;
};

struct SupervisorSpec {
  RestartStrategy strategy = RestartStrategy::kOneForOne;
  // More than `intensity` restarts within `period` and the supervisor gives up.
  int intensity = 1;
  absl::Duration period = absl::Seconds(5);
  AutoShutdown auto_shutdown = AutoShutdown::kNever;
  // Called for each event of this supervisor, and of those below it that have
  // none of their own; in the supervisor's turn, so it must not wait.
  std::function<void(const SupervisionEvent&)> on_event;
  // Started in this order, stopped in reverse.
  std::vector<ChildSpec> children;
  // Stopped all at once instead; only of one_for_one, where they do not depend on
  // each other. A pool always does so.
  bool stop_together = false;
  // Set for a pool, which is one_for_one and has no `children`.
  std::shared_ptr<const PoolSpec> pool;
};

// Makes the shared tree for ChildSpec::subtree. Destroying it needs no more stack for a deep tree than for a flat one.
std::shared_ptr<const SupervisorSpec> Subtree(SupervisorSpec tree);

// `child.shutdown`, or the default of its kind.
ChildShutdown ShutdownOf(const ChildSpec& child);

// How long the children may take to stop: one after another, or together.
absl::Duration LongestStopOfChildren(const SupervisorSpec& spec);

absl::string_view RestartTypeName(RestartType type);
absl::string_view RestartStrategyName(RestartStrategy strategy);
absl::string_view ChildKindName(ChildKind kind);

// Describes one child, as in the lines of DescribeTree: "lot-1: transient worker, killed".
std::string DescribeChild(const ChildSpec& child);

// Returns the tree as text, one line for each actor, children indented, without
// the options that have their defaults:
//
//   one_for_one, at most 3 restarts in 10s
//     ledger: permanent process ledger_node, stopped within 5s
//     lots: permanent supervisor, stopped without limit
//       one_for_all, …
std::string DescribeTree(const SupervisorSpec& spec);

inline std::ostream& operator<<(std::ostream& out, RestartType type) { return out << RestartTypeName(type); }
inline std::ostream& operator<<(std::ostream& out, RestartStrategy s) { return out << RestartStrategyName(s); }

}  // namespace understudy

#endif  // UNDERSTUDY_SUPERVISION_CHILD_SPEC_H_
