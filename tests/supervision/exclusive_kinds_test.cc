// Exclusive children of every kind: supervisors, children made by factories, pool members and processes.
#include <functional>
#include <memory>
#include <string>
#include <utility>
#include <vector>

#include "absl/status/status.h"
#include "absl/status/statusor.h"
#include "absl/time/time.h"
#include "gmock/gmock.h"
#include "gtest/gtest.h"
#include "understudy/actors/actor.h"
#include "understudy/actors/actor_spec.h"
#include "understudy/actors/clock.h"
#include "understudy/actors/pid.h"
#include "understudy/actors/spawner.h"
#include "understudy/actors/test_system.h"
#include "understudy/supervision/builders.h"
#include "understudy/supervision/child_spec.h"
#include "understudy/supervision/internal/child_info.h"
#include "understudy/supervision/pool.h"
#include "understudy/supervision/supervisor.h"
#include "understudy/tests/supervision/holders.h"
#include "understudy/tests/supervision/workers.h"

namespace understudy {
namespace {

using ::testing::HasSubstr;
using ::testing::StartsWith;

constexpr absl::Duration kSoon = absl::Seconds(1);

class ExclusiveKindsTest : public testing::TestWithParam<uint64_t> {
 protected:
  ChildBuilder AHolder() { return Of<Holder>(&system_, system_.Now(), journal_); }
  std::vector<ChildInfo> ChildrenOf(Pid supervisor) {
    const auto children = system_.Ask(SupervisorRef(supervisor).which_children(), {}, kSoon);
    return children.ok() ? children->children : std::vector<ChildInfo>(2);
  }
  // Makes the holder's handler run for 2 s, and calls `done` 10 ms after it began.
  void While(Pid holder, const std::function<void()>& done) {
    journal_->Take();
    Ref<Holder>(holder)[&Holder::hold].Tell(Hold{absl::Seconds(2)});
    system_.seeded_executor().RunAt(system_.Now() + absl::Milliseconds(10), done);
    system_.RunUntilIdle();
  }

  TestSystem system_{GetParam()};
  const std::shared_ptr<Journal> journal_ = std::make_shared<Journal>();
};
INSTANTIATE_TEST_SUITE_P(Seeds, ExclusiveKindsTest, testing::Range<uint64_t>(1, 21));

// Returns children that are supervisors and are created anew at each start: one made by a builder, and one made by a
// factory that hides its tree.
std::vector<ChildBuilder> SupervisorsOf(const ChildBuilder& child) {
  const SupervisorBuilder tree = OneForOne().Child("holder", child);
  const auto factory = [tree] { return ActorSpec<SupervisorRef>(tree).make(); };
  return {Of(tree), Of(factory)};
}

TEST_P(ExclusiveKindsTest, ASupervisorThatIsExclusiveBeginsAgainWhenAllBelowItIsGone) {
  for (ChildBuilder& inner : SupervisorsOf(AHolder())) {
    Scene scene(OneForOne().Child("inner", inner.Exclusive()), journal_, system_);
    const Pid supervisor = scene.FirstOf(scene.life->pid()).pid;
    system_.seeded_executor().RunAt(system_.Now() + absl::Milliseconds(1900), [&] {
      EXPECT_EQ(ChildrenOf(scene.life->pid())[0].state, ChildState::kRestarting);
    });
    While(scene.FirstOf(supervisor).pid, [&] { system_.Kill(supervisor); });
    EXPECT_THAT(journal_->Take(), StartsWith("gone at"));
    EXPECT_EQ(ChildrenOf(scene.life->pid())[0].state, ChildState::kRunning);
    system_.Kill(scene.life->pid());
    system_.Advance(absl::Seconds(1));
  }
}

TEST_P(ExclusiveKindsTest, AnOrdinarySupervisorBeginsAgainAtOnce) {
  for (const ChildBuilder& inner : SupervisorsOf(AHolder())) {
    Scene scene(OneForOne().Child("inner", inner), journal_, system_);
    const Pid supervisor = scene.FirstOf(scene.life->pid()).pid;
    While(scene.FirstOf(supervisor).pid, [&] { system_.Kill(supervisor); });
    system_.Advance(absl::Seconds(3));
    EXPECT_THAT(journal_->Take(), StartsWith("start at"));
    system_.Kill(scene.life->pid());
    system_.Advance(absl::Seconds(1));
  }
}

// The inner supervisor stops its children in order and ends by itself, while the handler of the child that it had to
// kill is still running.
TEST_P(ExclusiveKindsTest, AnExclusiveSupervisorThatStoppedInOrderBeginsAgainWhenTheHandlerItLeftIsGone) {
  const auto sibling_journal = std::make_shared<Journal>();
  Scene scene(
      OneForAll()
          .Child("inner",
                 Of(OneForOne().Child("deep", Of(OneForOne().Child("holder", AHolder().BrutalKill())))).Exclusive())
          .Child("sibling", Of<Worker>("sibling", sibling_journal)),
      journal_, system_);
  const Ref<Worker> sibling(ChildrenOf(scene.life->pid())[1].pid);
  While(scene.Child(), [&] { sibling[&Worker::crash].Tell(Crash()); });
  system_.Advance(absl::Seconds(3));
  EXPECT_THAT(journal_->Take(), StartsWith("gone at 2s, start at 2"));
  EXPECT_EQ(sibling_journal->Take(), "start sibling, end sibling Exception, start sibling");
}

TEST_P(ExclusiveKindsTest, WhatAFactoryMakesKnowsTheExclusiveChildrenOfItsLastLife) {
  const SupervisorBuilder tree = OneForOne().Child("holder", AHolder().Exclusive());
  Scene scene(OneForOne().Child("inner", Of([tree] { return ActorSpec<SupervisorRef>(tree).make(); })), journal_,
              system_);
  const Pid supervisor = scene.FirstOf(scene.life->pid()).pid;
  While(scene.FirstOf(supervisor).pid, [&] { system_.Kill(supervisor); });
  system_.Advance(absl::Seconds(3));
  EXPECT_THAT(journal_->Take(), StartsWith("gone at 2s, start at 2"));
}

struct HolderJob {
  TestSystem* system;
  std::shared_ptr<Journal> journal;
};
class JobHolder final : public Actor {
 public:
  explicit JobHolder(const HolderJob& job) : job_(job) {}
  ~JobHolder() override { job_.journal->Add("gone"); }
  Mailbox<"hold", Hold> hold{this};
  StartResult Start() override {
    job_.journal->Add("start");
    return holding_;
  }

