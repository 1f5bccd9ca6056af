#include "understudy/actors/internal/system/log_head.h"

#include <sys/syscall.h>
#include <unistd.h>

#include <cstdint>
#include <ctime>

#include "absl/strings/string_view.h"
#include "understudy/actors/internal/system/fixed_text.h"

namespace understudy::internal {

void AddLogHead(FixedText& line, char severity, absl::string_view origin) {
  timespec now = {};
  clock_gettime(CLOCK_REALTIME, &now);
  line.Add(absl::string_view(&severity, 1)).Add(" ").AddUtc(now);
  line.Add(" ").AddNumber(static_cast<uint64_t>(getpid()));
  line.Add("/").AddNumber(static_cast<uint64_t>(syscall(SYS_gettid)));
  line.Add(origin.empty() ? "" : " ").Add(origin).Add("] ");
}

}  // namespace understudy::internal
