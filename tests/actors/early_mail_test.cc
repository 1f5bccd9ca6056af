// Early mail: messages that are sent before the actor's constructor has run and declared its mailboxes (semantics 5.2).
#include <cstddef>
#include <cstdint>
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
#include "understudy/actors/limits.h"
#include "understudy/actors/testing/actor_test.h"
#include "understudy/actors/testing/probe.h"

namespace understudy {
namespace {

using ::testing::ElementsAre;
using ::testing::HasSubstr;

using EarlyMailTest = ActorTest;

class Reader final : public Actor {
 public:
  Mailbox<"one", std::string> one;
  Mailbox<"two", std::string> two{this};
  Mailbox<"ask", Call<int, int>> ask{this};

  explicit Reader(Channel<std::string> out, MailboxOptions options = {}) : one(this, options), out_(out) {}
  StartResult Start() override { return reading_; }

 private:
  void Read(const std::string& text) { out_.Tell(text); }
  int Answer(int n) { return n + 1; }

  Channel<std::string> out_;
  Behavior reading_{"reading", On(one, &Reader::Read), On(two, &Reader::Read), On(ask, &Reader::Answer)};
};

TEST_F(EarlyMailTest, ArrivesInTheOrderOfSendingAcrossMailboxes) {
  Probe<std::string> out(system());
  Ref<Reader> reader = system().Spawn<Reader>(out.channel());
  reader[&Reader::one].Tell("a");
  reader[&Reader::two].Tell("b");
  reader[&Reader::one].Tell("c");
  EXPECT_EQ(Ledger().waiting, 3);
  EXPECT_THAT(out.ReceiveAll(), ElementsAre("a", "b", "c"));
}

TEST_F(EarlyMailTest, HasABound) {
  Probe<std::string> out(system(), {.capacity_messages = 2 * limits::kStartingMessagesMax});
  Ref<Reader> reader =
      system().Spawn<Reader>(out.channel(), MailboxOptions{.capacity_messages = limits::kStartingMessagesMax});
  for (int64_t i = 0; i < limits::kStartingMessagesMax; ++i) ASSERT_TRUE(reader[&Reader::one].Send("x").ok());
  const absl::Status full = reader[&Reader::one].Send("y");
  EXPECT_TRUE(IsFull(full)) << full;
  EXPECT_THAT(std::string(full.message()), HasSubstr("already holds 10000 messages"));
  system().RunUntilIdle();
  EXPECT_EQ(static_cast<int64_t>(out.ReceiveAll().size()), limits::kStartingMessagesMax);
  EXPECT_EQ(Ledger().of(Disposition::kDeadLetter), 0);
}

TEST_F(EarlyMailTest, AMessageThatNoMailboxTakesIsADeadLetter) {
  Probe<std::string> out(system());
  Ref<Reader> reader = system().Spawn<Reader>(out.channel());
  const Pid pid = reader.pid();
  EXPECT_TRUE(Channel<int>(pid, internal::MailboxNames::Intern("nowhere")).Send(1).ok());
  EXPECT_TRUE(Channel<int>(pid, reader[&Reader::one].mailbox()).Send(1).ok());
  EXPECT_TRUE(Channel<int>(pid, reader[&Reader::ask].mailbox()).Send(1).ok());
  system().RunUntilIdle();
  ASSERT_EQ(dead_letters().size(), 3U);
  for (const DeadLetter& letter : dead_letters()) {
    EXPECT_TRUE(IsNoMailbox(letter.why)) << letter.why;
    EXPECT_EQ(letter.to, pid);
  }
  EXPECT_EQ(dead_letters()[0].mailbox, "nowhere");
  EXPECT_EQ(dead_letters()[0].type, "int");
}

TEST_F(EarlyMailTest, BeyondTheMailboxesCapacityItIsADeadLetter) {
  Probe<std::string> out(system());
  Ref<Reader> reader = system().Spawn<Reader>(out.channel(), MailboxOptions{.capacity_messages = 2});
  for (const char* text : {"a", "b", "c"}) EXPECT_TRUE(reader[&Reader::one].Send(text).ok());
  EXPECT_THAT(out.ReceiveAll(), ElementsAre("a", "b"));
  ASSERT_EQ(dead_letters().size(), 1U);
  EXPECT_TRUE(IsFull(dead_letters()[0].why)) << dead_letters()[0].why;
}

TEST_F(EarlyMailTest, BeyondTheMailboxesBytesItIsADeadLetter) {
  Probe<std::string> out(system());
  Ref<Reader> reader =
      system().Spawn<Reader>(out.channel(), MailboxOptions{.capacity_bytes = 2 * MessageBytes(std::string("a"))});
  for (const char* text : {"a", "b", "c"}) EXPECT_TRUE(reader[&Reader::one].Send(text).ok());
  EXPECT_THAT(out.ReceiveAll(), ElementsAre("a", "b"));
  ASSERT_EQ(dead_letters().size(), 1U);
  EXPECT_THAT(std::string(dead_letters()[0].why.message()),
              HasSubstr("66 bytes, and 33 more exceed its capacity of 66"));
}

// A message whose size is `bytes`, up to the largest size_t.
struct Load {
  size_t bytes = 0;
};
size_t MessageBytes(const Load& load) { return load.bytes; }

class Store final : public Actor {
 public:
  Mailbox<"store", Load> store;
  Store(Channel<size_t> out, Overflow overflow)
      : store(this, {.capacity_bytes = 10, .overflow = overflow}), out_(out) {}
  StartResult Start() override { return storing_; }

