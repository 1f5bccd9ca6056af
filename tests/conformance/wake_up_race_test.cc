// The rows of the papers on event-based actors and on selectors that no wake-up is lost. Each runs with many seeds,
// many times on threads (rounds.h), and once with very many messages. The other rows of these papers are in
// eba_receive_test.cc and sel_mailbox_test.cc.
#include <cstdint>
#include <thread>
#include <utility>
#include <vector>

#include "absl/time/time.h"
#include "gtest/gtest.h"
#include "understudy/actors/actor.h"
#include "understudy/actors/actor_system.h"
#include "understudy/actors/testing/sanitized.h"
#include "understudy/tests/conformance/rounds.h"
#include "understudy/tests/conformance/scene.h"

namespace understudy {
namespace {

// Alternates between two receives. After the last message, it reports how many messages were out of order.
class Alternating final : public Actor {
 public:
  struct Item {
    int sender = 0;
    int number = 0;
  };
  Mailbox<"even", Item> even{this, {.capacity_messages = 1'000'000}};
  Mailbox<"odd", Item> odd{this, {.capacity_messages = 1'000'000}};
  Mailbox<"ready", Call<int, int>> ready{this};
  Mailbox<"done", Call<int, int>> done{this};
  Alternating(int senders, int each) : next_(static_cast<size_t>(senders)), total_(senders * each) {}
  StartResult Start() override { return Body(); }

 private:
  Task<> Body() {
    auto started = Receive(On(ready, [](int) { return 0; }));
    co_await started;
    for (int taken = 0; taken < total_; ++taken) {
      auto received = taken % 2 == 0 ? Receive(On(even, &Alternating::Even)) : Receive(On(odd, &Alternating::Odd));
      co_await received;
    }
    auto asked = Receive(On(done, [this](int) { return mistakes_; }));
    co_await asked;
  }
  void Even(const Item& item) { Check(item, next_[static_cast<size_t>(item.sender)].first); }
  void Odd(const Item& item) { Check(item, next_[static_cast<size_t>(item.sender)].second); }
  void Check(const Item& item, int& next) {
    if (item.number / 2 != next++) ++mistakes_;
  }
  std::vector<std::pair<int, int>> next_;
  int total_;
  int mistakes_ = 0;
};

// Senders send while their receiver, which alternates between two receives, becomes idle and is woken.
void SendAgainstReceive(ActorSystem& system, Random& random) {
  constexpr int kSenders = 3;
  constexpr int kEach = 6;
  Ref<Script> via = system.Spawn<Script>();
  Ref<Alternating> receiver = system.Spawn<Alternating>(kSenders, kEach);
  EXPECT_EQ(AnswerText(system.Ask(receiver[&Alternating::ready], 0, absl::Minutes(1))), "0");
  std::vector<Ref<Script>> senders;
  for (int sender = 0; sender < kSenders; ++sender) {
    senders.push_back(system.Spawn<Script>());
    Do(senders.back(), [receiver, via, sender, seed = random.Next()](Script& self) {
      Random pauses(seed);
      uint64_t turns = 0;
      for (int i = 0; i < kEach; ++i) {
        turns += pauses.Below(2);
        DoAfter(self, via, turns, [receiver, sender, i](Script&) {
          const auto channel = i % 2 == 0 ? receiver[&Alternating::even] : receiver[&Alternating::odd];
          EXPECT_TRUE(channel.Send({sender, i}).ok());
        });
      }
    });
  }
  EXPECT_EQ(AnswerText(system.Ask(receiver[&Alternating::done], 0, absl::Minutes(1))), "0") << "mistakes in the order";
  for (const Ref<Script>& sender : senders) system.Kill(sender.pid());
  system.Kill(via.pid());
  ExpectAllEnded(system);
}

// EBA 5
TEST(WakeUpRaceTest, NoWakeUpOfAReceiveIsLostWithEverySeed) { WithEverySeed(SendAgainstReceive); }
// EBA 5
TEST(WakeUpRaceTest, NoWakeUpOfAReceiveIsLostOnThreads) { OnThreads(SendAgainstReceive); }

// EBA 5
// Four senders send 250,000 messages each instead of 1e6, because this is a debug build; on the thread pool.
TEST(WakeUpRaceTest, NoWakeUpIsLostAndNoMessageIsHandledTwice) {
  constexpr int kSenders = 4;
  constexpr int kEach = kIsSanitized ? 10'000 : 250'000;
  ActorSystem system({.log = &LogSink::Null()});
  Ref<Alternating> receiver = system.Spawn<Alternating>(kSenders, kEach);
  // The receiver has started. Before its start it accepts only a few messages.
  EXPECT_EQ(*system.Ask(receiver[&Alternating::ready], 0, absl::Minutes(1)), 0);
  std::vector<std::thread> senders;
  for (int sender = 0; sender < kSenders; ++sender) {
    senders.emplace_back([receiver, sender] {
      for (int i = 0; i < kEach; ++i) {
        const auto channel = i % 2 == 0 ? receiver[&Alternating::even] : receiver[&Alternating::odd];
        EXPECT_TRUE(channel.Send({sender, i}).ok());
      }
    });
  }
  for (std::thread& sender : senders) sender.join();
  EXPECT_EQ(*system.Ask(receiver[&Alternating::done], 0, absl::Minutes(1)), 0) << "out of order";
  EXPECT_EQ(system.Ledger().waiting, 0);
}

// Counts items while `toggle` opens and closes the mailbox; also in `taken`, if that is not null.
class Flicker final : public Actor {
 public:
  Mailbox<"item", int> item{this, {.capacity_messages = 1'000'000}};
  Mailbox<"toggle", bool> toggle{this, {.capacity_messages = 1'000'000}};
  Mailbox<"count", Call<int, int>> count{this};
  explicit Flicker(Tally* taken = nullptr) : taken_(taken) {}
  StartResult Start() override { return open_; }

