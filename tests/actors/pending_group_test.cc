// Awaiting several answers at once (PendingGroup), and asking a group.
#include "understudy/actors/pending_group.h"

#include <algorithm>
#include <cstdint>
#include <memory>
#include <string>
#include <tuple>
#include <utility>
#include <vector>

#include "absl/status/status.h"
#include "absl/status/statusor.h"
#include "absl/strings/str_cat.h"
#include "absl/time/time.h"
#include "gmock/gmock.h"
#include "gtest/gtest.h"
#include "understudy/actors/actor.h"
#include "understudy/actors/actor_system.h"
#include "understudy/actors/internal/turn/actor_core.h"
#include "understudy/actors/random.h"
#include "understudy/actors/test_system.h"
#include "understudy/actors/testing/actor_test.h"
#include "understudy/actors/testing/probe.h"
#include "understudy/actors/testing/seeds.h"
#include "understudy/tests/actors/script.h"

namespace understudy {
namespace {

using ::testing::ElementsAre;
using ::testing::HasSubstr;
using ::testing::IsEmpty;

using Oracle = Call<int, int>;

std::string Describe(const absl::StatusOr<int>& answer) {
  return answer.ok() ? std::to_string(*answer) : std::string(absl::StatusCodeToString(answer.status().code()));
}

size_t AsksUnderWay() { return internal::ActorCore::OfThisTurn().parts().asks().size(); }

class PendingGroupTest : public ActorTest {
 protected:
  void Run(Script::LongStep body) {
    RunTask(script_, std::move(body));
    system().RunUntilIdle();
  }
  std::vector<Channel<Oracle>> Oracles() { return {a_.channel(), b_.channel(), c_.channel()}; }
  void Note(const absl::StatusOr<int>& answer) { notes_.push_back(Describe(answer)); }

