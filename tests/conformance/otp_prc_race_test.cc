// The races of OTP's process_SUITE. Each runs with many seeds, and many times on threads (rounds.h).
#include <atomic>
#include <cstdint>
#include <map>
#include <string>
#include <utility>
#include <vector>

#include "absl/status/status.h"
#include "absl/status/statusor.h"
#include "absl/strings/str_cat.h"
#include "absl/time/time.h"
#include "gtest/gtest.h"
#include "understudy/actors/actor.h"
#include "understudy/actors/actor_system.h"
#include "understudy/tests/conformance/rounds.h"
#include "understudy/tests/conformance/scene.h"

namespace understudy {
namespace {

// An exit signal arrives when a timer of an actor whose handler is suspended expires. The actor must end once, with the
// reason of the exit.
void ExitAgainstTimer(ActorSystem& system, Random& random) {
  Tally downs(system);
  std::atomic<int> exits{0};
  std::atomic<int> rings{0};
  ExitReason reason;
  const absl::Duration due = absl::Microseconds(random.Below(3));
  Ref<Script> never = system.Spawn<Script>();
  Ref<Script> victim = system.Spawn<Script>(nullptr, [&](Script&, const ExitReason&) { ++exits; });
  RunTask(victim, [&, due](Script& self) -> Task<> {
    EXPECT_TRUE(self.context().StartTimer("ring", due, [&rings] { ++rings; }).ok());
    const auto asked = never[&Script::ask].Ask(1, due);
    (void)co_await asked;
    const auto again = never[&Script::ask].Ask(2, absl::Minutes(5));
    (void)co_await again;
  });
  const Script::Step kill_when_due = [&](Script& self) {
    EXPECT_TRUE(self.context()
                    .StartTimer("exit", due,
                                [&] {
                                  self.context().Exit(victim, DiskFailed());
                                  self.context().Exit(never, DiskFailed());
                                  self.context().Stop();
                                })
                    .ok());
  };
  Ref<Script> watcher = system.Spawn<Script>([&](Script& self) {
    (void)self.context()
        .Monitor(victim,
                 [&](const Down& down) {
                   reason = down.reason;
                   downs.Add();
                 })
        .Keep();
    self.context().Spawn<Script>(kill_when_due);
  });
  downs.Await(1);
  EXPECT_EQ(reason, DiskFailed());
  EXPECT_EQ(exits, 1);
  EXPECT_LE(rings, 1);
  system.Kill(watcher.pid());
  ExpectAllEnded(system);
  EXPECT_EQ(downs.count(), 1);
}

// OTP PRC-11
TEST(PrcRaceTest, AnExitAgainstATimerEndsAnActorOnceWithEverySeed) { WithEverySeed(ExitAgainstTimer); }
// OTP PRC-11
TEST(PrcRaceTest, AnExitAgainstATimerEndsAnActorOnceOnThreads) { OnThreads(ExitAgainstTimer); }

// A parent ends right after it has spawned linked children, by itself or because it is killed. No child may outlive it.
void ParentEndsAfterSpawning(ActorSystem& system, Random& random) {
  constexpr int kChildren = 3;
  Tally downs(system);
  std::atomic<int> born{0};
  std::atomic<int> wrong{0};
  const bool stops_itself = random.Below(2) == 0;
  Ref<Script> watcher = system.Spawn<Script>();
  const auto on_down = [&](const Down& down) {
    // NoProcess means that the child had ended before it was monitored.
    const bool is_right =
        down.reason == (stops_itself ? DiskFailed() : ExitReason::Killed()) || down.reason == ExitReason::NoProcess();
    if (!is_right) ++wrong;
    downs.Add();
  };
  Ref<Script> parent = system.Spawn<Script>();
  Do(parent, [&](Script& self) {
    for (; born < kChildren; ++born) {
      Ref<Script> child = self.context().Spawn<Script>();
      Do(watcher, [&, child](Script& watching) { (void)watching.context().Monitor(child, on_down).Keep(); });
    }
    if (stops_itself) self.context().Stop(DiskFailed());
  });
  if (!stops_itself) {
    Ref<Script> killer = system.Spawn<Script>();
    Do(killer, [&](Script& self) {
      self.context().Kill(parent);
      self.context().Stop();
    });
  }
  EXPECT_TRUE(system.AwaitEnd(parent.pid(), absl::Minutes(1)).ok());
  downs.Await(born);
  system.Kill(watcher.pid());
  ExpectAllEnded(system);
  EXPECT_EQ(wrong, 0);
  EXPECT_EQ(downs.count(), born);
}

// OTP PRC-43
TEST(PrcRaceTest, NoChildOfAParentThatEndsAtOnceIsAnOrphanWithEverySeed) { WithEverySeed(ParentEndsAfterSpawning); }
// OTP PRC-43
TEST(PrcRaceTest, NoChildOfAParentThatEndsAtOnceIsAnOrphanOnThreads) { OnThreads(ParentEndsAfterSpawning); }

// An actor whose start fails.
class Failing final : public Actor {
 public:
  StartResult Start() override { return absl::DataLossError("disk"); }
};

// A parent monitors a child several times while the child's start fails. The outcome must arrive before every Down,
// also before the Downs of monitors that were made after the child had ended.
void DownAgainstOutcome(ActorSystem& system, Random& random) {
  const int monitors = 1 + static_cast<int>(random.Below(100));
  Tally downs(system);
  int outcomes = 0;
  int early_downs = 0;
  Ref<Script> parent = system.Spawn<Script>([&](Script& self) {
    self.context().TrapExits([](const ExitEvent&) {});
    Ref<Failing> child =
        self.context().Spawn<Failing>(SpawnOptions().OnOutcome([&](const SpawnOutcome&) { ++outcomes; }));
    const auto on_down = [&](const Down&) {
      if (outcomes == 0) ++early_downs;
      downs.Add();
    };
    for (int i = 0; i < monitors; ++i) (void)self.context().Monitor(child, on_down).Keep();
  });
  downs.Await(monitors);
  Do(parent, [](Script& self) { self.context().Stop(); });
  ExpectAllEnded(system);
  EXPECT_EQ(outcomes, 1);
  EXPECT_EQ(early_downs, 0);
}

// OTP PRC-39
TEST(PrcRaceTest, TheOutcomeOfASpawnComesBeforeEveryDownWithEverySeed) { WithEverySeed(DownAgainstOutcome); }
// OTP PRC-39
TEST(PrcRaceTest, TheOutcomeOfASpawnComesBeforeEveryDownOnThreads) { OnThreads(DownAgainstOutcome); }

// Actors with names start and end. A list of the names must contain every name that exists throughout, and no name of
// an actor whose Down has been delivered.
void ListAgainstChurn(ActorSystem& system, Random& random) {
  constexpr int kStable = 3;
  constexpr int kChurners = 2;
  const int lives = 1 + static_cast<int>(random.Below(4));
  Tally started(system);
  Tally downs(system);
  std::atomic<int> missed{0};
  std::atomic<int> shown_dead{0};
  std::vector<Pid> actors;
  for (int i = 0; i < kStable; ++i) {
    const SpawnOptions named{.registered_as = absl::StrCat("desk/stable", i)};
    actors.push_back(system.Spawn<Script>(named, [&](Script&) { started.Add(); }).pid());
  }
  started.Await(kStable);
  for (int i = 0; i < kChurners; ++i) {
    const auto on_down = [&](const Down& down) {
      int stable = 0;
      for (const NameRecord& record : system.registry().List("desk/")) {
        if (record.pid == down.pid) ++shown_dead;
        if (record.name.find("stable") != std::string::npos) ++stable;
      }
      if (stable != kStable) ++missed;
      downs.Add();
    };
    Ref<Script> churner = system.Spawn<Script>();
    Do(churner, [&, i, on_down](Script& self) {
      for (int life = 0; life < lives; ++life) {
        const SpawnOptions named{.link = SpawnLink::kUnlinked, .registered_as = absl::StrCat("desk/churn", i, life)};
        Ref<Script> child = self.context().Spawn<Script>(named);
        (void)self.context().Monitor(child, on_down).Keep();
        Do(child, [](Script& born) { born.context().Stop(); });
      }
    });
    actors.push_back(churner.pid());
  }
  downs.Await(kChurners * lives);
  EXPECT_EQ(missed, 0);
  EXPECT_EQ(shown_dead, 0);
  for (const Pid pid : actors) system.Kill(pid);
  ExpectAllEnded(system);
}

// OTP PRC-55: Here for actors with names.
TEST(PrcRaceTest, AListOfNamesMissesNoneThatStaysAndShowsNoneThatEndedWithEverySeed) {
  WithEverySeed(ListAgainstChurn);
}
// OTP PRC-55: Here for actors with names.
TEST(PrcRaceTest, AListOfNamesMissesNoneThatStaysAndShowsNoneThatEndedOnThreads) { OnThreads(ListAgainstChurn); }

// Messages arrive while their receiver becomes idle. Each must wake it.
void SendAgainstSleep(ActorSystem& system, Random& random) {
  constexpr int kSends = 4;
  Tally handled(system);
  Ref<Script> sleeper = system.Spawn<Script>();
  std::vector<Ref<Script>> senders;
  for (int i = 0; i < 2; ++i) {
    senders.push_back(system.Spawn<Script>([&](Script& self) {
      for (int send = 0; send < kSends; ++send) {
        Do(Ref<Script>(self.context().Self()), [&](Script&) { Do(sleeper, [&](Script&) { handled.Add(); }); });
      }
    }));
  }
  // From here on, each message is sent when the one before has been handled, which is about when the receiver becomes
  // idle.
  const int singles = 1 + static_cast<int>(random.Below(4));
  handled.Await(2 * kSends);
  for (int i = 0; i < singles; ++i) {
    Do(sleeper, [&](Script&) { handled.Add(); });
    handled.Await(2 * kSends + i + 1);
  }
  system.Kill(sleeper.pid());
  for (const Ref<Script>& sender : senders) system.Kill(sender.pid());
  ExpectAllEnded(system);
  EXPECT_EQ(handled.count(), 2 * kSends + singles);
}

// OTP PRC-60
TEST(PrcRaceTest, AMessageToAnActorThatGoesToSleepWakesItWithEverySeed) { WithEverySeed(SendAgainstSleep); }
// OTP PRC-60
TEST(PrcRaceTest, AMessageToAnActorThatGoesToSleepWakesItOnThreads) { OnThreads(SendAgainstSleep); }

// Answers each call at once.
class Echo final : public Actor {
 public:
  Mailbox<"ask", Call<int, int>> ask{this};
  StartResult Start() override { return echoing_; }

