// Exclusive workers, run as actors whose handlers run on after they are killed.
#include <algorithm>
#include <cstdint>
#include <functional>
#include <memory>
#include <set>
#include <string>
#include <utility>

#include "absl/base/thread_annotations.h"
#include "absl/strings/str_cat.h"
#include "absl/synchronization/mutex.h"
#include "absl/time/time.h"
#include "gmock/gmock.h"
#include "gtest/gtest.h"
#include "understudy/actors/actor.h"
#include "understudy/actors/actor_system.h"
#include "understudy/actors/clock.h"
#include "understudy/actors/log_sink.h"
#include "understudy/actors/pid.h"
#include "understudy/actors/test_system.h"
#include "understudy/supervision/builders.h"
#include "understudy/supervision/child_spec.h"
#include "understudy/supervision/internal/child_info.h"
#include "understudy/supervision/internal/exclusive_lives.h"
#include "understudy/supervision/supervision_event.h"
#include "understudy/supervision/supervisor.h"
#include "understudy/tests/supervision/holders.h"
#include "understudy/tests/supervision/workers.h"

namespace understudy {
namespace {

using ::testing::ElementsAre;
using ::testing::HasSubstr;
using ::testing::IsEmpty;
using ::testing::StartsWith;

class ExclusiveTest : public testing::TestWithParam<uint64_t> {};
INSTANTIATE_TEST_SUITE_P(Seeds, ExclusiveTest, testing::Range<uint64_t>(1, 21));

TEST_P(ExclusiveTest, TheNextLifeBeginsWhenTheLastIsGone) {
  TestSystem system(GetParam());
  auto journal = std::make_shared<Journal>();
  Scene scene(Of<Holder>(&system, system.Now(), journal).Exclusive(), journal, system);
  const Pid first = scene.Child();
  EXPECT_THAT(journal->Take(), HasSubstr("start"));
  scene.HoldAndKill(absl::Seconds(2));
  system.Advance(absl::Seconds(3));
  EXPECT_NE(scene.Child(), first);
  EXPECT_EQ(journal->Take(), "gone at 2s, start at 2s");
  EXPECT_FALSE(scene.life->has_ended());
}

TEST_P(ExclusiveTest, AnOrdinaryChildIsReplacedWhileTheHandlerRunsOn) {
  TestSystem system(GetParam());
  auto journal = std::make_shared<Journal>();
  Scene scene(Of<Holder>(&system, system.Now(), journal), journal, system);
  journal->Take();
  scene.HoldAndKill(absl::Seconds(2));
  system.Advance(absl::Seconds(3));
  EXPECT_EQ(journal->Take(), "start at 110ms, gone at 2s");
}

TEST_P(ExclusiveTest, ASupervisorGivesUpWithStuckWhenItTakesTooLong) {
  TestSystem system(GetParam());
  auto journal = std::make_shared<Journal>();
  Scene scene(Of<Holder>(&system, system.Now(), journal).Exclusive().ShutdownWithin(absl::Seconds(1)), journal, system);
  journal->Take();
  scene.HoldAndKill(absl::Seconds(5));
  system.Advance(absl::Seconds(6));
  ASSERT_TRUE(scene.life->has_ended());
  EXPECT_THAT(scene.life->end().ToString(), HasSubstr("; because of Stuck; because of Killed"));
  EXPECT_EQ(journal->Take(), "gone at 5s") << "no second instance was started";
}

// The child's supervisor gives up once a second as long as the old handler is running.
TEST_P(ExclusiveTest, ARestartedSupervisorWaitsForTheChildOfItsLastLife) {
  TestSystem system(GetParam());
  auto journal = std::make_shared<Journal>();
  const ChildBuilder holder = Of<Holder>(&system, system.Now(), journal).Exclusive().ShutdownWithin(absl::Seconds(1));
  Scene scene(
      OneForOne()
          .Intensity(100, absl::Seconds(1))
          .Child(
              "outer",
              Of(OneForOne().Intensity(3, absl::Minutes(1)).Child("inner", Of(OneForOne().Child("holder", holder))))),
      journal, system);
  journal->Take();
  scene.HoldAndKill(absl::Seconds(30));
  system.Advance(absl::Seconds(35));
  EXPECT_THAT(journal->Take(), StartsWith("gone at 30s, start at 30"));
  EXPECT_FALSE(scene.life->has_ended());
}

TEST_P(ExclusiveTest, ASupervisorRestartedBecauseOfASiblingWaitsForTheChildOfItsLastLife) {
  TestSystem system(GetParam());
  auto journal = std::make_shared<Journal>();
  const ChildBuilder holder = Of<Holder>(&system, system.Now(), journal).Exclusive().ShutdownWithin(absl::Seconds(1));
  Scene scene(OneForAll()
                  .Intensity(100, absl::Seconds(1))
                  .Child("inner", Of(OneForOne().Child("holder", holder)))
                  .Child("sibling", Of<Worker>("sibling", std::make_shared<Journal>())),
              journal, system);
  journal->Take();
  const auto children = system.Ask(SupervisorRef(scene.life->pid()).which_children(), {}, absl::Seconds(1));
  ASSERT_TRUE(children.ok());
  Ref<Holder>(scene.Child())[&Holder::hold].Tell(Hold{absl::Seconds(5)});
  const Ref<Worker> sibling(children->children.at(1).pid);
  system.seeded_executor().RunAt(system.Now() + absl::Milliseconds(10), [&] { sibling[&Worker::crash].Tell(Crash()); });
  system.RunUntilIdle();
  system.Advance(absl::Seconds(10));
  EXPECT_THAT(journal->Take(), StartsWith("gone at 5s, start at 5"));
}

TEST_P(ExclusiveTest, AKilledSupervisorThatWasStartedByRequestWaitsForTheChildOfItsLastLife) {
  TestSystem system(GetParam());
  auto journal = std::make_shared<Journal>();
  const ChildBuilder holder = Of<Holder>(&system, system.Now(), journal).Exclusive();
  Scene scene(OneForOne(), journal, system);
  const ChildSpec inner = Of(OneForOne().Child("holder", holder)).Spec("inner");
  ASSERT_TRUE(system.Ask(SupervisorRef(scene.life->pid()).start_child(), StartChild{inner}, absl::Seconds(1)).ok());
  journal->Take();
  const Pid supervisor = scene.FirstOf(scene.life->pid()).pid;
  Ref<Holder>(scene.Child())[&Holder::hold].Tell(Hold{absl::Seconds(2)});
  system.seeded_executor().RunAt(system.Now() + absl::Milliseconds(10), [&] { system.Kill(supervisor); });
  system.RunUntilIdle();
  system.Advance(absl::Seconds(3));
  EXPECT_THAT(journal->Take(), StartsWith("gone at 2s, start at 2"));
}

TEST_P(ExclusiveTest, TwoTreesOfOneBuilderDoNotWaitForEachOther) {
  TestSystem system(GetParam());
  auto journal = std::make_shared<Journal>();
  const SupervisorBuilder tree = OneForOne().Child(
      "inner", Of(OneForOne().Child("holder", Of<Holder>(&system, system.Now(), journal).Exclusive())));
  Scene held(tree, journal, system);
  Scene other(tree, journal, system);
  journal->Take();
  const Pid inner = other.FirstOf(other.life->pid()).pid;
  system.seeded_executor().RunAt(system.Now() + absl::Milliseconds(500), [&] { system.Kill(inner); });
  held.HoldAndKill(absl::Seconds(2));
  system.Advance(absl::Seconds(1));
  const std::string told = journal->Take();
  EXPECT_EQ(told, "gone at 500ms, start at 500ms, gone at 2s, start at 2s");
}

class ExclusiveLivesTest : public testing::Test {
 protected:
  using Lives = internal::ExclusiveLives;
  static Pid Life(uint64_t serial) { return Pid(1, 1, serial); }
  void Add(Lives& lives, const std::string& child, Pid life, Lives::Why why) { lives.Add(child, life, why, is_gone_); }
  Pid First(Lives& lives, const std::string& child) { return lives.FirstNotGone(child, is_gone_); }

