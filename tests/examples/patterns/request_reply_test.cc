#include "understudy/examples/patterns/request_reply.h"

#include <vector>

#include "absl/status/statusor.h"
#include "absl/time/time.h"
#include "gtest/gtest.h"
#include "understudy/actors/testing/actor_test.h"

namespace understudy::patterns {
namespace {

using RequestReplyTest = ActorTest;

// SEL 8
// The logistic map of the Savina suite, on one thread: ten series of 8,000 terms (its small size, with the sum of
// 25,000 terms too). Nobody counts: GetTerm, sent after the last NextTerm, is answered after it. "Computers in another
// process" is later: nodes.
TEST_F(RequestReplyTest, TheLogisticMapHasItsKnownSum) {
  constexpr int kSeries = 10;
  constexpr int kTerms = 8000;
  std::vector<Ref<SeriesWorker>> workers;
  for (int i = 0; i < kSeries; ++i) {
    Ref<RateComputer> computer = system().Spawn<RateComputer>(3.46 + 0.0025 * i);
    workers.push_back(system().Spawn<SeriesWorker>(computer, 0.0025 * i));
  }
  for (int term = 0; term < kTerms; ++term) {
    for (const Ref<SeriesWorker>& worker : workers) worker[&SeriesWorker::next].Tell({});
  }
  double sum = 0;
  for (const Ref<SeriesWorker>& worker : workers) {
    sum += *Ask(worker[&SeriesWorker::get], GetTerm());
  }
  EXPECT_NEAR(sum, 6.387835144604120, 1e-12);
  EXPECT_TRUE(dead_letters().empty());
}
