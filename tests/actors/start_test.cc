// How an actor starts, and what its parent is told (semantics 5.3).
#include <memory>
#include <stdexcept>
#include <string>
#include <utility>
#include <vector>

#include "absl/status/status.h"
#include "absl/strings/match.h"
#include "absl/strings/str_cat.h"
#include "absl/time/time.h"
#include "gmock/gmock.h"
#include "gtest/gtest.h"
#include "understudy/actors/actor.h"
#include "understudy/actors/testing/actor_test.h"
#include "understudy/actors/testing/probe.h"
#include "understudy/actors/testing/seeds.h"
#include "understudy/tests/actors/script.h"

namespace understudy {
namespace {

using ::testing::ElementsAre;
using ::testing::HasSubstr;

// Starts as it is told to.
class Starter final : public Actor {
 public:
  Mailbox<"go", int> go{this};
  Mailbox<"ask", Call<int, int>> ask{this};
  Starter(std::string how, Channel<Call<int, int>> oracle) : how_(std::move(how)), oracle_(oracle) {
#if defined(__cpp_exceptions)
    if (how_ == "throw in constructor") throw std::runtime_error("constructor");
#endif
    if (how_ == "fail in constructor") Fail(absl::DataLossError("constructor"));
    if (how_ == "stop in constructor") context().Stop(ExitReason::Shutdown());
  }
  StartResult Start() override {
    EXPECT_FALSE(absl::StrContains(how_, "in constructor")) << "Start runs all the same";
    if (how_ == "behave") return behaving_;
    if (how_ == "status") return absl::DataLossError("status");
    if (how_ == "fail") return Fail(absl::DataLossError("fail"));
    if (how_ == "ignore") return StartResult::Ignore();
    if (how_ == "await") return Await();
    if (how_ == "await, then ignore") return Await();
    if (how_ == "starting") return StartResult::Starting(starting_);
    if (how_ == "stop") context().Stop(ExitReason::Shutdown());
#if defined(__cpp_exceptions)
    if (how_ == "throw") throw std::runtime_error("start");
#endif
    return behaving_;
  }

 private:
  Task<StartResult> Await() {
    auto asked = oracle_.Ask(1, absl::Hours(1));
    absl::StatusOr<int> answer = co_await asked;
    if (!answer.ok()) co_return answer.status();
    if (how_ == "await, then ignore") co_return StartResult::Ignore();
    co_return behaving_;
  }
  void Go(int n) {
    if (n < 0) {
      Fail(absl::InternalError("not ready"));
    } else if (n == 0) {
      context().DeclineStart();
    } else {
      context().FinishStart();
    }
  }
  int Answer(int n) { return n; }
  std::string how_;
  Channel<Call<int, int>> oracle_;
  Behavior behaving_{"behaving", On(go, [] {}), On(ask, &Starter::Answer)};
  Behavior starting_{"starting", On(go, &Starter::Go), On(ask, &Starter::Answer)};
};

class StartTest : public ActorTest {
 protected:
  // Starts a child of a trapping, monitoring parent. Notes all that it is told.
  void Start(std::string how, SpawnOptions options = {}) {
    Do(parent_, [this, how, options](Script& self) {
      child_ = self.context().Spawn<Starter>(SpawnOptions(options).OnOutcome([&self](const SpawnOutcome& outcome) {
        const char* kinds[] = {"started", "ignored", "failed "};
        self.Note(absl::StrCat(kinds[static_cast<int>(outcome.kind)],
                               outcome.kind == SpawnOutcome::Kind::kFailed ? outcome.reason.ToString() : ""));
      }),
                                             how, oracle_.channel());
      self.monitors.push_back(
          self.context().Monitor(child_, [&self](const Down& down) { self.Note("down " + down.reason.ToString()); }));
    });
    system().RunUntilIdle();
  }

