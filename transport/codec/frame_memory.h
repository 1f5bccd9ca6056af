// Free lists of the memory of frames, and of the runs of envelopes that wait for their
// acknowledgement (send_queues.h).
//
// A busy session fills a frame of 64 KiB every few hundred messages, and keeps many runs of
// 4 KiB. Allocating and freeing memory of these sizes all the time would make malloc give
// pages back to the kernel and ask for them again.
//
// Process-wide and bounded (limits::kFrameMemoriesMax, kRunMemoriesMax). Any thread.
#ifndef UNDERSTUDY_TRANSPORT_CODEC_FRAME_MEMORY_H_
#define UNDERSTUDY_TRANSPORT_CODEC_FRAME_MEMORY_H_

#include <cstddef>
#include <string>
#include <utility>

namespace understudy::internal {

// Return an empty string, with the capacity of a frame or of a run if the list has one.
std::string TakeFrameMemory();
std::string TakeRunMemory();
// Keeps the memory of `bytes`, unless it is small or enough is kept already.
void KeepMemory(std::string bytes);

// A string whose memory goes to the free list when it is destroyed.
class RunBytes {
 public:
  RunBytes() = default;
  ~RunBytes() {
    if (bytes.capacity() > kInPlaceMax) KeepMemory(std::move(bytes));
  }
  RunBytes(RunBytes&&) = default;
  RunBytes& operator=(RunBytes&& other) noexcept {
    bytes.swap(other.bytes);
    return *this;
  }

  std::string bytes;

 private:
  static constexpr size_t kInPlaceMax = 64;
};

}  // namespace understudy::internal

#endif  // UNDERSTUDY_TRANSPORT_CODEC_FRAME_MEMORY_H_
