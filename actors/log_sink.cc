#include "understudy/actors/log_sink.h"

#include <sys/syscall.h>
#include <unistd.h>

#include <atomic>
#include <cerrno>
#include <cstddef>
#include <string>

#include "absl/strings/str_cat.h"
#include "absl/strings/string_view.h"
#include "absl/time/clock.h"
#include "absl/time/time.h"

namespace understudy {
namespace {

std::atomic<std::string (*)()> log_origin = nullptr;

// With a space before it; empty where nothing is known.
std::string Origin() {
  auto* const origin = log_origin.load(std::memory_order_relaxed);
  std::string text = origin == nullptr ? std::string() : origin();
  return text.empty() ? text : absl::StrCat(" ", text);
}

class StderrSink final : public LogSink {
 public:
  explicit StderrSink(LogSeverity least) : least_(least) {}

  void Write(LogSeverity severity, absl::string_view line) override {
    if (!Wants(severity)) return;
    constexpr absl::string_view kLetters = "DIWE";
    const std::string text = absl::StrCat(kLetters.substr(static_cast<size_t>(severity), 1), " ",
                                          absl::FormatTime("%Y-%m-%dT%H:%M:%E6SZ", absl::Now(), absl::UTCTimeZone()),
                                          " ", getpid(), "/", syscall(SYS_gettid), Origin(), "] ", line, "\n");
    for (size_t written = 0; written < text.size();) {
      const ssize_t n = write(STDERR_FILENO, text.data() + written, text.size() - written);
      if (n < 0 && errno == EINTR) continue;
      if (n <= 0) return;
      written += static_cast<size_t>(n);
    }
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
