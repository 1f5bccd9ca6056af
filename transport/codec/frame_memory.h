// The memory of frames, and of the runs of envelopes that wait for their acknowledgement
// (send_queues.h), for those that are written next.
//
// A busy session fills a frame of 64 KiB every few hundred messages, and keeps many
// runs of 4 KiB. Memory of those sizes that is allocated and freed all the time makes
// malloc give pages back to the kernel and ask for them again.
//
// Process-wide and bounded (limits::kFrameMemoriesMax, kRunMemoriesMax). Any thread.
#ifndef UNDERSTUDY_TRANSPORT_CODEC_FRAME_MEMORY_H_
#define UNDERSTUDY_TRANSPORT_CODEC_FRAME_MEMORY_H_

#include <cstddef>
#include <string>
#include <utility>

namespace understudy::internal {

// Empty strings that have the capacity of a frame, or of a run, if there is one to be had.
std::string TakeFrameMemory();
std::string TakeRunMemory();
// Keeps the memory of `bytes`, unless it is small or enough is kept already.
void KeepMemory(std::string bytes);

// Bytes whose memory is kept when they go.
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
