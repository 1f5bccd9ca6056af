#include "understudy/tests/bench/workload.h"

#include <string>

#include "gtest/gtest.h"
#include "understudy/actors/actor_system.h"
#include "understudy/actors/test_system.h"

namespace understudy::bench {
namespace {

class EachWorkload : public testing::TestWithParam<Workload> {};

// A run checks the counts of its parts, and that no message is refused; a failed check ends the process.
void ExpectAllDone(const Workload& workload, ActorSystem& system, int64_t operations) {
  const Measurement measured = workload.run(system, operations);
  EXPECT_EQ(measured.count, operations);
  const MessageLedger ledger = system.Ledger();
  EXPECT_EQ(ledger.refused, 0);
  EXPECT_GE(ledger.of(Disposition::kHandled), operations);
  EXPECT_TRUE(ledger.balances()) << ledger.ToString();
}

TEST_P(EachWorkload, CountsAllItsOperationsOnThreads) {
  ActorSystem system;
  ExpectAllDone(GetParam(), system, 2 * kUnit);
}

TEST_P(EachWorkload, CountsAllItsOperationsUnderTheSeededExecutor) {
  TestSystem system(/*seed=*/7);
  ExpectAllDone(GetParam(), system, kUnit);
}

INSTANTIATE_TEST_SUITE_P(Workloads, EachWorkload, testing::ValuesIn(Workloads()),
                         [](const auto& info) { return std::string(info.param.name); });

TEST(WorkloadsTest, AreFoundByName) {
  ASSERT_NE(FindWorkload("ring"), nullptr);
  EXPECT_EQ(FindWorkload("ring")->operation, "hop");
  EXPECT_EQ(FindWorkload("rings"), nullptr);
}

}  // namespace
}  // namespace understudy::bench
