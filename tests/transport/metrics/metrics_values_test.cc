// The text format, the bounds of labels, counters that do not fall, and what counts as standing still.
#include <cmath>
#include <cstddef>
#include <cstdint>
#include <limits>
#include <map>
#include <string>
#include <utility>
#include <vector>

#include "absl/functional/any_invocable.h"
#include "absl/functional/function_ref.h"
#include "absl/status/status.h"
#include "absl/status/statusor.h"
#include "absl/strings/str_cat.h"
#include "absl/time/time.h"
#include "gmock/gmock.h"
#include "gtest/gtest.h"
#include "understudy/actors/clock.h"
#include "understudy/actors/error.h"
#include "understudy/actors/executor.h"
#include "understudy/actors/testing/manual_clock.h"
#include "understudy/tests/transport/metrics/strict_exposition.h"
#include "understudy/transport/metrics/exposition.h"
#include "understudy/transport/metrics/health.h"
#include "understudy/transport/metrics/kept_page.h"
#include "understudy/transport/metrics/label_bound.h"
#include "understudy/transport/metrics/metrics_limits.h"
#include "understudy/transport/metrics/peer_counts.h"
#include "understudy/transport/node_status.h"

namespace understudy::internal {
namespace {

using ::testing::HasSubstr;

TEST(ExpositionTest, AFamilyHasHelpAndTypeOnceAndThenItsSamples) {
  Exposition page;
  page.Begin("letters_total", MetricType::kCounter, "Letters.");
  page.Sample(7, {{"mailbox", "in"}, {"outcome", "handled"}});
  page.Sample(int64_t{1} << 53, {{"mailbox", "out"}, {"outcome", "handled"}});
  page.Begin("age_seconds", MetricType::kGauge, "Age.");
  page.Sample(1764176831.25);
  EXPECT_EQ(page.text(),
            "# HELP letters_total Letters.\n"
            "# TYPE letters_total counter\n"
            "letters_total{mailbox=\"in\",outcome=\"handled\"} 7\n"
            "letters_total{mailbox=\"out\",outcome=\"handled\"} 9007199254740992\n"
            "# HELP age_seconds Age.\n"
            "# TYPE age_seconds gauge\n"
            "age_seconds 1764176831.25\n");
  EXPECT_TRUE(ParseExposition(page.text()).ok());
}

TEST(KeptPageTest, APageIsKeptForSomeTimesOfWhatItTookToMake) {
  ManualClock clock;
  KeptPage page(clock);
  int made = 0;
  absl::Duration cost = absl::ZeroDuration();
  const auto get = [&] {
    return page.Get([&] {
      clock.Advance(cost);
      return absl::StrCat(++made);
    });
  };
  EXPECT_EQ(get(), "1");
  clock.Advance(limits::kMetricsPageAgeMax - absl::Nanoseconds(1));
  EXPECT_EQ(get(), "1");
  clock.Advance(absl::Nanoseconds(1));
  cost = absl::Milliseconds(600);
  EXPECT_EQ(get(), "2");
  clock.Advance(limits::kMetricsPageAgePerCost * cost - absl::Nanoseconds(1));
  EXPECT_EQ(get(), "2");
  clock.Advance(absl::Nanoseconds(1));
  EXPECT_EQ(get(), "3");
}

TEST(ExpositionTest, HelpAndLabelsAreEscapedAndOtherBytesAreShownAsHex) {
  Exposition page;
  page.Begin("odd", MetricType::kGauge, "a\\b\nc \"d\"");
  page.Sample(1, {{"name", "quote\" slash\\ line\n tab\t \xc3\xa4 \xff"}});
  EXPECT_EQ(page.text(),
            "# HELP odd a\\\\b\\nc \"d\"\n"
            "# TYPE odd gauge\n"
            "odd{name=\"quote\\\" slash\\\\ line\\\\x0a tab\\\\x09 \\\\xc3\\\\xa4 \\\\xff\"} 1\n");
  EXPECT_TRUE(ParseExposition(page.text()).ok()) << page.text();
}

TEST(ExpositionTest, AHistogramHasSumsOfBucketsASumAndACount) {
  Exposition page;
  page.Begin("run_seconds", MetricType::kHistogram, "Runs.");
  page.Histogram({0.001, 1}, {3, 0, 2}, 12.5, {{"class", "a"}});
  EXPECT_EQ(page.text(),
            "# HELP run_seconds Runs.\n"
            "# TYPE run_seconds histogram\n"
            "run_seconds_bucket{class=\"a\",le=\"0.001\"} 3\n"
            "run_seconds_bucket{class=\"a\",le=\"1\"} 3\n"
            "run_seconds_bucket{class=\"a\",le=\"+Inf\"} 5\n"
            "run_seconds_sum{class=\"a\"} 12.5\n"
            "run_seconds_count{class=\"a\"} 5\n");
  EXPECT_TRUE(ParseExposition(page.text()).ok()) << ParseExposition(page.text()).status();
}

TEST(ExpositionTest, ValuesThatAreNotFiniteHaveTheNamesOfTheFormat) {
  Exposition page;
  page.Begin("odd", MetricType::kGauge, "Odd.");
  page.Sample(std::numeric_limits<double>::infinity(), {{"n", "1"}});
  page.Sample(-std::numeric_limits<double>::infinity(), {{"n", "2"}});
  page.Sample(std::nan(""), {{"n", "3"}});
  EXPECT_THAT(page.text(), HasSubstr("odd{n=\"1\"} +Inf\nodd{n=\"2\"} -Inf\nodd{n=\"3\"} NaN\n"));
}

TEST(ExpositionDeathTest, AMalformedNameAndAFamilyThatBeginsTwiceEndTheProcess) {
  Exposition page;
  page.Begin("once", MetricType::kGauge, "Once.");
  EXPECT_DEATH(page.Begin("once", MetricType::kGauge, "Once."), "begins twice");
  EXPECT_DEATH(page.Begin("no-name", MetricType::kGauge, "No."), "not the name of a metric");
  EXPECT_DEATH(page.Begin("calls", MetricType::kCounter, "No."), "end in _total");
  EXPECT_DEATH(page.Sample(1, {{"0", "x"}}), "not the name of a label");
}

TEST(StrictExpositionTest, TheReaderOfTheseTestsRefusesWhatTheFormatForbids) {
  const std::vector<std::string> wrong = {
      "x 1\n",
      "# HELP x X.\nx 1\n",
      "# HELP x X.\n# TYPE x gauge\nx 1",
      "# HELP x X.\n# TYPE x gauge\nx 1\nx 2\n",
      "# HELP x X.\n# TYPE x gauge\nx{a=\"\"b\"} 1\n",
      "# HELP x X.\n# TYPE x gauge\nx{a=\"\\x\"} 1\n",
      "# HELP x X.\n# TYPE x gauge\nx{a=\"1\",} 1\n",
      "# HELP x X.\n# TYPE x gauge\nx one\n",
      "# HELP x X.\n# TYPE x counter\n",
      "# HELP x_total X.\n# TYPE x_total counter\nx_total -1\n",
      "# HELP x X.\n# TYPE x gauge\n# HELP x X.\n# TYPE x gauge\n",
      "\n",
  };
  for (const std::string& text : wrong) EXPECT_FALSE(ParseExposition(text).ok()) << text;
}

TEST(LabelBoundTest, TheFirstTextsKeepTheirLabelsAndAllOthersShareOne) {
  LabelBound labels(2);
  EXPECT_EQ(labels.Of("b"), "b");
  EXPECT_EQ(labels.Of("c"), "c");
  EXPECT_EQ(labels.Of("a"), "other");
  EXPECT_EQ(labels.Of("b"), "b");
  labels.KeepOnly({"a", "c"});
  EXPECT_EQ(labels.Of("a"), "a");
  EXPECT_EQ(labels.Of("b"), "other");
}

TEST(LabelBoundTest, ALongTextIsOtherAndOddBytesArePrintable) {
  LabelBound labels(2);
  EXPECT_EQ(labels.Of(std::string(limits::kMetricsLabelBytesMax + 1, 'x')), "other");
  EXPECT_EQ(labels.Of("\x80"), "\\x80");
}

TEST(PeerCountsTest, WhatPeersOfTheSharedLabelCountedStaysWhenTheNodeForgetsPeers) {
  std::vector<PeerStatus> peers;
  for (size_t i = 0; i < limits::kMetricsPeersMax + 2; ++i) {
    PeerStatus peer;
    peer.node = absl::StrCat("house-", 1000 + i);
    peer.ledger.accepted = 10;
    peer.forbidden = 1;
    peer.refused_by_peer[ErrorKind::kFull] = 3;
    peer.bytes_waiting = 5;
    peers.push_back(peer);
  }
  PeerCounts counts;
  std::map<std::string, PeerSums> sums = counts.Look(peers);
  EXPECT_EQ(sums.size(), limits::kMetricsPeersMax + 1);
  EXPECT_EQ(sums["house-1000"].counts.ledger.accepted, 10);
  EXPECT_EQ(sums["other"].counts.ledger.accepted, 20);
  // A peer with a label of its own is forgotten: those that share one go on to share it.
  peers.erase(peers.begin());
  peers.back().ledger.accepted += 7;
  sums = counts.Look(peers);
  EXPECT_EQ(sums["other"].counts.ledger.accepted, 27);
  EXPECT_FALSE(sums.contains("house-1000"));
  // One of those that share a label is forgotten.
  peers.pop_back();
  sums = counts.Look(peers);
  EXPECT_EQ(sums["other"].counts.ledger.accepted, 27);
  EXPECT_EQ(sums["other"].counts.forbidden, 2);
  EXPECT_EQ(sums["other"].counts.refused_by_peer[ErrorKind::kFull], 6);
  EXPECT_EQ(sums["other"].counts.bytes_waiting, 5) << "it is not a counter";
  // The other one is forgotten and known again before the next look, so it is new and there is a label for it.
  peers.back().ledger.accepted = 4;
  sums = counts.Look(peers);
  EXPECT_EQ(sums["other"].counts.ledger.accepted, 27);
  EXPECT_EQ(sums[peers.back().node].counts.ledger.accepted, 4);
}

TEST(SteadyCountTest, AReadingThatIsSlightlyLowerIsLeftOut) {
  SteadyCount count;
  EXPECT_EQ(count.Next(100), 100);
  EXPECT_EQ(count.Next(98), 100);
  EXPECT_EQ(count.Next(99), 100);
  EXPECT_EQ(count.Next(101), 101);
}

TEST(SteadyCountTest, ACountOf32BitsThatWrapsAroundGoesOn) {
  constexpr int64_t kWrap = int64_t{1} << 32;
  SteadyCount count;
  EXPECT_EQ(count.Next(kWrap + 5), kWrap + 5);
  EXPECT_EQ(count.Next(10), kWrap + 5) << "perhaps one reading is off";
  EXPECT_EQ(count.Next(12), kWrap + 12);
  EXPECT_EQ(count.Next(20), kWrap + 20);
}

MonotonicTime At(int seconds) { return MonotonicTime::FromNanos(int64_t{1'000'000'000} * seconds); }

TEST(WorkersPulseTest, AllWorkersInOldHandlersStandStillAndOneThatIsFreeDoesNot) {
  WorkersPulse pulse(absl::Seconds(10));
  std::vector<WorkerInfo> workers(2);
  workers[0].running = absl::Seconds(20);
  workers[1].running = absl::Seconds(9);
  EXPECT_TRUE(pulse.Look(workers, At(100)).ok());
  workers[1].running = absl::Seconds(12);
  workers[1].doing = "<house.1.1> in the handler of block";
  EXPECT_EQ(pulse.Look(workers, At(103)).message(),
            "all 2 workers are in a handler for 12s or longer; one is in <house.1.1> in the handler of block");
  workers[0].running = absl::ZeroDuration();
  EXPECT_TRUE(pulse.Look(workers, At(104)).ok());
}

TEST(HeartbeatsPulseTest, HeartbeatsThatHaveBeenDueForLongStandStill) {
  EXPECT_TRUE(HeartbeatsPulse(absl::Seconds(9), absl::Seconds(10)).ok());
  EXPECT_EQ(HeartbeatsPulse(absl::Seconds(12), absl::Seconds(10)).message(),
            "heartbeats to peers have been due for 12s");
}

TEST(WorkersPulseTest, TurnsThatWaitWhileNoHandlerBeginsStandStill) {
  WorkersPulse pulse(absl::Seconds(10));
  std::vector<WorkerInfo> workers(1);
  workers[0].waiting_turns = 3;
  workers[0].handlers_entered = 7;
  EXPECT_TRUE(pulse.Look(workers, At(100)).ok());
  EXPECT_TRUE(pulse.Look(workers, At(109)).ok());
  EXPECT_EQ(pulse.Look(workers, At(110)).message(),
            "3 actors wait for a worker, and no worker has begun a handler for 10s");
  workers[0].handlers_entered = 8;
  EXPECT_TRUE(pulse.Look(workers, At(111)).ok());
  EXPECT_TRUE(pulse.Look(workers, At(120)).ok());
}

TEST(WorkersPulseTest, AnIdleExecutorAndOneThatTellsNothingLive) {
  WorkersPulse pulse(absl::Seconds(10));
  std::vector<WorkerInfo> workers(1);
  for (int second = 0; second < 100; second += 30) {
    EXPECT_TRUE(pulse.Look(workers, At(second)).ok());
    EXPECT_TRUE(pulse.Look({}, At(second)).ok());
  }
}

// Keeps its timers until the test runs them.
class TimersOnly final : public Executor {
 public:
  Clock& clock() override { return Clock::Real(); }
  void Schedule(Runnable*) override {}
  bool WhileInUserCode(Runnable*, absl::FunctionRef<bool()>, absl::FunctionRef<void()>) override { return false; }
  absl::StatusOr<uint32_t> NewOwnThread() override { return 0; }
  void EndOwnThread(uint32_t) override {}
  uint64_t RunAt(MonotonicTime, absl::AnyInvocable<void()> callback) override {
    callbacks.push_back(std::move(callback));
    return callbacks.size();
  }
  bool Cancel(uint64_t timer) override {
    cancelled = timer;
    return true;
  }
  bool BlockUntil(absl::FunctionRef<bool()>, MonotonicTime) override { return false; }
  void Notify() override {}

  std::vector<absl::AnyInvocable<void()>> callbacks;
  uint64_t cancelled = 0;
};

TEST(TimersPulseTest, ATimerThatDoesNotRunIsToldAndOneTimerIsPendingAtMost) {
  TimersOnly executor;
  {
    TimersPulse pulse(executor, absl::Seconds(10));
    EXPECT_TRUE(pulse.Look(At(100)).ok());
    EXPECT_TRUE(pulse.Look(At(109)).ok());
    EXPECT_EQ(pulse.Look(At(112)).message(), "a timer that was due 12s ago has not run");
    ASSERT_EQ(executor.callbacks.size(), 1U);
    executor.callbacks[0]();
    EXPECT_TRUE(pulse.Look(At(113)).ok());
    EXPECT_TRUE(pulse.Look(At(122)).ok());
    EXPECT_FALSE(pulse.Look(At(123)).ok());
    EXPECT_EQ(executor.callbacks.size(), 2U);
  }
  EXPECT_EQ(executor.cancelled, 2U);
  executor.callbacks[1]();  // a callback that runs nevertheless
}

}  // namespace
}  // namespace understudy::internal