 private:
  const Channel<size_t> out_;
  Behavior storing_{"storing", On(store, [this](const Load& load) { out_.Tell(load.bytes); })};
};

TEST_F(EarlyMailTest, AMessageThatFitsOnlyAnEmptyMailboxIsADeadLetterBehindOthersAndDropsNone) {
  for (const Overflow overflow : {Overflow::kRefuse, Overflow::kDropOldest}) {
    Probe<size_t> out(system());
    Ref<Store> store = system().Spawn<Store>(out.channel(), overflow);
    for (const size_t bytes : {size_t{4}, size_t{11}, SIZE_MAX, size_t{5}}) store[&Store::store].Tell({bytes});
    EXPECT_THAT(out.ReceiveAll(), ElementsAre(4, 5));
  }
  ASSERT_EQ(dead_letters().size(), 4U);
  EXPECT_THAT(std::string(dead_letters()[2].why.message()),
              HasSubstr("4 bytes, and 11 more exceed its capacity of 10"));
  EXPECT_EQ(Ledger().of(Disposition::kDropped), 0);
}

TEST_F(EarlyMailTest, ADropOldestMailboxKeepsTheNewest) {
  Probe<std::string> out(system());
  Ref<Reader> reader =
      system().Spawn<Reader>(out.channel(), MailboxOptions{.capacity_messages = 2, .overflow = Overflow::kDropOldest});
  for (const char* text : {"a", "b", "c", "d", "e"}) EXPECT_TRUE(reader[&Reader::one].Send(text).ok());
  EXPECT_THAT(out.ReceiveAll(), ElementsAre("d", "e"));
  EXPECT_EQ(Ledger().of(Disposition::kDropped), 3);
}

// Runs a test's coroutine. An actor that it spawns and sends to has mail before its first turn.
class Parent final : public Actor {
 public:
  using Body = std::function<Task<>(Parent&)>;
  explicit Parent(Body body) : body_(std::move(body)) {}
  StartResult Start() override { return body_(*this); }
  using Actor::context;
  static Received AwaitSecond() {
    return Receive(After(absl::Seconds(1), [] {}));
  }

 private:
  const Body body_;
};

TEST_F(EarlyMailTest, OverflowFailsTheActorWhereItsMailboxSaysSo) {
  Probe<std::string> out(system());
  ExitReason end;
  system().Spawn<Parent>([&](Parent& self) -> Task<> {
    Ref<Reader> reader = self.context().Spawn<Reader>(
        SpawnOptions{.link = SpawnLink::kUnlinked}.OnDown([&](const Down& down) { end = down.reason; }), out.channel(),
        MailboxOptions{.capacity_messages = 1, .overflow = Overflow::kFailActor});
    for (const char* text : {"a", "b"}) EXPECT_TRUE(reader[&Reader::one].Send(text).ok());
    auto second = Parent::AwaitSecond();
    co_await second;
  });
  system().Advance(absl::Seconds(1));
  EXPECT_EQ(end.kind(), ExitReason::Kind::kOverflow);
}

class Stillborn final : public Actor {
 public:
  Mailbox<"text", std::string> text{this};
  Mailbox<"ask", Call<int, int>> ask{this};
  explicit Stillborn(absl::Status status) : status_(std::move(status)) {}
  StartResult Start() override { return status_; }

