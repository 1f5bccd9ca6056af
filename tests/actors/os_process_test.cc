#include "understudy/transport/process/os_process.h"

#include <fcntl.h>
#include <poll.h>
#include <signal.h>
#include <sys/stat.h>
#include <sys/wait.h>
#include <unistd.h>

#include <array>
#include <cerrno>
#include <fstream>
#include <memory>
#include <string>
#include <utility>
#include <vector>

#include "absl/base/thread_annotations.h"
#include "absl/status/status.h"
#include "absl/status/statusor.h"
#include "absl/strings/match.h"
#include "absl/strings/str_cat.h"
#include "absl/strings/string_view.h"
#include "absl/synchronization/mutex.h"
#include "absl/synchronization/notification.h"
#include "absl/time/time.h"
#include "gmock/gmock.h"
#include "gtest/gtest.h"
#include "understudy/actors/exit_reason.h"

namespace understudy {
namespace {

using ::testing::HasSubstr;

constexpr absl::Duration kDeadline = absl::Seconds(30);

// Hears the end of one process.
class End {
 public:
  OsProcess::OnEnd Callback() {
    return [this](const ExitReason& reason) {
      absl::MutexLock lock(&mu_);
      ++times_;
      reason_ = reason;
    };
  }
  ExitReason Wait() {
    absl::MutexLock lock(&mu_);
    const auto told = [this]() ABSL_EXCLUSIVE_LOCKS_REQUIRED(mu_) { return times_ > 0; };
    EXPECT_TRUE(mu_.AwaitWithTimeout(absl::Condition(&told), kDeadline)) << "the end was not told in time";
    EXPECT_EQ(times_, 1);
    return reason_;
  }

 private:
  absl::Mutex mu_;
  int times_ ABSL_GUARDED_BY(mu_) = 0;
  ExitReason reason_ ABSL_GUARDED_BY(mu_);
};

// A pipe whose writing end is given to a process.
class Pipe {
 public:
  Pipe() {
    std::array<int, 2> ends;
    EXPECT_EQ(pipe2(ends.data(), O_CLOEXEC), 0);
    reading_ = ends[0];
    writing_ = ends[1];
  }
  ~Pipe() {
    close(reading_);
    CloseWriting();
  }
  int writing() const { return writing_; }
  void CloseWriting() {
    if (writing_ >= 0) close(writing_);
    writing_ = -1;
  }
  // All that is written until the last writing end is closed, or until `enough`
  // bytes are there.
  std::string Read(size_t enough = SIZE_MAX) {
    CloseWriting();
    std::string text;
    std::array<char, 4096> buffer;
    while (text.size() < enough) {
      struct pollfd wait = {.fd = reading_, .events = POLLIN, .revents = 0};
      if (poll(&wait, 1, static_cast<int>(absl::ToInt64Milliseconds(kDeadline))) != 1) {
        ADD_FAILURE() << "nothing came in time; so far: " << text;
        return text;
      }
      const ssize_t got = read(reading_, buffer.data(), buffer.size());
      if (got <= 0) return text;
      text.append(buffer.data(), static_cast<size_t>(got));
    }
    return text;
  }