  std::vector<std::string> notes_;
  Probe<Call<int, int>> oracle_{system()};
  Ref<Script> parent_ =
      system().Spawn<Script>([](Script& self) { self.context().TrapExits([](const ExitEvent&) {}); }, nullptr, &notes_);
  Ref<Starter> child_;
};

TEST_F(StartTest, ABehaviourStartsTheActor) {
  Start("behave");
  EXPECT_THAT(notes_, ElementsAre("started"));
  EXPECT_EQ(*Ask(child_[&Starter::ask], 3), 3);
}

TEST_F(StartTest, AFailedStartIsToldOnceBeforeItsDown) {
  Start("status");
  EXPECT_THAT(notes_, ElementsAre("failed Failed(DATA_LOSS: status)", "down Failed(DATA_LOSS: status)"));
  notes_.clear();
  Start("fail");
  EXPECT_THAT(notes_, ElementsAre("failed Failed(DATA_LOSS: fail)", "down Failed(DATA_LOSS: fail)"));
  notes_.clear();
  Start("stop");
  EXPECT_THAT(notes_, ElementsAre("failed Shutdown", "down Shutdown"));
}

TEST_F(StartTest, AConstructorMayFailAndStartDoesNotRun) {
  Start("fail in constructor");
  EXPECT_THAT(notes_, ElementsAre("failed Failed(DATA_LOSS: constructor)", "down Failed(DATA_LOSS: constructor)"));
  notes_.clear();
  Start("stop in constructor");
  EXPECT_THAT(notes_, ElementsAre("failed Shutdown", "down Shutdown"));
}

#if defined(__cpp_exceptions)
TEST_F(StartTest, AnExceptionFailsTheStart) {
  Start("throw in constructor");
  Start("throw");
  EXPECT_THAT(notes_,
              ElementsAre("failed Exception(std::runtime_error: constructor)",
                          "down Exception(std::runtime_error: constructor)",
                          "failed Exception(std::runtime_error: start)", "down Exception(std::runtime_error: start)"));
}
#endif

TEST_F(StartTest, AnActorMayDeclineAndEndsNormal) {
  Start("ignore");
  EXPECT_THAT(notes_, ElementsAre("ignored", "down Normal"));
  notes_.clear();
  Start("await, then ignore");
  oracle_.Receive()->replier.Reply(1);
  system().RunUntilIdle();
  EXPECT_THAT(notes_, ElementsAre("ignored", "down Normal"));
}

TEST_F(StartTest, AStartThatAwaitsIsOverWhenItCompletes) {
  Start("await");
  EXPECT_TRUE(notes_.empty());
  oracle_.Receive()->replier.Reply(1);
  system().RunUntilIdle();
  EXPECT_THAT(notes_, ElementsAre("started"));
  notes_.clear();
  Start("await");
  oracle_.Receive()->replier.Reply(absl::NotFoundError("no oracle"));
  system().RunUntilIdle();
  EXPECT_THAT(notes_, ElementsAre("failed Failed(NOT_FOUND: no oracle)", "down Failed(NOT_FOUND: no oracle)"));
}

TEST_F(StartTest, AStartIsBounded) {
  Start("await", {.start_within = absl::Seconds(5)});
  system().Advance(absl::Milliseconds(4999));
  EXPECT_TRUE(notes_.empty());
  system().Advance(absl::Milliseconds(1));
  EXPECT_THAT(notes_, ElementsAre("failed StartTimeout", "down StartTimeout"));
  notes_.clear();
  Start("behave", {.start_within = absl::Seconds(5)});
  system().Advance(absl::Seconds(10));
  EXPECT_THAT(notes_, ElementsAre("started"));
  (void)oracle_.ReceiveAll();
}

TEST_F(StartTest, AStartingActorHandlesMailAndIsStartedWhenItSaysSo) {
  Start("starting", {.start_within = absl::Seconds(5)});
  EXPECT_EQ(*Ask(child_[&Starter::ask], 3), 3);
  EXPECT_TRUE(notes_.empty());
  child_[&Starter::go].Tell(1);
  system().Advance(absl::Seconds(10));
  EXPECT_THAT(notes_, ElementsAre("started"));
}

TEST_F(StartTest, AnExitBeforeFinishStartIsAFailedStart) {
  Start("starting");
  child_[&Starter::go].Tell(-1);
  system().RunUntilIdle();
  EXPECT_THAT(notes_, ElementsAre("failed Failed(INTERNAL: not ready)", "down Failed(INTERNAL: not ready)"));
  notes_.clear();
  Start("starting", {.start_within = absl::Seconds(5)});
  system().Advance(absl::Seconds(5));
  EXPECT_THAT(notes_, ElementsAre("failed StartTimeout", "down StartTimeout"));
}

TEST_F(StartTest, AStartingActorMayDecline) {
  Start("starting");
  child_[&Starter::go].Tell(0);
  system().RunUntilIdle();
  EXPECT_THAT(notes_, ElementsAre("ignored", "down Normal"));
  notes_.clear();
  Start("starting");
  child_[&Starter::go].Tell(1);
  child_[&Starter::go].Tell(0);
  system().RunUntilIdle();
  EXPECT_THAT(notes_, ElementsAre("started")) << "it has started: there is nothing to decline";
}

TEST_F(StartTest, TheOutcomeOfAKilledStartIsFailed) {
  Start("await");
  system().Kill(child_.pid());
  system().RunUntilIdle();
  EXPECT_THAT(notes_, ElementsAre("failed Killed", "down Killed"));
  (void)oracle_.ReceiveAll();
}

TEST_F(StartTest, NamesAreTakenBeforeStartAndFreedBeforeAFailureIsTold) {
  Ref<Script> owner = system().Spawn<Script>(SpawnOptions{.registered_as = "clerk"}, nullptr, nullptr, &notes_);
  system().RunUntilIdle();
  EXPECT_EQ(system().WhereIs("clerk"), owner.pid());
  Start("behave", {.registered_as = "clerk"});
  ASSERT_EQ(notes_.size(), 2U);
  EXPECT_THAT(notes_[0],
              HasSubstr("failed NameConflict(clerk); because of Failed(ALREADY_EXISTS: the name clerk belongs to"));
  EXPECT_EQ(system().WhereIs("clerk"), owner.pid());

  Start("status", {.registered_as = "other", .published_as = "cluster/other"});
  EXPECT_EQ(system().WhereIs("other"), absl::nullopt);
  EXPECT_EQ(system().WhereIs("cluster/other"), absl::nullopt);
  Start("behave", {.registered_as = "other", .published_as = "cluster/other"});
  EXPECT_EQ(system().WhereIs("other"), child_.pid());
  EXPECT_EQ(system().WhereIs("cluster/other"), child_.pid());
}

TEST(StartOrderTest, TheOutcomeComesOnceAndBeforeTheDownWithEverySeed) {
  ForEachSeed(200, [](uint64_t seed) {
    TestSystem system(seed);
    std::vector<std::string> notes;
    const Channel<Call<int, int>> nobody;
    system.Spawn<Script>([&](Script& self) {
      self.context().TrapExits([](const ExitEvent&) {});
      for (const char* how : {"behave", "status", "ignore", "await"}) {
        auto kind = std::make_shared<int>(0);
        Ref<Starter> child = self.context().Spawn<Starter>(
            SpawnOptions().OnOutcome([kind](const SpawnOutcome&) { ++*kind; }), how, nobody);
        (void)self.context()
            .Monitor(child, [&notes, kind, how](const Down&) { notes.push_back(absl::StrCat(how, *kind)); })
            .Keep();
        self.context().Exit(child, ExitReason::Shutdown());
      }
    });
    system.RunUntilIdle();
    EXPECT_THAT(notes, testing::UnorderedElementsAre("behave1", "status1", "ignore1", "await1"));
    ExpectNothingLost(system);
  });
}

TEST(SpawnOptionsTest, SettersMayBeAssignedToTheOptionsThatTheyWereCalledOn) {
  SpawnOptions options{.registered_as = "a name that is longer than a short string", .label = "label"};
  options = std::move(options).OnOutcome([](const SpawnOutcome&) {});
  options = std::move(options).OnDown([](const Down&) {});
  options = std::move(options).WithUnhandledMail(UnhandledMail());
  EXPECT_EQ(options.registered_as, "a name that is longer than a short string");
  EXPECT_EQ(options.label, "label");
  EXPECT_NE(options.outcome_handler, nullptr);
  EXPECT_NE(options.down_handler, nullptr);
}

// Copies its argument at each start.
TEST_F(StartTest, ASpecStartsANewActorEachTime) {
  const ActorSpec<Ref<Starter>> spec = MakeActorSpec<Starter>(std::string("behave"), oracle_.channel());
  Ref<Starter> one = system().Spawn(spec);
  Ref<Starter> other = system().Spawn(spec);
  EXPECT_NE(one, other);
  EXPECT_EQ(*Ask(one[&Starter::ask], 1), 1);
  EXPECT_EQ(*Ask(other[&Starter::ask], 2), 2);
}

}  // namespace
}  // namespace understudy
