// The process style: an actor whose body is one coroutine that receives (semantics 3.8).
#include <memory>
#include <stdexcept>
#include <string>
#include <utility>

#include "absl/status/status.h"
#include "absl/status/statusor.h"
#include "absl/strings/str_cat.h"
#include "absl/time/time.h"
#include "gmock/gmock.h"
#include "gtest/gtest.h"
#include "understudy/actors/actor.h"
#include "understudy/actors/testing/actor_test.h"
#include "understudy/actors/testing/probe.h"

namespace understudy {
namespace {

using ::testing::ElementsAre;

using ProcessStyleTest = ActorTest;
using Text = std::string;

// Reads a header and then as many lines as it says, or times out.
class Protocol final : public Actor {
 public:
  Mailbox<"header", int> header{this};
  Mailbox<"line", Text> line{this};
  Mailbox<"status", Call<int, Text>> status{this};
  explicit Protocol(Channel<Text> out) : out_(out) {}
  StartResult Start() override { return Body(); }
  void OnExit(const ExitReason& reason) override { out_.Tell("exit " + reason.ToString()); }

 private:
  Task<> Body() {
    int lines = 0;
    auto first = Receive(On(header, [&](int n) { lines = n; }));
    co_await first;
    bool timed_out = false;
    while (lines > 0 && !timed_out) {
      auto next = Receive(On(line,
                             [&, prefix = std::make_unique<Text>("line ")](const Text& text) {
                               out_.Tell(*prefix + text);
                               --lines;
                             }),
                          On(status, [&](int) { return absl::StrCat(lines, " to go"); }),
                          After(absl::Seconds(5), [&] { timed_out = true; }));
      co_await next;
    }
    out_.Tell(timed_out ? "timed out" : "done");
  }
  Channel<Text> out_;
};

TEST_F(ProcessStyleTest, ReceivesWhatItNamesAndTheRestWaits) {
  Probe<Text> out(system());
  Ref<Protocol> protocol = system().Spawn<Protocol>(out.channel());
  protocol[&Protocol::line].Tell("a");
  out.ExpectNothing();
  protocol[&Protocol::header].Tell(2);
  EXPECT_THAT(out.ReceiveAll(), ElementsAre("line a"));
  EXPECT_EQ(*Ask(protocol[&Protocol::status], 1), "1 to go");
  protocol[&Protocol::line].Tell("b");
  EXPECT_THAT(out.ReceiveAll(), ElementsAre("line b", "done", "exit Normal"));
}

TEST_F(ProcessStyleTest, AfterEndsAReceiveAndCountsFromIt) {
  Probe<Text> out(system());
  Ref<Protocol> protocol = system().Spawn<Protocol>(out.channel());
  protocol[&Protocol::header].Tell(2);
  system().Advance(absl::Seconds(4));
  protocol[&Protocol::line].Tell("a");
  system().Advance(absl::Seconds(4));
  EXPECT_THAT(out.ReceiveAll(), ElementsAre("line a"));
  system().Advance(absl::Seconds(1));
  EXPECT_THAT(out.ReceiveAll(), ElementsAre("timed out", "exit Normal"));
}

// Receives by content: what matches a reference first.
class Selective final : public Actor {
 public:
  Mailbox<"item", int> item{this};
  explicit Selective(Channel<int> out) : out_(out) {}
  StartResult Start() override { return Body(); }

 private:
  Task<> Body() {
    for (int wanted = 1; wanted <= 3; ++wanted) {
      auto next = Receive(On(item, [this](int n) { out_.Tell(n); }).If([wanted](int n) { return n == wanted; }));
      co_await next;
    }
  }
  Channel<int> out_;
};

TEST_F(ProcessStyleTest, APredicateLetsTheOthersWait) {
  Probe<int> out(system());
  Ref<Selective> selective = system().Spawn<Selective>(out.channel());
  for (const int n : {3, 2, 1}) selective[&Selective::item].Tell(n);
  EXPECT_THAT(out.ReceiveAll(), ElementsAre(1, 2, 3));
}

// Both the handlers and the body await.
class Nested final : public Actor {
 public:
  Mailbox<"go", int> go{this};
  Nested(Channel<Text> out, Channel<Call<int, int>> oracle) : out_(out), oracle_(oracle) {}
  StartResult Start() override { return Body(); }

