// Compares RestartPlan with a model supervisor that is written from OTP's documentation alone, does everything in
// sequence, and blocks. For all lists of up to four children of all restart types and all strategies, both must do the
// same, in the same order:
//
// - with all pairs of exits and every single start that fails or is refused;
// - with every exit (of four children, every crash) and every set of failing starts.
//
// Each Bug is put into the plan to check that the comparison finds it.
#include <algorithm>
#include <cstddef>
#include <map>
#include <string>
#include <vector>

#include "absl/strings/str_cat.h"
#include "absl/strings/str_join.h"
#include "absl/time/time.h"
#include "gtest/gtest.h"
#include "understudy/actors/exit_reason.h"
#include "understudy/supervision/child_spec.h"
#include "understudy/tests/supervision/plan_driver.h"

namespace understudy {
namespace {

enum class Outcome { kStarts, kFails, kIgnores };

// A start with a special outcome: the start number `attempt` of `child`, counted from 1.
struct Oddity {
  Outcome outcome = Outcome::kFails;
  size_t child = 0;
  int attempt = 0;
  bool lasts = false;  // all later starts of the child have this outcome too
};

struct Exit {
  size_t child = 0;
  bool is_normal = false;
};

struct Script {
  RestartStrategy strategy = RestartStrategy::kOneForOne;
  std::vector<RestartType> types;
  std::vector<Oddity> oddities;
  std::vector<Exit> exits;
  int intensity = 1;

  Outcome OutcomeOf(size_t child, int attempt) const {
    for (const Oddity& odd : oddities) {
      if (odd.child == child && (odd.attempt == attempt || (odd.lasts && attempt > odd.attempt))) return odd.outcome;
    }
    return Outcome::kStarts;
  }
};

// The bugs that RunPlan can put into its plan.
enum class Bug {
  kNone,
  kAllowsOneMore,
  kAllowsOneLess,
  kRestartsAll,
  kRestartsTheRest,
  kRestartsOne,
  kTransientIsPermanent,
  kTransientIsTemporary,
  kTemporaryIsTransient,
  kPermanentIsTransient,
  kLastFirst,
  kRefusalIsFailure,
  kFailureIsRefusal,
  kLosesTheSecondExit,
};

std::string IdOf(size_t child) { return std::string(1, static_cast<char>('a' + child)); }

class BlockingSupervisor {
 public:
  explicit BlockingSupervisor(const Script& script) : script_(script), attempts_(script.types.size()) {
    for (size_t i = 0; i < script.types.size(); ++i) children_.push_back({i, false});
  }

  std::string Run() {
    Init();
    for (const Exit& exit : script_.exits) {
      if (!is_over_) HandleExit(exit);
    }
    if (!is_over_) TerminateFrom(0, "Shutdown");
    return absl::StrJoin(log_, ", ");
  }

 private:
  struct Child {
    size_t index;
    bool is_alive;
  };
  RestartType TypeOf(const Child& child) const { return script_.types[child.index]; }

  Outcome StartOne(size_t position) {
    Child& child = children_[position];
    log_.push_back(absl::StrCat("start ", IdOf(child.index)));
    const Outcome outcome = script_.OutcomeOf(child.index, ++attempts_[child.index]);
    child.is_alive = outcome == Outcome::kStarts;
    return outcome;
  }

  // Starts children_[from...] in order. Returns the position of the first child that fails, or -1.
  int StartFrom(size_t from) {
    for (size_t i = from; i < children_.size();) {
      const Outcome outcome = StartOne(i);
      if (outcome == Outcome::kFails) return static_cast<int>(i);
      if (outcome == Outcome::kIgnores && TypeOf(children_[i]) == RestartType::kTemporary) {
        children_.erase(children_.begin() + static_cast<std::ptrdiff_t>(i));
      } else {
        ++i;
      }
    }
    return -1;
  }

