// Every order of events of three nodes that own one name: the conflict rules of
// name_table.h, explored exhaustively, and found wanting when one is left out.
#include <algorithm>
#include <cstdint>
#include <functional>
#include <limits>
#include <string>
#include <unordered_set>
#include <utility>
#include <vector>

#include "absl/strings/str_cat.h"
#include "absl/strings/string_view.h"
#include "gtest/gtest.h"
#include "understudy/actors/testing/seeds.h"
#include "understudy/proto/names.pb.h"
#include "understudy/tests/transport/names/name_net.h"

namespace understudy {
namespace {

constexpr int kNodes = 3;
constexpr absl::string_view kName = "n";
constexpr std::pair<int, int> kPairs[] = {{0, 1}, {1, 2}, {0, 2}};

// What may happen beside the arrival of messages, and how often.
struct Budget {
  int cuts = 0;      // sessions that end
  int ends = 0;      // owners that end by themselves
  int restarts = 0;  // claims that are made anew
};

struct State {
  NameNet net;
  Budget left;
  int ended = 0;
  uint64_t serial = 10;

  std::string Key() const {
    return absl::StrCat(net.DebugString(), left.cuts, "/", left.ends, "/", left.restarts, "/", ended);
  }
};

// Explores every order, up to `states_max` states; the first state that is wrong, or "".
class Explorer {
 public:
  explicit Explorer(size_t states_max = std::numeric_limits<size_t>::max()) : states_max_(states_max) {}

  std::string Run(State state) {
    Visit(std::move(state));
    return found_;
  }

 private:
  static bool IsConnected(const State& state) {
    for (const auto& [i, j] : kPairs) {
      if (!state.net.IsJoined(i, j)) return false;
    }
    return true;
  }

  void Check(State& state) {
    int owners = 0;
    for (int i = 0; i < kNodes; ++i) owners += state.net.Owns(i, kName) ? 1 : 0;
    // A name may be free only because an owner ended by itself.
    if (owners > 1 || (owners == 0 && state.ended == 0)) {
      found_ = absl::StrCat(owners, " owners:\n", state.net.DebugString());
      return;
    }
    for (int i = 1; i < kNodes; ++i) {
      const auto first = state.net.table(0).Find(kName);
      const auto other = state.net.table(i).Find(kName);
      if (first.has_value() != other.has_value() || (first.has_value() && first->pid != other->pid)) {
        found_ = absl::StrCat("tables differ:\n", state.net.DebugString());
      }
    }
  }

  void Visit(State state) {
    for (int i = 0; i < kNodes; ++i) state.net.table(i).TakeChanges();
    if (!found_.empty() || seen_.size() >= states_max_ || !seen_.insert(state.Key()).second) return;
    const auto ready = state.net.Ready();
    if (ready.empty() && IsConnected(state)) Check(state);
    const auto next = [&](const std::function<void(State&)>& step) {
      State after = state;
      step(after);
      Visit(std::move(after));
    };
    for (const std::pair<int, int>& way : ready) {
      next([&](State& after) { after.net.Deliver(way.first, way.second); });
    }
    for (const std::pair<int, int>& two : kPairs) {
      if (state.net.IsJoined(two.first, two.second)) {
        if (state.left.cuts == 0) continue;
        next([&](State& after) {
          --after.left.cuts;
          after.net.Cut(two.first, two.second);
        });
        continue;
      }
      // Ages are closer than the time that a handshake takes, so either may seem the older.
      for (const int64_t at : {199, 201}) {
        next([&](State& after) { after.net.Join(two.first, two.second, at, 200); });
      }
    }
    for (int i = 0; i < kNodes; ++i) {
      if (state.left.ends > 0 && state.net.Owns(i, kName)) {
        next([&](State& after) {
          --after.left.ends;
          ++after.ended;
          after.net.Release(i, kName);
        });
      }
      // Its age begins anew.
      if (state.left.restarts > 0 && !state.net.table(i).Find(kName).has_value()) {
        next([&](State& after) {
          --after.left.restarts;
          (void)after.net.Claim(i, kName, ++after.serial, /*at=*/190);
        });
      }
    }
  }

