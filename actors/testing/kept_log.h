// KeptLog: a LogSink that keeps its lines, or those that are at least as severe as `least`, for a test to read.
//
//   KeptLog log;
//   ActorSystem system({.log = &log});
//   …
//   EXPECT_THAT(log.lines(), Contains(HasSubstr("ended")));
//
// Threads: any. Lifetime: outlives the systems that write to it.
#ifndef UNDERSTUDY_ACTORS_TESTING_KEPT_LOG_H_
#define UNDERSTUDY_ACTORS_TESTING_KEPT_LOG_H_

#include <string>
#include <vector>

#include "absl/base/thread_annotations.h"
#include "absl/strings/string_view.h"
#include "absl/synchronization/mutex.h"
#include "understudy/actors/log_sink.h"

namespace understudy {

class KeptLog final : public LogSink {
 public:
  explicit KeptLog(LogSeverity least = LogSeverity::kDebug) : least_(least) {}

  void Put(const LogLine& line) override {
    if (!Wants(line.severity)) return;
    absl::MutexLock lock(&mu_);
    lines_.emplace_back(line.text);
  }
  bool Wants(LogSeverity severity) const override { return severity >= least_; }
  // The lines written so far, oldest first.
  std::vector<std::string> lines() {
    absl::MutexLock lock(&mu_);
    return lines_;
  }

 private:
  const LogSeverity least_;
  absl::Mutex mu_;
  std::vector<std::string> lines_ ABSL_GUARDED_BY(mu_);
};

}  // namespace understudy

#endif  // UNDERSTUDY_ACTORS_TESTING_KEPT_LOG_H_
