// Guards and predicates are code of the receiver: they run in its turns (semantics 5), never in a send.
#include <atomic>
#include <cstdint>
#include <memory>
#include <ostream>
#include <string>
#include <thread>
#include <vector>

#include "absl/time/time.h"
#include "gtest/gtest.h"
#include "understudy/actors/actor.h"
#include "understudy/actors/actor_system.h"

namespace understudy {
namespace {

// True while this thread runs a sender's code.
thread_local bool is_sending = false;

class Sending {
 public:
  Sending() { is_sending = true; }
  ~Sending() { is_sending = false; }
};

struct Counts {
  std::atomic<int64_t> looks{0};
  std::atomic<int64_t> looks_of_senders{0};
  std::atomic<int64_t> looks_at_once{0};  // of two threads
  std::atomic<int> looking{0};

  // Each guard and predicate calls this function.
  void Look() {
    looks.fetch_add(1, std::memory_order_relaxed);
    if (is_sending) looks_of_senders.fetch_add(1, std::memory_order_relaxed);
    if (looking.fetch_add(1) != 0) looks_at_once.fetch_add(1, std::memory_order_relaxed);
    looking.fetch_sub(1);
  }
};

constexpr MailboxOptions kLarge = {.capacity_messages = 1'000'000};

// The mailboxes and functions of all receivers.
class Receiver : public Actor {
 public:
  Mailbox<"item", int> item{this, kLarge};
  Mailbox<"any", int> any{this, kLarge};
  Mailbox<"count", Call<int, int>> count{this};

  explicit Receiver(Counts* counts) : counts_(counts) {}

 protected:
  bool LookWhenOpen() const {
    counts_->Look();
    return true;
  }
  bool LookAt(int n, int remainder) const {
    counts_->Look();
    return n % 3 == remainder;
  }
  void Take(int) { ++taken_; }
  int Count(int) { return taken_; }
  void Classify(int n) { context().Forward(item, n); }

  Counts* const counts_;
  int taken_ = 0;
};

// Takes items by predicates, and calls under a guard. Messages in `any` are forwarded to `item`.
class Behaving final : public Receiver {
 public:
  using Receiver::Receiver;
  StartResult Start() override { return taking_; }

 private:
  Behavior taking_{"taking",
                   On(item, &Behaving::Take).If([this](int n) { return LookAt(n, 0); }),
                   On(item, &Behaving::Take).If([this](int n) { return LookAt(n, 1); }),
                   On(item, &Behaving::Take).If([this](int n) { return LookAt(n, 2); }),
                   On(any, &Behaving::Classify).If([this](int n) { return LookAt(n, n % 3); }),
                   On(count, &Behaving::Count).When(&Behaving::LookWhenOpen)};
};

// The same receiver in the process style.
class Receiving final : public Receiver {
 public:
  using Receiver::Receiver;
  StartResult Start() override { return Body(); }

 private:
  Task<> Body() {
    for (;;) {
      auto next = Receive(On(item, [this](int n) { Take(n); }).If([this](int n) { return LookAt(n, n % 3); }),
                          On(any, [this](int n) { Classify(n); }).If([this](int n) { return LookAt(n, n % 3); }),
                          On(count, [this](int n) { return Count(n); }));
      co_await next;
    }
  }
};

// Sends as often as it is told, in one handler.
class Sender final : public Actor {
 public:
  Mailbox<"send", Call<int, int>> send{this};
  explicit Sender(Channel<int> to) : to_(to) {}
  StartResult Start() override { return sending_; }

 private:
  int Send(int times) {
    const Sending sending;
    for (int i = 0; i < times; ++i) to_.Tell(i);
    return times;
  }
  const Channel<int> to_;
  Behavior sending_{"sending", On(send, &Sender::Send)};
};

struct Case {
  std::string name;
  Ref<Receiver> (*spawn)(ActorSystem& system, Counts* counts);
  Mailbox<"item", int> Receiver::* plain = nullptr;  // where the senders send; null: to the classifier

