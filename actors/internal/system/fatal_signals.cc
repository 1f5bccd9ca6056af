#include "understudy/actors/internal/system/fatal_signals.h"

#include <elf.h>
#include <link.h>
#include <poll.h>
#include <sys/syscall.h>
#include <unistd.h>

#include <algorithm>
#include <array>
#include <atomic>
#include <cerrno>
#include <csetjmp>
#include <csignal>
#include <cstddef>
#include <cstdint>
#include <cstring>
#include <ctime>

#include "absl/base/thread_annotations.h"
#include "absl/strings/string_view.h"
#include "absl/synchronization/mutex.h"
#include "understudy/actors/internal/scheduling/signal_stack.h"
#include "understudy/actors/internal/system/fixed_text.h"
#include "understudy/actors/internal/system/log_head.h"
#include "understudy/actors/internal/system/system_core.h"
#include "understudy/actors/internal/turn/actor_core.h"
#include "understudy/actors/internal/turn/actor_crash.h"
#include "understudy/actors/internal/turn/current_turn.h"

namespace understudy::internal {
namespace {

constexpr int kWriteWithinMs = 1000;
constexpr int kAwaitReportMs = 2000;

// One signal, with the data that the handler needs for it.
struct Fatal {
  int number;
  absl::string_view name;
  // The earlier handler. Written before OnFatalSignal can be called for this signal.
  struct sigaction before = {};
  // The thread that last forwarded the signal. If the signal comes to OnFatalSignal on that thread again, the earlier
  // handler has called OnFatalSignal.
  std::atomic<pid_t> passed_on_by{0};
};
constinit std::array<Fatal, 5> fatals{
    {{SIGSEGV, "SIGSEGV"}, {SIGBUS, "SIGBUS"}, {SIGFPE, "SIGFPE"}, {SIGILL, "SIGILL"}, {SIGABRT, "SIGABRT"}}};

struct Installed {
  absl::Mutex mu;
  int count ABSL_GUARDED_BY(mu) = 0;
};
Installed& GetInstalled() {
  static Installed* const installed = new Installed;
  return *installed;
}

// The other variables of the handler. Each is atomic, or written before the handlers are installed, or used only by the
// thread that has set `reporter`.
std::atomic<bool> is_wanted{false};
std::atomic<pid_t> reporter{0};  // 0: no signal has come
std::atomic<bool> is_reported{false};
constinit FixedText build_id;
constinit FixedText who;
constinit FixedText doing;
constinit FixedText line;
volatile sig_atomic_t is_reading = 0;
sigjmp_buf unreadable;
static_assert(std::atomic<pid_t>::is_always_lock_free && std::atomic<bool>::is_always_lock_free);

pid_t ThisThread() { return static_cast<pid_t>(syscall(SYS_gettid)); }

// Stores the GNU build id of the program, from its notes (elf(5)), in `build_id`. For dl_iterate_phdr, which calls this
// for the program first; the result 1 tells it to skip the shared libraries.
int FindBuildId(dl_phdr_info* program, size_t /*bytes*/, void* /*unused*/) {
  constexpr absl::string_view kOwner("GNU", 4);
  constexpr absl::string_view kDigits = "0123456789abcdef";
  for (int i = 0; i < program->dlpi_phnum; ++i) {
    const ElfW(Phdr)& segment = program->dlpi_phdr[i];
    if (segment.p_type != PT_NOTE) continue;
    // NOLINTNEXTLINE(performance-no-int-to-ptr): where the dynamic linker has put them.
    absl::string_view notes(reinterpret_cast<const char*>(program->dlpi_addr + segment.p_vaddr), segment.p_memsz);
    const size_t alignment = std::max<size_t>(segment.p_align, 4);
    const auto padded = [alignment](size_t bytes) { return (bytes + alignment - 1) / alignment * alignment; };
    while (notes.size() >= sizeof(ElfW(Nhdr))) {
      ElfW(Nhdr) note;
      std::memcpy(&note, notes.data(), sizeof(note));
      const size_t text = padded(sizeof(note) + note.n_namesz);
      const size_t end = text + padded(note.n_descsz);
      if (text + note.n_descsz > notes.size()) break;
      if (note.n_type == NT_GNU_BUILD_ID && notes.substr(sizeof(note), note.n_namesz) == kOwner) {
        for (const char c : notes.substr(text, note.n_descsz)) {
          const auto byte = static_cast<unsigned char>(c);
          build_id.Add(kDigits.substr(byte / 16, 1)).Add(kDigits.substr(byte % 16, 1));
        }
        return 1;
      }
      notes.remove_prefix(std::min(end, notes.size()));
    }
  }
  return 1;
}

void WriteLine(absl::string_view text) {
  pollfd standard_error = {.fd = STDERR_FILENO, .events = POLLOUT, .revents = 0};
  if (poll(&standard_error, 1, kWriteWithinMs) == 0) return;
  while (!text.empty()) {
    const ssize_t written = write(STDERR_FILENO, text.data(), text.size());
    if (written <= 0 && errno != EINTR) return;
    if (written > 0) text.remove_prefix(static_cast<size_t>(written));
  }
}

// Fills `who` and `doing`. Returns false if the actor's memory cannot be read: the access then raises a signal, and
// OnFatalSignal jumps back to this function.
bool TryDescribe(ActorCore& actor) {
  if (sigsetjmp(unreadable, /*savesigs=*/1) != 0) return false;  // OnFatalSignal jumps here
  is_reading = 1;
  DescribeForSignal(actor, who, doing);
  is_reading = 0;
  return true;
}

void Report(const Fatal& fatal, const siginfo_t& info) {
  ActorCore* const actor = ThisTurn().actor();
  const bool is_readable = actor == nullptr || TryDescribe(*actor);
  AddLogHead(line, 'E', who.text());
  line.Add(fatal.name);
  // The kernel raised the signal for an instruction that failed. A signal that was sent, as by abort(), has no address.
  if (info.si_code > 0) {
    const auto address = reinterpret_cast<uintptr_t>(info.si_addr);
    line.Add(" at address ").AddHex(address);
    if (SignalStack::IsOverflow(address)) line.Add(" (stack overflow)");
  }
  line.Add(actor == nullptr ? " outside actors" : " in ").Add(doing);
  if (!is_readable) line.Add("an actor whose memory cannot be read");
  line.Add("; build id ").Add(build_id.text().empty() ? "unknown (link with -Wl,--build-id)" : build_id.text());
  WriteLine(line.Add("\n").text());
}

void AwaitReport() {
  const timespec millisecond = {.tv_sec = 0, .tv_nsec = 1000000};
  for (int i = 0; i < kAwaitReportMs && !is_reported.load(std::memory_order_acquire); ++i) {
    nanosleep(&millisecond, nullptr);
  }
}

// Installs the earlier handler, and makes the signal come again once OnFatalSignal has returned.
void Forward(Fatal& fatal, siginfo_t* info) {
  const pid_t thread = ThisThread();
  struct sigaction next = fatal.before;
  // If the earlier handler has called OnFatalSignal, forwarding to that handler again would not end.
  if (fatal.passed_on_by.exchange(thread, std::memory_order_relaxed) == thread) {
    next = {};
    next.sa_handler = SIG_DFL;
  }
  sigaction(fatal.number, &next, nullptr);
  if (info->si_code > 0) return;  // the instruction that failed runs again, and fails again
  // Blocked until OnFatalSignal returns, which restores the thread's signal mask.
  sigset_t only;
  sigemptyset(&only);
  sigaddset(&only, fatal.number);
  pthread_sigmask(SIG_BLOCK, &only, nullptr);
  if (syscall(SYS_rt_tgsigqueueinfo, getpid(), thread, fatal.number, info) != 0) raise(fatal.number);
}

void OnFatalSignal(int number, siginfo_t* info, void* /*context*/) {
  const int saved = errno;
  Fatal* const fatal =
      std::find_if(fatals.begin(), fatals.end(), [number](const Fatal& one) { return one.number == number; });
  pid_t nobody = 0;
  const pid_t thread = ThisThread();
  if (is_wanted.load(std::memory_order_relaxed)) {
    if (reporter.compare_exchange_strong(nobody, thread, std::memory_order_relaxed)) {
      Report(*fatal, *info);
      is_reported.store(true, std::memory_order_release);  // pairs with AwaitReport
    } else if (nobody != thread) {
      AwaitReport();
    } else if (is_reading != 0) {  // this signal was raised by TryDescribe, called by Report on this thread
      is_reading = 0;
      siglongjmp(unreadable, 1);
    }
  }
  Forward(*fatal, info);
  errno = saved;
}

}  // namespace

FatalSignals::FatalSignals() {
  Installed& installed = GetInstalled();
  absl::MutexLock lock(&installed.mu);
  if (installed.count++ > 0) return;
  if (build_id.text().empty()) dl_iterate_phdr(FindBuildId, nullptr);
  is_wanted.store(true, std::memory_order_relaxed);
  struct sigaction ours;
  std::memset(&ours, 0, sizeof(ours));
  ours.sa_sigaction = OnFatalSignal;
  // SA_NODEFER: the handler reads memory that may fault, and then gets SIGSEGV itself.
  ours.sa_flags = SA_SIGINFO | SA_ONSTACK | SA_NODEFER;
  sigemptyset(&ours.sa_mask);
  for (Fatal& fatal : fatals) {
    struct sigaction present;
    if (sigaction(fatal.number, nullptr, &present) != 0 || present.sa_sigaction == OnFatalSignal) continue;
    fatal.before = present;
    fatal.passed_on_by.store(0, std::memory_order_relaxed);
    sigaction(fatal.number, &ours, nullptr);
  }
}

FatalSignals::~FatalSignals() {
  Installed& installed = GetInstalled();
  absl::MutexLock lock(&installed.mu);
  if (--installed.count > 0) return;
  is_wanted.store(false, std::memory_order_relaxed);
  for (const Fatal& fatal : fatals) {
    struct sigaction present;
    if (sigaction(fatal.number, nullptr, &present) != 0 || present.sa_sigaction != OnFatalSignal) continue;
    sigaction(fatal.number, &fatal.before, nullptr);
  }
}

}  // namespace understudy::internal