 private:
  Task<int> Question(int n) {
    auto asked = oracle_.Ask(n, absl::Seconds(1));
    absl::StatusOr<int> answer = co_await asked;
    co_return answer.value_or(-1);
  }
  Task<> Body() {
    for (int i = 0; i < 2; ++i) {
      auto next = Receive(On(go, [this](int n) -> Task<> {
        auto question = Question(n);
        const int answer = co_await question;
        out_.Tell(absl::StrCat("in handler ", answer));
      }));
      co_await next;
      auto question = Question(100);
      const int answer = co_await question;
      out_.Tell(absl::StrCat("in body ", answer));
    }
  }
  Channel<Text> out_;
  Channel<Call<int, int>> oracle_;
};

TEST_F(ProcessStyleTest, HandlersAndBodyMayAwaitAndTasksMayCallTasks) {
  Probe<Text> out(system());
  Probe<Call<int, int>> oracle(system());
  Ref<Nested> nested = system().Spawn<Nested>(out.channel(), oracle.channel());
  nested[&Nested::go].Tell(1);
  nested[&Nested::go].Tell(2);
  for (int i = 0; i < 4; ++i) {
    auto asked = oracle.Receive();
    ASSERT_TRUE(asked.has_value());
    asked->replier.Reply(asked->request * 10);
  }
  EXPECT_THAT(out.ReceiveAll(), ElementsAre("in handler 10", "in body 1000", "in handler 20", "in body 1000"));
}

TEST_F(ProcessStyleTest, ARequestToStopEndsItAtItsNextReceive) {
  // semantics 3.8
  Probe<Text> out(system());
  Ref<Protocol> protocol = system().Spawn<Protocol>(out.channel());
  protocol[&Protocol::header].Tell(1);
  system().RunUntilIdle();
  system().RequestStop(protocol.pid());
  out.Expect("exit Shutdown");
}

TEST_F(ProcessStyleTest, ItIsStartedAtItsFirstReceive) {
  class Parent final : public Actor {
   public:
    Mailbox<"unused", int> unused{this};
    explicit Parent(Channel<Text> out) : out_(out) {}
    StartResult Start() override {
      context().Spawn<Protocol>(SpawnOptions().OnOutcome([this](const SpawnOutcome& outcome) {
        out_.Tell(outcome.kind == SpawnOutcome::Kind::kStarted ? "started" : "not started");
      }),
                                out_);
      return Behavior("parent", On(unused, [] {}));
    }
    Channel<Text> out_;
  };
  Probe<Text> out(system());
  system().Spawn<Parent>(out.channel());
  out.Expect("started");
  system().RunUntilIdle();
}

TEST_F(ProcessStyleTest, ABodyThatFailsBeforeItReceivesIsAFailedStart) {
  class Failing final : public Actor {
   public:
    StartResult Start() override { return Body(); }

   private:
    Task<> Body() {
      Fail(absl::DataLossError("early"));
      co_return;
    }
  };
  class Parent final : public Actor {
   public:
    explicit Parent(Channel<Text> out) : out_(out) {}
    StartResult Start() override {
      context().TrapExits([](const ExitEvent&) {});
      context().Spawn<Failing>(SpawnOptions().OnOutcome([this](const SpawnOutcome& outcome) {
        out_.Tell(outcome.kind == SpawnOutcome::Kind::kFailed ? outcome.reason.ToString() : "not failed");
      }));
      return Behavior("parent", After(absl::InfiniteDuration(), [] {}));
    }
    Channel<Text> out_;
  };
  Probe<Text> out(system());
  system().Spawn<Parent>(out.channel());
  out.Expect("Failed(DATA_LOSS: early)");
}

// Receives by three ranks, then by the upper two.
class Ranked final : public Actor {
 public:
  Mailbox<"high", int> high{this};
  Mailbox<"middle", int> middle{this};
  Mailbox<"low", int> low{this};
  explicit Ranked(Channel<Text> out) : out_(out) {}
  StartResult Start() override { return Body(); }

