// RefusalLines: which refused actions have a line in the log. Of one caller these are the first
// limits::kOpsRefusalLinesMax in limits::kOpsRefusalLinesPer; the others are counted and told together afterwards. So
// no caller can fill the disk with its refusals, or hide those of another.
//
// Threads: one at a time.
#ifndef UNDERSTUDY_TRANSPORT_OPS_REFUSAL_LINES_H_
#define UNDERSTUDY_TRANSPORT_OPS_REFUSAL_LINES_H_

#include <cstdint>
#include <map>
#include <string>
#include <vector>

#include "understudy/actors/clock.h"

namespace understudy::internal {

class RefusalLines {
 public:
  // Call before Add: returns the lines about refusals that were counted in times that are over at `now`.
  std::vector<std::string> Due(MonotonicTime now);
  // Notes a refusal of `caller`. Returns whether it has a line of its own.
  bool Add(const std::string& caller, MonotonicTime now);

 private:
  struct Refusals {
    MonotonicTime since;
    int64_t count = 0;
  };

  std::map<std::string, Refusals> callers_;  // those with refusals in limits::kOpsRefusalLinesPer
};

}  // namespace understudy::internal

#endif  // UNDERSTUDY_TRANSPORT_OPS_REFUSAL_LINES_H_
