// Requests to stop that wait in an actor's queue (semantics 5.8, 5.12).
#include <cstdint>
#include <vector>

#include "absl/time/time.h"
#include "gmock/gmock.h"
#include "gtest/gtest.h"
#include "understudy/actors/events.h"
#include "understudy/actors/limits.h"
#include "understudy/actors/testing/actor_test.h"
#include "understudy/actors/testing/probe.h"
#include "understudy/tests/actors/script.h"

namespace understudy {
namespace {

using ::testing::Each;
using ::testing::ElementsAre;
using ::testing::SizeIs;

constexpr int64_t kMax{limits::kExitsWaitingPerActorMax};

class StopRequestTest : public ActorTest {
 protected:
  // A script whose handler awaits the oracle.
  Ref<Script> Held(Script::Step at_start = nullptr) {
    Ref<Script> script = system().Spawn<Script>(std::move(at_start));
    RunTask(script, [this](Script&) -> Task<> {
      auto asked = oracle_.channel().Ask(1, absl::Hours(1));
      (void)co_await asked;
    });
    system().RunUntilIdle();
    return script;
  }
  void DestroyLater() {
    for (auto& asked : oracle_.ReceiveAll()) asked.replier.Reply(1);
    system().RunUntilIdle();
  }

  Probe<Call<int, int>> oracle_{system()};
};

TEST_F(StopRequestTest, BeyondTheLimitTheyAreMergedAndCounted) {
  std::vector<int64_t> merged;
  Ref<Script> script = Held(
      [&](Script& self) { self.context().TrapStops([&](const StopRequest& stop) { merged.push_back(stop.merged); }); });
  for (int64_t i = 0; i < kMax + 7; ++i) system().RequestStop(script.pid());
  system().RunUntilIdle();
  EXPECT_EQ(system().merged_exits(), 7);
  DestroyLater();
  ASSERT_THAT(merged, SizeIs(kMax));
  EXPECT_EQ(merged.back(), 7) << "the last that waited stands for them";
  merged.pop_back();
  EXPECT_THAT(merged, Each(0));
  merged.clear();
  system().RequestStop(script.pid());
  system().RunUntilIdle();
  EXPECT_THAT(merged, ElementsAre(0)) << "there is room again";
}

TEST_F(StopRequestTest, AtAnActorThatDoesNotTrapThemTheFirstEndsIt) {
  Ref<Script> script = Held();
  for (int64_t i = 0; i < 2 * kMax; ++i) system().RequestStop(script.pid());
  system().RunUntilIdle();
  EXPECT_EQ(system().live_actors(), 2) << "the probe and the script";
  DestroyLater();
  EXPECT_EQ(system().live_actors(), 1);
}

}  // namespace
}  // namespace understudy
