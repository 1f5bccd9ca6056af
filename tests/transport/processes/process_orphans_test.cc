// Tests of process children whose parent's process ends.
#include <memory>
#include <string>

#include "absl/status/statusor.h"
#include "gmock/gmock.h"
#include "gtest/gtest.h"
#include "understudy/actors/exit_reason.h"
#include "understudy/tests/transport/processes/fifo.h"
#include "understudy/tests/transport/processes/story.h"
#include "understudy/transport/process/os_process.h"

namespace understudy {
namespace {

using ::testing::StartsWith;

// A node whose process child holds a FIFO open.
class ProcessOrphans : public ::testing::Test {
 protected:
  void SetUp() override {
    absl::StatusOr<std::unique_ptr<OsProcess>> launcher =
        OsProcess::Start({.binary = "tests/transport/test_node", .arguments = {"launcher", fifo_.path()}},
                         [ended = ended_](const ExitReason& reason) { ended->Add(reason.ToString()); });
    ASSERT_TRUE(launcher.ok()) << launcher.status();
    launcher_ = *std::move(launcher);
    ASSERT_TRUE(fifo_.WaitForLine()) << "the child did not come up";
  }

  Fifo fifo_{::testing::TempDir() + "/fifo"};
  const std::shared_ptr<Story> ended_ = std::make_shared<Story>();
  std::unique_ptr<OsProcess> launcher_;
};

TEST_F(ProcessOrphans, SigkillOfTheParentLeavesNoChildAlive) {
  launcher_->Kill();
  EXPECT_THAT(ended_->WaitFor(1)[0], StartsWith("OsSignal(9 SIGKILL"));
  EXPECT_TRUE(fifo_.WaitForEnd()) << "the child outlives its parent";
}

TEST_F(ProcessOrphans, SigtermOfTheParentStopsItsChildInOrder) {
  launcher_->Terminate();
  EXPECT_EQ(ended_->WaitFor(1)[0], "Normal");
  EXPECT_TRUE(fifo_.WaitForEnd()) << "the child outlives its parent";
}

}  // namespace
}  // namespace understudy
