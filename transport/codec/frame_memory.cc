#include "understudy/transport/codec/frame_memory.h"

#include <cstddef>
#include <string>
#include <utility>
#include <vector>

#include "absl/base/thread_annotations.h"
#include "absl/synchronization/mutex.h"
#include "understudy/transport/limits.h"

namespace understudy::internal {
namespace {

// A free list of strings whose capacities lie between two bounds.
class Memories {
 public:
  Memories(size_t kept_max, size_t capacity_min, size_t capacity_max)
      : kept_max_(kept_max), capacity_min_(capacity_min), capacity_max_(capacity_max) {}

  std::string Take() {
    absl::MutexLock lock(&mu_);
    if (kept_.empty()) return "";
    std::string taken = std::move(kept_.back());
    kept_.pop_back();
    return taken;
  }
  // Takes the memory of `bytes` if its capacity is within the bounds and the list is not full.
  void Keep(std::string& bytes) {
    if (bytes.capacity() < capacity_min_ || bytes.capacity() > capacity_max_) return;
    bytes.clear();
    absl::MutexLock lock(&mu_);
    if (kept_.size() < kept_max_) kept_.push_back(std::move(bytes));
  }

 private:
  const size_t kept_max_;
  const size_t capacity_min_;
  const size_t capacity_max_;
  absl::Mutex mu_;
  std::vector<std::string> kept_ ABSL_GUARDED_BY(mu_);
};

// A frame that grew by doubling may have twice its bytes.
Memories& Frames() {
  static auto* const frames =
      new Memories(limits::kFrameMemoriesMax, limits::kFrameBytesMax / 4, 2 * limits::kFrameBytesMax);
  return *frames;
}

Memories& Runs() {
  static auto* const runs = new Memories(limits::kRunMemoriesMax, limits::kRunBytesMax / 4, 2 * limits::kRunBytesMax);
  return *runs;
}

}  // namespace

std::string TakeFrameMemory() { return Frames().Take(); }
std::string TakeRunMemory() { return Runs().Take(); }

void KeepMemory(std::string bytes) {
  Runs().Keep(bytes);
  Frames().Keep(bytes);
}

}  // namespace understudy::internal
