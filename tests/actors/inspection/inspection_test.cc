// Tests of what ListActors, InspectActor and Executor::Workers return (actors/inspection.h).
#include "understudy/actors/inspection.h"

#include <array>
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
#include "absl/types/optional.h"
#include "gmock/gmock.h"
#include "gtest/gtest.h"
#include "understudy/actors/actor.h"
#include "understudy/actors/actor_info.h"
#include "understudy/actors/actor_system.h"
#include "understudy/actors/executor.h"
#include "understudy/actors/limits.h"
#include "understudy/actors/pid.h"
#include "understudy/actors/test_system.h"
#include "understudy/actors/testing/kept_log.h"
#include "understudy/actors/thread_pool.h"
#include "understudy/tests/actors/inspection/blocker.h"

namespace understudy {
namespace {

using ::testing::AllOf;
using ::testing::ElementsAre;
using ::testing::Field;
using ::testing::HasSubstr;
using ::testing::IsEmpty;
using ::testing::SizeIs;

constexpr absl::Duration kWithin = absl::Seconds(30);

// Handles `item` while it is open; has no guard for `rare` that ever holds.
class Shop final : public Actor {
 public:
  Mailbox<"item", int> item{this};
  Mailbox<"open", int> open{this};
  Mailbox<"rare", int> rare{this};
  Mailbox<"text", std::string> text{this, {.capacity_messages = 7, .capacity_bytes = 1000}};
  Mailbox<"ask", Call<int, int>> ask{this};
  StartResult Start() override { return shut_; }

 private:
  absl::Status Item(int number) { return number < 0 ? absl::InvalidArgumentError("negative") : absl::OkStatus(); }
  Behavior shut_{"shut", On(open, [this](int) { return open_; }),
                 On(rare, [](int) {}).When([](const Shop&) { return false; }),
                 On(ask, [](int asked_for) { return asked_for; })};
  Behavior open_{"open", On(item, &Shop::Item), On(text, [](const std::string&) {})};
};

// Awaits an answer of `shop` for each message.
class Customer final : public Actor {
 public:
  Mailbox<"buy", int> buy{this};
  explicit Customer(Ref<Shop> shop) : shop_(shop) {}
  StartResult Start() override { return waiting_; }

