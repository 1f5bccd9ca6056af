// Tests of process children under a supervisor: repeated crashes, resources that processes leave behind, and the
// supervision events.
#include <dirent.h>
#include <fcntl.h>
#include <poll.h>
#include <signal.h>
#include <sys/stat.h>
#include <time.h>
#include <unistd.h>

#include <algorithm>
#include <array>
#include <atomic>
#include <cstdlib>
#include <fstream>
#include <functional>
#include <memory>
#include <string>
#include <thread>
#include <utility>
#include <vector>

#include "absl/base/thread_annotations.h"
#include "absl/status/statusor.h"
#include "absl/strings/match.h"
#include "absl/strings/numbers.h"
#include "absl/strings/str_cat.h"
#include "absl/strings/str_split.h"
#include "absl/synchronization/mutex.h"
#include "absl/time/time.h"
#include "gmock/gmock.h"
#include "gtest/gtest.h"
#include "understudy/actors/actor_system.h"
#include "understudy/actors/clock.h"
#include "understudy/actors/exit_reason.h"
#include "understudy/actors/limits.h"
#include "understudy/actors/log_sink.h"
#include "understudy/actors/testing/sanitized.h"
#include "understudy/supervision/builders.h"
#include "understudy/supervision/child_spec.h"
#include "understudy/supervision/supervision_event.h"
#include "understudy/supervision/supervisor.h"
#include "understudy/tests/transport/processes/fifo.h"
#include "understudy/transport/node.h"
#include "understudy/transport/process/os_process.h"

