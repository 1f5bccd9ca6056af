// LogSink: where the library's own log lines go.
//
// ActorSystemOptions::log names one; the default is LogSink::Stderr().
// One line a call, without a newline.
// Requires: a sink sends no messages, and takes no lock that is held while its user calls the library. Write does
// not throw: where it is called nobody catches, so an exception ends the process.
// Threads: any, several at once.
#ifndef UNDERSTUDY_ACTORS_LOG_SINK_H_
#define UNDERSTUDY_ACTORS_LOG_SINK_H_

#include <string>

#include "absl/strings/string_view.h"

namespace understudy {

// kDebug is for what comes with each piece of work, such as the start and the normal end of a pool's child.
enum class LogSeverity { kDebug, kInfo, kWarning, kError };

class LogSink {
 public:
  virtual ~LogSink() = default;
  virtual void Write(LogSeverity severity, absl::string_view line) = 0;
  // False when such a line would go nowhere: it need not be made. May change at
  // any time.
  virtual bool Wants(LogSeverity /*severity*/) const { return true; }

  // Writes to standard error what is at least as severe as `least`. A line begins with the severity's letter, the time
  // (UTC), the ids of process and thread, and its origin: the actor whose turn writes it, or outside turns the name of
  // the process's system, where it has one. Each line is one write(2). Lives for ever.
  //
  //   W 2026-03-01T09:30:00.123456Z 5503/5510 <house-2.7.42>] the book is late
  //   I 2026-03-01T09:30:00.123519Z 5503/5504 house-2] node house-2: …
  static LogSink& Stderr(LogSeverity least = LogSeverity::kInfo);
  // Writes and wants nothing. Lives for ever.
  static LogSink& Null();
};

namespace internal {
// `origin` tells what the calling thread works for, "" if nothing is known. Any thread; the last one given is asked.
void SetLogOrigin(std::string (*origin)());
}  // namespace internal

}  // namespace understudy

#endif  // UNDERSTUDY_ACTORS_LOG_SINK_H_
