// Every history of two nodes and a stranger within small bounds (SessionWorld says what can happen), also with each
// rule of the handshake left out once.
#include <cstddef>
#include <cstdio>
#include <memory>
#include <set>
#include <string>
#include <utility>
#include <vector>

#include "absl/strings/str_cat.h"
#include "absl/strings/string_view.h"
#include "gtest/gtest.h"
#include "understudy/actors/fault_point.h"
#include "understudy/tests/transport/session/session_world.h"

namespace understudy {
namespace {

struct Result {
  size_t states = 0;
  std::string wrong;  // the first that was, and how it came to it; empty when nothing was
};

std::string ToString(const SessionWorld::Step& step) {
  static constexpr absl::string_view kNames[] = {"arrive",  "break",    "tick",   "send", "end",
                                                 "restart", "stranger", "answer", "proof"};
  return absl::StrCat(kNames[static_cast<size_t>(step.kind)], "(", step.stream, ",", step.side, ",", step.choice, ")");
}

// From where a search begins: the steps that always come first.
enum class Start { kNew, kJoined, kRejoining, kRestarted };

// Breadth first over all worlds with different fingerprints, to `depth` steps; each is settled.
class Explorer {
 public:
  Explorer(Start start, const SessionWorld::Budget& budget, size_t depth, size_t states_max)
      : start_(start), budget_(budget), depth_(depth), states_max_(states_max) {}

  Result Explore() {
    Visit({});
    for (size_t i = 0; i < paths_.size() && result_.wrong.empty(); ++i) {
      const Path path = paths_[i];
      if (path.size() >= depth_) break;
      for (const SessionWorld::Step& step : Replay(path)->Steps()) {
        Path longer = path;
        longer.push_back(step);
        Visit(longer);
      }
    }
    result_.states = paths_.size();
    return result_;
  }

 private:
  using Path = std::vector<SessionWorld::Step>;

  std::unique_ptr<SessionWorld> Replay(const Path& path) const {
    auto world = std::make_unique<SessionWorld>(budget_);
    if (start_ != Start::kNew) world->Join();
    if (start_ == Start::kRejoining) world->BreakAndTick();
    if (start_ == Start::kRestarted) world->RestartAndJoin();
    for (const SessionWorld::Step& step : path) world->Do(step);
    return world;
  }
  void Visit(const Path& path) {
    if (!result_.wrong.empty() || paths_.size() >= states_max_) return;
    const std::unique_ptr<SessionWorld> world = Replay(path);
    if (!world->wrong().empty()) return Report(path, world->wrong());
    if (!seen_.insert(world->Fingerprint()).second) return;
    paths_.push_back(path);
    world->Settle();
    if (!world->wrong().empty()) Report(path, absl::StrCat("after a quiet minute: ", world->wrong()));
  }
  void Report(const Path& path, absl::string_view wrong) {
    result_.wrong = std::string(wrong);
    for (const SessionWorld::Step& step : path) absl::StrAppend(&result_.wrong, "\n  ", ToString(step));
  }

  const Start start_;
  const SessionWorld::Budget budget_;
  const size_t depth_;
  const size_t states_max_;
  Result result_;
  std::vector<Path> paths_;
  std::set<std::string> seen_;
};

struct Bounds {
  const char* name;
  Start start;
  SessionWorld::Budget budget;
  size_t depth;
};

// A single kind of event is explored to a greater depth than all kinds together.
const Bounds kBounds[] = {
    {"breaks while they meet", Start::kNew, {.breaks = 2, .ticks = 1}, 7},
    {"a stranger while they meet", Start::kNew, {.strangers = 1}, 8},
    {"breaks", Start::kJoined, {.breaks = 1, .ticks = 2, .sends = 2}, 6},
    {"ends", Start::kJoined, {.breaks = 1, .ticks = 1, .ends = 1}, 8},
    {"restarts", Start::kJoined, {.breaks = 1, .ticks = 2, .restarts = 1}, 7},
    {"a stranger", Start::kJoined, {.breaks = 1, .ticks = 1, .strangers = 1}, 7},
    {"two strangers", Start::kRejoining, {.strangers = 2}, 7},
    {"proofs", Start::kJoined, {.breaks = 1, .ticks = 1, .restarts = 1, .proofs = 2}, 7},
    {"proofs after a restart", Start::kRestarted, {.breaks = 1, .ticks = 1, .proofs = 2}, 6},
};
// None of the searches comes to it: they are exhaustive.
constexpr size_t kStatesMax = 50000;

TEST(SessionExplorationTest, WhateverHappensNothingIsLostOrStolenAndTheNodesAgree) {
  for (const Bounds& bounds : kBounds) {
    const Result result = Explorer(bounds.start, bounds.budget, bounds.depth, kStatesMax).Explore();
    EXPECT_EQ(result.wrong, "") << bounds.name;
    EXPECT_LT(result.states, kStatesMax) << bounds.name;
    printf("%s: %zu states\n", bounds.name, result.states);
  }
}

struct Rule {
  const char* name;
  absl::string_view found_by;  // one of kBounds
};

class RuleTakenAway : public ::testing::TestWithParam<Rule> {};

TEST_P(RuleTakenAway, IsFound) {
  FaultPoint::Scope broken(GetParam().name);
  std::string wrong;
  for (const Bounds& bounds : kBounds) {
    if (bounds.name != GetParam().found_by) continue;
    wrong = Explorer(bounds.start, bounds.budget, bounds.depth, kStatesMax).Explore().wrong;
  }
  EXPECT_NE(wrong, "");
  printf("%s\n", wrong.c_str());
}

constexpr Rule kRules[] = {
    {"session_takes_a_resume_without_proof", "breaks while they meet"},
    {"session_takes_an_old_dial", "a stranger"},
    {"session_believes_an_unproved_claim", "a stranger"},
    {"session_takes_a_welcome_without_proof", "a stranger"},
    {"session_believes_an_end_without_proof", "a stranger"},
    {"session_believes_an_unproved_incarnation", "a stranger"},
    {"session_begins_with_the_hello", "breaks while they meet"},
    {"session_forgets_one_unacknowledged", "breaks"},
    {"session_ends_by_a_proof_that_a_stream_refutes", "proofs"},
    {"session_ends_by_a_proof_of_another_incarnation", "proofs after a restart"},
    {"session_believes_no_proof", "proofs"},
};

INSTANTIATE_TEST_SUITE_P(Rules, RuleTakenAway, ::testing::ValuesIn(kRules),
                         [](const auto& rule) { return std::string(rule.param.name); });

}  // namespace
}  // namespace understudy
