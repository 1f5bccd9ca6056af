// Node: joins an ActorSystem with the systems of other processes.
//
//   int main() {
//     ActorSystem system({.name = "ledger"});
//     absl::StatusOr<std::unique_ptr<Node>> node = Node::Start(system, {.listen = "127.0.0.1:7000"});
//     if (!node.ok()) { … }
//     return (*node)->RunTree(house);          // a supervisor's builder, or any ActorSpec
//   }
//
// Requires: the system's name, which becomes the node's name, is a DNS label that
// no other live node of the cluster has. A system has at most one node.
// Guarantees: names that the system's actors publish are known to every peer;
// sends, asks, links and monitors reach the peers' actors; a process child of
// this node (context().Spawner()) does not outlive it.
// Security: without TLS (Credentials::Tls) a node uses loopback and Unix sockets
// only. A peer may send to, ask and monitor any actor whose address it has learned
// (from a name, a ref, or the sender of a message; addresses cannot be guessed).
// NodeOptions::grants decides what else the peer may do (grants.h).
// Threads: any, but Drain and RunUntilSignal must not be called in an actor's turn.
// Lifetime: the node must be destroyed before its system. The destructor first ends
// the system's actors, as Drain does.
// User code: on_peer, and those calls of the system's log sink and dead-letter
// listeners that concern peers, run on threads of the node that carry no stream, so
// a slow callback does not delay the peers.
// Failure: Start returns a status. Later failures of a peer are reported in the log,
// in on_peer, and to the actors that have links, monitors and asks at that peer.
#ifndef UNDERSTUDY_TRANSPORT_NODE_H_
#define UNDERSTUDY_TRANSPORT_NODE_H_

#include <cstdint>
#include <functional>
#include <map>
#include <memory>
#include <set>
#include <string>
#include <vector>

#include "absl/status/status.h"
#include "absl/status/statusor.h"
#include "absl/strings/string_view.h"
#include "absl/time/time.h"
#include "understudy/actors/actor.h"
#include "understudy/actors/actor_spec.h"
#include "understudy/actors/actor_system.h"
#include "understudy/actors/pid.h"
#include "understudy/transport/credentials.h"
#include "understudy/transport/grants.h"
#include "understudy/transport/node_status.h"
#include "understudy/transport/session_times.h"

namespace understudy {

class Dialer;  // session/frame_stream.h

struct NodeOptions {
  // The address at which this node accepts connections (see NodeAddress). Port 0
  // means a free port. If empty, this node does not listen and only dials others.
  std::string listen = "127.0.0.1:0";
  // The address that peers are told to dial, if it differs from `listen`: for example
  // when `listen` is 0.0.0.0 or [::], which cannot be dialled.
  std::string advertise;
  // The nodes that this node dials: node name to address.
  std::map<std::string, std::string> peers;
  Credentials credentials;
  // The address at which this node's process children listen for each other; each
  // child is told it when it starts. A TCP address requires TLS credentials, of the
  // children too. If empty, the children listen on Unix sockets in a folder that only
  // this user can open.
  std::string children_listen;
  // Grants of individual peers on this node, beyond the defaults (grants.h): to exit,
  // kill, stop and link actors, to start actors through this node's child host
  // (child_host.h), and to publish names.
  std::vector<GrantEntry> grants;
  // If true, every peer without a certificate may do all of that. On loopback without
  // TLS a peer's name is self-declared, so this trusts every process of the machine.
  bool insecure_loopback_grants = false;
  // The actions that every process of the machine may take through an Ops of this node that
  // listens on loopback TCP without TLS (ops/ops.h); none by default.
  std::set<OpsAction> insecure_loopback_ops;
  SessionTimes times;  // Start returns InvalidArgument if Validate() does
  // The time that the actors have to stop when the node is destroyed or
  // RunUntilSignal drains it: 0 to limits::kDrainWithinMax.
  absl::Duration drain_within = absl::Seconds(10);
  // The path of a file that RunTree and RunUntilSignal write when the tree has ended
  // abnormally. It says which supervisor gave up, with the chain of causes, in at
  // most limits::kEndReportBytesMax bytes. Kubernetes shows the contents of
  // /dev/termination-log. If empty, no file is written; the log says it in any case.
  std::string end_report;
  // Whether a signal that ends this process leaves a line in its standard error which names the actor whose handler ran
  // (actor_system.h), until the system is destroyed. The exit reason of a process child quotes that line.
  FatalSignalReports fatal_signal_reports = FatalSignalReports::kYes;
  // Called with every change of a peer's state, in order, on a thread that runs
  // nothing else. While a call has not returned, up to limits::kUserCallsMax events
  // wait; further ones are dropped and counted in NodeCounters::peer_events_dropped.
  std::function<void(const PeerEvent&)> on_peer;
  // For tests that inject faults between nodes: replaces the node's dialer by one
  // that wraps it.
  std::function<std::unique_ptr<Dialer>(std::unique_ptr<Dialer>)> wrap_dialer;
};

// How far the node has come: kReady from the first call of Ready, kDraining from the first call of Drain.
enum class NodeState { kStarting, kReady, kDraining };

class Node {
 public:
  // Starts a node for `system`. InvalidArgument: the system's name is not a DNS label,
  // an address is malformed, `advertise` cannot be dialled, or `times`, `drain_within`,
  // `fatal_signal_reports` or `grants` are invalid. FailedPrecondition: an address needs TLS, or the system already has
  // a node. Unavailable, AlreadyExists: the node cannot listen on the address. ResourceExhausted: more than
  // limits::kPeersMax peers. A start that failed leaves the system and its actors unchanged, so the caller may try
  // again.
  [[nodiscard]] static absl::StatusOr<std::unique_ptr<Node>> Start(ActorSystem& system, NodeOptions options = {});