 private:
  Behavior echoing_{"echoing", On(ask, [](int n) { return n; })};
};

// A reply resumes a suspended handler while a message arrives. Both must be handled, the handler first.
void ResumeAgainstMessage(ActorSystem& system, Random& random) {
  Tally handled(system);
  std::atomic<bool> has_resumed{false};
  std::atomic<int> overtook{0};
  const int messages = 1 + static_cast<int>(random.Below(3));
  Ref<Echo> echo = system.Spawn<Echo>();
  Ref<Script> suspended = system.Spawn<Script>();
  RunTask(suspended, [&](Script&) -> Task<> {
    for (int i = 0; i < 3; ++i) {
      const auto asked = echo[&Echo::ask].Ask(i, absl::Minutes(5));
      const absl::StatusOr<int> answer = co_await asked;
      EXPECT_EQ(AnswerText(answer), absl::StrCat(i));
    }
    has_resumed = true;
    handled.Add();
  });
  Ref<Script> sender = system.Spawn<Script>();
  for (int i = 0; i < messages; ++i) {
    Do(sender, [&](Script&) {
      Do(suspended, [&](Script&) {
        if (!has_resumed) ++overtook;
        handled.Add();
      });
    });
  }
  handled.Await(1 + messages);
  EXPECT_EQ(overtook, 0);
  for (const Pid pid : {echo.pid(), suspended.pid(), sender.pid()}) system.Kill(pid);
  ExpectAllEnded(system);
}

// OTP PRC-62
TEST(PrcRaceTest, AReplyAgainstAMessageResumesTheHandlerFirstWithEverySeed) { WithEverySeed(ResumeAgainstMessage); }
// OTP PRC-62
TEST(PrcRaceTest, AReplyAgainstAMessageResumesTheHandlerFirstOnThreads) { OnThreads(ResumeAgainstMessage); }

// Answers each call with its number after `via` has had `turns` turns.
class Delaying final : public Actor {
 public:
  struct Wait {
    int call = 0;
    int turns = 0;
  };
  Mailbox<"ask", Call<int, int>> ask{this};
  Mailbox<"wait", Wait> wait{this};
  // Adds one to `replies` before each reply.
  Delaying(int turns, Ref<Script> via, std::atomic<int>* replies) : turns_(turns), via_(via), replies_(*replies) {}
  StartResult Start() override { return delaying_; }

