// Combines all good and bad values of the fields of one child. The validation must find exactly as many errors as the
// rule requires; this test states the rule independently of the implementation.
#include <memory>
#include <string>
#include <vector>

#include "absl/strings/str_cat.h"
#include "absl/time/time.h"
#include "absl/types/optional.h"
#include "gtest/gtest.h"
#include "understudy/supervision/child_spec.h"
#include "understudy/supervision/spec_errors.h"

namespace understudy {
namespace {

template <class T>
struct Choice {
  T value;
  int errors = 0;  // errors of this value alone
};

// The backoffs of a child, each with the number of its own errors.
std::vector<Choice<absl::optional<RestartBackoff>>> Backoffs() {
  return {{absl::nullopt},
          {RestartBackoff()},
          {RestartBackoff{.min = absl::ZeroDuration()}, 1},
          {RestartBackoff{.min = absl::Seconds(2), .max = absl::Seconds(1)}, 1},
          {RestartBackoff{.factor = 0.5}, 1},
          {RestartBackoff{.jitter = 2}, 1},
          {RestartBackoff{.reset_after = absl::ZeroDuration(), .give_up_after_attempts = 1}, 2},
          // The wait before the second attempt is at least 0.8 s, so it ends after a second of failing.
          {RestartBackoff{.min = absl::Seconds(1), .give_up_after_attempts = 5, .give_up_after = absl::Seconds(2)}, 1},
          {RestartBackoff{.min = absl::Seconds(1), .give_up_after_attempts = 3, .give_up_after = absl::Seconds(2)}, 0}};
}

// The shutdown timeouts of a child. In the first the timeout is not set. For a supervisor whose child needs 5 s, finite
// timeouts of 5 s or less, and a brutal kill, are errors.
struct Stop {
  absl::optional<ChildShutdown> shutdown;
  int errors = 0;
  int errors_of_supervisor = 0;
};
std::vector<Stop> Stops() {
  return {{absl::nullopt, 0, 0},
          {ChildShutdown::Within(-absl::Seconds(1)), 1, 1},
          {ChildShutdown::Within(absl::ZeroDuration()), 1, 1},
          {ChildShutdown::Within(absl::Seconds(5)), 0, 1},
          {ChildShutdown::Within(absl::Seconds(6)), 0, 0},
          {ChildShutdown::BrutalKill(), 0, 1},
          {ChildShutdown::Infinity(), 0, 0}};
}

struct What {
  ChildSpec child;
  int errors = 0;  // errors because its start is missing or does not fit its kind
};
std::vector<What> Kinds() {
  const ProcessSpec process{.binary = "b", .node_name = "n"};
  const FactoryCall factory{.name = "f"};
  const auto tree =
      std::make_shared<const SupervisorSpec>(SupervisorSpec{.children = {{.id = "x", .factory = factory}}});
  return {{{.kind = ChildKind::kWorker}, 1},
          {{.kind = ChildKind::kWorker, .factory = factory}},
          {{.kind = ChildKind::kWorker, .process = process}, 2},
          {{.kind = ChildKind::kWorker, .factory = FactoryCall{}}, 1},
          {{.kind = ChildKind::kSupervisor, .subtree = tree}},
          {{.kind = ChildKind::kSupervisor, .process = process}, 2},
          {{.kind = ChildKind::kProcess, .process = process}},
          {{.kind = ChildKind::kProcess}, 1}};
}

struct Names {
  std::string registered;
  std::string published;
  int errors = 0;
};
const std::vector<Names>& AllNames() {
  static const auto* const names =
      new std::vector<Names>{{"", "", 0}, {"one", "two", 0}, {"same", "same", 1}, {"", "sibling", 1}, {"a\tb", "", 1}};
  return *names;
}

std::vector<absl::optional<RestartBudget>> Budgets() {
  return {absl::nullopt,
          RestartBudget{0, absl::Seconds(5)},
          RestartBudget{-1, absl::Seconds(5)},
          RestartBudget{1, absl::ZeroDuration()},
          RestartBudget{5, absl::Seconds(1)},
          RestartBudget{5, absl::Seconds(2)}};
}

int BudgetErrors(const RestartBudget& budget, const absl::optional<RestartBackoff>& backoff, RestartType restart,
                 int intensity, absl::Duration period) {
  int errors = restart == RestartType::kTemporary ? 1 : 0;
  const bool is_bad = budget.intensity < 0 || budget.period == absl::ZeroDuration();
  // The supervisor would give up before this budget is spent.
  const bool is_never_spent = budget.intensity > intensity && budget.period <= period;
  if (is_bad || is_never_spent) ++errors;
  // With a backoff only the first restart after a healthy time is counted, because later restarts wait. A budget above
  // 0 is therefore never spent.
  const bool is_healthy_ever = backoff.has_value() && backoff->reset_after > absl::ZeroDuration();
  if (!is_bad && is_healthy_ever && budget.intensity > 0) ++errors;
  return errors;
}

// OTP SUP-23, SUP-24
TEST(SpecCrossProduct, TheErrorsAreExactlyThoseOfTheRule) {
  int64_t specs = 0;
  int64_t good = 0;
  const std::vector<Choice<std::string>> ids = {{"a"}, {"", 1}, {"a\n", 1}, {"sibling", 1}};
  const auto check = [&](const SupervisorSpec& spec, int expected) {
    ++specs;
    if (expected == 0) ++good;
    const std::vector<SpecError> errors = FindSpecErrors(spec);
    ASSERT_EQ(errors.size(), static_cast<size_t>(expected)) << ValidateSpec(spec) << "\n" << DescribeTree(spec);
    ASSERT_EQ(ValidateSpec(spec).ok(), expected == 0);
  };
  const auto in_supervisor = [&](const ChildSpec& child, int child_errors) {
    for (const AutoShutdown mode :
         {AutoShutdown::kNever, AutoShutdown::kAnySignificant, AutoShutdown::kAllSignificant}) {
      for (const int intensity : {-1, 0, 1, 100000, 100001}) {
        for (const absl::Duration period : {absl::ZeroDuration(), absl::Seconds(1)}) {
          int errors = child_errors;
          if (intensity < 0 || intensity > 100000) ++errors;
          if (period == absl::ZeroDuration()) ++errors;
          if (child.significant && (child.restart == RestartType::kPermanent || mode == AutoShutdown::kNever)) ++errors;
          // True if the first restart of the child is already refused.
          const bool is_refused = intensity == 0 || (child.budget.has_value() && child.budget->intensity == 0);
          if (child.backoff.has_value() && (child.restart == RestartType::kTemporary || is_refused)) ++errors;
          if (child.exclusive && child.restart == RestartType::kTemporary) ++errors;
          if (child.budget.has_value()) {
            errors += BudgetErrors(*child.budget, child.backoff, child.restart, intensity, period);
          }
          check(
              {.intensity = intensity,
               .period = period,
               .auto_shutdown = mode,
               .children = {{.id = "sibling", .registered_as = "sibling", .factory = FactoryCall{.name = "f"}}, child}},
              errors);
          if (testing::Test::HasFatalFailure()) return;
        }
      }
    }
  };
  const auto with_flags = [&](ChildSpec child, int errors) {
    for (const RestartType restart : {RestartType::kPermanent, RestartType::kTransient, RestartType::kTemporary}) {
      for (const bool is_significant : {false, true}) {
        for (const bool has_time : {true, false}) {
          child.restart = restart;
          child.significant = is_significant;
          child.start_within = has_time ? absl::Seconds(1) : absl::ZeroDuration();
          in_supervisor(child, errors + (has_time ? 0 : 1));
          if (testing::Test::HasFatalFailure()) return;
        }
      }
    }
  };
  // Every pair of values of the other fields is combined with every combination of the flags above.
  for (const What& what : Kinds()) {
    const bool is_supervisor = what.child.subtree != nullptr;
    for (const Stop& stop : Stops()) {
      for (const auto& backoff : Backoffs()) {
        ChildSpec child = what.child;
        child.id = "a";
        child.shutdown = stop.shutdown;
        child.backoff = backoff.value;
        with_flags(child, what.errors + (is_supervisor ? stop.errors_of_supervisor : stop.errors) + backoff.errors);
        ASSERT_FALSE(HasFatalFailure());
      }
    }
    for (const absl::optional<RestartBudget>& budget : Budgets()) {
      for (const bool is_exclusive : {false, true}) {
        ChildSpec child = what.child;
        child.id = "a";
        child.budget = budget;
        child.exclusive = is_exclusive;
        with_flags(child, what.errors);
        ASSERT_FALSE(HasFatalFailure());
      }
    }
    for (const Choice<std::string>& id : ids) {
      for (const Names& names : AllNames()) {
        ChildSpec child = what.child;
        child.id = id.value;
        child.registered_as = names.registered;
        child.published_as = names.published;
        const bool is_named = !names.registered.empty() || !names.published.empty();
        const bool must_be_nameless = what.child.kind == ChildKind::kProcess && what.errors == 0;
        with_flags(child, what.errors + id.errors + names.errors + (is_named && must_be_nameless ? 1 : 0));
        ASSERT_FALSE(HasFatalFailure());
      }
    }
  }
  // For a child without other errors, each budget is combined with each backoff.
  for (const absl::optional<RestartBudget>& budget : Budgets()) {
    for (const auto& backoff : Backoffs()) {
      ChildSpec child{.id = "a", .factory = FactoryCall{.name = "f"}};
      child.budget = budget;
      child.backoff = backoff.value;
      with_flags(child, backoff.errors);
      ASSERT_FALSE(HasFatalFailure());
    }
  }
  EXPECT_EQ(specs, (8 * 7 * 9 + 8 * 6 * 2 + 8 * 4 * 5 + 6 * 9) * 12 * 30);
  EXPECT_GT(good, 1000);
}

}  // namespace
}  // namespace understudy
