// HandlerSketches: the times of handlers of one system, by class and mailbox. Workers add samples, each mostly to a
// part of its own, and readers sum the parts up.
//
// Threads: any.
#ifndef UNDERSTUDY_ACTORS_INTERNAL_SYSTEM_HANDLER_SKETCHES_H_
#define UNDERSTUDY_ACTORS_INTERNAL_SYSTEM_HANDLER_SKETCHES_H_

#include <array>
#include <cstddef>
#include <cstdint>
#include <map>

#include "absl/base/thread_annotations.h"
#include "absl/synchronization/mutex.h"
#include "absl/time/time.h"
#include "understudy/actors/handler_times.h"
#include "understudy/actors/internal/scheduling/handler_timer.h"
#include "understudy/actors/limits.h"

namespace understudy::internal {

class HandlerSketches {
 public:
  // `worker` is only the number of a part. Beyond limits::kHandlerKindsMax, kinds that are new are counted together,
  // under the empty kind.
  void Add(const void* worker, const HandlerKind& kind, absl::Duration time) {
    // Workers are objects of some hundred bytes.
    Part& part = parts_[(reinterpret_cast<uintptr_t>(worker) >> 8) % parts_.size()];
    absl::MutexLock lock(&part.mu);
    auto found = part.sketches.find(kind);
    if (found == part.sketches.end()) {
      const bool has_room = part.sketches.size() < limits::kHandlerKindsMax;
      found = part.sketches.try_emplace(has_room ? kind : HandlerKind()).first;
    }
    found->second.Add(time);
  }
  std::map<HandlerKind, TimeSketch> Sum() const {
    std::map<HandlerKind, TimeSketch> sum;
    for (const Part& part : parts_) {
      absl::MutexLock lock(&part.mu);
      for (const auto& [kind, sketch] : part.sketches) sum[kind] += sketch;
    }
    return sum;
  }

 private:
  struct Part {
    mutable absl::Mutex mu;
    std::map<HandlerKind, TimeSketch> sketches ABSL_GUARDED_BY(mu);
  };
  std::array<Part, 8> parts_;
};

}  // namespace understudy::internal

#endif  // UNDERSTUDY_ACTORS_INTERNAL_SYSTEM_HANDLER_SKETCHES_H_
