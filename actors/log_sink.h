// LogSink: where the library's own log lines go.
//
// ActorSystemOptions::log gives one to a system; the default is LogSink::Stderr().
// Each call of Write has one line, without a newline.
// Requires: a sink sends no messages, and takes no lock that the program holds while it calls the library. Write must
// not throw; an exception ends the process.
// Threads: any, several at once.
#ifndef UNDERSTUDY_ACTORS_LOG_SINK_H_
#define UNDERSTUDY_ACTORS_LOG_SINK_H_

#include <string>

#include "absl/strings/string_view.h"

namespace understudy {

// kDebug is for lines that come with each piece of work, such as the start and the normal end of a pool's child.
enum class LogSeverity { kDebug, kInfo, kWarning, kError };

class LogSink {
 public:
  virtual ~LogSink() = default;
  virtual void Write(LogSeverity severity, absl::string_view line) = 0;
  // Returns false if Write would discard a line of this severity, so that the caller need not
  // make it. The result may change at any time.
  virtual bool Wants(LogSeverity /*severity*/) const { return true; }

  // Writes lines that are at least as severe as `least` to standard error. A line begins with the severity's letter,
  // the time (UTC), the ids of process and thread, and its origin: the actor whose turn writes it or, outside turns,
  // the name of the process's system if it is known. Each line is one write(2). What cannot be
  // written is lost: if standard error is a pipe without a reader, no SIGPIPE ends the process. The sink is never
  // destroyed.
  //
  //   W 2026-03-01T09:30:00.123456Z 5503/5510 <house-2.7.42>] the book is late
  //   I 2026-03-01T09:30:00.123519Z 5503/5504 house-2] node house-2: …
  static LogSink& Stderr(LogSeverity least = LogSeverity::kInfo);
  // Discards all lines. The sink is never destroyed.
  static LogSink& Null();
};

namespace internal {
// Sets the function that returns the origin of a line that the calling thread writes, or "" if it is not known. Any
// thread; a later call replaces the function.
void SetLogOrigin(std::string (*origin)());
}  // namespace internal

}  // namespace understudy

#endif  // UNDERSTUDY_ACTORS_LOG_SINK_H_
