// Tests of what a clause of a behavior may have, and of how many clauses there may be: callables of every size, several
// guards and predicates, several clauses for one array of mailboxes (behavior.h).
#include <array>
#include <cstddef>
#include <cstdint>
#include <functional>
#include <memory>
#include <stdexcept>
#include <string>
#include <utility>

#include "absl/status/status.h"
#include "absl/strings/str_cat.h"
#include "absl/time/time.h"
#include "gmock/gmock.h"
#include "gtest/gtest.h"
#include "understudy/actors/actor.h"
#include "understudy/actors/mailbox_array.h"
#include "understudy/actors/test_system.h"
#include "understudy/actors/testing/actor_test.h"
#include "understudy/actors/testing/probe.h"

namespace understudy {
namespace {

using ::testing::ElementsAre;
using ::testing::IsEmpty;

using ClauseTest = ActorTest;

// Counts its lives.
class Counted {
 public:
  explicit Counted(int* alive) : alive_(alive) { ++*alive_; }
  Counted(const Counted& other) : alive_(other.alive_) { ++*alive_; }
  Counted& operator=(const Counted&) = delete;
  ~Counted() { --*alive_; }

 private:
  int* alive_;
};

// Each of its handlers is of another size, and one cannot be copied.
class Sizes final : public Actor {
 public:
  Mailbox<"none", int> none{this};
  Mailbox<"inside", int> inside{this};
  Mailbox<"outside", int> outside{this};
  Mailbox<"move_only", int> move_only{this};
  Mailbox<"aligned", int> aligned{this};
  Sizes(Channel<std::string> out, int* alive) : out_(out), alive_(alive) {}
  StartResult Start() override { return Made(); }

 private:
  struct alignas(64) Line {
    std::array<char, 64> bytes{};
  };
  Behavior Made() {
    return Behavior("sizes", On(none, [] {}),
                    On(inside, [this, counted = Counted(alive_)](int n) { out_.Tell(absl::StrCat("inside ", n)); }),
                    On(outside, [this, counted = Counted(alive_), text = std::string(100, 'x')](
                                    int n) { out_.Tell(absl::StrCat(text.size(), " outside ", n)); }),
                    On(move_only, [this, owned = std::make_unique<int>(7)](
                                      int n) { out_.Tell(absl::StrCat(*owned, " move only ", n)); }),
                    On(aligned, [this, line = Line()](int n) {
                      const bool is_aligned = reinterpret_cast<uintptr_t>(&line) % alignof(Line) == 0;
                      out_.Tell(absl::StrCat(is_aligned ? "aligned " : "askew ", n));
                      Become(Made());  // the one that runs lives on until it has ended
                      out_.Tell(absl::StrCat(line.bytes.size()));
                    }));
  }

  const Channel<std::string> out_;
  int* const alive_;
};

TEST_F(ClauseTest, AHandlerMayBeOfAnySizeAndEndsWithItsBehaviour) {
  int alive = 0;
  Probe<std::string> out(system());
  Ref<Sizes> sizes = system().Spawn<Sizes>(out.channel(), &alive);
  for (int round = 1; round <= 2; ++round) {
    sizes[&Sizes::none].Tell(round);
    sizes[&Sizes::inside].Tell(round);
    sizes[&Sizes::outside].Tell(round);
    sizes[&Sizes::move_only].Tell(round);
    sizes[&Sizes::aligned].Tell(round);
  }
  EXPECT_THAT(out.ReceiveAll(), ElementsAre("inside 1", "100 outside 1", "7 move only 1", "aligned 1", "64", "inside 2",
                                            "100 outside 2", "7 move only 2", "aligned 2", "64"));
  EXPECT_EQ(alive, 2) << "those of the behaviour that it has";
  system().Exit(sizes.pid(), ExitReason::Shutdown());
  system().RunUntilIdle();
  EXPECT_EQ(alive, 0);
}

// Takes small even numbers while both its doors are open.
class Doors final : public Actor {
 public:
  Mailbox<"number", int> number{this};
  MailboxArray<"numbers", int> numbers{this, 2};
  Mailbox<"open", size_t> open{this};
  explicit Doors(Channel<int> out) : out_(out) {}
  StartResult Start() override { return taking_; }

 private:
  bool IsFirstOpen() const noexcept { return is_open_[0]; }
  bool IsOpen(size_t door) const { return is_open_[door]; }
  static bool IsSmall(int n) { return n < 10; }

