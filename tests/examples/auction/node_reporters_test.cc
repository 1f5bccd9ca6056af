#include "understudy/examples/auction/node_reporters.h"

#include <unistd.h>

#include <string>
#include <vector>

#include "absl/status/status.h"
#include "absl/status/statusor.h"
#include "absl/time/time.h"
#include "gmock/gmock.h"
#include "gtest/gtest.h"
#include "understudy/actors/actor.h"
#include "understudy/actors/actor_spec.h"
#include "understudy/actors/ref.h"
#include "understudy/actors/test_system.h"
#include "understudy/examples/auction/auction.actor.h"
#include "understudy/examples/auction/auction.pb.h"
#include "understudy/examples/auction/chronicle.h"
#include "understudy/examples/auction/house_tree.h"
#include "understudy/examples/auction/run_page.h"
#include "understudy/supervision/builders.h"

namespace auction {
namespace {

using ::testing::ElementsAre;
using ::testing::HasSubstr;

// Fails when it is sent a price change.
class Patient final : public WatcherActor {
 private:
  understudy::StartResult Start() override { return ready_; }
  void Die() { Fail(absl::DataLossError("poisoned")); }
  understudy::Behavior ready_{"ready", On(price_changed, &Patient::Die)};
};

TEST(NodeStewardTest, ItsReportBalances) {
  understudy::TestSystem system(1);
  const StewardRef steward = system.Spawn<NodeSteward>("house-1", TotalsOf(system));
  ASSERT_TRUE(system.Ask(steward.report(), ReportRequest(), absl::Seconds(1)).ok());
  absl::StatusOr<NodeReport> report = system.Ask(steward.report(), ReportRequest(), absl::Seconds(1));
  ASSERT_TRUE(report.ok()) << report.status();
  EXPECT_EQ(report->node(), "house-1");
  EXPECT_EQ(report->os_pid(), getpid());
  EXPECT_EQ(report->accepted(), 2);
  EXPECT_EQ(report->waiting(), 1);  // the request that the report answers
  EXPECT_EQ(Imbalance(*report), 0);
  EXPECT_THAT(FormatMessageLedgers({*report}), HasSubstr("balances"));
  report->set_accepted(9);
  EXPECT_THAT(FormatMessageLedgers({*report}), HasSubstr("off by 7"));
}

TEST(ReporterTest, WhatItsSupervisorDoesIsInTheChronicle) {
  understudy::TestSystem system(1);
  const understudy::Ref<ChronicleKeeper> chronicle(
      system.Spawn<ChronicleKeeper>(understudy::SpawnOptions{.published_as = std::string(kChronicle)}).pid());
  understudy::SupervisorBuilder tree = understudy::OneForOne();
  tree.Child("reporter", understudy::Of<Reporter>("house-1", ReportedStops::kAbnormal));
  tree.Child("patient", understudy::Of<Patient>().RegisteredAs("patient"));
  const understudy::SupervisorRef root = system.Spawn(tree);
  const understudy::Ref<Reporter> all = system.Spawn<Reporter>("launcher", ReportedStops::kAll, root);
  system.RunUntilIdle();
  understudy::Named<WatcherRef>(system, "patient")->price_changed().Tell(PriceChange());
  system.RunUntilIdle();
  system.RequestStop(root.pid());
  system.RunUntilIdle();
  ASSERT_TRUE(system.Ask(all[&Reporter::flush], FlushReports(), absl::Seconds(1)).ok());

  absl::StatusOr<Chronicled> read = system.Ask(chronicle[&ChronicleKeeper::read], ReadChronicle(), absl::Seconds(1));
  ASSERT_TRUE(read.ok()) << read.status();
  std::vector<std::string> house;
  std::vector<std::string> launcher;
  for (const Happening& happening : *read) {
    (happening.node() == "house-1" ? house : launcher).push_back(happening.what() + " " + happening.who());
    if (happening.what() == "exited") {
      EXPECT_THAT(happening.why(), HasSubstr("poisoned"));
    }
  }
  EXPECT_THAT(house, ElementsAre("exited patient", "is restarted patient", "started patient"));
  EXPECT_THAT(launcher, ElementsAre("exited patient", "is restarted patient", "started patient", "was stopped patient",
                                    "was stopped reporter"));
}

}  // namespace
}  // namespace auction
