// The mark of a message that does not wake its actor: when it came. The message waits unsorted until something wakes
// the actor, so its stamp, which says when it came (ActorCore::NextStamp), is given to it late.
//
// The mark takes no room: it uses bits of the envelope that are zero until the message is sorted. It counts 2^19 ticks
// of 67 ms, nine hours and three quarters; the age of a message that waits unsorted for longer is shown too small.
//
// Threads: the sender until the push, then the owner. Other threads may read the mark while they hold the actor.
#ifndef UNDERSTUDY_ACTORS_INTERNAL_SEND_WAITING_MARK_H_
#define UNDERSTUDY_ACTORS_INTERNAL_SEND_WAITING_MARK_H_

#include <cstdint>

#include "understudy/actors/clock.h"
#include "understudy/actors/internal/memory/slow_path.h"
#include "understudy/actors/internal/send/envelope.h"

namespace understudy::internal {

class SystemCore;

class WaitingMark {
 public:
  // `envelope` is unsorted, here and below.
  static bool IsOn(const Envelope& envelope) { return static_cast<int64_t>(envelope.arriving) < 0; }
  // Does nothing if the envelope has a mark. Its gates or hash and its sender are set already.
  static void Put(Envelope& envelope, MonotonicTime now) {
    if (IsOn(envelope)) return;
    const uint64_t tick = TickOf(now);
    envelope.arriving |= kIsOn | tick >> Envelope::kFreeLowBits << Envelope::kAddressBits | (tick & kLowMask);
  }
  // Returns when a marked message came, and takes the mark off.
  static MonotonicTime TakeOff(Envelope& envelope, MonotonicTime now) {
    const MonotonicTime came = TimeOf(envelope, now);
    envelope.arriving &= Envelope::kAddressMask;
    return came;
  }
  // When a marked message came.
  static MonotonicTime TimeOf(const Envelope& envelope, MonotonicTime now) {
    const uint64_t high = (envelope.arriving & ~kIsOn) >> Envelope::kAddressBits;
    const uint64_t tick = high << Envelope::kFreeLowBits | (envelope.arriving & kLowMask);
    const uint64_t ticks_ago = (TickOf(now) - tick) & kTickMask;
    // A sender may read the clock a little later than the caller.
    if (ticks_ago > kTickMask - kAheadMax) return now;
    return MonotonicTime::FromNanos(now.nanos() - static_cast<int64_t>(ticks_ago << kTickShift));
  }

 private:
  static constexpr uint64_t kIsOn = uint64_t{1} << 63;
  static constexpr int kTickShift = 26;
  static constexpr uint64_t kLowMask = (1U << Envelope::kFreeLowBits) - 1;
  static constexpr uint64_t kTickMask = (uint64_t{1} << (63 - Envelope::kAddressBits + Envelope::kFreeLowBits)) - 1;
  static constexpr uint64_t kAheadMax = 1000;

  static uint64_t TickOf(MonotonicTime time) { return static_cast<uint64_t>(time.nanos()) >> kTickShift & kTickMask; }
};

// Marks a message that is about to be pushed to an actor that stays idle.
UNDERSTUDY_SLOW_PATH void MarkWaiting(Envelope& envelope, SystemCore& system);

}  // namespace understudy::internal

#endif  // UNDERSTUDY_ACTORS_INTERNAL_SEND_WAITING_MARK_H_
