// Which messages, events and timeouts a Receive takes and which wait; Receives in the handlers of Receives (semantics
// 3.8).
#include <functional>
#include <stdexcept>
#include <string>
#include <utility>
#include <vector>

#include "absl/status/status.h"
#include "absl/strings/str_cat.h"
#include "absl/time/time.h"
#include "gmock/gmock.h"
#include "gtest/gtest.h"
#include "understudy/actors/actor.h"
#include "understudy/actors/random.h"
#include "understudy/actors/test_system.h"
#include "understudy/actors/testing/actor_test.h"
#include "understudy/actors/testing/probe.h"
#include "understudy/actors/testing/seeds.h"
#include "understudy/tests/actors/script.h"

namespace understudy {
namespace {

using ::testing::ElementsAre;
using ::testing::IsEmpty;

// An actor in the process style whose body is a coroutine of the test.
class Process final : public Actor {
 public:
  using Body = std::function<Task<>(Process&)>;
  Mailbox<"a", int> a{this};
  Mailbox<"b", int> b{this};
  Process(Body body, std::vector<std::string>* notes, std::function<void(Process&)> first = nullptr)
      : body_(std::move(body)), notes_(notes), first_(std::move(first)) {}
  StartResult Start() override {
    if (first_ != nullptr) first_(*this);
    return body_(*this);
  }
  void OnExit(const ExitReason& reason) override { Note(absl::StrCat("exit ", reason.ToString())); }
  using Actor::After;
  using Actor::context;
  using Actor::Drop;
  using Actor::Idle;
  using Actor::On;
  using Actor::Receive;
  template <class... Parts>
  void Note(Parts... parts) {
    notes_->push_back(absl::StrCat(parts...));
  }

 private:
  Body body_;
  std::vector<std::string>* notes_;
  std::function<void(Process&)> first_;
};

class ReceiveEventsTest : public ActorTest {
 protected:
  Ref<Process> Start(Process::Body body, std::function<void(Process&)> first = nullptr) {
    Ref<Process> process = system().Spawn<Process>(std::move(body), &notes_, std::move(first));
    system().RunUntilIdle();
    return process;
  }
  void End(Pid pid) {
    system().Exit(pid, ExitReason::Failed(absl::DataLossError("it")));
    system().RunUntilIdle();
  }
  // The notes since it was asked last.
  std::vector<std::string> Notes() {
    system().RunUntilIdle();
    return std::exchange(notes_, {});
  }