 private:
  void High() { out_.Tell("high"); }
  void Middle() { out_.Tell("middle"); }
  void Low() { out_.Tell("low"); }
  Task<> Body() {
    while (true) {
      auto any = Receive(On(high, [this] { High(); }).Rank(3), On(middle, [this] { Middle(); }).Rank(2),
                         On(low, [this] { Low(); }).Rank(1));
      co_await any;
      auto upper = Receive(On(high, [this] { High(); }).Rank(3), On(middle, [this] { Middle(); }).Rank(2));
      co_await upper;
    }
  }
  Channel<Text> out_;
};

TEST_F(ProcessStyleTest, AReceiveMayHaveFewerRanksThanTheOneBefore) {
  // Without care this reads beyond the ranks of the second: ASan sees it.
  Probe<Text> out(system());
  Ref<Ranked> ranked = system().Spawn<Ranked>(out.channel());
  for (int i = 0; i < 3; ++i) {
    ranked[&Ranked::low].Tell(1);
    out.Expect("low");
    ranked[&Ranked::high].Tell(1);
    out.Expect("high");
  }
}

// Receives by two ranks, again and again.
class Turns final : public Actor {
 public:
  Mailbox<"high", int> high{this};
  Mailbox<"low", int> low{this};
  explicit Turns(Channel<Text> out) : out_(out) {}
  StartResult Start() override { return Body(); }

 private:
  Task<> Body() {
    while (true) {
      auto next =
          Receive(On(high, [this] { out_.Tell("high"); }).Rank(1).Quota(2), On(low, [this] { out_.Tell("low"); }));
      co_await next;
    }
  }
  Channel<Text> out_;
};

TEST_F(ProcessStyleTest, RanksTakeTurnsFromOneReceiveToTheNext) {
  // semantics 2.8
  Probe<Text> out(system());
  Ref<Turns> turns = system().Spawn<Turns>(out.channel());
  for (int i = 0; i < 5; ++i) turns[&Turns::high].Tell(1);
  turns[&Turns::low].Tell(1);
  EXPECT_THAT(out.ReceiveAll(), ElementsAre("high", "high", "low", "high", "high", "high"));
}

TEST_F(ProcessStyleTest, RanksBeginFromTheTopAfterIdling) {
  // semantics 2.8
  Probe<Text> out(system());
  Ref<Turns> turns = system().Spawn<Turns>(out.channel());
  turns[&Turns::low].Tell(1);
  out.Expect("low");
  for (int i = 0; i < 2; ++i) turns[&Turns::low].Tell(1);
  turns[&Turns::high].Tell(1);
  EXPECT_THAT(out.ReceiveAll(), ElementsAre("high", "low", "low"));
}

// Does the same, and in between executes a Receive without ranks each time.
class TurnsAndGoes final : public Actor {
 public:
  Mailbox<"high", int> high{this};
  Mailbox<"low", int> low{this};
  Mailbox<"go", int> go{this};
  explicit TurnsAndGoes(Channel<Text> out) : out_(out) {}
  StartResult Start() override { return Body(); }

 private:
  Task<> Body() {
    while (true) {
      auto next =
          Receive(On(high, [this] { out_.Tell("high"); }).Rank(1).Quota(2), On(low, [this] { out_.Tell("low"); }));
      co_await next;
      context().Tell(go, 1);
      auto going = Receive(On(go, [] {}));
      co_await going;
    }
  }
  Channel<Text> out_;
};

TEST_F(ProcessStyleTest, AReceiveWithoutRanksInBetweenStarvesNoRank) {
  // semantics 2.8
  Probe<Text> out(system());
  Ref<TurnsAndGoes> turns = system().Spawn<TurnsAndGoes>(out.channel());
  for (int i = 0; i < 5; ++i) turns[&TurnsAndGoes::high].Tell(1);
  turns[&TurnsAndGoes::low].Tell(1);
  EXPECT_THAT(out.ReceiveAll(), ElementsAre("high", "high", "low", "high", "high", "high"));
}

// Takes `many` until `stop`, of a higher rank, which the first of them sends.
class EarlyStop final : public Actor {
 public:
  Mailbox<"many", int> many{this};
  Mailbox<"stop", int> stop{this};
  explicit EarlyStop(Channel<int> out) : out_(out) {}
  StartResult Start() override { return Body(); }

