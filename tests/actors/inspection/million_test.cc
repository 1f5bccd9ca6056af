// Looks at a system with a million actors: their times, and how much slower a counting actor is beside them. Prints the
// figures. Asserts only what holds on a slow machine under load.
#include <algorithm>
#include <iostream>
#include <string>
#include <thread>
#include <utility>
#include <vector>

#include "absl/functional/function_ref.h"
#include "absl/status/statusor.h"
#include "absl/strings/str_cat.h"
#include "absl/synchronization/notification.h"
#include "absl/time/time.h"
#include "absl/types/optional.h"
#include "gtest/gtest.h"
#include "understudy/actors/actor.h"
#include "understudy/actors/actor_system.h"
#include "understudy/actors/clock.h"
#include "understudy/actors/inspection.h"
#include "understudy/actors/pid.h"

namespace understudy {
namespace {

constexpr int kActors = 1'000'000;
constexpr int kNamed = 100'000;
constexpr int kRounds = 5;
constexpr int kCounts = 40'000'000;  // a count takes seconds
constexpr absl::Duration kWithin = absl::Minutes(10);

class Quiet final : public Actor {
 public:
  Mailbox<"hear", int> hear{this};
  Mailbox<"never", int> never{this};
  StartResult Start() override { return quiet_; }

 private:
  Behavior quiet_{"quiet", On(hear, [](int) {})};
};

// Sends itself `kCounts` messages, one at a time, and then answers.
class Counter final : public Actor {
 public:
  Mailbox<"count", int> count{this};
  Mailbox<"run", Call<int, int>> run{this};
  StartResult Start() override { return idle_; }

 private:
  void Count(int left) {
    if (left > 0) return Ref<Counter>(context().Self())[&Counter::count].Tell(left - 1);
    done_->Reply(0);
  }
  void Run(int counts, Replier<int> done) {
    done_.emplace(std::move(done));
    Ref<Counter>(context().Self())[&Counter::count].Tell(counts);
  }
  absl::optional<Replier<int>> done_;
  Behavior idle_{"idle", On(count, &Counter::Count), On(run, &Counter::Run)};
};

class Million : public ::testing::Test {
 protected:
  absl::Duration Time(const std::string& what, absl::FunctionRef<void()> act) {
    std::vector<absl::Duration> times;
    for (int i = 0; i < kRounds; ++i) {
      const MonotonicTime begun = system_.clock().Now();
      act();
      times.push_back(system_.clock().Now() - begun);
    }
    std::sort(times.begin(), times.end());
    const absl::Duration median = times[kRounds / 2];
    std::cout << what << ": " << absl::FormatDuration(median) << " (worst " << absl::FormatDuration(times.back())
              << ")\n";
    return median;
  }

  // Goes through all pages of a query that matches no actor.
  void Search(ActorQuery query) {
    do {
      const ActorPage page = ListActors(system_, query);
      ASSERT_TRUE(page.actors.empty());
      query.after = page.next;
    } while (query.after != 0);
  }

  ActorSystem system_{{.threads = {.threads = 2}}};
};

TEST_F(Million, LooksAreShortAndCostTheActorsLittle) {
  std::vector<Pid> pids;
  pids.reserve(kActors);
  for (int i = 0; i < kActors; ++i) {
    SpawnOptions options;
    if (i < kNamed) options.registered_as = absl::StrCat("quiet/", i);
    pids.push_back(system_.Spawn<Quiet>(std::move(options)).pid());
  }
  for (const Pid pid : pids) ASSERT_TRUE(system_.AwaitStart(pid, kWithin).ok());
  for (int i = 0; i < 1000; ++i) {
    for (int n = 0; n < i % 7; ++n) Ref<Quiet>(pids[static_cast<size_t>(i) * 997])[&Quiet::never].Tell(n);
  }

  EXPECT_LT(Time("one actor", [&] { ASSERT_TRUE(InspectActor(system_, pids[123456]).has_value()); }),
            absl::Milliseconds(10));
  EXPECT_LT(Time("a page of 1,000", [&] { ASSERT_EQ(ListActors(system_, {.at_most = 1000}).actors.size(), 1000U); }),
            absl::Milliseconds(500));
  const ActorQuery by_text{.text = "nobody"};
  const ActorQuery asking{.asking_only = true};
  EXPECT_LT(Time("a look by text", [&] { ASSERT_NE(ListActors(system_, by_text).next, 0U); }), absl::Milliseconds(500));
  EXPECT_LT(Time("a look for asks", [&] { ASSERT_NE(ListActors(system_, asking).next, 0U); }), absl::Milliseconds(500));
  EXPECT_LT(Time("all by text", [&] { Search(by_text); }), absl::Minutes(1));
  EXPECT_LT(Time("all for asks", [&] { Search(asking); }), absl::Minutes(1));
  EXPECT_LT(Time("top 20 of all", [&] { ASSERT_EQ(TopActors(system_, 20).size(), 20U); }), absl::Seconds(5));
  EXPECT_LT(Time("top 20 by age", [&] { ASSERT_EQ(TopActors(system_, 20, TopBy::kAge).size(), 20U); }),
            absl::Seconds(5));

  const Ref<Counter> counter = system_.Spawn<Counter>();
  const auto count = [&] { ASSERT_TRUE(system_.Ask(counter[&Counter::run], kCounts, kWithin).ok()); };
  std::vector<absl::Duration> alone;
  std::vector<absl::Duration> beside;
  for (int i = 0; i < kRounds; ++i) {
    const MonotonicTime begun = system_.clock().Now();
    count();
    alone.push_back(system_.clock().Now() - begun);
    absl::Notification is_over;
    std::thread looking([&] {
      do {
        (void)TopActors(system_, 20);
      } while (!is_over.WaitForNotificationWithTimeout(absl::Milliseconds(900)));
    });
    const MonotonicTime begun_beside = system_.clock().Now();
    count();
    beside.push_back(system_.clock().Now() - begun_beside);
    is_over.Notify();
    looking.join();
  }
  std::sort(alone.begin(), alone.end());
  std::sort(beside.begin(), beside.end());
  std::cout << "counting: " << absl::FormatDuration(alone[kRounds / 2]) << " alone, "
            << absl::FormatDuration(beside[kRounds / 2]) << " beside top once a second\n";
}

}  // namespace
}  // namespace understudy
