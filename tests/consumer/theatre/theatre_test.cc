#include <string>

#include "actors/actor.h"
#include "consumer/theatre/role.pb.h"
#include "gtest/gtest.h"
#include "theatre/prompter.actor.h"
#include "understudy/actors/actor.h"
#include "understudy/actors/test_system.h"

namespace {

TEST(TheatreTest, BothActorHeadersAreFound) {
  StageActor sarah{"Sarah", "Hamlet"};
  EXPECT_EQ(sarah.role, "Hamlet");
}

class Prompter final : public consumer::theatre::PrompterActor {
  understudy::StartResult Start() override { return prompting_; }

  consumer::theatre::Role Prompt(const consumer::theatre::Role& role) {
    consumer::theatre::Role answer;
    answer.set_name("You are " + role.name());
    return answer;
  }

  understudy::Behavior prompting_{"prompting", On(prompt, &Prompter::Prompt), Drop(applaud)};
};

TEST(TheatreTest, AnActorAnswersByTheConsumersOwnService) {
  understudy::TestSystem system;
  const consumer::theatre::PrompterRef prompter = system.Spawn<Prompter>();
  consumer::theatre::Role role;
  role.set_name("Hamlet");
  prompter.applaud().Tell(role);
  auto answer = system.Ask(prompter.prompt(), role, absl::Seconds(1));
  ASSERT_TRUE(answer.ok()) << answer.status();
  EXPECT_EQ(answer->name(), "You are Hamlet");
}

}  // namespace
