#include "understudy/transport/process/os_process.h"

#include <fcntl.h>
#include <poll.h>
#include <pthread.h>
#include <signal.h>
#include <spawn.h>
#include <sys/epoll.h>
#include <sys/resource.h>
#include <sys/socket.h>
#include <sys/stat.h>
#include <sys/syscall.h>
#include <sys/wait.h>
#include <unistd.h>

#include <array>
#include <cerrno>
#include <climits>
#include <cstdint>
#include <cstring>
#include <map>
#include <memory>
#include <set>
#include <string>
#include <thread>
#include <utility>
#include <vector>

#include "absl/base/thread_annotations.h"
#include "absl/cleanup/cleanup.h"
#include "absl/status/status.h"
#include "absl/status/statusor.h"
#include "absl/strings/match.h"
#include "absl/strings/str_cat.h"
#include "absl/strings/string_view.h"
#include "absl/synchronization/mutex.h"
#include "absl/types/optional.h"
#include "understudy/actors/check.h"
#include "understudy/actors/clock.h"
#include "understudy/actors/exit_reason.h"
#include "understudy/actors/process_limits.h"
#include "understudy/transport/process/oom_kills.h"
#include "understudy/transport/process/stderr_tail.h"

namespace understudy {
namespace {

constexpr int kFirstInheritedDescriptor = 3;
// The most bytes written at once: a pipe that is ready for writing takes PIPE_BUF bytes without blocking.
constexpr size_t kForwardBytes = 4096;

absl::Status StartError(absl::string_view binary, int error) {
  const std::string what = absl::StrCat("cannot start '", binary, "': ");
  switch (error) {
    case ENOENT:
    case ENOTDIR:
      return absl::NotFoundError(
          absl::StrCat(what, "there is no such file, or the interpreter that it names does not exist"));
    case EACCES:
    case EPERM:
      return absl::PermissionDeniedError(absl::StrCat(what, "it is not an executable file for this user"));
    case ENOEXEC:
      return absl::InvalidArgumentError(absl::StrCat(what, "it is not a program for this machine"));
    case E2BIG:
      return absl::InvalidArgumentError(absl::StrCat(what, "too many arguments, or too large an environment"));
    default:
      return absl::ResourceExhaustedError(absl::StrCat(what, strerror(error)));
  }
}

// If SIGCHLD is ignored, the kernel does not keep the wait status of an ended process.
void CheckSigchldIsNotIgnored() {
  struct sigaction action;
  const int result = sigaction(SIGCHLD, nullptr, &action);
  UNDERSTUDY_CHECK(result == 0, "sigaction: ", strerror(errno));
  const bool ignored = (action.sa_flags & SA_SIGINFO) == 0 && action.sa_handler == SIG_IGN;
  UNDERSTUDY_CHECK(!ignored && (action.sa_flags & SA_NOCLDWAIT) == 0,
                   "SIGCHLD is ignored, so the end of a process could not be learned; give it its default handler");
}

absl::Status CheckSpec(const OsProcessSpec& spec) {
  for (const std::string& argument : spec.arguments) {
    if (absl::StrContains(argument, '\0')) {
      return absl::InvalidArgumentError(absl::StrCat("cannot start '", spec.binary, "': an argument contains a NUL"));
    }
  }
  for (const auto& [name, value] : spec.environment) {
    if (name.empty() || absl::StrContains(name, '=') || absl::StrContains(name, '\0') ||
        absl::StrContains(value, '\0')) {
      return absl::InvalidArgumentError(absl::StrCat("cannot start '", spec.binary, "': the environment variable '",
                                                     name, "' must have a name without '=' and no NUL"));
    }
  }
  return absl::OkStatus();
}

std::vector<std::string> Environment(const OsProcessSpec& spec) {
  std::vector<std::string> environment;
  for (char** entry = environ; entry != nullptr && *entry != nullptr; ++entry) {
    bool replaced = false;
    for (const auto& [name, value] : spec.environment) {
      replaced = replaced || absl::StartsWith(*entry, absl::StrCat(name, "="));
    }
    if (!replaced) environment.emplace_back(*entry);
  }
  for (const auto& [name, value] : spec.environment) environment.push_back(absl::StrCat(name, "=", value));
  return environment;
}

std::vector<char*> Pointers(std::vector<std::string>& strings) {
  std::vector<char*> pointers;
  pointers.reserve(strings.size() + 1);
  for (std::string& text : strings) pointers.push_back(text.data());
  pointers.push_back(nullptr);
  return pointers;
}

// Gives the new process the default signal handlers, no blocked signals, and a process group of its own.
void SetAttributes(posix_spawnattr_t* attributes) {
  sigset_t none;
  sigset_t all;
  sigemptyset(&none);
  sigfillset(&all);
  posix_spawnattr_setsigmask(attributes, &none);
  posix_spawnattr_setsigdefault(attributes, &all);
  posix_spawnattr_setpgroup(attributes, 0);
  posix_spawnattr_setflags(attributes, POSIX_SPAWN_SETSIGMASK | POSIX_SPAWN_SETSIGDEF | POSIX_SPAWN_SETPGROUP);
}

// posix_spawn with the spec's descriptors at 3, 4, … and no others.
absl::StatusOr<pid_t> Spawn(const std::string& path, const OsProcessSpec& spec, int standard_error) {
  const int beyond = kFirstInheritedDescriptor + static_cast<int>(spec.descriptors.size());
  // Duplicates the descriptors above the range to which they will be moved, so that none is overwritten before it is
  // moved.
  std::vector<int> copies;
  const auto close_copies = absl::MakeCleanup([&copies] {
    for (const int copy : copies) close(copy);
  });
  for (const int descriptor : spec.descriptors) {
    const int copy = fcntl(descriptor, F_DUPFD_CLOEXEC, beyond);
    if (copy < 0) {
      const int error = errno;
      if (error != EBADF) return StartError(spec.binary, error);
      return absl::InvalidArgumentError(
          absl::StrCat("cannot start '", spec.binary, "': descriptor ", descriptor, " is not open"));
    }
    copies.push_back(copy);
  }

  posix_spawn_file_actions_t actions;
  posix_spawn_file_actions_init(&actions);
  const auto destroy_actions = absl::MakeCleanup([&actions] { posix_spawn_file_actions_destroy(&actions); });
  posix_spawn_file_actions_addopen(&actions, STDIN_FILENO, "/dev/null", O_RDONLY, 0);
  posix_spawn_file_actions_adddup2(&actions, standard_error, STDERR_FILENO);
  for (size_t i = 0; i < copies.size(); ++i) {
    posix_spawn_file_actions_adddup2(&actions, copies[i], kFirstInheritedDescriptor + static_cast<int>(i));
  }
  posix_spawn_file_actions_addclosefrom_np(&actions, beyond);

  posix_spawnattr_t attributes;
  posix_spawnattr_init(&attributes);
  const auto destroy_attributes = absl::MakeCleanup([&attributes] { posix_spawnattr_destroy(&attributes); });
  SetAttributes(&attributes);

  std::vector<std::string> arguments = {path};
  arguments.insert(arguments.end(), spec.arguments.begin(), spec.arguments.end());
  std::vector<std::string> environment = Environment(spec);
  pid_t pid = 0;
  const int error =
      posix_spawn(&pid, path.c_str(), &actions, &attributes, Pointers(arguments).data(), Pointers(environment).data());
  if (error != 0) return StartError(spec.binary, error);
  return pid;
}

absl::Status LimitOne(pid_t pid, __rlimit_resource resource, absl::string_view what, int64_t value) {
  if (value == 0) return absl::OkStatus();
  const struct rlimit limit = {.rlim_cur = static_cast<rlim_t>(value), .rlim_max = static_cast<rlim_t>(value)};
  if (value > 0 && prlimit(pid, resource, &limit, nullptr) == 0) return absl::OkStatus();
  return absl::FailedPreconditionError(
      absl::StrCat("it cannot be limited to ", value, " ", what, ": ", strerror(value < 0 ? EINVAL : errno)));
}

absl::Status Limit(pid_t pid, const ProcessLimits& limits) {
  absl::Status status = LimitOne(pid, RLIMIT_DATA, "bytes of memory", limits.memory_bytes);
  if (status.ok()) status = LimitOne(pid, RLIMIT_NOFILE, "open files", limits.open_files);
  return status;
}

// Opens the pipe or terminal that is this process's standard error anew, because O_NONBLOCK on standard error itself
// would hold for every process that has it. Returns -1 if it is neither, or may not be opened.
int OpenStandardErrorAnew() {
  struct stat status;
  if (fstat(STDERR_FILENO, &status) != 0 || !(S_ISFIFO(status.st_mode) || S_ISCHR(status.st_mode))) return -1;
  return open("/proc/self/fd/2", O_WRONLY | O_NONBLOCK | O_NOCTTY | O_CLOEXEC);
}

// Like write to standard error, but does not wait for room. `own` is what OpenStandardErrorAnew returned.
ssize_t WriteError(int own, absl::string_view text) {
  static_assert(kForwardBytes <= PIPE_BUF);
  if (own >= 0) return write(own, text.data(), text.size());
  const ssize_t sent = send(STDERR_FILENO, text.data(), text.size(), MSG_DONTWAIT | MSG_NOSIGNAL);
  if (sent >= 0 || errno != ENOTSOCK) return sent;
  // A file; or a pipe of another user, where only a writer that takes the room in between could make this one wait.
  pollfd ready = {.fd = STDERR_FILENO, .events = POLLOUT, .revents = 0};
  return poll(&ready, 1, 0) == 1 ? write(STDERR_FILENO, text.data(), text.size()) : -1;
}

// Writes `text`, at most kForwardBytes, to this process's standard error, and drops the rest when a write would block.
void Forward(absl::string_view text) {
  const int own = OpenStandardErrorAnew();
  while (!text.empty()) {
    const ssize_t written = WriteError(own, text);
    if (written <= 0) break;
    text.remove_prefix(static_cast<size_t>(written));
  }
  if (own >= 0) close(own);
}

// Returns the wait status of a process that this program started and that has ended or was killed. With WNOHANG in
// `options` it does not wait, and returns nothing while a tracer (a debugger) keeps the ended process.
absl::optional<int> Reap(pid_t pid, int options) {
  int wait_status = 0;
  pid_t waited = 0;
  do {
    waited = waitpid(pid, &wait_status, options);
  } while (waited < 0 && errno == EINTR);
  if (waited == 0) return absl::nullopt;
  UNDERSTUDY_CHECK(waited == pid, "this program has waited for a process that its node started, process ", pid, ": ",
                   strerror(errno));
  return wait_status;
}

}  // namespace

struct OsProcess::Watched {
  Watched(pid_t watched_pid, int watched_pidfd, int errors, OnEnd callback)
      : pid(watched_pid), pidfd(watched_pidfd), standard_error(errors), on_end(std::move(callback)) {}

