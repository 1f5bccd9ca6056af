// What is the actor's own is for its turn: debug builds CHECK that.
#include "gtest/gtest.h"
#include "understudy/actors/actor.h"
#include "understudy/actors/testing/actor_test.h"
#include "understudy/tests/actors/script.h"

namespace understudy {
namespace {

#ifdef NDEBUG
constexpr bool kChecks = false;
#else
constexpr bool kChecks = true;
#endif

class OwnerTurnTest : public ActorTest {
 protected:
  void SetUp() override {
    if (!kChecks) GTEST_SKIP() << "debug builds only";
    Do(system().Spawn<Script>(), [this](Script& self) { outside_ = &self; });
    system().RunUntilIdle();
  }
  Script& outside() { return *outside_; }

 private:
  Script* outside_ = nullptr;
};

TEST_F(OwnerTurnTest, ACallOfItsContextOutsideItIsNamed) {
  const char* const kOutside = R"(context\(\) of <.*> is used outside its turn)";
  EXPECT_DEATH((void)outside().context().Now(), kOutside);
  EXPECT_DEATH((void)outside().context().WallNow(), kOutside);
  EXPECT_DEATH((void)outside().context().Random(), kOutside);
  EXPECT_DEATH((void)outside().context().Log(), kOutside);
  EXPECT_DEATH((void)outside().context().Spawner(), kOutside);
  EXPECT_DEATH((void)outside().context().Mailboxes(), kOutside);
  EXPECT_DEATH((void)outside().context().Register("name"), kOutside);
  EXPECT_DEATH((void)outside().context().Spawn<Script>(), kOutside);
  EXPECT_DEATH(outside().context().Stop(ExitReason::Normal()), kOutside);
  EXPECT_DEATH((void)outside().context().Close(outside().note), kOutside);
  EXPECT_DEATH((void)outside().Fail(absl::InternalError("outside")), kOutside);
}

TEST_F(OwnerTurnTest, SoIsOneInTheTurnOfAnotherActor) {
  Do(system().Spawn<Script>(), [this](Script& other) {
    EXPECT_EQ(other.context().Now(), system().Now());
    EXPECT_DEATH((void)outside().context().Now(), "outside its turn");
    EXPECT_DEATH((void)outside().Fail(absl::InternalError("outside")), "outside its turn");
  });
  system().RunUntilIdle();
}

}  // namespace
}  // namespace understudy
