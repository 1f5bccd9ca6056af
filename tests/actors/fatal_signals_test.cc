// Tests of the report in standard error when a signal ends the process. Each crash happens in a child process.
#include "understudy/actors/internal/system/fatal_signals.h"

#include <fcntl.h>
#include <sys/resource.h>
#include <sys/wait.h>
#include <unistd.h>

#include <csetjmp>
#include <csignal>
#include <cstdint>
#include <cstdlib>
#include <cstring>
#include <memory>
#include <string>
#include <typeinfo>
#include <vector>

#include "absl/functional/function_ref.h"
#include "absl/strings/string_view.h"
#include "absl/time/time.h"
#include "gmock/gmock.h"
#include "gtest/gtest.h"
#include "understudy/actors/actor.h"
#include "understudy/actors/actor_system.h"
#include "understudy/actors/internal/system/fixed_text.h"
#include "understudy/actors/message.h"

namespace understudy {
namespace {

using internal::FatalSignals;
using internal::FixedText;
using ::testing::ContainsRegex;
using ::testing::EndsWith;
using ::testing::HasSubstr;
using ::testing::Not;

enum class Crash { kWriteToNowhere, kOverflowStack, kAbort, kLoseItsClassAndAbort, kInConstructor, kInStart };

struct Blow {
  Crash crash = Crash::kAbort;
};

// Within the first page, which is never mapped; not null, which a sanitizer would find before.
volatile uintptr_t nowhere = 16;
// NOLINTNEXTLINE(performance-no-int-to-ptr)
void WriteToNowhere() { *reinterpret_cast<volatile int*>(nowhere) = 1; }

// The frames are smaller than the guard below a stack.
int OverflowStack(int depth) {  // NOLINT(misc-no-recursion)
  volatile char frame[512];
  frame[depth % 512] = static_cast<char>(depth);
  return depth == 0 ? 0 : OverflowStack(depth - 1) + frame[depth % 512];
}

class Victim final : public Actor {
 public:
  Mailbox<"blow", Blow> blow{this};
  explicit Victim(Crash crash = Crash::kAbort) : crash_(crash) {
    if (crash_ == Crash::kInConstructor) WriteToNowhere();
  }
  StartResult Start() override {
    if (crash_ == Crash::kInStart) WriteToNowhere();
    return living_;
  }