 private:
  Task<> Buy(int what) {
    auto asked = shop_[&Shop::ask].Ask(what, absl::Hours(1));
    (void)co_await asked;
  }
  const Ref<Shop> shop_;
  Behavior waiting_{"waiting", On(buy, &Customer::Buy)};
};

ActorInfo Inspect(ActorSystem& system, Pid pid) {
  const absl::optional<ActorInfo> info = InspectActor(system, pid);
  EXPECT_TRUE(info.has_value()) << pid;
  return info.value_or(ActorInfo());
}

TEST(InspectionTest, MailboxTotalsAddUpTheLivingAndTheEndedByNameAndType) {
  TestSystem system;
  const Ref<Shop> first = system.Spawn<Shop>();
  const Ref<Shop> second = system.Spawn<Shop>();
  for (const Ref<Shop>& shop : {first, second}) {
    shop[&Shop::open].Tell(1);
    shop[&Shop::item].Tell(2);
    shop[&Shop::item].Tell(-3);
  }
  second[&Shop::rare].Tell(4);
  system.RunUntilIdle();
  system.Kill(first.pid());
  system.RunUntilIdle();
  const std::vector<MailboxLedger> totals = MailboxTotals(system);
  std::vector<std::string> names;
  MessageLedger sum;
  for (const MailboxLedger& total : totals) {
    names.push_back(total.mailbox);
    sum += total.messages;
    EXPECT_TRUE(total.actor.is_null());
    EXPECT_TRUE(total.messages.balances()) << total;
  }
  EXPECT_THAT(names, ElementsAre("item", "open", "rare"));
  EXPECT_EQ(sum, system.Ledger());
  EXPECT_EQ(totals[0].type, "int");
  EXPECT_EQ(totals[0].messages.accepted, 4);
  EXPECT_EQ(totals[0].messages.of(Disposition::kHandled), 2);
  EXPECT_EQ(totals[0].messages.of(Disposition::kRejected), 2);
  EXPECT_EQ(totals[2].messages.waiting, 1);
}

TEST(InspectionTest, AnIdleActorIsToldWithClassNamesBehaviorAndParent) {
  TestSystem system;
  const Ref<Shop> shop = system.Spawn<Shop>(SpawnOptions{.registered_as = "shop", .label = "the corner shop"});
  system.RunUntilIdle();
  const ActorInfo info = Inspect(system, shop.pid());
  EXPECT_EQ(info.pid, shop.pid());
  EXPECT_EQ(info.state, ActorState::kIdle);
  EXPECT_TRUE(info.is_complete);
  EXPECT_THAT(info.class_name, HasSubstr("Shop"));
  EXPECT_EQ(info.label, "the corner shop");
  EXPECT_EQ(info.behavior, "shut");
  EXPECT_TRUE(info.parent.is_null());
  EXPECT_THAT(info.names, ElementsAre("shop"));
}

TEST(InspectionTest, AMailboxIsToldWithWhatWaitsItsBoundsAndWhyItIsClosed) {
  TestSystem system;
  const Ref<Shop> shop = system.Spawn<Shop>();
  system.RunUntilIdle();
  for (int i = 0; i < 3; ++i) ASSERT_TRUE(shop[&Shop::item].Send(i).ok());
  ASSERT_TRUE(shop[&Shop::rare].Send(1).ok());
  ASSERT_TRUE(shop[&Shop::text].Send("twelve bytes").ok());
  const ActorInfo info = Inspect(system, shop.pid());
  EXPECT_EQ(info.state, ActorState::kIdle);
  EXPECT_EQ(info.waiting, 5);
  ASSERT_THAT(info.mailboxes, SizeIs(5));
  const MailboxInfo& item = info.mailboxes[0];
  EXPECT_THAT(item.name, HasSubstr("item"));
  EXPECT_EQ(item.request, "int");
  EXPECT_EQ(item.messages.waiting, 3);
  EXPECT_EQ(item.capacity_messages, limits::kMailboxCapacityMessages);
  EXPECT_EQ(item.bytes, absl::nullopt);
  EXPECT_EQ(item.closed_by, ClosedBy::kBehavior);
  EXPECT_EQ(info.mailboxes[1].closed_by, ClosedBy::kNothing);
  EXPECT_EQ(info.mailboxes[2].closed_by, ClosedBy::kGuard);
  const MailboxInfo& text = info.mailboxes[3];
  EXPECT_EQ(text.capacity_messages, 7);
  EXPECT_EQ(text.capacity_bytes, 1000);
  EXPECT_GE(text.bytes.value_or(0), 12);
  EXPECT_EQ(info.mailboxes[4].reply, "int");
}

TEST(InspectionTest, TheDispositionsOfAMailboxAreThoseOfItsLedger) {
  TestSystem system;
  const Ref<Shop> shop = system.Spawn<Shop>();
  shop[&Shop::open].Tell(1);
  for (int i = -1; i < 3; ++i) shop[&Shop::item].Tell(i);
  system.RunUntilIdle();
  const ActorInfo info = Inspect(system, shop.pid());
  EXPECT_EQ(info.behavior, "open");
  EXPECT_EQ(info.mailboxes[0].messages.of(Disposition::kHandled), 3);
  EXPECT_EQ(info.mailboxes[0].messages.of(Disposition::kRejected), 1);
  EXPECT_TRUE(info.mailboxes[0].messages.balances());
}

TEST(InspectionTest, ALookAtAnIdleActorWithClosedMailRunsNoTurn) {
  TestSystem system;
  const Ref<Shop> shop = system.Spawn<Shop>();
  system.RunUntilIdle();
  ASSERT_TRUE(shop[&Shop::item].Send(1).ok());
  system.RunUntilIdle();
  const int64_t steps = system.seeded_executor().steps();
  (void)Inspect(system, shop.pid());
  system.RunUntilIdle();
  EXPECT_EQ(system.seeded_executor().steps(), steps + 1) << "the one step finds nothing to run";
  shop[&Shop::open].Tell(1);
  system.RunUntilIdle();
  EXPECT_EQ(Inspect(system, shop.pid()).waiting, 0) << "the message was handled when the mailbox opened";
}

TEST(InspectionTest, AHandlerThatAwaitsIsToldAndClosesTheMailboxes) {
  TestSystem system;
  const Ref<Shop> shop = system.Spawn<Shop>();
  const Ref<Customer> customer = system.Spawn<Customer>(shop);
  shop[&Shop::open].Tell(1);  // from now on nobody answers
  system.RunUntilIdle();
  customer[&Customer::buy].Tell(1);
  customer[&Customer::buy].Tell(2);
  system.RunUntilIdle();
  const ActorInfo info = Inspect(system, customer.pid());
  EXPECT_EQ(info.state, ActorState::kAwaiting);
  EXPECT_THAT(info.awaiting, ElementsAre(HasSubstr("buy")));
  EXPECT_EQ(info.mailboxes[0].closed_by, ClosedBy::kHandler);
}

TEST(InspectionTest, AnActorThatHasEndedIsNotTold) {
  TestSystem system;
  const Ref<Shop> shop = system.Spawn<Shop>();
  system.RunUntilIdle();
  system.Kill(shop.pid());
  system.RunUntilIdle();
  EXPECT_FALSE(InspectActor(system, shop.pid()).has_value());
  EXPECT_FALSE(InspectActor(system, Pid()).has_value());
  EXPECT_THAT(ListActors(system).actors, IsEmpty());
}

TEST(InspectionTest, PagesGoThroughAllActorsOnce) {
  TestSystem system;
  std::set<Pid> spawned;
  for (int i = 0; i < 10; ++i) spawned.insert(system.Spawn<Shop>().pid());
  system.RunUntilIdle();
  std::set<Pid> told;
  ActorQuery query{.at_most = 3};
  int pages = 0;
  do {
    const ActorPage page = ListActors(system, query);
    EXPECT_LE(page.actors.size(), 3U);
    for (const ActorInfo& info : page.actors) EXPECT_TRUE(told.insert(info.pid).second) << info.pid;
    query.after = page.next;
    ++pages;
  } while (query.after != 0);
  EXPECT_EQ(told, spawned);
  EXPECT_GE(pages, 4);
}

TEST(InspectionTest, AQueryReadsSoManyActorsAtMostAndTheNextOneGoesOn) {
  TestSystem system;
  for (size_t i = 0; i < limits::kActorsReadPerLookMax + 10; ++i) system.Spawn<Shop>();
  const Ref<Shop> last = system.Spawn<Shop>(SpawnOptions{.registered_as = "corner"});
  system.RunUntilIdle();
  const ActorPage first = ListActors(system, {.text = "corner"});
  EXPECT_THAT(first.actors, IsEmpty());
  ASSERT_EQ(first.next, limits::kActorsReadPerLookMax);
  const ActorPage second = ListActors(system, {.after = first.next, .text = "corner"});
  EXPECT_THAT(second.actors, ElementsAre(Field(&ActorInfo::pid, last.pid())));
  EXPECT_EQ(second.next, 0U);
  ASSERT_TRUE(last[&Shop::item].Send(1).ok());
  EXPECT_THAT(ListActors(system, {.waiting_min = 1}).actors, ElementsAre(Field(&ActorInfo::pid, last.pid())))
      << "the others' counters say enough";
}

TEST(InspectionTest, AQueryFiltersByTextByWaitingMessagesAndByState) {
  TestSystem system;
  const Ref<Shop> shop = system.Spawn<Shop>(SpawnOptions{.registered_as = "corner"});
  const Ref<Customer> customer = system.Spawn<Customer>(shop);
  system.RunUntilIdle();
  ASSERT_TRUE(shop[&Shop::item].Send(1).ok());
  const auto only = [&](Pid pid) { return Field(&ActorPage::actors, ElementsAre(Field(&ActorInfo::pid, pid))); };
  EXPECT_THAT(ListActors(system, {.text = "Customer"}), only(customer.pid()));
  EXPECT_THAT(ListActors(system, {.text = "corner"}), only(shop.pid()));
  EXPECT_THAT(ListActors(system, {.text = customer.pid().ToString()}), only(customer.pid()));
  EXPECT_THAT(ListActors(system, {.text = "waiting"}), only(customer.pid())) << "its behavior";
  EXPECT_THAT(ListActors(system, {.waiting_min = 1}), only(shop.pid()));
  EXPECT_THAT(ListActors(system, {.state = ActorState::kStuck}).actors, IsEmpty());
}

// Has a timer of its own and two of its behavior.
class Ticker final : public Actor {
 public:
  StartResult Start() override {
    EXPECT_TRUE(context().StartTimer("late", absl::Seconds(60), [](const TimerEvent&) {}).ok());
    return ticking_;
  }

