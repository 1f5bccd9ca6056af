// Process children under a supervisor: crashes in a row, what is left of them, and what is told.
#include <dirent.h>
#include <fcntl.h>
#include <poll.h>
#include <signal.h>
#include <sys/stat.h>
#include <unistd.h>

#include <array>
#include <cstdlib>
#include <fstream>
#include <functional>
#include <memory>
#include <string>
#include <utility>
#include <vector>

#include "absl/base/thread_annotations.h"
#include "absl/status/statusor.h"
#include "absl/strings/numbers.h"
#include "absl/strings/str_cat.h"
#include "absl/strings/str_split.h"
#include "absl/synchronization/mutex.h"
#include "absl/time/time.h"
#include "gmock/gmock.h"
#include "gtest/gtest.h"
#include "understudy/actors/actor_system.h"
#include "understudy/actors/exit_reason.h"
#include "understudy/actors/limits.h"
#include "understudy/actors/log_sink.h"
#include "understudy/actors/os_process.h"
#include "understudy/supervision/builders.h"
#include "understudy/supervision/child_spec.h"
#include "understudy/supervision/supervision_event.h"
#include "understudy/supervision/supervisor.h"
#include "understudy/transport/node.h"

namespace understudy {
namespace {

using ::testing::EndsWith;
using ::testing::HasSubstr;
using ::testing::StartsWith;

constexpr absl::Duration kDeadline = absl::Minutes(4);

// What the supervisor told. Any thread.
class Events {
 public:
  void Hear(const SupervisionEvent& event) {
    absl::MutexLock lock(&mu_);
    events_.push_back(event);
  }
  // The `n`th event of that kind, from 1 on.
  SupervisionEvent Await(SupervisionEvent::Kind kind, int n) {
    absl::MutexLock lock(&mu_);
    SupervisionEvent found;
    const auto is_there = [&]() ABSL_EXCLUSIVE_LOCKS_REQUIRED(mu_) {
      int seen = 0;
      for (const SupervisionEvent& event : events_) {
        if (event.kind != kind || ++seen < n) continue;
        found = event;
        return true;
      }
      return false;
    };
    EXPECT_TRUE(mu_.AwaitWithTimeout(absl::Condition(&is_there), kDeadline)) << SupervisionEventName(kind) << " " << n;
    return found;
  }
  // How many ends, of starts and of runs, there were with that signal.
  int EndsBy(int signal) {
    absl::MutexLock lock(&mu_);
    int ends = 0;
    for (const SupervisionEvent& event : events_) {
      const bool is_end =
          event.kind == SupervisionEvent::Kind::kExited || event.kind == SupervisionEvent::Kind::kStartFailed;
      if (is_end && event.reason.kind() == ExitReason::Kind::kOsSignal && event.reason.os_value() == signal) ++ends;
    }
    return ends;
  }

 private:
  absl::Mutex mu_;
  std::vector<SupervisionEvent> events_ ABSL_GUARDED_BY(mu_);
};

int CountEntries(const std::string& folder) {
  DIR* const open = opendir(folder.c_str());
  if (open == nullptr) return -1;
  int entries = 0;
  while (readdir(open) != nullptr) ++entries;
  closedir(open);
  return entries;
}

int OpenFiles() { return CountEntries("/proc/self/fd"); }

// Processes whose parent is this one, zombies too.
int ChildProcesses() {
  DIR* const open = opendir("/proc");
  int children = 0;
  while (const dirent* entry = readdir(open)) {
    int pid = 0;
    if (!absl::SimpleAtoi(entry->d_name, &pid)) continue;
    std::ifstream file(absl::StrCat("/proc/", pid, "/stat"));
    std::string line;
    if (!std::getline(file, line)) continue;
    // "12 (name) S 11 …"
    const std::vector<std::string> fields = absl::StrSplit(line.substr(line.rfind(')') + 1), ' ');
    if (fields.size() > 2 && fields[2] == absl::StrCat(getpid())) ++children;
  }
  closedir(open);
  return children;
}

// Waits until it is so; the library's threads tidy up after the end was told.
bool Becomes(const std::function<bool()>& is_so) {
  for (int i = 0; i < 2000 && !is_so(); ++i) poll(nullptr, 0, 10);
  return is_so();
}

class ProcessSupervisionTest : public testing::Test {
 protected:
  ProcessSupervisionTest() : system_({.name = "launcher", .log = &LogSink::Null()}) {
    absl::StatusOr<std::unique_ptr<Node>> node = Node::Start(system_);
    EXPECT_TRUE(node.ok()) << node.status();
    node_ = *std::move(node);
    EXPECT_NE(mkdtemp(folder_.data()), nullptr);
  }
  ~ProcessSupervisionTest() override {
    system_.Shutdown(kDeadline);
    (void)std::system(absl::StrCat("rm -r ", folder_).c_str());
  }

  SupervisorRef Launch(const ChildBuilder& child) {
    return system_.Spawn(OneForOne()
                             .Intensity(5, absl::Hours(1))
                             .OnEvent([events = events_](const SupervisionEvent& event) { events->Hear(event); })
                             .Child("crasher", child));
  }
  ChildBuilder Crasher(int times) {
    return PermanentProcess("test_node", {"crasher", folder_ + "/starts", absl::StrCat(times)});
  }

