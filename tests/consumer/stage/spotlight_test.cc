#include "stage/spotlight.h"

#include "absl/status/status.h"
#include "absl/time/time.h"
#include "actors/actor.h"
#include "gtest/gtest.h"
#include "understudy/actors/error.h"
#include "understudy/actors/named.h"
#include "understudy/actors/testing/actor_test.h"
#include "understudy/supervision/builders.h"

namespace stage {
namespace {

class SpotlightTest : public understudy::ActorTest {
 protected:
  absl::StatusOr<int> Follow(StageActor actor) {
    const understudy::Named<understudy::Ref<Spotlight>> spotlight(system(), "spotlight");
    return Ask(spotlight.Resolve()[&Spotlight::follow], std::move(actor));
  }
};

TEST_F(SpotlightTest, ASupervisorSwitchesItOnAgain) {
  system().Spawn(understudy::OneForOne().Child("spotlight", understudy::Of<Spotlight>().RegisteredAs("spotlight")));
  system().RunUntilIdle();
  EXPECT_EQ(Follow({.name = "Sarah", .role = "Hamlet"}).value(), 1);
  EXPECT_EQ(Follow({.name = "Sarah", .role = "Hamlet"}).value(), 2);
  EXPECT_TRUE(understudy::IsCalleeExited(Follow({}).status()));
  system().RunUntilIdle();
  EXPECT_EQ(Follow({.name = "Sarah", .role = "Hamlet"}).value(), 1);
}

}  // namespace
}  // namespace stage
