// SimulatedCluster: several nodes in one process and one thread, on virtual
// time, joined by a simulated network. The same seed gives the same run.
//
//   SimulatedCluster cluster({.seed = 7, .nodes = {"a", "b"}, .on_start = [&](absl::string_view node, TestSystem&
//   system) {
//     if (node == "a") system.Spawn(HouseTree(disk_of_a));    // what the node's program does
//   }});
//   cluster.RunFor(absl::Seconds(1));
//   cluster.network().Cut("a", "b");
//   cluster.Pause("b");                   // as SIGSTOP does, until Resume
//   cluster.Crash("b");
//   cluster.Start("b");                   // a new incarnation, with its on_start
//   EXPECT_THAT(cluster.trace(), ...);    // every step of every actor, every frame, byte for byte
//
// Every node dials every other, unless Options::hub says otherwise. RandomFaults (random_faults.h) lets the seed choose
// the faults. Threads: one. Lifetime: a system or core of a node is valid until its Crash. What outlives a crash, such
// as a disk, is an object of the test, declared before the cluster.
#ifndef UNDERSTUDY_TRANSPORT_TESTING_SIMULATED_CLUSTER_H_
#define UNDERSTUDY_TRANSPORT_TESTING_SIMULATED_CLUSTER_H_

#include <cstdint>
#include <functional>
#include <map>
#include <memory>
#include <string>
#include <vector>

#include "absl/strings/string_view.h"
#include "absl/time/time.h"
#include "understudy/actors/pausable_executor.h"
#include "understudy/actors/random.h"
#include "understudy/actors/seeded_executor.h"
#include "understudy/actors/test_system.h"
#include "understudy/actors/trace.h"
#include "understudy/transport/children/node_spawner.h"
#include "understudy/transport/core/node_core.h"
#include "understudy/transport/grants.h"
#include "understudy/transport/session/peer_watch.h"
#include "understudy/transport/session/reliable_sequence.h"
#include "understudy/transport/session/stream_identity.h"
#include "understudy/transport/session_times.h"
#include "understudy/transport/testing/simulated_network.h"

namespace understudy {

class SimulatedCluster {
 public:
  struct Options {
    uint64_t seed = 1;
    std::vector<std::string> nodes;
    // If not empty, the name of the one node that has a session with each of the others; two nodes that are not the hub
    // do not dial each other.
    std::string hub;
    // If true, of two nodes only the one with the smaller name dials; the other node does not know it as a peer before.
    bool one_dials = false;
    SessionTimes times;
    ReliableSequence::Bounds bounds;
    absl::Duration latency_max = absl::Milliseconds(2);
    bool insecure_loopback_grants = true;
    std::vector<GrantEntry> grants;  // on every node
    // See SimulatedNetwork::Options::identity.
    std::function<StreamIdentity(absl::string_view from, absl::string_view to)> identity =
        [](absl::string_view, absl::string_view) { return StreamIdentity::SameUser(); };
    // NodeCoreOptions::messages of the node, so that two nodes of one process may have different .proto files; null: it
    // is null on every node.
    std::function<const google::protobuf::DescriptorPool*(absl::string_view node)> messages;
    // Called when a node starts, at first and after each Crash: spawns what the node's program spawns. Other nodes may
    // not run yet. May be null.
    std::function<void(absl::string_view node, TestSystem& system)> on_start;
    // Called with every PeerEvent of every node's core, which peer_events() records too; may be null.
    std::function<void(absl::string_view node, const PeerEvent&)> on_peer;
    // ActorSystemOptions::tracing of the node; null: no node has traces.
    std::function<TracingOptions(absl::string_view node)> tracing;
    // NodeCoreOptions::watch of every node, whose machine is 1; may be null.
    internal::PeerWatch* watch = nullptr;
    // Whether trace() records every step, or nothing, which is faster.
    enum class Traces { kAll, kNone } traces = Traces::kAll;
  };

  // Starts the nodes, in the order of Options::nodes; their sessions begin when time passes.
  explicit SimulatedCluster(Options options);
  ~SimulatedCluster();
  SimulatedCluster(const SimulatedCluster&) = delete;
  SimulatedCluster& operator=(const SimulatedCluster&) = delete;

  // The node's system and core. CHECK-fails if the node is not running.
  TestSystem& system(absl::string_view node);
  NodeCore& core(absl::string_view node);
  SimulatedNetwork& network() { return *network_; }
  SeededExecutor& executor() { return executor_; }

  // Ends the node as a killed process ends: its streams close, and its actors send no
  // exits or Downs.
  void Crash(absl::string_view node);
  // Starts a node that has crashed again, as a new incarnation.
  void Start(absl::string_view node);
  bool IsRunning(absl::string_view node) const { return nodes_.contains(node); }
  // All nodes, whether they run or not.
  const std::vector<std::string>& nodes() const { return options_.nodes; }
  // Stops the node's process, as SIGSTOP does, until Resume or Crash.
  void Pause(absl::string_view node);
  void Resume(absl::string_view node);
  bool IsPaused(absl::string_view node) const;

  void RunFor(absl::Duration duration) { executor_.Advance(duration); }
  // Runs until `done` returns true or `within` has passed. Returns the last result of
  // `done`.
  bool RunUntil(const std::function<bool()>& done, absl::Duration within);
  // True if each pair of running nodes that dial each other has a session that a stream
  // carries.
  bool IsJoined();

  const std::vector<std::string>& trace() const { return trace_; }
  // The text of each PeerEvent of the node's core, in order, over all incarnations.
  const std::vector<std::string>& peer_events(absl::string_view node) { return events_[std::string(node)]; }

 private:
  struct Node {
    PausableExecutor* executor = nullptr;
    std::unique_ptr<TestSystem> system;
    std::unique_ptr<NodeCore> core;
    std::unique_ptr<internal::NodeSpawner> spawner;  // starts children on other nodes, but no process children
  };

  void End(absl::string_view node);
  // True if somebody reads the lines of Trace.
  bool IsTraced() const;
  void Trace(absl::string_view line);
  bool AreMeantToMeet(absl::string_view a, absl::string_view b) const {
    return a != b && (options_.hub.empty() || a == options_.hub || b == options_.hub);
  }

  const Options options_;
  SeededExecutor executor_;
  Random random_;
  std::vector<std::unique_ptr<PausableExecutor>> executors_;  // of all nodes that ever ran
  std::vector<std::string> trace_;
  std::map<std::string, std::vector<std::string>, std::less<>> events_;
  std::unique_ptr<SimulatedNetwork> network_;
  std::map<std::string, Node, std::less<>> nodes_;
};

}  // namespace understudy

#endif  // UNDERSTUDY_TRANSPORT_TESTING_SIMULATED_CLUSTER_H_
