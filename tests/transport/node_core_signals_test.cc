// Very many exits and Downs at once between nodes, and the Down of a silent node.
#include <cstddef>
#include <cstdint>
#include <memory>
#include <string>
#include <vector>

#include "absl/status/status.h"
#include "absl/strings/match.h"
#include "absl/strings/str_cat.h"
#include "absl/time/time.h"
#include "gmock/gmock.h"
#include "gtest/gtest.h"
#include "understudy/actors/context.h"
#include "understudy/actors/events.h"
#include "understudy/actors/exit_reason.h"
#include "understudy/actors/limits.h"
#include "understudy/actors/pid.h"
#include "understudy/actors/registry.h"
#include "understudy/actors/test_system.h"
#include "understudy/tests/transport/cluster_test.h"
#include "understudy/tests/transport/puppet.h"
#include "understudy/transport/core/node_core.h"
#include "understudy/transport/limits.h"
#include "understudy/transport/session_times.h"
#include "understudy/transport/testing/simulated_cluster.h"

namespace understudy {
namespace {

using ::testing::Contains;
using ::testing::ElementsAre;
using ::testing::HasSubstr;
using ::testing::IsEmpty;
using ::testing::Not;
using ::testing::SizeIs;

class SignalsTest : public ClusterTest {
 protected:
  using Reasons = std::shared_ptr<std::vector<ExitReason>>;
  // Makes so many monitors of `target`, and returns the reasons of their Downs as these come.
  Reasons Watch(const Puppeteer& watcher, Pid target, size_t monitors) {
    auto reasons = std::make_shared<std::vector<ExitReason>>();
    Do(watcher, [=](Puppet& puppet) {
      for (size_t i = 0; i < monitors; ++i) {
        puppet.monitors_.push_back(
            puppet.context().Monitor(target, [=](const Down& down) { reasons->push_back(down.reason); }));
      }
    });
    return reasons;
  }
  void ExpectNoSessionEnded() {
    EXPECT_THAT(cluster().peer_events("a"), Not(Contains(HasSubstr("ended"))));
    EXPECT_THAT(cluster().peer_events("b"), Not(Contains(HasSubstr("ended"))));
  }
};

TEST_F(SignalsTest, VeryManyDownsWithALongReasonEndNoSessionAndTheLaterOnesTellItBriefly) {
  constexpr size_t kMonitors = 5000;
  Join();
  const Puppeteer watcher = Make("a");
  const Puppeteer target = Make("b");
  const Reasons reasons = Watch(watcher, Seen("a", target, "b"), kMonitors);
  const std::string text = "no table " + std::string(60'000, 'x');
  Do(target, [text](Puppet& puppet) { (void)puppet.Fail(absl::NotFoundError(text)); });
  Run(absl::Seconds(5));
  ExpectNoSessionEnded();
  ASSERT_THAT(*reasons, SizeIs(kMonitors));
  EXPECT_EQ(reasons->front().status().message(), text);
  EXPECT_LE(reasons->back().bytes(), 1000U);
  for (const ExitReason& reason : *reasons) {
    ASSERT_EQ(reason.kind(), ExitReason::Kind::kFailed);
    ASSERT_EQ(reason.status().code(), absl::StatusCode::kNotFound);
    ASSERT_TRUE(absl::StartsWith(reason.status().message(), "no table xxx"));
  }
}

TEST_F(SignalsTest, AllMonitorsThatAnActorMayHaveMadeInOneTurnAndTheirDownsEndNoSession) {
  Join();
  const Puppeteer watcher = Make("a");
  const Puppeteer target = Make("b");
  const Reasons reasons = Watch(watcher, Seen("a", target, "b"), limits::kMonitorsPerActorMax);
  Run(absl::Seconds(5));
  Do(target, [](Puppet& puppet) { (void)puppet.Fail(absl::NotFoundError("no table")); });
  Run(absl::Seconds(5));
  ExpectNoSessionEnded();
  EXPECT_THAT(*reasons, SizeIs(limits::kMonitorsPerActorMax));
}

TEST_F(SignalsTest, DownsBeyondTheBytesForTextsOfReasonsTravelWithoutTexts) {
  constexpr size_t kTextBytes = 1000;
  Join();
  const Puppeteer watcher = Make("a");
  const Puppeteer target = Make("b");
  const Reasons reasons = Watch(watcher, Seen("a", target, "b"), limits::kMonitorsPerActorMax);
  Run(absl::Seconds(5));
  const ExitReason whole =
      ExitReason::Failed(absl::NotFoundError(std::string(kTextBytes, 'x'))).CausedBy(ExitReason::Overflow("in"));
  Do(target, [whole](Puppet& puppet) { puppet.context().Stop(whole); });
  Run(absl::Seconds(5));
  ExpectNoSessionEnded();
  ASSERT_THAT(*reasons, SizeIs(limits::kMonitorsPerActorMax));
  EXPECT_EQ(reasons->front(), whole);
  size_t text_bytes = 0;
  size_t brief = 0;
  size_t without_text = 0;
  for (const ExitReason& reason : *reasons) {
    ASSERT_EQ(reason.kind(), ExitReason::Kind::kFailed);
    ASSERT_EQ(reason.status().code(), absl::StatusCode::kNotFound);
    ASSERT_EQ(reason.causes_cut(), reason.cause() == nullptr);
    const size_t bytes = reason.status().message().size();
    text_bytes += bytes;
    without_text += bytes == 0 ? 1 : 0;
    brief += bytes > 0 && bytes < kTextBytes ? 1 : 0;
    ASSERT_TRUE(without_text == 0 || bytes == 0) << "a text after a reason without one";
  }
  EXPECT_GT(brief, 0U);
  EXPECT_GT(without_text, 0U);
  EXPECT_EQ(reasons->back().bytes(), ExitReason().bytes());
  EXPECT_LT(text_bytes, limits::kReasonTextsBytesMax);
}

TEST_F(SignalsTest, DownsWithALongReasonThatWaitForNamesEndNoSession) {
  constexpr size_t kMonitors = 1000;
  Join();
  const Puppeteer watcher = Make("a");
  const Puppeteer target = Make("b");
  const Reasons reasons = Watch(watcher, Seen("a", target, "b"), kMonitors);
  Run(absl::Seconds(1));
  // More than the parts that may be on their way, so the Downs wait behind the rest.
  for (uint64_t serial = 1; serial <= 20'000; ++serial) {
    cluster().core("b").Publish({.name = absl::StrCat(std::string(200, 'b'), serial),
                                 .pid = Pid(cluster().system("b").node(), 1, serial),
                                 .scope = NameScope::kCluster},
                                [](const absl::Status& /*done*/) {});
  }
  const std::string text(60'000, 'x');
  Do(target, [text](Puppet& puppet) { (void)puppet.Fail(absl::NotFoundError(text)); });
  Run(absl::Seconds(20));
  ExpectNoSessionEnded();
  ASSERT_THAT(*reasons, SizeIs(kMonitors));
  EXPECT_EQ(reasons->front().status().message(), text);
  EXPECT_LE(reasons->back().bytes(), 1000U);
}

TEST_F(SignalsTest, WithTheDefaultTimesASilentPeerIsDownWithin10Seconds) {
  Join();
  const Puppeteer a = Make("a");
  const Pid seen = Seen("a", Make("b"), "b");
  Do(a, [seen](Puppet& p) { p.Watch(seen); });
  cluster().Pause("b");
  Run(SessionTimes().silence_timeout);
  EXPECT_THAT(*a.diary, IsEmpty()) << "it may yet come back";
  EXPECT_TRUE(
      cluster().RunUntil([&] { return !a.diary->empty(); }, absl::Seconds(10) - SessionTimes().silence_timeout));
  EXPECT_THAT(*a.diary, ElementsAre("down NoConnection"));
}

}  // namespace
}  // namespace understudy
