// A fixture: a supervisor on node "house" with children on "worker-1" and "worker-2", on the simulated network and
// virtual time.
#ifndef UNDERSTUDY_TESTS_SIM_NODE_CHILDREN_FIXTURE_H_
#define UNDERSTUDY_TESTS_SIM_NODE_CHILDREN_FIXTURE_H_

#include <cstdint>
#include <map>
#include <memory>
#include <string>
#include <utility>
#include <vector>

#include "absl/status/statusor.h"
#include "absl/strings/str_cat.h"
#include "absl/strings/str_join.h"
#include "absl/strings/string_view.h"
#include "absl/time/time.h"
#include "google/protobuf/wrappers.pb.h"
#include "gtest/gtest.h"
#include "understudy/actors/exit_reason.h"
#include "understudy/actors/node_table.h"
#include "understudy/actors/pid.h"
#include "understudy/actors/ref.h"
#include "understudy/actors/test_system.h"
#include "understudy/supervision/actor_factories.h"
#include "understudy/supervision/builders.h"
#include "understudy/supervision/internal/child_info.h"
#include "understudy/supervision/supervision_event.h"
#include "understudy/supervision/supervisor.h"
#include "understudy/tests/supervision/workers.h"
#include "understudy/tests/transport/echo/echo_actor.h"
#include "understudy/transport/child_host.h"
#include "understudy/transport/testing/simulated_cluster.h"

namespace understudy {

using google::protobuf::StringValue;

inline StringValue Text(const std::string& name) {
  StringValue value;
  value.set_value(name);
  return value;
}

class RemoteHouse {
 public:
  explicit RemoteHouse(uint64_t seed, bool grants = true)
      : cluster_({.seed = seed, .nodes = {"house", "worker-1", "worker-2"}, .insecure_loopback_grants = grants}) {}

  // Runs until all nodes are connected.
  bool Join() {
    return cluster_.RunUntil([&] { return cluster_.IsJoined(); }, absl::Seconds(30));
  }
  // Lets `node` host children. The factory "worker" makes workers named "NODE/ARGUMENT", which behave as
  // ManOf(argument) says; "plain" takes no argument; "echo" makes an Echo.
  Ref<Actor> Host(const std::string& node, ChildHostOptions options = {}) {
    ActorFactories factories;
    factories.Add<StringValue>("worker", [this, node](const StringValue& name) -> std::unique_ptr<Actor> {
      return std::make_unique<Worker>(absl::StrCat(node, "/", name.value()), journal_, ManOf(name.value()));
    });
    factories.Add("plain", [this, node]() -> std::unique_ptr<Actor> {
      return std::make_unique<Worker>(absl::StrCat(node, "/plain"), journal_, ManOf("plain"));
    });
    factories.Add("echo", [node]() -> std::unique_ptr<Actor> { return std::make_unique<Echo>(node); });
    return cluster_.system(node).Spawn(HostChildren(factories, options));
  }
  // Connects the nodes and lets both workers host children, and runs until the nodes know of each other's hosts.
  bool Open() {
    if (!Join()) return false;
    Host("worker-1");
    Host("worker-2");
    Run();
    return true;
  }
  std::shared_ptr<Manner> ManOf(const std::string& name) {
    std::shared_ptr<Manner>& manner = manners_[name];
    if (manner == nullptr) manner = std::make_shared<Manner>();
    return manner;
  }
  // Returns a permanent child that starts on worker-1 or, if worker-1 is not available, on worker-2.
  static ChildBuilder OnBoth(const std::string& name) {
    return Remote(OnAnyOf({"worker-1", "worker-2"}), "worker", Text(name));
  }

  SupervisorRef Spawn(SupervisorBuilder tree) {
    tree.OnEvent([this](const SupervisionEvent& event) {
      events_.push_back(event);
      lines_.push_back(absl::StrCat(event.child, event.child.empty() ? "" : " ", SupervisionEventName(event.kind)));
    });
    life_ = std::make_shared<RootLife>();
    launcher_ = cluster_.system("house").Spawn<Launcher>(tree, life_);
    Run();
    return SupervisorRef(life_->pid());
  }
  std::vector<ChildInfo> ChildrenOf(SupervisorRef supervisor) {
    absl::StatusOr<Children> children =
        cluster_.system("house").Ask(supervisor.which_children(), WhichChildren(), absl::Seconds(1));
    EXPECT_TRUE(children.ok()) << children.status();
    return children.ok() ? children->children : std::vector<ChildInfo>();
  }
  Pid PidOf(SupervisorRef supervisor, const std::string& id) {
    for (const ChildInfo& child : ChildrenOf(supervisor)) {
      if (child.id == id) return child.pid;
    }
    return Pid();
  }
  // Returns the states of the children as text, such as "a running on worker-1, b stopped".
  std::string StatesOf(SupervisorRef supervisor) {
    std::vector<std::string> states;
    for (const ChildInfo& child : ChildrenOf(supervisor)) {
      states.push_back(absl::StrCat(child.id, " ", ChildStateName(child.state),
                                    child.pid.is_null() ? "" : absl::StrCat(" on ", NodeOf(child.pid))));
    }
    return absl::StrJoin(states, ", ");
  }
  static std::string NodeOf(Pid pid) { return internal::NodeTable::Find(pid.place())->name; }
  // Returns the worker's reference with a pid that is local to its own node.
  Ref<Worker> AtHome(Pid pid) {
    return Ref<Worker>(internal::PidAt(cluster_.system(NodeOf(pid)).node(), internal::AddressOf(pid)));
  }
  void CrashChild(SupervisorRef supervisor, const std::string& id) {
    AtHome(PidOf(supervisor, id))[&Worker::crash].Tell(Crash());
    Run();
  }
  void EndChild(SupervisorRef supervisor, const std::string& id, const ExitReason& reason) {
    AtHome(PidOf(supervisor, id))[&Worker::end].Tell(End{reason});
    Run();
  }
  void ExitRoot(const ExitReason& reason = ExitReason::Shutdown()) {
    launcher_[&Launcher::exit].Tell(End{reason});
    Run();
  }
  // Returns the number of workers that are alive on `node`, whichever supervisor started them.
  int LivingOn(const std::string& node) { return static_cast<int>(cluster_.system(node).live_actors()) - 1; }

  void Run(absl::Duration duration = absl::Milliseconds(100)) { cluster_.RunFor(duration); }
  SimulatedCluster& cluster() { return cluster_; }
  SimulatedNetwork& network() { return cluster_.network(); }
  Journal& journal() { return *journal_; }
  RootLife& life() { return *life_; }
  std::vector<SupervisionEvent>& events() { return events_; }
  // Returns the supervision events since the last call, as text.
  std::string TakeLines() { return absl::StrJoin(std::exchange(lines_, {}), ", "); }

 private:
  const std::shared_ptr<Journal> journal_ = std::make_shared<Journal>();
  std::map<std::string, std::shared_ptr<Manner>> manners_;
  std::shared_ptr<RootLife> life_;
  Ref<Launcher> launcher_;
  std::vector<SupervisionEvent> events_;
  std::vector<std::string> lines_;
  SimulatedCluster cluster_;  // declared last, because its actors use the members above
};

}  // namespace understudy

#endif  // UNDERSTUDY_TESTS_SIM_NODE_CHILDREN_FIXTURE_H_