  std::vector<std::string> notes_;
  Ref<Script> script_ = system().Spawn<Script>(nullptr, nullptr, &notes_);
  Probe<Oracle> a_{system()};
  Probe<Oracle> b_{system()};
  Probe<Oracle> c_{system()};
};

TEST_F(PendingGroupTest, AllGivesATupleOfAnswersInTheirPlaces) {
  Probe<Call<int, std::string>> other(system());
  Run([&](Script& self) -> Task<> {
    auto asked_a = a_.channel().Ask(1, absl::Seconds(1));
    auto asked_other = other.channel().Ask(2, absl::Seconds(1));
    auto all = All(asked_a, asked_other);
    auto answers = co_await all;
    self.Note(absl::StrCat(*std::get<0>(answers), " ", *std::get<1>(answers), " ", AsksUnderWay()));
  });
  other.Receive()->replier.Reply(std::string("two"));
  system().RunUntilIdle();
  EXPECT_THAT(notes_, IsEmpty());
  a_.Receive()->replier.Reply(1);
  system().RunUntilIdle();
  EXPECT_THAT(notes_, ElementsAre("1 two 0"));
}

TEST_F(PendingGroupTest, APendingThatIsAwaitedAgainAfterItsDeadlineHasExpired) {
  Run([this](Script&) -> Task<> {
    auto first = a_.channel().Ask(1, absl::Seconds(1));
    Note(co_await first);
    auto second = b_.channel().Ask(1, absl::Seconds(2));
    Note(co_await second);
    Note(co_await first);
  });
  a_.Receive()->replier.Reply(7);
  system().Advance(absl::Seconds(2));
  EXPECT_THAT(notes_, ElementsAre("7", "DEADLINE_EXCEEDED", "DEADLINE_EXCEEDED"));
}

TEST_F(PendingGroupTest, AllWaitsForTheLastWhateverTheAnswersAre) {
  system().Kill(a_.pid());
  system().RunUntilIdle();
  Run([&](Script& self) -> Task<> {
    auto asked = AskAll(Oracles(), 7, absl::Seconds(1));
    auto all = All(asked);
    auto answers = co_await all;
    for (const absl::StatusOr<int>& answer : answers) Note(answer);
    self.Note(std::to_string(AsksUnderWay()));
  });
  EXPECT_EQ(b_.Receive()->request, 7);  // and its Replier is forgotten
  system().RunUntilIdle();
  EXPECT_THAT(notes_, IsEmpty());
  system().Advance(absl::Seconds(1));
  EXPECT_THAT(notes_, ElementsAre("NOT_FOUND", "INTERNAL", "DEADLINE_EXCEEDED", "0"));
}

TEST_F(PendingGroupTest, AllOfNoPendingsIsThereAtOnceAndTheOtherGroupsAreInvalid) {
  std::vector<absl::Status> refused;
  Run([&](Script& self) -> Task<> {
    const std::vector<Pending<int>> none;
    auto all = All(none);
    auto answers = co_await all;
    auto everything = All();
    std::tuple<> nothing = co_await everything;
    self.Note(absl::StrCat(answers.size(), " ", std::tuple_size_v<decltype(nothing)>));
    auto any = Any(none);
    auto first = co_await any;
    refused.push_back(first.answer.status());
    auto good = FirstOk(none);
    auto one = co_await good;
    refused.push_back(one.status());
    auto quorum = Quorum(2, none);
    auto two = co_await quorum;
    refused.push_back(two.status());
  });
  EXPECT_THAT(notes_, ElementsAre("0 0"));
  ASSERT_EQ(refused.size(), 3U);
  for (const absl::Status& status : refused) EXPECT_TRUE(absl::IsInvalidArgument(status)) << status;
  EXPECT_THAT(std::string(refused[2].message()), HasSubstr("2 good answers of 0 pendings cannot be waited for"));
}

TEST_F(PendingGroupTest, AnyGivesTheFirstAndTheOthersStayPending) {
  Run([&](Script& self) -> Task<> {
    auto asked = AskAll(Oracles(), 1, absl::Seconds(5));
    auto any = Any(asked);
    auto first = co_await any;
    self.Note(absl::StrCat(first.index, ": ", Describe(first.answer), ", ", AsksUnderWay(), " left"));
    asked[2].Cancel();
    absl::StatusOr<int> third = co_await asked[2];
    Note(third);
    absl::StatusOr<int> second = co_await asked[0];
    Note(second);
    self.Note(std::to_string(AsksUnderWay()));
  });
  b_.Receive()->replier.Reply(absl::DataLossError("bad, and yet the first"));
  system().RunUntilIdle();
  EXPECT_THAT(notes_, ElementsAre("1: DATA_LOSS, 2 left", "CANCELLED"));
  a_.Receive()->replier.Reply(10);
  system().RunUntilIdle();
  EXPECT_THAT(notes_, ElementsAre("1: DATA_LOSS, 2 left", "CANCELLED", "10", "0"));
}

TEST_F(PendingGroupTest, AnyInALoopGivesEachInTheOrderOfTheAnswers) {
  Run([&](Script&) -> Task<> {
    auto asked = AskAll(Oracles(), 1, absl::Seconds(5));
    auto pause = script_[&Script::ask].Ask(0, absl::Seconds(1));  // to itself: it is answered after a second
    (void)co_await pause;
    while (!asked.empty()) {
      auto any = Any(asked);
      auto next = co_await any;
      Note(next.answer);
      asked.erase(asked.begin() + static_cast<std::ptrdiff_t>(next.index));
    }
  });
  c_.Receive()->replier.Reply(3);
  a_.Receive()->replier.Reply(1);
  b_.Receive()->replier.Reply(2);
  system().Advance(absl::Seconds(1));
  EXPECT_THAT(notes_, ElementsAre("3", "1", "2"));
}

TEST_F(PendingGroupTest, FirstOkCancelsTheRest) {
  // The mailbox `ask` is never open, so a call waits there until it is cancelled.
  class Closed final : public Actor {
   public:
    Mailbox<"ask", Oracle> ask{this};
    StartResult Start() override {
      return Behavior("closed", After(absl::InfiniteDuration(), [] {}));
    }
  };
  Ref<Closed> closed = system().Spawn<Closed>();
  Run([&](Script& self) -> Task<> {
    auto asked =
        AskAll(std::vector<Channel<Oracle>>{closed[&Closed::ask], a_.channel(), b_.channel()}, 1, absl::Seconds(5));
    auto good = FirstOk(asked);
    absl::StatusOr<int> first = co_await good;
    Note(first);
    self.Note(std::to_string(AsksUnderWay()));
  });
  a_.Receive()->replier.Reply(absl::DataLossError("not good"));
  system().RunUntilIdle();
  EXPECT_THAT(notes_, IsEmpty());
  b_.Receive()->replier.Reply(2);
  system().RunUntilIdle();
  EXPECT_THAT(notes_, ElementsAre("2", "0"));
  EXPECT_EQ(Ledger().of(Disposition::kCancelled), 1) << "the call that waited";
}

TEST_F(PendingGroupTest, WhenAllFailTheStatusNamesThem) {
  absl::Status status;
  system().Kill(b_.pid());
  system().RunUntilIdle();
  Run([&](Script& self) -> Task<> {
    auto asked = AskAll(Oracles(), 1, absl::Seconds(5));
    auto good = FirstOk(asked);
    absl::StatusOr<int> first = co_await good;
    status = first.status();
    self.Note(std::to_string(AsksUnderWay()));
  });
  a_.Receive()->replier.Reply(absl::DataLossError("disk"));
  c_.Receive()->replier.Reply(absl::NotFoundError("key"));
  system().RunUntilIdle();
  EXPECT_EQ(status.code(), absl::StatusCode::kUnavailable);
  EXPECT_THAT(std::string(status.message()), HasSubstr("1 good answers of 3 were needed, 0 came"));
  EXPECT_THAT(std::string(status.message()), HasSubstr(absl::StrCat("[0] ", a_.pid().ToString(), " DATA_LOSS: disk")));
  EXPECT_THAT(std::string(status.message()), HasSubstr(absl::StrCat("[1] ", b_.pid().ToString(), " NOT_FOUND")));
  EXPECT_THAT(std::string(status.message()), HasSubstr(absl::StrCat("[2] ", c_.pid().ToString(), " NOT_FOUND: key")));
  EXPECT_THAT(notes_, ElementsAre("0"));
  // Alike, they keep their code; and a long list is cut.
  Run([&](Script&) -> Task<> {
    auto asked = AskAll(std::vector<Channel<Oracle>>(20), 1, absl::Seconds(5));
    auto good = FirstOk(asked);
    absl::StatusOr<int> first = co_await good;
    status = first.status();
  });
  EXPECT_EQ(status.code(), absl::StatusCode::kNotFound) << status;
  EXPECT_THAT(std::string(status.message()), HasSubstr("; and 12 more"));
}

TEST_F(PendingGroupTest, AQuorumIsTheFirstOkOnes) {
  Run([&](Script& self) -> Task<> {
    auto asked = AskAll(Oracles(), 1, absl::Seconds(5));
    auto quorum = Quorum(2, asked);
    absl::StatusOr<std::vector<int>> two = co_await quorum;
    self.Note(absl::StrCat((*two)[0], " ", (*two)[1], " ", AsksUnderWay()));
  });
  c_.Receive()->replier.Reply(3);
  system().RunUntilIdle();
  EXPECT_THAT(notes_, IsEmpty());
  a_.Receive()->replier.Reply(1);
  system().RunUntilIdle();
  EXPECT_THAT(notes_, ElementsAre("3 1 0"));
}

TEST_F(PendingGroupTest, AQuorumThatCannotComeFailsAtOnce) {
  absl::Status status;
  Run([&](Script& self) -> Task<> {
    auto asked = AskAll(Oracles(), 1, absl::Seconds(5));
    auto quorum = Quorum(2, asked);
    absl::StatusOr<std::vector<int>> two = co_await quorum;
    status = two.status();
    self.Note(std::to_string(AsksUnderWay()));
  });
  c_.Receive()->replier.Reply(absl::DataLossError("disk"));
  const MonotonicTime before = system().Now();
  (void)a_.Receive();  // forgets its Replier
  system().RunUntilIdle();
  EXPECT_EQ(system().Now(), before);
  EXPECT_THAT(notes_, ElementsAre("0"));
  EXPECT_EQ(status.code(), absl::StatusCode::kUnavailable) << status;
  EXPECT_THAT(std::string(status.message()), HasSubstr("2 good answers of 3 were needed, 0 came"));
  Run([&](Script& self) -> Task<> {
    auto asked = AskAll(Oracles(), 1, absl::Seconds(5));
    auto quorum = Quorum(4, asked);
    absl::StatusOr<std::vector<int>> four = co_await quorum;
    status = four.status();
    self.Note(std::to_string(AsksUnderWay()));
  });
  EXPECT_TRUE(absl::IsInvalidArgument(status)) << status;
  EXPECT_EQ(notes_.back(), "0");
}

TEST_F(PendingGroupTest, TheAskersDeathCancelsWhatItsGroupWaitsFor) {
  class Closed final : public Actor {
   public:
    Mailbox<"ask", Oracle> ask{this};
    StartResult Start() override {
      return Behavior("closed", After(absl::InfiniteDuration(), [] {}));
    }
  };
  Ref<Closed> closed = system().Spawn<Closed>();
  Run([&](Script&) -> Task<> {
    auto asked = AskAll(std::vector<Channel<Oracle>>{closed[&Closed::ask], a_.channel(), closed[&Closed::ask]}, 1,
                        absl::Hours(1));
    auto all = All(asked);
    (void)co_await all;
  });
  system().Kill(script_.pid());
  system().RunUntilIdle();
  EXPECT_EQ(Ledger().of(Disposition::kCancelled), 2);
  EXPECT_EQ(Ledger().waiting, 0);
}

using PendingGroupDeathTest = PendingGroupTest;

TEST_F(PendingGroupDeathTest, APendingIsInOneGroupOnce) {
  EXPECT_DEATH(Run([&](Script&) -> Task<> {
                 auto asked = a_.channel().Ask(1, absl::Seconds(5));
                 auto twice = All(asked, asked);
                 (void)co_await twice;
               }),
               "twice in one group");
}

TEST_F(PendingGroupDeathTest, AGroupIsAwaitedOnce) {
  EXPECT_DEATH(Run([&](Script&) -> Task<> {
                 auto asked = a_.channel().Ask(1, absl::ZeroDuration());
                 auto all = All(asked);
                 (void)co_await all;
                 (void)co_await all;
               });
               system().Advance(absl::Seconds(1)), "a group is awaited a second time");
}

TEST_F(PendingGroupTest, AQuorumOfNoneIsThereAtOnce) {
  Run([&](Script&) -> Task<> {
    auto none = AskAll(Oracles(), 1, absl::Seconds(5));
    auto quorum = Quorum(0, none);
    auto answers = co_await quorum;
    Note(answers.status());
  });
  EXPECT_EQ(notes_.size(), 1U);
}

// Answers after some time, well or not, or never, or ends.
class Fickle final : public Actor {
 public:
  Mailbox<"ask", Oracle> ask{this};
  explicit Fickle(uint64_t seed) : random_(seed) {}
  StartResult Start() override { return open_; }

