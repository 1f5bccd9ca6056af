// Node: joins an ActorSystem with the systems of other processes.
//
//   int main() {
//     ActorSystem system({.name = "ledger"});
//     absl::StatusOr<std::unique_ptr<Node>> node = Node::Start(system, {.listen = "127.0.0.1:7000"});
//     if (!node.ok()) { … }
//     return (*node)->RunTree(house);          // a supervisor's builder, or any ActorSpec
//   }
//
// Requires: the system's name is the node's, a DNS label that no other live
// node of the cluster has; one node for each system.
// Guarantees: names that the system's actors publish are known to every peer;
// sends, asks, links and monitors reach the peers' actors; a process child of
// this node (context().Spawner()) does not outlive it.
// Security: without TLS (Credentials::Tls) a node uses loopback and Unix sockets
// only. A peer may send to, ask and monitor what it has an address of
// (by a name, in a ref, as a message's sender; it cannot guess one); what else
// it may do, NodeOptions::grants says (grants.h).
// Threads: any, but not an actor's turn for Drain and RunUntilSignal.
// Lifetime: the node adopts the system: destroying it first ends the system's
// actors, as Drain does. It is destroyed before the system.
// User code: on_peer, and the system's log sink and dead-letter listeners as far as
// they hear of peers, run on threads of the node that carry no stream.
// Failure: Start answers a status; what happens to a peer later shows in the
// log, in on_peer, and to those who have links, monitors and asks there.
#ifndef UNDERSTUDY_TRANSPORT_NODE_H_
#define UNDERSTUDY_TRANSPORT_NODE_H_

#include <functional>
#include <map>
#include <memory>
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
#include "understudy/transport/session/frame_stream.h"
#include "understudy/transport/session/peer_session.h"

namespace understudy {

struct NodeCounters;  // node_status.h
struct PeerEvent;     // node_core.h
struct PeerStatus;    // node_status.h

struct NodeOptions {
  // Where other nodes dial this one; see NodeAddress. Port 0 is a free one.
  // Empty: nowhere, this node only dials.
  std::string listen = "127.0.0.1:0";
  // Told to peers instead of the listening address, where that cannot be dialled,
  // as 0.0.0.0 and [::] cannot.
  std::string advertise;
  // Nodes to be dialled, and where: node name to address.
  std::map<std::string, std::string> peers;
  Credentials credentials;
  // Where this node's process children listen for each other, told to them when they
  // start; TCP needs TLS credentials, the children's too. Empty: on Unix sockets in
  // a folder that only this user can open.
  std::string children_listen;
  // What single peers may do here beside the defaults (grants.h): exit, kill,
  // stop and link actors, start those that a child host (child_host.h) of this
  // node has factories for, publish names.
  std::vector<GrantEntry> grants;
  // Every peer without a certificate may do all of that. On loopback without TLS a
  // peer's name is self-declared, so this trusts every process of the machine.
  bool insecure_loopback_grants = false;
  SessionTimes times;  // Start refuses those that are out of their ranges
  // What Drain gives the actors when the node is destroyed or RunUntilSignal
  // ends.
  absl::Duration drain_within = absl::Seconds(10);
  // A file to be written when the tree has ended abnormally, in RunTree and
  // RunUntilSignal: which supervisor gave up, with the whole chain of causes, in
  // at most limits::kEndReportBytesMax bytes. Kubernetes shows what is in
  // /dev/termination-log. Empty: none; the log has the same in any case.
  std::string end_report;
  // Whether a signal that ends this process leaves a line in its standard error which names the actor whose handler ran
  // (actor_system.h), until the system is destroyed. The exit reason of a process child quotes that line.
  FatalSignalReports fatal_signal_reports = FatalSignalReports::kYes;
  // Told what becomes of peers, in order, on a thread that does nothing else. While it
  // does not return, limits::kUserCallsMax events wait for it; those beyond are
  // dropped, and counted in NodeCounters::peer_events_dropped.
  std::function<void(const PeerEvent&)> on_peer;
  // Puts faults between nodes, in tests: wraps what dials.
  std::function<std::unique_ptr<Dialer>(std::unique_ptr<Dialer>)> wrap_dialer;
};

class Node {
 public:
  // InvalidArgument: the system's name is not a DNS label, or an address is malformed,
  // or `advertise` is one that no peer can dial.
  // FailedPrecondition: an address needs TLS, or the system has a node. Unavailable,
  // AlreadyExists: the listening address cannot be had. ResourceExhausted: more than
  // limits::kPeersMax peers. A start that failed leaves the system and its actors as
  // they were, so the caller may try again.
  [[nodiscard]] static absl::StatusOr<std::unique_ptr<Node>> Start(ActorSystem& system, NodeOptions options = {});

