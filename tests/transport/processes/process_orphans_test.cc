// What becomes of process children when their parent's process ends.
#include <fcntl.h>
#include <poll.h>
#include <sys/stat.h>
#include <unistd.h>

#include <array>
#include <memory>
#include <string>

#include "absl/strings/str_cat.h"
#include "absl/time/time.h"
#include "gmock/gmock.h"
#include "gtest/gtest.h"
#include "understudy/actors/exit_reason.h"
#include "understudy/actors/os_process.h"
#include "understudy/tests/transport/processes/story.h"

namespace understudy {
namespace {

using ::testing::StartsWith;

// A FIFO that a process holds open: end of file is the end of the process.
class Fifo {
 public:
  Fifo() {
    EXPECT_NE(mkdtemp(folder_.data()), nullptr);
    path_ = absl::StrCat(folder_, "/fifo");
    EXPECT_EQ(mkfifo(path_.c_str(), 0600), 0);
    reading_ = open(path_.c_str(), O_RDONLY | O_NONBLOCK | O_CLOEXEC);
  }
  ~Fifo() {
    close(reading_);
    unlink(path_.c_str());
    rmdir(folder_.c_str());
  }
  const std::string& path() const { return path_; }
  bool WaitForLine() { return WaitFor(POLLIN); }
  bool WaitForEnd() {
    std::array<char, 64> line;
    EXPECT_GT(read(reading_, line.data(), line.size()), 0);
    return WaitFor(POLLHUP);
  }

 private:
  bool WaitFor(short events) {
    pollfd wait = {.fd = reading_, .events = POLLIN, .revents = 0};
    return poll(&wait, 1, static_cast<int>(absl::ToInt64Milliseconds(Story::kDeadline))) == 1 &&
           (wait.revents & events) != 0;
  }
  std::string folder_ = "/tmp/understudy.XXXXXX";
  std::string path_;
  int reading_ = -1;
};

TEST(ProcessOrphans, SigkillOfTheParentLeavesNoChildAlive) {
  Fifo fifo;
  auto ended = std::make_shared<Story>();
  auto launcher = OsProcess::Start({.binary = "tests/transport/test_node", .arguments = {"launcher", fifo.path()}},
                                   [ended](const ExitReason& reason) { ended->Add(reason.ToString()); });
  ASSERT_TRUE(launcher.ok()) << launcher.status();
  ASSERT_TRUE(fifo.WaitForLine()) << "the child did not come up";
  (*launcher)->Kill();
  EXPECT_THAT(ended->WaitFor(1)[0], StartsWith("OsSignal(9 SIGKILL"));
  EXPECT_TRUE(fifo.WaitForEnd()) << "the child outlives its parent";
}

TEST(ProcessOrphans, SigtermOfTheParentStopsItsChildInOrder) {
  Fifo fifo;
  auto ended = std::make_shared<Story>();
  auto launcher = OsProcess::Start({.binary = "tests/transport/test_node", .arguments = {"launcher", fifo.path()}},
                                   [ended](const ExitReason& reason) { ended->Add(reason.ToString()); });
  ASSERT_TRUE(launcher.ok()) << launcher.status();
  ASSERT_TRUE(fifo.WaitForLine()) << "the child did not come up";
  (*launcher)->Terminate();
  EXPECT_EQ(ended->WaitFor(1)[0], "Normal");
  EXPECT_TRUE(fifo.WaitForEnd()) << "the child outlives its parent";
}

}  // namespace
}  // namespace understudy
