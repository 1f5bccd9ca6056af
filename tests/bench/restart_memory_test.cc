// A child that crashes a hundred thousand times leaves no memory behind.
#include <cstdint>
#include <vector>

#include "absl/status/status.h"
#include "absl/time/time.h"
#include "gtest/gtest.h"
#include "understudy/actors/actor.h"
#include "understudy/actors/actor_system.h"
#include "understudy/actors/log_sink.h"
#include "understudy/supervision/builders.h"
#include "understudy/supervision/limits.h"
#include "understudy/tests/bench/resident_memory.h"
#include "understudy/tests/bench/workload.h"

namespace understudy::bench {
namespace {

constexpr int64_t kRestarts = 100'000;
constexpr int64_t kSampleEach = 20'000;

// The record that all lives of one child share: the number of its starts, and the resident memory at every
// kSampleEach-th start.
struct Lives {
  explicit Lives(ActorSystem& system) : finish(system) {}
  Finish finish;
  int64_t starts = 0;
  std::vector<int64_t> resident;
};

class Mayfly final : public Actor {
 public:
  explicit Mayfly(Lives* lives) : lives_(lives) {}
  StartResult Start() override {
    const int64_t start = ++lives_->starts;
    if (start % kSampleEach == 0) lives_->resident.push_back(ResidentBytes());
    if (start > kRestarts) {
      lives_->finish.Report(start - 1);
      return living_;
    }
    return context().StartTimer("die", absl::ZeroDuration(), &Mayfly::Die).ok() ? StartResult(living_)
                                                                                : StartResult::Ignore();
  }

 private:
  void Die(const TimerEvent&) { context().Stop(ExitReason::Failed(absl::DataLossError("disk"))); }

  Lives* const lives_;
  Behavior living_{"living", After(absl::Hours(1), [] {})};
};

TEST(RestartMemoryTest, AHundredThousandRestartsOfOneChildLeaveNoMemoryBehind) {
  ActorSystem system({.log = &LogSink::Null()});
  Lives lives(system);
  // The largest intensity in a short period, so that the supervisor does not give up.
  system.Spawn(
      OneForOne().Intensity(limits::kRestartIntensityMax, absl::Milliseconds(1)).Child("mayfly", Of<Mayfly>(&lives)));
  EXPECT_EQ(lives.finish.Await(), kRestarts);
  ASSERT_EQ(lives.resident.size(), 5u);
  EXPECT_LE(lives.resident[4], lives.resident[0] + lives.resident[0] / 20)
      << lives.resident[0] << ", " << lives.resident[1] << ", " << lives.resident[2] << ", " << lives.resident[3];
  EXPECT_TRUE(system.Shutdown(absl::Minutes(1)));
}

}  // namespace
}  // namespace understudy::bench
