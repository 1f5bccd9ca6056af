// ComparisonBudgets: how much comparing the messages of peers (LocalTypes::Compare), and describing this node's
// messages to them (LocalTypes::Describe), may still cost. A peer has limits::kComparisonStepsMax steps, and gets what
// it used back within limits::kComparisonStepsWithin, at the begin of a session. A session that ends does not give
// steps back, so a peer that begins sessions again and again gains nothing. All peers whose identity is not proved have
// one budget, because such a peer can choose another name.
//
// A plain value without threads or clock.
#ifndef UNDERSTUDY_TRANSPORT_NAMES_COMPARISON_BUDGETS_H_
#define UNDERSTUDY_TRANSPORT_NAMES_COMPARISON_BUDGETS_H_

#include <cstddef>
#include <cstdint>
#include <functional>
#include <map>
#include <string>

#include "absl/strings/string_view.h"
#include "understudy/actors/clock.h"
#include "understudy/transport/names/name_limits.h"

namespace understudy {

class ComparisonBudgets {
 public:
  // Call when a session begins. `peer` is the name of a peer with a proved identity, or empty. Returns the name of the
  // budget for this session, which is `peer`, or empty if limits::kComparisonBudgetsMax are kept.
  std::string OnSessionBegun(absl::string_view peer, MonotonicTime now);
  // The steps that are left in the budget of a session; negative if none.
  int64_t& StepsOf(absl::string_view budget) { return budgets_.find(budget)->second.steps; }
  // Call when the session ends.
  void OnSessionEnded(absl::string_view budget);

  // The number of peers whose budget is kept: those with a session, and those that used steps within the last
  // limits::kComparisonStepsWithin.
  size_t size() const { return budgets_.size(); }

 private:
  struct Budget {
    int64_t steps = limits::kComparisonStepsMax;
    MonotonicTime refilled;
    int sessions = 0;
  };
  static void Refill(Budget& budget, MonotonicTime now);

  std::map<std::string, Budget, std::less<>> budgets_;
};

}  // namespace understudy

#endif  // UNDERSTUDY_TRANSPORT_NAMES_COMPARISON_BUDGETS_H_
