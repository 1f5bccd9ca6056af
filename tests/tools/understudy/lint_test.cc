// The command `understudy lint`.
#include "understudy/tools/understudy/lint.h"

#include <algorithm>
#include <cstddef>
#include <fstream>
#include <sstream>
#include <string>

#include "absl/status/status.h"
#include "absl/status/statusor.h"
#include "absl/strings/str_cat.h"
#include "gmock/gmock.h"
#include "gtest/gtest.h"
#include "understudy/tools/understudy/arguments.h"

namespace understudy::tool {
namespace {

using ::testing::HasSubstr;

class LintTest : public ::testing::Test {
 protected:
  // Writes `text` to a file, runs lint on it, and returns what it prints with FILE in place of the path.
  std::string Lint(const std::string& text, bool is_json = false) {
    const std::string path = absl::StrCat(::testing::TempDir(), "/tree.textproto");
    std::ofstream(path) << text;
    Arguments arguments{.command = "lint", .operands = {path}, .json = is_json};
    std::ostringstream out;
    status_ = RunLint(arguments, out);
    std::string shown = out.str();
    for (size_t at = 0; (at = shown.find(path)) != std::string::npos;) shown.replace(at, path.size(), "FILE");
    return shown;
  }
  absl::Status status_;
};

TEST_F(LintTest, AGoodTreeIsToldWithWhatWasNotChecked) {
  const std::string shown = Lint(R"(
    strategy: ONE_FOR_ONE intensity: 3 period: "10s"
    child {
      id: "book"
      actor { factory: "nobody_knows_this" argument { [type.googleapis.com/shop.Book] { pages: 3 of { a: 1 } } } }
    }
    child { id: "lots" pool { factory: "lot" child { restart: TEMPORARY } } }
  )");
  EXPECT_TRUE(status_.ok()) << status_ << shown;
  EXPECT_EQ(shown,
            "FILE: no errors. The names and arguments of factories are not checked here: the understudy_tree_test of "
            "the tree's program (bazel/understudy.bzl) checks them.\n");
}

TEST_F(LintTest, EachErrorIsToldWithItsLine) {
  const std::string shown = Lint(
      "intensity: -1\n"
      "period: 'soon'\n"
      "child { id: 'a' actor { factory: 'book' } }\n"
      "child { id: 'a' actor { factory: 'book' } }\n"
      "child { id: 'b' }\n"
      "child {\n"
      "  id: 'c'\n"
      "  restart: PERMANENT significant: true\n"
      "  actor { factory: '' }\n"
      "}\n");
  EXPECT_EQ(status_.code(), absl::StatusCode::kInvalidArgument);
  EXPECT_THAT(shown, HasSubstr("FILE:1: intensity: -1"));
  EXPECT_THAT(shown, HasSubstr("FILE:2: period: 'soon' is not a time"));
  EXPECT_THAT(shown, HasSubstr("FILE:3: child 'a': id: given to 2 children"));
  EXPECT_THAT(shown, HasSubstr("FILE:5: child 'b': actor: is missing"));
  EXPECT_THAT(shown, HasSubstr("FILE:6: child 'c': factory: has no name"));
  EXPECT_THAT(shown, HasSubstr("FILE:8: child 'c': significant"));
  EXPECT_THAT(std::string(status_.message()), HasSubstr("has 6 errors"));
}

TEST_F(LintTest, SyntaxAndUnknownFieldsAreToldWithLineAndColumn) {
  EXPECT_THAT(Lint("intensity: 3\nchild { id: 'a'"), HasSubstr("FILE:2:16: Expected"));
  EXPECT_THAT(std::string(status_.message()), HasSubstr("has 1 error"));
  const std::string shown = Lint("child { id: 'a' actor { factory: 'b' } colour: 'red' }\nstrategy: ONE_FOR_TWO\n");
  EXPECT_THAT(shown, HasSubstr("has no field named \"colour\""));
  EXPECT_THAT(shown, HasSubstr("Unknown enumeration value of \"ONE_FOR_TWO\""));
}

TEST_F(LintTest, ErrorsInJsonAreOneALine) {
  const std::string shown = Lint("period: 'a\\033[2J'", /*is_json=*/true);
  EXPECT_THAT(shown, HasSubstr("\"line\":1"));
  EXPECT_THAT(shown, HasSubstr("\"text\":\"period: 'a\\\\x1b[2J' is not a time"));
  EXPECT_EQ(std::count(shown.begin(), shown.end(), '\n'), 1);
  EXPECT_EQ(Lint("", /*is_json=*/true), "");
}

TEST_F(LintTest, AFileThatCannotBeReadIsToldWithTheReason) {
  std::ostringstream out;
  const absl::Status status = RunLint({.command = "lint", .operands = {"/no/such/file"}}, out);
  EXPECT_EQ(status.message(), "cannot read /no/such/file: No such file or directory");
  EXPECT_EQ(out.str(), "");
}

}  // namespace
}  // namespace understudy::tool