  // Stops children_[from...] in reverse order and deletes the temporary ones. If `finish` is not empty, the supervisor
  // then ends with that reason.
  void TerminateFrom(size_t from, const std::string& finish = "") {
    for (size_t i = children_.size(); i-- > from;) {
      if (children_[i].is_alive) log_.push_back(absl::StrCat("stop ", IdOf(children_[i].index)));
      children_[i].is_alive = false;
      if (TypeOf(children_[i]) == RestartType::kTemporary) {
        children_.erase(children_.begin() + static_cast<std::ptrdiff_t>(i));
      }
    }
    if (finish.empty()) return;
    log_.push_back(absl::StrCat("finish ", finish));
    is_over_ = true;
  }

  void Init() {
    if (StartFrom(0) >= 0) {
      TerminateFrom(0, "Failed");
    } else {
      log_.push_back("done");
    }
  }

  void HandleExit(const Exit& exit) {
    const auto found = std::find_if(children_.begin(), children_.end(),
                                    [&](const Child& c) { return c.index == exit.child && c.is_alive; });
    if (found == children_.end()) return;
    found->is_alive = false;
    const RestartType type = TypeOf(*found);
    if (type == RestartType::kPermanent || (type == RestartType::kTransient && !exit.is_normal)) {
      Restart(static_cast<size_t>(found - children_.begin()));
    } else if (type == RestartType::kTemporary) {
      children_.erase(found);
    }
  }

  void Restart(size_t position) {
    while (true) {
      if (++restarts_ > script_.intensity) {
        TerminateFrom(0, "RestartsExhausted");
        return;
      }
      int failed = -1;
      if (script_.strategy == RestartStrategy::kOneForOne) {
        if (StartOne(position) == Outcome::kFails) failed = static_cast<int>(position);
      } else {
        const size_t from = script_.strategy == RestartStrategy::kOneForAll ? 0 : position;
        TerminateFrom(from);
        failed = StartFrom(from);
      }
      if (failed < 0) return;
      position = static_cast<size_t>(failed);
    }
  }