 private:
  Behavior ticking_{"ticking", Every(absl::Seconds(10), [] {}), After(absl::Seconds(30), [] {})};
};

TEST(InspectionTest, TheTimersThatRunAreToldWithTheTimeUntilTheFirst) {
  TestSystem system;
  const Ref<Ticker> ticker = system.Spawn<Ticker>();
  const Ref<Shop> shop = system.Spawn<Shop>();
  system.RunUntilIdle();
  EXPECT_EQ(Inspect(system, ticker.pid()).timers, 3);
  EXPECT_EQ(Inspect(system, ticker.pid()).next_timer_in, absl::Seconds(10));
  system.Advance(absl::Seconds(4));
  EXPECT_EQ(Inspect(system, ticker.pid()).next_timer_in, absl::Seconds(6));
  system.Advance(absl::Seconds(30));
  EXPECT_EQ(Inspect(system, ticker.pid()).timers, 2) << "the After has fired";
  EXPECT_EQ(Inspect(system, shop.pid()).timers, 0);
  EXPECT_EQ(Inspect(system, shop.pid()).next_timer_in, absl::InfiniteDuration());
}

TEST(InspectionTest, TopByBytesHasTheActorsWhoseWaitingMessagesHaveTheMostBytes) {
  TestSystem system;
  std::vector<Ref<Shop>> shops;
  for (int i = 0; i < 3; ++i) shops.push_back(system.Spawn<Shop>());
  system.RunUntilIdle();
  for (int i = 0; i < 5; ++i) ASSERT_TRUE(shops[0][&Shop::item].Send(i).ok());  // not bounded in bytes
  ASSERT_TRUE(shops[1][&Shop::text].Send(std::string(100, 'x')).ok());
  ASSERT_TRUE(shops[2][&Shop::text].Send(std::string(400, 'x')).ok());
  const std::vector<ActorInfo> top = TopActors(system, 10, TopBy::kBytes);
  ASSERT_EQ(top.size(), 2U);
  EXPECT_EQ(top[0].pid, shops[2].pid());
  EXPECT_EQ(top[1].pid, shops[1].pid());
  EXPECT_GE(top[0].waiting_bytes, 400);
  EXPECT_EQ(top[0].waiting_bytes, Inspect(system, shops[2].pid()).mailboxes[3].bytes);
  EXPECT_EQ(Inspect(system, shops[0].pid()).waiting_bytes, 0);
}

TEST(InspectionTest, TopHasTheActorsWithTheMostWaitingMessagesAndNoOthers) {
  TestSystem system;
  std::vector<Ref<Shop>> shops;
  for (int i = 0; i < 10; ++i) shops.push_back(system.Spawn<Shop>());
  system.RunUntilIdle();
  for (const auto& [shop, messages] : {std::pair(3, 2), std::pair(7, 5), std::pair(1, 9)}) {
    for (int i = 0; i < messages; ++i) ASSERT_TRUE(shops[static_cast<size_t>(shop)][&Shop::item].Send(i).ok());
  }
  const auto pids = [&](size_t count) {
    std::vector<Pid> found;
    for (const ActorInfo& info : TopActors(system, count)) found.push_back(info.pid);
    return found;
  };
  EXPECT_THAT(pids(10), ElementsAre(shops[1].pid(), shops[7].pid(), shops[3].pid()));
  EXPECT_THAT(pids(2), ElementsAre(shops[1].pid(), shops[7].pid()));
  const std::vector<ActorInfo> top = TopActors(system, 1);
  ASSERT_THAT(top, SizeIs(1));
  EXPECT_EQ(top[0].waiting, 9);
  EXPECT_EQ(top[0].behavior, "shut");
}

// Is linked to a shop and monitors it twice.
class Neighbour final : public Actor {
 public:
  Mailbox<"hear", int> hear{this};
  explicit Neighbour(Ref<Shop> shop) : shop_(shop) {}
  StartResult Start() override {
    context().Link(shop_);
    for (MonitorHandle& monitor : monitors_) monitor = context().Monitor(shop_, [](const Down&) {});
    return quiet_;
  }

