// Tests of ProcessEnd, which tells about the end of a process besides its wait status (the last lines of its standard
// error, a kill by the OOM killer), and of ProcessLimits, the resources that a process may use.
#include <signal.h>
#include <sys/stat.h>
#include <unistd.h>

#include <cstdlib>
#include <fstream>
#include <memory>
#include <string>
#include <vector>

#include "absl/status/status.h"
#include "absl/status/statusor.h"
#include "absl/strings/str_cat.h"
#include "absl/strings/str_split.h"
#include "absl/synchronization/notification.h"
#include "absl/time/time.h"
#include "absl/types/optional.h"
#include "gmock/gmock.h"
#include "gtest/gtest.h"
#include "understudy/actors/clock.h"
#include "understudy/actors/exit_reason.h"
#include "understudy/actors/limits.h"
#include "understudy/actors/process_limits.h"
#include "understudy/transport/process/oom_kills.h"
#include "understudy/transport/process/os_process.h"
#include "understudy/transport/process/stderr_tail.h"

namespace understudy {
namespace {

using ::testing::HasSubstr;

// The reason that a script ends with.
ExitReason EndOf(const std::string& script, const ProcessLimits& limits = {}) {
  absl::Notification ended;
  ExitReason end;
  absl::StatusOr<std::unique_ptr<OsProcess>> process = OsProcess::Start(
      {.binary = "/bin/sh", .arguments = {"-c", script}, .limits = limits}, [&](const ExitReason& why) {
        end = why;
        ended.Notify();
      });
  EXPECT_TRUE(process.ok()) << process.status();
  if (!process.ok()) return end;
  EXPECT_TRUE(ended.WaitForNotificationWithTimeout(absl::Minutes(1)));
  return end;
}

TEST(ProcessEnd, TheLastLinesOfItsStandardErrorAreInItsReasonAndMarked) {
  const ExitReason code = EndOf("echo first >&2; echo second >&2; exit 3");
  EXPECT_EQ(code, ExitReason::OsExit(3, "stderr: first\nsecond"));
  EXPECT_EQ(code.ToString(), "OsExit(3: stderr: first | second)");
  EXPECT_EQ(EndOf("echo bang >&2; kill -SEGV $$").ToString(), "OsSignal(11 SIGSEGV: stderr: bang)");
  EXPECT_EQ(EndOf("kill -ABRT $$").ToString(), "OsSignal(6 SIGABRT)");
}

// A process that is killed from outside cannot write why it ends, so its last lines are about something else.
TEST(ProcessEnd, StandardErrorIsNotQuotedAfterAKill) {
  EXPECT_EQ(EndOf("echo an actor crashed >&2; kill -KILL $$").ToString(), "OsSignal(9 SIGKILL)");
}

TEST(ProcessEnd, StandardErrorIsNotQuotedAfterANormalEnd) {
  EXPECT_EQ(EndOf("echo all is well >&2"), ExitReason::Normal());
}

TEST(ProcessEnd, TheEndOfAFloodOnStandardErrorIsKept) {
  const ExitReason end = EndOf("i=0; while [ $i -lt 20000 ]; do echo line $i; i=$((i+1)); done >&2; exit 1");
  EXPECT_THAT(std::string(end.detail()), HasSubstr("line 19998\nline 19999"));
  EXPECT_LE(end.detail().size(), limits::kStderrTailBytesMax + sizeof("stderr: "));
}

TEST(ProcessEnd, ADescendantThatHoldsStandardErrorDoesNotDelayTheEnd) {
  EXPECT_EQ(EndOf("echo gone >&2; setsid sleep 60 & exit 4"), ExitReason::OsExit(4, "stderr: gone"));
}

TEST(ProcessEnd, OneThatClosesItsStandardErrorIsWatchedOn) {
  EXPECT_EQ(EndOf("echo closing >&2; exec 2>&-; i=0; while [ $i -lt 1000 ]; do i=$((i+1)); done; exit 5"),
            ExitReason::OsExit(5, "stderr: closing"));
}

TEST(StderrTail, IsLinesWithinBoundsAndPrintable) {
  internal::StderrTail tail;
  const MonotonicTime now = MonotonicTime::FromNanos(1000);
  EXPECT_EQ(tail.Text(now), "");
  tail.Add("a b\n\n  \nc\x01\xff", now);
  EXPECT_EQ(tail.Text(now), "a b\nc??");
  for (int i = 0; i < 100; ++i) tail.Add(absl::StrCat("\nline ", i), now);
  std::string expected = "line 90";
  for (int i = 91; i < 100; ++i) absl::StrAppend(&expected, "\nline ", i);
  EXPECT_EQ(tail.Text(now), expected);
  tail.Add(std::string(5000, 'x'), now);
  EXPECT_EQ(tail.Text(now), std::string(limits::kStderrTailBytesMax, 'x'));
}

TEST(StderrTail, WhatWasWrittenLongBeforeTheEndIsLeftOut) {
  internal::StderrTail tail;
  const MonotonicTime start = MonotonicTime::FromNanos(1000);
  tail.Add("node house-1: up\n", start);
  const MonotonicTime end = start + limits::kStderrTailWithin;
  EXPECT_EQ(tail.Text(end), "node house-1: up");
  EXPECT_EQ(tail.Text(end + absl::Nanoseconds(1)), "");
  tail.Add("the disk is full\n", end);
  EXPECT_EQ(tail.Text(end + absl::Nanoseconds(1)), "the disk is full");
}

// A file of these lines.
std::string FileOf(const std::string& folder, const std::string& name, const std::string& text) {
  const std::string path = absl::StrCat(folder, "/", name);
  std::ofstream(path) << text;
  return path;
}

std::string NewFolder() {
  std::string folder = absl::StrCat(testing::TempDir(), "/understudy.XXXXXX");
  EXPECT_NE(mkdtemp(folder.data()), nullptr);
  return folder;
}

TEST(OomKills, AreReadFromEitherVersionOfControlGroups) {
  const std::string root = NewFolder();
  const std::string two = FileOf(root, "two", "0::/house\n");
  EXPECT_EQ(internal::OomKills(two, root), absl::nullopt);
  FileOf(root, "memory.events", "low 0\noom 7\noom_kill 3\noom_group_kill 0\n");
  EXPECT_EQ(internal::OomKills(two, root), absl::optional<int64_t>(3))
      << "in a container the group is the mount's root";
  ASSERT_EQ(std::system(absl::StrCat("mkdir -p ", root, "/house ", root, "/memory/lots").c_str()), 0);
  FileOf(root, "house/memory.events", "oom_kill 4\n");
  EXPECT_EQ(internal::OomKills(two, root), absl::optional<int64_t>(4));
  const std::string one = FileOf(root, "one", "9:name=systemd:/\n5:cpu,memory:/lots\n0::/none\n");
  FileOf(root, "memory/lots/memory.oom_control", "oom_kill_disable 0\nunder_oom 0\noom_kill 5\n");
  EXPECT_EQ(internal::OomKills(one, root), absl::optional<int64_t>(5));
  EXPECT_EQ(internal::OomKills(absl::StrCat(root, "/absent"), root), absl::nullopt);
}

TEST(OomKills, AKillOfAnotherSenderIsNotTakenForOne) {
  EXPECT_EQ(EndOf("kill -KILL $$"), ExitReason::OsSignal(SIGKILL));
}

// A control group of our own with that much memory, and this process in it.
class SmallGroup {
 public:
  explicit SmallGroup(int64_t bytes) {
    std::ifstream groups("/proc/self/cgroup");
    for (std::string line; std::getline(groups, line);) {
      const std::vector<std::string> parts = absl::StrSplit(line, absl::MaxSplits(':', 2));
      if (parts.size() == 3 && parts[1] == "memory") parent_ = absl::StrCat("/sys/fs/cgroup/memory", parts[2]);
    }
    path_ = absl::StrCat(parent_, "/understudy-", getpid());
    if (parent_.empty() || mkdir(path_.c_str(), 0755) != 0) return;
    is_made_ = Write(path_ + "/memory.limit_in_bytes", absl::StrCat(bytes)) && Enter(path_);
  }
  ~SmallGroup() {
    if (is_made_) Enter(parent_);
    rmdir(path_.c_str());
  }
  bool is_made() const { return is_made_; }

