#include "understudy/actors/actor_system.h"

#include <algorithm>
#include <atomic>
#include <memory>
#include <string>
#include <thread>
#include <utility>
#include <vector>

#include "absl/status/status.h"
#include "absl/status/statusor.h"
#include "absl/strings/str_cat.h"
#include "absl/synchronization/notification.h"
#include "absl/time/time.h"
#include "absl/types/optional.h"
#include "gmock/gmock.h"
#include "gtest/gtest.h"
#include "understudy/actors/actor.h"
#include "understudy/actors/message.h"
#include "understudy/actors/replier.h"
#include "understudy/actors/router.h"
#include "understudy/actors/testing/actor_test.h"
#include "understudy/actors/testing/null_router.h"
#include "understudy/actors/testing/seeds.h"
#include "understudy/tests/actors/script.h"

namespace understudy {
namespace {

using ::testing::ElementsAre;
using ::testing::IsEmpty;
using ::testing::UnorderedElementsAre;

class ActorSystemTest : public ActorTest {
 protected:
  std::vector<std::string> notes_;
};

TEST_F(ActorSystemTest, DeadLettersSayWhoWhereWhatAndWhy) {
  Ref<Script> script = system().Spawn<Script>(nullptr, nullptr, &notes_);
  system().RunUntilIdle();
  script[&Script::note].Tell("behind the exit");
  system().Exit(script.pid(), ExitReason::Shutdown());
  system().RunUntilIdle();
  script[&Script::note].Tell("too late");
  ASSERT_EQ(dead_letters().size(), 2U);
  EXPECT_TRUE(IsCalleeExited(dead_letters()[0].why)) << dead_letters()[0].why;
  EXPECT_TRUE(IsNoProcess(dead_letters()[1].why)) << dead_letters()[1].why;
  for (const DeadLetter& letter : dead_letters()) {
    EXPECT_EQ(letter.to, script.pid());
    EXPECT_TRUE(letter.from.is_null());
    EXPECT_EQ(letter.mailbox, "note");
    EXPECT_EQ(letter.type, internal::TypeOf<std::string>().name());
  }
  EXPECT_EQ(Ledger().of(Disposition::kDeadLetter), 1) << "a refused tell was never accepted";
  EXPECT_EQ(Ledger().refused, 1);
}

TEST_F(ActorSystemTest, ARefusedSendIsNoDeadLetter) {
  EXPECT_FALSE(Ref<Script>()[&Script::note].Send("x").ok());
  EXPECT_THAT(dead_letters(), IsEmpty());
}

// A tree of traps: each notes its exit, and passes time before it ends.
Script::Step Node(std::string name, int children) {
  return [name, children](Script& self) {
    self.context().TrapExits([](const ExitEvent&) {},
                             [&self, name](const ExitEvent& event) {
                               self.Note(name);
                               self.context().Stop(event.reason);
                             });
    for (int i = 0; i < children; ++i) {
      self.context().Spawn<Script>(Node(absl::StrCat(name, i), 0), nullptr, self.notes());
    }
  };
}

TEST_F(ActorSystemTest, ShutdownEndsRootsAndTheyTheirChildren) {
  ForEachSeed(50, [](uint64_t seed) {
    std::vector<std::string> notes;
    TestSystem system(seed);
    system.Spawn<Script>(Node("a", 2), nullptr, &notes);
    system.Spawn<Script>(Node("b", 0), nullptr, &notes);
    system.RunUntilIdle();
    EXPECT_TRUE(system.Shutdown(absl::Seconds(1)));
    EXPECT_THAT(notes, UnorderedElementsAre("a", "a0", "a1", "b"));
    const auto place = [&](const char* name) { return std::find(notes.begin(), notes.end(), name); };
    EXPECT_LT(place("a"), place("a0")) << "a parent first, then what it is linked to";
    EXPECT_LT(place("a"), place("a1"));
    EXPECT_EQ(system.live_actors(), 0);
  });
}

TEST_F(ActorSystemTest, ShutdownKillsWhatDoesNotEndInTime) {
  TestSystem system;
  system.Spawn<Script>(
      [](Script& self) { self.context().TrapExits([](const ExitEvent&) {}, [](const ExitEvent&) {}); });
  system.Spawn<Script>(SpawnOptions{.shutdown_within = absl::InfiniteDuration()}, [](Script& self) {
    self.context().TrapExits([](const ExitEvent&) {}, [](const ExitEvent&) {});
  });
  system.RunUntilIdle();
  const MonotonicTime before = system.Now();
  EXPECT_FALSE(system.Shutdown(absl::Seconds(9)));
  EXPECT_EQ(system.live_actors(), 0);
  EXPECT_EQ(system.Now() - before, absl::Seconds(9));
}

TEST_F(ActorSystemTest, ShutdownKillsAnActorThatOutlivedItsParent) {
  for (const bool is_linked : {true, false}) {
    TestSystem system;
    Ref<Script> child;
    Ref<Script> parent = system.Spawn<Script>([&](Script& self) {
      child = self.context().Spawn<Script>(
          SpawnOptions{.link = is_linked ? SpawnLink::kLinked : SpawnLink::kUnlinked}, nullptr,
          [&](Script&, const ExitReason&) { ADD_FAILURE() << "a Kill runs no OnExit"; });
    });
    Do(parent, [](Script& self) { self.context().Stop(ExitReason::Normal()); });
    system.RunUntilIdle();
    EXPECT_EQ(system.live_actors(), 1);
    const MonotonicTime before = system.Now();
    EXPECT_FALSE(system.Shutdown(absl::Seconds(9)));
    EXPECT_EQ(system.live_actors(), 0);
    EXPECT_EQ(system.Now() - before, absl::Seconds(9));
  }
}

TEST_F(ActorSystemTest, AnActorThatAnEndingOneSpawnsDuringShutdownEndsAtOnce) {
  TestSystem system;
  system.Spawn<Script>(nullptr, [](Script& self, const ExitReason&) {
    for (const SpawnLink link : {SpawnLink::kUnlinked, SpawnLink::kLinked}) {
      self.context().Spawn<Script>(SpawnOptions{.link = link}, [](Script&) { ADD_FAILURE() << "it started"; });
    }
  });
  system.RunUntilIdle();
  const MonotonicTime before = system.Now();
  EXPECT_TRUE(system.Shutdown(absl::Seconds(3)));
  EXPECT_EQ(system.Now(), before);
}

TEST_F(ActorSystemTest, AnActorThatStopsSlowlyMaySpawnLinkedChildrenMeanwhileAndNoUnlinkedOnes) {
  std::vector<std::string> notes;
  TestSystem system;
  system.Spawn<Script>([&notes](Script& self) {
    self.context().TrapExits([](const ExitEvent&) {},
                             [&self, &notes](const ExitEvent& event) {
                               self.context().Spawn<Script>([&notes](Script&) { notes.push_back("linked"); });
                               self.context().Spawn<Script>(SpawnOptions{.link = SpawnLink::kUnlinked},
                                                            [&notes](Script&) { notes.push_back("unlinked"); });
                               EXPECT_TRUE(self.context()
                                               .StartTimer("end", absl::Seconds(1),
                                                           [&self, reason = event.reason](const TimerEvent&) {
                                                             self.context().Stop(reason);
                                                           })
                                               .ok());
                             });
  });
  system.RunUntilIdle();
  EXPECT_TRUE(system.Shutdown(absl::Seconds(3)));
  EXPECT_THAT(notes, ElementsAre("linked"));
}

TEST_F(ActorSystemTest, AnActorSpawnedAfterShutdownEndsAtOnce) {
  TestSystem system;
  EXPECT_TRUE(system.Shutdown(absl::Seconds(1)));
  Ref<Script> late = system.Spawn<Script>();
  system.RunUntilIdle();
  EXPECT_EQ(system.live_actors(), 0);
  EXPECT_TRUE(IsNoProcess(late[&Script::note].Send("x")));
  EXPECT_TRUE(understudy::IsCancelled(system.Ask(late[&Script::ask], 1, absl::Seconds(1)).status()) ||
              system.live_actors() == 0);
}

TEST_F(ActorSystemTest, AwaitEndGivesTheReasonOrExpires) {
  Ref<Script> script = system().Spawn<Script>();
  EXPECT_TRUE(IsExpired(system().AwaitEnd(script.pid(), absl::Seconds(3)).status()));
  system().seeded_executor().RunAt(system().Now() + absl::Seconds(1),
                                   [&] { system().Exit(script.pid(), ExitReason::OsExit(3)); });
  EXPECT_EQ(*system().AwaitEnd(script.pid(), absl::Seconds(3)), ExitReason::OsExit(3));
  EXPECT_EQ(*system().AwaitEnd(script.pid(), absl::Seconds(3)), ExitReason::NoProcess());
}

TEST_F(ActorSystemTest, PidsAreNeverReused) {
  // semantics 5.1
  std::vector<Pid> pids;
  for (int i = 0; i < 1000; ++i) {
    Ref<Script> next = system().Spawn<Script>(nullptr, nullptr, &notes_);
    pids.push_back(next.pid());
    system().Kill(next.pid());
    system().RunUntilIdle();
    ASSERT_TRUE(IsNoProcess(next[&Script::note].Send("x")));
  }
  std::sort(pids.begin(), pids.end());
  EXPECT_EQ(std::unique(pids.begin(), pids.end()), pids.end());
  EXPECT_THAT(notes_, IsEmpty());
}

// On real threads.

TEST(ActorSystemThreadsTest, AnAskThatShutdownCutsOffReturns) {
  for (int round = 0; round < 20; ++round) {
    ActorSystem system;
    Ref<Script> script = system.Spawn<Script>();
    absl::Notification asking;
    std::thread asker([&] {
      asking.Notify();
      const absl::Status status = system.Ask(script[&Script::ask], 1, absl::Hours(1)).status();
      EXPECT_FALSE(status.ok());
    });
    asking.WaitForNotification();
    EXPECT_TRUE(system.Shutdown(absl::Seconds(30)));
    asker.join();
  }
}

// Spawns two of its kind when it starts.
class Fork final : public Actor {
 public:
  StartResult Start() override {
    for (int i = 0; i < 2; ++i) context().Spawn<Fork>();
    return Behavior("forked", After(absl::Hours(1), [] {}));
  }
};

TEST(ActorSystemThreadsTest, WhenTheTimeOfShutdownIsOverActorsThatSpawnWithoutEndEnd) {
  ActorSystem system;
  Ref<Script> root = system.Spawn<Script>([](Script& self) {
    self.context().TrapExits([](const ExitEvent&) {}, [&self](const ExitEvent&) { self.context().Spawn<Fork>(); });
  });
  Do(root, [](Script&) {});
  EXPECT_FALSE(system.Shutdown(absl::Milliseconds(20)));
  EXPECT_EQ(system.live_actors(), 0);
}

// Answers when its parent's exit has come, and ends a while after it was asked again.
class SlowToStop final : public Actor {
 public:
  Mailbox<"ask", Call<int, int>> ask{this};
  explicit SlowToStop(absl::Notification* asked) : asked_(asked) {}
  StartResult Start() override {
    context().TrapExits([](const ExitEvent&) {}, &SlowToStop::ParentExit);
    return running_;
  }

