// Tests of inspecting supervisors from other threads.
#include "understudy/supervision/supervisor_looks.h"

#include <atomic>
#include <cstddef>
#include <cstdint>
#include <set>
#include <string>
#include <thread>
#include <utility>
#include <vector>

#include "absl/status/status.h"
#include "absl/status/statusor.h"
#include "absl/strings/str_cat.h"
#include "absl/synchronization/notification.h"
#include "absl/time/time.h"
#include "gmock/gmock.h"
#include "gtest/gtest.h"
#include "understudy/actors/actor.h"
#include "understudy/actors/actor_system.h"
#include "understudy/actors/log_sink.h"
#include "understudy/actors/pid.h"
#include "understudy/actors/test_system.h"
#include "understudy/supervision/builders.h"
#include "understudy/supervision/limits.h"
#include "understudy/supervision/pool.h"
#include "understudy/supervision/supervisor.h"
#include "understudy/tests/actors/inspection/blocker.h"

namespace understudy {
namespace {

using ::testing::HasSubstr;
using ::testing::IsEmpty;
using ::testing::SizeIs;

constexpr absl::Duration kWithin = absl::Seconds(120);

class Clerk final : public Actor {
 public:
  Mailbox<"crash", int> crash{this};
  StartResult Start() override { return working_; }