 private:
  void DoHold(const Hold& request) { job_.system->seeded_executor().HoldHere(request.time); }
  const HolderJob job_;
  Behavior holding_{"holding", On(hold, &JobHolder::DoHold)};
};
using Jobs = Pool<JobHolder(HolderJob)>;

class ExclusiveMembersTest : public ExclusiveKindsTest {
 protected:
  // Spawns a tree with a pool of `shards` shards.
  void Begin(int shards) {
    life_ = std::make_shared<RootLife>();
    system_.Spawn<Launcher>(
        OneForOne()
            .Intensity(9, absl::Seconds(1))
            .Child("jobs", Of<Jobs>(PoolOptions{.id = "job",
                                                .restart = RestartType::kPermanent,
                                                .shutdown = ChildShutdown::Within(absl::Milliseconds(20)),
                                                .exclusive = true,
                                                .shards = shards})),
        life_);
    system_.RunUntilIdle();
  }
  Jobs::Ref Pool() { return Jobs::Ref(ChildrenOf(life_->pid())[0].pid); }
  absl::StatusOr<Ref<JobHolder>> Start(const std::string& id) {
    return system_.Ask(Pool().start_as(), {id, HolderJob{&system_, journal_}}, kSoon);
  }
  // Makes the member's handler run for 2 s, kills `who` 10 ms after it began, and calls `meanwhile` after 500 ms.
  void HoldOnAndKill(Pid member, Pid who, const std::function<void()>& meanwhile) {
    Ref<JobHolder>(member)[&JobHolder::hold].Tell(Hold{absl::Seconds(2)});
    system_.seeded_executor().RunAt(system_.Now() + absl::Milliseconds(10), [this, who] { system_.Kill(who); });
    system_.seeded_executor().RunAt(system_.Now() + absl::Milliseconds(500), meanwhile);
    system_.RunUntilIdle();
  }
  std::shared_ptr<RootLife> life_;
};
INSTANTIATE_TEST_SUITE_P(Seeds, ExclusiveMembersTest, testing::Range<uint64_t>(1, 11));

TEST_P(ExclusiveMembersTest, AnIdIsNotGivenAnewWhileAHandlerOfItsLastLifeRuns) {
  for (const int shards : {1, 4}) {
    Begin(shards);
    const auto job = Start("job");
    ASSERT_TRUE(job.ok()) << job.status();
    HoldOnAndKill(job->pid(), job->pid(), [&] {
      EXPECT_EQ(journal_->Take(), "start") << "the pool has given up and forgotten the job";
      const auto early = Start("job");
      EXPECT_TRUE(absl::IsFailedPrecondition(early.status())) << early.status();
      EXPECT_THAT(early.status().message(), HasSubstr("child 'job' is exclusive, and its last life is not gone"));
      EXPECT_TRUE(Start("another").ok());
    });
    EXPECT_EQ(journal_->Take(), "start, gone");
    system_.Advance(absl::Seconds(1));
    EXPECT_TRUE(Start("job").ok());
    system_.Kill(life_->pid());
    system_.RunUntilIdle();
    journal_->Take();
  }
}

TEST_P(ExclusiveMembersTest, TheNextLifeOfAPoolDoesNotGiveThatIdAnewEitherAndMakesUpNewIds) {
  for (const int shards : {1, 4}) {
    Begin(shards);
    const auto job = Start("job");
    const auto made_up = system_.Ask(Pool().start(), HolderJob{&system_, journal_}, kSoon);
    ASSERT_TRUE(job.ok() && made_up.ok());
    const Pid pool = Pool().pid();
    HoldOnAndKill(job->pid(), pool, [&] {
      EXPECT_EQ(journal_->Take(), "start, start, gone") << "the other job has ended";
      EXPECT_NE(Pool().pid(), pool);
      EXPECT_TRUE(absl::IsFailedPrecondition(Start("job").status()));
      EXPECT_TRUE(system_.Ask(Pool().start(), HolderJob{&system_, journal_}, kSoon).ok());
    });
    system_.Advance(absl::Seconds(1));
    EXPECT_TRUE(Start("job").ok());
    system_.Kill(life_->pid());
    system_.RunUntilIdle();
    journal_->Take();
  }
}

// A spawner for a process that takes time to die, so that its proxy may end before it.
class SlowToDie final : public Spawner {
 public:
  absl::StatusOr<std::function<std::unique_ptr<Actor>()>> ForProcess(const ProcessChild& /*child*/) override {
    return [this] { return std::make_unique<Proxy>(&dying); };
  }
  absl::StatusOr<std::function<std::unique_ptr<Actor>()>> ForNode(const NodeChild&) override {
    return absl::UnimplementedError("no other nodes");
  }
  bool Grants(Pid) override { return false; }
  LifeHold dying;

