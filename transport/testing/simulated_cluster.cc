#include "understudy/transport/testing/simulated_cluster.h"

#include <algorithm>
#include <cstdint>
#include <functional>
#include <memory>
#include <string>
#include <utility>

#include "absl/functional/any_invocable.h"
#include "absl/strings/str_cat.h"
#include "absl/strings/string_view.h"
#include "absl/time/time.h"
#include "understudy/actors/check.h"
#include "understudy/actors/clock.h"
#include "understudy/actors/pausable_executor.h"
#include "understudy/actors/pid.h"
#include "understudy/actors/random.h"
#include "understudy/actors/simulation_trace.h"
#include "understudy/actors/test_system.h"
#include "understudy/transport/children/child_host_name.h"
#include "understudy/transport/children/node_spawner.h"
#include "understudy/transport/core/node_core.h"
#include "understudy/transport/grants.h"
#include "understudy/transport/session/frame_stream.h"
#include "understudy/transport/session/session_proof.h"
#include "understudy/transport/testing/simulated_network.h"

namespace understudy {

SimulatedCluster::SimulatedCluster(Options options)
    : options_(std::move(options)), executor_(options_.seed), random_(options_.seed) {
  network_ = std::make_unique<SimulatedNetwork>(SimulatedNetwork::Options{
      .seed = random_.Next(),
      .clock = &executor_.clock(),
      .run_at = [this](MonotonicTime time,
                       absl::AnyInvocable<void()> callback) { executor_.RunAt(time, std::move(callback)); },
      .latency_max = options_.latency_max,
      .identity = options_.identity,
      .trace =
          IsTraced() ? [this](absl::string_view line) { Trace(line); } : std::function<void(absl::string_view)>()});
  for (const std::string& node : options_.nodes) Start(node);
}

SimulatedCluster::~SimulatedCluster() {
  for (const std::string& node : options_.nodes) {
    if (nodes_.contains(node)) End(node);
  }
}

bool SimulatedCluster::IsTraced() const {
  return options_.traces == Options::Traces::kAll || SimulationTrace::Current() != nullptr;
}

void SimulatedCluster::Trace(absl::string_view line) {
  if (SimulationTrace* const recorder = SimulationTrace::Current()) recorder->Add(executor_.clock().Now(), line);
  if (options_.traces == Options::Traces::kNone) return;
  trace_.push_back(absl::StrCat(executor_.clock().Now().nanos(), " ", line));
}

TestSystem& SimulatedCluster::system(absl::string_view node) {
  const auto found = nodes_.find(node);
  UNDERSTUDY_CHECK(found != nodes_.end(), "node ", node, " does not run");
  return *found->second.system;
}

NodeCore& SimulatedCluster::core(absl::string_view node) {
  const auto found = nodes_.find(node);
  UNDERSTUDY_CHECK(found != nodes_.end(), "node ", node, " does not run");
  return *found->second.core;
}

void SimulatedCluster::Start(absl::string_view name) {
  UNDERSTUDY_CHECK(!nodes_.contains(name), "node ", name, " runs already");
  Trace(absl::StrCat("start ", name));
  Node& node = nodes_[std::string(name)];
  node.executor = executors_.emplace_back(std::make_unique<PausableExecutor>(executor_)).get();
  node.system = std::make_unique<TestSystem>(executor_, *node.executor, random_.Next() >> 1, std::string(name));
  if (options_.traces == Options::Traces::kAll) node.system->StartTrace(&trace_);
  TestSystem* system = node.system.get();
  if (options_.tracing) system->SetTracing(options_.tracing(name));

  NodeCoreOptions options;
  options.node = std::string(name);
  options.incarnation = system->incarnation();
  options.node_index = system->node();
  options.intern_peer = [system](absl::string_view peer, NodeIncarnation incarnation) {
    return system->InternPeer(peer, incarnation);
  };
  options.mark_peers_dead = [system](absl::string_view peer, auto alive) { system->MarkPeersDead(peer, alive); };
  options.clock = &executor_.clock();
  options.inbound = system;
  options.registry = &system->registry();
  options.dialer = network_->DialerFor(name);
  options.run_at = [executor = node.executor](MonotonicTime time, absl::AnyInvocable<void()> callback) {
    executor->RunAt(time, std::move(callback));
  };
  options.has_traces = system->has_traces();
  options.seed = random_.Next();
  options.new_key = [random = std::make_shared<Random>(options.seed)] {
    std::string key(kSessionKeyBytes, '\0');
    for (char& byte : key) byte = static_cast<char>(random->Next());
    return key;
  };
  options.times = options_.times;
  options.bounds = options_.bounds;
  const absl::StatusOr<Grants> grants =
      Grants::Make({.entries = options_.grants, .insecure_loopback_grants = options_.insecure_loopback_grants});
  UNDERSTUDY_CHECK(grants.ok(), grants.status().message());
  options.grants = *grants;
  options.watch = options_.watch;
  options.machine = 1;
  if (options_.messages) options.messages = options_.messages(name);
  options.on_peer = [this, who = std::string(name)](const PeerEvent& event) {
    events_[who].push_back(event.ToString());
    Trace(absl::StrCat(who, ": ", event.ToString()));
    if (options_.on_peer) options_.on_peer(who, event);
  };
  node.core = std::make_unique<NodeCore>(std::move(options));
  system->InstallRouter(node.core.get());
  system->InstallPublisher(node.core.get());
  node.spawner = std::make_unique<internal::NodeSpawner>(nullptr, [core = node.core.get()](Pid asker) {
    return core->Allows(internal::NodeNameOf(asker), Operation::kStart);
  });
  system->InstallSpawner(node.spawner.get());
  network_->Listen(name, [core = node.core.get()](std::unique_ptr<FrameStream> stream, const StreamIdentity& identity) {
    return core->Accept(std::move(stream), identity);
  });
  for (const std::string& peer : options_.nodes) {
    if (!AreMeantToMeet(peer, name) || (options_.one_dials && peer < name)) continue;
    const absl::Status set = node.core->SetPeer(peer, peer);
    UNDERSTUDY_CHECK(set.ok(), set.message());
  }
  if (options_.on_start) options_.on_start(name, *system);
}

void SimulatedCluster::Crash(absl::string_view name) {
  UNDERSTUDY_CHECK(nodes_.contains(name), "node ", name, " does not run");
  Trace(absl::StrCat("crash ", name));
  End(name);
}

void SimulatedCluster::End(absl::string_view name) {
  if (IsPaused(name)) Resume(name);
  Node node = std::move(nodes_.extract(std::string(name)).mapped());
  network_->Silence(name);
  node.system->StopTrace();  // its actors' ends are none of the simulated run
  node.system->InstallRouter(nullptr);
  node.system->InstallPublisher(nullptr);
  node.system->InstallSpawner(nullptr);
  node.core.reset();
  node.system.reset();
}

void SimulatedCluster::Pause(absl::string_view name) {
  UNDERSTUDY_CHECK(nodes_.contains(name), "node ", name, " does not run");
  Trace(absl::StrCat("pause ", name));
  nodes_.find(name)->second.executor->Pause();
  network_->Pause(name);
}

void SimulatedCluster::Resume(absl::string_view name) {
  UNDERSTUDY_CHECK(nodes_.contains(name), "node ", name, " does not run");
  Trace(absl::StrCat("resume ", name));
  nodes_.find(name)->second.executor->Resume();
  network_->Resume(name);
}

bool SimulatedCluster::IsPaused(absl::string_view name) const {
  const auto found = nodes_.find(name);
  return found != nodes_.end() && found->second.executor->is_paused();
}

bool SimulatedCluster::RunUntil(const std::function<bool()>& done, absl::Duration within) {
  return executor_.BlockUntil(done, executor_.clock().Now() + within);
}

bool SimulatedCluster::IsJoined() {
  return std::all_of(nodes_.begin(), nodes_.end(), [this](auto& entry) {
    const auto peers = entry.second.core->Peers();
    const auto up = std::count_if(peers.begin(), peers.end(), [](const auto& peer) { return peer.is_up; });
    return up == std::count_if(nodes_.begin(), nodes_.end(),
                               [&](auto& other) { return AreMeantToMeet(entry.first, other.first); });
  });
}

}  // namespace understudy
