#include "understudy/actors/internal/system/system_log.h"

#include <algorithm>
#include <atomic>
#include <cstddef>
#include <cstdint>
#include <string>
#include <utility>
#include <vector>

#include "absl/status/status.h"
#include "absl/strings/str_cat.h"
#include "absl/strings/string_view.h"
#include "absl/synchronization/mutex.h"
#include "absl/time/time.h"
#include "absl/types/optional.h"
#include "understudy/actors/limits.h"

namespace understudy::internal {
namespace {

constexpr absl::Duration kWindow = absl::Seconds(1);
// The site of lines that come when there are limits::kLogSitesMax others.
constexpr char kOtherSites[] = "further places";

}  // namespace

SystemLog::~SystemLog() {
  std::vector<Told> told;
  {
    absl::MutexLock lock(&mu_);
    for (auto& [key, site] : sites_) Tell(key, site, told);
  }
  LogSink& sink = *sink_.load(std::memory_order_relaxed);
  for (const Told& line : told) Forward(sink, {.severity = line.severity, .text = line.text, .node = {}});
}

bool SystemLog::Wants(LogSeverity severity) const {
  return severity >= least_.load(std::memory_order_relaxed) && sink_.load(std::memory_order_relaxed)->Wants(severity);
}

void SystemLog::Put(const LogLine& line) {
  if (line.limit == LogLimit::kNone) return Forward(given_, line);
  if (!Wants(line.severity)) return;
  std::vector<Told> told;
  const bool is_admitted = Admit(line, told);
  LogSink& sink = *sink_.load(std::memory_order_relaxed);
  for (const Told& before : told) Forward(sink, {.severity = before.severity, .text = before.text, .node = {}});
  if (is_admitted) Forward(sink, line);
}

void SystemLog::Forward(LogSink& sink, const LogLine& line) {
  written_[static_cast<size_t>(line.severity)].fetch_add(1, std::memory_order_relaxed);
  LogLine forwarded = line;
  forwarded.node = node_;
  sink.Put(forwarded);
}

bool SystemLog::Admit(const LogLine& line, std::vector<Told>& told) {
  const MonotonicTime now = clock_.Now();
  absl::MutexLock lock(&mu_);
  if (untold_ > 0) {
    for (auto& [key, site] : sites_) {
      if (now - site.since >= kWindow) Tell(key, site, told);
    }
  }
  SiteKey key(line.site.line(), line.site.file_name());
  auto found = sites_.find(key);
  if (found == sites_.end()) {
    if (sites_.size() >= limits::kLogSitesMax) key = {0, kOtherSites};
    found = sites_.try_emplace(key, Site{.since = now}).first;
  }
  Site& site = found->second;
  if (now - site.since >= kWindow) {
    site.since = now;
    site.lines = 0;
  }
  if (site.lines < limits::kLogLinesPerSiteMax) {
    ++site.lines;
    return true;
  }
  if (site.left_out++ == 0) ++untold_;
  ++left_out_;
  site.severity = std::max(site.severity, line.severity);
  return false;
}

void SystemLog::Tell(const SiteKey& key, Site& site, std::vector<Told>& told) {
  if (site.left_out == 0) return;
  const absl::string_view file = key.second.substr(key.second.rfind('/') + 1);
  const std::string where = key.first == 0 ? std::string(file) : absl::StrCat(file, ":", key.first);
  told.push_back({site.severity, absl::StrCat(site.left_out, " more log lines of ", where,
                                              " were left out, because it wrote more than ",
                                              limits::kLogLinesPerSiteMax, " within a second")});
  site.left_out = 0;
  site.severity = LogSeverity::kDebug;
  --untold_;
}

absl::optional<LogSeverity> SystemLog::level() const {
  for (const LogSeverity severity :
       {LogSeverity::kDebug, LogSeverity::kInfo, LogSeverity::kWarning, LogSeverity::kError}) {
    if (Wants(severity)) return severity;
  }
  return absl::nullopt;
}

absl::Status SystemLog::SetLevel(LogSeverity least) {
  LogSink* const sink = sink_.load(std::memory_order_relaxed);
  if (LogSink* const other = sink->AtLevel(least); other != nullptr) {
    sink_.store(other, std::memory_order_relaxed);
  } else if (!sink->Wants(least)) {
    return absl::FailedPreconditionError(absl::StrCat("the log sink of ", node_, " discards lines of severity ",
                                                      LogSeverityName(least), ": expected a sink that writes them"));
  }
  least_.store(least, std::memory_order_relaxed);
  return absl::OkStatus();
}

LogCounts SystemLog::counts() const {
  LogCounts counts;
  for (size_t i = 0; i < written_.size(); ++i) counts.written[i] = written_[i].load(std::memory_order_relaxed);
  absl::MutexLock lock(&mu_);
  counts.left_out = left_out_;
  return counts;
}

}  // namespace understudy::internal