  void Signal(int number) {
    absl::MutexLock lock(&mu);
    // After the process was reaped, its id may belong to another group.
    if (ended) return;
    killed = killed || number == SIGKILL;
    kill(-pid, number);
  }

  // Reads and forwards the text that the process has written to its standard error. Watcher only.
  void ReadErrors() {
    std::array<char, kForwardBytes> text;
    ssize_t got = 0;
    // Bounded, so that one process that writes much does not keep the watcher from others.
    for (int i = 0; i < kReadsMax && (got = read(standard_error, text.data(), text.size())) > 0; ++i) {
      const absl::string_view written(text.data(), static_cast<size_t>(got));
      stderr_tail.Add(written, Clock::Real().Now());
      Forward(written);
    }
  }

  // The note of the exit reason of the process, which ended at `end`. After a SIGKILL the tail of standard error is
  // left out, because the process could not write about the signal. The exception is a kill for lack of memory: the
  // process may have written about its lack of memory before.
  std::string Note(bool is_sigkill, bool is_ours, MonotonicTime end) const {
    const absl::optional<int64_t> now = is_sigkill && !is_ours ? internal::OomKills() : absl::nullopt;
    const bool is_oom = now.has_value() && oom_kills_before.has_value() && *now > *oom_kills_before;
    if (is_sigkill && !is_oom) return "";
    std::string note;
    if (is_oom) {
      note = absl::StrCat("out of memory: its control group has had ", *now - *oom_kills_before,
                          " such kills since it started");
    }
    if (const std::string tail = stderr_tail.Text(end); !tail.empty()) {
      absl::StrAppend(&note, note.empty() ? "" : "\n", "stderr: ", tail);
    }
    return note;
  }