namespace understudy {
namespace {

using ::testing::EndsWith;
using ::testing::HasSubstr;
using ::testing::StartsWith;

constexpr absl::Duration kDeadline = absl::Minutes(4);

// The supervisor's events. Any thread.
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

// The processes of test_node whose parent is this one, zombies too. ThreadSanitizer starts a process of its own, its
// symbolizer, when it finds the first race that is suppressed; it stays, and is not counted.
int ChildProcesses() {
  DIR* const open = opendir("/proc");
  int children = 0;
  while (const dirent* entry = readdir(open)) {
    int pid = 0;
    if (!absl::SimpleAtoi(entry->d_name, &pid)) continue;
    std::ifstream file(absl::StrCat("/proc/", pid, "/stat"));
    std::string line;
    if (!std::getline(file, line)) continue;
    // "12 (test_node) S 11 …"
    if (!absl::StrContains(line, "(test_node)")) continue;
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
    return Process("test_node", {"crasher", folder_ + "/starts", absl::StrCat(times)});
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
  // Two more, if ThreadSanitizer has started its symbolizer meanwhile (see ChildProcesses).
  const int open_max = open_before + 2;
  EXPECT_TRUE(Becomes([&] { return OpenFiles() <= open_max; })) << OpenFiles() << " open, before " << open_before;
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
  EXPECT_THAT(told, StartsWith("OsSignal(11 SIGSEGV: stderr: "));
  EXPECT_THAT(told, EndsWith("about to crash | for the 1st time)"));  // after what its node has logged
}

TEST_F(ProcessSupervisionTest, LimitsThatCannotBeSetFailTheStartAndSayWhy) {
  const SupervisorRef root = Launch(Crasher(0).OpenFilesLimit(int64_t{1} << 60));
  EXPECT_THAT(events_->Await(SupervisionEvent::Kind::kStartFailed, 1).reason.ToString(),
              HasSubstr("cannot be limited to 1152921504606846976 open files"));
  EXPECT_TRUE(system_.AwaitEnd(root.pid(), kDeadline).ok());
  EXPECT_TRUE(Becomes([&] { return ChildProcesses() == 0; })) << ChildProcesses();  // of the test before, too
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

// One child is killed after its six seconds, which are longer than the default of five; meanwhile the other is still
// stopping.
TEST_F(ProcessSupervisionTest, AChildWithoutLimitIsWaitedForAndNotSignalled) {
  const std::string go_on = folder_ + "/go_on";
  ASSERT_EQ(mkfifo(go_on.c_str(), 0600), 0);
  const SupervisorRef root =
      system_.Spawn(OneForOne()
                        .StopTogether()
                        .OnEvent([events = events_](const SupervisionEvent& event) { events->Hear(event); })
                        .Child("slow", Process("test_node", {"slow", go_on}).ShutdownWithoutLimit())
                        .Child("deaf", Process("test_node", {"deaf"}).ShutdownWithin(absl::Seconds(6))));
  events_->Await(SupervisionEvent::Kind::kStarted, 2);
  system_.RequestStop(root.pid());
  const SupervisionEvent killed = events_->Await(SupervisionEvent::Kind::kStopped, 1);
  EXPECT_EQ(killed.child, "deaf");
  EXPECT_EQ(killed.reason, ExitReason::Killed());
  const int writing = open(go_on.c_str(), O_WRONLY | O_NONBLOCK | O_CLOEXEC);
  ASSERT_GE(writing, 0) << "it was asked to stop, and reads";
  EXPECT_EQ(write(writing, "x", 1), 1);
  close(writing);
  const SupervisionEvent stopped = events_->Await(SupervisionEvent::Kind::kStopped, 2);
  EXPECT_EQ(stopped.child, "slow");
  EXPECT_EQ(stopped.reason, ExitReason::Normal());
  EXPECT_TRUE(system_.AwaitEnd(root.pid(), kDeadline).ok());
}

// How many times longer than it should a short wait with a little work takes on this machine, from the construction on.
class Slowness {
 public:
  Slowness() : thread_([this] { Measure(); }) {}
  double Stop() {
    stopping_.store(true);
    thread_.join();
    return std::max(1.0, absl::FDivDuration(taken_, nominal_));
  }

 private:
  static timespec CpuTime() {
    timespec time{};
    clock_gettime(CLOCK_THREAD_CPUTIME_ID, &time);
    return time;
  }
  void Measure() {
    constexpr absl::Duration kWork = absl::Milliseconds(1);
    do {
      const MonotonicTime begin = Clock::Real().Now();
      poll(nullptr, 0, 9);
      const absl::Duration worked = absl::DurationFromTimespec(CpuTime());
      while (absl::DurationFromTimespec(CpuTime()) - worked < kWork) {
      }
      taken_ += Clock::Real().Now() - begin;
      nominal_ += absl::Milliseconds(9) + kWork;
    } while (!stopping_.load());
  }
  std::atomic<bool> stopping_{false};
  absl::Duration taken_;
  absl::Duration nominal_;
  std::thread thread_;
};

// How long after SIGKILL of the top its children and theirs had all ended, as it would be on a machine that is not
// slow.
struct OrphansEnd {
  absl::Duration children;
  absl::Duration grandchildren;
};

OrphansEnd KillTheTop() {
  std::string folder = absl::StrCat(testing::TempDir(), "/understudy.XXXXXX");
  EXPECT_NE(mkdtemp(folder.data()), nullptr);
  OrphansEnd end;
  {
    std::array<Fifo, 5> fifos = {Fifo(folder + "/well"), Fifo(folder + "/stuck"), Fifo(folder + "/branch"),
                                 Fifo(folder + "/well of branch"), Fifo(folder + "/stuck of branch")};
    std::vector<std::string> arguments = {"tree"};
    for (const Fifo& fifo : fifos) arguments.push_back(fifo.path());
    auto launcher = OsProcess::Start({.binary = "test_node", .arguments = arguments}, [](const ExitReason&) {});
    EXPECT_TRUE(launcher.ok()) << launcher.status();
    if (!launcher.ok()) return end;
    for (Fifo& fifo : fifos) EXPECT_TRUE(fifo.WaitForLine()) << fifo.path();
    Slowness slowness;
    const MonotonicTime killed = Clock::Real().Now();
    kill((*launcher)->os_pid(), SIGKILL);
    for (size_t i = 0; i < 3; ++i) EXPECT_TRUE(fifos[i].WaitForEnd()) << fifos[i].path();
    end.children = Clock::Real().Now() - killed;
    for (size_t i = 3; i < 5; ++i) EXPECT_TRUE(fifos[i].WaitForEnd()) << fifos[i].path();
    end.grandchildren = Clock::Real().Now() - killed;
    const double slow = slowness.Stop();
    end.children /= slow;
    end.grandchildren /= slow;
  }
  (void)std::system(absl::StrCat("rm -r ", folder).c_str());
  return end;
}

absl::Duration Median(std::vector<absl::Duration> times) {
  std::sort(times.begin(), times.end());
  return times[times.size() / 2];
}

// A process with a sanitizer takes longer to begin its end and to be done with it.
constexpr int kBySanitizer = kIsSanitized ? 3 : 1;

// Each process exits at the latest kParentGoneDrain after it has read the end of file from its parent, even if a
// handler does not return; its own children read their end of file then. The rest of a second is for the operating
// system. On a slow machine all of that takes longer.
TEST(ProcessOrphansOfASupervisor, SigkillOfItsProcessLeavesNoChildAliveASecondLater) {
  static_assert(limits::kParentGoneDrain < absl::Seconds(1));
  constexpr int kRounds = 5;
  std::vector<absl::Duration> children;
  std::vector<absl::Duration> grandchildren;
  for (int round = 0; round < kRounds; ++round) {
    const OrphansEnd end = KillTheTop();
    children.push_back(end.children);
    grandchildren.push_back(end.grandchildren);
  }
  RecordProperty("children_milliseconds", static_cast<int>(absl::ToInt64Milliseconds(Median(children))));
  RecordProperty("grandchildren_milliseconds", static_cast<int>(absl::ToInt64Milliseconds(Median(grandchildren))));
  EXPECT_LE(Median(children), absl::Seconds(1) * kBySanitizer);
  EXPECT_LE(Median(grandchildren), absl::Seconds(2) * kBySanitizer) << "a second for each level";
}

}  // namespace
}  // namespace understudy