  std::vector<std::string> notes_;
};

TEST_F(ReceiveEventsTest, AHandlerMayReceiveInItsTurn) {
  // EBA: variables that the outer handler bound are visible in the inner handler.
  Ref<Process> process = Start([](Process& self) -> Task<> {
    for (int round = 0; round < 2; ++round) {
      auto outer = self.Receive(self.On(self.a, [&](int x) -> Task<> {
        auto inner = self.Receive(self.On(self.b, [&, x](int y) -> Task<> {
          self.Note("inner ", x, " ", y);
          auto innermost =
              self.Receive(self.On(self.a, [&, x, y](int z) { self.Note("innermost ", x, " ", y, " ", z); }));
          co_await innermost;
        }));
        co_await inner;
        self.Note("outer ", x);
      }));
      co_await outer;
      self.Note("body");
    }
  });
  process[&Process::a].Tell(1);
  process[&Process::a].Tell(2);
  EXPECT_THAT(Notes(), IsEmpty()) << "the second one waits: the Receive has taken its message";
  process[&Process::b].Tell(10);
  EXPECT_THAT(Notes(), ElementsAre("inner 1 10", "innermost 1 10 2", "outer 1", "body"));
  process[&Process::b].Tell(20);
  process[&Process::a].Tell(3);
  process[&Process::a].Tell(4);
  EXPECT_THAT(Notes(), ElementsAre("inner 3 20", "innermost 3 20 4", "outer 3", "body", "exit Normal"));
}

TEST_F(ReceiveEventsTest, WhileItsMessageIsInHandNothingElseIsHandledInterleavedOrNot) {
  Probe<Call<int, int>> oracle(system());
  Ref<Script> worker = system().Spawn<Script>();
  Ref<Process> process = Start([of = oracle.channel(), worker](Process& self) -> Task<> {
    MonitorHandle watch = self.context().Monitor(worker, [&](const Down&) { self.Note("down"); });
    for (int round = 0; round < 2; ++round) {
      auto received = self.Receive(self.On(self.a,
                                           [&](int n) -> Task<> {
                                             self.Note("begins ", n);
                                             auto asked = of.Ask(n, absl::Seconds(5));
                                             (void)co_await asked;
                                             self.Note("ends ", n);
                                           })
                                       .Interleaved());
      co_await received;
    }
  });
  process[&Process::a].Tell(1);
  EXPECT_THAT(Notes(), ElementsAre("begins 1"));
  End(worker.pid());
  process[&Process::a].Tell(2);
  EXPECT_THAT(Notes(), IsEmpty());
  oracle.Receive()->replier.Reply(0);
  EXPECT_THAT(Notes(), ElementsAre("ends 1", "down", "begins 2"));
  oracle.Receive()->replier.Reply(0);
  EXPECT_THAT(Notes(), ElementsAre("ends 2", "exit Normal"));
}

TEST_F(ReceiveEventsTest, ItsDeathDestroysReceivesInReceives) {
  Ref<Process> process = Start([](Process& self) -> Task<> {
    auto outer = self.Receive(self.On(self.a, [&](int) -> Task<> {
      auto inner = self.Receive(self.On(self.b, [](int) {}));
      co_await inner;
    }));
    co_await outer;
  });
  process[&Process::a].Tell(1);
  system().RunUntilIdle();
  End(process.pid());
  EXPECT_THAT(Notes(), ElementsAre("exit Failed(DATA_LOSS: it)"));
  EXPECT_EQ(Ledger().of(Disposition::kFailed), 1);
}

// Takes all of `a` that is there.
Task<> Flush(Process& self) {
  bool is_empty = false;
  while (!is_empty) {
    auto next = self.Receive(self.On(self.a, [&](int n) { self.Note("flushed ", n); }),
                             self.After(absl::ZeroDuration(), [&] { is_empty = true; }));
    co_await next;
  }
  self.Note("empty");
}

TEST_F(ReceiveEventsTest, AFlushTakesWhatIsThereAndGoesOnAtOnce) {
  // EBA: a queued match wins over a timeout of zero
  Ref<Process> process = Start([](Process& self) -> Task<> {
    auto go = self.Receive(self.On(self.b, [](int) {}));
    co_await go;
    auto flush = Flush(self);
    co_await flush;
    auto rest = self.Receive(self.On(self.a, [&](int n) { self.Note("later ", n); }));
    co_await rest;
  });
  const MonotonicTime before = system().Now();
  for (int i = 1; i <= 3; ++i) process[&Process::a].Tell(i);
  process[&Process::b].Tell(0);
  EXPECT_THAT(Notes(), ElementsAre("flushed 1", "flushed 2", "flushed 3", "empty"));
  EXPECT_EQ(system().Now(), before);
  process[&Process::a].Tell(4);
  EXPECT_THAT(Notes(), ElementsAre("later 4", "exit Normal"));
}

TEST_F(ReceiveEventsTest, IdleCountsFromWhatItRefusesOrDropsToo) {
  Ref<Process> process = Start([](Process& self) -> Task<> {
    auto quiet = self.Receive(self.Drop(self.a), self.Idle(absl::Seconds(5), [&] { self.Note("idle"); }));
    co_await quiet;
  });
  for (int i = 0; i < 4; ++i) {
    system().Advance(absl::Seconds(3));
    process[&Process::a].Tell(i);
  }
  system().Advance(absl::Seconds(4));
  EXPECT_THAT(Notes(), IsEmpty());
  system().Advance(absl::Seconds(1));
  EXPECT_THAT(Notes(), ElementsAre("idle", "exit Normal"));
}

TEST_F(ReceiveEventsTest, AWaitingMessageWinsOverATimeoutThatHasCome) {
  Ref<Process> process = Start([](Process& self) -> Task<> {
    // The message comes at the same instant as the timeout. The next timeout counts from the next Receive only.
    for (int i = 0; i < 3; ++i) {
      auto next = self.Receive(self.On(self.a, [&](int n) { self.Note("a ", n); }),
                               self.After(absl::Seconds(1), [&] { self.Note("timeout"); }));
      co_await next;
    }
  });
  // In one instant: the timer first, as the executor does it, then the message.
  system().seeded_executor().RunAt(system().Now() + absl::Seconds(1), [=] { process[&Process::a].Tell(1); });
  system().Advance(absl::Seconds(1));
  EXPECT_THAT(Notes(), ElementsAre("a 1"));
  system().Advance(absl::Seconds(1));
  EXPECT_THAT(Notes(), ElementsAre("timeout")) << "an hour-old timer does not end another Receive";
  system().Advance(absl::Seconds(1));
  EXPECT_THAT(Notes(), ElementsAre("timeout", "exit Normal"));
}

TEST_F(ReceiveEventsTest, ADownWaitsUntilAReceiveNamesIt) {
  // semantics 3.8
  Ref<Script> worker = system().Spawn<Script>();
  Ref<Process> process = Start([=](Process& self) -> Task<> {
    MonitorHandle watch = self.context().Monitor(worker);
    for (int i = 0; i < 2; ++i) {
      auto message = self.Receive(self.On(self.a, [&](int n) { self.Note("a ", n); }));
      co_await message;
    }
    auto down = self.Receive(self.On(watch, [&](const Down& d) { self.Note("down ", d.reason.ToString()); }),
                             self.On(self.b, [&](int n) { self.Note("b ", n); }));
    co_await down;
    auto message = self.Receive(self.On(self.b, [&](int n) { self.Note("b ", n); }));
    co_await message;
  });
  process[&Process::a].Tell(1);
  EXPECT_THAT(Notes(), ElementsAre("a 1"));
  End(worker.pid());
  process[&Process::b].Tell(2);
  EXPECT_THAT(Notes(), IsEmpty());
  process[&Process::a].Tell(3);
  EXPECT_THAT(Notes(), ElementsAre("a 3", "down Failed(DATA_LOSS: it)", "b 2", "exit Normal"))
      << "in the order of arrival";
}

TEST_F(ReceiveEventsTest, EachMonitorsDownIsTakenByItself) {
  std::vector<Ref<Script>> workers = {system().Spawn<Script>(), system().Spawn<Script>(), system().Spawn<Script>()};
  Start([=](Process& self) -> Task<> {
    MonitorHandle first = self.context().Monitor(workers[0]);
    MonitorHandle second = self.context().Monitor(workers[1]);
    MonitorHandle third = self.context().Monitor(workers[2]);
    auto of_second = self.Receive(self.On(second, [&](const Down&) { self.Note("second"); }));
    co_await of_second;
    third = MonitorHandle();  // its Down waits, and is taken back
    auto of_any = self.Receive(
        self.On<Down>([&](const Down& down) { self.Note(down.pid == workers[0].pid() ? "first" : "another"); }));
    co_await of_any;
    auto none = self.Receive(self.On<Down>([&](const Down&) { self.Note("one more"); }),
                             self.After(absl::ZeroDuration(), [&] { self.Note("none"); }));
    co_await none;
  });
  End(workers[2].pid());
  End(workers[0].pid());
  EXPECT_THAT(Notes(), IsEmpty());
  End(workers[1].pid());
  EXPECT_THAT(Notes(), ElementsAre("second", "first", "none", "exit Normal"));
}

TEST_F(ReceiveEventsTest, TimersExitsAndNamesAreReceived) {
  Ref<Script> linked = system().Spawn<Script>();
  Start([=](Process& self) -> Task<> {
    self.context().TrapExits();
    self.context().Link(linked);
    EXPECT_TRUE(self.context().StartTimer("tick", absl::Seconds(1)).ok());
    EXPECT_TRUE(self.context().StartTimer("tock", absl::Seconds(2)).ok());
    EXPECT_TRUE(self.context().WatchName("book").ok());
    auto tock = self.Receive(
        self.On<TimerEvent>([&](const TimerEvent& timer) { self.Note(timer.name); }).If([](const TimerEvent& timer) {
          return timer.name == "tock";
        }));
    co_await tock;
    auto change = self.Receive(self.On<NameChange>([&](const NameChange& name) { self.Note(name.name); }));
    co_await change;
    auto tick = self.Receive(self.On<TimerEvent>([&](const TimerEvent& timer) { self.Note(timer.name); }));
    co_await tick;
    auto exit = self.Receive(self.On<ExitEvent>([&](const ExitEvent& event) { self.Note(event.reason.ToString()); }));
    co_await exit;
  });
  End(linked.pid());
  system().Spawn<Script>(SpawnOptions{.registered_as = "book"});
  system().Advance(absl::Seconds(1));
  EXPECT_THAT(Notes(), IsEmpty());
  system().Advance(absl::Seconds(1));
  EXPECT_THAT(Notes(), ElementsAre("tock", "book", "tick", "Failed(DATA_LOSS: it)", "exit Normal"));
}

TEST_F(ReceiveEventsTest, ARequestToStopThatNoReceiveNamesEndsItAtItsNext) {
  // semantics 3.8
  Probe<Call<int, int>> oracle(system());
  Ref<Process> process = Start([&](Process& self) -> Task<> {
    auto asked = oracle.channel().Ask(1, absl::Hours(1));
    (void)co_await asked;
    self.Note("answered");
    auto named =
        self.Receive(self.On<StopRequest>([&](const StopRequest& stop) { self.Note(stop.reason.ToString()); }));
    co_await named;
    auto asked_again = oracle.channel().Ask(2, absl::Hours(1));
    (void)co_await asked_again;
    self.Note("answered again");
    auto unnamed = self.Receive(self.On(self.a, [](int) {}));
    co_await unnamed;
    self.Note("never");
  });
  system().RequestStop(process.pid());
  EXPECT_THAT(Notes(), IsEmpty()) << "it is in no Receive";
  oracle.Receive()->replier.Reply(1);
  EXPECT_THAT(Notes(), ElementsAre("answered", "Shutdown"));
  system().RequestStop(process.pid(), ExitReason::Failed(absl::AbortedError("stop")));
  EXPECT_THAT(Notes(), IsEmpty());
  oracle.Receive()->replier.Reply(2);
  EXPECT_THAT(Notes(), ElementsAre("answered again", "exit Failed(ABORTED: stop)"));
}

TEST_F(ReceiveEventsTest, MessagesSentBeforeARequestToStopAreReceivedBeforeIt) {
  Ref<Process> process = Start([](Process& self) -> Task<> {
    for (;;) {
      auto next = self.Receive(self.On(self.a, [&](int n) { self.Note("a ", n); }));
      co_await next;
    }
  });
  process[&Process::a].Tell(1);
  process[&Process::b].Tell(1);
  process[&Process::a].Tell(2);
  system().RequestStop(process.pid());
  process[&Process::a].Tell(3);
  EXPECT_THAT(Notes(), ElementsAre("a 1", "a 2", "exit Shutdown"));
}

TEST_F(ReceiveEventsTest, AParentsExitThatNoReceiveNamesEndsATrappingProcess) {
  // semantics 3.8, 5.7
  for (const bool names_it : {false, true}) {
    const auto body = [names_it](Process& self) -> Task<> {
      self.context().TrapExits();
      if (names_it) {
        auto parent = self.Receive(self.On<ExitEvent>(
            [&](const ExitEvent& exit) { self.Note(exit.from_parent ? "parent's " : "", exit.reason.ToString()); }));
        co_await parent;
        auto pause = self.Receive(self.After(absl::Seconds(1), [] {}));
        co_await pause;
      }
      auto forever = self.Receive(self.On(self.a, [](int) {}), self.After(absl::Seconds(1), [] {}));
      co_await forever;
      self.Note("by itself");
    };
    Ref<Script> parent = system().Spawn<Script>(
        [&, body](Script& self) { self.context().Spawn<Process>(Process::Body(body), &notes_); });
    system().RunUntilIdle();
    End(parent.pid());
    if (!names_it) {
      EXPECT_THAT(Notes(), ElementsAre("exit Failed(DATA_LOSS: it)"));
    } else {
      EXPECT_THAT(Notes(), ElementsAre("parent's Failed(DATA_LOSS: it)"));
      system().Advance(absl::Seconds(2));
      EXPECT_THAT(Notes(), ElementsAre("by itself", "exit Normal")) << "it has its shutdown timeout";
    }
  }
}

TEST_F(ReceiveEventsTest, AnEventWithAHandlerOfItsOwnIsHandledWhileAReceiveWaits) {
  Ref<Script> worker = system().Spawn<Script>();
  Ref<Process> process = Start([=](Process& self) -> Task<> {
    MonitorHandle watch = self.context().Monitor(worker, [&](const Down&) { self.Note("down"); });
    auto next = self.Receive(self.On(self.a, [&](int n) { self.Note("a ", n); }));
    co_await next;
  });
  End(worker.pid());
  EXPECT_THAT(Notes(), ElementsAre("down"));
  process[&Process::a].Tell(1);
  EXPECT_THAT(Notes(), ElementsAre("a 1", "exit Normal"));
}

#if defined(__cpp_exceptions)
TEST_F(ReceiveEventsTest, APredicateOnAnEventThatThrowsEndsTheActor) {
  Ref<Script> worker = system().Spawn<Script>();
  Start([=](Process& self) -> Task<> {
    MonitorHandle watch = self.context().Monitor(worker);
    auto down = self.Receive(
        self.On<Down>([](const Down&) {}).If([](const Down&) -> bool { throw std::runtime_error("predicate"); }));
    co_await down;
  });
  End(worker.pid());
  EXPECT_THAT(Notes(), ElementsAre("exit Exception(std::runtime_error: predicate)"));
}
#endif

using ReceiveEventsDeathTest = ReceiveEventsTest;

TEST_F(ReceiveEventsDeathTest, BehavioursDoNotReceive) {
  class Wrong final : public Actor {
   public:
    Mailbox<"go", int> go{this};
    StartResult Start() override { return open_; }

   private:
    Task<> Go() {
      auto next = Receive(On(go, [] {}));
      co_await next;
    }
    Behavior open_{"open", On(go, &Wrong::Go)};
  };
  class WrongStart final : public Actor {
   public:
    Mailbox<"go", int> go{this};
    StartResult Start() override { return Begin(); }

   private:
    Task<StartResult> Begin() {
      auto next = Receive(On(go, [] {}));
      co_await next;
      co_return StartResult::Ignore();
    }
  };
  EXPECT_DEATH(
      {
        system().Spawn<Wrong>()[&Wrong::go].Tell(1);
        system().RunUntilIdle();
      },
      "Receive is for the process style");
  EXPECT_DEATH(
      {
        system().Spawn<WrongStart>();
        system().RunUntilIdle();
      },
      "Receive is for the process style");
}

TEST_F(ReceiveEventsDeathTest, AnEventWithoutAHandlerIsForTheProcessStyle) {
  Ref<Script> worker = system().Spawn<Script>();
  EXPECT_DEATH(
      {
        Ref<Script> watcher = system().Spawn<Script>();
        Do(watcher, [=](Script& self) { self.monitors.push_back(self.context().Monitor(worker)); });
        system().RunUntilIdle();
        End(worker.pid());
      },
      "Down of <.*> has no handler; only the process style goes without");
}

// Random orders of a worker's results, its Down, and a flush of the monitor in between.
TEST(ReceiveEventsSeedsTest, ResultsComeBeforeTheirWorkersDown) {
  ForEachSeed(500, [](uint64_t seed) {
    TestSystem system(seed);
    std::vector<std::string> notes;
    system.Spawn<Process>(
        [](Process& self) -> Task<> {
          Ref<Script> worker = self.context().Spawn<Script>(SpawnOptions{.link = SpawnLink::kUnlinked},
                                                            [to = Ref<Process>(self.context().Self())](Script& w) {
                                                              for (int i = 0; i < 3; ++i) to[&Process::a].Tell(i);
                                                              w.context().Stop(ExitReason::Shutdown());
                                                            });
          MonitorHandle watch = self.context().Monitor(worker);
          bool is_down = false;
          int results = 0;
          while (!is_down) {
            auto next = self.Receive(self.On(watch, [&](const Down&) { is_down = true; }), self.On(self.a, [&](int n) {
              EXPECT_EQ(n, results);
              ++results;
            }));
            co_await next;
          }
          self.Note(results);
        },
        &notes);
    system.RunUntilIdle();
    EXPECT_THAT(notes, ElementsAre("3", "exit Normal"));
    ExpectNothingLost(system);
  });
}

}  // namespace
}  // namespace understudy
