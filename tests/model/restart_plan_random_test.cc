// RestartPlan under random starts, stops, exits, requests and timers, in the interleavings that the seeds give. Under
// every seed: no child has two lives at once, each request has exactly one answer, the counted restarts never exceed
// the intensity, and the plan ends when it is told to.
#include <cstdint>
#include <cstdlib>
#include <map>
#include <memory>
#include <set>
#include <string>
#include <utility>
#include <vector>

#include "absl/strings/match.h"
#include "absl/strings/numbers.h"
#include "absl/strings/str_cat.h"
#include "absl/time/time.h"
#include "gtest/gtest.h"
#include "understudy/actors/clock.h"
#include "understudy/actors/exit_reason.h"
#include "understudy/actors/pid.h"
#include "understudy/actors/random.h"
#include "understudy/supervision/child_spec.h"
#include "understudy/supervision/supervision_event.h"
#include "understudy/tests/supervision/plan_driver.h"
#include "understudy/tests/supervision/startable.h"

namespace understudy {
namespace {

constexpr uint64_t kSeeds = 3000;
constexpr int kSteps = 60;

SupervisorSpec RandomSpec(Random& random) {
  SupervisorSpec spec{.strategy = static_cast<RestartStrategy>(random.Below(3)),
                      .intensity = static_cast<int>(random.Below(4)),
                      .period = absl::Seconds(1 + random.Below(10))};
  const uint64_t children = random.Below(6);
  for (uint64_t i = 0; i < children; ++i) {
    ChildSpec child{.id = std::string(1, static_cast<char>('a' + i)),
                    .restart = static_cast<RestartType>(random.Below(3))};
    if (random.Below(4) == 0) child.shutdown = ChildShutdown::BrutalKill();
    if (random.Below(4) == 0) child.shutdown = ChildShutdown::Infinity();
    if (random.Below(3) == 0) child.registered_as = child.id;
    if (random.Below(3) == 0) child.backoff = RestartBackoff{.give_up_after_attempts = 5};
    if (random.Below(4) == 0 && child.restart != RestartType::kPermanent) child.significant = true;
    if (child.restart != RestartType::kTemporary) {
      child.exclusive = random.Below(3) == 0;
      if (random.Below(4) == 0) child.budget = RestartBudget{1, absl::Seconds(5)};
    }
    spec.children.push_back(child);
  }
  spec.auto_shutdown = static_cast<AutoShutdown>(random.Below(3));
  if (random.Below(4) == 0 && !spec.children.empty()) {  // a pool of the first
    auto pool = std::make_shared<PoolSpec>();
    pool->child = Startable(spec.children[0]);
    pool->child.registered_as = "";
    spec.pool = std::move(pool);
    spec.children.clear();
    spec.strategy = RestartStrategy::kOneForOne;
  } else if (spec.strategy == RestartStrategy::kOneForOne) {
    spec.stop_together = random.Below(2) == 0;
  }
  return spec;
}

class RandomRun {
 public:
  explicit RandomRun(uint64_t seed) : random_(seed), spec_(RandomSpec(random_)), plan_(spec_, seed) {}

  void Run() {
    plan_.on_start = [this](const std::string&) {
      switch (random_.Below(8)) {
        case 0:
          return PlanDriver::StartResult::kFails;
        case 1:
          return PlanDriver::StartResult::kIgnores;
        case 2:
        case 3:
          return PlanDriver::StartResult::kSlow;
        default:
          return PlanDriver::StartResult::kStarts;
      }
    };
    plan_.slow_stop = {"a", "c", "x"};
    plan_.StartAll();
    for (int i = 0; i < kSteps && !plan_.plan().is_finished(); ++i) Step();
    plan_.Shutdown();
    Settle();
    Check();
  }

 private:
  ExitReason AnyReason() {
    const uint64_t choice = random_.Below(4);
    return choice == 0 ? ExitReason::Killed() : choice == 1 ? ExitReason::KilledHandlerRunning() : ExitReason::Normal();
  }
  std::string AnyId() { return std::string(1, "abcdefxy"[random_.Below(8)]); }

  void Step() {
    const std::string id = AnyId();
    switch (random_.Below(12)) {
      case 0:
      case 1:
        if (plan_.IsUp(id)) plan_.Exit(id, AnyReason());
        break;
      case 2:
        if (plan_.IsUp(id)) plan_.Started(id);
        break;
      case 3:
        if (plan_.IsUp(id)) {
          plan_.Failed(id, random_.Below(2) == 0 ? ExitReason::NameConflict(id) : ExitReason::StartTimeout());
        }
        break;
      case 4:
        if (spec_.pool != nullptr) {
          plan_.StartMember(id);
        } else {
          plan_.StartChild({.id = id});
        }
        break;
      case 5:
        plan_.Terminate(id);
        break;
      case 6:
        plan_.Restart(id);
        break;
      case 7:
        plan_.Delete(id);
        break;
      case 8:
        if (random_.Below(2) == 0) {
          plan_.TakeName(id);
        } else {
          plan_.FreeName(id);
        }
        break;
      case 9:
        if (plan_.IsStuck(id)) plan_.Gone(id);
        break;
      case 10:
        if (plan_.IsUp(id)) plan_.TerminatePid(Pid(1, 1, plan_.LifeOf(id)));
        break;
      default:
        plan_.Pass(absl::Milliseconds(random_.Below(8000)));
    }
  }

  // Every child that was asked to stop does so in the end.
  void Settle() {
    for (int i = 0; i < 100 && !plan_.plan().is_finished(); ++i) {
      for (const std::string id : {"a", "b", "c", "d", "e", "f", "x", "y"}) {
        if (plan_.IsUp(id) && plan_.WasAskedToStop(id)) plan_.Exit(id, ExitReason::Shutdown());
      }
      plan_.Pass(absl::Seconds(6));
    }
  }

  void Check() {
    const std::string log = plan_.Log();
    ASSERT_FALSE(absl::StrContains(log, "BUG")) << log;
    ASSERT_TRUE(plan_.plan().is_finished()) << log << "\n" << plan_.States();
    for (uint64_t request = 1; request <= plan_.requests(); ++request) {
      ASSERT_EQ(plan_.AnswersTo(request), 1) << "request " << request << "\n" << log;
    }
    ASSERT_EQ(plan_.timers(), 0u) << log;
    CheckIntensity();
  }

  // Counted restarts within any period are at most the intensity.
  void CheckIntensity() {
    std::vector<MonotonicTime> counted;
    for (const SupervisionEvent& event : plan_.Events()) {
      if (event.kind == SupervisionEvent::Kind::kRestarting) counted.push_back(event.time);
    }
    const size_t allowed = static_cast<size_t>(spec_.intensity);
    for (size_t i = allowed; i < counted.size(); ++i) {
      ASSERT_GT(counted[i] - counted[i - allowed], spec_.period);
    }
  }

  Random random_;
  const SupervisorSpec spec_;
  PlanDriver plan_;
};

TEST(RestartPlanRandom, KeepsItsPromisesUnderEverySeed) {
  uint64_t first = 1;
  uint64_t last = kSeeds;
  if (const char* seed = std::getenv("UNDERSTUDY_SEED"); seed != nullptr && absl::SimpleAtoi(seed, &first))
    last = first;
  for (uint64_t seed = first; seed <= last; ++seed) {
    SCOPED_TRACE(absl::StrCat("--test_env=UNDERSTUDY_SEED=", seed));
    RandomRun(seed).Run();
    if (testing::Test::HasFatalFailure()) return;
  }
}

}  // namespace
}  // namespace understudy
