// The places in which FindBinary looks for a binary, and their order. A program that calls it is copied to a folder of
// the test and run there.
#include <unistd.h>

#include <array>
#include <cstdlib>
#include <filesystem>
#include <fstream>
#include <memory>
#include <string>
#include <utility>
#include <vector>

#include "absl/status/status.h"
#include "absl/status/statusor.h"
#include "absl/strings/str_cat.h"
#include "absl/synchronization/notification.h"
#include "gtest/gtest.h"
#include "understudy/actors/exit_reason.h"
#include "understudy/transport/process/os_process.h"

namespace understudy {
namespace {

constexpr char kFinder[] = "tests/actors/elsewhere/finder";

class FindBinaryTest : public testing::Test {
 protected:
  FindBinaryTest() {
    EXPECT_NE(mkdtemp(folder_.data()), nullptr);
    folder_ = std::filesystem::canonical(folder_).string();
    program_ = Make("bin/app/app");
    const absl::StatusOr<std::string> finder = FindBinary(kFinder);
    EXPECT_TRUE(finder.ok()) << finder.status();
    if (finder.ok()) {
      std::filesystem::copy_file(*finder, program_, std::filesystem::copy_options::overwrite_existing);
    }
  }
  ~FindBinaryTest() override { std::filesystem::remove_all(folder_); }

  std::string Make(const std::string& file) {
    const std::filesystem::path path = folder_ + "/" + file;
    std::filesystem::create_directories(path.parent_path());
    std::ofstream(path) << "#!/bin/sh\n";
    return path.string();
  }

  // Returns what the program finds, without the environment variables that Bazel has set for this test.
  std::string Find(const std::string& binary, std::vector<std::pair<std::string, std::string>> environment = {}) {
    for (const char* name : {"RUNFILES_DIR", "TEST_SRCDIR", "TEST_WORKSPACE"}) {
      bool is_given = false;
      for (const auto& [given, value] : environment) is_given = is_given || given == name;
      if (!is_given) environment.emplace_back(name, "");
    }
    std::array<int, 2> ends;
    EXPECT_EQ(pipe(ends.data()), 0);
    auto ended = std::make_shared<absl::Notification>();
    const auto process = OsProcess::Start(
        {.binary = program_, .arguments = {binary}, .environment = std::move(environment), .descriptors = {ends[1]}},
        [ended](const ExitReason& reason) {
          EXPECT_EQ(reason, ExitReason::Normal());
          ended->Notify();
        });
    EXPECT_TRUE(process.ok()) << process.status();
    close(ends[1]);
    if (process.ok()) ended->WaitForNotification();
    std::array<char, 4096> text;  // it fits the pipe
    const ssize_t bytes = read(ends[0], text.data(), text.size());
    close(ends[0]);
    return std::string(text.data(), bytes > 0 ? static_cast<size_t>(bytes) : 0);
  }

  std::string folder_ = absl::StrCat(testing::TempDir(), "/understudy.XXXXXX");
  std::string program_;
};

TEST_F(FindBinaryTest, ABinaryOfAnotherPackageIsFoundByItsPath) {
  const absl::StatusOr<std::string> finder = FindBinary(kFinder);  // of this test's own runfiles
  ASSERT_TRUE(finder.ok()) << finder.status();
  EXPECT_EQ(access(finder->c_str(), X_OK), 0);
}

TEST_F(FindBinaryTest, BesideTheProgramIsFirst) {
  const std::string beside = Make("bin/app/node");
  Make("bin/app/app.runfiles/one/node");
  EXPECT_EQ(Find("node"), beside);
  const std::string below = Make("bin/app/below/node");
  EXPECT_EQ(Find("below/node"), below);
}

TEST_F(FindBinaryTest, ThenTheRunfilesThatBazelNames) {
  const std::string told = Make("told/one/ledger/node");
  const std::string tests = Make("tests/one/ledger/node");
  const std::string own = Make("bin/app/app.runfiles/one/ledger/node");
  EXPECT_EQ(Find("ledger/node", {{"RUNFILES_DIR", folder_ + "/told"}, {"TEST_SRCDIR", folder_ + "/tests"}}), told);
  EXPECT_EQ(Find("ledger/node", {{"TEST_SRCDIR", folder_ + "/tests"}}), tests);
  EXPECT_EQ(Find("ledger/node", {{"RUNFILES_DIR", folder_ + "/none"}}), own);
}

TEST_F(FindBinaryTest, ThenThoseBesideTheProgramOfTheTestsWorkspaceFirst) {
  const std::string one = Make("bin/app/app.runfiles/one/ledger/node");
  const std::string two = Make("bin/app/app.runfiles/two/ledger/node");
  const std::string only = Make("bin/app/app.runfiles/two/only/node");
  EXPECT_EQ(Find("ledger/node"), one);
  EXPECT_EQ(Find("ledger/node", {{"TEST_WORKSPACE", "two"}}), two);
  EXPECT_EQ(Find("only/node"), only);
}

TEST_F(FindBinaryTest, AFolderIsNoBinary) {
  Make("bin/app/ledger/node");
  const std::string node = Make("bin/app/app.runfiles/one/ledger");
  EXPECT_EQ(Find("ledger"), node);
}

TEST_F(FindBinaryTest, APathFromTheRootOrFromHereIsTakenAsItIs) {
  EXPECT_EQ(Find("/no/such"), "/no/such");
  EXPECT_EQ(Find("./node"), "./node");
  EXPECT_EQ(Find("../node"), "../node");
}

TEST_F(FindBinaryTest, ABinaryThatIsNotFoundIsReportedWithEveryPlaceSearched) {
  EXPECT_EQ(
      Find("ledger/node", {{"RUNFILES_DIR", folder_ + "/told"}}),
      absl::StrCat("NOT_FOUND: cannot start 'ledger/node': it is not beside this program, in ", folder_,
                   "/bin/app/, nor in a workspace of its runfiles, in ", folder_, "/told or ", program_, ".runfiles"));
}

}  // namespace
}  // namespace understudy
