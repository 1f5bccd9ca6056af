#include "understudy/tests/examples/auction/demo_process.h"

#include <dirent.h>
#include <fcntl.h>
#include <poll.h>
#include <spawn.h>
#include <sys/wait.h>
#include <unistd.h>

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
// How often the state of another process is looked at; there is no event for it.
constexpr int kLookMilliseconds = 20;

std::string NewToken() {
  static int count = 0;
  return absl::StrCat("AUCTION_TEST_TOKEN=", getpid(), "-", ++count, "-", absl::ToUnixNanos(absl::Now()));
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
  posix_spawn_file_actions_destroy(&actions);
  close(pipe_fds[1]);
}

DemoProcess::~DemoProcess() {
  for (pid_t pid : Processes()) kill(pid, SIGKILL);
  if (!ended_) waitpid(pid_, &wait_status_, 0);
  close(output_fd_);
}

void DemoProcess::Read(absl::Duration patience) {
  pollfd readable = {.fd = output_fd_, .events = POLLIN, .revents = 0};
  if (poll(&readable, 1, static_cast<int>(absl::ToInt64Milliseconds(patience))) <= 0) return;
  char buffer[4096];
  const ssize_t bytes = read(output_fd_, buffer, sizeof(buffer));
  if (bytes > 0) output_.append(buffer, static_cast<size_t>(bytes));
  // At the end of the file poll returns at once: wait for the process instead.
  if (bytes == 0) poll(nullptr, 0, kLookMilliseconds);
}

bool DemoProcess::AwaitOutput(const std::string& text, absl::Duration patience) {
  const absl::Time deadline = absl::Now() + patience;
  while (!absl::StrContains(output_, text)) {
    if (absl::Now() > deadline || ended_) return false;
    Read(absl::Milliseconds(kLookMilliseconds));
    AwaitEnd(absl::ZeroDuration());
  }
  return true;
}

int DemoProcess::AwaitEnd(absl::Duration patience) {
  const absl::Time deadline = absl::Now() + patience;
  while (!ended_) {
    if (waitpid(pid_, &wait_status_, WNOHANG) == pid_) {
      ended_ = true;
      while (true) {  // what is still in the pipe
        const size_t before = output_.size();
        Read(absl::ZeroDuration());
        if (output_.size() == before) break;
      }
    } else if (absl::Now() >= deadline) {
      return -1;
    } else {
      Read(absl::Milliseconds(kLookMilliseconds));
    }
  }
  return wait_status_;
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
  while (!Processes().empty()) {
    if (absl::Now() > deadline) return false;
    AwaitEnd(absl::ZeroDuration());  // reaps it: a zombie still has its place in /proc
    poll(nullptr, 0, kLookMilliseconds);
  }
  return true;
}

}  // namespace auction
