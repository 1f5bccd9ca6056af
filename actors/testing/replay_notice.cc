#include "understudy/actors/testing/replay_notice.h"

#include <signal.h>
#include <unistd.h>

#include <atomic>
#include <cstddef>
#include <string>
#include <utility>

#include "absl/strings/str_cat.h"
#include "understudy/actors/check.h"

namespace understudy {
namespace {

constexpr int kSignals[] = {SIGABRT, SIGBUS, SIGFPE, SIGILL, SIGSEGV};
constexpr size_t kSignalCount = sizeof(kSignals) / sizeof(kSignals[0]);

// Written while no notice is installed, by the thread that then stores the line.
struct sigaction g_earlier[kSignalCount];
// The line of the notice that exists. A handler's acquire exchange pairs with the constructor's release store.
std::atomic<const std::string*> g_line{nullptr};

// Async-signal-safe.
void WriteAndForward(int signal, siginfo_t* info, void* /*context*/) {
  if (const std::string* const line = g_line.exchange(nullptr, std::memory_order_acquire); line != nullptr) {
    // Nothing can be done about a failure.
    [[maybe_unused]] const ssize_t written = write(STDERR_FILENO, line->data(), line->size());
  }
  for (size_t i = 0; i < kSignalCount; ++i) {
    if (kSignals[i] == signal) sigaction(signal, &g_earlier[i], nullptr);
  }
  // A fault comes again when the instruction is repeated; what a program has raised does not. The signal is blocked
  // until this handler returns.
  if (info->si_code <= 0) raise(signal);
}

}  // namespace

ReplayNotice::ReplayNotice(std::string line) : line_(absl::StrCat(line, "\n")) {
  UNDERSTUDY_CHECK(g_line.load(std::memory_order_relaxed) == nullptr, "a second ReplayNotice: one exists at a time");
  struct sigaction action = {};
  action.sa_sigaction = WriteAndForward;
  action.sa_flags = SA_SIGINFO | SA_ONSTACK;
  for (size_t i = 0; i < kSignalCount; ++i) sigaction(kSignals[i], &action, &g_earlier[i]);
  g_line.store(&line_, std::memory_order_release);
}

ReplayNotice::~ReplayNotice() {
  g_line.store(nullptr, std::memory_order_relaxed);
  for (size_t i = 0; i < kSignalCount; ++i) sigaction(kSignals[i], &g_earlier[i], nullptr);
}

}  // namespace understudy