 private:
  void Ask(int call, Replier<int> replier) {
    held_.emplace(call, std::move(replier));
    Pass({call, turns_});
  }
  void Pass(Wait left) {
    if (left.turns-- > 0) {
      const Channel<Wait> again = context().ChannelTo(wait);
      return Do(via_, [again, left](Script&) { again.Tell(left); });
    }
    Replier<int>& replier = held_.at(left.call);
    ++replies_;
    replier.Reply(left.call);
    EXPECT_FALSE(replier.is_open());
    held_.erase(left.call);
  }
  const int turns_;
  const Ref<Script> via_;
  std::atomic<int>& replies_;
  std::map<int, Replier<int>> held_;
  Behavior delaying_{"delaying", On(ask, &Delaying::Ask), On(wait, &Delaying::Pass)};
};

// An asker cancels a call about when it is answered. It must get one answer, which must be Cancelled if Cancel returned
// before the reply was made. A later reply must be dropped and must not be taken for the answer to the next call.
void CancelAgainstReply(ActorSystem& system, Random& random) {
  Tally done(system);
  std::atomic<int> replies{0};
  const int64_t late_before = system.late_replies();
  const int turns = static_cast<int>(random.Below(4));
  bool was_in_time = false;
  std::string first;
  std::string second;
  Ref<Echo> echo = system.Spawn<Echo>();
  Ref<Script> via = system.Spawn<Script>();
  Ref<Delaying> callee = system.Spawn<Delaying>(static_cast<int>(random.Below(4)), via, &replies);
  Ref<Script> asker = system.Spawn<Script>();
  RunTask(asker, [&](Script&) -> Task<> {
    const auto asked = callee[&Delaying::ask].Ask(1, absl::Minutes(5));
    for (int i = 0; i < turns; ++i) {
      const auto passing = echo[&Echo::ask].Ask(i, absl::Minutes(5));
      (void)co_await passing;
    }
    asked.Cancel();
    was_in_time = replies == 0;
    const absl::StatusOr<int> answer = co_await asked;
    first = AnswerText(answer);
    const auto next = callee[&Delaying::ask].Ask(2, absl::Minutes(5));
    const absl::StatusOr<int> next_answer = co_await next;
    second = AnswerText(next_answer);
    done.Add();
  });
  done.Await(1);
  for (const Pid pid : {callee.pid(), via.pid(), echo.pid(), asker.pid()}) system.Kill(pid);
  ExpectAllEnded(system);
  EXPECT_TRUE(first == "Cancelled" || (first == "1" && !was_in_time)) << first << (was_in_time ? ", in time" : "");
  EXPECT_EQ(second, "2");
  // Each reply was either delivered as an answer or counted as late.
  EXPECT_EQ(system.late_replies() - late_before, replies - (first == "1" ? 2 : 1));
}

// OTP PRC-72
TEST(PrcRaceTest, ARevokedReplyAddressTakesNoReplyWithEverySeed) { WithEverySeed(CancelAgainstReply); }
// OTP PRC-72
TEST(PrcRaceTest, ARevokedReplyAddressTakesNoReplyOnThreads) { OnThreads(CancelAgainstReply); }

}  // namespace
}  // namespace understudy
