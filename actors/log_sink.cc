#include "understudy/actors/log_sink.h"

#include <unistd.h>

#include <atomic>
#include <cerrno>
#include <csignal>
#include <cstddef>
#include <ctime>
#include <string>

#include "absl/strings/str_cat.h"
#include "absl/strings/string_view.h"
#include "understudy/actors/internal/system/fixed_text.h"
#include "understudy/actors/internal/system/log_head.h"

namespace understudy {
namespace {

std::atomic<std::string (*)()> log_origin = nullptr;

// Empty if the origin is not known.
std::string Origin() {
  auto* const origin = log_origin.load(std::memory_order_relaxed);
  return origin == nullptr ? std::string() : origin();
}

// Stops where nothing more can be written. Standard error may be a pipe whose reader has gone, as a process child's is
// when its parent has died: the SIGPIPE of such a write is blocked and then taken, so it does not end the process.
void WriteToStderr(absl::string_view text) {
  sigset_t broken_pipe;
  sigset_t before;
  sigemptyset(&broken_pipe);
  sigaddset(&broken_pipe, SIGPIPE);
  pthread_sigmask(SIG_BLOCK, &broken_pipe, &before);
  while (!text.empty()) {
    const ssize_t n = write(STDERR_FILENO, text.data(), text.size());
    if (n < 0 && errno == EINTR) continue;
    if (n < 0 && errno == EPIPE) {
      const timespec at_once = {};
      sigtimedwait(&broken_pipe, nullptr, &at_once);
    }
    if (n <= 0) break;
    text.remove_prefix(static_cast<size_t>(n));
  }
  pthread_sigmask(SIG_SETMASK, &before, nullptr);
}

class StderrSink final : public LogSink {
 public:
  explicit StderrSink(LogSeverity least) : least_(least) {}

  void Write(LogSeverity severity, absl::string_view line) override {
    if (!Wants(severity)) return;
    constexpr absl::string_view kLetters = "DIWE";
    internal::FixedText head;
    internal::AddLogHead(head, kLetters[static_cast<size_t>(severity)], Origin());
    WriteToStderr(absl::StrCat(head.text(), line, "\n"));
  }
  bool Wants(LogSeverity severity) const override { return severity >= least_; }

 private:
  const LogSeverity least_;
};

class NullSink final : public LogSink {
 public:
  void Write(LogSeverity /*severity*/, absl::string_view /*line*/) override {}
  bool Wants(LogSeverity /*severity*/) const override { return false; }
};

}  // namespace

LogSink& LogSink::Stderr(LogSeverity least) {
  static StderrSink* const sinks[] = {new StderrSink(LogSeverity::kDebug), new StderrSink(LogSeverity::kInfo),
                                      new StderrSink(LogSeverity::kWarning), new StderrSink(LogSeverity::kError)};
  return *sinks[static_cast<size_t>(least)];
}

LogSink& LogSink::Null() {
  static NullSink* const sink = new NullSink;
  return *sink;
}

namespace internal {

void SetLogOrigin(std::string (*origin)()) { log_origin.store(origin, std::memory_order_relaxed); }

}  // namespace internal
}  // namespace understudy