 private:
  absl::Status Answer(int question, Replier<int> replier) {
    const uint64_t disposition = random_.Below(10);
    if (disposition == 0) return Fail(absl::DataLossError("fickle"));
    if (disposition == 1) return absl::OkStatus();  // forgets it
    auto held = std::make_shared<Replier<int>>(std::move(replier));
    return context().StartTimer(absl::StrCat(++timers_), absl::Milliseconds(random_.Below(150)), [=] {
      disposition < 6 ? held->Reply(question) : held->Reply(absl::NotFoundError("no"));
    });
  }
  Random random_;
  int timers_ = 0;
  Behavior open_{"open", On(ask, &Fickle::Answer)};
};

// Checks that the result of each kind of group follows from the results of its members.
Task<> AskInEveryWay(Script& self, std::vector<Ref<Fickle>> fickle, uint64_t seed) {
  Random random(seed);
  for (int round = 0; round < 20; ++round) {
    std::vector<Pending<int>> asked;
    const size_t n = 1 + random.Below(5);
    for (size_t i = 0; i < n; ++i) {
      asked.push_back(
          fickle[random.Below(fickle.size())][&Fickle::ask].Ask(static_cast<int>(i), absl::Milliseconds(100)));
    }
    switch (random.Below(4)) {
      case 0: {
        auto all = All(asked);
        auto answers = co_await all;
        EXPECT_EQ(answers.size(), n);
        for (size_t i = 0; i < n; ++i) EXPECT_TRUE(!answers[i].ok() || *answers[i] == static_cast<int>(i));
        break;
      }
      case 1: {
        auto any = Any(asked);
        auto first = co_await any;
        EXPECT_LT(first.index, n);
        EXPECT_TRUE(!first.answer.ok() || *first.answer == static_cast<int>(first.index));
        for (size_t i = 0; i < n; ++i) {
          if (i == first.index) continue;
          if (random.Below(2) == 0) asked[i].Cancel();
          (void)co_await asked[i];
        }
        break;
      }
      case 2: {
        auto good = FirstOk(asked);
        auto first = co_await good;
        EXPECT_TRUE(!first.ok() || *first < static_cast<int>(n));
        break;
      }
      default: {
        const size_t needed = 1 + random.Below(n);
        auto quorum = Quorum(needed, asked);
        auto some = co_await quorum;
        if (some.ok()) {
          EXPECT_EQ(some->size(), needed);
        }
      }
    }
    EXPECT_EQ(AsksUnderWay(), 0U);
  }
  self.Note("done");
}

TEST(PendingGroupSeedsTest, EverySlotIsFreedHoweverTheAnswersCome) {
  ForEachSeed(300, [](uint64_t seed) {
    TestSystem system(seed);
    std::vector<std::string> notes;
    Ref<Script> script = system.Spawn<Script>(nullptr, nullptr, &notes);
    std::vector<Ref<Fickle>> fickle;
    for (uint64_t i = 0; i < 3; ++i) fickle.push_back(system.Spawn<Fickle>(seed * 3 + i));
    RunTask(script, [&](Script& self) { return AskInEveryWay(self, fickle, seed); });
    system.Advance(absl::Seconds(10));
    EXPECT_THAT(notes, ElementsAre("done"));
    ExpectNothingLost(system);
  });
}

// Asks all others, again and again, on threads.
class Summer final : public Actor {
 public:
  Mailbox<"sum", Call<int, int64_t>> sum{this};
  explicit Summer(std::vector<Channel<Oracle>> others) : others_(std::move(others)) {}
  StartResult Start() override { return open_; }