 private:
  absl::Status status_;
};

TEST_F(EarlyMailTest, IsADeadLetterWhenTheStartFailsAndItsAskersGetTheReason) {
  absl::Status answer;
  system().Spawn<Parent>([&](Parent& self) -> Task<> {
    Ref<Stillborn> stillborn =
        self.context().Spawn<Stillborn>(SpawnOptions{.link = SpawnLink::kUnlinked}, absl::DataLossError("torn"));
    EXPECT_TRUE(stillborn[&Stillborn::text].Send("x").ok());
    auto asked = stillborn[&Stillborn::ask].Ask(1, absl::Seconds(1));
    const absl::StatusOr<int> told = co_await asked;
    answer = told.status();
  });
  system().RunUntilIdle();
  EXPECT_TRUE(IsCalleeExited(answer)) << answer;
  EXPECT_EQ(*ExitReasonOf(answer), ExitReason::Failed(absl::DataLossError("torn")));
  EXPECT_EQ(Ledger().of(Disposition::kDeadLetter), 2);
  EXPECT_EQ(dead_letters().size(), 2U);
}

// Awaits in Start. Messages that come meanwhile wait in closed mailboxes.
class SlowStarter final : public Actor {
 public:
  Mailbox<"text", std::string> text{this, {.capacity_messages = 2}};
  SlowStarter(Channel<Call<int, int>> oracle, Channel<std::string> out) : oracle_(oracle), out_(out) {}
  StartResult Start() override { return Begin(); }

 private:
  Task<StartResult> Begin() {
    auto asked = oracle_.Ask(1, absl::Seconds(60));
    absl::StatusOr<int> answer = co_await asked;
    if (!answer.ok()) co_return answer.status();
    co_return reading_;
  }
  void Read(const std::string& what) { out_.Tell(what); }
  Channel<Call<int, int>> oracle_;
  Channel<std::string> out_;
  Behavior reading_{"reading", On(text, &SlowStarter::Read)};
};

TEST_F(EarlyMailTest, WaitsInItsMailboxUntilAStartThatAwaitsIsOver) {
  Probe<Call<int, int>> oracle(system());
  Probe<std::string> out(system());
  Ref<SlowStarter> slow = system().Spawn<SlowStarter>(oracle.channel(), out.channel());
  slow[&SlowStarter::text].Tell("a");
  auto asked = oracle.Receive();
  ASSERT_TRUE(asked.has_value());
  slow[&SlowStarter::text].Tell("b");
  EXPECT_TRUE(IsFull(slow[&SlowStarter::text].Send("c"))) << "its bounds are known now";
  out.ExpectNothing();
  asked->replier.Reply(1);
  EXPECT_THAT(out.ReceiveAll(), ElementsAre("a", "b"));
}

class Countdown final : public Actor {
 public:
  Mailbox<"count", int> count{this};
  explicit Countdown(int* counts, bool early = false) : counts_(counts) {
    if (early) context().Tell(count, 3);
  }
  StartResult Start() override {
    context().Tell(count, 3);
    return counting_;
  }

 private:
  void Count(int left) {
    ++*counts_;
    if (left > 0) *counts_ += context().Send(count, left - 1).ok() ? 0 : 100;
  }
  int* const counts_;
  Behavior counting_{"counting", On(count, &Countdown::Count)};
};

TEST_F(EarlyMailTest, AnActorSendsToItselfFromStartOn) {
  int counts = 0;
  system().Spawn<Countdown>(&counts);
  system().RunUntilIdle();
  EXPECT_EQ(counts, 4);
  EXPECT_DEATH(
      {
        system().Spawn<Countdown>(&counts, true);
        system().RunUntilIdle();
      },
      "an actor sends to itself from Start on");
}

}  // namespace
}  // namespace understudy
