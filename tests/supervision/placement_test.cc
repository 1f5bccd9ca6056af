// Children on other nodes from the view of supervision: their placement, its errors, and the request that reaches the
// NodeSpawner.
#include <functional>
#include <map>
#include <memory>
#include <string>
#include <vector>

#include "absl/status/status.h"
#include "absl/status/statusor.h"
#include "absl/strings/str_cat.h"
#include "absl/time/time.h"
#include "gmock/gmock.h"
#include "google/protobuf/wrappers.pb.h"
#include "gtest/gtest.h"
#include "understudy/actors/actor.h"
#include "understudy/actors/exit_reason.h"
#include "understudy/actors/pid.h"
#include "understudy/actors/spawner.h"
#include "understudy/actors/test_system.h"
#include "understudy/supervision/builders.h"
#include "understudy/supervision/child_spec.h"
#include "understudy/supervision/pool.h"
#include "understudy/supervision/spec_errors.h"
#include "understudy/supervision/supervisor.h"
#include "understudy/tests/supervision/workers.h"

namespace understudy {
namespace {

using ::testing::ElementsAre;
using ::testing::HasSubstr;
using ::testing::IsEmpty;

std::vector<std::string> ErrorsOf(const ChildBuilder& child) {
  std::vector<std::string> texts;
  for (const SpecError& error : FindSpecErrors(OneForOne().Child("a", child).spec())) texts.push_back(error.ToString());
  return texts;
}

ChildBuilder Good() { return Remote(OnAnyOf({"worker-1", "worker-2"}), "encoder"); }

TEST(Placement, EachBadFieldHasItsOwn) {
  EXPECT_THAT(ErrorsOf(Good()), IsEmpty());
  EXPECT_THAT(ErrorsOf(Good().ConnectWithin(absl::InfiniteDuration()).PublishedAs("encoder")), IsEmpty());
  EXPECT_THAT(ErrorsOf(Remote(OnAnyOf({}), "encoder")),
              ElementsAre("child 'a': placement.nodes: is empty; name at least one node"));
  EXPECT_THAT(
      ErrorsOf(Remote(OnAnyOf({"Worker", "", "w", "w", "w", "-x"}), "encoder")),
      ElementsAre(
          "child 'a': placement.nodes: 'Worker' cannot be a node's name: at most 63 small letters, digits and inner "
          "hyphens",
          "child 'a': placement.nodes: '' cannot be a node's name: at most 63 small letters, digits and inner hyphens",
          "child 'a': placement.nodes: 'w' is given more than once",
          "child 'a': placement.nodes: '-x' cannot be a node's name: at most 63 small letters, digits and inner "
          "hyphens"));
  EXPECT_THAT(ErrorsOf(Remote(OnNode(std::string(64, 'n')), "encoder")),
              ElementsAre(HasSubstr("cannot be a node's name")));
  EXPECT_THAT(ErrorsOf(Remote(OnNode(std::string(63, 'n')), "encoder")), IsEmpty());
  EXPECT_THAT(
      ErrorsOf(Good().ConnectWithin(absl::ZeroDuration())),
      ElementsAre("child 'a': placement.connect_within: 0 leaves no time to connect to a node; it must be above 0"));
  EXPECT_THAT(ErrorsOf(Good().RegisteredAs("encoder")),
              ElementsAre("child 'a': registered_as: is a name of this node, and the child runs on another; use "
                          "published_as"));
  EXPECT_THAT(ErrorsOf(Good().Exclusive()),
              ElementsAre("child 'a': exclusive: cannot be promised on another node: when that node is lost, a handler "
                          "of the child may still run there"));
  EXPECT_THAT(ErrorsOf(Remote(OnNode("w"), "")),
              ElementsAre("child 'a': factory: has no name; give the name of a registered factory"));
}

TEST(Placement, OnlyAWorkerOfAFactoryHasAPlacement) {
  EXPECT_THAT(ErrorsOf(Process("ledger_node").ConnectWithin(absl::Seconds(1))),
              ElementsAre(HasSubstr("child 'a': placement: given for a process; only a worker is started on another")));
  EXPECT_THAT(ErrorsOf(Of(OneForOne()).ConnectWithin(absl::Seconds(1))),
              ElementsAre(HasSubstr("child 'a': placement: given for a supervisor; only a worker")));
  EXPECT_THAT(ErrorsOf(Of<Worker>("a", std::make_shared<Journal>()).ConnectWithin(absl::Seconds(1))),
              ElementsAre(HasSubstr("child 'a': factory: is missing"), HasSubstr("placement.nodes: is empty")));
}

TEST(Placement, ATemplateHasAPlacementOnlyInAPoolWithoutAClass) {
  SupervisorSpec tree = PoolTree({});
  auto pool = std::make_shared<PoolSpec>(*tree.pool);
  pool->child.placement = OnNode("worker-1");
  pool->child.factory = FactoryCall{.name = "encoder"};
  tree.pool = pool;
  EXPECT_THAT(FindSpecErrors(tree), IsEmpty());
  using Workers = Pool<Worker(std::string, std::shared_ptr<Journal>)>;
  const ChildSpec of_a_class = Of<Workers>(PoolOptions()).Spec("workers");
  ChildSpec holder = of_a_class;
  holder.subtree = std::make_shared<SupervisorSpec>(tree);
  const std::vector<SpecError> errors = FindSpecErrors(SupervisorSpec{.children = {holder}});
  ASSERT_EQ(errors.size(), 1u);
  EXPECT_THAT(errors[0].ToString(),
              HasSubstr("child 'workers' / child 'child': placement: given for a template whose pool has a class"));
  TestSystem system(1);
  const Workers::Ref workers = system.Spawn<Workers>(tree);
  const auto started = system.Ask(workers.start(), {"a", std::make_shared<Journal>()}, absl::Seconds(1));
  EXPECT_THAT(started.status().message(), HasSubstr("which gets no arguments from here; use start_member"));
}

TEST(Placement, SpreadingDependsOnTheIdAlone) {
  const NodePlacement spread = SpreadOver({"n1", "n2", "n3"});
  std::map<std::string, int> first;
  for (int i = 0; i < 300; ++i) {
    const std::string id = absl::StrCat("child-", i);
    const std::vector<std::string> nodes = NodesInTurn(spread, id);
    EXPECT_THAT(nodes, ::testing::UnorderedElementsAre("n1", "n2", "n3"));
    EXPECT_EQ(nodes, NodesInTurn(spread, id));
    ++first[nodes[0]];
  }
  for (const auto& [node, count] : first) EXPECT_GT(count, 60) << node;
  EXPECT_EQ(first.size(), 3u);
  int on_first = 0;  // with short ids and two nodes
  for (int i = 0; i < 100; ++i) on_first += NodesInTurn(SpreadOver({"n1", "n2"}), absl::StrCat("c", i))[0] == "n1";
  EXPECT_GT(on_first, 30);
  EXPECT_LT(on_first, 70);
  EXPECT_THAT(NodesInTurn(OnAnyOf({"n2", "n1"}), "child-1"), ElementsAre("n2", "n1"));
  EXPECT_THAT(NodesInTurn(SpreadOver({}), "child-1"), IsEmpty());
}

TEST(Placement, IsPrinted) {
  EXPECT_EQ(DescribeChild(Good().Spec("a")),
            "a: permanent worker encoder on any of worker-1, worker-2, stopped within 5s");
  EXPECT_THAT(DescribeChild(Remote(OnNode("w"), "e").Spec("a")), HasSubstr("worker e on w, stopped"));
  EXPECT_THAT(DescribeChild(Remote(SpreadOver({"v", "w"}), "e").Spec("a")), HasSubstr("e spread over v, w,"));
}

// Starts local workers in place of children on other nodes.
class FakeSpawner final : public Spawner {
 public:
  absl::StatusOr<std::function<std::unique_ptr<Actor>()>> ForProcess(const ProcessChild&) override {
    return absl::UnimplementedError("no processes");
  }
  absl::StatusOr<std::function<std::unique_ptr<Actor>()>> ForNode(const NodeChild& child) override {
    if (child.factory == "missing") return absl::NotFoundError("no such thing");
    asked.push_back(child);
    return [this, child]() -> std::unique_ptr<Actor> {
      child.on_started(Pid(4711, 1, 7));
      return std::make_unique<Worker>(child.label, journal);
    };
  }
  bool Grants(Pid) override { return false; }

