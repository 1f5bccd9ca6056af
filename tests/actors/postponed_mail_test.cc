// A mailbox that holds postponed messages and others: the cost of each message, and the order in which messages leave
// the mailbox for a handler, dead letters or unhandled mail.
#include <algorithm>
#include <ctime>
#include <functional>
#include <memory>
#include <string>
#include <utility>
#include <vector>

#include "absl/status/status.h"
#include "absl/time/time.h"
#include "gmock/gmock.h"
#include "gtest/gtest.h"
#include "understudy/actors/actor.h"
#include "understudy/actors/error.h"
#include "understudy/actors/test_system.h"
#include "understudy/actors/testing/actor_test.h"
#include "understudy/actors/testing/probe.h"
#include "understudy/tests/actors/script.h"

namespace understudy {
namespace {

using ::testing::ElementsAre;
using ::testing::SizeIs;

double CpuSeconds() {
  timespec time{};
  clock_gettime(CLOCK_PROCESS_CPUTIME_ID, &time);
  return static_cast<double>(time.tv_sec) + static_cast<double>(time.tv_nsec) / 1e9;
}

double CpuSecondsOf(const std::function<void()>& what) {
  const double begin = CpuSeconds();
  what();
  return CpuSeconds() - begin;
}

// Postpones positive numbers and takes the others, until `go`: then it takes all.
class Saver final : public Actor {
 public:
  Mailbox<"number", int> number{this, {.capacity_messages = 600'000}};
  Mailbox<"other", int> other{this};
  Mailbox<"go", int> go{this};
  explicit Saver(std::vector<int>* taken) : taken_(*taken) {}
  StartResult Start() override { return saving_; }

 private:
  void Save(const int& n) { n > 0 ? context().Postpone() : Take(n); }
  void Take(int n) { taken_.push_back(n); }

  std::vector<int>& taken_;
  Behavior taking_{"taking", On(number, &Saver::Take), On(other, &Saver::Take)};
  Behavior saving_{"saving", On(number, &Saver::Save), On(other, &Saver::Take),
                   On(go, [this](int) { Become(taking_); })};
};

class PostponeCostTest : public ActorTest {
 protected:
  // Returns an actor that has postponed the numbers from 1 to `messages`.
  Ref<Saver> Saving(int messages) {
    Ref<Saver> saver = system().Spawn<Saver>(&taken_);
    system().RunUntilIdle();  // more messages than may come before it has started
    for (int n = 1; n <= messages; ++n) saver[&Saver::number].Tell(n);
    system().RunUntilIdle();
    return saver;
  }

  std::vector<int> taken_;
};

TEST_F(PostponeCostTest, AMessageCostsTheSameHoweverManyArePostponed) {
  // Each is sent, postponed, returned and taken.
  const auto cost = [&](int messages) {
    return CpuSecondsOf([&] {
             Saving(messages)[&Saver::go].Tell(1);
             system().RunUntilIdle();
           }) /
           messages;
  };
  double few = cost(4'000);
  double many = cost(64'000);
  for (int again = 0; again < 10 && many >= 3 * few; ++again) {
    few = std::min(few, cost(4'000));
    many = std::min(many, cost(64'000));
  }
  EXPECT_LT(many, 3 * few) << "seconds a message";
  ASSERT_GE(taken_.size(), 68'000U);
  EXPECT_TRUE(std::is_sorted(taken_.begin() + 4'000, taken_.begin() + 68'000))
      << "in the order in which they were sent";
}

TEST_F(PostponeCostTest, ALaterMessageCostsTheSameBehindTenAndBehindHalfAMillion) {
  const Ref<Saver> behind_ten = Saving(10);
  const Ref<Saver> behind_many = Saving(500'000);
  const auto cost_of_one = [&](Ref<Saver> saver) {
    return CpuSecondsOf([&] {
      saver[&Saver::number].Tell(-1);  // to the mailbox of those that are postponed
      system().RunUntilIdle();
      saver[&Saver::other].Tell(0);
      system().RunUntilIdle();
      saver[&Saver::number].Tell(1);  // which is postponed too
      system().RunUntilIdle();
    });
  };
  double ten = cost_of_one(behind_ten);
  double many = cost_of_one(behind_many);
  for (int again = 0; again < 100; ++again) {
    ten = std::min(ten, cost_of_one(behind_ten));
    many = std::min(many, cost_of_one(behind_many));
  }
  EXPECT_LT(many, 4 * ten) << "seconds for three messages";
}

// Postpones even numbers, and calls, and what `awaits` has once `silent` has answered. Odd numbers wait without a
// clause that takes them. After `go` it takes all.
class Sorter final : public Actor {
 public:
  Mailbox<"number", int> number;
  Mailbox<"awaits", int> awaits{this};
  Mailbox<"call", Call<int, int>> call;
  Mailbox<"go", int> go{this};
  Sorter(std::vector<int>* taken, Channel<Call<int, int>> silent, MailboxOptions options)
      : number(this, options), call(this, {.time_to_live = options.time_to_live}), taken_(*taken), silent_(silent) {}
  StartResult Start() override { return sorting_; }

 private:
  void Postpone(const int&) { context().Postpone(); }
  Task<> AwaitAndPostpone(const int& n) {
    auto asked = silent_.Ask(n, absl::Hours(1));
    (void)co_await asked;
    context().Postpone();
  }
  int PostponeCall(const int&) {
    context().Postpone();
    return 0;
  }
  void Take(int n) { taken_.push_back(n); }
  int Answer(int n) {
    Take(n);
    return n;
  }

  std::vector<int>& taken_;
  const Channel<Call<int, int>> silent_;
  Behavior taking_{"taking", On(number, &Sorter::Take), On(awaits, &Sorter::Take), On(call, &Sorter::Answer)};
  Behavior sorting_{"sorting", On(number, &Sorter::Postpone).If([](const int& n) { return n % 2 == 0; }),
                    On(awaits, &Sorter::AwaitAndPostpone).Interleaved(), On(call, &Sorter::PostponeCall),
                    On(go, [this](int) { Become(taking_); })};
};

class PostponedMailTest : public ActorTest {
 protected:
  Ref<Sorter> Sorting(const MailboxOptions& options = {}) {
    return system().Spawn<Sorter>(&taken_, silent_.channel(), options);
  }
  // Sends the numbers one after another, so that each is postponed before the next one comes.
  void Send(Ref<Sorter> to, const std::vector<int>& numbers) {
    for (const int n : numbers) {
      to[&Sorter::number].Tell(n);
      system().RunUntilIdle();
    }
  }
  std::vector<int> TakenAfterGo(Ref<Sorter> sorter) {
    sorter[&Sorter::go].Tell(1);
    system().RunUntilIdle();
    return taken_;
  }

  std::vector<int> taken_;
  Probe<Call<int, int>> silent_{system()};
};

TEST_F(PostponedMailTest, APostponedMessageReturnsToItsPlaceAmongTheOthers) {
  Ref<Sorter> sorter = Sorting();
  Send(sorter, {1, 2, 3, 4, 5, 6, 8});
  EXPECT_THAT(TakenAfterGo(sorter), ElementsAre(1, 2, 3, 4, 5, 6, 8));
}

TEST_F(PostponedMailTest, MessagesThatWerePostponedInAnotherOrderReturnInTheirs) {
  Ref<Sorter> sorter = Sorting();
  for (int n = 1; n <= 5; ++n) sorter[&Sorter::awaits].Tell(n);
  std::vector<Asked<int, int>> asked = silent_.ReceiveAll();
  ASSERT_THAT(asked, SizeIs(5));
  for (const size_t i : {2, 0, 4, 1, 3}) {
    asked[i].replier.Reply(0);
    system().RunUntilIdle();
  }
  EXPECT_EQ(Ledger().waiting, 5);
  EXPECT_THAT(TakenAfterGo(sorter), ElementsAre(1, 2, 3, 4, 5));
}

TEST_F(PostponedMailTest, TheOldestIsDroppedWhetherOrNotItIsPostponed) {
  Ref<Sorter> sorter = Sorting({.capacity_messages = 4, .overflow = Overflow::kDropOldest});
  Send(sorter, {2, 1, 4, 3});
  Send(sorter, {5, 6});  // for 2, which is postponed, and for 1, which is not
  EXPECT_EQ(Ledger().of(Disposition::kDropped), 2);
  Send(sorter, {8});
  EXPECT_EQ(Ledger().of(Disposition::kDropped), 3);
  EXPECT_THAT(TakenAfterGo(sorter), ElementsAre(3, 5, 6, 8));
}

TEST_F(PostponedMailTest, PostponedMessagesAreDeadLettersWhenTheirActorEnds) {
  for (const std::vector<int>& numbers : {std::vector<int>{2, 4}, {1, 2, 3, 4}}) {
    Ref<Sorter> sorter = Sorting();
    Send(sorter, numbers);
    const size_t before = dead_letters().size();
    system().Exit(sorter.pid(), ExitReason::Shutdown());
    system().RunUntilIdle();
    EXPECT_EQ(dead_letters().size(), before + numbers.size());
    EXPECT_EQ(Ledger().waiting, 0);
  }
}

TEST_F(PostponedMailTest, UnhandledMailHoldsPostponedMessagesInTheOrderOfArrival) {
  std::vector<Down> downs;
  Ref<Script> parent = system().Spawn<Script>([](Script& self) { self.context().TrapExits([](const ExitEvent&) {}); });
  Ref<Sorter> sorter;
  const auto spawn = [&](UnhandledMail unhandled_mail) {
    // A step may be copied, unhandled mail may not.
    const auto shared = std::make_shared<UnhandledMail>(std::move(unhandled_mail));
    Do(parent, [&, shared](Script& self) {
      sorter = self.context().Spawn<Sorter>(SpawnOptions()
                                                .OnDown([&](Down ended) { downs.push_back(std::move(ended)); })
                                                .WithUnhandledMail(std::move(*shared)),
                                            &taken_, silent_.channel(), MailboxOptions{.on_restart = OnRestart::kKeep});
    });
    system().RunUntilIdle();
  };
  spawn({});
  Send(sorter, {2, 1, 4, 6, 3});
  system().Exit(sorter.pid(), ExitReason::Failed(absl::DataLossError("disk")));
  system().RunUntilIdle();
  ASSERT_THAT(downs, SizeIs(1));
  spawn(std::move(downs[0].unhandled_mail));
  EXPECT_THAT(TakenAfterGo(sorter), ElementsAre(2, 1, 4, 6, 3));
}

TEST_F(PostponedMailTest, APostponedCallIsCancelledWhenItsAskerEnds) {
  Ref<Sorter> sorter = Sorting();
  std::vector<Ref<Script>> askers;
  for (int n = 1; n <= 4; ++n) {
    askers.push_back(system().Spawn<Script>());
    RunTask(askers.back(), [sorter, n](Script&) -> Task<> {
      auto asked = sorter[&Sorter::call].Ask(n, absl::Hours(1));
      (void)co_await asked;
    });
    system().RunUntilIdle();
  }
  for (const size_t i : {1, 3}) system().Kill(askers[i].pid());
  system().RunUntilIdle();
  EXPECT_EQ(Ledger().of(Disposition::kCancelled), 2);
  EXPECT_THAT(TakenAfterGo(sorter), ElementsAre(1, 3));
}

TEST_F(PostponedMailTest, PostponedMessagesThatHaveExpiredMakeRoom) {
  Ref<Sorter> sorter = Sorting({.capacity_messages = 4, .time_to_live = absl::Seconds(5)});
  Send(sorter, {1, 2, 4});
  system().Advance(absl::Seconds(3));
  Send(sorter, {6});
  system().Advance(absl::Seconds(3));
  EXPECT_TRUE(IsFull(sorter[&Sorter::number].Send(8))) << "which has it look for what has expired";
  system().RunUntilIdle();
  EXPECT_EQ(Ledger().of(Disposition::kExpired), 3);
  Send(sorter, {10, 12, 14});
  EXPECT_THAT(TakenAfterGo(sorter), ElementsAre(6, 10, 12, 14));
}

}  // namespace
}  // namespace understudy
