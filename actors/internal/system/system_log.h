// SystemLog: what stands between a system and the LogSink that its program chose: a level that can be changed, and a
// limit of lines by site.
//
// Threads: any. `sink` and `clock` must outlive this object.
#ifndef UNDERSTUDY_ACTORS_INTERNAL_SYSTEM_SYSTEM_LOG_H_
#define UNDERSTUDY_ACTORS_INTERNAL_SYSTEM_SYSTEM_LOG_H_

#include <array>
#include <atomic>
#include <cstdint>
#include <map>
#include <string>
#include <utility>
#include <vector>

#include "absl/base/thread_annotations.h"
#include "absl/status/status.h"
#include "absl/strings/string_view.h"
#include "absl/synchronization/mutex.h"
#include "absl/types/optional.h"
#include "understudy/actors/clock.h"
#include "understudy/actors/log_sink.h"

namespace understudy::internal {

class SystemLog final : public LogSink {
 public:
  // `node`: the name of the system.
  SystemLog(LogSink& sink, Clock& clock, std::string node)
      : node_(std::move(node)), clock_(clock), given_(sink), sink_(&sink) {}
  // Writes how many lines were left out that no line has told of.
  ~SystemLog() override;
  SystemLog(const SystemLog&) = delete;
  SystemLog& operator=(const SystemLog&) = delete;

  void Put(const LogLine& line) override;
  bool Wants(LogSeverity severity) const override;

  // The least severity that is written; nullopt if none is.
  absl::optional<LogSeverity> level() const;
  // FailedPrecondition: the sink discards lines of that severity; the level is as before.
  absl::Status SetLevel(LogSeverity least);
  LogCounts counts() const;

 private:
  using SiteKey = std::pair<uint32_t, absl::string_view>;  // line and file
  struct Site {
    MonotonicTime since;  // the first line of the present second
    int lines = 0;        // written since then
    int64_t left_out = 0;
    LogSeverity severity = LogSeverity::kDebug;  // the greatest of those left out
  };
  struct Told {
    LogSeverity severity;
    std::string text;
  };
  // Returns whether the line may be written. Adds to `told` what is to be said before it of lines that were left out.
  bool Admit(const LogLine& line, std::vector<Told>& told);
  void Tell(const SiteKey& key, Site& site, std::vector<Told>& told) ABSL_EXCLUSIVE_LOCKS_REQUIRED(mu_);
  void Forward(LogSink& sink, const LogLine& line);

  // Constant after construction.
  const std::string node_;
  Clock& clock_;
  LogSink& given_;  // gets the lines without a limit, whatever the level is

  // relaxed: a change of the level publishes nothing but itself; sinks are as old as the program or the system.
  std::atomic<LogSink*> sink_;
  std::atomic<LogSeverity> least_{LogSeverity::kDebug};
  std::array<std::atomic<int64_t>, 4> written_{};  // by severity

  mutable absl::Mutex mu_;  // not held while the sink is called
  std::map<SiteKey, Site> sites_ ABSL_GUARDED_BY(mu_);
  int untold_ ABSL_GUARDED_BY(mu_) = 0;  // sites with lines that were left out and not told
  int64_t left_out_ ABSL_GUARDED_BY(mu_) = 0;
};

}  // namespace understudy::internal

#endif  // UNDERSTUDY_ACTORS_INTERNAL_SYSTEM_SYSTEM_LOG_H_