 private:
  void Take(int) {
    ++count_;
    if (taken_ != nullptr) taken_->Add();
  }
  Behavior Toggle(bool opens) { return opens ? open_ : closed_; }
  Tally* const taken_;
  int count_ = 0;
  Behavior open_{"open", On(item, &Flicker::Take), On(toggle, &Flicker::Toggle),
                 On(count, [this](int) { return count_; })};
  Behavior closed_{"closed", On(toggle, &Flicker::Toggle), On(count, [this](int) { return count_; })};
};

// Two actors send items, and two others open and close the mailbox and leave it open. Every item must be taken, also
// when no later message would wake the receiver.
void SendAgainstOpening(ActorSystem& system, Random& random) {
  constexpr int kActors = 2;
  constexpr int kEach = 6;
  Tally taken(system);
  Ref<Script> via = system.Spawn<Script>();
  Ref<Flicker> flicker = system.Spawn<Flicker>(&taken);
  std::vector<Ref<Script>> actors;
  for (int actor = 0; actor < 2 * kActors; ++actor) {
    const bool toggles = actor % 2 == 0;
    actors.push_back(system.Spawn<Script>());
    Do(actors.back(), [flicker, via, toggles, seed = random.Next()](Script& self) {
      Random choices(seed);
      uint64_t turns = 0;
      for (int i = 0; i < kEach; ++i) {
        turns += choices.Below(3);
        const bool opens = i == kEach - 1 || choices.Below(2) == 0;
        DoAfter(self, via, turns, [flicker, toggles, opens, i](Script&) {
          if (toggles) {
            flicker[&Flicker::toggle].Tell(opens);
          } else {
            flicker[&Flicker::item].Tell(i);
          }
        });
      }
    });
  }
  taken.Await(kActors * kEach);
  for (const Ref<Script>& actor : actors) system.Kill(actor.pid());
  for (const Pid pid : {via.pid(), flicker.pid()}) system.Kill(pid);
  ExpectAllEnded(system);
  EXPECT_EQ(taken.count(), kActors * kEach);
}

// SEL 3
TEST(WakeUpRaceTest, NoWakeUpIsLostBetweenSendsAndOpeningsWithEverySeed) { WithEverySeed(SendAgainstOpening); }
// SEL 3
TEST(WakeUpRaceTest, NoWakeUpIsLostBetweenSendsAndOpeningsOnThreads) { OnThreads(SendAgainstOpening); }

// SEL 3
// A million sends, openings and closings race on the thread pool. No wake-up may be lost.
TEST(WakeUpRaceTest, NoWakeUpIsLostBetweenSendsAndOpenings) {
  ActorSystem system({.log = &LogSink::Null()});
  Ref<Flicker> flicker = system.Spawn<Flicker>();
  // The receiver has started. Before its start it accepts only a few messages.
  EXPECT_EQ(*system.Ask(flicker[&Flicker::count], 0, absl::Minutes(1)), 0);
  constexpr int kEach = 250'000;
  std::vector<std::thread> threads;
  for (int thread = 0; thread < 2; ++thread) {
    threads.emplace_back([flicker] {
      for (int i = 0; i < kEach; ++i) flicker[&Flicker::item].Tell(i);
    });
    threads.emplace_back([flicker] {
      for (int i = 0; i < kEach; ++i) flicker[&Flicker::toggle].Tell(i % 3 == 0);
    });
  }
  for (std::thread& thread : threads) thread.join();
  flicker[&Flicker::toggle].Tell(true);
  // The call is handled in the order of arrival, so after all items.
  EXPECT_EQ(*system.Ask(flicker[&Flicker::count], 0, absl::Minutes(1)), 2 * kEach);
  EXPECT_TRUE(system.Ledger().balances()) << system.Ledger().ToString();
}

}  // namespace
}  // namespace understudy