 private:
  static bool Write(const std::string& path, const std::string& text) {
    std::ofstream file(path);
    file << text << std::flush;
    return file.good();
  }
  static bool Enter(const std::string& group) { return Write(group + "/cgroup.procs", absl::StrCat(getpid())); }

  std::string parent_;
  std::string path_;
  bool is_made_ = false;
};

TEST(OomKills, AProcessThatIsKilledForWantOfMemoryIsToldAsThat) {
  const SmallGroup group(int64_t{256} << 20);
  if (!group.is_made()) GTEST_SKIP() << "only where control groups of version 1 may be made";
  const ExitReason end = EndOf("echo filling >&2; all=$(head -c 900000000 /dev/zero | tr '\\0' x); exit 1");
  EXPECT_EQ(end.kind(), ExitReason::Kind::kOsSignal) << end;
  EXPECT_EQ(end.os_value(), SIGKILL);
  EXPECT_THAT(std::string(end.detail()), HasSubstr("out of memory: its control group has had"));
  EXPECT_THAT(std::string(end.detail()), HasSubstr("filling"));
}

// The limits hold from just after the start, so these wait until they see them.
TEST(ProcessLimits, HoldForTheProcess) {
  EXPECT_EQ(EndOf("until [ \"$(ulimit -n)\" = 40 ]; do :; done; exit 7", {.open_files = 40}), ExitReason::OsExit(7));
  EXPECT_EQ(EndOf("until [ \"$(ulimit -d)\" = 65536 ]; do :; done; exit 8", {.memory_bytes = int64_t{64} << 20}),
            ExitReason::OsExit(8));
}

TEST(ProcessLimits, CannotBeRaisedByTheProcess) {
  EXPECT_EQ(
      EndOf("until [ \"$(ulimit -n)\" = 40 ]; do :; done; [ \"$(ulimit -H -n)\" = 40 ] && exit 7", {.open_files = 40}),
      ExitReason::OsExit(7));
}

TEST(ProcessLimits, OneThatIsOutOfMemoryIsToldSoByItsAllocator) {
  const ExitReason end = EndOf(
      "until [ \"$(ulimit -d)\" = 32768 ]; do :; done; exec head -c 200000000 /dev/zero | tail -c 200000000 >/dev/null",
      {.memory_bytes = int64_t{32} << 20});
  EXPECT_EQ(end.kind(), ExitReason::Kind::kOsExit) << end;
  EXPECT_THAT(std::string(end.detail()), HasSubstr("memory exhausted"));
}

TEST(ProcessLimits, WhatThePlatformCannotHoldFailsTheStart) {
  for (const ProcessLimits& limits : {ProcessLimits{.open_files = int64_t{1} << 60}, ProcessLimits{.open_files = -1},
                                      ProcessLimits{.memory_bytes = -1}}) {
    const absl::StatusOr<std::unique_ptr<OsProcess>> process = OsProcess::Start(
        {.binary = "/bin/sleep", .arguments = {"60"}, .limits = limits}, [](const ExitReason&) { ADD_FAILURE(); });
    EXPECT_EQ(process.status().code(), absl::StatusCode::kFailedPrecondition);
    EXPECT_THAT(std::string(process.status().message()), HasSubstr("cannot be limited to"));
  }
}

}  // namespace
}  // namespace understudy
