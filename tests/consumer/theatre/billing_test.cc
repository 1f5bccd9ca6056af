#include "actors/actor.h"
#include "consumer/theatre/role.pb.h"
#include "gtest/gtest.h"
#include "understudy/actors/random.h"

namespace {

TEST(BillingTest, TheConsumersOwnActorHeaderIsFoundBesideUnderstudys) {
  understudy::Random random(1);
  consumer::theatre::Role role;
  role.set_name(random.Below(1) == 0 ? "Hamlet" : "Ophelia");
  StageActor actor{"Sarah", role.name()};
  EXPECT_EQ(actor.role, "Hamlet");
}

}  // namespace
