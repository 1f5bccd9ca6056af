// StuckWatch: finds that one worker has been in the same section of user code
// for too long. A plain state machine: no clock, no thread.
//
//   switch (watch.Observe(worker.handlers, now)) {
//     case StuckWatch::Verdict::kTakeOver: …        // returned by each Observe until TookOver is called
//     case StuckWatch::Verdict::kName: …            // log the worker's actor, then call Named
//   }
//
// Owner only.
#ifndef UNDERSTUDY_ACTORS_INTERNAL_SCHEDULING_STUCK_WATCH_H_
#define UNDERSTUDY_ACTORS_INTERNAL_SCHEDULING_STUCK_WATCH_H_

#include <algorithm>
#include <cstdint>

#include "absl/time/time.h"
#include "understudy/actors/clock.h"

namespace understudy::internal {

class StuckWatch {
 public:
  enum class Verdict { kNothing, kTakeOver, kName };

  StuckWatch(absl::Duration take_over_after, absl::Duration name_after)
      : take_over_after_(take_over_after), name_after_(name_after), next_name_(name_after) {}

  // `handlers` counts the sections that the worker has entered.
  Verdict Observe(uint64_t handlers, MonotonicTime now) {
    if (handlers != handlers_ || !is_watching_) {
      handlers_ = handlers;
      is_watching_ = true;
      since_ = now;
      is_taken_over_ = false;
      next_name_ = name_after_;
      return Verdict::kNothing;
    }
    now_ = now;
    if (!is_taken_over_ && now - since_ >= take_over_after_) return Verdict::kTakeOver;
    if (now - since_ >= next_name_) return Verdict::kName;
    return Verdict::kNothing;
  }

  // Call after taking over the worker's slot and queue while the worker was in user code.
  void TookOver() { is_taken_over_ = true; }
  // Call after logging the worker's actor. Observe returns kName again when the section has lasted twice as long.
  void Named() { next_name_ = 2 * (now_ - since_); }
  // Call when the worker runs no turn. The next Observe begins to watch a new section.
  void Reset() { is_watching_ = false; }

  // The section that is watched, and how long it had lasted at the last Observe.
  uint64_t handlers() const { return handlers_; }
  // When the watch found that section.
  MonotonicTime since() const { return since_; }
  absl::Duration running() const { return now_ - since_; }

 private:
  const absl::Duration take_over_after_;
  const absl::Duration name_after_;
  uint64_t handlers_ = 0;
  bool is_watching_ = false;
  bool is_taken_over_ = false;
  MonotonicTime since_;
  MonotonicTime now_;
  absl::Duration next_name_;
};

// ShortageWatch: says when to report that a pool has fewer workers than it wants because its bound is reached. A
// shortage is reported when it begins, again after `again_after`, and then each time it has lasted twice as long. One
// that comes and goes is reported at most once in `again_after`. Owner only.
class ShortageWatch {
 public:
  explicit ShortageWatch(absl::Duration again_after) : again_after_(again_after) {}

  // True if the shortage is to be reported now.
  bool Observe(bool is_short, MonotonicTime now) {
    const bool began = is_short && !was_short_;
    was_short_ = is_short;
    if (began) since_ = now;
    if (!is_short || now < next_report_) return false;
    next_report_ = now + std::max(again_after_, now - since_);
    return true;
  }

 private:
  const absl::Duration again_after_;
  bool was_short_ = false;
  MonotonicTime since_;
  MonotonicTime next_report_;
};

}  // namespace understudy::internal

#endif  // UNDERSTUDY_ACTORS_INTERNAL_SCHEDULING_STUCK_WATCH_H_
