#include "understudy/tests/examples/auction/demo_process.h"

#include <dirent.h>
#include <fcntl.h>
#include <poll.h>
#include <spawn.h>
#include <sys/syscall.h>
#include <sys/wait.h>
#include <unistd.h>

#include <algorithm>
#include <csignal>
#include <cstdlib>
#include <fstream>
#include <iterator>
#include <string>
#include <utility>
#include <vector>

#include "absl/strings/match.h"
#include "absl/strings/numbers.h"
#include "absl/strings/str_cat.h"
#include "absl/time/clock.h"
#include "absl/time/time.h"

extern char** environ;

namespace auction {
namespace {

constexpr char kBinary[] = "examples/auction/demo";
std::string NewToken() {
  static int count = 0;
  return absl::StrCat("AUCTION_TEST_TOKEN=", getpid(), "-", ++count, "-", absl::ToUnixNanos(absl::Now()));
}

// Returns a descriptor that becomes readable when the process ends; -1 if the process no longer exists.
int OpenPid(pid_t pid) { return static_cast<int>(syscall(SYS_pidfd_open, pid, 0)); }

int MillisecondsUntil(absl::Time deadline) {
  return std::max(0, static_cast<int>(absl::ToInt64Milliseconds(deadline - absl::Now() + absl::Milliseconds(1))));
}

bool HasInEnvironment(const std::string& pid, const std::string& entry) {
  std::ifstream in(absl::StrCat("/proc/", pid, "/environ"), std::ios::binary);
  const std::string environment((std::istreambuf_iterator<char>(in)), std::istreambuf_iterator<char>());
  return absl::StrContains(environment, entry);
}

}  // namespace

DemoProcess::DemoProcess(std::vector<std::string> arguments, std::string folder) : token_(NewToken()) {
  int pipe_fds[2];
  if (pipe2(pipe_fds, O_CLOEXEC) != 0) std::abort();
  output_fd_ = pipe_fds[0];
  posix_spawn_file_actions_t actions;
  posix_spawn_file_actions_init(&actions);
  posix_spawn_file_actions_adddup2(&actions, pipe_fds[1], STDOUT_FILENO);
  posix_spawn_file_actions_adddup2(&actions, pipe_fds[1], STDERR_FILENO);

  arguments.insert(arguments.begin(), kBinary);
  std::vector<char*> argv;
  for (std::string& argument : arguments) argv.push_back(argument.data());
  argv.push_back(nullptr);
  std::vector<std::string> variables = {token_, absl::StrCat("TMPDIR=", folder)};
  for (char** variable = environ; *variable != nullptr; ++variable) {
    if (!absl::StartsWith(*variable, "TMPDIR=")) variables.emplace_back(*variable);
  }
  std::vector<char*> envp;
  for (std::string& variable : variables) envp.push_back(variable.data());
  envp.push_back(nullptr);
  if (posix_spawn(&pid_, kBinary, &actions, nullptr, argv.data(), envp.data()) != 0) {
    output_ = absl::StrCat("cannot start ", kBinary);
    ended_ = true;
  }
  pid_fd_ = ended_ ? -1 : OpenPid(pid_);
  posix_spawn_file_actions_destroy(&actions);
  close(pipe_fds[1]);
}

DemoProcess::~DemoProcess() {
  for (pid_t pid : Processes()) kill(pid, SIGKILL);
  if (!ended_) waitpid(pid_, &wait_status_, 0);
  if (output_fd_ >= 0) close(output_fd_);
  if (pid_fd_ >= 0) close(pid_fd_);
}

void DemoProcess::ReadOutput() {
  char buffer[4096];
  const ssize_t bytes = read(output_fd_, buffer, sizeof(buffer));
  if (bytes > 0) {
    output_.append(buffer, static_cast<size_t>(bytes));
  } else if (bytes == 0) {
    close(std::exchange(output_fd_, -1));
  }
}

bool DemoProcess::AwaitEvent(absl::Time deadline) {
  pollfd watched[] = {{.fd = output_fd_, .events = POLLIN, .revents = 0},  // poll ignores a descriptor of -1
                      {.fd = pid_fd_, .events = POLLIN, .revents = 0}};
  if (poll(watched, 2, MillisecondsUntil(deadline)) <= 0) return absl::Now() < deadline;
  if (watched[0].revents != 0) {
    ReadOutput();
  } else if (waitpid(pid_, &wait_status_, WNOHANG) == pid_) {  // only when all available output is read
    ended_ = true;
    close(std::exchange(pid_fd_, -1));
  }
  return true;
}

bool DemoProcess::AwaitOutput(const std::string& text, absl::Duration patience) {
  const absl::Time deadline = absl::Now() + patience;
  while (!absl::StrContains(output_, text)) {
    if (ended_ || !AwaitEvent(deadline)) return false;
  }
  return true;
}

int DemoProcess::AwaitEnd(absl::Duration patience) {
  const absl::Time deadline = absl::Now() + patience;
  while (!ended_) {
    if (!AwaitEvent(deadline)) return -1;
  }
  return wait_status_;
}

pid_t DemoProcess::ProcessOf(const std::string& binary, const std::string& argument) const {
  for (const pid_t pid : Processes()) {
    std::ifstream in(absl::StrCat("/proc/", pid, "/cmdline"), std::ios::binary);
    const std::string line((std::istreambuf_iterator<char>(in)), std::istreambuf_iterator<char>());
    if (absl::StrContains(line, binary) && absl::StrContains(line, argument)) return pid;
  }
  return -1;
}

void DemoProcess::Signal(int number) { kill(pid_, number); }

std::vector<pid_t> DemoProcess::Processes() const {
  std::vector<pid_t> found;
  DIR* proc = opendir("/proc");
  if (proc == nullptr) return found;
  while (const dirent* entry = readdir(proc)) {
    pid_t pid = 0;
    if (absl::SimpleAtoi(entry->d_name, &pid) && HasInEnvironment(entry->d_name, token_)) found.push_back(pid);
  }
  closedir(proc);
  return found;
}

bool DemoProcess::AwaitNoneLeft(absl::Duration patience) {
  const absl::Time deadline = absl::Now() + patience;
  AwaitEnd(patience);
  while (true) {
    const std::vector<pid_t> left = Processes();
    if (left.empty()) return true;
    pollfd watched = {.fd = OpenPid(left.front()), .events = POLLIN, .revents = 0};
    if (watched.fd < 0) continue;  // the process is gone by now
    const int ready = poll(&watched, 1, MillisecondsUntil(deadline));
    close(watched.fd);
    if (ready <= 0 && absl::Now() >= deadline) return false;
  }
}

}  // namespace auction
