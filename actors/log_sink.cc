#include "understudy/actors/log_sink.h"

#include <unistd.h>

#include <array>
#include <atomic>
#include <cerrno>
#include <csignal>
#include <cstddef>
#include <ctime>
#include <string>

#include "absl/strings/str_cat.h"
#include "absl/strings/string_view.h"
#include "absl/types/optional.h"
#include "understudy/actors/internal/system/fixed_text.h"
#include "understudy/actors/internal/system/log_head.h"
#include "understudy/actors/internal/system/log_json.h"

namespace understudy {
namespace {

constexpr std::array<absl::string_view, 4> kSeverityNames = {"debug", "info", "warning", "error"};

std::atomic<internal::LogOrigin (*)(LogFormat)> log_origin = nullptr;

internal::LogOrigin OriginOf(const LogLine& line, LogFormat format) {
  auto* const known = log_origin.load(std::memory_order_relaxed);
  internal::LogOrigin origin = known == nullptr ? internal::LogOrigin() : known(format);
  if (origin.actor.empty() && !line.node.empty()) origin.node = std::string(line.node);
  if (!line.trace_id.empty()) origin.trace_id = std::string(line.trace_id);
  return origin;
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
  StderrSink(LogSeverity least, LogFormat format) : least_(least), format_(format) {}

  void Put(const LogLine& line) override {
    if (line.limit != LogLimit::kNone && !Wants(line.severity)) return;
    const internal::LogOrigin origin = OriginOf(line, format_);
    if (format_ == LogFormat::kJson) return WriteToStderr(internal::JsonLogLine(line, origin) + "\n");
    constexpr absl::string_view kLetters = "DIWE";
    internal::FixedText head;
    const std::string& writer = origin.actor.empty() ? origin.node : origin.actor;
    internal::AddLogHead(
        head, kLetters[static_cast<size_t>(line.severity)],
        origin.trace_id.empty() ? writer : absl::StrCat(writer, writer.empty() ? "" : " ", "trace ", origin.trace_id));
    WriteToStderr(absl::StrCat(head.text(), line.text, "\n"));
  }
  bool Wants(LogSeverity severity) const override { return severity >= least_; }
  LogSink* AtLevel(LogSeverity least) override { return &Stderr(least, format_); }

 private:
  const LogSeverity least_;
  const LogFormat format_;
};

class NullSink final : public LogSink {
 public:
  void Put(const LogLine& /*line*/) override {}
  bool Wants(LogSeverity /*severity*/) const override { return false; }
};

}  // namespace

absl::string_view LogSeverityName(LogSeverity severity) { return kSeverityNames[static_cast<size_t>(severity)]; }

absl::optional<LogSeverity> LogSeverityOf(absl::string_view name) {
  for (size_t i = 0; i < kSeverityNames.size(); ++i) {
    if (kSeverityNames[i] == name) return static_cast<LogSeverity>(i);
  }
  return absl::nullopt;
}

LogSink& LogSink::Stderr(LogSeverity least, LogFormat format) {
  using Sinks = std::array<LogSink*, kSeverityNames.size()>;
  const auto all = [](LogFormat of) {
    Sinks sinks{};
    for (size_t i = 0; i < sinks.size(); ++i) sinks[i] = new StderrSink(static_cast<LogSeverity>(i), of);
    return sinks;
  };
  static const Sinks* const texts = new Sinks(all(LogFormat::kText));
  static const Sinks* const objects = new Sinks(all(LogFormat::kJson));
  return *(format == LogFormat::kText ? *texts : *objects)[static_cast<size_t>(least)];
}

LogSink& LogSink::Null() {
  static NullSink* const sink = new NullSink;
  return *sink;
}

namespace internal {

void SetLogOrigin(LogOrigin (*origin)(LogFormat format)) { log_origin.store(origin, std::memory_order_relaxed); }

}  // namespace internal
}  // namespace understudy