 private:
  const Ref<Shop> shop_;
  std::array<MonitorHandle, 2> monitors_;
  Behavior quiet_{"quiet", On(hear, [](int) {})};
};

TEST(InspectionTest, AnActorIsToldWithItsLinksAndMonitorsBothWays) {
  TestSystem system;
  const Ref<Shop> shop = system.Spawn<Shop>();
  const auto neighbour = system.Spawn<Neighbour>(shop);
  system.RunUntilIdle();
  ActorInfo info = Inspect(system, neighbour.pid());
  EXPECT_THAT(info.links, ElementsAre(shop.pid()));
  EXPECT_THAT(info.monitors, ElementsAre(shop.pid(), shop.pid()));
  EXPECT_THAT(info.monitored_by, IsEmpty());
  EXPECT_EQ(info.link_count, 1);
  EXPECT_EQ(info.monitor_count, 2);
  info = Inspect(system, shop.pid());
  EXPECT_THAT(info.links, ElementsAre(neighbour.pid()));
  EXPECT_THAT(info.monitors, IsEmpty());
  EXPECT_THAT(info.monitored_by, ElementsAre(neighbour.pid(), neighbour.pid()));
  EXPECT_EQ(info.monitored_by_count, 2);
}

// Spawns shops, which are linked to it.
class Street final : public Actor {
 public:
  Mailbox<"hear", int> hear{this};
  StartResult Start() override {
    for (int i = 0; i < 250; ++i) context().Spawn<Shop>();
    return quiet_;
  }

