// CrashQuota: which of its crashes a process child tells its parent: limits::kCrashesToldPerSecond in each second.
//
// A plain value without a clock.
#ifndef UNDERSTUDY_TRANSPORT_PROCESS_CRASH_QUOTA_H_
#define UNDERSTUDY_TRANSPORT_PROCESS_CRASH_QUOTA_H_

#include <cstdint>
#include <utility>

#include "absl/time/time.h"
#include "absl/types/optional.h"
#include "understudy/actors/clock.h"
#include "understudy/actors/limits.h"

namespace understudy::internal {

class CrashQuota {
 public:
  // Call for each crash. Returns how many were left out since the last that was told, if this one is to be told.
  absl::optional<int64_t> Take(MonotonicTime now) {
    if (told_ == 0 || now - second_ >= absl::Seconds(1)) {
      second_ = now;
      told_ = 0;
    }
    if (told_ == limits::kCrashesToldPerSecond) {
      ++left_out_;
      return absl::nullopt;
    }
    ++told_;
    return std::exchange(left_out_, 0);
  }

 private:
  MonotonicTime second_;  // the begin of the second in which `told_` are counted
  int told_ = 0;
  int64_t left_out_ = 0;
};

}  // namespace understudy::internal

#endif  // UNDERSTUDY_TRANSPORT_PROCESS_CRASH_QUOTA_H_