 private:
  Behavior working_{"working", On(crash, [this](int) { (void)Fail(absl::InternalError(std::string(5'000, 'x'))); })};
};

// Crashes when it is told to.
class Member final : public Actor {
 public:
  Mailbox<"crash", int> crash{this};
  explicit Member(int) {}
  StartResult Start() override { return working_; }

 private:
  Behavior working_{"working", On(crash, [this](int) { (void)Fail(absl::InternalError("told to")); })};
};
using Members = Pool<Member(int)>;

// Returns the supervisors on all pages.
std::vector<SupervisorLook> All(ActorSystem& system, size_t at_most = limits::kTreePageEntriesMax) {
  std::vector<SupervisorLook> all;
  TreePage page;
  do {
    page = LookAtSupervisors(system.node(), page.next, at_most, system.clock().Now());
    for (SupervisorLook& look : page.supervisors) all.push_back(std::move(look));
  } while (page.next.supervisor != 0);
  return all;
}

TEST(SupervisorLooksTest, ASupervisorIsToldWithItsChildrenUntilItHasEnded) {
  TestSystem system;
  TestSystem other;
  const SupervisorRef root = system.Spawn(RestForOne()
                                              .Intensity(4, absl::Seconds(9))
                                              .Child("clerk", Of<Clerk>())
                                              .Child("inner", Of(OneForOne().Child("other", Of<Clerk>()))));
  EXPECT_THAT(All(system), IsEmpty()) << "the supervisor has not had its first turn";
  system.RunUntilIdle();
  const std::vector<SupervisorLook> tree = All(system);
  ASSERT_THAT(tree, SizeIs(2));
  EXPECT_EQ(tree[0].pid, root.pid());
  EXPECT_TRUE(tree[0].parent.is_null());
  EXPECT_EQ(tree[0].strategy, RestartStrategy::kRestForOne);
  EXPECT_EQ(tree[0].intensity, 4);
  EXPECT_EQ(tree[0].period, absl::Seconds(9));
  ASSERT_THAT(tree[0].children, SizeIs(2));
  EXPECT_EQ(tree[0].children[0].info.id, "clerk");
  EXPECT_EQ(tree[0].children[0].info.state, ChildState::kRunning);
  EXPECT_EQ(tree[0].children[1].info.pid, tree[1].pid);
  EXPECT_EQ(tree[1].parent, root.pid());
  EXPECT_THAT(All(other), IsEmpty()) << "another system's supervisors";
  system.Kill(root.pid());
  system.RunUntilIdle();
  EXPECT_THAT(All(system), IsEmpty());
}

TEST(SupervisorLooksTest, TheLastExitIsKeptWithinABoundAndLeavesWithAForgottenChild) {
  TestSystem system;
  system.Spawn(OneForOne()
                   .Child("clerk", Of<Clerk>().RegisteredAs("clerk"))
                   .Child("guest", Of<Clerk>().RegisteredAs("guest").Temporary()));
  system.RunUntilIdle();
  for (const char* name : {"clerk", "guest"}) Ref<Clerk>(*system.WhereIs(name))[&Clerk::crash].Tell(1);
  system.RunUntilIdle();
  system.Advance(absl::Seconds(3));
  const std::vector<SupervisorLook> tree = All(system);
  ASSERT_THAT(tree, SizeIs(1));
  EXPECT_EQ(tree[0].restarts_in_period, 1);
  ASSERT_THAT(tree[0].children, SizeIs(1));
  const ChildLook& clerk = tree[0].children[0];
  EXPECT_EQ(clerk.info.restarts, 1);
  EXPECT_THAT(clerk.last_exit, HasSubstr("Failed(INTERNAL: xxx"));
  EXPECT_LE(clerk.last_exit.size(), limits::kLastExitBytesMax);
  EXPECT_EQ(system.clock().Now() - clerk.exited, absl::Seconds(3));
  system.Advance(absl::Seconds(60));
  EXPECT_EQ(All(system)[0].restarts_in_period, 0);
}

TEST(SupervisorLooksTest, PagesHaveEachChildOnceAndEachSupervisorAgainWhileItHasMore) {
  TestSystem system;
  auto builder = OneForOne();
  for (int i = 0; i < 250; ++i) builder.Child(absl::StrCat("clerk-", i), Of<Clerk>());
  builder.Child("inner", Of(OneForOne().Child("last", Of<Clerk>())));
  system.Spawn(std::move(builder));
  system.RunUntilIdle();
  for (const size_t at_most : {size_t{0}, size_t{2}, size_t{3}, size_t{100}, size_t{251}, size_t{252}, SIZE_MAX}) {
    std::set<std::string> ids;
    std::set<Pid> supervisors;
    for (const SupervisorLook& look : All(system, at_most)) {
      supervisors.insert(look.pid);
      for (const ChildLook& child : look.children) EXPECT_TRUE(ids.insert(child.info.id).second) << child.info.id;
    }
    EXPECT_THAT(ids, SizeIs(252)) << at_most;
    EXPECT_THAT(supervisors, SizeIs(2)) << at_most;
  }
}

TEST(SupervisorLooksTest, AChildThatWentBetweenTwoPagesIsNoObstacle) {
  TestSystem system;
  const SupervisorRef root =
      system.Spawn(OneForOne().Child("a", Of<Clerk>().Temporary().RegisteredAs("a")).Child("b", Of<Clerk>()));
  system.RunUntilIdle();
  const TreePage first = LookAtSupervisors(system.node(), {}, 2, system.clock().Now());
  ASSERT_THAT(first.supervisors, SizeIs(1));
  EXPECT_THAT(first.supervisors[0].children, SizeIs(1));
  system.Kill(*system.WhereIs("a"));
  system.RunUntilIdle();
  const TreePage second = LookAtSupervisors(system.node(), first.next, 2, system.clock().Now());
  ASSERT_THAT(second.supervisors, SizeIs(1));
  EXPECT_EQ(second.supervisors[0].children[0].info.id, "b");
  EXPECT_EQ(second.next.supervisor, 0U);
  system.Kill(root.pid());
  system.RunUntilIdle();
  EXPECT_THAT(LookAtSupervisors(system.node(), first.next, 2, system.clock().Now()).supervisors, IsEmpty());
}

TEST(SupervisorLooksTest, ChildrenThatAreForgottenWhenTheyAreDownAreKnown) {
  TestSystem system;
  const SupervisorRef root = system.Spawn(OneForOne()
                                              .Child("clerk", Of<Clerk>().Transient())
                                              .Child("guest", Of<Clerk>().Temporary().RegisteredAs("guest")));
  const Members::Ref pool = system.Spawn<Members>(PoolOptions{.restart = RestartType::kPermanent});
  const Members::Ref shards = system.Spawn<Members>(PoolOptions{.restart = RestartType::kPermanent, .shards = 2});
  system.RunUntilIdle();
  EXPECT_FALSE(IsForgottenWhenDown(root.pid(), "clerk"));
  EXPECT_FALSE(IsForgottenWhenDown(root.pid(), "nobody"));
  EXPECT_TRUE(IsForgottenWhenDown(root.pid(), "guest"));
  for (const Members::Ref& one : {pool, shards}) {
    ASSERT_TRUE(system.Ask(one.start_as(), {"member", 1}, kWithin).ok());
    EXPECT_TRUE(IsForgottenWhenDown(one.pid(), "member"));
  }
  system.Kill(*system.WhereIs("guest"));
  system.Kill(pool.pid());
  system.RunUntilIdle();
  EXPECT_FALSE(IsForgottenWhenDown(root.pid(), "guest"));
  EXPECT_FALSE(IsForgottenWhenDown(pool.pid(), "member"));
}

TEST(SupervisorLooksTest, TheWholeTreeIsToldWhileEveryWorkerIsStuck) {
  absl::Notification begun;
  absl::Notification go_on;
  {
    ActorSystem system({.threads = {.threads = 1, .surplus_threads_max = 0}, .log = &LogSink::Null()});
    const Members::Ref pool = system.Spawn<Members>();
    for (int i = 0; i < 1'500; ++i) ASSERT_TRUE(system.Ask(pool.start(), i, kWithin).ok());
    const Ref<Blocker> blocker = system.Spawn<Blocker>(&begun, &go_on);
    blocker[&Blocker::block].Tell(1);
    begun.WaitForNotification();
    const std::vector<SupervisorLook> tree = All(system);
    go_on.Notify();
    ASSERT_THAT(tree, SizeIs(1));
    EXPECT_TRUE(tree[0].is_pool);
    EXPECT_THAT(tree[0].children, SizeIs(1'500));
  }
}

// Several threads inspect supervisors while children start, crash, are restarted and stop, and while supervisors start
// and end.
TEST(SupervisorLooksTest, LooksMeetSupervisorsThatChangeTheirChildren) {
  ActorSystem system({.log = &LogSink::Null()});
  const SupervisorRef root = system.Spawn(
      OneForOne()
          .Intensity(100'000, absl::Seconds(1))
          .Child("clerk", Of<Clerk>().RegisteredAs("clerk"))
          .Child(
              "pool",
              Of<Members>(PoolOptions{.restart = RestartType::kTransient, .intensity = 100'000}).RegisteredAs("pool")));
  ASSERT_TRUE(system.AwaitStart(root.pid(), kWithin).ok());
  std::atomic<bool> is_over{false};
  std::vector<std::thread> lookers;
  for (int i = 0; i < 2; ++i) {
    lookers.emplace_back([&] {
      while (!is_over.load()) {
        for (const SupervisorLook& look : All(system, 50)) {
          EXPECT_FALSE(look.pid.is_null());
          for (const ChildLook& child : look.children) {
            EXPECT_FALSE(child.info.id.empty());
            EXPECT_FALSE(IsForgottenWhenDown(look.pid, child.info.id) && child.info.kind == ChildKind::kSupervisor);
          }
        }
      }
    });
  }
  for (int round = 0; round < 20; ++round) {
    const Members::Ref pool(*system.WhereIs("pool"));
    for (int i = 0; i < 20; ++i) {
      const absl::StatusOr<Ref<Member>> member = system.Ask(pool.start(), i, kWithin);
      EXPECT_TRUE(member.ok()) << member.status();
      if (member.ok()) (*member)[&Member::crash].Tell(1);
    }
    if (const auto clerk = system.WhereIs("clerk"); clerk.has_value()) Ref<Clerk>(*clerk)[&Clerk::crash].Tell(1);
    EXPECT_TRUE(system.Ask(root.terminate_child(), TerminateChild{.id = "pool"}, kWithin).ok());
    EXPECT_TRUE(system.Ask(root.restart_child(), RestartChild{.id = "pool"}, kWithin).ok());
  }
  is_over.store(true);
  for (std::thread& looker : lookers) looker.join();
  EXPECT_TRUE(system.Shutdown(kWithin));
}

}  // namespace
}  // namespace understudy
