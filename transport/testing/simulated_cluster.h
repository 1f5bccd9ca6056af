// SimulatedCluster: several nodes in one process and one thread, on virtual
// time, joined by a simulated network; one seed replays them all.
//
//   SimulatedCluster cluster({.seed = 7, .nodes = {"a", "b"}});
//   cluster.RunFor(absl::Seconds(1));
//   cluster.system("a").Spawn<EnglishAuction>(...);
//   cluster.network().Cut("a", "b");
//   cluster.Pause("b");                   // as SIGSTOP does, until Resume
//   cluster.Crash("b");
//   cluster.Start("b");                   // a new incarnation
//   EXPECT_THAT(cluster.trace(), ...);    // every step of every actor, every frame, byte for byte
//
// Every node dials every other, unless Options::hub says otherwise. Threads: one. Lifetime: a system or core of a
// node is valid until its Crash.
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
    // If not empty, the other nodes and this one dial each other, and no session joins two of the others.
    std::string hub;
    // Of two nodes only the one with the smaller name dials, and the other keeps no place for it.
    bool one_dials = false;
    SessionTimes times;
    ReliableSequence::Bounds bounds;
    absl::Duration latency_max = absl::Milliseconds(2);
    bool insecure_loopback_grants = true;
    std::vector<GrantEntry> grants;  // on every node
    // As SimulatedNetwork::Options::identity.
    std::function<StreamIdentity(absl::string_view from, absl::string_view to)> identity =
        [](absl::string_view, absl::string_view) { return StreamIdentity::SameUser(); };
    // Called with what a node's core says of its peers, beside peer_events(); may be null.
    std::function<void(absl::string_view node, const PeerEvent&)> on_peer;
    // Of every node; may be null.
    internal::PeerWatch* watch = nullptr;
    // What trace() has: all, or nothing, which is quicker.
    enum class Traces { kAll, kNone } traces = Traces::kAll;
  };

  // Starts the nodes; their sessions begin when time passes.
  explicit SimulatedCluster(Options options);
  ~SimulatedCluster();
  SimulatedCluster(const SimulatedCluster&) = delete;
  SimulatedCluster& operator=(const SimulatedCluster&) = delete;

  // CHECK when the node does not run.
  TestSystem& system(absl::string_view node);
  NodeCore& core(absl::string_view node);
  SimulatedNetwork& network() { return *network_; }
  SeededExecutor& executor() { return executor_; }

  // The node's process is gone from one moment to the next: its streams close,
  // its actors tell nobody.
  void Crash(absl::string_view node);
  // Starts it again, as a new incarnation.
  void Start(absl::string_view node);
  bool IsRunning(absl::string_view node) const { return nodes_.contains(node); }
  // The node's process does nothing until Resume, or its Crash.
  void Pause(absl::string_view node);
  void Resume(absl::string_view node);

  void RunFor(absl::Duration duration) { executor_.Advance(duration); }
  // Runs until `done`, at most `within`. The last answer of `done`.
  bool RunUntil(const std::function<bool()>& done, absl::Duration within);
  // All pairs that dial each other have a session that a stream carries.
  bool IsJoined();

  const std::vector<std::string>& trace() const { return trace_; }
  // What a node's core said of its peers, in order, over all incarnations.
  const std::vector<std::string>& peer_events(absl::string_view node) { return events_[std::string(node)]; }

 private:
  struct Node {
    PausableExecutor* executor = nullptr;
    std::unique_ptr<TestSystem> system;
    std::unique_ptr<NodeCore> core;
    std::unique_ptr<internal::NodeSpawner> spawner;  // of children on other nodes; there are no processes
  };

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