 private:
  void Answer(int, Replier<int> replier) {
    if (is_stopping_) {
      if (!context().StartTimer("end", absl::Seconds(1), [this](const TimerEvent&) { context().Stop(); }).ok()) {
        context().Stop();
      }
      return replier.Reply(2);
    }
    held_ = std::move(replier);
    asked_->Notify();
  }
  void ParentExit(const ExitEvent&) {
    is_stopping_ = true;
    held_->Reply(1);
  }
  absl::Notification* const asked_;
  bool is_stopping_ = false;
  absl::optional<Replier<int>> held_;
  Behavior running_{"running", On(ask, &SlowToStop::Answer)};
};

TEST(ActorSystemThreadsTest, AsksOfPlainThreadsAreAnsweredWhileTheTreeStops) {
  ActorSystem system;
  absl::Notification asked;
  const Ref<SlowToStop> callee = system.Spawn<SlowToStop>(&asked);
  std::thread front([&] {
    const absl::StatusOr<int> under_way = system.Ask(callee[&SlowToStop::ask], 1, absl::Hours(1));
    EXPECT_TRUE(under_way.ok() && *under_way == 1) << under_way.status();
    const absl::StatusOr<int> later = system.Ask(callee[&SlowToStop::ask], 1, absl::Hours(1));
    EXPECT_TRUE(later.ok() && *later == 2) << later.status();
    EXPECT_TRUE(system.AwaitEnd(callee.pid(), absl::Hours(1)).ok());
  });
  asked.WaitForNotification();
  EXPECT_TRUE(system.Shutdown(absl::Seconds(60)));
  front.join();
  EXPECT_TRUE(understudy::IsCancelled(system.AwaitEnd(callee.pid(), absl::Hours(1)).status()));
}

// Accepts all messages to other nodes, and never answers.
class SilentRouter final : public NullRouter {
 public:
  absl::Status Send(const OutboundMessage& /*message*/) override {
    sent.Notify();
    return absl::OkStatus();
  }

