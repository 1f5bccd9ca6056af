// What must not hold up the thread that watches all processes: a standard error that takes no text, and the end of a
// process that this program may not collect yet.
#include <fcntl.h>
#include <signal.h>
#include <sys/ptrace.h>
#include <sys/socket.h>
#include <sys/wait.h>
#include <unistd.h>

#include <array>
#include <cstddef>
#include <memory>
#include <string>
#include <utility>

#include "absl/status/statusor.h"
#include "absl/synchronization/notification.h"
#include "absl/time/time.h"
#include "gtest/gtest.h"
#include "understudy/actors/exit_reason.h"
#include "understudy/transport/process/os_process.h"

namespace understudy {
namespace {

// A script that runs, and how it ended.
class Script {
 public:
  explicit Script(const std::string& text) {
    auto started = OsProcess::Start({.binary = "/bin/sh", .arguments = {"-c", text}}, [this](const ExitReason& why) {
      end_ = why;
      ended_.Notify();
    });
    EXPECT_TRUE(started.ok()) << started.status();
    if (started.ok()) process_ = *std::move(started);
  }
  ~Script() { EXPECT_TRUE(HasEndedWithin(absl::Minutes(1))); }

  OsProcess& process() { return *process_; }
  bool HasEndedWithin(absl::Duration duration) { return ended_.WaitForNotificationWithTimeout(duration); }
  // Requires HasEndedWithin.
  const ExitReason& end() const { return end_; }

 private:
  std::unique_ptr<OsProcess> process_;
  ExitReason end_;
  absl::Notification ended_;
};

// This process's standard error while the object lives is a socket that nobody reads, as that of a service whose log is
// stuck. It is ready for writing and then takes less than the watcher writes at once.
class UnreadStandardError {
 public:
  UnreadStandardError() {
    EXPECT_EQ(socketpair(AF_UNIX, SOCK_STREAM | SOCK_CLOEXEC, 0, ends_.data()), 0);
    const int smallest = 1;
    EXPECT_EQ(setsockopt(ends_[0], SOL_SOCKET, SO_SNDBUF, &smallest, sizeof(smallest)), 0);
    EXPECT_EQ(write(ends_[0], "x", 1), 1);
    EXPECT_EQ(dup2(ends_[0], STDERR_FILENO), STDERR_FILENO);
  }
  // A write that waits for room ends, because the socket has no reader any more.
  ~UnreadStandardError() {
    dup2(before_, STDERR_FILENO);
    for (const int descriptor : {ends_[0], ends_[1], before_}) close(descriptor);
  }

 private:
  const int before_ = fcntl(STDERR_FILENO, F_DUPFD_CLOEXEC, 0);
  std::array<int, 2> ends_;
};

TEST(ProcessWatcherTest, AStandardErrorThatTakesNoMoreTextHoldsUpNoEnd) {
  auto unread = std::make_unique<UnreadStandardError>();
  Script loud("head -c 1000000 /dev/zero | tr '\\0' x >&2; exit 3");
  EXPECT_TRUE(loud.HasEndedWithin(absl::Seconds(20)));
  Script quiet("exit 4");
  EXPECT_TRUE(quiet.HasEndedWithin(absl::Seconds(20)));
  unread.reset();
  ASSERT_TRUE(loud.HasEndedWithin(absl::Minutes(1)) && quiet.HasEndedWithin(absl::Minutes(1)));
  EXPECT_EQ(loud.end().os_value(), 3);
  EXPECT_EQ(quiet.end().os_value(), 4);
}

// A pipe is opened anew to be written to without waiting.
TEST(ProcessWatcherTest, TextReachesAStandardErrorThatIsAPipeAsOneThatIsASocket) {
  for (const bool is_pipe : {true, false}) {
    std::array<int, 2> ends;
    ASSERT_EQ(is_pipe ? pipe2(ends.data(), O_CLOEXEC) : socketpair(AF_UNIX, SOCK_STREAM | SOCK_CLOEXEC, 0, ends.data()),
              0);
    const int before = fcntl(STDERR_FILENO, F_DUPFD_CLOEXEC, 0);
    ASSERT_EQ(dup2(ends[1], STDERR_FILENO), STDERR_FILENO);
    {
      Script script("echo hello >&2; exit 5");
      EXPECT_TRUE(script.HasEndedWithin(absl::Minutes(1)));
    }
    dup2(before, STDERR_FILENO);
    for (const int descriptor : {ends[1], before}) close(descriptor);
    std::array<char, 64> text;
    const ssize_t got = read(ends[0], text.data(), text.size());
    EXPECT_EQ(std::string(text.data(), got > 0 ? static_cast<size_t>(got) : 0), "hello\n");
    close(ends[0]);
  }
}

// A process that traces another, as a debugger does, and never looks at what happens to it. Until the tracer ends, the
// kernel gives the wait status of the other process to nobody else.
class Tracer {
 public:
  explicit Tracer(int traced) {
    std::array<int, 2> told;
    EXPECT_EQ(pipe2(told.data(), O_CLOEXEC), 0);
    pid_ = fork();
    if (pid_ == 0) {
      const char result = ptrace(PTRACE_SEIZE, traced, nullptr, nullptr) == 0 ? 'y' : 'n';
      (void)!write(told[1], &result, 1);
      while (true) pause();
    }
    char result = 'n';
    (void)!read(told[0], &result, 1);
    traces_ = result == 'y';
    for (const int descriptor : told) close(descriptor);
  }
  ~Tracer() { End(); }

  bool traces() const { return traces_; }
  void End() {
    if (pid_ <= 0) return;
    kill(pid_, SIGKILL);
    waitpid(pid_, nullptr, 0);
    pid_ = 0;
  }

 private:
  pid_t pid_ = 0;
  bool traces_ = false;
};

TEST(ProcessWatcherTest, TheEndOfAProcessThatADebuggerKeepsHoldsUpNoOtherAndIsToldWhenTheDebuggerHasEnded) {
  Script kept("sleep 60");
  Tracer tracer(kept.process().os_pid());
  if (!tracer.traces()) {
    kept.process().Kill();
    GTEST_SKIP() << "only where a process may trace another";
  }
  kept.process().Kill();
  Script quiet("exit 4");
  const bool has_ended = quiet.HasEndedWithin(absl::Seconds(20));
  EXPECT_TRUE(has_ended);
  if (has_ended) kept.process().Terminate();  // does not wait either
  EXPECT_FALSE(kept.HasEndedWithin(absl::ZeroDuration()));
  tracer.End();
  ASSERT_TRUE(quiet.HasEndedWithin(absl::Minutes(1)) && kept.HasEndedWithin(absl::Minutes(1)));
  EXPECT_EQ(quiet.end().os_value(), 4);
  EXPECT_EQ(kept.end(), ExitReason::OsSignal(SIGKILL));
}

}  // namespace
}  // namespace understudy
