// LogSink: where the library's own log lines go.
//
// One line per call, without a newline. The default writes to standard error.
// Any thread; a sink must not send messages or take a lock that user code
// holds while it calls the library.
#ifndef UNDERSTUDY_ACTORS_LOG_SINK_H_
#define UNDERSTUDY_ACTORS_LOG_SINK_H_

#include "absl/strings/string_view.h"

namespace understudy {

enum class LogSeverity { kInfo, kWarning, kError };

class LogSink {
 public:
  virtual ~LogSink() = default;
  virtual void Write(LogSeverity severity, absl::string_view line) = 0;
  // False when such a line would go nowhere: it need not be made. May change at
  // any time.
  virtual bool Wants(LogSeverity /*severity*/) const { return true; }

  // Writes "I/W/E line" to standard error. Lives for ever.
  static LogSink& Stderr();
  // Writes and wants nothing. Lives for ever.
  static LogSink& Null();
};

}  // namespace understudy

#endif  // UNDERSTUDY_ACTORS_LOG_SINK_H_
