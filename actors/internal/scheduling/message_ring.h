// MessageRing: the last messages that handlers on one worker began to handle, for the report of an actor that crashes
// there. Never their contents.
//
// To record a message costs about nine instructions and reads no clock. The recorded time is the latest time that the
// worker knew when the handler began. A worker learns the time when it wakes up, when an actor sorts its mail, and when
// a handler is timed. So the recorded time is never later than the true one, and is earlier by as long as handlers have
// run since the worker learned the time.
//
// Owner: the worker's own thread, in kernel code.
#ifndef UNDERSTUDY_ACTORS_INTERNAL_SCHEDULING_MESSAGE_RING_H_
#define UNDERSTUDY_ACTORS_INTERNAL_SCHEDULING_MESSAGE_RING_H_

#include <algorithm>
#include <array>
#include <cstddef>
#include <cstdint>
#include <utility>

namespace understudy::internal {

// One message, or a time. The fields from `life` to `type` lie as in an Envelope, so that they are copied at once.
struct RingEntry {
  uint64_t life = 0;  // the receiver's; 0: not a message, but a time, or an entry that was never used
  uint64_t sender_life = 0;
  uint32_t sender_cell = 0;
  uint8_t kind = 0;
  uint8_t flags = 0;
  uint8_t units = 0;
  uint8_t mailbox = 0;
  uint64_t stamp = 0;          // a time in nanoseconds; 0: unknown
  const void* type = nullptr;  // a MessageType, which lasts as long as the program
  uint64_t bytes = 0;          // the size that the mailbox counted; only if `flags` has kHasCallPart
  uint64_t unused[2] = {};     // a place is a shift away
};
static_assert(sizeof(RingEntry) == 64);

class MessageRing {
 public:
  static constexpr size_t kSize = 64;

  // The entry for the next message: the oldest, to be overwritten.
  RingEntry& Next() {
    // The place in the upper bits wraps by itself.
    RingEntry& entry = entries_[next_ >> kPlaceShift];
    next_ = static_cast<uint16_t>(next_ + (1U << kPlaceShift));
    return entry;
  }
  // The handler of the newest message begins at `nanos`.
  void StampNewest(uint64_t nanos) {
    Newest().stamp = nanos;
    noted_ = nanos;
  }
  // The worker knows that it is `nanos`: it has just woken up, for example.
  void NoteTime(uint64_t nanos) {
    if (std::exchange(noted_, nanos) == nanos) return;
    RingEntry& newest = Newest();
    RingEntry& mark = newest.life == 0 ? newest : Next();
    mark.life = 0;
    mark.stamp = nanos;
  }
  // Calls visit(entry, time) for each message of that life, the oldest first. `time` is in nanoseconds; 0: not known.
  template <class F>
  void ForEachOf(uint64_t life, F&& visit) const {
    const bool is_stamped =
        std::any_of(entries_.begin(), entries_.end(), [](const RingEntry& entry) { return entry.stamp != 0; });
    uint64_t time = is_stamped ? 0 : noted_;
    for (size_t i = 0; i < kSize; ++i) {
      const RingEntry& entry = entries_[((next_ >> kPlaceShift) + i) % kSize];
      time = std::max(time, entry.stamp);
      if (entry.life == life) visit(entry, time);
    }
  }

 private:
  static constexpr int kPlaceShift = 10;
  static_assert(kSize == size_t{1} << (16 - kPlaceShift));

  RingEntry& Newest() { return entries_[static_cast<uint16_t>(next_ - (1U << kPlaceShift)) >> kPlaceShift]; }

  uint64_t noted_ = 0;  // the latest time that was told
  uint16_t next_ = 0;   // the place of the next entry, shifted left by kPlaceShift
  std::array<RingEntry, kSize> entries_;
};

}  // namespace understudy::internal

#endif  // UNDERSTUDY_ACTORS_INTERNAL_SCHEDULING_MESSAGE_RING_H_
