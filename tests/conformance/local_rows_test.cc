// Rows of several works that need only one process: shared messages, actors that get each other's channels before they
// start, secondary mailboxes, pids, and systems that are created and destroyed.
#include <algorithm>
#include <cstddef>
#include <cstdint>
#include <filesystem>
#include <iterator>
#include <memory>
#include <string>
#include <thread>
#include <utility>
#include <vector>

#include "absl/strings/str_cat.h"
#include "absl/time/time.h"
#include "gmock/gmock.h"
#include "gtest/gtest.h"
#include "understudy/actors/actor.h"
#include "understudy/actors/actor_system.h"
#include "understudy/actors/clock.h"
#include "understudy/actors/log_sink.h"
#include "understudy/actors/test_system.h"
#include "understudy/actors/testing/actor_test.h"
#include "understudy/actors/testing/sanitized.h"

namespace understudy {
namespace {

using ::testing::Each;
using LocalRowsTest = ActorTest;

// A payload that is sent to many actors and never copied.
struct Picture {
  Picture() = default;
  Picture(const Picture&) = delete;
  Picture& operator=(const Picture&) = delete;
  int pixels[1000] = {};
};
using Shared = std::shared_ptr<const Picture>;

class Viewer final : public Actor {
 public:
  Mailbox<"view", Shared> view{this};
  explicit Viewer(std::vector<const Picture*>* seen) : seen_(*seen) {}
  StartResult Start() override { return viewing_; }

 private:
  std::vector<const Picture*>& seen_;
  Behavior viewing_{"viewing", On(view, [this](const Shared& picture) { seen_.push_back(picture.get()); })};
};

// RPP 3
TEST_F(LocalRowsTest, OneImmutableMessageLiesInAHundredMailboxesAndIsNeverCopied) {
  constexpr size_t kViewers = 100;
  std::vector<const Picture*> seen;
  std::vector<Ref<Viewer>> viewers;
  for (size_t i = 0; i < kViewers; ++i) viewers.push_back(system().Spawn<Viewer>(&seen));
  const Shared picture = std::make_shared<const Picture>();
  for (const Ref<Viewer>& viewer : viewers) viewer[&Viewer::view].Tell(picture);
  EXPECT_EQ(picture.use_count(), static_cast<int64_t>(1 + kViewers)) << "the picture is queued in all mailboxes";
  system().RunUntilIdle();
  EXPECT_THAT(seen, ::testing::SizeIs(kViewers));
  EXPECT_THAT(seen, Each(picture.get()));
  EXPECT_EQ(picture.use_count(), 1);
}

// Greets all other guests on request.
class Guest final : public Actor {
 public:
  Mailbox<"others", std::vector<Ref<Guest>>> others{this};
  Mailbox<"greet", int> greet{this};
  Mailbox<"greeting", int> greeting{this};
  explicit Guest(int* heard) : heard_(*heard) {}
  StartResult Start() override { return waiting_; }

