// ExpectHolds: checks that an exploration was complete, found no failure, and was at least as large as the test says.
#ifndef UNDERSTUDY_TESTS_MODEL_EXPECT_HOLDS_H_
#define UNDERSTUDY_TESTS_MODEL_EXPECT_HOLDS_H_

#include <cstdint>
#include <iostream>
#include <string>

#include "gtest/gtest.h"
#include "understudy/actors/testing/seeds.h"
#include "understudy/tests/model/schedules.h"

namespace understudy::model {

// Choose `schedules_min` not far below the present number of schedules. Otherwise an exploration that shrinks, because
// an operation is no longer a schedule point or because a script ends early, would go on passing.
inline void ExpectHolds(const Outcome& outcome, int64_t schedules_min) {
  EXPECT_TRUE(outcome.failure.empty()) << outcome.failure;
  EXPECT_TRUE(outcome.is_exhausted) << "there are more than " << outcome.schedules << " schedules";
  EXPECT_GE(outcome.schedules, schedules_min);
  testing::Test::RecordProperty("schedules", std::to_string(outcome.schedules));
  std::cout << outcome.schedules << " schedules, " << outcome.cut << " cut, " << outcome.steps << " steps\n";
}

// Whether to run explorations that take more than ten seconds, as `.ci/long models` asks. Beside each of them stands
// one that always runs; it is smaller, or has a bound on preemptions.
inline bool IsLongRun() { return RoundsOf(2) > 2; }

}  // namespace understudy::model

#endif  // UNDERSTUDY_TESTS_MODEL_EXPECT_HOLDS_H_