 private:
  Behavior quiet_{"quiet", On(hear, [](int) {})};
};

TEST(InspectionTest, OfManyLinksTheFirstAreToldWithTheirNumber) {
  TestSystem system;
  const auto street = system.Spawn<Street>();
  system.RunUntilIdle();
  const ActorInfo info = Inspect(system, street.pid());
  EXPECT_THAT(info.links, SizeIs(limits::kTiesToldMax));
  EXPECT_EQ(info.link_count, 250);
  EXPECT_THAT(Inspect(system, info.links[0]).links, ElementsAre(street.pid()));
}

TEST(InspectionTest, AHandlerThatDoesNotReturnIsToldWithItsTimeAndTheQueuedActorAsItsLastTurnLeftIt) {
  KeptLog log;
  absl::Notification begun;
  absl::Notification go_on;
  ActorSystem system({.threads = {.threads = 1, .surplus_threads_max = 0, .log = &log}, .log = &log});
  const Ref<Blocker> blocker = system.Spawn<Blocker>(&begun, &go_on);
  const Ref<Shop> shop = system.Spawn<Shop>();
  const MonotonicTime before_start = system.clock().Now();
  ASSERT_TRUE(system.AwaitStart(shop.pid(), kWithin).ok());
  blocker[&Blocker::block].Tell(1);
  begun.WaitForNotification();
  for (int i = 0; i < 3; ++i) shop[&Shop::open].Tell(i);

  ActorInfo info = Inspect(system, blocker.pid());
  EXPECT_THAT(info.state, ::testing::AnyOf(ActorState::kRunning, ActorState::kStuck));
  EXPECT_TRUE(info.is_complete);
  EXPECT_THAT(info.class_name, HasSubstr("Blocker"));
  EXPECT_THAT(info.doing, HasSubstr("block"));
  // No worker is left that could handle these.
  info = Inspect(system, shop.pid());
  EXPECT_EQ(info.state, ActorState::kQueued);
  EXPECT_FALSE(info.is_complete);
  EXPECT_EQ(info.waiting, 3);
  EXPECT_THAT(info.class_name, HasSubstr("Shop"));
  EXPECT_EQ(info.behavior, "shut");
  EXPECT_GT(info.noted_within, absl::ZeroDuration());
  EXPECT_LE(info.noted_within, system.clock().Now() - before_start + absl::Seconds(1)) << "it has started since";
  ASSERT_THAT(info.mailboxes, SizeIs(5));
  EXPECT_EQ(info.mailboxes[0].closed_by, ClosedBy::kBehavior);  // item
  EXPECT_EQ(info.mailboxes[1].closed_by, ClosedBy::kNothing);   // open
  EXPECT_EQ(info.mailboxes[2].closed_by, ClosedBy::kUnknown);   // rare: its guard does not hold
  EXPECT_THAT(ListActors(system, {.text = "Shop"}).actors, ElementsAre(Field(&ActorInfo::pid, shop.pid())));

  const MonotonicTime since = system.clock().Now();
  while (Inspect(system, blocker.pid()).state != ActorState::kStuck && system.clock().Now() - since < kWithin) {
    std::this_thread::yield();
  }
  info = Inspect(system, blocker.pid());
  EXPECT_EQ(info.state, ActorState::kStuck);
  EXPECT_GE(info.doing_for, limits::kNameHandlerAfter);
  const std::vector<WorkerInfo> workers = system.executor().Workers();
  ASSERT_THAT(workers, SizeIs(1));
  EXPECT_TRUE(workers[0].is_taken_over);
  EXPECT_THAT(workers[0].doing, AllOf(HasSubstr(blocker.pid().ToString()), HasSubstr("block")));
  EXPECT_GE(workers[0].running, limits::kNameHandlerAfter);
  const std::vector<ActorInfo> top = TopActors(system, 10);
  ASSERT_THAT(top, SizeIs(2));
  EXPECT_EQ(top[0].pid, blocker.pid()) << "stuck actors come before those with waiting messages";
  EXPECT_EQ(top[1].pid, shop.pid());
  go_on.Notify();
}

// Counts; the total is asked for in the end.
class Counter final : public Actor {
 public:
  Mailbox<"add", int> add{this, {.capacity_messages = 1'000'000}};
  Mailbox<"total", Call<int, int>> total{this};
  StartResult Start() override { return counting_; }

