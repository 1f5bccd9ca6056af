// How a process ends whose root supervisor gives up, and the report that it leaves for its operator.
#include <stdlib.h>

#include <fstream>
#include <memory>
#include <sstream>
#include <string>
#include <utility>
#include <vector>

#include "absl/base/thread_annotations.h"
#include "absl/status/status.h"
#include "absl/status/statusor.h"
#include "absl/strings/str_cat.h"
#include "absl/synchronization/mutex.h"
#include "absl/time/time.h"
#include "absl/types/optional.h"
#include "gmock/gmock.h"
#include "gtest/gtest.h"
#include "understudy/actors/exit_reason.h"
#include "understudy/actors/limits.h"
#include "understudy/transport/end_report.h"
#include "understudy/transport/process/os_process.h"

namespace understudy {
namespace {

using ::testing::EndsWith;
using ::testing::HasSubstr;
using ::testing::StartsWith;

std::string NewFolder() {
  std::string folder = absl::StrCat(testing::TempDir(), "/end.XXXXXX");
  EXPECT_NE(mkdtemp(folder.data()), nullptr);
  return folder;
}

std::string TextOf(const std::string& path) {
  std::ostringstream text;
  text << std::ifstream(path).rdbuf();
  return text.str();
}

// Runs tree_node to its end.
ExitReason RunTreeNode(std::vector<std::string> arguments) {
  struct End {
    absl::Mutex mu;
    absl::optional<ExitReason> reason ABSL_GUARDED_BY(mu);
  };
  auto end = std::make_shared<End>();
  absl::StatusOr<std::unique_ptr<OsProcess>> process =
      OsProcess::Start({.binary = "tree_node", .arguments = std::move(arguments)}, [end](const ExitReason& reason) {
        absl::MutexLock lock(&end->mu);
        end->reason = reason;
      });
  EXPECT_TRUE(process.ok()) << process.status();
  absl::MutexLock lock(&end->mu);
  const auto has_ended = [&end]() ABSL_EXCLUSIVE_LOCKS_REQUIRED(end->mu) { return end->reason.has_value(); };
  EXPECT_TRUE(end->mu.AwaitWithTimeout(absl::Condition(&has_ended), absl::Seconds(60)));
  return end->reason.value_or(ExitReason::Stuck());
}

TEST(TreeEnd, ARootThatGivesUpEndsItsProcessInOrderWithAStatusAndAReport) {
  const std::string folder = NewFolder();
  const ExitReason end = RunTreeNode({folder});
  EXPECT_EQ(end.kind(), ExitReason::Kind::kOsExit) << end;
  EXPECT_EQ(end.os_value(), 1) << end;
  EXPECT_EQ(TextOf(absl::StrCat(folder, "/ends")), "safe\nbook\nhall\n") << "in reverse, from below";
  EXPECT_EQ(TextOf(absl::StrCat(folder, "/report")),
            "node house ended with exit status 1, because its tree did:\n"
            "  RestartsExhausted(child 'bank' needed 1 restart within 10s; 0 are allowed)\n"
            "  because of RestartsExhausted(child 'ledger' needed 3 restarts within 10s; 2 are allowed)\n"
            "  because of Failed(DATA_LOSS: page 7 is torn)\n"
            "its actors were stopped in order\n");
}

TEST(TreeEnd, TheReportSaysThatActorsHadToBeKilled) {
  const std::string folder = NewFolder();
  const ExitReason end = RunTreeNode({folder, "deaf"});
  EXPECT_EQ(end.kind(), ExitReason::Kind::kOsExit) << end;
  EXPECT_EQ(end.os_value(), 1) << end;
  EXPECT_THAT(TextOf(absl::StrCat(folder, "/report")), EndsWith("some of its actors had to be killed\n"));
}

TEST(EndReport, IsBoundedAndKeepsWhoGaveUpAndWhatWasWrong) {
  ExitReason chain = ExitReason::Failed(absl::DataLossError("page\n7"));
  for (int i = 0; i < 14; ++i) {
    chain = ExitReason::RestartsExhausted(absl::StrCat("child ", i, " ", std::string(600, 'x'))).CausedBy(chain);
  }
  const std::string text = internal::EndReportText({.node = "n", .exit_status = 1, .tree = chain, .in_order = false});
  EXPECT_LE(text.size(), limits::kEndReportBytesMax);
  EXPECT_GT(text.size(), limits::kEndReportBytesMax / 2);
  EXPECT_THAT(text,
              StartsWith("node n ended with exit status 1, because its tree did:\n  RestartsExhausted(child 13 "));
  EXPECT_THAT(text, HasSubstr("x… (cut: it had "));
  EXPECT_THAT(text, HasSubstr("\n  …\n"));
  EXPECT_THAT(text, EndsWith("  because of Failed(DATA_LOSS: page 7)\nsome of its actors had to be killed\n"));
}

TEST(EndReport, AFileThatCannotBeWrittenIsAnError) {
  const absl::Status written = internal::WriteEndReport("/nowhere/report", "text");
  EXPECT_TRUE(absl::IsNotFound(written)) << written;
  EXPECT_THAT(written.message(), HasSubstr("/nowhere/report"));
}

}  // namespace
}  // namespace understudy
