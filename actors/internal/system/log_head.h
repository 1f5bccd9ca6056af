// AddLogHead: the beginning of each log line on standard error.
#ifndef UNDERSTUDY_ACTORS_INTERNAL_SYSTEM_LOG_HEAD_H_
#define UNDERSTUDY_ACTORS_INTERNAL_SYSTEM_LOG_HEAD_H_

#include "absl/strings/string_view.h"
#include "understudy/actors/internal/system/fixed_text.h"

namespace understudy::internal {

// Adds "W 2026-03-01T09:30:00.123456Z 5503/5510 <house-1.7.42>] ": severity, the present time in UTC, this process and
// thread, and `origin`, which may be empty. Async-signal-safe.
void AddLogHead(FixedText& line, char severity, absl::string_view origin);

}  // namespace understudy::internal

#endif  // UNDERSTUDY_ACTORS_INTERNAL_SYSTEM_LOG_HEAD_H_
