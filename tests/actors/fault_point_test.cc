#include "understudy/actors/fault_point.h"

#include "gtest/gtest.h"

namespace understudy {
namespace {

FaultPoint first("fault_point_test_first");
FaultPoint second("fault_point_test_second");

TEST(FaultPointTest, IsArmedWhileItsScopeLives) {
  EXPECT_FALSE(first.armed());
  {
    const FaultPoint::Scope broken("fault_point_test_first");
    EXPECT_TRUE(first.armed());
    EXPECT_FALSE(second.armed());
  }
  EXPECT_FALSE(first.armed());
}

TEST(FaultPointDeathTest, AnUnknownOneIsACheck) {
  EXPECT_DEATH(FaultPoint::Scope("no_such_point"), "no fault point is called no_such_point");
}

}  // namespace
}  // namespace understudy