  std::shared_ptr<Events> events_ = std::make_shared<Events>();
  std::string folder_ = absl::StrCat(testing::TempDir(), "/understudy.XXXXXX");
  ActorSystem system_;
  std::unique_ptr<Node> node_;
};

TEST_F(ProcessSupervisionTest, TwoHundredCrashesInARowLeaveNothingBehind) {
  constexpr int kCrashes = 200;
  const int files_before = CountEntries(folder_);
  Launch(Crasher(kCrashes).Backoff({.min = absl::Milliseconds(1), .max = absl::Milliseconds(2)}));
  // The first start succeeds, and so does that after the last crash.
  events_->Await(SupervisionEvent::Kind::kStarted, 1);
  const int open_before = OpenFiles();
  std::ofstream(folder_ + "/go") << "go\n";
  const SupervisionEvent last = events_->Await(SupervisionEvent::Kind::kBackoff, kCrashes - 1);
  EXPECT_EQ(last.restarts, kCrashes);
  EXPECT_TRUE(Becomes([&] { return events_->EndsBy(SIGSEGV) == kCrashes; })) << events_->EndsBy(SIGSEGV);
  EXPECT_TRUE(Becomes([&] { return OpenFiles() <= open_before; })) << OpenFiles() << " open, before " << open_before;
  EXPECT_TRUE(Becomes([&] { return ChildProcesses() <= 1; })) << ChildProcesses();
  EXPECT_EQ(CountEntries(folder_), files_before + 2) << "its own two files only";
  EXPECT_TRUE(system_.Shutdown(kDeadline));
  EXPECT_TRUE(Becomes([&] { return ChildProcesses() == 0; })) << ChildProcesses();
}

TEST_F(ProcessSupervisionTest, TheReasonHasTheSignalsNameAndTheLastLinesOfStandardError) {
  Launch(Crasher(1));
  events_->Await(SupervisionEvent::Kind::kStarted, 1);
  std::ofstream(folder_ + "/go") << "go\n";
  const std::string told = events_->Await(SupervisionEvent::Kind::kExited, 1).reason.ToString();
  EXPECT_THAT(told, StartsWith("OsSignal(11 SIGSEGV: "));
  EXPECT_THAT(told, EndsWith("about to crash | for the 1st time)"));  // after what its node has logged
}

TEST_F(ProcessSupervisionTest, LimitsThatCannotBeSetFailTheStartAndSayWhy) {
  const SupervisorRef root = Launch(Crasher(0).OpenFilesLimit(int64_t{1} << 60));
  EXPECT_THAT(events_->Await(SupervisionEvent::Kind::kStartFailed, 1).reason.ToString(),
              HasSubstr("cannot be limited to 1152921504606846976 open files"));
  EXPECT_TRUE(system_.AwaitEnd(root.pid(), kDeadline).ok());
  EXPECT_EQ(ChildProcesses(), 0);
}

TEST_F(ProcessSupervisionTest, AChildHasItsLimits) {
  // More memory than the sanitizers reserve for themselves.
  Launch(Crasher(1).OpenFilesLimit(100).MemoryLimit(int64_t{1} << 47));
  events_->Await(SupervisionEvent::Kind::kStarted, 1);
  std::ofstream(folder_ + "/limits") << "write them\n";
  std::ofstream(folder_ + "/go") << "go\n";
  EXPECT_THAT(events_->Await(SupervisionEvent::Kind::kExited, 1).reason.ToString(),
              HasSubstr("about to crash | with 100 open files and 140737488355328 bytes"));
}

// A FIFO that a process holds open: end of file is the end of the process.
class Fifo {
 public:
  explicit Fifo(std::string path) : path_(std::move(path)) {
    EXPECT_EQ(mkfifo(path_.c_str(), 0600), 0);
    reading_ = open(path_.c_str(), O_RDONLY | O_NONBLOCK | O_CLOEXEC);
  }
  ~Fifo() { close(reading_); }
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
    return poll(&wait, 1, static_cast<int>(absl::ToInt64Milliseconds(kDeadline))) == 1 && (wait.revents & events) != 0;
  }
  const std::string path_;
  int reading_ = -1;
};

TEST(ProcessOrphansOfASupervisor, SigkillOfItsProcessLeavesNoChildAliveASecondLater) {
  static_assert(limits::kParentGoneDrain < absl::Seconds(1));
  std::string folder = absl::StrCat(testing::TempDir(), "/understudy.XXXXXX");
  ASSERT_NE(mkdtemp(folder.data()), nullptr);
  Fifo well(folder + "/well");
  Fifo stuck(folder + "/stuck");
  auto launcher = OsProcess::Start({.binary = "test_node", .arguments = {"tree", well.path(), stuck.path()}},
                                   [](const ExitReason&) {});
  ASSERT_TRUE(launcher.ok()) << launcher.status();
  ASSERT_TRUE(well.WaitForLine());
  ASSERT_TRUE(stuck.WaitForLine());
  const absl::Time killed = absl::Now();
  kill((*launcher)->os_pid(), SIGKILL);
  EXPECT_TRUE(well.WaitForEnd());
  EXPECT_TRUE(stuck.WaitForEnd());
  // For people: a second, on a machine that has nothing else to do.
  RecordProperty("milliseconds", static_cast<int>(absl::ToInt64Milliseconds(absl::Now() - killed)));
  (void)std::system(absl::StrCat("rm -r ", folder).c_str());
}

}  // namespace
}  // namespace understudy