  static constexpr int kReadsMax = 64;

  const pid_t pid;
  const int pidfd;
  const int standard_error;  // the reading end of its pipe
  const absl::optional<int64_t> oom_kills_before = internal::OomKills();
  internal::StderrTail stderr_tail;  // watcher only
  OnEnd on_end;                      // watcher only

  absl::Mutex mu;
  bool ended ABSL_GUARDED_BY(mu) = false;
  bool killed ABSL_GUARDED_BY(mu) = false;  // by Signal(SIGKILL)
};

// The thread that waits for all processes. It is never destroyed.
class OsProcess::Watcher {
 public:
  static Watcher& Get() {
    static Watcher* const watcher = new Watcher;
    return *watcher;
  }

  // Arranges that on_end is called when the process has ended. Returns false, with errno set, if it cannot be watched.
  bool Add(std::shared_ptr<Watched> watched) {
    absl::MutexLock lock(&mu_);
    const uint64_t number = ++last_number_;
    if (!AddDescriptor(watched->standard_error, {.process = number, .is_end = false})) return false;
    if (!AddDescriptor(watched->pidfd, {.process = number, .is_end = true})) {
      const int error = errno;
      epoll_ctl(epoll_, EPOLL_CTL_DEL, watched->standard_error, nullptr);
      errno = error;
      return false;
    }
    watched_.emplace(number, std::move(watched));
    return true;
  }

