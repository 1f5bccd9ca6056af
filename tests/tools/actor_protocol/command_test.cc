#include "understudy/tools/actor_protocol/command.h"

#include <filesystem>
#include <fstream>
#include <sstream>
#include <string>

#include "absl/status/status.h"
#include "absl/status/statusor.h"
#include "absl/strings/str_cat.h"
#include "absl/strings/str_replace.h"
#include "absl/strings/string_view.h"
#include "gmock/gmock.h"
#include "gtest/gtest.h"
#include "understudy/tests/tools/actor_protocol/imported_files.h"

namespace understudy::actor_protocol {
namespace {

using testing::AllOf;
using testing::EndsWith;
using testing::HasSubstr;
using testing::Not;
using testing::StartsWith;

constexpr absl::string_view kProto = R"(syntax = "proto3";
package shop;
service Stock { rpc Sell(Sale) returns (Sale); }
message Sale { int32 items = 1; }
)";

class CommandTest : public testing::Test {
 protected:
  CommandTest() {
    std::filesystem::remove_all(folder_);
    std::filesystem::create_directories(folder_);
    WriteText(command_.sources.back().path, kProto);
  }

  static void WriteText(const std::string& path, absl::string_view text) { std::ofstream(path) << text; }
  std::string ReadBaseline() const {
    std::ostringstream text;
    text << std::ifstream(command_.baseline).rdbuf();
    return text.str();
  }
  void WriteProto(absl::string_view text) const { WriteText(command_.sources.back().path, text); }
  absl::StatusOr<std::string> UpdateBaseline() const { return Update(command_, command_.baseline); }

