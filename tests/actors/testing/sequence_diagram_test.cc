// Tests of which lines of a trace are drawn.
#include "understudy/actors/testing/sequence_diagram.h"

#include <cstddef>
#include <cstdint>
#include <string>
#include <vector>

#include "absl/strings/match.h"
#include "absl/strings/str_cat.h"
#include "absl/strings/string_view.h"
#include "absl/time/time.h"
#include "gmock/gmock.h"
#include "gtest/gtest.h"
#include "understudy/actors/message.h"
#include "understudy/actors/test_system.h"
#include "understudy/actors/testing/mock.h"
#include "understudy/actors/testing/seeds.h"

namespace understudy {
namespace {

using ::testing::AllOf;
using ::testing::HasSubstr;
using ::testing::Not;

int Count(absl::string_view part, absl::string_view text) {
  int count = 0;
  for (size_t at = text.find(part); at != absl::string_view::npos; at = text.find(part, at + 1)) ++count;
  return count;
}

constexpr absl::string_view kArrow = "<line class=\"arrow\"";
constexpr absl::string_view kLane = "<line class=\"lane\"";

TEST(SequenceDiagramTest, DrawsActorsMessagesAndFaults) {
  const std::string svg = SequenceDiagram({
      "1000000000 start shop",
      "1000000000 <shop.1.1> handles event of start from <no actor> as shop::Order \"order-7\"",
      "1002000000 <shop.1.1> handles shop.Order/Pay of shop.PayRequest from <no actor>",
      "1003000000 frame #1 shop to stock 17 bytes 0badcafe",
      "1004000000 <stock.1.1> handles shop.Item/Take of shop.TakeRequest from <shop.1.1>",
      "1005000000 <shop.1.1> resumes shop.Order/Pay of shop.PayRequest from <no actor>",
      "1006000000 <shop.1.1> ends: killed",
      "1007000000 crash shop",
  });
  EXPECT_THAT(svg, AllOf(HasSubstr("Order &quot;order-7&quot;"), HasSubstr("the test"), HasSubstr("shop.Item/Take"),
                         HasSubstr("resumes shop.Order/Pay"), HasSubstr("ends: killed"), HasSubstr("crash shop"),
                         HasSubstr("1.004000"), Not(HasSubstr("frame")), Not(HasSubstr("<shop.1.1>"))));
  EXPECT_EQ(Count(kArrow, svg), 2) << svg;
  EXPECT_EQ(Count(kLane, svg), 3) << svg;
}

// The trace names the kernel's own class for an ask from outside of actors; the diagram shows it as the test.
TEST(SequenceDiagramTest, AnAskOfTheTestIsDrawnAsTheTests) {
  const std::string svg = SequenceDiagram(RecordSeed(1, [](uint64_t seed) {
                                            TestSystem system(seed);
                                            Mock<Call<int, int>> stock(system, "stock");
                                            stock.Expect(3);
                                            EXPECT_TRUE(system.Ask(stock.channel(), 3, absl::Seconds(1)).ok());
                                          }).trace);
  EXPECT_THAT(svg, AllOf(HasSubstr("the test"), HasSubstr("MockActor"), HasSubstr("an ask ends")));
  EXPECT_EQ(Count(kArrow, svg), 1) << svg;
  EXPECT_EQ(Count(kLane, svg), 2) << svg;
}

TEST(SequenceDiagramTest, DrawsTheLastStepsOfALongTrace) {
  std::vector<std::string> trace;
  for (int i = 0; i < kDiagramStepsMax + 7; ++i) trace.push_back(absl::StrCat(i, " note ", i, "."));
  const std::string svg = SequenceDiagram(trace);
  EXPECT_THAT(svg, AllOf(HasSubstr("7 earlier steps are not drawn"), Not(HasSubstr("note 6.")), HasSubstr("note 7."),
                         HasSubstr(absl::StrCat("note ", kDiagramStepsMax + 6, "."))));
}

TEST(SequenceDiagramTest, ActorsWithFewStepsShareALane) {
  std::vector<std::string> trace;
  for (int actor = 0; actor < 2 * kDiagramLanesMax; ++actor) {
    for (int step = 0; step < (actor == 30 ? 1 : 3); ++step) {
      trace.push_back(absl::StrCat("1 <n.", actor, ".1> resumes m of t from <no actor>"));
    }
  }
  const std::string svg = SequenceDiagram(trace);
  EXPECT_EQ(Count(kLane, svg), kDiagramLanesMax);
  EXPECT_THAT(svg, AllOf(HasSubstr(">others<"), HasSubstr("&lt;n.0.1&gt;"), Not(HasSubstr("&lt;n.30.1&gt;"))));
}

TEST(SequenceDiagramTest, LinesThatAreNoneOfATraceHarmNothing) {
  for (const absl::string_view line :
       {"", " ", "x", "1", "1 ", "1 <", "1 <a>", "1 <a> ", "1 <a> handles", "1 <a> handles m of",
        "1 <a> ends: ", "1 <a> handles m of t from ", "99999999999999999999 x", "1 \x01\xff]]>&<script>"}) {
    const std::string svg = SequenceDiagram({std::string(line)});
    EXPECT_TRUE(absl::StartsWith(svg, "<svg") && absl::EndsWith(svg, "</svg>\n")) << line;
    EXPECT_THAT(svg, AllOf(Not(HasSubstr("<script")), Not(HasSubstr("\x01")))) << line;
  }
}

}  // namespace
}  // namespace understudy