  absl::Notification sent;
};

TEST(ActorSystemThreadsTest, AnAskThatOnlyAnotherNodeCouldAnswerIsCancelledWhenTheTreeHasEnded) {
  ActorSystem system;
  SilentRouter router;
  system.InstallRouter(&router);
  const Ref<Script> far(Pid(*system.InternPeer("far", {7}), 1, 1));
  std::thread front(
      [&] { EXPECT_TRUE(understudy::IsCancelled(system.Ask(far[&Script::ask], 1, absl::Hours(1)).status())); });
  router.sent.WaitForNotification();
  system.Spawn<Script>();
  EXPECT_TRUE(system.Shutdown(absl::Seconds(60)));
  front.join();
  system.InstallRouter(nullptr);
}

TEST(ActorSystemThreadsTest, SpawnsThatRaceWithShutdownEndToo) {
  for (int round = 0; round < 50; ++round) {
    ActorSystem system;
    absl::Notification spawning;
    std::thread spawner([&] {
      for (int i = 0; i < 100; ++i) {
        system.Spawn<Script>();
        if (i == round) spawning.Notify();
      }
    });
    spawning.WaitForNotification();
    EXPECT_TRUE(system.Shutdown(absl::Seconds(30))) << "a root that Shutdown missed had to be killed";
    spawner.join();
    EXPECT_TRUE(system.Shutdown(absl::Seconds(30)));
    EXPECT_EQ(system.live_actors(), 0);
  }
}

TEST(ActorSystemThreadsTest, NothingIsLostWhenActorsDieUnderLoad) {
  ActorSystemOptions options;
  options.threads.threads = 4;
  options.seed = 7;
  ActorSystem system(options);
  constexpr int kSenders = 3;
  constexpr int kActors = 50;
  std::vector<std::vector<std::string>> notes(kActors);
  std::vector<Ref<Script>> actors;
  for (int i = 0; i < kActors; ++i) {
    actors.push_back(system.Spawn<Script>(nullptr, nullptr, &notes[static_cast<size_t>(i)]));
  }
  std::atomic<int64_t> accepted{0};
  std::atomic<int64_t> refused{0};
  std::vector<std::thread> senders;
  for (int s = 0; s < kSenders; ++s) {
    senders.emplace_back([&, s] {
      Random random(static_cast<uint64_t>(s) + 1);
      for (int i = 0; i < 5000; ++i) {
        const Ref<Script> target = actors[random.Below(kActors)];
        if (random.Below(500) == 0) system.Kill(target.pid());
        ++(target[&Script::note].Send("x").ok() ? accepted : refused);
      }
    });
  }
  for (std::thread& sender : senders) sender.join();
  EXPECT_TRUE(system.Shutdown(absl::Seconds(30)));
  const MessageLedger ledger = system.Ledger();
  EXPECT_TRUE(ledger.balances()) << ledger.ToString();
  EXPECT_EQ(ledger.accepted, accepted.load());
  EXPECT_EQ(ledger.refused, refused.load());
  int64_t handled = 0;
  for (const auto& some : notes) handled += static_cast<int64_t>(some.size());
  EXPECT_EQ(ledger.of(Disposition::kHandled), handled);
}

TEST(ActorSystemThreadsTest, TimersRunInRealTime) {
  ActorSystem system;
  absl::Notification rung;
  Ref<Script> script = system.Spawn<Script>();
  Do(script, [&](Script& self) {
    EXPECT_TRUE(self.context().StartTimer("ring", absl::Milliseconds(5), [&rung] { rung.Notify(); }).ok());
  });
  rung.WaitForNotification();
}

TEST(ActorSystemDeathTest, AnActorThatShutsItsOwnSystemDownIsACheck) {
  EXPECT_DEATH(
      {
        TestSystem system;
        Ref<Script> script = system.Spawn<Script>();
        Do(script, [&](Script&) { system.Shutdown(absl::Seconds(1)); });
        system.RunUntilIdle();
      },
      "cannot shut its own system down");
}

TEST(ActorSystemDeathTest, AHandlerThatDestroysAnotherSystemIsACheckThatNamesBoth) {
  EXPECT_DEATH(
      {
        ActorSystem outer({.name = "outer"});
        Ref<Script> script = outer.Spawn<Script>();
        Do(script, [&](Script&) { ActorSystem inner({.name = "inner"}); });
        (void)outer.AwaitEnd(script.pid(), absl::Seconds(10));
      },
      "a handler of system outer shuts down or destroys the system inner");
}

TEST(ActorSystemDeathTest, AnActorThatWaitsForAnothersEndOrRunsTurnsIsACheck) {
  EXPECT_DEATH(
      {
        TestSystem system;
        Ref<Script> script = system.Spawn<Script>();
        Do(script, [&](Script&) { (void)system.AwaitEnd(script.pid(), absl::Seconds(1)); });
        system.RunUntilIdle();
      },
      "AwaitEnd blocks its thread; in an actor's turn use context...Monitor");
  EXPECT_DEATH(
      {
        TestSystem system;
        Ref<Script> script = system.Spawn<Script>();
        Do(script, [&](Script&) { system.RunUntilIdle(); });
        system.RunUntilIdle();
      },
      "a turn would run within a turn");
}

}  // namespace
}  // namespace understudy
