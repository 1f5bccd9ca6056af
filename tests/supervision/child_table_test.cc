#include "understudy/supervision/internal/child_table.h"

#include <cstdint>
#include <memory>
#include <set>
#include <string>
#include <vector>

#include "absl/status/status.h"
#include "absl/strings/str_cat.h"
#include "absl/strings/string_view.h"
#include "absl/time/time.h"
#include "gtest/gtest.h"
#include "understudy/actors/clock.h"
#include "understudy/actors/pid.h"
#include "understudy/supervision/child_spec.h"
#include "understudy/supervision/internal/child_info.h"

namespace understudy {
namespace {

using Child = ChildTable::Child;
using State = ChildTable::State;

MonotonicTime At(int seconds) { return MonotonicTime::FromNanos(int64_t{1000000000} * seconds); }

std::shared_ptr<const ChildSpec> SpecOf(absl::string_view id, ChildKind kind = ChildKind::kWorker) {
  return std::make_shared<const ChildSpec>(ChildSpec{.id = std::string(id), .kind = kind});
}

std::string Ids(const std::vector<ChildInfo>& children) {
  std::string ids;
  for (const ChildInfo& child : children) absl::StrAppend(&ids, child.id);
  return ids;
}

TEST(ChildTable, ChildrenAreFoundByIdAndKeyInStartOrder) {
  ChildTable table;
  Child& a = table.Add(SpecOf("a"), At(0));
  Child& b = table.Add(SpecOf("b"), At(0));
  EXPECT_EQ(table.FindId("a"), &a);
  EXPECT_EQ(table.FindKey(b.key), &b);
  EXPECT_EQ(table.FindKey(0), nullptr);
  EXPECT_EQ(table.FirstFrom(0), &a);
  EXPECT_EQ(table.FirstFrom(a.key + 1), &b);
  EXPECT_EQ(table.FirstFrom(table.end_key()), nullptr);
  EXPECT_EQ(table.LastBefore(table.end_key()), &b);
  EXPECT_EQ(table.LastBefore(b.key), &a);
  EXPECT_EQ(table.LastBefore(a.key), nullptr);
}

TEST(ChildTable, RemovedChildIsNotFoundAndItsKeyIsNotReused) {
  ChildTable table;
  Child& a = table.Add(SpecOf("a"), At(0));
  const ChildTable::Key key = a.key;
  table.BeginLife(a);
  table.SetPid(a.life, Pid(1, 1, 1));
  table.EndLife(a);
  table.Remove(a);
  EXPECT_EQ(table.size(), 0U);
  EXPECT_FALSE(table.HasChild("a"));
  EXPECT_FALSE(table.HasChild(Pid(1, 1, 1)));
  EXPECT_EQ(table.FindKey(key), nullptr);
  EXPECT_NE(table.Add(SpecOf("a"), At(0)).key, key);
}

TEST(ChildTable, ChildIsFoundByItsLifeUntilThatEndsAndByItsPidUntilTheNext) {
  ChildTable table;
  Child& a = table.Add(SpecOf("a"), At(0));
  table.BeginLife(a);
  const ChildTable::LifeId first = a.life;
  EXPECT_EQ(table.FindLife(first), &a);
  EXPECT_TRUE(table.PidOf(first).is_null());
  const Pid pid(1, 1, 1);
  table.SetPid(first, pid);
  EXPECT_EQ(table.PidOf(first), pid);
  EXPECT_EQ(table.LifeOf(pid), first);
  table.EndLife(a);
  EXPECT_EQ(table.FindLife(first), nullptr);
  EXPECT_EQ(table.LifeOf(pid), 0U) << "the life has ended";
  EXPECT_EQ(table.FindPid(pid), &a) << "a request may still use the last pid";
  table.SetPid(first, Pid(1, 1, 9));
  EXPECT_FALSE(table.HasChild(Pid(1, 1, 9))) << "the life had already ended";
  table.BeginLife(a);
  EXPECT_NE(a.life, first);
  table.SetPid(a.life, Pid(1, 1, 2));
  EXPECT_EQ(table.FindPid(pid), nullptr);
  EXPECT_EQ(table.FindPid(Pid(1, 1, 2)), &a);
}

TEST(ChildTable, LivesOfNoChildAreNotGivenToChildren) {
  ChildTable table;
  const ChildTable::LifeId life = table.NewLife();
  Child& a = table.Add(SpecOf("a"), At(0));
  table.BeginLife(a);
  EXPECT_NE(a.life, life);
  EXPECT_EQ(table.FindLife(life), nullptr);
}

TEST(ChildTable, CountsFollowTheStates) {
  ChildTable table;
  Child& a = table.Add(std::make_shared<const ChildSpec>(ChildSpec{.id = "a", .significant = true}), At(0));
  Child& b = table.Add(SpecOf("b", ChildKind::kSupervisor), At(0));
  EXPECT_EQ(table.significant(), 0);
  table.SetState(a, State::kStarting, At(0));
  table.SetState(b, State::kStopping, At(0));
  EXPECT_EQ(table.busy(), 2);
  EXPECT_EQ(table.significant(), 1);
  table.SetState(a, State::kRunning, At(0));
  EXPECT_EQ(table.CountChildren().active, 1);
  EXPECT_EQ(table.CountChildren().specs, 2);
  EXPECT_EQ(table.CountChildren().supervisors, 1);
  EXPECT_EQ(table.CountChildren().workers, 1);
  table.SetState(a, State::kBackoff, At(0));
  table.SetState(b, State::kHeld, At(0));
  EXPECT_EQ(table.waiting(), 2);
  EXPECT_EQ(table.busy(), 0);
  table.SetState(a, State::kParked, At(0));
  EXPECT_EQ(table.parked(), std::set<ChildTable::Key>{a.key});
  table.SetState(a, State::kStopped, At(0));
  EXPECT_TRUE(table.parked().empty());
  EXPECT_EQ(table.significant(), 0);
  table.SetState(b, State::kStopped, At(0));
  table.Remove(b);
  EXPECT_EQ(table.CountChildren().supervisors, 0);
  EXPECT_EQ(table.CountIn(State::kStopped), 1);
}

TEST(ChildTable, SiblingsThatWillStartTheGroupAreThoseBefore) {
  for (const State state : {State::kDue, State::kBackoff, State::kHeld, State::kParked}) {
    ChildTable table;
    Child& a = table.Add(SpecOf("a"), At(0));
    Child& b = table.Add(SpecOf("b"), At(0));
    table.SetState(a, state, At(0));
    EXPECT_FALSE(table.IsAnyBeforeWaiting(a.key));
    EXPECT_TRUE(table.IsAnyBeforeWaiting(b.key));
    table.SetState(a, State::kRunning, At(0));
    EXPECT_FALSE(table.IsAnyBeforeWaiting(b.key));
  }
}

TEST(ChildTable, TimeDownWithoutFailureDoesNotAgeTheFirstAttempt) {
  ChildTable table;
  Child& a = table.Add(SpecOf("a"), At(0));
  a.history.first_attempt = At(0);
  table.SetState(a, State::kParked, At(0));
  table.SetState(a, State::kStarting, At(10));
  EXPECT_EQ(a.history.first_attempt, At(10));
  table.SetState(a, State::kBackoff, At(13));
  table.SetState(a, State::kDue, At(20));
  EXPECT_EQ(a.history.first_attempt, At(10)) << "starting and waiting in backoff both count";
}

TEST(ChildTable, AnswersArePagedAndSayWhatUsersMayKnow) {
  ChildTable table;
  for (const char* id : {"a", "b", "c"}) table.Add(SpecOf(id), At(0));
  const std::vector<ChildInfo> first = table.WhichChildren(0, 2);
  EXPECT_EQ(Ids(first), "ab");
  EXPECT_EQ(Ids(table.WhichChildren(first.back().place, 2)), "c");
  for (const State state : {State::kDue, State::kBackoff, State::kHeld, State::kDown}) {
    table.SetState(*table.FindId("a"), state, At(0));
    EXPECT_EQ(table.WhichChildren().front().state, ChildState::kRestarting);
  }
  EXPECT_EQ(table.GetChildSpec("b")->id, "b");
  EXPECT_TRUE(absl::IsNotFound(table.GetChildSpec("x").status()));
}

}  // namespace
}  // namespace understudy
