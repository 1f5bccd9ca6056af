#include "actors/actor.h"
#include "consumer/theatre/role.pb.h"
#include "gtest/gtest.h"
#include "understudy/actors/exit_reason.h"
#include "understudy/actors/pid.h"

namespace {

TEST(TheatreTest, TheConsumersOwnActorHeaderIsFound) {
  consumer::theatre::Role role;
  role.set_name("Hamlet");
  StageActor actor{"Sarah", role.name()};
  EXPECT_EQ(actor.role, "Hamlet");
}

// Until //:understudy has actors, what it has.
TEST(TheatreTest, UnderstudysTypesAreThereBesideIt) {
  EXPECT_TRUE(understudy::Pid().is_null());
  EXPECT_TRUE(understudy::ExitReason() == understudy::ExitReason::Normal());
}

}  // namespace
