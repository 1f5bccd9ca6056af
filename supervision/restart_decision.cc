#include "understudy/supervision/restart_decision.h"

#include <algorithm>
#include <cmath>
#include <string>

#include "absl/strings/str_cat.h"
#include "absl/time/time.h"
#include "absl/types/optional.h"
#include "understudy/actors/clock.h"
#include "understudy/actors/random.h"
#include "understudy/supervision/child_spec.h"

namespace understudy {

RestartDecider::RestartDecider(int intensity, absl::Duration period, Random random)
    : intensity_(intensity), period_(period), window_(intensity, period), random_(random) {}

RestartDecision RestartDecider::DecideCounted(MonotonicTime now) {
  if (window_.Add(now)) return {};
  const int count = window_.count();
  return {RestartDecision::Kind::kGiveUp, absl::ZeroDuration(),
          absl::StrCat("needed ", count, count == 1 ? " restart" : " restarts", " within ",
                       absl::FormatDuration(period_), "; ", intensity_, intensity_ == 1 ? " is" : " are", " allowed")};
}

RestartDecision RestartDecider::Decide(const absl::optional<RestartBackoff>& backoff, RestartHistory& history,
                                       MonotonicTime now) {
  if (!backoff.has_value()) return DecideCounted(now);
  if (history.attempts == 0) {
    history.attempts = 1;
    history.first_attempt = now;
    return DecideCounted(now);
  }
  if (history.attempts >= backoff->give_up_after_attempts) {
    return {RestartDecision::Kind::kGiveUp, absl::ZeroDuration(),
            absl::StrCat("was restarted ", history.attempts, " times without running ",
                         absl::FormatDuration(backoff->reset_after), "; that is its limit")};
  }
  if (now - history.first_attempt >= backoff->give_up_after) {
    return {RestartDecision::Kind::kGiveUp, absl::ZeroDuration(),
            absl::StrCat("has not run ", absl::FormatDuration(backoff->reset_after), " for ",
                         absl::FormatDuration(now - history.first_attempt), "; its limit is ",
                         absl::FormatDuration(backoff->give_up_after))};
  }
  const absl::Duration wait = BackoffWait(*backoff, history.attempts - 1);
  ++history.attempts;
  return {RestartDecision::Kind::kLater, wait * (1.0 - backoff->jitter * random_.Fraction()), ""};
}

absl::Duration BackoffWait(const RestartBackoff& backoff, int waits) {
  // The cap keeps the power finite for every factor that validation lets pass but the largest.
  const double times = std::pow(backoff.factor, std::min(waits, 1000));
  if (times >= absl::FDivDuration(backoff.max, backoff.min)) return backoff.max;
  return std::min(backoff.max, backoff.min * times);
}

}  // namespace understudy
