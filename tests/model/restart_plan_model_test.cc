// RestartPlan against a supervisor written from OTP's documentation alone: one
// that blocks, and so does everything in a row. Over all lists of up to four
// children of all restart types, all strategies, all pairs of exits, and all
// single failures or refusals of a start, both must do the same, in the same
// order.
#include <algorithm>
#include <cstddef>
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

// What is special about one start: the `attempt`th of `child`, from 1 on.
struct Oddity {
  enum class Kind { kNone, kFails, kIgnores };
  Kind kind = Kind::kNone;
  size_t child = 0;
  int attempt = 0;
  bool lasts = false;  // so do all later ones
};

struct Exit {
  size_t child = 0;
  bool is_normal = false;
};

struct Script {
  RestartStrategy strategy = RestartStrategy::kOneForOne;
  std::vector<RestartType> types;
  Oddity oddity;
  std::vector<Exit> exits;
  int intensity = 1;
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
  enum class Result { kOk, kIgnored, kFailed };

  RestartType TypeOf(const Child& child) const { return script_.types[child.index]; }

  Result StartOne(size_t position) {
    Child& child = children_[position];
    log_.push_back(absl::StrCat("start ", IdOf(child.index)));
    const int attempt = ++attempts_[child.index];
    const Oddity& odd = script_.oddity;
    if (odd.child == child.index && (odd.attempt == attempt || (odd.lasts && attempt > odd.attempt))) {
      if (odd.kind == Oddity::Kind::kFails) return Result::kFailed;
      if (odd.kind == Oddity::Kind::kIgnores) return Result::kIgnored;
    }
    child.is_alive = true;
    return Result::kOk;
  }

  // Starts children_[from...] in order; the position of one that fails, or -1.
  int StartFrom(size_t from) {
    for (size_t i = from; i < children_.size();) {
      const Result result = StartOne(i);
      if (result == Result::kFailed) return static_cast<int>(i);
      if (result == Result::kIgnored && TypeOf(children_[i]) == RestartType::kTemporary) {
        children_.erase(children_.begin() + static_cast<std::ptrdiff_t>(i));
      } else {
        ++i;
      }
    }
    return -1;
  }

  // Stops children_[from...] in reverse; temporary ones are deleted. With
  // `finish` that was all.
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
        if (StartOne(position) == Result::kFailed) failed = static_cast<int>(position);
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

std::string RunPlan(const Script& script) {
  SupervisorSpec spec{.strategy = script.strategy, .intensity = script.intensity, .period = absl::Hours(1)};
  for (size_t i = 0; i < script.types.size(); ++i) {
    spec.children.push_back({.id = IdOf(i), .restart = script.types[i], .shutdown = ChildShutdown::Infinity()});
  }
  std::vector<int> attempts(script.types.size());
  PlanDriver plan(spec);
  plan.on_start = [&](const std::string& id) {
    const size_t child = static_cast<size_t>(id[0] - 'a');
    const int attempt = ++attempts[child];
    const Oddity& odd = script.oddity;
    const bool is_odd = odd.child == child && (odd.attempt == attempt || (odd.lasts && attempt > odd.attempt));
    if (!is_odd || odd.kind == Oddity::Kind::kNone) return PlanDriver::StartResult::kStarts;
    return odd.kind == Oddity::Kind::kFails ? PlanDriver::StartResult::kFails : PlanDriver::StartResult::kIgnores;
  };
  plan.StartAll();
  for (const Exit& exit : script.exits) {
    if (plan.plan().is_finished() || !plan.IsUp(IdOf(exit.child))) continue;
    plan.Exit(IdOf(exit.child), exit.is_normal ? ExitReason::Normal() : ExitReason::Killed());
  }
  if (!plan.plan().is_finished()) plan.Shutdown();
  return plan.Log();
}

std::vector<Oddity> Oddities(size_t children) {
  std::vector<Oddity> result = {{}};
  for (size_t child = 0; child < children; ++child) {
    for (const int attempt : {1, 2}) {
      result.push_back({Oddity::Kind::kFails, child, attempt});
      result.push_back({Oddity::Kind::kIgnores, child, attempt});
    }
    result.push_back({Oddity::Kind::kFails, child, 2, true});
  }
  return result;
}

std::vector<Exit> Exits(size_t children) {
  std::vector<Exit> result;
  for (size_t child = 0; child < children; ++child) {
    result.push_back({child, false});
    result.push_back({child, true});
  }
  return result;
}

std::string Describe(const Script& script) {
  std::vector<std::string> types;
  for (const RestartType type : script.types) types.emplace_back(RestartTypeName(type));
  std::vector<std::string> exits;
  for (const Exit& exit : script.exits)
    exits.push_back(absl::StrCat(IdOf(exit.child), exit.is_normal ? " ends" : " crashes"));
  return absl::StrCat(RestartStrategyName(script.strategy), " of ", absl::StrJoin(types, ", "), "; start ",
                      script.oddity.attempt, " of ", IdOf(script.oddity.child), ": oddity ",
                      static_cast<int>(script.oddity.kind), "; ", absl::StrJoin(exits, ", "));
}

// All lists of that length, all strategies, oddities and pairs of exits.
int CheckAll(size_t children, RestartStrategy strategy) {
  int scripts = 0;
  size_t lists = 1;
  for (size_t i = 0; i < children; ++i) lists *= 3;
  const std::vector<Exit> exits = Exits(children);
  for (size_t list = 0; list < lists; ++list) {
    Script script{.strategy = strategy};
    for (size_t rest = list, i = 0; i < children; ++i, rest /= 3) {
      script.types.push_back(static_cast<RestartType>(rest % 3));
    }
    for (const Oddity& oddity : Oddities(children)) {
      script.oddity = oddity;
      for (const Exit& first : exits) {
        for (const Exit& second : exits) {
          if (children == 4 && first.is_normal) continue;  // takes long, and lists of three have it
          script.exits = {first, second};
          const std::string expected = BlockingSupervisor(script).Run();
          const std::string actual = RunPlan(script);
          EXPECT_EQ(actual, expected) << Describe(script);
          if (actual != expected) return scripts;
          ++scripts;
        }
      }
    }
  }
  return scripts;
}

class RestartPlanModel : public testing::TestWithParam<RestartStrategy> {};

TEST_P(RestartPlanModel, DoesWhatABlockingSupervisorDoes) {
  EXPECT_EQ(CheckAll(1, GetParam()), 3 * 6 * 4);
  EXPECT_EQ(CheckAll(2, GetParam()), 9 * 11 * 16);
  EXPECT_EQ(CheckAll(3, GetParam()), 27 * 16 * 36);
  EXPECT_EQ(CheckAll(4, GetParam()), 81 * 21 * 32);
}

INSTANTIATE_TEST_SUITE_P(Strategies, RestartPlanModel,
                         testing::Values(RestartStrategy::kOneForOne, RestartStrategy::kOneForAll,
                                         RestartStrategy::kRestForOne),
                         [](const auto& tested) { return std::string(RestartStrategyName(tested.param)); });

}  // namespace
}  // namespace understudy