 private:
  int sum_ = 0;
  Behavior counting_{"counting", On(add, [this](int n) { sum_ += n; }), On(total, [this](int) { return sum_; })};
};

TEST(InspectionTest, LooksAtActorsUnderLoadLoseNoMessageAndNoWakeUp) {
  ActorSystem system({.threads = {.threads = 2}});
  const Ref<Counter> counter = system.Spawn<Counter>();
  ASSERT_TRUE(system.AwaitStart(counter.pid(), kWithin).ok());
  std::atomic<bool> is_over{false};
  std::thread looking([&] {
    while (!is_over.load()) {
      (void)ListActors(system);
      (void)InspectActor(system, counter.pid());
    }
  });
  constexpr int kMessages = 20'000;
  for (int i = 0; i < kMessages; ++i) {
    EXPECT_TRUE(counter[&Counter::add].Send(1).ok());
    if (i % 16 == 0) std::this_thread::yield();  // so that the actor is idle now and then
  }
  const absl::StatusOr<int> total = system.Ask(counter[&Counter::total], 0, kWithin);
  is_over.store(true);
  looking.join();
  EXPECT_EQ(total.value_or(-1), kMessages);
}

// In the process style, with a body that is over at once.
class Passer final : public Actor {
 public:
  StartResult Start() override { return Pass(); }

 private:
  Task<> Pass() { co_return; }
};

// ThreadSanitizer reports a race here if Workers() reads without synchronization what the start of a process writes.
TEST(InspectionTest, ALookMayMeetAProcessThatBegins) {
  ActorSystem system({.threads = {.threads = 2}});
  std::atomic<bool> is_over{false};
  std::thread looking([&] {
    while (!is_over.load()) (void)system.executor().Workers();
  });
  for (int i = 0; i < 2'000; ++i) EXPECT_TRUE(system.AwaitEnd(system.Spawn<Passer>().pid(), kWithin).ok());
  is_over.store(true);
  looking.join();
}

}  // namespace
}  // namespace understudy