 private:
  Behavior Meet(const std::vector<Ref<Guest>>& all) {
    others_ = all;
    return meeting_;
  }
  void Greet() {
    for (const Ref<Guest>& other : others_) {
      if (other.pid() != context().Self()) other[&Guest::greeting].Tell(1);
    }
  }
  int& heard_;
  std::vector<Ref<Guest>> others_;
  // Messages that arrive before the guest knows the others stay queued.
  Behavior waiting_{"waiting", On(others, &Guest::Meet)};
  Behavior meeting_{"meeting", On(greet, &Guest::Greet), On(greeting, [this] { ++heard_; })};
};

// RPP 8
TEST_F(LocalRowsTest, AHundredActorsAreWiredToEachOtherBeforeTheyStartAndHearFromAllOthers) {
  constexpr size_t kGuests = 100;
  std::vector<int> heard(kGuests);
  std::vector<Ref<Guest>> guests;
  for (size_t i = 0; i < kGuests; ++i) guests.push_back(system().Spawn<Guest>(&heard[i]));
  for (const Ref<Guest>& guest : guests) guest[&Guest::greet].Tell(1);
  for (const Ref<Guest>& guest : guests) guest[&Guest::others].Tell(guests);
  EXPECT_THAT(heard, Each(0)) << "no guest has started";
  system().RunUntilIdle();
  EXPECT_THAT(heard, Each(static_cast<int>(kGuests) - 1));
  EXPECT_EQ(Ledger().waiting, 0);
}

// Each pulse admits three messages of `x` and two of `y`.
class Pulsed final : public Actor {
 public:
  Mailbox<"pulse", int> pulse{this};
  Mailbox<"x", int> x{this, {.capacity_messages = 10'000}};
  Mailbox<"y", int> y{this, {.capacity_messages = 10'000}};
  Pulsed(int* of_x, int* of_y) : of_x_(*of_x), of_y_(*of_y) {}
  StartResult Start() override { return Beat(); }

 private:
  Task<> Beat() {
    for (;;) {
      auto beat = Receive(On(pulse, [] {}));
      co_await beat;
      for (int i = 0; i < 3; ++i) {
        auto next = Receive(On(x, [this] { ++of_x_; }));
        co_await next;
      }
      for (int i = 0; i < 2; ++i) {
        auto next = Receive(On(y, [this] { ++of_y_; }));
        co_await next;
      }
    }
  }
  int& of_x_;
  int& of_y_;
};

// RPP 16
TEST_F(LocalRowsTest, SecondaryMailboxesCostNothingAndGiveSoManyForEachPulse) {
  int of_x = 0;
  int of_y = 0;
  Ref<Pulsed> pulsed = system().Spawn<Pulsed>(&of_x, &of_y);
  system().RunUntilIdle();
  for (int i = 0; i < 10'000; ++i) {
    pulsed[&Pulsed::x].Tell(i);
    pulsed[&Pulsed::y].Tell(i);
  }
  EXPECT_FALSE(system().seeded_executor().RunOne()) << "no turn without a pulse";
  int turns = 0;
  for (int i = 0; i < 1000; ++i) {
    pulsed[&Pulsed::pulse].Tell(i);
    while (system().seeded_executor().RunOne()) ++turns;
  }
  EXPECT_EQ(of_x, 3000);
  EXPECT_EQ(of_y, 2000);
  EXPECT_EQ(Ledger().waiting, 7000 + 8000);
  EXPECT_LE(turns, 1000);
}

class Idler final : public Actor {
 public:
  Mailbox<"unused", int> unused{this};
  StartResult Start() override { return idling_; }

 private:
  Behavior idling_{"idling", On(unused, [] {})};
};

// SEL 17
// Three systems spawn 70,000 actors each, half of which stay alive. These are more than 16 bits can distinguish.
TEST_F(LocalRowsTest, PidsOfThreeSystemsAreUniqueBeyondSixteenBits) {
  constexpr int kEach = kIsSanitized ? 7000 : 70'000;
  std::vector<std::unique_ptr<TestSystem>> systems;
  std::vector<std::string> pids;
  for (uint64_t i = 0; i < 3; ++i) systems.push_back(std::make_unique<TestSystem>(i + 1, absl::StrCat("place-", i)));
  for (const auto& one : systems) {
    for (int n = 0; n < kEach; ++n) {
      const Ref<Idler> idler = one->Spawn<Idler>();
      pids.push_back(idler.pid().ToString());
      EXPECT_THAT(pids.back(), ::testing::HasSubstr(std::string(one->name())))
          << "the pid must contain the name of its system";
      if (n % 2 == 0) one->Kill(idler.pid());
      if (n % 1000 == 0) one->RunUntilIdle();
    }
  }
  std::sort(pids.begin(), pids.end());
  EXPECT_EQ(std::adjacent_find(pids.begin(), pids.end()), pids.end());
}

// Takes even numbers and drops the others. Counts words.
class Evens final : public Actor {
 public:
  Mailbox<"number", int> number{this};
  Mailbox<"word", std::string> word{this};
  Evens(std::vector<int>* numbers, int* words) : numbers_(*numbers), words_(*words) {}
  StartResult Start() override { return sorting_; }

 private:
  std::vector<int>& numbers_;
  int& words_;
  Behavior sorting_{"sorting",
                    On(number, [this](int n) { numbers_.push_back(n); }).If([](const int& n) { return n % 2 == 0; }),
                    Drop(number), On(word, [this] { ++words_; })};
};

// Returns its message to the mailbox and switches to its other behavior, `yields` times; then it takes the message.
class Yielding final : public Actor {
 public:
  Mailbox<"item", int> item{this};
  Yielding(int yields, int* yielded, std::vector<int>* taken) : left_(yields), yielded_(*yielded), taken_(*taken) {}
  StartResult Start() override { return one_; }

 private:
  void Take(int n, const Behavior& other) {
    if (left_ == 0) {
      taken_.push_back(n);
      return;
    }
    --left_;
    ++yielded_;
    context().Postpone();
    Become(other);
  }
  int left_;
  int& yielded_;
  std::vector<int>& taken_;
  Behavior one_{"one", On(item, [this](int n) { Take(n, other_); })};
  Behavior other_{"other", On(item, [this](int n) { Take(n, one_); })};
};

// RPP 7
TEST_F(LocalRowsTest, AMessageThatIsGivenBackComesFirstAndOthersRunMeanwhile) {
  constexpr int kYields = 100'000;
  int yielded = 0;
  std::vector<int> taken;
  std::vector<const Picture*> seen;
  Ref<Yielding> yielding = system().Spawn<Yielding>(kYields, &yielded, &taken);
  Ref<Viewer> other = system().Spawn<Viewer>(&seen);
  system().RunUntilIdle();
  for (const int n : {1, 2, 3}) yielding[&Yielding::item].Tell(n);
  other[&Viewer::view].Tell(std::make_shared<const Picture>());
  while (seen.empty()) ASSERT_TRUE(system().seeded_executor().RunOne());
  EXPECT_LT(yielded, kYields) << "a turn must end although its actor has more messages";
  EXPECT_EQ(Ledger().waiting, 3);
  system().RunUntilIdle();
  EXPECT_EQ(yielded, kYields);
  EXPECT_THAT(taken, ::testing::ElementsAre(1, 2, 3));
}

// RPP 6
TEST_F(LocalRowsTest, WhatNoClauseTakesIsDroppedCountedAndSeenByNoOtherClause) {
  std::vector<int> numbers;
  int words = 0;
  Ref<Evens> evens = system().Spawn<Evens>(&numbers, &words);
  for (int n = 1; n <= 10; ++n) evens[&Evens::number].Tell(n);
  evens[&Evens::word].Tell("word");
  Ref<Idler>(evens.pid())[&Idler::unused].Tell(1);
  system().RunUntilIdle();
  EXPECT_THAT(numbers, ::testing::ElementsAre(2, 4, 6, 8, 10));
  EXPECT_EQ(words, 1);
  EXPECT_EQ(Ledger().of(Disposition::kDropped), 5);
  EXPECT_THAT(dead_letters(), ::testing::SizeIs(1)) << "there is no catch-all mailbox";
}

class Speaker : public Actor {
 public:
  Mailbox<"speak", Call<int, int>> speak{this};
  StartResult Start() override { return speaking_; }

 protected:
  virtual int Volume() const { return 1; }

 private:
  Behavior speaking_{"speaking", On(speak, [this](int n) { return n * Volume(); })};
};
class LoudSpeaker : public Speaker {
 protected:
  int Volume() const override { return 2; }
};
class LouderSpeaker final : public LoudSpeaker {
 protected:
  int Volume() const override { return 3; }
};

// CFA 15
TEST_F(LocalRowsTest, AClassDerivedFromAnActorsClassIsAnActorWithItsMailboxes) {
  EXPECT_EQ(*Ask(system().Spawn<LoudSpeaker>()[&LoudSpeaker::speak], 1), 2);
  EXPECT_EQ(*Ask(system().Spawn<LouderSpeaker>()[&LouderSpeaker::speak], 1), 3);
}

std::ptrdiff_t EntriesOf(const char* folder) {
  return std::distance(std::filesystem::directory_iterator(folder), std::filesystem::directory_iterator());
}

// RPP 29; CFA 13
TEST(SystemsTest, AHundredThatBeganAndEndedLeaveNoThreadAndNoDescriptorBehind) {
  std::ptrdiff_t threads = 0;
  std::ptrdiff_t descriptors = 0;
  for (int cycle = 0; cycle < 100; ++cycle) {
    ActorSystemOptions options;
    options.log = &LogSink::Null();
    options.threads.threads = 1 + cycle % 3;
    {
      ActorSystem system(options);
      const Ref<LoudSpeaker> speaker = system.Spawn<LoudSpeaker>();
      for (int i = 0; i < 10; ++i) {
        ASSERT_EQ(system.Ask(speaker[&LoudSpeaker::speak], i, absl::Minutes(1)).value_or(-1), 2 * i);
      }
      const MessageLedger ledger = system.Ledger();
      EXPECT_EQ(ledger.accepted, 10);
      EXPECT_EQ(ledger.of(Disposition::kHandled), 10);
      ASSERT_TRUE(system.Shutdown(absl::Minutes(1)));
    }
    if (cycle == 9) {
      threads = EntriesOf("/proc/self/task");
      descriptors = EntriesOf("/proc/self/fd");
    }
  }
  // A joined thread may still be listed in /proc for a moment.
  const MonotonicTime deadline = Clock::Real().Now() + absl::Minutes(1);
  while (EntriesOf("/proc/self/task") > threads && Clock::Real().Now() < deadline) std::this_thread::yield();
  EXPECT_LE(EntriesOf("/proc/self/task"), threads);
  EXPECT_LE(EntriesOf("/proc/self/fd"), descriptors);
}

}  // namespace
}  // namespace understudy
