#include "actors/actor.h"
#include "consumer/theatre/role.pb.h"
#include "gtest/gtest.h"

namespace {

TEST(TheatreTest, TheConsumersOwnActorHeaderIsFound) {
  consumer::theatre::Role role;
  role.set_name("Hamlet");
  StageActor actor{"Sarah", role.name()};
  EXPECT_EQ(actor.role, "Hamlet");
}

}  // namespace