  const Channel<int> out_;
  std::array<bool, 2> is_open_{};
  Behavior taking_{"taking",
                   On(number, [this](int n) { out_.Tell(n); })
                       .When(&Doors::IsFirstOpen)
                       .When([](const Doors& self) { return self.is_open_[1]; })
                       .If([](int n) { return n % 2 == 0; })
                       .If(&Doors::IsSmall),
                   On(numbers, [this](int n) { out_.Tell(-n); }).When(&Doors::IsFirstOpen).When(&Doors::IsOpen),
                   On(open, [this](size_t door) { is_open_[door] = true; })};
};

TEST_F(ClauseTest, OfSeveralGuardsAndPredicatesAllMustHold) {
  Probe<int> out(system());
  Ref<Doors> doors = system().Spawn<Doors>(out.channel());
  for (int n : {1, 2, 12, 4}) doors[&Doors::number].Tell(n);
  for (const char* door : {"0", "1"}) doors.At(&Doors::numbers, door).Tell(7);
  doors[&Doors::open].Tell(1);
  EXPECT_THAT(out.ReceiveAll(), IsEmpty());
  doors[&Doors::open].Tell(0);
  EXPECT_THAT(out.ReceiveAll(), ElementsAre(2, 4, -7, -7));
}

#if defined(__cpp_exceptions)
class Picky final : public Actor {
 public:
  Mailbox<"number", int> number{this};
  StartResult Start() override { return picky_; }

 private:
  static bool IsWanted(int n) {
    if (n == 3) throw std::runtime_error("three");
    return false;
  }
  Behavior picky_{"picky", On(number, [] {}).If(&Picky::IsWanted)};
};

TEST_F(ClauseTest, APredicateThatThrowsEndsTheActor) {
  Ref<Picky> picky = system().Spawn<Picky>();
  const ExitReason reason = EndOf(picky.pid(), [&] {
    for (int n : {1, 3, 2}) picky[&Picky::number].Tell(n);
  });
  EXPECT_EQ(reason.ToString(), "Exception(std::runtime_error: three)");
  EXPECT_EQ(dead_letters().size(), 3U);
}
#endif

// All the mailboxes there may be, in three arrays of clauses.
class Wide final : public Actor {
 public:
  static constexpr size_t kWidth = 64;
  MailboxArray<"lane", int> lanes{this, kWidth};
  explicit Wide(Channel<std::string> out) : out_(out) {}
  StartResult Start() override { return wide_; }

 private:
  std::function<void(int, size_t)> Taking(const char* how) {
    return [this, how](int n, size_t place) { out_.Tell(absl::StrCat(how, " ", n, " of ", place)); };
  }
  bool IsOdd(size_t place) const { return place % 2 == 1; }

  const Channel<std::string> out_;
  Behavior wide_{"wide", On(lanes, Taking("odd")).When(&Wide::IsOdd).If([](int n) { return n == 1; }),
                 On(lanes, Taking("urgent")).If([](int n) { return n == 2; }).RankByPlace(), Drop(lanes)};
};

TEST_F(ClauseTest, AnArrayOfSixtyFourMayHaveSeveralClausesOfWhichTheFirstThatHoldsTakes) {
  Probe<std::string> out(system());
  Ref<Wide> wide = system().Spawn<Wide>(out.channel());
  system().RunUntilIdle();
  for (const char* lane : {"0", "7", "62", "63"}) {
    for (int n = 0; n <= 2; ++n) wide.At(&Wide::lanes, lane).Tell(n);
  }
  EXPECT_THAT(out.ReceiveAll(), ElementsAre("urgent 2 of 63", "urgent 2 of 62", "urgent 2 of 7", "urgent 2 of 0",
                                            "odd 1 of 7", "odd 1 of 63"));
  EXPECT_EQ(Ledger().of(Disposition::kDropped), 6);
}

// Takes urgent letters first, although all letters are in one mailbox.
class Clerk final : public Actor {
 public:
  Mailbox<"letter", std::string> letter{this};
  Mailbox<"open", int> open{this};
  explicit Clerk(Channel<std::string> out) : out_(out) {}
  StartResult Start() override { return closed_; }

 private:
  static bool IsUrgent(const std::string& text) { return text[0] == '!'; }
  void Take(const std::string& text) { out_.Tell(text); }

