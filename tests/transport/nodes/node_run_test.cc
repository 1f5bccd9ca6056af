#include "understudy/transport/node_run.h"

#include <csignal>
#include <thread>

#include "absl/status/status.h"
#include "absl/types/optional.h"
#include "gtest/gtest.h"
#include "understudy/actors/exit_reason.h"

namespace understudy::internal {
namespace {

constexpr int kStatus = 17;

// Expects that the run ends, and that the tree did not fail.
int ExpectNoFailure(const absl::optional<ExitReason>& tree_failed) {
  EXPECT_FALSE(tree_failed.has_value()) << *tree_failed;
  return kStatus;
}

TEST(NodeRunTest, ARequestBeforeTheRunAndOneOnAnotherThreadEndIt) {
  NodeRun early;
  early.RequestEnd();
  EXPECT_EQ(early.Run([] {}, ExpectNoFailure), kStatus);
  NodeRun late;
  std::thread other;
  EXPECT_EQ(late.Run([&] { other = std::thread([&] { late.RequestEnd(); }); }, ExpectNoFailure), kStatus);
  other.join();
}

TEST(NodeRunTest, TheEndOfTheTreeEndsItAndAnAbnormalOneIsTold) {
  NodeRun normal;
  EXPECT_EQ(normal.Run([&] { normal.OnTreeEnded(ExitReason::Normal()); }, ExpectNoFailure), kStatus);
  NodeRun failed;
  const ExitReason why = ExitReason::Failed(absl::InternalError("the tree broke"));
  const auto end = [&](const absl::optional<ExitReason>& tree_failed) {
    EXPECT_EQ(tree_failed, why);
    return kStatus;
  };
  EXPECT_EQ(failed.Run([&] { failed.OnTreeEnded(why); }, end), kStatus);
}

TEST(NodeRunTest, ASignalEndsItAndTheEarlierActionIsRestored) {
  for (const int number : {SIGTERM, SIGINT}) {
    void (*const before)(int) = signal(number, SIG_IGN);
    NodeRun run;
    EXPECT_EQ(run.Run([number] { raise(number); }, ExpectNoFailure), kStatus);
    EXPECT_EQ(signal(number, before), SIG_IGN);
  }
}

TEST(NodeRunDeathTest, ASecondSignalEndsTheProcessUntilTheRunHasReturned) {
  const auto run = [] {
    NodeRun run;
    const auto end = [](const absl::optional<ExitReason>&) {
      raise(SIGINT);
      return kStatus;
    };
    (void)run.Run([] { raise(SIGTERM); }, end);
  };
  EXPECT_EXIT(run(), ::testing::ExitedWithCode(128 + SIGINT), "");
}

TEST(NodeRunDeathTest, TwoRunsAtOnceAreAProgrammersError) {
  NodeRun inner;
  NodeRun outer;
  EXPECT_DEATH((void)outer.Run([&] { (void)inner.Run([] {}, ExpectNoFailure); }, ExpectNoFailure),
               "two nodes of one process");
}

}  // namespace
}  // namespace understudy::internal
