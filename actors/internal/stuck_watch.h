// StuckWatch: finds that one worker has been in the same section of user code
// for too long. A plain state machine: no clock, no thread.
//
//   switch (watch.Observe(worker.handlers, now)) {
//     case StuckWatch::Verdict::kTakeOver: …        // again at each Observe until TookOver
//     case StuckWatch::Verdict::kName: …            // say who it is, each time it has doubled
//   }
//
// Owner only.
#ifndef UNDERSTUDY_ACTORS_INTERNAL_STUCK_WATCH_H_
#define UNDERSTUDY_ACTORS_INTERNAL_STUCK_WATCH_H_

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

  // It was in user code then, and what it had has been taken.
  void TookOver() { is_taken_over_ = true; }
  // It has been named. It is again when it has run twice as long.
  void Named() { next_name_ = 2 * (now_ - since_); }
  // The worker runs nothing now.
  void Reset() { is_watching_ = false; }

  // The section that it watches, and how long it lasts by now.
  uint64_t handlers() const { return handlers_; }
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

}  // namespace understudy::internal

#endif  // UNDERSTUDY_ACTORS_INTERNAL_STUCK_WATCH_H_