 private:
  static constexpr int kEventsMax = 16;
  // How soon the end of a process is told when its tracer has let it go, in milliseconds.
  static constexpr int kTracedLookMs = 100;

  // What an event of epoll is about: the end of a process, or its standard error. It names the process by a number that
  // is never used again: an event may still be in the list that epoll_wait filled when the descriptors of its process
  // have been closed and given to another process.
  struct Subject {
    static Subject FromData(uint64_t data) { return {.process = data >> 1, .is_end = (data & 1) != 0}; }
    uint64_t ToData() const { return process << 1 | (is_end ? 1 : 0); }

    uint64_t process = 0;
    bool is_end = false;
  };

  Watcher() : epoll_(epoll_create1(EPOLL_CLOEXEC)) {
    UNDERSTUDY_CHECK(epoll_ >= 0, "epoll_create1: ", strerror(errno));
    // Blocks all signals on the new thread, so that they are delivered to the program's own threads.
    sigset_t all;
    sigset_t before;
    sigfillset(&all);
    pthread_sigmask(SIG_SETMASK, &all, &before);
    std::thread([this] { Run(); }).detach();
    pthread_sigmask(SIG_SETMASK, &before, nullptr);
  }

  void Run() {
    std::array<struct epoll_event, kEventsMax> events;
    while (true) {
      const int count = epoll_wait(epoll_, events.data(), kEventsMax, traced_.empty() ? -1 : kTracedLookMs);
      UNDERSTUDY_CHECK(count >= 0 || errno == EINTR, "epoll_wait: ", strerror(errno));
      for (int i = 0; i < count; ++i) Handle(events[static_cast<size_t>(i)]);
      for (const uint64_t number : std::set(traced_)) End(number, *Find(number));
    }
  }

  bool AddDescriptor(int descriptor, Subject subject) {
    struct epoll_event event;
    memset(&event, 0, sizeof(event));
    event.events = EPOLLIN;
    event.data.u64 = subject.ToData();
    return epoll_ctl(epoll_, EPOLL_CTL_ADD, descriptor, &event) == 0;
  }

  void Handle(const struct epoll_event& event) {
    const Subject subject = Subject::FromData(event.data.u64);
    const std::shared_ptr<Watched> watched = Find(subject.process);
    if (watched == nullptr) return;  // an earlier event of this round ended the process
    // All writing ends of the pipe are closed, so it has nothing more to report.
    const bool is_closed = !subject.is_end && (event.events & EPOLLIN) == 0;
    if (is_closed) epoll_ctl(epoll_, EPOLL_CTL_DEL, watched->standard_error, nullptr);
    if (subject.is_end) {
      End(subject.process, *watched);
    } else {
      watched->ReadErrors();
    }
  }

  // Null if the process has ended.
  std::shared_ptr<Watched> Find(uint64_t number) {
    absl::MutexLock lock(&mu_);
    const auto found = watched_.find(number);
    return found == watched_.end() ? nullptr : found->second;
  }