  std::vector<NodeChild> asked;
  const std::shared_ptr<Journal> journal = std::make_shared<Journal>();
};

class RemoteChildTest : public ::testing::Test {
 protected:
  std::string EndOf(const SupervisorBuilder& tree) {
    auto life = std::make_shared<RootLife>();
    system_.Spawn<Launcher>(tree, life);
    system_.RunUntilIdle();
    return life->has_ended() ? life->end().ToString() : "lives";
  }

  FakeSpawner spawner_;
  TestSystem system_{1};
};

TEST_F(RemoteChildTest, TheBuilderFillsInWhatTheSpawnerIsAskedFor) {
  system_.InstallSpawner(&spawner_);
  google::protobuf::StringValue argument;
  argument.set_value("x");
  const SupervisorRef root =
      system_.Spawn(OneForOne()
                        .Child("a", Remote(OnAnyOf({"w2", "w1"}), "encoder", argument)
                                        .PublishedAs("clerk")
                                        .ConnectWithin(absl::Seconds(7))
                                        .ShutdownWithin(absl::Seconds(8)))
                        .Child("b", Remote(OnNode("w"), "plain").Transient().BrutalKill())
                        .Child("c", Remote(OnNode("w"), "plain", argument).Temporary().ShutdownWithoutLimit()));
  system_.RunUntilIdle();
  ASSERT_EQ(spawner_.asked.size(), 3u);
  const NodeChild& a = spawner_.asked[0];
  EXPECT_THAT(a.nodes, ElementsAre("w2", "w1"));
  EXPECT_EQ(a.connect_within, absl::Seconds(7));
  EXPECT_EQ(a.factory, "encoder");
  EXPECT_EQ(a.argument_type, "google.protobuf.StringValue");
  EXPECT_EQ(a.argument, argument.SerializeAsString());
  EXPECT_EQ(a.published_as, "clerk");
  EXPECT_EQ(a.label, "a");
  EXPECT_EQ(a.stop_within, absl::Seconds(8));
  EXPECT_EQ(spawner_.asked[1].stop_within, absl::ZeroDuration());
  EXPECT_EQ(spawner_.asked[1].argument_type, "");
  EXPECT_EQ(spawner_.asked[2].stop_within, absl::InfiniteDuration());
  EXPECT_FALSE(system_.WhereIs("clerk").has_value());  // the proxy does not have the child's name
  const auto children = system_.Ask(root.which_children(), WhichChildren(), absl::Seconds(1));
  ASSERT_TRUE(children.ok());
  EXPECT_EQ(children->children[0].pid, Pid(4711, 1, 7));
  EXPECT_EQ(children->children[1].restart, RestartType::kTransient);
  EXPECT_EQ(children->children[2].restart, RestartType::kTemporary);
}

TEST_F(RemoteChildTest, TheStartOfARemoteChildFailsInASystemWithoutANode) {
  EXPECT_THAT(EndOf(OneForOne().Child("a", Good())),
              HasSubstr("child 'a' is to run on another node, but this system has no Node"));
}

TEST_F(RemoteChildTest, ARemoteChildThatCanNeverStartSaysWhy) {
  system_.InstallSpawner(&spawner_);
  EXPECT_THAT(EndOf(OneForOne().Child("a", Remote(OnNode("w"), "missing"))),
              HasSubstr("because of Failed(NOT_FOUND: no such thing)"));
}

}  // namespace
}  // namespace understudy