  const size_t states_max_;
  std::unordered_set<std::string> seen_;
  std::string found_;
};

// Three nodes, each with an owner of the name, that have not met.
State ThreeOwners(Budget budget = {}, const NameNet::Grants& grants = nullptr) {
  State state{.net = NameNet(kNodes, grants), .left = budget};
  for (int i = 0; i < kNodes; ++i) EXPECT_TRUE(state.net.Claim(i, kName, i + 1).ok());
  return state;
}

// As `state`, and all of them meet: once for each way in which their ages may seem.
std::vector<State> AllJoined(const State& state) {
  std::vector<State> joined;
  for (int verdicts = 0; verdicts < 8; ++verdicts) {
    State& one = joined.emplace_back(state);
    for (int pair = 0; pair < kNodes; ++pair) {
      one.net.Join(kPairs[pair].first, kPairs[pair].second, (verdicts >> pair & 1) == 0 ? 199 : 201, 200);
    }
  }
  return joined;
}

// Explores all orders, and expects that the rules hold.
void ExpectHolds(std::vector<State> states) {
  for (State& state : states) {
    Explorer explorer;
    ASSERT_EQ(explorer.Run(std::move(state)), "");
  }
}

// Explores as many states as there is time for: UNDERSTUDY_ROUNDS_FACTOR multiplies them.
void ExpectHoldsAsFar(std::vector<State> states) {
  const auto states_max = static_cast<size_t>(RoundsOf(1000));
  for (State& state : states) {
    Explorer explorer(states_max);
    ASSERT_EQ(explorer.Run(std::move(state)), "");
  }
}

TEST(NameConflictModel, ThreeOwnersThatMeetAtOnceLeaveOne) { ExpectHolds(AllJoined(ThreeOwners())); }

TEST(NameConflictModel, PartitionsThatHealInAnyOrderLeaveOneOwner) { ExpectHoldsAsFar({ThreeOwners()}); }

TEST(NameConflictModel, WhenASessionEndsMeanwhileOneOwnerStays) {
  ExpectHoldsAsFar(AllJoined(ThreeOwners({.cuts = 1})));
}

TEST(NameConflictModel, WhenAnOwnerEndsMeanwhileNoMoreThanOneStays) {
  ExpectHoldsAsFar(AllJoined(ThreeOwners({.ends = 1})));
}

// Its age begins anew.
TEST(NameConflictModel, WhenAnOwnerRestartsMeanwhileOneStays) {
  ExpectHoldsAsFar(AllJoined(ThreeOwners({.ends = 1, .restarts = 1})));
}

// a and b are granted the name everywhere, c nowhere.
TEST(NameConflictModel, AnOwnerWithoutTheGrantGivesWay) {
  ExpectHolds(AllJoined(
      ThreeOwners({}, [](absl::string_view, absl::string_view owner, absl::string_view) { return owner != "c"; })));
}

// ---- A rule that is left out is found ----

// The explored states when what is sent is changed.
std::string FoundWith(const NameNet::Sent& sent) {
  State unmet = ThreeOwners();
  unmet.net.SetSent(sent);
  for (State& state : AllJoined(unmet)) {
    std::string found = Explorer().Run(std::move(state));
    if (!found.empty()) return found;
  }
  return "";
}

bool Remove(proto::NameChanges& changes, proto::NameChange::WhatCase what) {
  auto& list = *changes.mutable_changes();
  const auto gone = std::remove_if(list.begin(), list.end(), [&](const auto& c) { return c.what_case() == what; });
  list.erase(gone, list.end());
  return changes.changes_size() > 0 || changes.taken() > 0;
}

// A loser that gives up by the verdict alone: three verdicts form a circle.
TEST(NameConflictModel, WithoutAConfirmationACircleLeavesNoOwner) {
  const std::string found = FoundWith([](NameNet& net, int from, int to, proto::NameChanges& changes) {
    proto::NameChanges confirms;
    for (const proto::NameChange& change : changes.changes()) {
      if (change.has_offer()) *confirms.add_changes()->mutable_confirm() = change.offer();
    }
    if (confirms.changes_size() == 0) return true;
    EXPECT_TRUE(net.table(from).OnChanges(NameNet::NodeOf(to), confirms.SerializeAsString()).ok());
    return true;
  });
  EXPECT_TRUE(found.starts_with("0 owners")) << found;
}

// Nodes that wait for each other, for ever.
TEST(NameConflictModel, WithoutCancellingACircleOfOffersKeepsAllOwners) {
  const std::string found = FoundWith(
      [](NameNet&, int, int, proto::NameChanges& changes) { return Remove(changes, proto::NameChange::kCancel); });
  EXPECT_TRUE(found.starts_with("3 owners")) << found;
}

TEST(NameConflictModel, WithoutConfirmationsNobodyGivesWay) {
  const std::string found = FoundWith(
      [](NameNet&, int, int, proto::NameChanges& changes) { return Remove(changes, proto::NameChange::kConfirm); });
  EXPECT_FALSE(found.empty());
}

}  // namespace
}  // namespace understudy
