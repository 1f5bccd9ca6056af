// Tests of the watch over a process child's parent: the child ends when its parent does, even if a handler does not
// return.
#include <sys/socket.h>
#include <unistd.h>

#include <array>
#include <limits>
#include <memory>
#include <thread>

#include "absl/status/statusor.h"
#include "absl/synchronization/notification.h"
#include "absl/time/time.h"
#include "gtest/gtest.h"
#include "understudy/transport/process/process_child.h"
#include "understudy/transport/sockets/socket_thread.h"

namespace understudy::internal {
namespace {

// A process that does nothing by itself when its parent is gone, and hears of that in two ways.
[[noreturn]] void OutliveTheParent() {
  alarm(30);
  std::array<int, 2> ends;
  if (socketpair(AF_UNIX, SOCK_STREAM, 0, ends.data()) != 0) _exit(2);
  absl::Notification is_gone;
  const absl::StatusOr<std::unique_ptr<ParentWatch>> watch = ParentWatch::Start(ends[0], [&] { is_gone.Notify(); });
  if (!watch.ok()) _exit(3);
  close(ends[1]);
  is_gone.WaitForNotification();
  while (true) {
    (*watch)->ParentIsGone();
    std::this_thread::yield();
  }
}

TEST(ParentWatchDeathTest, AProcessThatHearsOfItsParentsEndTwiceExitsAllTheSame) {
  testing::GTEST_FLAG(death_test_style) = "threadsafe";
  EXPECT_EXIT(OutliveTheParent(), testing::ExitedWithCode(1), "the parent of this node is gone; the process exits");
}

TEST(ParentWatchTest, TheTimeThatAProcessHasToLeaveNeverWrapsRoundNorMeansForEver) {
  constexpr int kLongest = std::numeric_limits<int>::max();
  EXPECT_EQ(PollTimeout(absl::InfiniteDuration()), kLongest);
  EXPECT_EQ(PollTimeout(absl::Hours(24 * 50)), kLongest);
  EXPECT_EQ(PollTimeout(-absl::InfiniteDuration()), 0);
  EXPECT_EQ(PollTimeout(absl::Milliseconds(-1)), 0);
  EXPECT_EQ(PollTimeout(absl::Microseconds(1)), 1);
  EXPECT_EQ(PollTimeout(absl::Seconds(3)), 3'000);
}

}  // namespace
}  // namespace understudy::internal