  // In a process that a node started as its child (ProcessSpawner): joins the
  // parent over the inherited socketpair, and listens where the parent says
  // (`options.listen` is not used). The system's name is the one that the
  // parent chose, GivenName. When the connection to the parent ends, the node
  // drains for limits::kParentGoneDrain and the process exits, whatever it is
  // doing. FailedPrecondition in any other process.
  [[nodiscard]] static absl::StatusOr<std::unique_ptr<Node>> FromParent(ActorSystem& system, NodeOptions options = {});
  // Whether a parent node started this process.
  static bool HasParent();
  // The name that the parent chose for this process's node, else `otherwise`.
  static std::string GivenName(absl::string_view otherwise);

  // Drains, if that has not been done, and leaves.
  ~Node();
  Node(const Node&) = delete;
  Node& operator=(const Node&) = delete;

  const std::string& name() const;
  // Where it listens, with the real port; empty when nowhere.
  const std::string& address() const;

  // Dials that node there from now on, replacing an earlier address.
  // InvalidArgument, FailedPrecondition (it needs TLS).
  [[nodiscard]] absl::Status AddPeer(absl::string_view node, absl::string_view address);

  // What is known of each peer now, and what this node counted so far
  // (node_status.h).
  std::vector<PeerStatus> Peers() const;
  NodeCounters counters() const;

  // Replaces NodeOptions::grants. InvalidArgument says which entry is bad, and the old ones stay.
  [[nodiscard]] absl::Status SetGrants(std::vector<GrantEntry> grants);

  // The parent's supervisor may go on: this process child is started. Without a
  // parent it does nothing. RunTree and RunUntilSignal call it.
  void Ready();

  // Makes RunUntilSignal return, as SIGTERM does. Any thread, an actor's turn
  // too.
  void RequestStop();

  // Ends the system's actors and leaves, in this order:
  //  1. New asks of peers and new names are refused with Stopping. Tells, signals,
  //     this node's own asks and the asks under way go on.
  //  2. The actors stop in order and have `within` for it (ActorSystem::Shutdown).
  //     Asks of plain threads, such as a gRPC front's, go on until their callees end.
  //  3. What is left after `within` is killed, and its asks are cancelled.
  //  4. Each session ends with a leave. The node listens until then, so that a peer
  //     whose stream breaks meanwhile can resume its session.
  // Returns the exit status for main: 0, or 1 if an actor had to be killed. The first
  // call drains; others, at the same time or later, wait for it and return the same.
  int Drain(absl::Duration within);

  // Blocks until SIGTERM, SIGINT, RequestStop, the parent's wish, or the end of
  // `tree` (if it is an actor); then drains. Returns the exit status for main: 1
  // also when `tree` ended with an abnormal reason. A second signal, or a
  // handler that does not return, ends the process by _exit. At most one node of
  // a process runs so. Before it is called signals do what they did: a program
  // that must drain then too blocks both at the start of main; this unblocks them.
  int RunUntilSignal(Pid tree = Pid());

  // Spawns the tree and runs as RunUntilSignal does; Ready is when the tree has
  // started, names published and all. A tree that does not start has ended.
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