  const Script& script_;
  std::vector<Child> children_;
  std::vector<int> attempts_;
  int restarts_ = 0;
  bool is_over_ = false;
  std::vector<std::string> log_;
};

// Returns the restart type that the plan gets in place of `type` if it has the bug.
RestartType WithBug(Bug bug, RestartType type) {
  if (bug == Bug::kTransientIsPermanent && type == RestartType::kTransient) return RestartType::kPermanent;
  if (bug == Bug::kTransientIsTemporary && type == RestartType::kTransient) return RestartType::kTemporary;
  if (bug == Bug::kTemporaryIsTransient && type == RestartType::kTemporary) return RestartType::kTransient;
  if (bug == Bug::kPermanentIsTransient && type == RestartType::kPermanent) return RestartType::kTransient;
  return type;
}

SupervisorSpec SpecOf(const Script& script, Bug bug) {
  SupervisorSpec spec{.strategy = script.strategy, .intensity = script.intensity, .period = absl::Hours(1)};
  if (bug == Bug::kAllowsOneMore) ++spec.intensity;
  if (bug == Bug::kAllowsOneLess) --spec.intensity;
  if (bug == Bug::kRestartsAll) spec.strategy = RestartStrategy::kOneForAll;
  if (bug == Bug::kRestartsTheRest) spec.strategy = RestartStrategy::kRestForOne;
  if (bug == Bug::kRestartsOne) spec.strategy = RestartStrategy::kOneForOne;
  for (size_t i = 0; i < script.types.size(); ++i) {
    spec.children.push_back(
        {.id = IdOf(i), .restart = WithBug(bug, script.types[i]), .shutdown = ChildShutdown::Infinity()});
  }
  if (bug == Bug::kLastFirst) std::reverse(spec.children.begin(), spec.children.end());
  return spec;
}

PlanDriver::StartResult ResultOf(Outcome outcome, Bug bug) {
  if (outcome == Outcome::kStarts) return PlanDriver::StartResult::kStarts;
  const bool is_failure = outcome == Outcome::kFails ? bug != Bug::kFailureIsRefusal : bug == Bug::kRefusalIsFailure;
  return is_failure ? PlanDriver::StartResult::kFails : PlanDriver::StartResult::kIgnores;
}

std::string RunPlan(const Script& script, Bug bug) {
  std::vector<int> attempts(script.types.size());
  PlanDriver plan(SpecOf(script, bug));
  plan.on_start = [&](const std::string& id) {
    const size_t child = static_cast<size_t>(id[0] - 'a');
    return ResultOf(script.OutcomeOf(child, ++attempts[child]), bug);
  };
  plan.StartAll();
  for (size_t i = 0; i < script.exits.size(); ++i) {
    const Exit& exit = script.exits[i];
    if (bug == Bug::kLosesTheSecondExit && i == 1) continue;
    if (plan.plan().is_finished() || !plan.IsUp(IdOf(exit.child))) continue;
    plan.Exit(IdOf(exit.child), exit.is_normal ? ExitReason::Normal() : ExitReason::Killed());
  }
  if (!plan.plan().is_finished()) plan.Shutdown();
  return plan.Log();
}

// Returns every choice of at most one special start: the first or the second start of a child fails or is refused, or
// all of its starts from the second on fail.
std::vector<std::vector<Oddity>> SingleOddities(size_t children) {
  std::vector<std::vector<Oddity>> result = {{}};
  for (size_t child = 0; child < children; ++child) {
    for (const int attempt : {1, 2}) {
      result.push_back({{Outcome::kFails, child, attempt}});
      result.push_back({{Outcome::kIgnores, child, attempt}});
    }
    result.push_back({{Outcome::kFails, child, 2, true}});
  }
  return result;
}

// Returns every set of failing starts in which each child fails in no start, its second, its third, or both.
std::vector<std::vector<Oddity>> SetsOfFailures(size_t children) {
  std::vector<std::vector<Oddity>> result;
  for (size_t set = 0; set < size_t{1} << (2 * children); ++set) {
    std::vector<Oddity>& failures = result.emplace_back();
    for (size_t bit = 0; bit < 2 * children; ++bit) {
      if ((set >> bit & 1) != 0) failures.push_back({Outcome::kFails, bit / 2, 2 + static_cast<int>(bit % 2)});
    }
  }
  return result;
}

std::vector<std::vector<Exit>> SingleExits(size_t children) {
  std::vector<std::vector<Exit>> result;
  for (size_t child = 0; child < children; ++child) {
    result.push_back({{child, false}});
    result.push_back({{child, true}});
  }
  return result;
}

std::vector<std::vector<Exit>> PairsOfExits(size_t children) {
  std::vector<std::vector<Exit>> result;
  for (const std::vector<Exit>& first : SingleExits(children)) {
    for (const std::vector<Exit>& second : SingleExits(children)) result.push_back({first[0], second[0]});
  }
  return result;
}

std::string Describe(const Script& script) {
  std::vector<std::string> types;
  for (const RestartType type : script.types) types.emplace_back(RestartTypeName(type));
  std::vector<std::string> happens;
  for (const Oddity& odd : script.oddities) {
    happens.push_back(absl::StrCat("start ", odd.attempt, " of ", IdOf(odd.child),
                                   odd.outcome == Outcome::kFails ? " fails" : " is refused",
                                   odd.lasts ? ", and all later ones" : ""));
  }
  for (const Exit& exit : script.exits) {
    happens.push_back(absl::StrCat(IdOf(exit.child), exit.is_normal ? " ends" : " crashes"));
  }
  return absl::StrCat(RestartStrategyName(script.strategy), " of ", absl::StrJoin(types, ", "), ", intensity ",
                      script.intensity, "; ", absl::StrJoin(happens, "; "));
}

// How many scripts were run, and in how many of them the plan did not do the same as the model.
struct Checked {
  int scripts = 0;
  int differ = 0;
  std::string first;  // the first script in which they differ, in words
};

// Runs all lists of `children` children with all of `oddities` and `exits`.
Checked CheckAll(size_t children, RestartStrategy strategy, const std::vector<std::vector<Oddity>>& oddities,
                 const std::vector<std::vector<Exit>>& exits, int intensity, Bug bug = Bug::kNone) {
  Checked checked;
  size_t lists = 1;
  for (size_t i = 0; i < children; ++i) lists *= 3;
  for (size_t list = 0; list < lists; ++list) {
    Script script{.strategy = strategy, .intensity = intensity};
    for (size_t rest = list, i = 0; i < children; ++i, rest /= 3) {
      script.types.push_back(static_cast<RestartType>(rest % 3));
    }
    for (const std::vector<Oddity>& odd : oddities) {
      script.oddities = odd;
      for (const std::vector<Exit>& exit : exits) {
        script.exits = exit;
        ++checked.scripts;
        const std::string expected = BlockingSupervisor(script).Run();
        const std::string actual = RunPlan(script, bug);
        if (actual == expected) continue;
        if (++checked.differ == 1) {
          checked.first = absl::StrCat(Describe(script), "\n  expected: ", expected, "\n  the plan: ", actual);
        }
      }
    }
  }
  return checked;
}

class RestartPlanModel : public testing::TestWithParam<RestartStrategy> {};

TEST_P(RestartPlanModel, DoesWhatABlockingSupervisorDoesAfterTwoExitsAndOneOddStart) {
  const int scripts[] = {0, 3 * 6 * 4, 9 * 11 * 16, 27 * 16 * 36, 81 * 21 * 64};
  for (size_t children = 1; children <= 4; ++children) {
    const Checked checked =
        CheckAll(children, GetParam(), SingleOddities(children), PairsOfExits(children), /*intensity=*/1);
    EXPECT_EQ(checked.scripts, scripts[children]);
    EXPECT_EQ(checked.differ, 0) << checked.first;
  }
}

TEST_P(RestartPlanModel, DoesWhatABlockingSupervisorDoesWhicheverStartsFail) {
  const int scripts[] = {0, 3 * 4 * 2, 9 * 16 * 4, 27 * 64 * 6, 81 * 256 * 4};
  for (const int intensity : {0, 1, 2, 3}) {
    for (size_t children = 1; children <= 4; ++children) {
      if (children == 4 && intensity != 2) continue;  // this takes long, and lists of three children cover it
      std::vector<std::vector<Exit>> exits = SingleExits(children);
      // Lists of four children get crashes only: after other exits the same starts follow, or none.
      if (children == 4) std::erase_if(exits, [](const std::vector<Exit>& exit) { return exit[0].is_normal; });
      const Checked checked = CheckAll(children, GetParam(), SetsOfFailures(children), exits, intensity);
      EXPECT_EQ(checked.scripts, scripts[children]);
      EXPECT_EQ(checked.differ, 0) << checked.first;
    }
  }
}

TEST_P(RestartPlanModel, EachBugThatIsPutInIsFound) {
  const std::map<Bug, RestartStrategy> same = {{Bug::kRestartsAll, RestartStrategy::kOneForAll},
                                               {Bug::kRestartsTheRest, RestartStrategy::kRestForOne},
                                               {Bug::kRestartsOne, RestartStrategy::kOneForOne}};
  for (int bug = 1; bug <= static_cast<int>(Bug::kLosesTheSecondExit); ++bug) {
    const auto found = same.find(static_cast<Bug>(bug));
    if (found != same.end() && found->second == GetParam()) continue;  // no bug with this strategy
    const Checked checked =
        CheckAll(2, GetParam(), SingleOddities(2), PairsOfExits(2), /*intensity=*/1, static_cast<Bug>(bug));
    EXPECT_GT(checked.differ, 0) << "bug " << bug;
  }
}

INSTANTIATE_TEST_SUITE_P(Strategies, RestartPlanModel,
                         testing::Values(RestartStrategy::kOneForOne, RestartStrategy::kOneForAll,
                                         RestartStrategy::kRestForOne),
                         [](const auto& tested) { return std::string(RestartStrategyName(tested.param)); });

}  // namespace
}  // namespace understudy
