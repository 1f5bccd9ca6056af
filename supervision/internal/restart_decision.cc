#include "understudy/supervision/internal/restart_decision.h"

#include <algorithm>
#include <cmath>
#include <string>
#include <utility>

#include "absl/strings/str_cat.h"
#include "absl/strings/string_view.h"
#include "absl/time/time.h"
#include "absl/types/optional.h"
#include "understudy/actors/clock.h"
#include "understudy/actors/random.h"
#include "understudy/supervision/child_spec.h"
#include "understudy/supervision/internal/restart_window.h"

namespace understudy {
namespace {

RestartDecision GiveUp(std::string why) {
  return {.kind = RestartDecision::Kind::kGiveUp, .why = std::move(why), .is_own_limit = true};
}

// "needed 4 restarts within 10s; 3 are allowed"
RestartDecision Spent(const RestartWindow& window, int intensity, absl::Duration period, absl::string_view to_whom) {
  return GiveUp(absl::StrCat("needed ", window.count(), window.count() == 1 ? " restart" : " restarts", " within ",
                             absl::FormatDuration(period), "; ", intensity, intensity == 1 ? " is" : " are", " allowed",
                             to_whom.empty() ? "" : " ", to_whom));
}

}  // namespace

RestartDecider::RestartDecider(int intensity, absl::Duration period, Random random)
    : intensity_(intensity), period_(period), window_(intensity, period), random_(random) {}

RestartDecision RestartDecider::DecideCounted(const ChildSpec& child, RestartHistory& history, MonotonicTime now) {
  if (child.budget.has_value()) {
    if (!history.budget.has_value()) history.budget.emplace(child.budget->intensity, child.budget->period);
    if (!history.budget->Add(now))
      return Spent(*history.budget, child.budget->intensity, child.budget->period, "to it");
  }
  if (window_.Add(now)) return {};
  RestartDecision spent = Spent(window_, intensity_, period_, "");
  spent.is_own_limit = false;
  return spent;
}

RestartDecision RestartDecider::Decide(const ChildSpec& child, RestartHistory& history, MonotonicTime now) {
  const absl::optional<RestartBackoff>& backoff = child.backoff;
  if (!backoff.has_value()) return DecideCounted(child, history, now);
  if (history.attempts == 0) {
    history.attempts = 1;
    history.first_attempt = now;
    return DecideCounted(child, history, now);
  }
  if (history.attempts >= backoff->give_up_after_attempts) {
    return GiveUp(absl::StrCat("was restarted ", history.attempts, " times without running ",
                               absl::FormatDuration(backoff->reset_after), "; that is its limit"));
  }
  if (now - history.first_attempt >= backoff->give_up_after) {
    return GiveUp(absl::StrCat("has not run ", absl::FormatDuration(backoff->reset_after), " for ",
                               absl::FormatDuration(now - history.first_attempt), "; its limit is ",
                               absl::FormatDuration(backoff->give_up_after)));
  }
  const absl::Duration wait = BackoffWait(*backoff, history.attempts - 1);
  ++history.attempts;
  return {.kind = RestartDecision::Kind::kLater, .wait = wait * (1.0 - backoff->jitter * random_.Fraction())};
}

absl::Duration BackoffWait(const RestartBackoff& backoff, int waits) {
  // After 1000 waits the wait no longer grows. If the power is infinite, the comparison below makes the wait `max`.
  const double times = std::pow(backoff.factor, std::min(waits, 1000));
  if (times >= absl::FDivDuration(backoff.max, backoff.min)) return backoff.max;
  return std::min(backoff.max, backoff.min * times);
}

}  // namespace understudy
