// HandlerTimer: which runs of handlers on one worker are timed, and the run that is being timed.
//
//   if (ABSL_PREDICT_FALSE(timer.IsDue())) timer.Begin(now, kind);
//   …                                               // the handler runs
//   if (ABSL_PREDICT_FALSE(timer.is_timing())) …    // timer.End(now), and the sketch adds it if timer.is_sample()
//
// The worker of an actor's own thread times each run, so that a look knows how long the one that runs has taken; of
// these as many are samples as on other workers.
//
// Owner: the worker's own thread, in kernel code; noted() also for a thread that holds the worker in user code. It
// reads no clock.
#ifndef UNDERSTUDY_ACTORS_INTERNAL_SCHEDULING_HANDLER_TIMER_H_
#define UNDERSTUDY_ACTORS_INTERNAL_SCHEDULING_HANDLER_TIMER_H_

#include <algorithm>
#include <cstdint>
#include <typeinfo>
#include <utility>

#include "absl/time/time.h"
#include "understudy/actors/clock.h"

namespace understudy::internal {

// The kind of handler whose runs are timed together. Both pointers are valid as long as the program.
struct HandlerKind {
  const std::type_info* actor_class = nullptr;
  const void* mailbox = nullptr;  // a MailboxDeclaration; null: a handler of an event

  friend auto operator<=>(const HandlerKind&, const HandlerKind&) = default;
};

class HandlerTimer {
 public:
  // Call once, before any run: each run is timed from now on.
  void TimeAll() {
    times_all_ = true;
    runs_left_ = 1;
  }

  // Call once for each run. Returns true if this one is to be timed: call Begin.
  bool IsDue() { return --runs_left_ == 0; }
  void Begin(MonotonicTime now, const HandlerKind& kind) {
    is_sample_ = !times_all_ || --samples_left_ == 0;
    if (is_sample_) samples_left_ = NextStride();
    runs_left_ = times_all_ ? 1 : samples_left_;
    noted_ = began_ = now;
    kind_ = kind;
    is_timing_ = true;
  }
  bool is_timing() const { return is_timing_; }
  // True if the last run that was timed is one of the samples.
  bool is_sample() const { return is_sample_; }
  // How long the run took that is being timed, and what it was.
  std::pair<HandlerKind, absl::Duration> End(MonotonicTime now) {
    is_timing_ = false;
    noted_ = now;
    return {kind_, now - began_};
  }
  // A turn begins.
  void Note(MonotonicTime now) { noted_ = now; }
  // The latest time that was told. With TimeAll, the section of user code that runs began then.
  MonotonicTime noted() const { return noted_; }
  // The worker slept. Few runs follow perhaps, so one of the next few is timed.
  void Woke() { runs_left_ = std::min(runs_left_, 1 + (NextStride() & 3U)); }

 private:
  // 1 to 255, 128 on average. The numbers are random, so that programs whose runs repeat in a pattern are sampled
  // evenly.
  uint32_t NextStride() {
    // Marsaglia's xorshift, https://www.jstatsoft.org/v08/i14.
    random_ ^= random_ << 13;
    random_ ^= random_ >> 17;
    random_ ^= random_ << 5;
    return 1 + random_ % 255;
  }

  uint32_t runs_left_ = 1;
  uint32_t samples_left_ = 1;
  bool times_all_ = false;
  bool is_sample_ = false;
  bool is_timing_ = false;
  uint32_t random_ = 2463534242;
  MonotonicTime began_;
  MonotonicTime noted_;
  HandlerKind kind_;
};

}  // namespace understudy::internal

#endif  // UNDERSTUDY_ACTORS_INTERNAL_SCHEDULING_HANDLER_TIMER_H_
