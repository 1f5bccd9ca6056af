#include "understudy/actors/actor.h"

#include <memory>
#include <stdexcept>
#include <string>
#include <utility>
#include <vector>

#include "absl/status/status.h"
#include "absl/status/statusor.h"
#include "absl/time/time.h"
#include "gmock/gmock.h"
#include "gtest/gtest.h"
#include "understudy/actors/test_system.h"
#include "understudy/tests/actors/crash_by.h"

namespace understudy {
namespace {

using ::testing::HasSubstr;

struct TotalRequest {};
struct Total {
  int value = 0;
};

class Counter : public Actor {
 public:
  Mailbox<"add", int> add{this};
  Mailbox<"total", Call<TotalRequest, Total>> total{this};
  Mailbox<"later", Call<int, Total>> later{this};
  Mailbox<"check", Call<int, Total>> check{this};
  Mailbox<"crash", std::string> crash{this};

  StartResult Start() override { return counting_; }

 private:
  absl::Status Add(int n) {
    if (n < -1) return Fail(absl::DataLossError("gone"));
    if (n < 0) return absl::InvalidArgumentError("negative");
    sum_ += n;
    return absl::OkStatus();
  }
  Total Sum(const TotalRequest&) { return {sum_}; }
  void Later(const int& n, Replier<Total> replier) {
    if (n < 0) return;  // forgets the replier
    held_.push_back(std::move(replier));
    if (held_.size() < 2) return;
    for (auto& held : held_) held.Reply(Total{n});
    held_.clear();
  }
  absl::StatusOr<Total> Check(int n) {
    if (n == 0) return absl::OutOfRangeError("zero");
    if (n < 0) return Fail(absl::DataLossError("gone"));
    return Total{n};
  }
  void Crash(const std::string& what) { CrashBy(context(), std::runtime_error(what)); }

  int sum_ = 0;
  std::vector<Replier<Total>> held_;
  Behavior counting_{"counting",
                     On(add, &Counter::Add),
                     On(total, &Counter::Sum),
                     On(later, &Counter::Later),
                     On(check, &Counter::Check),
                     On(crash, &Counter::Crash)};
};

class Asker : public Actor {
 public:
  Mailbox<"go", Call<int, Total>> go{this};
  explicit Asker(Ref<Counter> counter) : counter_(counter) {}
  StartResult Start() override { return asking_; }