  Channel<int> Of(Ref<Receiver> receiver) const {
    return plain == nullptr ? receiver[&Receiver::any] : receiver[&Receiver::item];
  }
  friend void PrintTo(const Case& self, std::ostream* out) { *out << self.name; }
};

template <class A>
Ref<Receiver> SpawnReceiver(ActorSystem& system, Counts* counts) {
  return Ref<Receiver>(system.Spawn<A>(counts).pid());
}

class PredicateThreadsTest : public testing::TestWithParam<Case> {
 protected:
  static constexpr absl::Duration kLong = absl::Minutes(5);

  PredicateThreadsTest() : receiver_(GetParam().spawn(system_, &counts_)), to_(GetParam().Of(receiver_)) {}

  int Taken() {
    const absl::StatusOr<int> taken = system_.Ask(receiver_[&Receiver::count], 0, kLong);
    EXPECT_TRUE(taken.ok()) << taken.status();
    return taken.value_or(-1);
  }
  // Passed on and handled too.
  void AwaitTaken(int count) {
    while (Taken() != count && !HasFailure()) {
    }
  }
  void ExpectLookedAtInItsTurnsOnly(int messages) {
    EXPECT_GE(counts_.looks, messages);
    EXPECT_EQ(counts_.looks_of_senders, 0);
    EXPECT_EQ(counts_.looks_at_once, 0);
  }

  Counts counts_;
  ActorSystem system_{{.threads = {.threads = 3}}};
  const Ref<Receiver> receiver_;
  const Channel<int> to_;
};

// Nothing waits and hardly a turn still runs: the send claims its receiver and hands the message over.
TEST_P(PredicateThreadsTest, NoPredicateRunsInASendThatFindsItsReceiverIdle) {
  constexpr int kSends = 2000;
  const Ref<Sender> sender = system_.Spawn<Sender>(to_);
  for (int i = 0; i < kSends; ++i) {
    if (i % 2 == 0) {
      const Sending sending;
      to_.Tell(i);
    } else {
      ASSERT_TRUE(system_.Ask(sender[&Sender::send], 1, kLong).ok());
    }
    AwaitTaken(i + 1);
  }
  ExpectLookedAtInItsTurnsOnly(kSends);
}

TEST_P(PredicateThreadsTest, NoPredicateRunsInTheSendsOfManySenders) {
  constexpr int kThreads = 3;
  constexpr int kActors = 3;
  constexpr int kRounds = 20;
  constexpr int kEach = 100;
  std::vector<std::thread> threads;
  threads.reserve(kThreads + kActors);
  for (int i = 0; i < kThreads; ++i) {
    threads.emplace_back([&] {
      const Sending sending;  // no turn runs on this thread
      for (int round = 0; round < kRounds; ++round) {
        for (int k = 0; k < kEach; ++k) to_.Tell(k);
        EXPECT_GE(Taken(), 0);
      }
    });
  }
  for (int i = 0; i < kActors; ++i) {
    threads.emplace_back([this, sender = system_.Spawn<Sender>(to_)] {
      for (int round = 0; round < kRounds; ++round) {
        EXPECT_TRUE(system_.Ask(sender[&Sender::send], kEach, kLong).ok());
      }
    });
  }
  for (std::thread& thread : threads) thread.join();
  constexpr int kAll = (kThreads + kActors) * kRounds * kEach;
  AwaitTaken(kAll);
  ExpectLookedAtInItsTurnsOnly(kAll);
}

INSTANTIATE_TEST_SUITE_P(Receivers, PredicateThreadsTest,
                         testing::Values(Case{"Behaviour", &SpawnReceiver<Behaving>, &Receiver::item},
                                         Case{"BehaviourByItsClassifier", &SpawnReceiver<Behaving>},
                                         Case{"Receive", &SpawnReceiver<Receiving>, &Receiver::item},
                                         Case{"ReceiveByItsClassifier", &SpawnReceiver<Receiving>}),
                         [](const auto& info) { return info.param.name; });

}  // namespace
}  // namespace understudy