  void End(uint64_t number, Watched& watched) {
    absl::optional<int> reaped;
    bool was_killed = false;
    {
      absl::MutexLock lock(&watched.mu);
      // While the first process is a zombie, its id still names the group.
      kill(-watched.pid, SIGKILL);
      reaped = Reap(watched.pid, WNOHANG);
      watched.ended = reaped.has_value();
      was_killed = watched.killed;
    }
    if (!reaped.has_value()) {
      const bool is_first = traced_.insert(number).second;
      if (is_first) epoll_ctl(epoll_, EPOLL_CTL_DEL, watched.pidfd, nullptr);  // it would go on being ready
      return;
    }
    traced_.erase(number);
    watched.ReadErrors();
    {
      absl::MutexLock lock(&mu_);
      for (const int descriptor : {watched.pidfd, watched.standard_error}) {
        epoll_ctl(epoll_, EPOLL_CTL_DEL, descriptor, nullptr);
        close(descriptor);
      }
      watched_.erase(number);
    }
    const int wait_status = *reaped;
    const bool is_sigkill = WIFSIGNALED(wait_status) && WTERMSIG(wait_status) == SIGKILL;
    const std::string note = watched.Note(is_sigkill, was_killed, Clock::Real().Now());
    std::move(watched.on_end)(ExitReasonOfWaitStatus(wait_status, note));
    watched.on_end = nullptr;  // destroys its captures now, because the handle may live longer
  }

  const int epoll_;
  // Processes that have ended and whose tracers (debuggers) keep their wait status. The watcher's thread only.
  std::set<uint64_t> traced_;
  absl::Mutex mu_;
  uint64_t last_number_ ABSL_GUARDED_BY(mu_) = 0;
  std::map<uint64_t, std::shared_ptr<Watched>> watched_ ABSL_GUARDED_BY(mu_);  // by Subject::process
};

ExitReason ExitReasonOfWaitStatus(int wait_status, absl::string_view note) {
  if (WIFSIGNALED(wait_status)) return ExitReason::OsSignal(WTERMSIG(wait_status), note);
  const int code = WEXITSTATUS(wait_status);
  return code == 0 ? ExitReason::Normal() : ExitReason::OsExit(code, note);
}

absl::StatusOr<std::unique_ptr<OsProcess>> OsProcess::Start(const OsProcessSpec& spec, OnEnd on_end) {
  CheckSigchldIsNotIgnored();
  if (absl::Status status = CheckSpec(spec); !status.ok()) return status;
  absl::StatusOr<std::string> path = FindBinary(spec.binary);
  if (!path.ok()) return path.status();
  std::array<int, 2> errors;  // the pipe of its standard error: the reading end, and the writing end
  if (pipe2(errors.data(), O_CLOEXEC) != 0) return StartError(spec.binary, errno);
  absl::StatusOr<pid_t> pid = Spawn(*path, spec, errors[1]);
  close(errors[1]);
  if (!pid.ok()) {
    close(errors[0]);
    return pid.status();
  }
  absl::Status status = Limit(*pid, spec.limits);
  int pidfd = -1;
  if (status.ok()) {
    fcntl(errors[0], F_SETFL, O_NONBLOCK);
    // The process id cannot be reused yet, because the process has not been waited for.
    // A system call by number, because glibc 2.36 declares pidfd_open without C linkage.
    pidfd = static_cast<int>(syscall(SYS_pidfd_open, *pid, 0));
    if (pidfd >= 0) {
      auto watched = std::make_shared<Watched>(*pid, pidfd, errors[0], std::move(on_end));
      if (Watcher::Get().Add(watched)) return std::unique_ptr<OsProcess>(new OsProcess(std::move(watched)));
    }
    status = absl::ResourceExhaustedError(absl::StrCat("it cannot be watched: ", strerror(errno)));
  }
  if (pidfd >= 0) close(pidfd);
  close(errors[0]);
  kill(-*pid, SIGKILL);
  (void)Reap(*pid, 0);
  return absl::Status(status.code(), absl::StrCat("'", spec.binary, "' was ended at its start: ", status.message()));
}

OsProcess::OsProcess(std::shared_ptr<Watched> watched) : watched_(std::move(watched)) {}

OsProcess::~OsProcess() { Kill(); }

int OsProcess::os_pid() const { return watched_->pid; }

void OsProcess::Terminate() { watched_->Signal(SIGTERM); }

void OsProcess::Kill() { watched_->Signal(SIGKILL); }

}  // namespace understudy