 private:
  class Proxy final : public Actor {
   public:
    explicit Proxy(LifeHold* dying) : dying_(dying) {}
    Mailbox<"never", int> never{this};
    StartResult Start() override {
      *dying_ = context().HoldLife();
      return Behavior("waiting", On(never, [] {}));
    }

   private:
    LifeHold* const dying_;
  };
};

TEST_P(ExclusiveKindsTest, AProcessIsStartedAgainWhenTheLastHasEnded) {
  SlowToDie spawner;
  system_.InstallSpawner(&spawner);
  auto life = std::make_shared<RootLife>();
  system_.Spawn<Launcher>(OneForOne().Child("p", Process("b").Exclusive()), life);
  system_.RunUntilIdle();
  system_.Kill(ChildrenOf(life->pid())[0].pid);
  system_.Advance(absl::Seconds(1));
  EXPECT_EQ(ChildrenOf(life->pid())[0].state, ChildState::kRestarting);
  spawner.dying = nullptr;
  system_.Advance(absl::Seconds(1));
  EXPECT_EQ(ChildrenOf(life->pid())[0].state, ChildState::kRunning);
  EXPECT_NE(spawner.dying, nullptr);
}

TEST_P(ExclusiveKindsTest, BelowAnExclusiveSupervisorNoChildIsOnAnotherNode) {
  const SupervisorBuilder tree = OneForOne().Child(
      "inner", Of(OneForOne().Child("deep", Of(OneForOne().Child("far", Remote(OnNode("w"), "f"))))).Exclusive());
  EXPECT_THAT(tree.Validate().message(),
              HasSubstr("child 'inner' / child 'deep' / child 'far': placement: is below 'inner', which is exclusive"));
  Scene scene(OneForOne().Child("inner", Of(OneForOne().Child("holder", AHolder())).Exclusive()), journal_, system_);
  const SupervisorRef inner(scene.FirstOf(scene.life->pid()).pid);
  const auto asked = system_.Ask(inner.start_child(), StartChild{Remote(OnNode("w"), "f").Spec("far")}, kSoon);
  EXPECT_THAT(asked.status().message(), HasSubstr("a supervisor above it is exclusive"));
}

}  // namespace
}  // namespace understudy