 private:
  void Suffer(const Blow& how) {
    if (how.crash == Crash::kWriteToNowhere) WriteToNowhere();
    if (how.crash == Crash::kOverflowStack && OverflowStack(1000000) == 1) return;
    if (how.crash == Crash::kLoseItsClassAndAbort) std::memset(static_cast<void*>(this), 0, sizeof(void*));
    std::abort();
  }
  const Crash crash_;
  Behavior living_{"living", On(blow, &Victim::Suffer)};
};

ActorSystemOptions Reporting() {
  return {.name = "house-1", .threads = {.threads = 4}, .fatal_signal_reports = FatalSignalReports::kYes};
}

void CrashInAHandler(Crash crash, SpawnThread thread = SpawnThread::kShared) {
  ActorSystem system(Reporting());
  const auto victim = system.Spawn<Victim>(SpawnOptions{.thread = thread, .label = "lot-7"});
  victim[&Victim::blow].Tell({crash});
  pause();
}

struct sigaction ActionOf(int number) {
  struct sigaction action;
  EXPECT_EQ(sigaction(number, nullptr, &action), 0);
  return action;
}

// A sanitizer handles it, and ends the process with a code.
bool IsHandled(int number) { return ActionOf(number).sa_handler != SIG_DFL; }

struct Ended {
  std::string said;  // to standard error
  int status = 0;    // as waitpid says
};

// Runs `body` in a child process, which it ends.
Ended InChild(absl::FunctionRef<void()> body) {
  int ends[2];
  EXPECT_EQ(pipe2(ends, O_CLOEXEC), 0);
  const pid_t child = fork();
  if (child == 0) {
    dup2(ends[1], STDERR_FILENO);
    const rlimit no_core = {.rlim_cur = 0, .rlim_max = 0};
    setrlimit(RLIMIT_CORE, &no_core);
    body();
    _exit(99);
  }
  close(ends[1]);
  Ended ended;
  char bytes[4096];
  for (ssize_t count = 0; (count = read(ends[0], bytes, sizeof(bytes))) > 0;) {
    ended.said.append(bytes, static_cast<size_t>(count));
  }
  close(ends[0]);
  EXPECT_EQ(waitpid(child, &ended.status, 0), child);
  return ended;
}

void ExpectEndedBy(int number, const Ended& ended) {
  if (IsHandled(number)) {
    EXPECT_TRUE(WIFEXITED(ended.status) && WEXITSTATUS(ended.status) != 0) << ended.status;
  } else {
    EXPECT_TRUE(WIFSIGNALED(ended.status)) << ended.status;
    EXPECT_EQ(WTERMSIG(ended.status), number) << ended.said;
    EXPECT_THAT(ended.said, EndsWith("\n"));
  }
}

#define HEAD "^E [0-9-]{10}T[0-9:]{8}[.][0-9]{6}Z [0-9]+/[0-9]+"
#define ACTOR " <house-1[.][0-9]+[.][0-9]+>\\] "
#define VICTIM "understudy::\\(anonymous namespace\\)::Victim"
#define HANDLER VICTIM " \"lot-7\", mailbox blow handling a understudy::\\(anonymous namespace\\)::Blow"
#define BUILD "; build id [0-9a-f]{16,}\n"

TEST(FatalSignalsTest, AWriteToNowhereIsNamedWithItsActorAndEndsTheProcessBySIGSEGV) {
  const Ended ended = InChild([] { CrashInAHandler(Crash::kWriteToNowhere); });
  EXPECT_THAT(ended.said, ContainsRegex(HEAD ACTOR "SIGSEGV at address 0x10 in " HANDLER BUILD));
  ExpectEndedBy(SIGSEGV, ended);
}

TEST(FatalSignalsTest, AStackOverflowIsNamedOnAWorkerAndOnAThreadOfTheActorsOwn) {
  for (const SpawnThread thread : {SpawnThread::kShared, SpawnThread::kOwn}) {
    const Ended ended = InChild([thread] { CrashInAHandler(Crash::kOverflowStack, thread); });
    EXPECT_THAT(ended.said,
                ContainsRegex(HEAD ACTOR "SIGSEGV at address 0x[0-9a-f]+ \\(stack overflow\\) in " HANDLER BUILD));
    ExpectEndedBy(SIGSEGV, ended);
  }
}

TEST(FatalSignalsTest, AnAbortIsNamedToo) {
  const Ended ended = InChild([] { CrashInAHandler(Crash::kAbort); });
  EXPECT_THAT(ended.said, ContainsRegex(HEAD ACTOR "SIGABRT in " HANDLER BUILD));
  ExpectEndedBy(SIGABRT, ended);
}

TEST(FatalSignalsTest, ConstructorAndStartAreNamed) {
  for (const Crash crash : {Crash::kInConstructor, Crash::kInStart}) {
    const Ended ended = InChild([crash] {
      ActorSystem system(Reporting());
      (void)system.Spawn<Victim>(crash);
      pause();
    });
    EXPECT_THAT(ended.said, ContainsRegex(crash == Crash::kInStart
                                              ? HEAD ACTOR "SIGSEGV at address 0x10 in " VICTIM ", Start" BUILD
                                              : HEAD ACTOR "SIGSEGV at address 0x10 in an actor's constructor" BUILD));
    ExpectEndedBy(SIGSEGV, ended);
  }
}

TEST(FatalSignalsTest, AnActorWhoseMemoryCannotBeReadIsNamedAsFarAsItCan) {
  if (IsHandled(SIGSEGV)) GTEST_SKIP() << "a sanitizer looks at an object's class before";
  const Ended ended = InChild([] { CrashInAHandler(Crash::kLoseItsClassAndAbort); });
  EXPECT_THAT(ended.said, ContainsRegex(HEAD ACTOR "SIGABRT in an actor whose memory cannot be read" BUILD));
  ExpectEndedBy(SIGABRT, ended);
}

void Say(absl::string_view text) {
  if (write(STDERR_FILENO, text.data(), text.size()) < 0) _exit(98);
}

void Install(int number, void (*handler)(int, siginfo_t*, void*)) {
  struct sigaction action = {};
  action.sa_sigaction = handler;
  action.sa_flags = SA_SIGINFO;
  EXPECT_EQ(sigaction(number, &action, nullptr), 0);
}

TEST(FatalSignalsTest, OutsideActorsNoneIsNamedAndTheEarlierHandlerIsCalledWithTheSameSignal) {
  const Ended ended = InChild([] {
    Install(SIGABRT, [](int number, siginfo_t* info, void*) {
      if (number == SIGABRT && info->si_code == SI_TKILL && info->si_pid == getpid()) Say("the earlier handler\n");
      _exit(7);
    });
    const FatalSignals reported;
    std::abort();
  });
  EXPECT_THAT(ended.said, ContainsRegex(HEAD "\\] SIGABRT outside actors" BUILD "the earlier handler\n$"));
  EXPECT_TRUE(WIFEXITED(ended.status) && WEXITSTATUS(ended.status) == 7) << ended.status;
}

TEST(FatalSignalsTest, TheEarlierHandlerOfAFaultInAHandlerIsCalledWithItsAddress) {
  const Ended ended = InChild([] {
    Install(SIGSEGV, [](int, siginfo_t* info, void*) {
      if (info->si_code == SEGV_MAPERR && info->si_addr == reinterpret_cast<void*>(16)) Say("the earlier handler\n");
      _exit(7);
    });
    CrashInAHandler(Crash::kWriteToNowhere);
  });
  // A sanitizer may take so long to exit that the log says so of the handler.
  EXPECT_THAT(ended.said, ContainsRegex(HEAD ACTOR "SIGSEGV [^\n]*\nthe earlier handler\n(W [^\n]*\n)?$"));
  EXPECT_TRUE(WIFEXITED(ended.status) && WEXITSTATUS(ended.status) == 7) << ended.status;
}

sigjmp_buf recovered;

TEST(FatalSignalsTest, OnlyTheFirstIsReportedThoughTheEarlierHandlerRecovers) {
  const Ended ended = InChild([] {
    Install(SIGSEGV, [](int, siginfo_t*, void*) { siglongjmp(recovered, 1); });
    const FatalSignals reported;
    if (sigsetjmp(recovered, 1) == 0) WriteToNowhere();
    Say("recovered\n");
    std::abort();
  });
  EXPECT_THAT(ended.said, ContainsRegex(HEAD "\\] SIGSEGV at address 0x10 outside actors" BUILD "recovered\n"));
  EXPECT_THAT(ended.said, Not(HasSubstr("SIGABRT")));
  ExpectEndedBy(SIGABRT, ended);
}

TEST(FatalSignalsTest, OfHandlersThatCrashAtOnceOneIsReportedBeforeTheProcessEnds) {
  const Ended ended = InChild([] {
    ActorSystem system(Reporting());
    Ref<Victim> victims[4];
    for (Ref<Victim>& victim : victims) victim = system.Spawn<Victim>(SpawnOptions{.thread = SpawnThread::kOwn});
    for (const Ref<Victim>& victim : victims) victim[&Victim::blow].Tell({Crash::kWriteToNowhere});
    pause();
  });
  EXPECT_THAT(ended.said, ContainsRegex(HEAD ACTOR "SIGSEGV at address 0x10 in [^\n]*" BUILD));
  EXPECT_EQ(ended.said.find("] SIGSEGV"), ended.said.rfind("] SIGSEGV")) << ended.said;
  ExpectEndedBy(SIGSEGV, ended);
}

// When a system begins again, the later handler is called by the one here, and calls that in its turn.
TEST(FatalSignalsTest, AHandlerInstalledLaterMayCallTheOneHereWhateverSystemsEndAndBegin) {
  static struct sigaction ours;
  for (const bool begins_again : {false, true}) {
    const Ended ended = InChild([begins_again] {
      auto system = std::make_unique<ActorSystem>(Reporting());
      ours = ActionOf(SIGABRT);
      Install(SIGABRT, [](int number, siginfo_t* info, void* context) {
        Say("the later handler\n");
        ours.sa_sigaction(number, info, context);
      });
      system = nullptr;
      if (begins_again) system = std::make_unique<ActorSystem>(Reporting());
      std::abort();
    });
    EXPECT_THAT(ended.said, ContainsRegex(begins_again ? HEAD "\\] SIGABRT outside actors" BUILD "the later handler\n$"
                                                       : "^the later handler\n$"));
    ExpectEndedBy(SIGABRT, ended);
  }
}

TEST(FatalSignalsTest, TheLastSystemThatEndsRestoresWhatWasBefore) {
  for (const int number : {SIGSEGV, SIGBUS, SIGFPE, SIGILL, SIGABRT}) {
    const auto before = ActionOf(number).sa_sigaction;
    {
      const ActorSystem unasked;
      EXPECT_EQ(ActionOf(number).sa_sigaction, before) << "without the option";
    }
    auto first = std::make_unique<ActorSystem>(Reporting());
    auto second = std::make_unique<ActorSystem>(Reporting());
    const auto ours = ActionOf(number).sa_sigaction;
    EXPECT_NE(ours, before);
    first = nullptr;
    EXPECT_EQ(ActionOf(number).sa_sigaction, ours);
    second = nullptr;
    EXPECT_EQ(ActionOf(number).sa_sigaction, before);
  }
}

TEST(FixedTextTest, ShowsPlainNamesOfTypesAndLeavesOthersMangled) {
  for (const char* mangled : {typeid(Victim).name(), typeid(FixedText).name()}) {
    FixedText text;
    EXPECT_EQ(text.AddType(mangled).text(), internal::DemangledName(mangled));
  }
  for (const char* mangled :
       {typeid(std::vector<int>).name(), "N3abcE", "N9abcE", "3abc3def", "", "N", "99999999999"}) {
    FixedText text;
    text.AddType(mangled);
    EXPECT_EQ(text.text(), absl::string_view(mangled) == "N3abcE" ? "abc" : mangled);
  }
}

TEST(FixedTextTest, ShowsTimesAsTheLogDoes) {
  for (const int64_t seconds : {0LL, 951782399LL, 951782400LL, 1772357400LL, 4102444799LL}) {
    FixedText text;
    text.AddUtc({.tv_sec = seconds, .tv_nsec = 1234567});
    EXPECT_EQ(text.text(),
              absl::FormatTime("%Y-%m-%dT%H:%M:%S.001234Z", absl::FromUnixSeconds(seconds), absl::UTCTimeZone()));
  }
}

TEST(FixedTextTest, CutsEachPartAndTheWhole) {
  FixedText text;
  text.Add(std::string(1000, 'a')).Add("\x1b[31m\n").AddNumber(0).AddHex(UINT64_MAX);
  EXPECT_EQ(text.text(), std::string(FixedText::kPartBytesMax, 'a') + "?[31m\n00xffffffffffffffff");
  for (int i = 0; i < 100; ++i) text.Add(std::string(1000, 'a'));
  EXPECT_EQ(text.text().size(), FixedText::kBytesMax);
}

}  // namespace
}  // namespace understudy