 private:
  Task<> Body() {
    int taken = 0;
    bool stops = false;
    while (!stops) {
      auto next = Receive(On(many,
                             [&](int) {
                               if (++taken == 1) context().Tell(stop, 1);
                             })
                              .Quota(1),
                          On(stop, [&](int) { stops = true; }).Rank(1).Quota(1));
      co_await next;
    }
    out_.Tell(taken);
  }
  Channel<int> out_;
};

TEST_F(ProcessStyleTest, AHigherRankSeesWhatHasJustArrived) {
  // semantics 2.8: served within (2-1)*1+1 messages.
  Probe<int> out(system());
  Ref<EarlyStop> early = system().Spawn<EarlyStop>(out.channel());
  for (int i = 0; i < 100; ++i) early[&EarlyStop::many].Tell(i);
  out.Expect(1);
}

// Sends itself a message, and looks what there is.
class Poll final : public Actor {
 public:
  Mailbox<"own", int> own{this};
  explicit Poll(Channel<Text> out) : out_(out) {}
  StartResult Start() override { return Body(); }

 private:
  Task<> Body() {
    for (int i = 0; i < 2; ++i) {
      context().Tell(own, i);
      auto poll = Receive(On(own, [this](int n) { out_.Tell(absl::StrCat("own ", n)); }),
                          After(absl::ZeroDuration(), [this] { out_.Tell("nothing"); }),
                          After(absl::ZeroDuration(), [this] { out_.Tell("nothing, of the second"); }));
      co_await poll;
    }
    auto poll = Receive(On(own, [](int) {}), After(absl::ZeroDuration(), [this] { out_.Tell("nothing"); }),
                        After(absl::ZeroDuration(), [this] { out_.Tell("nothing, of the second"); }));
    co_await poll;
  }
  Channel<Text> out_;
};

TEST_F(ProcessStyleTest, ATimeoutOfZeroLooksAtWhatHasArrivedFirst) {
  Probe<Text> out(system());
  system().Spawn<Poll>(out.channel());
  EXPECT_THAT(out.ReceiveAll(), ElementsAre("own 0", "own 1", "nothing"));
}

#if defined(__cpp_exceptions)
TEST_F(ProcessStyleTest, AnExceptionInTheBodyIsTheExitReason) {
  class Throwing final : public Actor {
   public:
    Mailbox<"go", int> go{this};
    StartResult Start() override { return Body(); }

   private:
    Task<> Body() {
      auto next = Receive(On(go, [] {}));
      co_await next;
      throw std::runtime_error("body");
    }
  };
  Ref<Throwing> throwing = system().Spawn<Throwing>();
  EXPECT_EQ(EndOf(throwing.pid(), [&] { throwing[&Throwing::go].Tell(1); }),
            ExitReason::Exception("std::runtime_error", "body"));
}
#endif

// Calls Become, which an actor in the process style must not do.
class Confused final : public Actor {
 public:
  enum class How { kByCall, kByReturning, kInStart };
  Mailbox<"go", int> go{this};
  explicit Confused(How how) : how_(how) {}
  StartResult Start() override {
    if (how_ == How::kInStart) Become(going_);
    return Body();
  }

 private:
  Task<> Body() {
    auto next = Receive(On(go, [this]() -> absl::StatusOr<Behavior> {
      if (how_ == How::kByReturning) return going_;
      Become(going_);
      return absl::CancelledError();
    }));
    co_await next;
  }
  const How how_;
  Behavior going_{"going", On(go, [] {})};
};

using ProcessStyleDeathTest = ProcessStyleTest;

TEST_F(ProcessStyleDeathTest, AProcessDoesNotBecome) {
  for (const Confused::How how : {Confused::How::kByCall, Confused::How::kByReturning, Confused::How::kInStart}) {
    EXPECT_DEATH(
        {
          system().Spawn<Confused>(how)[&Confused::go].Tell(1);
          system().RunUntilIdle();
        },
        "would become going, but it is in the process style");
  }
}

// Awaits a task of its own twice.
class Twice final : public Actor {
 public:
  StartResult Start() override { return Body(); }

 private:
  static Task<int> One() { co_return 1; }
  static Task<> Body() {
    auto one = One();
    (void)co_await one;
    (void)co_await one;
  }
};

TEST_F(ProcessStyleDeathTest, ATaskIsAwaitedOnce) {
  EXPECT_DEATH(
      {
        system().Spawn<Twice>();
        system().RunUntilIdle();
      },
      "a Task is awaited a second time");
}

}  // namespace
}  // namespace understudy
