// Fifo: a FIFO that a process holds open, so that a test that reads it sees its end of file when the process ends.
#ifndef UNDERSTUDY_TESTS_TRANSPORT_PROCESSES_FIFO_H_
#define UNDERSTUDY_TESTS_TRANSPORT_PROCESSES_FIFO_H_

#include <fcntl.h>
#include <poll.h>
#include <sys/stat.h>
#include <unistd.h>

#include <array>
#include <string>
#include <utility>

#include "absl/time/time.h"
#include "gtest/gtest.h"
#include "understudy/tests/transport/processes/story.h"

namespace understudy {

class Fifo {
 public:
  explicit Fifo(std::string path) : path_(std::move(path)) {
    EXPECT_EQ(mkfifo(path_.c_str(), 0600), 0);
    reading_ = open(path_.c_str(), O_RDONLY | O_NONBLOCK | O_CLOEXEC);
  }
  ~Fifo() {
    close(reading_);
    unlink(path_.c_str());
  }
  const std::string& path() const { return path_; }
  bool WaitForLine() { return WaitFor(POLLIN); }
  bool WaitForEnd() {
    std::array<char, 64> line;
    EXPECT_GT(read(reading_, line.data(), line.size()), 0);
    return WaitFor(POLLHUP);
  }

 private:
  bool WaitFor(short events) const {
    pollfd wait = {.fd = reading_, .events = POLLIN, .revents = 0};
    return poll(&wait, 1, static_cast<int>(absl::ToInt64Milliseconds(Story::kDeadline))) == 1 &&
           (wait.revents & events) != 0;
  }
  const std::string path_;
  int reading_ = -1;
};

}  // namespace understudy

#endif  // UNDERSTUDY_TESTS_TRANSPORT_PROCESSES_FIFO_H_
