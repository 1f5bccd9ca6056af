// Two nodes of this workspace, simulated: an actor of one asks an actor of the other by its name.
#include "absl/time/time.h"
#include "consumer/theatre/role.pb.h"
#include "gtest/gtest.h"
#include "theatre/prompter.actor.h"
#include "understudy/actors/actor.h"
#include "understudy/actors/test_system.h"
#include "understudy/transport/testing/simulated_cluster.h"

namespace {

using consumer::theatre::PrompterRef;
using consumer::theatre::Role;

class Prompter final : public consumer::theatre::PrompterActor {
  understudy::StartResult Start() override { return prompting_; }

  Role Prompt(const Role& role) {
    Role answer;
    answer.set_name("You are " + role.name());
    return answer;
  }

  understudy::Behavior prompting_{"prompting", On(prompt, &Prompter::Prompt), Drop(applaud)};
};

TEST(TourTest, AnotherNodesActorIsFoundByItsName) {
  understudy::SimulatedCluster cluster({.nodes = {"vienna", "prague"}});
  ASSERT_TRUE(cluster.RunUntil([&] { return cluster.IsJoined(); }, absl::Seconds(10)));
  cluster.system("vienna").Spawn<Prompter>(understudy::SpawnOptions{.published_as = "prompter"});
  const auto prompter = cluster.system("prague").Lookup<PrompterRef>("prompter", absl::Seconds(10));
  ASSERT_TRUE(prompter.ok()) << prompter.status();
  Role role;
  role.set_name("Hamlet");
  const auto answer = cluster.system("prague").Ask(prompter->prompt(), role, absl::Seconds(10));
  ASSERT_TRUE(answer.ok()) << answer.status();
  EXPECT_EQ(answer->name(), "You are Hamlet");
}

}  // namespace
