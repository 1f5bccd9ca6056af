// The rows of the event-based actors paper about receiving: a coroutine awaits a Receive, and messages in mailboxes
// that the Receive does not name stay queued. The row about a race is in wake_up_race_test.cc.
#include <functional>
#include <string>
#include <utility>
#include <vector>

#include "absl/status/statusor.h"
#include "absl/strings/str_cat.h"
#include "absl/time/time.h"
#include "gmock/gmock.h"
#include "gtest/gtest.h"
#include "understudy/actors/actor.h"
#include "understudy/actors/testing/actor_test.h"
#include "understudy/actors/testing/probe.h"
#include "understudy/actors/testing/sanitized.h"

namespace understudy {
namespace {

using ::testing::ElementsAre;
using ::testing::IsEmpty;
using ::testing::SizeIs;
using Text = std::string;
using EbaReceiveTest = ActorTest;

struct Increment {};
struct GetCount {};

class Counter final : public Actor {
 public:
  Mailbox<"increment", Increment> increment{this, {.capacity_messages = 1'000'000}};
  Mailbox<"get", Call<GetCount, int>> get{this};
  explicit Counter(bool* has_run) : has_run_(has_run) {}
  StartResult Start() override {
    *has_run_ = true;
    return counting_;
  }

 private:
  bool* has_run_;
  int count_ = 0;
  Behavior counting_{"counting", On(increment, [this] { ++count_; }), On(get, [this](GetCount) { return count_; })};
};

// EBA 1
// The row says "before start nothing runs"; here nothing runs before the actor's first turn.
TEST_F(EbaReceiveTest, ACounterCountsAndRunsNothingBeforeItIsStarted) {
  constexpr int kMessages = kIsSanitized ? 100'000 : 1'000'000;
  bool has_run = false;
  Ref<Counter> counter = system().Spawn<Counter>(&has_run);
  system().RunUntilIdle();
  EXPECT_TRUE(has_run);
  for (int i = 0; i < kMessages; ++i) counter[&Counter::increment].Tell({});
  EXPECT_EQ(*Ask(counter[&Counter::get], GetCount()), kMessages);
  has_run = false;
  Ref<Counter> idle = system().Spawn<Counter>(&has_run);
  idle[&Counter::increment].Tell({});
  EXPECT_FALSE(has_run);
  system().RunUntilIdle();
  EXPECT_TRUE(has_run);
}

// An actor whose body is a coroutine given by its test.
class Process final : public Actor {
 public:
  using Body = std::function<Task<>(Process&)>;
  Mailbox<"a", Text> a{this, {.capacity_messages = 200'000}};
  Mailbox<"b", Text> b{this, {.capacity_messages = 200'000}};
  explicit Process(Body body) : body_(std::move(body)) {}
  StartResult Start() override { return body_(*this); }

  using Actor::After;
  using Actor::context;
  using Actor::On;
  using Actor::Receive;

 private:
  Body body_;
};

class EbaProcessTest : public ActorTest {
 protected:
  EbaProcessTest() : out_(system(), {.capacity_messages = 200'000}) {}
  Ref<Process> Run(Process::Body body) {
    Ref<Process> process = system().Spawn<Process>(std::move(body));
    system().RunUntilIdle();
    return process;
  }

  Probe<Text> out_;
};

// EBA 2
TEST_F(EbaProcessTest, ReceiveTakesTheOldestItNamesAndTheFirstClauseThatMatches) {
  const Channel<Text> out = out_.channel();
  const auto pass = [out](const Text& text) { out.Tell(text); };
  Ref<Process> process = system().Spawn<Process>([pass, out](Process& self) -> Task<> {
    for (int i = 0; i < 2; ++i) {
      auto received = Process::Receive(Process::On(self.a, pass));
      co_await received;
    }
    for (int i = 0; i < 2; ++i) {
      auto received = Process::Receive(Process::On(self.b, pass));
      co_await received;
    }
    auto two = Process::Receive(
        Process::On(self.a, [out](const Text&) { out.Tell("first"); }).If([](const Text& text) { return text == "C"; }),
        Process::On(self.a, [out](const Text&) { out.Tell("second"); }));
    co_await two;
  });
  process[&Process::b].Tell("B1");
  process[&Process::a].Tell("A1");
  process[&Process::b].Tell("B2");
  process[&Process::a].Tell("A2");
  process[&Process::a].Tell("C");
  EXPECT_THAT(out_.ReceiveAll(), ElementsAre("A1", "A2", "B1", "B2", "first"));
}

// EBA 3
TEST_F(EbaProcessTest, ANestedReceiveKeepsWhatTheOuterOneBound) {
  const Channel<Text> out = out_.channel();
  Ref<Process> process = Run([out](Process& self) -> Task<> {
    int x = 0;
    auto outer = Process::Receive(Process::On(self.a, [&x](const Text& text) { x = std::stoi(text); }));
    co_await outer;
    int y = 0;
    auto inner = Process::Receive(Process::On(self.b, [&y](const Text& text) { y = std::stoi(text); }));
    co_await inner;
    out.Tell(absl::StrCat(x + y));
  });
  process[&Process::a].Tell("7");
  system().RunUntilIdle();
  process[&Process::b].Tell("5");
  EXPECT_THAT(out_.ReceiveAll(), ElementsAre("12"));
}

// EBA 4
TEST_F(EbaProcessTest, OnlyWhatAReceiveNamesWakesItsActor) {
  constexpr int kOthers = 100'000;
  const Channel<Text> out = out_.channel();
  const auto pass = [out](const Text& text) { out.Tell(text); };
  Ref<Process> process = Run([pass](Process& self) -> Task<> {
    for (int i = 0; i < 2; ++i) {
      auto awaited = Process::Receive(Process::On(self.a, [] {}));
      co_await awaited;
    }
    for (int i = 0; i < kOthers; ++i) {
      auto next = Process::Receive(Process::On(self.b, pass));
      co_await next;
    }
  });
  for (int i = 0; i < kOthers; ++i) process[&Process::b].Tell(absl::StrCat(i));
  EXPECT_FALSE(system().seeded_executor().RunOne()) << "a message that is not awaited must not cause a turn";
  process[&Process::a].Tell("a");
  EXPECT_TRUE(system().seeded_executor().RunOne());
  EXPECT_FALSE(system().seeded_executor().RunOne()) << "the awaited message must cause one turn";
  EXPECT_EQ(Ledger().waiting, kOthers);
  process[&Process::a].Tell("a");
  const std::vector<Text> all = out_.ReceiveAll();
  ASSERT_THAT(all, SizeIs(kOthers));
  for (size_t i = 0; i < kOthers; ++i) ASSERT_EQ(all[i], absl::StrCat(i));
}

// EBA 8
// Differs from the row: here Receive returns, so the statements after it run, with the received message, and no code is
// unreachable.
TEST_F(EbaProcessTest, WhatStandsAfterAReceiveRunsAfterIt) {
  const Channel<Text> out = out_.channel();
  Ref<Process> process = Run([out](Process& self) -> Task<> {
    out.Tell("before");
    Text got;
    auto received = Process::Receive(Process::On(self.a, [&got](const Text& text) { got = text; }));
    co_await received;
    out.Tell("after " + got);
  });
  out_.Expect("before");
  process[&Process::a].Tell("x");
  EXPECT_THAT(out_.ReceiveAll(), ElementsAre("after x"));
}

// EBA 9
TEST_F(EbaProcessTest, AQueuedMatchWinsOverATimeoutOfNothingAndNothingTimesOutAtOnce) {
  const Channel<Text> out = out_.channel();
  Ref<Process> process = system().Spawn<Process>([out](Process& self) -> Task<> {
    for (int i = 0; i < 2; ++i) {
      auto received = Process::Receive(Process::On(self.a, [out](const Text& text) { out.Tell(text); }),
                                       Process::After(absl::ZeroDuration(), [out] { out.Tell("timeout"); }));
      co_await received;
    }
  });
  process[&Process::a].Tell("match");
  const MonotonicTime before = system().Now();
  EXPECT_THAT(out_.ReceiveAll(), ElementsAre("match", "timeout"));
  EXPECT_EQ(system().Now(), before);
}

// EBA 9
TEST_F(EbaProcessTest, FlushLeavesNothingAndTheUrgentComesFirst) {
  const Channel<Text> out = out_.channel();
  Ref<Process> process = system().Spawn<Process>([out](Process& self) -> Task<> {
    // The priority idiom: take an urgent message if one is queued, otherwise any message.
    bool was_urgent = false;
    auto urgent = Process::Receive(Process::On(self.b,
                                               [&was_urgent, out](const Text& text) {
                                                 was_urgent = true;
                                                 out.Tell(text);
                                               }),
                                   Process::After(absl::ZeroDuration(), [] {}));
    co_await urgent;
    EXPECT_TRUE(was_urgent);
    // The flush idiom: receive with a zero timeout until the mailbox is empty.
    int flushed = 0;
    for (bool is_empty = false; !is_empty;) {
      auto next = Process::Receive(Process::On(self.a, [&flushed](const Text&) { ++flushed; }),
                                   Process::After(absl::ZeroDuration(), [&is_empty] { is_empty = true; }));
      co_await next;
    }
    out.Tell(absl::StrCat("flushed ", flushed));
    auto wait = Process::Receive(Process::On(self.b, [] {}));
    co_await wait;
  });
  for (int i = 0; i < 10; ++i) process[&Process::a].Tell("ordinary");
  process[&Process::b].Tell("urgent");
  EXPECT_THAT(out_.ReceiveAll(), ElementsAre("urgent", "flushed 10"));
  EXPECT_EQ(Ledger().waiting, 0);
  process[&Process::b].Tell("end");
}

// EBA 10
TEST_F(EbaProcessTest, ATimeoutFiresInSilenceAndEatsNothing) {
  const Channel<Text> out = out_.channel();
  const MonotonicTime begin = system().Now();
  Ref<Process> process = Run([out, begin](Process& self) -> Task<> {
    auto silence = Process::Receive(Process::On(self.a, [out](const Text& text) { out.Tell(text); }),
                                    Process::After(absl::Milliseconds(200), [out, begin, &self] {
                                      out.Tell(absl::StrCat(absl::ToInt64Milliseconds(self.context().Now() - begin)));
                                    }));
    co_await silence;
    auto next = Process::Receive(Process::On(self.a, [out](const Text& text) { out.Tell(text); }));
    co_await next;
  });
  system().Advance(absl::Milliseconds(300));
  process[&Process::a].Tell("late");
  EXPECT_THAT(out_.ReceiveAll(), ElementsAre("200", "late"));
}

// EBA 10
TEST_F(EbaProcessTest, AHundredThousandReceivesTimeOutEachAtItsTime) {
  constexpr int kWaiting = kIsSanitized ? 10'000 : 100'000;
  int fired = 0;
  for (int i = 0; i < kWaiting; ++i) {
    system().Spawn<Process>([i, &fired](Process& self) -> Task<> {
      auto silence = Process::Receive(Process::On(self.a, [] {}),
                                      Process::After(absl::Milliseconds(i % 1000), [&fired] { ++fired; }));
      co_await silence;
    });
  }
  system().Advance(absl::Milliseconds(499));
  EXPECT_EQ(fired, kWaiting / 2);
  system().Advance(absl::Seconds(1));
  EXPECT_EQ(fired, kWaiting);
}

// Starts `count` timers, each of which fires once.
class ManyTimers final : public Actor {
 public:
  ManyTimers(int count, int* fired) : count_(count), fired_(fired) {}
  StartResult Start() override {
    for (int i = 0; i < count_; ++i) {
      EXPECT_TRUE(context().StartTimer(absl::StrCat(i), absl::Milliseconds(i % 1000), [this] { ++*fired_; }).ok());
    }
    return Behavior("waiting", After(absl::Hours(1), [] {}));
  }

 private:
  int count_;
  int* fired_;
};

// EBA 10
TEST_F(EbaProcessTest, AHundredThousandTimersFireOnceEach) {
  int fired = 0;
  for (int actor = 0; actor < 100; ++actor) system().Spawn<ManyTimers>(1000, &fired);
  system().Advance(absl::Milliseconds(499));
  EXPECT_EQ(fired, 50'000);
  system().Advance(absl::Seconds(1));
  EXPECT_EQ(fired, 100'000);
}

}  // namespace
}  // namespace understudy