 private:
  Task<absl::StatusOr<int64_t>> Sum(int rounds) {
    int64_t total = 0;
    for (int i = 0; i < rounds; ++i) {
      auto asked = AskAll(others_, i, absl::Minutes(1));
      auto all = All(asked);
      auto answers = co_await all;
      for (const absl::StatusOr<int>& answer : answers) {
        if (!answer.ok()) co_return answer.status();
        total += *answer;
      }
      auto again = AskAll(others_, i, absl::Minutes(1));
      auto good = FirstOk(again);
      absl::StatusOr<int> first = co_await good;
      if (!first.ok()) co_return first.status();
    }
    co_return total;
  }
  std::vector<Channel<Oracle>> others_;
  Behavior open_{"open", On(sum, &Summer::Sum)};
};
class Echo final : public Actor {
 public:
  Mailbox<"ask", Oracle> ask{this};
  StartResult Start() override { return open_; }

 private:
  Behavior open_{"open", On(ask, [](int n) { return n; })};
};

TEST(PendingGroupThreadsTest, GroupsOnThreadsGetEveryAnswer) {
  ActorSystem system({.threads = {.threads = 4}});
  std::vector<Channel<Oracle>> echoes;
  for (int i = 0; i < 5; ++i) echoes.push_back(system.Spawn<Echo>()[&Echo::ask]);
  std::vector<Ref<Summer>> summers;
  for (int i = 0; i < 4; ++i) summers.push_back(system.Spawn<Summer>(echoes));
  std::vector<absl::StatusOr<int64_t>> sums;
  for (const Ref<Summer>& summer : summers) {
    sums.push_back(system.Ask(summer[&Summer::sum], 200, absl::Minutes(5)));
  }
  for (const absl::StatusOr<int64_t>& sum : sums) {
    ASSERT_TRUE(sum.ok()) << sum.status();
    EXPECT_EQ(*sum, 5 * 199 * 200 / 2);
  }
}

}  // namespace
}  // namespace understudy