  const std::string folder_ =
      absl::StrCat(testing::TempDir(), "/", testing::UnitTest::GetInstance()->current_test_info()->name());
  Command command_ = {.update = "bazel run //shop:t.update",
                      .baseline = folder_ + "/stock.protocol.textproto",
                      .files = {"shop/stock.proto"},
                      .sources = {{"shop/stock.proto", folder_ + "/stock.proto"}}};
};

TEST_F(CommandTest, AMissingBaselineIsAnErrorWithTheCommandThatWritesIt) {
  const CheckResult result = Check(command_);
  EXPECT_FALSE(result.passed);
  EXPECT_EQ(result.text, absl::StrCat(command_.baseline,
                                      ": there is no baseline. Write it, and commit it:\n    bazel run "
                                      "//shop:t.update\n"));
}

TEST_F(CommandTest, AnUpdateWritesABaselineThatPassesWithoutAWord) {
  EXPECT_EQ(UpdateBaseline().value(), absl::StrCat("wrote ", command_.baseline, "\n"));
  EXPECT_TRUE(Check(command_).passed);
  EXPECT_EQ(Check(command_).text, "");
  EXPECT_THAT(ReadBaseline(), HasSubstr("  field { number: 1 name: \"items\" type: \"int32\" }\n"));
  EXPECT_EQ(UpdateBaseline().value(), absl::StrCat(command_.baseline, " is up to date\n"));
}

TEST_F(CommandTest, ABreakFailsWithTheCommandThatAcceptsItAndTheUpdateSaysWhatItAccepted) {
  ASSERT_TRUE(UpdateBaseline().ok());
  WriteProto(absl::StrReplaceAll(kProto, {{"int32 items = 1", "int32 items = 2"}}));
  const CheckResult result = Check(command_);
  EXPECT_FALSE(result.passed);
  EXPECT_THAT(result.text, AllOf(StartsWith(folder_ + "/stock.proto:4:16: field shop.Sale.items was renumbered from 1"),
                                 HasSubstr("\n1 change breaks peers"), HasSubstr("bazel run //shop:t.update\n")));
  EXPECT_THAT(UpdateBaseline().value(), AllOf(HasSubstr("renumbered from 1 to 2"), HasSubstr("1 change breaks peers")));
  EXPECT_TRUE(Check(command_).passed);
}

TEST_F(CommandTest, AnAdditionPassesAndIsSaidToBeMissingInTheBaseline) {
  ASSERT_TRUE(UpdateBaseline().ok());
  WriteProto(absl::StrReplaceAll(kProto, {{"items = 1;", "items = 1; int32 price = 2;"}}));
  const CheckResult result = Check(command_);
  EXPECT_TRUE(result.passed);
  EXPECT_THAT(result.text, AllOf(HasSubstr("stock.proto:4:33: note: field shop.Sale.price is not in the baseline yet"),
                                 HasSubstr("Nothing breaks."), EndsWith("bazel run //shop:t.update\n")));
}

TEST_F(CommandTest, ADamagedBaselineIsAnErrorWithAllLinesAndWhatToDo) {
  ASSERT_TRUE(UpdateBaseline().ok());
  const std::string good = ReadBaseline();
  const auto error_of = [&](absl::string_view from, absl::string_view to) {
    EXPECT_THAT(good, HasSubstr(from));
    WriteText(command_.baseline, absl::StrReplaceAll(good, {{from, to}}));
    const CheckResult result = Check(command_);
    EXPECT_FALSE(result.passed);
    EXPECT_THAT(result.text, HasSubstr("The baseline is damaged. Restore it from version control, or write it anew"));
    return result.text;
  };
  EXPECT_THAT(error_of("service {", "<<<<<<< HEAD\nservice {"), StartsWith(command_.baseline + ":5:1: "));
  EXPECT_THAT(error_of("number: 1 ", ""), HasSubstr(":12: field shop.Sale.items has the number 0: expected 1 to"));
  EXPECT_THAT(error_of("int32", "int33"),
              HasSubstr(":12: field shop.Sale.items has the type 'int33', which is neither"));
  EXPECT_THAT(
      error_of("type: \"int32\" }\n", "type: \"int32\" }\n  field { number: 1 name: \"items\" type: \"bool\" }\n"),
      AllOf(HasSubstr(":13: a second field of shop.Sale has the name items"),
            HasSubstr(":13: field shop.Sale.items has the number 1, which another field has")));
  EXPECT_THAT(error_of("request: \"shop.Sale\"", "request: \"shop.Gone\""),
              HasSubstr(":7: rpc Sell: its request 'shop.Gone' is not among the messages"));
  EXPECT_THAT(error_of(" reply: \"shop.Sale\"", ""), HasSubstr(":7: rpc Sell has both a reply and cast, or neither"));
  EXPECT_THAT(error_of(good, ""), HasSubstr("it has no file or no service"));
  EXPECT_THAT(UpdateBaseline().value(), HasSubstr("The baseline was damaged; nothing was compared."));
  EXPECT_EQ(ReadBaseline(), good);
}

TEST_F(CommandTest, ABaselineOfOtherFilesIsAnErrorAndIsNotOverwritten) {
  ASSERT_TRUE(UpdateBaseline().ok());
  const std::string good = ReadBaseline();
  command_.files = {"shop/orders.proto"};
  command_.sources.push_back({"shop/orders.proto", command_.sources.back().path});
  const CheckResult result = Check(command_);
  EXPECT_FALSE(result.passed);
  EXPECT_THAT(result.text, AllOf(HasSubstr("it is the baseline of shop/stock.proto, not of shop/orders.proto"),
                                 HasSubstr("If the .proto file was moved, correct the line `file:` there")));
  EXPECT_EQ(UpdateBaseline().status().code(), absl::StatusCode::kFailedPrecondition);
  EXPECT_EQ(ReadBaseline(), good);
}

TEST_F(CommandTest, AProtoWithoutServicesIsAnError) {
  ASSERT_TRUE(UpdateBaseline().ok());
  WriteProto("syntax = 'proto3'; message Sale {}");
  EXPECT_FALSE(Check(command_).passed);
  EXPECT_THAT(Check(command_).text, AllOf(StartsWith("shop/stock.proto: no service is declared here"),
                                          HasSubstr("must name the proto_library that has the services")));
  EXPECT_EQ(UpdateBaseline().status().code(), absl::StatusCode::kInvalidArgument);
}

TEST_F(CommandTest, AProtoThatCannotBeReadIsAnErrorWithItsLine) {
  WriteProto(
      "syntax = 'proto3';\nservice Stock { rpc Sell(Sale) returns (Sale); }\nmessage Other { Gone gone = 1; }\n");
  const std::string text = Check(command_).text;
  EXPECT_THAT(text, AllOf(HasSubstr("/stock.proto:2:26: \"Sale\" is not defined."),
                          HasSubstr("/stock.proto:3:17: \"Gone\" is not defined."), Not(HasSubstr("baseline"))));
}

}  // namespace
}  // namespace understudy::actor_protocol