  std::set<Pid> gone_;
  const std::function<bool(Pid)> is_gone_ = [this](Pid life) { return gone_.contains(life); };
  Lives lives_;
};

TEST_F(ExclusiveLivesTest, RemembersAForgottenChildAndWhatIsBelowItUntilThatIsGone) {
  Add(lives_, "worker", Life(1), Lives::Why::kIsExclusive);
  Add(*lives_.Below("supervisor"), "worker", Life(2), Lives::Why::kIsExclusive);
  EXPECT_THAT(lives_.NotGone(is_gone_), ElementsAre("worker")) << "the supervisor itself is not exclusive";
  for (const char* const child : {"worker", "supervisor", "stranger"}) lives_.Forget(child, is_gone_);
  EXPECT_THAT(lives_.NotGone(is_gone_), ElementsAre("worker"));
  EXPECT_THAT(lives_.Below("supervisor")->NotGone(is_gone_), ElementsAre("worker"));
  const std::weak_ptr<Lives> below = lives_.Below("supervisor");
  gone_ = {Life(1), Life(2)};
  lives_.Forget("supervisor", is_gone_);
  EXPECT_TRUE(below.expired()) << "nothing is left to remember";
  EXPECT_THAT(lives_.NotGone(is_gone_), IsEmpty());
}

TEST_F(ExclusiveLivesTest, AnExclusiveSupervisorIsNotGoneBeforeAllBelowItAtAnyDepth) {
  Add(lives_, "outer", Life(1), Lives::Why::kIsExclusive);
  const auto below = lives_.Below("outer");
  Add(*below, "inner", Life(2), Lives::Why::kIsBelowExclusive);
  Add(*below->Below("inner"), "worker", Life(3), Lives::Why::kIsBelowExclusive);
  EXPECT_EQ(First(lives_, "outer"), Life(1));
  gone_ = {Life(1), Life(2)};
  EXPECT_EQ(First(lives_, "outer"), Life(3));
  EXPECT_THAT(lives_.NotGone(is_gone_), ElementsAre("outer"));
  EXPECT_THAT(below->NotGone(is_gone_), IsEmpty()) << "the children below need not wait";
  Add(*below->Below("inner"), "worker", Life(4), Lives::Why::kIsBelowExclusive);  // in addition to Life(3)
  gone_ = {Life(1), Life(2), Life(4)};
  EXPECT_EQ(First(lives_, "outer"), Life(3));
  gone_.insert(Life(3));
  EXPECT_EQ(First(lives_, "outer"), Pid());
}

// The supervisor of these lives has ended, and its object still exists.
TEST_F(ExclusiveLivesTest, WhatIsBelowIsKeptWhileTheSupervisorThatHasItMayAddToIt) {
  const auto below = lives_.Below("supervisor");
  EXPECT_THAT(lives_.NotGone(is_gone_), IsEmpty());
  EXPECT_EQ(lives_.Below("supervisor"), below);
}

// A handler on a thread of the pool that does not react to exits and kills.
TEST(ExclusiveThreadsTest, TheNextLifeBeginsWhenTheLastIsGone) {
  struct State {
    absl::Mutex mu;
    int alive ABSL_GUARDED_BY(mu) = 0;
    int most ABSL_GUARDED_BY(mu) = 0;
    int starts ABSL_GUARDED_BY(mu) = 0;
    Pid latest ABSL_GUARDED_BY(mu);
    bool released ABSL_GUARDED_BY(mu) = false;
  };
  class Stubborn final : public Actor {
   public:
    explicit Stubborn(std::shared_ptr<State> state) : state_(std::move(state)) {
      absl::MutexLock lock(&state_->mu);
      state_->most = std::max(state_->most, ++state_->alive);
    }
    ~Stubborn() override {
      absl::MutexLock lock(&state_->mu);
      --state_->alive;
    }
    Mailbox<"block", int> block{this};
    StartResult Start() override {
      absl::MutexLock lock(&state_->mu);
      ++state_->starts;
      state_->latest = context().Self();
      return blocking_;
    }

   private:
    void Block(int) {
      absl::MutexLock lock(&state_->mu);
      state_->mu.Await(absl::Condition(&state_->released));
    }
    const std::shared_ptr<State> state_;
    Behavior blocking_{"blocking", On(block, &Stubborn::Block)};
  };
  auto state = std::make_shared<State>();
  ActorSystem system({.log = &LogSink::Null()});
  system.Spawn(OneForOne()
                   .OnEvent([state](const SupervisionEvent& event) {
                     if (event.kind != SupervisionEvent::Kind::kHeld) return;
                     absl::MutexLock lock(&state->mu);
                     state->released = true;  // released only now, so the child was held before
                   })
                   .Child("stubborn", Of<Stubborn>(state).Exclusive().ShutdownWithoutLimit()));
  const auto await = [&](const std::function<bool()>& done) {
    absl::MutexLock lock(&state->mu);
    return state->mu.AwaitWithTimeout(
        absl::Condition(+[](const std::function<bool()>* f) { return (*f)(); }, &done), absl::Seconds(30));
  };
  ASSERT_TRUE(await([&]() ABSL_NO_THREAD_SAFETY_ANALYSIS { return state->starts == 1; }));
  Pid first;
  {
    absl::MutexLock lock(&state->mu);
    first = state->latest;
  }
  Ref<Stubborn>(first)[&Stubborn::block].Tell(1);
  system.Kill(first);
  EXPECT_TRUE(await([&]() ABSL_NO_THREAD_SAFETY_ANALYSIS { return state->starts == 2; }));
  absl::MutexLock lock(&state->mu);
  EXPECT_EQ(state->most, 1) << "never two at once";
}

}  // namespace
}  // namespace understudy
