// LogSink: where the log lines of the library and of its actors go.
//
// ActorSystemOptions::log gives one to a system; the default is LogSink::Stderr(). A system writes to it through a
// limit by site: of the lines that one place in the program writes, at most limits::kLogLinesPerSiteMax in any second.
// What was left out is counted (ActorSystem::log_counts), and a line says it once the second is over.
//
//   ActorSystem system({.log = &LogSink::Stderr(LogSeverity::kInfo, LogFormat::kJson)});
//   system.log().Write(LogSeverity::kWarning, "the book is late");
//   if (!system.SetLogLevel(LogSeverity::kDebug).ok()) …    // while it runs
//
// Requires: a sink sends no messages, and takes no lock that the program holds while it calls the library. Put must
// not throw; an exception ends the process.
// Threads: any, several at once.
#ifndef UNDERSTUDY_ACTORS_LOG_SINK_H_
#define UNDERSTUDY_ACTORS_LOG_SINK_H_

#include <array>
#include <cstdint>
#include <source_location>
#include <string>

#include "absl/strings/string_view.h"
#include "absl/types/optional.h"

namespace understudy {

// kDebug is for lines that come with each piece of work, such as the start and the normal end of a pool's child.
enum class LogSeverity { kDebug, kInfo, kWarning, kError };

// "debug", "info", "warning", "error".
absl::string_view LogSeverityName(LogSeverity severity);
// Returns nullopt if no severity has that name.
absl::optional<LogSeverity> LogSeverityOf(absl::string_view name);

// How a line looks on standard error (LogSink::Stderr).
enum class LogFormat { kText, kJson };

// kNone is for lines of which each counts, such as those before an operator's action: neither the limit by site nor
// ActorSystem::SetLogLevel leaves one out, nor the severity of LogSink::Stderr.
enum class LogLimit { kBySite, kNone };

struct LogLine {
  LogSeverity severity = LogSeverity::kInfo;
  absl::string_view text;           // without a newline at its end
  absl::string_view node;           // the name of the system that writes the line; empty if it is not known
  absl::string_view trace_id = {};  // if it is empty, the line has the trace of the code that writes it
  LogLimit limit = LogLimit::kBySite;
  std::source_location site = std::source_location::current();  // the place that wrote the line
};

class LogSink {
 public:
  virtual ~LogSink() = default;
  // Calls Put. `site` is the place of the call.
  void Write(LogSeverity severity, absl::string_view text,
             std::source_location site = std::source_location::current()) {
    Put({.severity = severity, .text = text, .node = {}, .limit = LogLimit::kBySite, .site = site});
  }
  // The texts of `line` are valid during the call.
  virtual void Put(const LogLine& line) = 0;
  // Returns false if Put would discard a line of this severity, so that the caller need not
  // make it. The result may change at any time.
  virtual bool Wants(LogSeverity /*severity*/) const { return true; }
  // Returns a sink that writes as this one does, but all lines that are at least as severe as `least`. Null: there is
  // none, so a system can only leave out more than this sink does. The result lives at least as long as this sink.
  virtual LogSink* AtLevel(LogSeverity /*least*/) { return nullptr; }

  // Writes lines that are at least as severe as `least` to standard error. Each line is one write(2). What cannot be
  // written is lost: if standard error is a pipe without a reader, no SIGPIPE ends the process. The sink is never
  // destroyed.
  //
  // kText: a line begins with the severity's letter, the time (UTC), the ids of process and thread, and its origin: the
  // actor whose turn writes it or, outside turns, the system if it is known. If the code that writes the line belongs
  // to a trace (trace.h), the id of the trace follows.
  //
  //   W 2026-03-01T09:30:00.123456Z 5503/5510 <house-2.7.42>] the book is late
  //   I 2026-03-01T09:30:00.123519Z 5503/5504 house-2] node house-2: …
  //   W 2026-03-01T09:30:00.123602Z 5503/5510 <house-2.7.42> trace 4bf92f3577b34da6a3ce929d0e0e4736] no book
  //
  // kJson: a line is one object. Its fields are severity, time, pid, tid, site and text, and where they are known node,
  // actor, name, class and behavior of the actor whose turn writes it, and trace_id. Any bytes give valid JSON: what is
  // not UTF-8, or steers a terminal, is shown as in C (PrintableText).
  //
  //   {"severity":"warning","time":"2026-03-01T09:30:00.123456Z","pid":5503,"tid":5510,"node":"house-2",
  //    "actor":"<house-2.7.42>","name":"lot-1","class":"auction::Lot","behavior":"bidding","site":"lot.cc:42",
  //    "text":"the book is late"}                                             (not broken into lines as it is here)
  static LogSink& Stderr(LogSeverity least = LogSeverity::kInfo, LogFormat format = LogFormat::kText);
  // Discards all lines. The sink is never destroyed.
  static LogSink& Null();
};

// Lines of one system since it was made.
struct LogCounts {
  std::array<int64_t, 4> written{};  // by LogSeverity
  int64_t left_out = 0;              // because of the limit by site
};

namespace internal {

// The actor on whose behalf a line is written. Fields that are not known are empty.
struct LogOrigin {
  std::string node;
  std::string actor;  // its pid
  std::string name;   // a registered one
  std::string class_name;
  std::string behavior;
  std::string trace_id;
};
// Sets the function that returns the origin of a line that the calling thread writes. For kText it fills in `node`,
// `actor` and `trace_id` only. Any thread; a later call replaces the function.
void SetLogOrigin(LogOrigin (*origin)(LogFormat format));

}  // namespace internal

}  // namespace understudy

#endif  // UNDERSTUDY_ACTORS_LOG_SINK_H_
