#include "understudy/transport/names/comparison_budgets.h"

#include <algorithm>
#include <cstdint>
#include <map>
#include <string>

#include "absl/strings/string_view.h"
#include "absl/time/time.h"
#include "understudy/actors/clock.h"
#include "understudy/transport/names/name_limits.h"

namespace understudy {

void ComparisonBudgets::Refill(Budget& budget, MonotonicTime now) {
  const absl::Duration since = now - budget.refilled;
  if (since <= absl::ZeroDuration()) return;
  const double part = absl::FDivDuration(since, limits::kComparisonStepsWithin);
  const auto more = static_cast<int64_t>(std::min(part, 1.0) * static_cast<double>(limits::kComparisonStepsMax));
  if (more == 0) return;  // the time counts at the next call
  // What one comparison took beyond the budget is forgiven: it was given up.
  budget.steps = std::min(std::max<int64_t>(budget.steps, 0) + more, limits::kComparisonStepsMax);
  budget.refilled = now;
}

std::string ComparisonBudgets::OnSessionBegun(absl::string_view peer, MonotonicTime now) {
  for (auto& [name, budget] : budgets_) Refill(budget, now);
  std::erase_if(budgets_, [](const auto& entry) {
    return entry.second.sessions == 0 && entry.second.steps == limits::kComparisonStepsMax;
  });
  const bool has_place = budgets_.size() < limits::kComparisonBudgetsMax || budgets_.contains(peer);
  const auto [budget, is_new] = budgets_.try_emplace(has_place ? std::string(peer) : "");
  if (is_new) budget->second.refilled = now;
  ++budget->second.sessions;
  return budget->first;
}

void ComparisonBudgets::OnSessionEnded(absl::string_view budget) {
  const auto found = budgets_.find(budget);
  if (--found->second.sessions == 0 && found->second.steps == limits::kComparisonStepsMax) budgets_.erase(found);
}

}  // namespace understudy
