#include "understudy/examples/auction/input_files.h"

#include <string>
#include <vector>

#include "absl/status/status.h"
#include "absl/status/statusor.h"
#include "absl/strings/str_cat.h"
#include "absl/strings/string_view.h"
#include "absl/time/time.h"
#include "gmock/gmock.h"
#include "gtest/gtest.h"
#include "understudy/examples/auction/amount.h"

namespace auction {
namespace {

using ::testing::ElementsAre;
using ::testing::Field;
using ::testing::HasSubstr;
using ::testing::IsEmpty;
using ::testing::SizeIs;

std::string LotText(absl::string_view id, absl::string_view reserve = "100.00",
                    absl::string_view closes = "2024-05-04T14:10:00Z") {
  return absl::StrCat("lot {\n  id: \"", id, "\"\n  title: \"A lamp\"\n  reserve_price: \"", reserve,
                      "\"\n  minimum_increment: \"5\"\n  closing_time: \"", closes, "\"\n}\n");
}

std::vector<Lot> TwoLots() {
  std::vector<InputProblem> problems;
  std::vector<Lot> lots = ParseLots("lots", LotText("a") + LotText("b"), problems);
  EXPECT_THAT(problems, IsEmpty());
  return lots;
}

// Parses `line` between two good lines. Returns the only problem that is found; the good lines must be read.
std::string ProblemOfLine(absl::string_view line) {
  std::vector<InputProblem> problems;
  const std::string good = "2024-05-04T14:00:00Z,anna,a,120.00\n";
  const std::string text = absl::StrCat("time,bidder,lot,amount\n", good, line, "\n", good);
  EXPECT_THAT(ParseBids("bids.csv", text, TwoLots(), problems), SizeIs(2)) << line;
  EXPECT_THAT(problems, SizeIs(1)) << line;
  if (problems.size() != 1) return "";
  EXPECT_EQ(problems[0].line, 3) << line;
  EXPECT_EQ(problems[0].file, "bids.csv");
  return problems[0].reason;
}

TEST(AmountTest, DecimalsAreCents) {
  EXPECT_EQ(*ParseAmount("120"), 12000);
  EXPECT_EQ(*ParseAmount("119.5"), 11950);
  EXPECT_EQ(*ParseAmount("0.05"), 5);
  EXPECT_EQ(*ParseAmount("1000000000000"), kAmountCentsMax);
  EXPECT_EQ(FormatAmount(11905), "119.05");
}

TEST(AmountTest, ATextThatIsNoAmountIsRefusedWithTheText) {
  for (const char* text : {"", ".", "1.", ".5", "1.234", "-1", "+1", "1e3", "1,50", " 1", "0", "0.00",
                           "1000000000000.01", "99999999999999999999999999"}) {
    absl::StatusOr<int64_t> cents = ParseAmount(text);
    EXPECT_TRUE(absl::IsInvalidArgument(cents.status())) << text;
    EXPECT_THAT(std::string(cents.status().message()), HasSubstr(absl::StrCat("'", text, "'")));
  }
}

TEST(LotsTest, AGoodLotIsReadWhole) {
  std::vector<InputProblem> problems;
  std::vector<Lot> lots = ParseLots("lots", "# a comment\n\n" + LotText("lot-1"), problems);
  EXPECT_THAT(problems, IsEmpty());
  ASSERT_THAT(lots, SizeIs(1));
  EXPECT_EQ(lots[0].id, "lot-1");
  EXPECT_EQ(lots[0].title, "A lamp");
  EXPECT_EQ(lots[0].reserve_cents, 10000);
  EXPECT_EQ(lots[0].increment_cents, 500);
  EXPECT_EQ(absl::ToUnixSeconds(lots[0].closes), 1714831800);
}

TEST(LotsTest, ABadLotIsReportedWithItsLineAndTheOthersAreRead) {
  struct Case {
    std::string bad;
    int line;  // 8 is the first line of the bad lot
    std::string reason;
  };
  const Case cases[] = {
      {LotText("x", "free"), 8, "reserve_price: amount 'free'"},
      {LotText("x", "1", "noon"), 8, "closing_time: time 'noon'"},
      {LotText("x", "1", "infinite-future"), 8,
       "closing_time: time 'infinite-future' is not in the years 1970 to 9999"},
      {"lot {\n  id: \"x\"\n  title: \"\\033[2J\"\n}\n", 8, "title is not UTF-8 without control characters"},
      {"lot {\n  id: \"x\"\n  title: \"\\377\"\n}\n", 8, "title is not UTF-8 without control characters"},
      {LotText("no good"), 8, "id: 'no good'"},
      {LotText(""), 8, "id: ''"},
      {LotText("a"), 8, "lot 'a' was there before"},
      {"lot {\n  id: \"x\"\n  colour: \"blue\"\n}\n", 10, "colour"},
      {"lot {\n  id: \"x\"\n  title: \"never ends\n}\n", 10, "String"},
      {"lot {\n  id: \"x\"\n", 10, "a '}' is missing"},
      {"lot {\n  id: \"x\"\n}\n}\n", 11, ""},
      {"lot {\n  id: \"x\"\n}\n", 8, "no title"},
      {"lot: 7\n", 8, ""},
  };
  for (const Case& c : cases) {
    std::vector<InputProblem> problems;
    std::vector<Lot> lots = ParseLots("lots", LotText("a") + c.bad + LotText("b"), problems);
    EXPECT_THAT(lots, ElementsAre(Field(&Lot::id, "a"), Field(&Lot::id, "b"))) << c.bad;
    ASSERT_THAT(problems, SizeIs(1)) << c.bad;
    EXPECT_EQ(problems[0].line, c.line) << problems[0].reason;
    EXPECT_THAT(problems[0].reason, HasSubstr(c.reason));
  }
}

TEST(LotsTest, TextBeforeTheFirstLotIsReported) {
  std::vector<InputProblem> problems;
  EXPECT_THAT(ParseLots("lots", "id: \"x\"\n" + LotText("a"), problems), SizeIs(1));
  ASSERT_THAT(problems, SizeIs(1));
  EXPECT_EQ(problems[0].file, "lots");
  EXPECT_EQ(problems[0].line, 1);
}

TEST(LotsTest, AnEmptyFileHasNoLotsAndNoProblems) {
  std::vector<InputProblem> problems;
  EXPECT_THAT(ParseLots("lots", "", problems), IsEmpty());
  EXPECT_THAT(problems, IsEmpty());
}

TEST(InputFilesTest, AByteOrderMarkIsNotAFault) {
  std::vector<InputProblem> problems;
  EXPECT_THAT(ParseLots("lots", "\xef\xbb\xbf" + LotText("a"), problems), SizeIs(1));
  EXPECT_THAT(ParseBids("bids.csv",
                        "\xef\xbb\xbftime,bidder,lot,amount\n"
                        "2024-05-04T14:00:00Z,J\xc3\xb6rg,a,7\n",
                        TwoLots(), problems),
              SizeIs(1));
  EXPECT_THAT(problems, IsEmpty());
}

TEST(BidsTest, GoodLinesAreReadInFileOrder) {
  std::vector<InputProblem> problems;
  std::vector<Bid> bids = ParseBids("bids.csv",
                                    "time,bidder,lot,amount\r\n"
                                    "2024-05-04T14:00:01.2509Z,anna,a,120.00\r\n"
                                    "\r\n"
                                    "2024-05-04T16:00:00+02:00, \"de Vries, \"\"Bo\"\"\",b,7\n"
                                    "2024-05-04T14:00:00Z,\"de Vries, \"\"Bo\"\"\",b,7",
                                    TwoLots(), problems);
  ASSERT_THAT(bids, SizeIs(2));
  EXPECT_EQ(absl::ToUnixMillis(bids[0].time), 1714831201250);
  EXPECT_EQ(bids[0].bidder, "anna");
  EXPECT_EQ(bids[0].cents, 12000);
  EXPECT_EQ(bids[0].line, 2);
  EXPECT_EQ(bids[1].bidder, "de Vries, \"Bo\"");
  EXPECT_EQ(bids[1].line, 5);
  // A quote after a blank is plain text, so that line has one field too many.
  ASSERT_THAT(problems, SizeIs(1));
  EXPECT_EQ(problems[0].line, 4);
}

TEST(BidsTest, EachKindOfBadLineIsReportedAndTheRestIsRead) {
  EXPECT_EQ(ProblemOfLine("2024-05-04T14:00:00Z,anna,z,1"), "unknown lot 'z'");
  EXPECT_THAT(ProblemOfLine("noon,anna,a,1"), HasSubstr("time 'noon' is not a time"));
  EXPECT_THAT(ProblemOfLine("2024-13-04T14:00:00Z,anna,a,1"), HasSubstr("is not a time"));
  EXPECT_THAT(ProblemOfLine("infinite-future,anna,a,1"), HasSubstr("is not in the years 1970 to 9999"));
  EXPECT_THAT(ProblemOfLine("infinite-past,anna,a,1"), HasSubstr("is not in the years 1970 to 9999"));
  EXPECT_THAT(ProblemOfLine("2024-05-04T14:00:00Z,\xff\xfe,a,1"), HasSubstr("bidder is not 1 to 64 bytes of UTF-8"));
  EXPECT_THAT(ProblemOfLine("2024-05-04T14:00:00Z,\xc0\xaf,a,1"), HasSubstr("bidder is not"));
  EXPECT_THAT(ProblemOfLine("2024-05-04T14:00:00Z,\xed\xa0\x80,a,1"), HasSubstr("bidder is not"));
  EXPECT_THAT(ProblemOfLine("2024-05-04T14:00:00Z,,a,1"), HasSubstr("bidder is not 1 to 64 bytes"));
  EXPECT_THAT(ProblemOfLine("2024-05-04T14:00:00Z,an\tna,a,1"), HasSubstr("control characters"));
  EXPECT_THAT(ProblemOfLine(absl::StrCat("2024-05-04T14:00:00Z,", std::string(65, 'x'), ",a,1")), HasSubstr("bidder"));
  EXPECT_THAT(ProblemOfLine("2024-05-04T14:00:00Z,anna,a,much"), HasSubstr("amount 'much'"));
  EXPECT_THAT(ProblemOfLine("2024-05-04T14:00:00Z,anna,a,-1"), HasSubstr("amount '-1'"));
  EXPECT_THAT(ProblemOfLine("2024-05-04T14:00:00Z,anna,a,"), HasSubstr("amount ''"));
  EXPECT_THAT(ProblemOfLine("2024-05-04T14:00:00Z,anna,a"), HasSubstr("has 3 fields"));
  EXPECT_THAT(ProblemOfLine("2024-05-04T14:00:00Z,anna,a,1,cash"), HasSubstr("has 5 fields"));
  EXPECT_THAT(ProblemOfLine("time,bidder,lot,amount"), HasSubstr("is not a time"));
  EXPECT_THAT(ProblemOfLine("2024-05-04T14:00:00Z,\"anna,a,1"),
              HasSubstr("a quoted field does not end on its line: it may have no line break"));
  EXPECT_THAT(ProblemOfLine("2024-05-04T14:00:00Z,\"an\"na,a,1"), HasSubstr("text follows a quoted field"));
  EXPECT_THAT(ProblemOfLine(std::string(5000, ',')), HasSubstr("has 5000 bytes"));
  EXPECT_THAT(ProblemOfLine(absl::string_view("\0\xff\xfe,\0,,", 7)), HasSubstr("is not a time"));
}

TEST(ReadFileTest, AMissingFileIsNotFoundAndNamed) {
  absl::StatusOr<std::string> text = ReadFile("/nonexistent/lots.textproto");
  EXPECT_TRUE(absl::IsNotFound(text.status()));
  EXPECT_THAT(std::string(text.status().message()), HasSubstr("/nonexistent/lots.textproto"));
}

TEST(ReadFileTest, ADirectoryIsNoFile) { EXPECT_FALSE(ReadFile("/").ok()); }

}  // namespace
}  // namespace auction
