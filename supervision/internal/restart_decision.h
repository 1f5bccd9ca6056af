// RestartDecider: decides whether a child is restarted now, later or not at all.
//
// A child without backoff is restarted at once, and the restart is counted in the
// supervisor's window. A child with backoff is restarted at once, and counted, the
// first time after a healthy run; its further restarts wait, longer each time, and
// are not counted, up to limits of the child's own. A restart that is counted is
// first counted in the child's own budget, if it has one; a restart that the budget
// refuses is not counted in the supervisor's window.
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
  absl::Duration wait;        // for kLater
  std::string why;            // for kGiveUp: "needed 4 restarts within 10s; 3 are allowed"
  bool is_own_limit = false;  // for kGiveUp: the limit was the child's own, not its supervisor's
};

// The state of one child between its restarts.
struct RestartHistory {
  // The restarts since the child was last healthy. The owner sets this to 0 after a healthy run, and when a request
  // starts the child.
  int attempts = 0;
  // The time of the first of these restarts. The owner adds the time that the child was down for another reason than a
  // failure, so that this time does not count towards give_up_after.
  MonotonicTime first_attempt;
  absl::optional<RestartWindow> budget;  // for a child with a budget, from its first restart on
};

class RestartDecider {
 public:
  RestartDecider(int intensity, absl::Duration period, Random random);

  // Decides on a restart of the child at `now`, and records it in `history` and in the window.
  RestartDecision Decide(const ChildSpec& child, RestartHistory& history, MonotonicTime now);

  // The supervisor's window.
  const RestartWindow& window() const { return window_; }

 private:
  RestartDecision DecideCounted(const ChildSpec& child, RestartHistory& history, MonotonicTime now);

  const int intensity_;
  const absl::Duration period_;
  RestartWindow window_;
  Random random_;
};

// The wait, without jitter, before the restart that follows `waits` earlier waits:
// min * factor^waits, at most max. More than 1000 waits count as 1000.
absl::Duration BackoffWait(const RestartBackoff& backoff, int waits);

}  // namespace understudy

#endif  // UNDERSTUDY_SUPERVISION_INTERNAL_RESTART_DECISION_H_
