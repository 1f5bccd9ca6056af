// Rules that OTP's suites take for granted. Each runs with many seeds, and many times on threads (rounds.h):
//   a result that is sent just before its sender ends is handled before the sender's Down;
//   a tell followed by a call is handled before the call;
//   a parent's exit ends a child that traps exits;
//   the end of a callee releases an asker that waits for its reply.
#include <atomic>
#include <functional>
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

// Receives results in two mailboxes and counts them.
class Collector final : public Actor {
 public:
  Mailbox<"result", int> result{this};
  Mailbox<"other", int> other{this};
  Mailbox<"count", Call<int, int>> count{this};
  Mailbox<"watch", Pid> watch{this};
  // `at_down` is called with the number of results received so far when a Down or an exit arrives.
  explicit Collector(std::function<void(int)> at_down) : at_down_(std::move(at_down)) {}
  StartResult Start() override {
    context().TrapExits([this] { at_down_(count_); });
    return collecting_;
  }

 private:
  void Watch(Pid pid) {
    context().Link(pid);
    (void)context().Monitor(pid, [this] { at_down_(count_); }).Keep();
  }
  void Add() { ++count_; }
  int count_ = 0;
  std::function<void(int)> at_down_;
  Behavior collecting_{"collecting", On(result, &Collector::Add), On(other, &Collector::Add),
                       On(count, [this](int) { return count_; }), On(watch, &Collector::Watch)};
};

void Tell(Ref<Collector> collector, int results) {
  for (int i = 0; i < results; ++i) {
    (i % 2 == 0 ? collector[&Collector::result] : collector[&Collector::other]).Tell(i);
  }
}

void ResultAgainstDown(ActorSystem& system, Random& random) {
  const int results = 1 + static_cast<int>(random.Below(5));
  const bool fails = random.Below(2) == 0;
  std::atomic<int> early{0};
  Tally told(system);
  Ref<Script> worker = system.Spawn<Script>();
  Ref<Collector> collector = system.Spawn<Collector>([&, results](int count) {
    if (count != results) ++early;
    told.Add();
  });
  collector[&Collector::watch].Tell(worker.pid());
  // The answer shows that the collector's monitor has been made.
  EXPECT_EQ(AnswerText(system.Ask(collector[&Collector::count], 1, absl::Minutes(1))), "0");
  Do(worker, [&, results, fails](Script& self) {
    Tell(collector, results);
    self.context().Stop(fails ? DiskFailed() : ExitReason::Normal());
  });
  told.Await(2);
  EXPECT_EQ(early, 0) << "a Down or an exit came before the results";
  system.Kill(collector.pid());
  ExpectAllEnded(system);
}

TEST(RulesTest, AResultSentJustBeforeDeathIsHandledBeforeItsDownWithEverySeed) { WithEverySeed(ResultAgainstDown); }
TEST(RulesTest, AResultSentJustBeforeDeathIsHandledBeforeItsDownOnThreads) { OnThreads(ResultAgainstDown); }

void TellThenCall(ActorSystem& system, Random& random) {
  constexpr int kCallers = 3;
  Tally over(system);
  std::atomic<int> overtaken{0};
  std::vector<Ref<Collector>> collectors;
  for (int i = 0; i < kCallers; ++i) {
    const int results = 1 + static_cast<int>(random.Below(5));
    collectors.push_back(system.Spawn<Collector>([](int) {}));
    Ref<Script> caller = system.Spawn<Script>();
    RunTask(caller, [&, results, to = collectors.back()](Script& self) -> Task<> {
      for (int round = 1; round <= 2; ++round) {
        Tell(to, results);
        const auto asked = to[&Collector::count].Ask(1, absl::Minutes(5));
        const absl::StatusOr<int> count = co_await asked;
        if (count.value_or(-1) != round * results) ++overtaken;
      }
      over.Add();
      self.context().Stop();
    });
  }
  over.Await(kCallers);
  EXPECT_EQ(overtaken, 0) << "a call overtook a tell of the same sender";
  for (const Ref<Collector>& collector : collectors) system.Kill(collector.pid());
  ExpectAllEnded(system);
}

TEST(RulesTest, ATellThenACallAreHandledInThatOrderWithEverySeed) { WithEverySeed(TellThenCall); }
TEST(RulesTest, ATellThenACallAreHandledInThatOrderOnThreads) { OnThreads(TellThenCall); }