 private:
  Task<absl::StatusOr<Total>> Go(const int& n) {
    auto added = counter_[&Counter::add].Send(n);
    if (!added.ok()) co_return added;
    auto asked = counter_[&Counter::total].Ask({}, absl::Seconds(1));
    absl::StatusOr<Total> total = co_await asked;
    if (!total.ok()) co_return total.status();
    co_return Total{total->value + n};
  }
  Ref<Counter> counter_;
  Behavior asking_{"asking", On(go, &Asker::Go)};
};

TEST(ActorTest, TellsAreHandledBeforeTheCallThatFollows) {
  TestSystem system;
  Ref<Counter> counter = system.Spawn<Counter>();
  counter[&Counter::add].Tell(2);
  EXPECT_TRUE(counter[&Counter::add].Send(3).ok());
  absl::StatusOr<Total> total = system.Ask(counter[&Counter::total], TotalRequest(), absl::Seconds(1));
  ASSERT_TRUE(total.ok()) << total.status();
  EXPECT_EQ(total->value, 5);
}

TEST(ActorTest, CoroutineHandlerAwaitsAnotherActor) {
  TestSystem system;
  Ref<Counter> counter = system.Spawn<Counter>();
  Ref<Asker> asker = system.Spawn<Asker>(counter);
  absl::StatusOr<Total> total = system.Ask(asker[&Asker::go], 21, absl::Seconds(1));
  ASSERT_TRUE(total.ok()) << total.status();
  EXPECT_EQ(total->value, 42);
}

TEST(ActorTest, StatusOfACallIsItsAnswerAndFailEndsTheActor) {
  TestSystem system;
  Ref<Counter> counter = system.Spawn<Counter>();
  EXPECT_EQ(system.Ask(counter[&Counter::check], 0, absl::Seconds(1)).status(), absl::OutOfRangeError("zero"));
  absl::Status failed = system.Ask(counter[&Counter::check], -1, absl::Seconds(1)).status();
  EXPECT_TRUE(IsCalleeExited(failed)) << failed;
  EXPECT_EQ(*ExitReasonOf(failed), ExitReason::Failed(absl::DataLossError("gone")));
  absl::Status dead = counter[&Counter::add].Send(1);
  EXPECT_TRUE(IsNoProcess(dead)) << dead;
}

TEST(ActorTest, ReplierAnswersLaterOrUnanswered) {
  TestSystem system;
  Ref<Counter> counter = system.Spawn<Counter>();
  absl::Status forgotten = system.Ask(counter[&Counter::later], -1, absl::Seconds(1)).status();
  EXPECT_TRUE(IsUnanswered(forgotten)) << forgotten;
  absl::Status expired = system.Ask(counter[&Counter::later], 1, absl::Seconds(1)).status();
  EXPECT_TRUE(IsExpired(expired)) << expired;
  EXPECT_EQ(system.Ask(counter[&Counter::later], 8, absl::Seconds(1))->value, 8);
}

TEST(ActorTest, ExceptionIsTheExitReason) {
  TestSystem system;
  Ref<Counter> counter = system.Spawn<Counter>();
  system.RunUntilIdle();
  auto crashed = counter[&Counter::crash];
  system.seeded_executor().RunAt(system.Now() + absl::Seconds(1), [crashed] { crashed.Tell("boom"); });
  EXPECT_EQ(*system.AwaitEnd(counter.pid(), absl::Seconds(2)), ExitReason::Exception("std::runtime_error", "boom"));
  EXPECT_EQ(*system.AwaitEnd(counter.pid(), absl::Seconds(2)), ExitReason::NoProcess());
  Ref<Counter> other = system.Spawn<Counter>();
  system.RunUntilIdle();
  auto end = system.AwaitEnd(other.pid(), absl::Seconds(1));
  EXPECT_TRUE(IsExpired(end.status())) << end.status();
}

// Moves, but cannot be assigned.
struct Sealed {
  const int value;
};

class Sealer final : public Actor {
 public:
  Mailbox<"seal", Call<int, Sealed>> seal{this};
  StartResult Start() override { return sealing_; }

 private:
  Behavior sealing_{"sealing", On(seal, [](int n) { return Sealed{n}; })};
};

TEST(ActorTest, AReplyNeedNotBeAssignable) {
  TestSystem system;
  EXPECT_EQ(system.Ask(system.Spawn<Sealer>()[&Sealer::seal], 7, absl::Seconds(1))->value, 7);
}

TEST(ActorTest, LedgerBalances) {
  TestSystem system;
  {
    Ref<Counter> counter = system.Spawn<Counter>();
    counter[&Counter::add].Tell(1);
    counter[&Counter::add].Tell(-1);
    counter[&Counter::add].Tell(-2);
    counter[&Counter::add].Tell(1);
    system.RunUntilIdle();
    counter[&Counter::add].Tell(1);
  }
  MessageLedger ledger = system.Ledger();
  EXPECT_TRUE(ledger.balances()) << ledger.ToString();
  EXPECT_EQ(ledger.accepted, 4);
  EXPECT_EQ(ledger.of(Disposition::kHandled), 1);
  EXPECT_EQ(ledger.of(Disposition::kRejected), 1);
  EXPECT_EQ(ledger.of(Disposition::kFailed), 1);
  EXPECT_EQ(ledger.of(Disposition::kDeadLetter), 1);
  EXPECT_EQ(ledger.refused, 1);
}

TEST(ActorTest, ChannelsOutliveTheirSystem) {
  Channel<int> add;
  EXPECT_THAT(add.Send(1).message(), HasSubstr("never given an actor"));
  {
    TestSystem system;
    add = system.Spawn<Counter>()[&Counter::add];
  }
  absl::Status ended = add.Send(1);
  EXPECT_TRUE(IsNoProcess(ended));
  EXPECT_THAT(ended.message(), HasSubstr("has ended"));
}

TEST(ActorTest, RunsOnTheThreadPool) {
  ActorSystem system;
  Ref<Counter> counter = system.Spawn<Counter>();
  for (int i = 0; i < 500; ++i) counter[&Counter::add].Tell(1);
  absl::StatusOr<Total> total = system.Ask(counter[&Counter::total], TotalRequest(), absl::Seconds(10));
  ASSERT_TRUE(total.ok()) << total.status();
  EXPECT_EQ(total->value, 500);
}

}  // namespace
}  // namespace understudy