  const Channel<std::string> out_;
  Behavior open_{"open", On(letter, &Clerk::Take).If(&Clerk::IsUrgent).Rank(1).Quota(2),
                 On(letter, &Clerk::Take).Quota(1)};
  Behavior closed_{"closed", On(open, [this](int) { Become(open_); })};
};

TEST_F(ClauseTest, ARankIsServedWhereverItsMessagesLieInTheirMailbox) {
  // semantics 2.8
  Probe<std::string> out(system());
  Ref<Clerk> clerk = system().Spawn<Clerk>(out.channel());
  for (const char* text : {"a", "b", "!c", "d", "!e", "!f"}) clerk[&Clerk::letter].Tell(text);
  clerk[&Clerk::open].Tell(1);
  EXPECT_THAT(out.ReceiveAll(), ElementsAre("!c", "!e", "a", "!f", "b", "d"));
}

class TooWide final : public Actor {
 public:
  MailboxArray<"lane", int> lanes{this, 64};
  StartResult Start() override {
    const auto drops = [](int) { return true; };
    return Behavior("too wide", Drop(lanes).If(drops), Drop(lanes).If(drops), Drop(lanes).If(drops), Drop(lanes));
  }
};

class RefusesForNoReason final : public Actor {
 public:
  Mailbox<"call", Call<int, int>> call{this};
  StartResult Start() override { return Behavior("x", Refuse(call, absl::OkStatus())); }
};

// The memory of an object that is being made is often zero, and so is the index of its first mailbox.
class TooEarly final : public Actor {
 public:
  Mailbox<"first", int> first{this};
  StartResult Start() override { return early_; }

 private:
  Behavior early_{"early", On(second, [](int) {})};

 public:
  Mailbox<"second", int> second{this};
};

TEST(ClauseDeathTest, ABehaviorThatCannotBeMadeDiesAndSaysWhy) {
  const auto start = []<class A>(A* /*actor*/) {
    TestSystem system;
    system.Spawn<A>();
    system.RunUntilIdle();
  };
  EXPECT_DEATH(start(static_cast<TooWide*>(nullptr)), "behavior too wide has 256 clauses; at most 255 are allowed");
  EXPECT_DEATH(start(static_cast<TooEarly*>(nullptr)), "declare behaviors after the mailboxes they use");
  EXPECT_DEATH(start(static_cast<RefusesForNoReason*>(nullptr)), "Refuse wants a status that is not OK");
}

// Two ranks; the upper has all the quota there may be, and more.
class Greedy final : public Actor {
 public:
  static constexpr int kMany = 70'000;
  Mailbox<"high", int> high{this, {.capacity_messages = kMany}};
  Mailbox<"low", int> low{this};
  explicit Greedy(Channel<int> out) : out_(out) {}
  StartResult Start() override { return greedy_; }

 private:
  const Channel<int> out_;
  int served_ = 0;
  Behavior greedy_{"greedy", On(high, [this](int) { ++served_; }).Rank(1).Quota(1'000'000),
                   On(low, [this](int) { out_.Tell(served_); })};
};

TEST_F(ClauseTest, AQuotaIsAtMostSixtyFiveThousandSoThatNoRankStarves) {
  Probe<int> out(system());
  Ref<Greedy> greedy = system().Spawn<Greedy>(out.channel());
  system().RunUntilIdle();
  for (int n = 0; n < Greedy::kMany; ++n) greedy[&Greedy::high].Tell(n);
  greedy[&Greedy::low].Tell(1);
  EXPECT_THAT(out.ReceiveAll(), ElementsAre(65'535));
}

// Has no mailbox in its behaviour, and a long name.
class Timed final : public Actor {
 public:
  explicit Timed(Channel<std::string> out) : out_(out) {}
  StartResult Start() override { return timed_; }

 private:
  const Channel<std::string> out_;
  Behavior timed_{absl::StrCat("begins", std::string(300, '.')),
                  After(absl::Seconds(1), [this] { out_.Tell(std::string(timed_.name())); }),
                  After(absl::InfiniteDuration(), [] {}), At(absl::InfiniteFuture(), [] {})};
};

TEST_F(ClauseTest, ABehaviourMayBeNothingButTimesAndKeeps255BytesOfItsName) {
  Probe<std::string> out(system());
  system().Spawn<Timed>(out.channel());
  system().Advance(absl::Seconds(2));
  EXPECT_THAT(out.ReceiveAll(), ElementsAre("begins" + std::string(249, '.')));
}

}  // namespace
}  // namespace understudy