 private:
  int reading_ = -1;
  int writing_ = -1;
};

// The result of RunScript, which runs a script to its end. `output` is what the script wrote to descriptor 3.
struct Ran {
  ExitReason reason;
  std::string output;
};
Ran RunScript(const std::string& script, std::vector<std::pair<std::string, std::string>> environment = {}) {
  Pipe pipe;
  End end;
  absl::StatusOr<std::unique_ptr<OsProcess>> process = OsProcess::Start({.binary = "/bin/sh",
                                                                         .arguments = {"-c", script},
                                                                         .environment = std::move(environment),
                                                                         .descriptors = {pipe.writing()}},
                                                                        end.Callback());
  EXPECT_TRUE(process.ok()) << process.status();
  std::string output = pipe.Read();
  return {.reason = end.Wait(), .output = std::move(output)};
}

TEST(OsProcess, ExitCodeZeroIsNormal) { EXPECT_EQ(RunScript("exit 0").reason, ExitReason::Normal()); }

TEST(OsProcess, AnotherExitCodeIsOsExit) { EXPECT_EQ(RunScript("exit 3").reason, ExitReason::OsExit(3)); }

TEST(OsProcess, ASignalIsOsSignal) {
  EXPECT_EQ(RunScript("kill -SEGV $$").reason, ExitReason::OsSignal(SIGSEGV));
  EXPECT_EQ(RunScript("kill -KILL $$").reason, ExitReason::OsSignal(SIGKILL));
}

TEST(OsProcess, ArgumentsArriveAsTheyAre) {
  Pipe pipe;
  End end;
  auto process = OsProcess::Start({.binary = "/bin/sh",
                                   .arguments = {"-c", "printf '%s|' \"$@\" >&3", "sh", "a b", "", "*"},
                                   .descriptors = {pipe.writing()}},
                                  end.Callback());
  ASSERT_TRUE(process.ok()) << process.status();
  EXPECT_EQ(pipe.Read(), "a b||*|");
  EXPECT_EQ(end.Wait(), ExitReason::Normal());
}

TEST(OsProcess, TheEnvironmentIsOursPlusWhatIsAdded) {
  ASSERT_EQ(setenv("UNDERSTUDY_TEST_KEPT", "kept", 1), 0);
  ASSERT_EQ(setenv("UNDERSTUDY_TEST_CHANGED", "before", 1), 0);
  const Ran ran = RunScript("echo \"$UNDERSTUDY_TEST_KEPT $UNDERSTUDY_TEST_CHANGED $UNDERSTUDY_TEST_NEW\" >&3",
                            {{"UNDERSTUDY_TEST_CHANGED", "after"}, {"UNDERSTUDY_TEST_NEW", "new"}});
  EXPECT_EQ(ran.output, "kept after new\n");
}

TEST(OsProcess, OnlyTheListedDescriptorsAreInherited) {
  // A descriptor that is not close-on-exec, as a library might leave one open.
  const int leaked = open("/dev/null", O_RDONLY);
  ASSERT_GE(leaked, 0);
  // A glob such as /proc/$$/fd/* would open a descriptor itself, so the script tests the numbers one by one.
  const Ran ran = RunScript(
      "for n in 0 1 2 3 4 5 6 7 8 9 10 11 12 13 14 15; do "
      "if [ -e /proc/$$/fd/$n ]; then echo $n; fi; done >&3");
  close(leaked);
  // dash keeps copies of redirected descriptors at 10 and above, which are not counted.
  std::string listed = ran.output.substr(0, ran.output.find("10\n"));
  EXPECT_TRUE(absl::StartsWith(listed, "0\n1\n2\n3\n")) << ran.output;
  EXPECT_EQ(listed, "0\n1\n2\n3\n") << ran.output;
}

TEST(OsProcess, DescriptorsArriveInOrderEvenWhenTheirNumbersOverlap) {
  Pipe first;
  Pipe second;
  End end;
  // The second one's number may be the first one's target: swap them.
  auto process = OsProcess::Start({.binary = "/bin/sh",
                                   .arguments = {"-c", "echo three >&3; echo four >&4"},
                                   .descriptors = {second.writing(), first.writing()}},
                                  end.Callback());
  ASSERT_TRUE(process.ok()) << process.status();
  EXPECT_EQ(second.Read(), "three\n");
  EXPECT_EQ(first.Read(), "four\n");
  EXPECT_EQ(end.Wait(), ExitReason::Normal());
}

TEST(OsProcess, ItsSignalsAreAtTheirDefaultsAndNoneIsBlocked) {
  sigset_t terminate;
  sigset_t before;
  sigemptyset(&terminate);
  sigaddset(&terminate, SIGTERM);
  pthread_sigmask(SIG_BLOCK, &terminate, &before);
  auto* const handler = signal(SIGTERM, SIG_IGN);
  const Ran ran = RunScript("kill -TERM $$; echo survived >&3");
  signal(SIGTERM, handler);
  pthread_sigmask(SIG_SETMASK, &before, nullptr);
  EXPECT_EQ(ran.reason, ExitReason::OsSignal(SIGTERM));
  EXPECT_EQ(ran.output, "");
}

TEST(OsProcess, ItLeadsAProcessGroupOfItsOwn) {
  Pipe pipe;
  End end;
  auto process = OsProcess::Start(
      {.binary = "/bin/sh", .arguments = {"-c", "echo up >&3; exec sleep 600"}, .descriptors = {pipe.writing()}},
      end.Callback());
  ASSERT_TRUE(process.ok()) << process.status();
  EXPECT_EQ(pipe.Read(3), "up\n");
  EXPECT_EQ(getpgid((*process)->os_pid()), (*process)->os_pid());
  EXPECT_NE(getpgid((*process)->os_pid()), getpgrp());
  (*process)->Kill();
  EXPECT_EQ(end.Wait(), ExitReason::OsSignal(SIGKILL));
}

TEST(OsProcess, TerminateCanBeHandled) {
  Pipe pipe;
  End end;
  auto process =
      OsProcess::Start({.binary = "/bin/sh",
                        .arguments = {"-c", "trap 'exit 7' TERM; echo up >&3; while :; do sleep 600 & wait; done"},
                        .descriptors = {pipe.writing()}},
                       end.Callback());
  ASSERT_TRUE(process.ok()) << process.status();
  EXPECT_EQ(pipe.Read(3), "up\n");
  (*process)->Terminate();
  EXPECT_EQ(end.Wait(), ExitReason::OsExit(7));
}

TEST(OsProcess, KillEndsOneThatIgnoresTerminate) {
  Pipe pipe;
  End end;
  auto process = OsProcess::Start({.binary = "/bin/sh",
                                   .arguments = {"-c", "trap '' TERM; echo up >&3; while :; do sleep 600; done"},
                                   .descriptors = {pipe.writing()}},
                                  end.Callback());
  ASSERT_TRUE(process.ok()) << process.status();
  EXPECT_EQ(pipe.Read(3), "up\n");
  (*process)->Terminate();
  (*process)->Kill();
  EXPECT_EQ(end.Wait(), ExitReason::OsSignal(SIGKILL));
}

TEST(OsProcess, DestroyingTheHandleKillsTheProcessAndItsEndIsStillTold) {
  End end;
  auto process = OsProcess::Start({.binary = "/bin/sleep", .arguments = {"600"}}, end.Callback());
  ASSERT_TRUE(process.ok()) << process.status();
  process->reset();
  EXPECT_EQ(end.Wait(), ExitReason::OsSignal(SIGKILL));
}

TEST(OsProcess, TheRestOfTheGroupIsKilledWhenTheFirstProcessEnds) {
  Pipe pipe;
  End end;
  // The sleeper holds the pipe open: its end of file shows that it is gone.
  auto process = OsProcess::Start(
      {.binary = "/bin/sh", .arguments = {"-c", "sleep 600 & exit 0"}, .descriptors = {pipe.writing()}},
      end.Callback());
  ASSERT_TRUE(process.ok()) << process.status();
  EXPECT_EQ(pipe.Read(), "");
  EXPECT_EQ(end.Wait(), ExitReason::Normal());
}

TEST(OsProcess, SignalsAfterTheEndDoNothing) {
  End end;
  auto process = OsProcess::Start({.binary = "/bin/true"}, end.Callback());
  ASSERT_TRUE(process.ok()) << process.status();
  EXPECT_EQ(end.Wait(), ExitReason::Normal());
  (*process)->Terminate();
  (*process)->Kill();
}

TEST(OsProcess, ManyProcessesAreEachToldOnce) {
  std::vector<std::unique_ptr<End>> ends;
  std::vector<std::unique_ptr<OsProcess>> processes;
  for (int i = 0; i < 20; ++i) {
    ends.push_back(std::make_unique<End>());
    auto process = OsProcess::Start({.binary = "/bin/sh", .arguments = {"-c", absl::StrCat("exit ", i + 1)}},
                                    ends.back()->Callback());
    ASSERT_TRUE(process.ok()) << process.status();
    processes.push_back(*std::move(process));
  }
  for (int i = 0; i < 20; ++i) EXPECT_EQ(ends[static_cast<size_t>(i)]->Wait(), ExitReason::OsExit(i + 1));
}

// Failures to start: each names the binary, and its end is not told.
absl::Status StartFailure(const OsProcessSpec& spec) {
  auto process = OsProcess::Start(spec, [](const ExitReason&) { ADD_FAILURE() << "told of what never started"; });
  EXPECT_FALSE(process.ok());
  return process.status();
}

// The library's thread learns at once that a process has ended and that its standard error is closed. The callback of
// the end starts another process, whose pidfd gets the number that the closed standard error had. The second event,
// which is of the closed descriptor, must not end the new process.
TEST(OsProcess, AnEventOfAClosedDescriptorIsNotTakenForOneOfTheNextProcess) {
  absl::Notification is_waiting;
  absl::Notification may_go_on;
  auto blocker = OsProcess::Start({.binary = "/bin/true"}, [&](const ExitReason&) {
    is_waiting.Notify();
    may_go_on.WaitForNotification();  // so that both events are there when the library's thread looks
  });
  ASSERT_TRUE(blocker.ok()) << blocker.status();
  is_waiting.WaitForNotification();

  Pipe told;
  std::array<int, 2> orders;   // read by the second process of the first one's group, which has its standard error too
  std::array<int, 2> release;  // read by the next process
  ASSERT_EQ(pipe2(orders.data(), O_CLOEXEC), 0);
  ASSERT_EQ(pipe2(release.data(), O_CLOEXEC), 0);
  absl::StatusOr<std::unique_ptr<OsProcess>> next = absl::UnknownError("not started");
  End next_end;
  End first_end;
  auto start_next = [&, tell = first_end.Callback()](const ExitReason& reason) mutable {
    // The standard error of `next` gets the lowest free number, that of `told`'s writing end; its pidfd gets the next.
    next = OsProcess::Start(
        {.binary = "/bin/sh", .arguments = {"-c", "read order <&3; exit 5"}, .descriptors = {release[0]}},
        next_end.Callback());
    std::move(tell)(reason);
  };
  const std::string script = "{ read order <&3; exec 2>&-; echo closed >&4; read order <&3; } & exit 0";
  auto first =
      OsProcess::Start({.binary = "/bin/sh", .arguments = {"-c", script}, .descriptors = {orders[0], told.writing()}},
                       std::move(start_next));
  ASSERT_TRUE(first.ok()) << first.status();
  siginfo_t ended;
  ASSERT_EQ(waitid(P_PID, static_cast<id_t>((*first)->os_pid()), &ended, WEXITED | WNOWAIT), 0);
  ASSERT_EQ(write(orders[1], "close\n", 6), 6);
  ASSERT_EQ(told.Read(7), "closed\n");
  may_go_on.Notify();
  EXPECT_EQ(first_end.Wait(), ExitReason::Normal());
  EXPECT_EQ(RunScript("exit 0").reason, ExitReason::Normal());  // in a later list of events
  ASSERT_TRUE(next.ok()) << next.status();
  ASSERT_EQ(write(release[1], "end\n", 4), 4);
  EXPECT_EQ(next_end.Wait(), ExitReason::OsExit(5));
  for (const int end : {orders[0], orders[1], release[0], release[1]}) close(end);
}

TEST(OsProcess, AMissingBinaryIsNotFound) {
  const absl::Status status = StartFailure({.binary = "/no/such/ledger_node"});
  EXPECT_EQ(status.code(), absl::StatusCode::kNotFound);
  EXPECT_THAT(std::string(status.message()), HasSubstr("/no/such/ledger_node"));
}

TEST(OsProcess, ABareNameIsLookedForBesideThisProgram) {
  const absl::Status status = StartFailure({.binary = "no_such_node"});
  EXPECT_EQ(status.code(), absl::StatusCode::kNotFound);
  EXPECT_THAT(std::string(status.message()), HasSubstr("beside this program"));
  absl::StatusOr<std::string> own = FindBinary("os_process_test");
  ASSERT_TRUE(own.ok()) << own.status();
  EXPECT_EQ(access(own->c_str(), X_OK), 0);
}

TEST(OsProcess, AFileThatIsNotExecutableIsPermissionDenied) {
  const std::string path = ::testing::TempDir() + "/not_executable";
  std::ofstream(path) << "#!/bin/sh\n";
  ASSERT_EQ(chmod(path.c_str(), 0600), 0);
  const absl::Status status = StartFailure({.binary = path});
  EXPECT_EQ(status.code(), absl::StatusCode::kPermissionDenied);
  EXPECT_THAT(std::string(status.message()), HasSubstr("not_executable"));
}

TEST(OsProcess, TooManyArgumentsAreInvalid) {
  const absl::Status status = StartFailure({.binary = "/bin/true", .arguments = {std::string(size_t{8} << 20, 'x')}});
  EXPECT_EQ(status.code(), absl::StatusCode::kInvalidArgument);
  EXPECT_THAT(std::string(status.message()), HasSubstr("/bin/true"));
}

TEST(OsProcess, ANulInAnArgumentAndABadVariableNameAreInvalid) {
  EXPECT_EQ(StartFailure({.binary = "/bin/true", .arguments = {std::string("a\0b", 3)}}).code(),
            absl::StatusCode::kInvalidArgument);
  EXPECT_EQ(StartFailure({.binary = "/bin/true", .environment = {{"A=B", "c"}}}).code(),
            absl::StatusCode::kInvalidArgument);
}

TEST(OsProcess, ADescriptorThatIsNotOpenIsInvalid) {
  const absl::Status status = StartFailure({.binary = "/bin/true", .descriptors = {9999}});
  EXPECT_EQ(status.code(), absl::StatusCode::kInvalidArgument);
  EXPECT_THAT(std::string(status.message()), HasSubstr("9999"));
}

TEST(OsProcessDeathTest, AnIgnoredSigchldIsACheck) {
  EXPECT_DEATH(
      {
        signal(SIGCHLD, SIG_IGN);
        (void)OsProcess::Start({.binary = "/bin/true"}, [](const ExitReason&) {});
      },
      "SIGCHLD is ignored");
}

}  // namespace
}  // namespace understudy
