// RestartDecider: now, later, or not at all?
//
// Decides on each restart of a supervisor's children. A child without backoff
// is restarted at once and counted in the supervisor's window. One with
// backoff is restarted at once, and counted, the first time after a healthy
// run; then it waits, longer each time, uncounted, up to its own limit. What is
// counted is counted in the child's own budget first: a restart that this
// refuses costs the supervisor's nothing.
//
// A pure state machine; the owner gives it the time. Owner only.
#ifndef UNDERSTUDY_SUPERVISION_INTERNAL_RESTART_DECISION_H_
#define UNDERSTUDY_SUPERVISION_INTERNAL_RESTART_DECISION_H_

#include <string>

#include "absl/time/time.h"
#include "absl/types/optional.h"
#include "understudy/actors/clock.h"
#include "understudy/actors/random.h"
#include "understudy/supervision/child_spec.h"
#include "understudy/supervision/internal/restart_window.h"

namespace understudy {

struct RestartDecision {
  enum class Kind { kNow, kLater, kGiveUp };
  Kind kind = Kind::kNow;
  absl::Duration wait;        // of kLater
  std::string why;            // of kGiveUp: "needed 4 restarts within 10s; 3 are allowed"
  bool is_own_limit = false;  // of kGiveUp: the child's own limit, not its supervisor's
};

// What is remembered of one child between its restarts.
struct RestartHistory {
  // Since it was last healthy; the owner sets it to 0 after a healthy run, and at a start by request.
  int attempts = 0;
  // Of these; the owner moves it on by the time that the child was down for another reason than to fail.
  MonotonicTime first_attempt;
  absl::optional<RestartWindow> budget;  // of a child that has one, from its first restart on
};

class RestartDecider {
 public:
  RestartDecider(int intensity, absl::Duration period, Random random);

  // The child of `history` is to be restarted at `now`, and counts as tried.
  RestartDecision Decide(const ChildSpec& child, RestartHistory& history, MonotonicTime now);

 private:
  RestartDecision DecideCounted(const ChildSpec& child, RestartHistory& history, MonotonicTime now);

  const int intensity_;
  const absl::Duration period_;
  RestartWindow window_;
  Random random_;
};

// The wait before the restart that follows `waits` earlier waits, without
// jitter: min * factor^waits, at most max.
absl::Duration BackoffWait(const RestartBackoff& backoff, int waits);

}  // namespace understudy

#endif  // UNDERSTUDY_SUPERVISION_INTERNAL_RESTART_DECISION_H_
