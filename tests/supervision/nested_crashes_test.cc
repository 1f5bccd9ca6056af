// Which ends of supervisors are crashes (actors/crash_report.h): those that they decide, and not those that they are
// told.
#include <utility>
#include <vector>

#include "absl/status/status.h"
#include "absl/time/time.h"
#include "gmock/gmock.h"
#include "gtest/gtest.h"
#include "understudy/actors/actor.h"
#include "understudy/actors/crash_report.h"
#include "understudy/actors/exit_reason.h"
#include "understudy/actors/pid.h"
#include "understudy/actors/test_system.h"
#include "understudy/supervision/builders.h"
#include "understudy/supervision/supervisor.h"

namespace understudy {
namespace {

using ::testing::IsEmpty;

class Idler final : public Actor {
 public:
  StartResult Start() override { return idling_; }

 private:
  Behavior idling_{"idling", Every(absl::Hours(1), [](const TimerEvent&) {})};
};

class Faulty final : public Actor {
 public:
  StartResult Start() override { return faulty_; }

 private:
  Behavior faulty_{"faulty", After(absl::Seconds(1), [this] { Fail(absl::InternalError("a bug")); })};
};

class NestedCrashesTest : public testing::Test {
 protected:
  NestedCrashesTest() {
    system_.SubscribeCrashes([this](const CrashReport& crash, const ExitReason& reason) {
      crashed_.push_back(crash.pid);
      reasons_.push_back(reason.kind());
    });
  }
  SupervisorRef Spawn(ChildBuilder leaf) {
    const SupervisorRef root = system_.Spawn(
        OneForOne()
            .Intensity(0, absl::Seconds(5))
            .Child("upper",
                   Of(OneForOne().Child(
                       "lower",
                       Of(OneForOne().Child("leaf", std::move(leaf).RegisteredAs("leaf"))).RegisteredAs("lower")))));
    system_.RunUntilIdle();
    EXPECT_TRUE(system_.WhereIs("leaf").has_value());
    return root;
  }

  TestSystem system_{1};
  std::vector<Pid> crashed_;
  std::vector<ExitReason::Kind> reasons_;
};

TEST_F(NestedCrashesTest, ASupervisorThatEndsWithItsParentReportsNoCrash) {
  const SupervisorRef root = Spawn(Of<Idler>());
  system_.Kill(root.pid());
  system_.RunUntilIdle();
  EXPECT_FALSE(system_.WhereIs("lower").has_value());
  EXPECT_THAT(crashed_, IsEmpty());
}

TEST_F(NestedCrashesTest, ASupervisorThatIsAskedToStopForAFailureReportsNoCrash) {
  const SupervisorRef root = Spawn(Of<Idler>());
  system_.RequestStop(root.pid(), ExitReason::Failed(absl::UnavailableError("the disk is full")));
  system_.RunUntilIdle();
  EXPECT_FALSE(system_.WhereIs("lower").has_value());
  EXPECT_THAT(crashed_, IsEmpty());
}

TEST_F(NestedCrashesTest, ASupervisorThatGivesUpReportsACrash) {
  const Pid lower = [this] {
    Spawn(Of<Faulty>());
    return *system_.WhereIs("lower");
  }();
  for (int i = 0; i < 10 && reasons_.size() < 3; ++i) system_.Advance(absl::Seconds(1));
  EXPECT_THAT(reasons_, testing::Contains(ExitReason::Kind::kRestartsExhausted));
  EXPECT_THAT(crashed_, testing::Contains(lower));
}

}  // namespace
}  // namespace understudy
