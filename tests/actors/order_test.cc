// One sender's messages and signals arrive in the order of sending, with every seed of the seeded executor and on real
// threads (semantics 1.3, 1.4).
#include <memory>
#include <string>
#include <utility>
#include <vector>

#include "absl/status/status.h"
#include "absl/strings/str_cat.h"
#include "absl/synchronization/notification.h"
#include "absl/time/time.h"
#include "gmock/gmock.h"
#include "gtest/gtest.h"
#include "understudy/actors/actor.h"
#include "understudy/actors/actor_system.h"
#include "understudy/actors/testing/actor_test.h"
#include "understudy/actors/testing/seeds.h"

namespace understudy {
namespace {

constexpr int kWorkers = 8;
constexpr int kMessages = 5;

// Counts that the boss makes in its turns.
struct Seen {
  int results = 0;
  int downs = 0;
  int early_downs = 0;  // before all results of that worker
  int disordered = 0;   // results, or calls that overtook tells
  absl::Notification done;
};

class Worker final : public Actor {
 public:
  Worker(Pid boss, int number) : boss_(boss), number_(number) {}
  StartResult Start() override;

 private:
  Task<> Work();
  Pid boss_;
  int number_;
};

// Starts workers, which tell and ask it and end; watches them.
class Boss final : public Actor {
 public:
  Mailbox<"result", std::pair<int, int>> result{this};  // of worker, number
  Mailbox<"other", std::pair<int, int>> other{this};
  Mailbox<"count", Call<int, int>> count{this};  // how many of that worker have come

  explicit Boss(Seen* seen) : seen_(*seen), counts_(kWorkers) {}
  StartResult Start() override {
    for (int i = 0; i < kWorkers; ++i) {
      const Ref<Worker> worker =
          context().Spawn<Worker>(SpawnOptions{.link = SpawnLink::kUnlinked}, context().Self(), i);
      (void)context().Monitor(worker, [this, i](const Down&) { WorkerDown(i); }).Keep();
    }
    return bossing_;
  }

 private:
  void Result(const std::pair<int, int>& what) {
    int& count_of = counts_[static_cast<size_t>(what.first)];
    if (what.second != count_of) ++seen_.disordered;
    ++count_of;
    ++seen_.results;
  }
  int Count(int worker) { return counts_[static_cast<size_t>(worker)]; }
  void WorkerDown(int worker) {
    // A worker that sends its result and ends is not down before that is handled.
    if (counts_[static_cast<size_t>(worker)] != kMessages) ++seen_.early_downs;
    if (++seen_.downs == kWorkers) seen_.done.Notify();
  }

  Seen& seen_;
  std::vector<int> counts_;
  Behavior bossing_{"bossing", On(result, &Boss::Result), On(other, &Boss::Result), On(count, &Boss::Count)};
};

StartResult Worker::Start() { return Work(); }

Task<> Worker::Work() {
  const Ref<Boss> boss(boss_);
  for (int i = 0; i < kMessages - 1; ++i) {
    // Alternately to two mailboxes: the order holds across them.
    (i % 2 == 0 ? boss[&Boss::result] : boss[&Boss::other]).Tell({number_, i});
  }
  // First a tell, then a call: the call is handled after the tell.
  auto asked = boss[&Boss::count].Ask(number_, absl::Seconds(60));
  absl::StatusOr<int> count = co_await asked;
  if (count.value_or(-1) == kMessages - 1) boss[&Boss::result].Tell({number_, kMessages - 1});
}

void Check(const Seen& seen) {
  EXPECT_EQ(seen.downs, kWorkers);
  EXPECT_EQ(seen.results, kWorkers * kMessages);
  EXPECT_EQ(seen.early_downs, 0);
  EXPECT_EQ(seen.disordered, 0);
}

TEST(OrderTest, ResultsComeBeforeDownsAndTellsBeforeCallsWithEverySeed) {
  ForEachSeed(1000, [](uint64_t seed) {
    Seen seen;
    TestSystem system(seed);
    system.Spawn<Boss>(&seen);
    system.RunUntilIdle();
    Check(seen);
    ExpectNothingLost(system);
  });
}

TEST(OrderTest, ResultsComeBeforeDownsAndTellsBeforeCallsOnThreads) {
  ActorSystemOptions options;
  options.threads.threads = 4;
  ActorSystem system(options);
  for (int round = 0; round < 100; ++round) {
    Seen seen;
    const Ref<Boss> boss = system.Spawn<Boss>(&seen);
    seen.done.WaitForNotification();
    Check(seen);
    system.Exit(boss.pid(), ExitReason::Shutdown());
    ASSERT_TRUE(system.AwaitEnd(boss.pid(), absl::Seconds(30)).ok());
  }
  EXPECT_TRUE(system.Shutdown(absl::Seconds(30)));
  EXPECT_TRUE(system.Ledger().balances()) << system.Ledger().ToString();
}

}  // namespace
}  // namespace understudy