// A child that traps exits gets exits from unrelated actors while its parent ends.
void ParentsExitAgainstOthers(ActorSystem& system, Random& random) {
  const bool is_killed = random.Below(2) == 0;
  const int strangers = static_cast<int>(random.Below(3));
  std::atomic<int> trapped{0};
  std::atomic<int> trapped_of_parent{0};
  Tally started(system);
  Tally downs(system);
  ExitReason reason;
  Pid child;
  Ref<Script> parent = system.Spawn<Script>([&](Script& self) {
    const Ref<Script> born_here = self.context().Spawn<Script>([&](Script& born) {
      born.context().TrapExits([&](const ExitEvent& event) {
        ++trapped;
        if (event.from_parent) ++trapped_of_parent;
      });
      started.Add();
    });
    child = born_here.pid();
    started.Add();
  });
  started.Await(2);
  Ref<Script> watcher = system.Spawn<Script>([&](Script& self) {
    const auto on_down = [&](const Down& down) {
      reason = down.reason;
      downs.Add();
    };
    (void)self.context().Monitor(child, on_down).Keep();
    started.Add();
  });
  started.Await(3);
  for (int i = 0; i < strangers; ++i) {
    Ref<Script> stranger = system.Spawn<Script>();
    Do(stranger, [&](Script& self) {
      self.context().Exit(child, ExitReason::Shutdown());
      self.context().Stop();
    });
  }
  if (is_killed) {
    system.Kill(parent.pid());
  } else {
    Do(parent, [](Script& self) { self.context().Stop(DiskFailed()); });
  }
  downs.Await(1);
  EXPECT_EQ(reason, is_killed ? ExitReason::Killed() : DiskFailed());
  EXPECT_EQ(trapped_of_parent, 0);
  EXPECT_LE(trapped, strangers);
  system.Kill(watcher.pid());
  ExpectAllEnded(system);
}

TEST(RulesTest, AParentsExitEndsATrappingChildWithEverySeed) { WithEverySeed(ParentsExitAgainstOthers); }
TEST(RulesTest, AParentsExitEndsATrappingChildOnThreads) { OnThreads(ParentsExitAgainstOthers); }

// An asker waits for a reply without an effective deadline, and monitors its callee, which replies, ends, or does both.
void EndAgainstReply(ActorSystem& system, Random& random) {
  const bool replies = random.Below(2) == 0;
  const bool is_killed = random.Below(2) == 0;
  Tally told(system);
  std::string answer;
  std::string down;
  Ref<Script> callee = system.Spawn<Script>();
  Ref<Script> asker = system.Spawn<Script>();
  RunTask(asker, [&](Script& self) -> Task<> {
    const auto on_down = [&](const Down& event) {
      down = absl::StrCat(answer.empty() ? "early " : "", event.reason.ToString());
      told.Add();
    };
    (void)self.context().Monitor(callee, on_down).Keep();
    const auto asked = callee[&Script::ask].Ask(1, absl::Hours(20));
    const absl::StatusOr<int> got = co_await asked;
    answer = AnswerText(got);
    told.Add();
  });
  Do(callee, [&, replies, is_killed](Script& self) {
    if (replies) {
      for (Replier<int>& replier : self.repliers) replier.Reply(7);
    }
    if (!is_killed) self.context().Stop(DiskFailed());
  });
  if (is_killed) {
    Ref<Script> killer = system.Spawn<Script>();
    Do(killer, [&](Script& self) {
      self.context().Kill(callee);
      self.context().Stop();
    });
  }
  told.Await(2);
  const std::string reason = (is_killed ? ExitReason::Killed() : DiskFailed()).ToString();
  // NoProcess and Stopping mean that the callee had ended, or was ending, when the call arrived.
  EXPECT_TRUE(answer == "7" || answer == "CalleeExited " + reason || answer == "NoProcess" || answer == "Stopping")
      << answer;
  EXPECT_TRUE(down == reason || down == "NoProcess") << down;
  Do(asker, [](Script& self) { self.context().Stop(); });
  ExpectAllEnded(system);
  EXPECT_EQ(told.count(), 2);
}

TEST(RulesTest, TheEndOfACalleeReleasesItsAskerWithEverySeed) { WithEverySeed(EndAgainstReply); }
TEST(RulesTest, TheEndOfACalleeReleasesItsAskerOnThreads) { OnThreads(EndAgainstReply); }

}  // namespace
}  // namespace understudy