  // Like Start, in a process that a node started as its child (ProcessSpawner). The node
  // joins the parent over the inherited socketpair and listens where the parent says;
  // `options.listen` is ignored. When the connection to the parent ends, the node
  // drains for limits::kParentGoneDrain and the process exits, whatever it is doing.
  // FailedPrecondition: this process was not started by a node. InvalidArgument: the
  // system's name is not the one that the parent chose (GivenName).
  [[nodiscard]] static absl::StatusOr<std::unique_ptr<Node>> FromParent(ActorSystem& system, NodeOptions options = {});
  // Whether a parent node started this process.
  static bool HasParent();
  // Returns the name that the parent chose for this process's node, or `otherwise` if
  // this process has no parent node.
  static std::string GivenName(absl::string_view otherwise);

  // Drains with NodeOptions::drain_within, unless the node is drained already, and
  // waits for handlers that have not returned.
  ~Node();
  Node(const Node&) = delete;
  Node& operator=(const Node&) = delete;

  const std::string& name() const;
  // The address at which this node listens, with the actual port; empty if it does
  // not listen.
  const std::string& address() const;

  // Dials `node` at `address` from now on; an earlier address is replaced.
  // InvalidArgument: the name or the address is malformed. FailedPrecondition: the
  // address needs TLS.
  [[nodiscard]] absl::Status AddPeer(absl::string_view node, absl::string_view address);

  // The present state of each peer, and this node's counters (node_status.h).
  std::vector<PeerStatus> Peers() const;
  NodeCounters counters() const;
  // How long heartbeats have been due and were not sent, because the thread that sends them stands still; usually zero.
  // Does not wait.
  absl::Duration heartbeats_overdue() const;

  // Replaces NodeOptions::grants. InvalidArgument names the invalid entry; the earlier
  // grants then remain in force.
  [[nodiscard]] absl::Status SetGrants(std::vector<GrantEntry> grants);

  // The actions that a client of the operator's service over TCP may take by the present grants (Grants::OpsOf).
  std::set<OpsAction> OpsGrants(const StreamIdentity& identity) const;

  // Says that this node has started: state() is kReady, and a parent hears it, so that its
  // supervisor starts the next child. RunTree calls it when the tree has started,
  // RunUntilSignal at its beginning.
  void Ready();
  NodeState state() const;
  // Calls `watch` with the present state at once. Calls it again with each later state: on the thread of the first call
  // of Ready, and on the thread of Drain before the steps of DrainFirst. `watch` must not block. Returns an id for
  // UnwatchState.
  uint64_t WatchState(std::function<void(NodeState)> watch);
  // After this returns, the watch is not running and does not run again. Must not be called by a watch.
  void UnwatchState(uint64_t id);

  // Makes RunUntilSignal drain and return, as SIGTERM does. May be called on any
  // thread and in an actor's turn.
  void RequestStop();

  using DrainStep = std::function<void(absl::Duration within)>;
  // Makes Drain call `step` before all else, with half of its `within` less what earlier steps took. The actors have
  // the time that is left. It is meant for parts that take calls from outside the cluster, such as a Gateway
  // (GatewayOptions::node). `step` runs on the thread of Drain. Returns an id for ForgetDrainFirst.
  uint64_t DrainFirst(DrainStep step);
  // After this returns, the step is not running and does not run again. Must not be called by a step.
  void ForgetDrainFirst(uint64_t id);

  // Runs the steps of DrainFirst, ends the system's actors and leaves, in this order:
  //  1. New asks of peers and new names are refused with Stopping. Tells, signals,
  //     this node's own asks and the asks under way go on.
  //  2. The actors stop in order and have `within` for it (ActorSystem::Shutdown).
  //     Asks of plain threads, such as a gRPC front's, go on until their callees end.
  //  3. Actors that are left after `within` are killed, and their asks are cancelled.
  //  4. Each session ends with a leave. The node listens until then, so that a peer
  //     whose stream breaks meanwhile can resume its session.
  // The log has a line when the drain begins, and one when it has ended.
  // Returns the exit status for main: 0, or 1 if an actor had to be killed. The first
  // call drains; others, at the same time or later, wait for it and return the same. A
  // negative `within` counts as zero.
  int Drain(absl::Duration within);

  // Blocks until SIGTERM, SIGINT, RequestStop, a stop request of the parent, or the end
  // of `tree` (if it is not null); then drains. Returns the exit status for main: that
  // of Drain, but 1 if `tree` ended with an abnormal reason. A second signal, or a
  // handler that does not return, ends the process by _exit. At most one node of a
  // process may be in this call (CHECKed). Until the call, signals keep their earlier
  // disposition: a program that must drain on an earlier signal too blocks SIGTERM and
  // SIGINT at the start of main, and this call unblocks them.
  int RunUntilSignal(Pid tree = Pid());

  // Spawns `tree` and then does what RunUntilSignal does, but calls Ready only when the
  // tree has started and its names are published. A tree that fails to start counts as
  // one that has ended.
  template <Spawnable S>
  int RunTree(const S& tree) {
    const ActorSpec<typename S::RefType> made = tree;
    return RunMade(made.options, made.make);
  }

 private:
  class Parts;
  explicit Node(std::unique_ptr<Parts> parts);
  int RunMade(SpawnOptions options, std::function<std::unique_ptr<Actor>()> make);

  const std::unique_ptr<Parts> parts_;
};

}  // namespace understudy

#endif  // UNDERSTUDY_TRANSPORT_NODE_H_
