// Tests of the demo as a user runs it, with processes, sockets and signals.
#include <sys/wait.h>
#include <unistd.h>

#include <csignal>
#include <cstddef>
#include <filesystem>
#include <sstream>
#include <string>
#include <vector>

#include "absl/status/status.h"
#include "absl/status/statusor.h"
#include "absl/strings/str_cat.h"
#include "absl/time/clock.h"
#include "absl/time/time.h"
#include "gmock/gmock.h"
#include "gtest/gtest.h"
#include "understudy/examples/auction/input_files.h"
#include "understudy/examples/auction/oracle.h"
#include "understudy/examples/auction/temp_folder.h"
#include "understudy/tests/examples/auction/demo_process.h"
#include "understudy/tests/transport/metrics/scrape.h"
#include "understudy/tests/transport/metrics/strict_exposition.h"
#include "understudy/tools/understudy/client.h"

namespace auction {
namespace {

using ::testing::HasSubstr;
using ::testing::Not;

constexpr absl::Duration kPatience = absl::Minutes(4);
// On an idle machine, Ctrl-C and the end of the launcher leave no process behind after two seconds. The tests wait for
// as long as a machine with a load of 20 may need.
constexpr absl::Duration kLeftoversGone = absl::Minutes(1);
// The same two seconds, after the time that the processes take to stop, for such a machine.
constexpr absl::Duration kGivenUpWithin = absl::Seconds(40);

class DemoTest : public ::testing::Test {
 protected:
  std::string ResultsPath() const { return folder_.File("results.csv"); }
  std::string ShippedResults() const {
    std::vector<InputProblem> problems;
    const std::vector<Lot> lots = ParseLots("", *ReadFile("examples/auction/data/lots.textproto"), problems);
    return ResultsCsv(
        ExpectedResults(lots, ParseBids("", *ReadFile("examples/auction/data/bids.csv"), lots, problems)));
  }
  std::string Kept(const std::string& file) const {
    return absl::StrCat(folder_.path(), "/auction-last-run-", getuid(), "/", file);
  }
  // The number of folders that a run has left in its TMPDIR, without the one that it leaves to its user.
  int FoldersLeft() const {
    int count = 0;
    for (const auto& entry : std::filesystem::directory_iterator(folder_.path())) {
      const bool is_kept = entry.path().filename().string().find("auction-last-run-") == 0;
      count += entry.is_directory() && !is_kept ? 1 : 0;
    }
    return count;
  }

