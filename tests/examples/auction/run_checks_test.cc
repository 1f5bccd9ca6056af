#include "understudy/examples/auction/run_checks.h"

#include <algorithm>
#include <cstdint>
#include <functional>
#include <string>
#include <vector>

#include "absl/status/status.h"
#include "absl/strings/str_cat.h"
#include "absl/strings/str_split.h"
#include "absl/strings/string_view.h"
#include "absl/time/time.h"
#include "gmock/gmock.h"
#include "gtest/gtest.h"
#include "understudy/examples/auction/auction.pb.h"
#include "understudy/examples/auction/chronicle.h"
#include "understudy/examples/auction/input_files.h"
#include "understudy/examples/auction/progress_watch.h"
#include "understudy/examples/auction/run_page.h"
#include "understudy/examples/auction/run_picture.h"
#include "understudy/supervision/internal/child_info.h"

namespace auction {
namespace {

using ::testing::HasSubstr;

RecordedOffer Recorded(uint64_t id, const std::string& lot, const std::string& bidder, int64_t cents, Verdict verdict) {
  RecordedOffer recorded;
  recorded.mutable_offer()->set_offer_id(id);
  recorded.mutable_offer()->set_lot(lot);
  recorded.mutable_offer()->set_bidder(bidder);
  recorded.mutable_offer()->set_cents(cents);
  recorded.set_verdict(verdict);
  return recorded;
}

Closing ClosingOf(const std::string& lot, const RecordedOffer& won) {
  Closing closing;
  closing.set_lot(lot);
  closing.set_winner(won.offer().bidder());
  closing.set_cents(won.offer().cents());
  closing.set_offer_id(won.offer().offer_id());
  return closing;
}

AuctionStatus StatusOf(const Closing& closing) {
  AuctionStatus status;
  status.set_lot(closing.lot());
  status.set_best_bidder(closing.winner());
  status.set_best_cents(closing.cents());
  status.set_closed(true);
  return status;
}

Happening At(int64_t micros, const std::string& what, const std::string& who, const std::string& why = "") {
  return MakeHappening(absl::FromUnixMicros(micros), "node", what, who, why);
}

// A small run that passes every check.
Evidence GoodRun() {
  Evidence run;
  run.lots = {{.id = "a", .title = "A"}, {.id = "b", .title = "B"}};
  const std::vector<RecordedOffer> offers = {
      Recorded(1, "a", "anna", 100, ACCEPTED), Recorded(2, "a", "bo", 150, ACCEPTED),
      Recorded(3, "a", "cy", 155, TOO_LOW), Recorded(4, "b", "cy", 5, BELOW_RESERVE),
      Recorded(5, "a", "cy", 900, LATE)};
  for (const RecordedOffer& recorded : offers) run.plan.offers.push_back(recorded.offer());
  run.plan.killed_house = 1;
  run.plan.crashed_lot = "a";
  run.floor.acknowledged = offers;
  run.ledger_offers = offers;
  run.ledger_closings = {ClosingOf("a", offers[1]), ClosingOf("b", RecordedOffer())};
  run.closed.lots = {StatusOf(run.ledger_closings[0]), StatusOf(run.ledger_closings[1])};
  run.chronicle = {At(1, "started", "house-1"), At(2, "exited", "house-1", "OsSignal(9 SIGKILL)"),
                   At(3, "started", "house-1"), At(4, "exited", "a", "Exception(auction::InjectedCrash: rehearsed)"),
                   At(5, "started", "a")};
  run.nodes = {{"ledger", true, "Normal"}, {"house-1", true, "Normal"}};
  return run;
}

// The failed checks, one line each.
std::string FailedChecks(const Evidence& run) {
  std::string failed;
  for (const Check& check : CheckRun(run)) {
    if (!check.holds) absl::StrAppend(&failed, check.what, ": ", check.detail, "\n");
  }
  return failed;
}

TEST(RunChecksTest, AGoodRunPasses) { EXPECT_EQ(FailedChecks(GoodRun()), ""); }

TEST(RunChecksTest, EachFaultIsFoundAndNamed) {
  struct Case {
    std::function<void(Evidence&)> spoil;
    std::string expected;
  };
  const Case cases[] = {
      {[](Evidence& run) { run.floor.acknowledged.pop_back(); }, "every offer was acknowledged: 4 of 5"},
      {[](Evidence& run) { run.floor.problems.push_back("offer 1: gave up"); },
       "every offer was acknowledged: offer 1"},
      {[](Evidence& run) { run.ledger_offers.erase(run.ledger_offers.begin()); },
       "offer 1 of anna for a (1.00) is not"},
      {[](Evidence& run) { run.ledger_offers[2].set_verdict(ACCEPTED); }, "was answered TOO_LOW"},
      {[](Evidence& run) { run.ledger_offers.push_back(Recorded(9, "a", "x", 1, LATE)); }, "was never made"},
      {[](Evidence& run) { run.ledger_offers.push_back(run.ledger_offers[0]); }, "is there twice"},
      {[](Evidence& run) { run.ledger_closings.pop_back(); }, "exactly one closing row: b has 0"},
      {[](Evidence& run) { run.ledger_closings.push_back(run.ledger_closings[0]); }, "a has 2"},
      {[](Evidence& run) { run.ledger_closings[1].set_lot("c"); }, "'c' is no lot"},
      {[](Evidence& run) { run.ledger_closings[0].set_winner("anna"); }, "a closed for 'anna' at 1.50"},
      {[](Evidence& run) { run.ledger_closings[0] = ClosingOf("a", run.ledger_offers[0]); }, "the highest is offer 2"},
      {[](Evidence& run) { run.closed.lots[0].set_best_cents(7); }, "a says 'bo' at 0.07"},
      {[](Evidence& run) { run.closed.lots.pop_back(); }, "1 of 2 lots answered"},
      {[](Evidence& run) { run.closed.problems.push_back("b has not closed"); }, "b has not closed"},
      {[](Evidence& run) { run.chronicle.erase(run.chronicle.begin() + 1); }, "house-1 did not exit with OsSignal(9"},
      {[](Evidence& run) { run.chronicle.erase(run.chronicle.begin() + 2); }, "house-1 was not started again"},
      {[](Evidence& run) { run.chronicle.erase(run.chronicle.begin() + 3); }, "a did not exit with InjectedCrash"},
      {[](Evidence& run) { run.chronicle.pop_back(); }, "a was not started again"},
      {[](Evidence& run) { run.nodes[0] = {"ledger", false, "OsSignal(11)"}; }, "ledger: OsSignal(11)"},
      {[](Evidence& run) { run.nodes.clear(); }, "no node was seen to exit"},
  };
  for (const Case& c : cases) {
    Evidence run = GoodRun();
    c.spoil(run);
    EXPECT_THAT(FailedChecks(run), HasSubstr(c.expected));
  }
}

TEST(RunChecksTest, FailuresThatWereNotAskedForAreNotMissed) {
  Evidence run = GoodRun();
  run.plan.killed_house = 0;
  run.plan.crashed_lot.clear();
  run.chronicle.clear();
  EXPECT_EQ(FailedChecks(run), "");
}

TEST(RunChecksTest, ANodesLastEndCounts) {
  const Chronicled chronicle = {At(1, "exited", "house-1", "OsSignal(9 SIGKILL)"), At(2, "started", "house-1"),
                                At(3, "was stopped", "house-1", "Normal"), At(1, "was stopped", "ledger", "OsExit(1)")};
  const std::vector<NodeEnd> ends = LastEnds({"house-1", "ledger", "house-2"}, chronicle);
  ASSERT_EQ(ends.size(), 3u);
  EXPECT_TRUE(ends[0].is_clean);
  EXPECT_FALSE(ends[1].is_clean);
  EXPECT_EQ(ends[1].reason, "OsExit(1)");
  EXPECT_FALSE(ends[2].is_clean);
}

TEST(TimelineTest, AnEventThatManySawAtOnceIsOneLine) {
  const std::vector<std::string> lines = FormatTimeline(
      {At(2'000'000, "down", "auction/b", "NoConnection"), At(1'500'000, "exited", "house-1", "why"),
       At(2'000'001, "down", "auction/a", "NoConnection"), At(2'000'002, "down", "auction/a", "NoConnection"),
       At(9'000'000, "down", "auction/a", "NoConnection")},
      absl::FromUnixSeconds(1));
  ASSERT_EQ(lines.size(), 3u);
  EXPECT_THAT(lines[0], HasSubstr("0.500 s  node       exited         house-1: why"));
  EXPECT_THAT(lines[1], HasSubstr("1.000 s  node       down           auction/b and 1 more, 3 times:"));
  EXPECT_THAT(lines[2], HasSubstr("8.000 s"));
}

TEST(TimelineTest, FitsTheTerminal) {
  const std::vector<std::string> lines =
      FormatTimeline({At(1'500'000, "down", "auction/a",
                         "NoConnection(the session with node house-2 ended: grace period over, the stream closed)")},
                     absl::FromUnixSeconds(1));
  ASSERT_EQ(lines.size(), 1u);
  EXPECT_EQ(lines[0],
            "   0.500 s  node       down           auction/a: NoConnection(the session with\n"
            "                       node house-2 ended: grace period over, the stream closed)");
}

TEST(PictureTest, ALaneIsFilledWhileItIsUpAndSoAreTheLotsOfItsHost) {
  const std::string svg =
      DrawRun({{"house-1", ""}, {"lot-01", "house-1"}, {"lot-02", "house-1"}},
              {At(3'000'000, "exited", "house-1", "OsSignal(9 SIGKILL) <&>"), At(6'000'000, "started", "house-1", ""),
               At(7'000'000, "found again", "auction/lot-02", ""), At(7'000'001, "found again", "auction/lot-02", ""),
               At(8'000'000, "exited", "nobody's", "")},
              absl::FromUnixSeconds(1), absl::FromUnixSeconds(11));
  const auto count = [&](absl::string_view text) {
    return static_cast<int>(std::vector<std::string>(absl::StrSplit(svg, text)).size()) - 1;
  };
  EXPECT_EQ(count("class=\"process\" x=\"110.0\""), 1);
  EXPECT_EQ(count("class=\"process\" x=\"545.0\""), 1);
  EXPECT_EQ(count("width=\"174.0\" height=\"8\""), 3) << "from 0 to 2 of 10 s";
  EXPECT_EQ(count("class=\"lot\""), 4);
  EXPECT_THAT(svg, HasSubstr("2.000 s: house-1 exited: OsSignal(9 SIGKILL) &lt;&amp;&gt;"));
  EXPECT_THAT(svg, HasSubstr("5.000 s: house-1 started"));
  EXPECT_EQ(count("6.000 s: lot-02 found again"), 1) << "what many do at once is one mark";
  EXPECT_EQ(count("nobody"), 0);
}

TEST(ProblemsTest, EachFileIsNamedOnce) {
  EXPECT_EQ(FormatProblems({{"lots", 3, "no title"}, {"lots", 12345, "\x1b[2J"}, {"bids", 1, "short"}}),
            "  lots\n       3: no title\n   12345: ?[2J\n  bids\n       1: short\n");
}

TEST(ProblemsTest, OfAFileWithVeryManyTheFirstAreToldAndHowManyMoreThereAre) {
  std::vector<InputProblem> problems;
  for (int line = 1; line <= kProblemsShownMax + 2280; ++line) problems.push_back({"bids", line, "unknown lot"});
  problems.push_back({"other", 1, "short"});
  const std::string text = FormatProblems(problems);
  EXPECT_THAT(text, HasSubstr("      20: unknown lot\n          and 2280 more\n  other\n       1: short\n"));
  EXPECT_EQ(std::count(text.begin(), text.end(), '\n'), kProblemsShownMax + 4);
}

TEST(ProblemsTest, ControlCharactersAreNotPrinted) {
  EXPECT_EQ(FormatProblems({{"bids\x1b.csv", 3, "unknown lot '\x1b[2J\xff\xc2\x9bJ\xc3\xb6rg'"}}),
            "  bids?.csv\n       3: unknown lot '?[2J???J\xc3\xb6rg'\n");
}

TEST(FailureTest, IsToldOnLinesThatFitATerminal) {
  EXPECT_EQ(FormatFailure(absl::OkStatus()), "");
  EXPECT_EQ(
      FormatFailure(absl::NotFoundError(
          "waiting for the nodes: NoProcess: <launcher.1896193.206700214313400> (the launcher's tree) has ended")),
      "The run failed: waiting for the nodes: NoProcess:\n  <launcher.1896193.206700214313400> (the launcher's tree) "
      "has ended\n");
}

TEST(ProgressTest, SaysWhatIsDoneHowFastAndWhoIsUp) {
  using understudy::ChildInfo;
  using understudy::ChildState;
  RunProgress progress{.acknowledged = 1234, .offers = 2300, .per_second = 310.4, .left = absl::Seconds(3.2)};
  progress.processes = {ChildInfo{.id = "ledger", .state = ChildState::kRunning},
                        ChildInfo{.id = "house-1", .state = ChildState::kRunning, .restarts = 2},
                        ChildInfo{.id = "house-2", .state = ChildState::kStopped, .restarts = 1}};
  EXPECT_EQ(FormatProgress(progress),
            "1234 of 2300 offers, 310/s, 4 s left; down: house-2; restarts: house-1 2, house-2 1");
  progress.left = absl::InfiniteDuration();
  progress.processes.clear();
  EXPECT_EQ(FormatProgress(progress), "1234 of 2300 offers, 310/s, 4 s left; all up");
  progress.per_second = 0;
  EXPECT_EQ(FormatProgress(progress), "1234 of 2300 offers, 0/s; all up");
}

}  // namespace
}  // namespace auction