  const TempFolder folder_ = *TempFolder::Make("demo-test");
};

TEST_F(DemoTest, WithFailuresTheResultsAreTheOracles) {
  DemoProcess demo({"--speed=max", "--seed=1", absl::StrCat("--results=", ResultsPath())}, folder_.path());
  const int status = demo.AwaitEnd(kPatience);
  ASSERT_TRUE(WIFEXITED(status) && WEXITSTATUS(status) == 0) << status << "\n" << demo.output();
  EXPECT_EQ(*ReadFile(ResultsPath()), ShippedResults());
  EXPECT_THAT(demo.output(), HasSubstr("OsSignal(9 SIGKILL"));
  EXPECT_THAT(demo.output(), HasSubstr("InjectedCrash"));
  EXPECT_THAT(demo.output(), HasSubstr("found again"));
  EXPECT_THAT(demo.output(), HasSubstr(absl::StrCat("Picture: file://", Kept("timeline.svg"))));
  EXPECT_THAT(*ReadFile(Kept("timeline.svg")), HasSubstr("house-2 exited: OsSignal(9 SIGKILL)</title>"));
  EXPECT_THAT(demo.output(), HasSubstr(absl::StrCat("Log: ", Kept("log.txt"))));
  EXPECT_THAT(*ReadFile(Kept("log.txt")), HasSubstr("child 'house-2'"));
  EXPECT_THAT(demo.output(), Not(HasSubstr("] supervisor"))) << "the log is in its file";
  EXPECT_TRUE(demo.AwaitNoneLeft(kLeftoversGone));
  EXPECT_EQ(FoldersLeft(), 0);
}

TEST_F(DemoTest, WithoutFailuresTheResultsAreTheSame) {
  DemoProcess demo({"--speed=max", "--kills=none", "--seed=2", absl::StrCat("--results=", ResultsPath())},
                   folder_.path());
  const int status = demo.AwaitEnd(kPatience);
  ASSERT_TRUE(WIFEXITED(status) && WEXITSTATUS(status) == 0) << status << "\n" << demo.output();
  EXPECT_EQ(*ReadFile(ResultsPath()), ShippedResults());
}

TEST_F(DemoTest, OtherInputIsReadAndItsFaultsAreReported) {
  ASSERT_TRUE(WriteFile(folder_.File("lots"), R"(
lot { id: "lamp" title: "A lamp" reserve_price: "10" minimum_increment: "1" closing_time: "2024-05-04T14:10:00Z" }
lot { id: "clock" title: "A clock" reserve_price: "ten" minimum_increment: "1" closing_time: "2024-05-04T14:10:00Z" }
)")
                  .ok());
  ASSERT_TRUE(WriteFile(folder_.File("bids"),
                        "time,bidder,lot,amount\n2024-05-04T14:00:00Z,anna,lamp,12\n"
                        "2024-05-04T14:00:01Z,bo,clock,12\n2024-05-04T14:00:02Z,bo,lamp,13\n")
                  .ok());
  DemoProcess demo({"--speed=max", absl::StrCat("--lots=", folder_.File("lots")),
                    absl::StrCat("--bids=", folder_.File("bids")), absl::StrCat("--results=", ResultsPath())},
                   folder_.path());
  const int status = demo.AwaitEnd(kPatience);
  ASSERT_TRUE(WIFEXITED(status) && WEXITSTATUS(status) == 0) << status << "\n" << demo.output();
  EXPECT_EQ(*ReadFile(ResultsPath()), "lot,winner,amount\nlamp,bo,13.00\n");
  EXPECT_THAT(demo.output(), HasSubstr(absl::StrCat(folder_.File("lots"), "\n       3: reserve_price: amount 'ten'")));
  EXPECT_THAT(demo.output(), HasSubstr(absl::StrCat(folder_.File("bids"), "\n       3: unknown lot 'clock'")));
  EXPECT_THAT(demo.output(), HasSubstr("2 faults"));
}

// Kills the ledger each time that it has started, until the launcher's tree gives up.
TEST_F(DemoTest, WhenTheTreeGivesUpTheRunEndsAndItsPageSaysWhy) {
  ASSERT_TRUE(WriteFile(ResultsPath(), "of an earlier run\n").ok());
  DemoProcess demo({"--speed=30", absl::StrCat("--results=", ResultsPath())}, folder_.path());
  ASSERT_TRUE(demo.AwaitOutput("bidding begins", kPatience)) << demo.output();
  int status = -1;
  pid_t killed = -1;
  const absl::Time deadline = absl::Now() + kPatience;
  absl::Time last_kill;
  while (status < 0 && absl::Now() < deadline) {
    const pid_t ledger = demo.ProcessOf("ledger_node");
    if (ledger > 0 && ledger != killed && kill(ledger, SIGKILL) == 0) {
      killed = ledger;
      last_kill = absl::Now();
    }
    status = demo.AwaitEnd(absl::Milliseconds(20));
  }
  EXPECT_TRUE(WIFEXITED(status) && WEXITSTATUS(status) == 1) << status << "\n" << demo.output();
  RecordProperty("milliseconds_from_the_last_kill", absl::ToInt64Milliseconds(absl::Now() - last_kill));
  EXPECT_LT(absl::Now() - last_kill, kGivenUpWithin);
  EXPECT_THAT(demo.output(), HasSubstr("RestartsExhausted(child 'ledger' needed 6 restarts"));
  EXPECT_THAT(demo.output(), HasSubstr("  because of OsSignal(9 SIGKILL)"));
  EXPECT_THAT(demo.output(), HasSubstr("What was supervised\n"));
  EXPECT_THAT(demo.output(), HasSubstr("FAILED  every offer was acknowledged: the bidding ended early"));
  EXPECT_EQ(*ReadFile(ResultsPath()), "of an earlier run\n");
  EXPECT_TRUE(demo.AwaitNoneLeft(kLeftoversGone));
  EXPECT_EQ(FoldersLeft(), 0);
}

TEST_F(DemoTest, AHouseThatIsKilledByHandCountsAsTheOneThatIsToBeKilled) {
  DemoProcess demo({"--speed=1000", "--kills=house", "--seed=1"}, folder_.path());
  ASSERT_TRUE(demo.AwaitOutput(" is to be killed", kPatience)) << demo.output();
  const size_t place = demo.output().find(" is to be killed");
  const std::string house = demo.output().substr(place - 7, 7);
  ASSERT_TRUE(demo.AwaitOutput("bidding begins", kPatience)) << demo.output();
  const pid_t process = demo.ProcessOf("house_node", std::string(1, '\0') + house.substr(6) + '\0');
  ASSERT_GT(process, 0) << house;
  ASSERT_EQ(kill(process, SIGKILL), 0);
  const int status = demo.AwaitEnd(kPatience);
  EXPECT_TRUE(WIFEXITED(status) && WEXITSTATUS(status) == 0) << status << "\n" << demo.output();
  EXPECT_THAT(demo.output(), HasSubstr("All holds."));
}

TEST_F(DemoTest, AnOperatorCanLookIntoIt) {
  const std::string socket = folder_.File("ops");
  DemoProcess demo({"--speed=30", absl::StrCat("--ops=", socket)}, folder_.path());
  ASSERT_TRUE(demo.AwaitOutput("bidding begins", kPatience)) << demo.output();
  const auto told = [&](const std::string& command) {
    std::istringstream in;
    std::ostringstream out;
    const absl::Status status =
        understudy::tool::RunCommand({.command = command, .ops = socket}, {.in = in, .out = out, .prompt = out});
    EXPECT_TRUE(status.ok()) << status;
    return out.str();
  };
  EXPECT_THAT(told("tree"), HasSubstr("\n  house-1 "));
  EXPECT_THAT(told("peers"), HasSubstr("\nledger   up"));
  EXPECT_THAT(told("names"), HasSubstr("auction/lot-01"));
  EXPECT_THAT(told("ps"), HasSubstr("Bidder"));
  demo.Signal(SIGTERM);
  EXPECT_GE(demo.AwaitEnd(kPatience), 0);
}

TEST_F(DemoTest, MonitoringCanScrapeIt) {
  DemoProcess demo({"--speed=30", "--metrics=127.0.0.1:0"}, folder_.path());
  ASSERT_TRUE(demo.AwaitOutput("bidding begins", kPatience)) << demo.output();
  const std::string output = demo.output();
  const size_t begin = output.find("http://");
  ASSERT_NE(begin, std::string::npos) << output;
  const std::string address = output.substr(begin + 7, output.find("/metrics", begin) - begin - 7);
  const absl::StatusOr<understudy::Series> page =
      understudy::ParseExposition(understudy::Fetch(address, "/metrics").body);
  ASSERT_TRUE(page.ok()) << page.status();
  EXPECT_EQ(page->at("understudy_peer_up{peer=\"ledger\"}"), 1);
  EXPECT_EQ(page->at("understudy_ready"), 1);
  EXPECT_EQ(understudy::Fetch(address, "/readyz").status, 200);
  EXPECT_EQ(understudy::Fetch(address, "/livez").body, "ok\n");
  demo.Signal(SIGTERM);
  EXPECT_GE(demo.AwaitEnd(kPatience), 0);
}

TEST_F(DemoTest, APageShowsItLive) {
  DemoProcess demo({"--speed=30", "--observe"}, folder_.path());
  ASSERT_TRUE(demo.AwaitOutput("bidding begins", kPatience)) << demo.output();
  const std::string output = demo.output();
  const size_t begin = output.find("observe: http://");
  ASSERT_NE(begin, std::string::npos) << output;
  const size_t token = output.find("/#", begin);
  const std::string address = output.substr(begin + 16, token - begin - 16);
  understudy::RawClient page(address);
  EXPECT_TRUE(page.Say(absl::StrCat("GET /api/stream HTTP/1.1\r\nHost: ", address,
                                    "\r\nX-Understudy-Token: ", output.substr(token + 2, 32), "\r\n\r\n")));
  (void)page.HearUntil("\"name\":\"launcher\"");
  (void)page.HearUntil("\"id\":\"house-1\"");
  demo.Signal(SIGTERM);
  EXPECT_GE(demo.AwaitEnd(kPatience), 0);
}

TEST_F(DemoTest, InputThatCannotRunIsRefusedWithStatusTwo) {
  const std::vector<std::vector<std::string>> cases = {{"--speed=0"},
                                                       {"--kills=some"},
                                                       {"--seed=x"},
                                                       {"--no_such_flag"},
                                                       {"stray"},
                                                       {"--lots=/nonexistent"},
                                                       {"--bids=/nonexistent"},
                                                       {"--results=/nonexistent/r"},
                                                       {"--ops=/nonexistent/ops"},
                                                       {"--metrics=0.0.0.0:0"},
                                                       {"--keep=/dev/null"},
                                                       {"--keep=/nonexistent/kept"}};
  for (const auto& arguments : cases) {
    DemoProcess demo(arguments, folder_.path());
    const int status = demo.AwaitEnd(kPatience);
    EXPECT_TRUE(WIFEXITED(status) && WEXITSTATUS(status) == 2) << arguments[0] << ": " << demo.output();
    EXPECT_EQ(FoldersLeft(), 0);
  }
}

TEST_F(DemoTest, WhenThePlanIsRefusedTheFaultsAreToldToo) {
  ASSERT_TRUE(WriteFile(folder_.File("bids"), "2024-05-04T14:00:00Z,\xff,lot-01,12\nnoon,anna,lot-01,12\n").ok());
  DemoProcess demo({absl::StrCat("--bids=", folder_.File("bids"))}, folder_.path());
  const int status = demo.AwaitEnd(kPatience);
  EXPECT_TRUE(WIFEXITED(status) && WEXITSTATUS(status) == 2) << status;
  EXPECT_THAT(demo.output(), HasSubstr("bids\n       1: bidder is not 1 to 64 bytes of UTF-8"));
  EXPECT_THAT(demo.output(), HasSubstr("       2: time 'noon'"));
  EXPECT_THAT(demo.output(), HasSubstr("no lot has a bid"));
}

TEST_F(DemoTest, HelpSaysWhatTheFlagsMean) {
  DemoProcess demo({"--help"}, folder_.path());
  EXPECT_EQ(demo.AwaitEnd(kPatience), 0);
  for (const char* flag : {"--lots", "--bids", "--seed", "--speed", "--kills", "--results"}) {
    EXPECT_THAT(demo.output(), HasSubstr(flag));
  }
}

TEST_F(DemoTest, ASignalThatEndsItLeavesNothingBehind) {
  for (const int signal : {SIGINT, SIGTERM, SIGHUP, SIGQUIT, SIGPIPE}) {
    DemoProcess demo({"--speed=30"}, folder_.path());
    ASSERT_TRUE(demo.AwaitOutput("bidding begins", kPatience)) << demo.output();
    EXPECT_EQ(demo.Processes().size(), 4u);
    demo.Signal(signal);
    EXPECT_TRUE(demo.AwaitNoneLeft(kLeftoversGone)) << demo.output();
    const int status = demo.AwaitEnd(kLeftoversGone);
    EXPECT_TRUE(WIFEXITED(status) && WEXITSTATUS(status) == 128 + signal) << status << "\n" << demo.output();
    EXPECT_EQ(FoldersLeft(), 0) << signal;
  }
}

TEST_F(DemoTest, TheDeathOfTheLauncherLeavesNoProcessBehind) {
  DemoProcess demo({"--speed=30"}, folder_.path());
  ASSERT_TRUE(demo.AwaitOutput("bidding begins", kPatience)) << demo.output();
  EXPECT_EQ(demo.Processes().size(), 4u);
  demo.Signal(SIGKILL);
  EXPECT_TRUE(demo.AwaitNoneLeft(kLeftoversGone)) << demo.output();
}

}  // namespace
}  // namespace auction
