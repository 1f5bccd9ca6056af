// State machines: OTP's gen_statem_SUITE, written with behaviors, ranks, postponed messages and timers. Its races are
// in otp_fsm_race_test.cc.
#include <functional>
#include <string>
#include <utility>
#include <vector>

#include "absl/status/status.h"
#include "absl/status/statusor.h"
#include "absl/strings/str_cat.h"
#include "absl/time/time.h"
#include "gmock/gmock.h"
#include "gtest/gtest.h"
#include "understudy/actors/actor.h"
#include "understudy/actors/testing/probe.h"
#include "understudy/tests/conformance/scene.h"

namespace understudy {
namespace {

using ::testing::ElementsAre;
using ::testing::IsEmpty;

// A machine of two states. An injected event is a message to itself in `injected`, whose rank is above that of `event`.
// The quota of `event` lets one external event be handled before the injected ones are looked at again.
//   first: "go" injects three events; "change" injects two and goes to second; every other event is postponed.
//   second: notes each event; "back" goes back to first.
class Machine final : public Actor {
 public:
  Mailbox<"event", std::string> event{this};
  Mailbox<"injected", std::string> injected{this};
  Mailbox<"hold", bool> hold{this};
  explicit Machine(std::vector<std::string>* notes) : notes_(*notes) {}
  StartResult Start() override { return first_; }

 private:
  void First(const std::string& what) {
    if (what == "go") {
      notes_.push_back(what);
      for (const char* more : {"i1", "i2", "i3"}) Inject(more);
    } else if (what == "change") {
      notes_.push_back(what);
      for (const char* more : {"i1", "i2"}) Inject(more);
      Become(second_);
    } else {
      context().Postpone();
    }
  }
  void Second(const std::string& what) {
    notes_.push_back(what);
    if (what == "back") Become(first_);
  }
  void Note(const std::string& what) { notes_.push_back(what); }
  void Inject(const std::string& what) { context().Tell(injected, what); }
  void Hold(bool holds) {
    closes_.clear();
    if (!holds) return;
    closes_.push_back(context().Close(event));
    closes_.push_back(context().Close(injected));
  }
  std::vector<std::string>& notes_;
  std::vector<ScopedClose> closes_;
  Behavior first_{"first", On(event, &Machine::First).Quota(1), On(injected, &Machine::Note).Rank(1),
                  On(hold, &Machine::Hold)};
  Behavior second_{"second",
                   On(event, &Machine::Second).Quota(1),
                   On(injected, &Machine::Note).Rank(1),
                   After(absl::ZeroDuration(), [this] { Note("zero 1"); }),
                   After(absl::ZeroDuration(), [this] { Note("zero 2"); }),
                   After(absl::Seconds(5), [this] { Note("timeout"); })};
};

class FsmTest : public ConformanceTest {
 protected:
  Ref<Machine> NewMachine(std::vector<std::string> events) {
    Ref<Machine> machine = system().Spawn<Machine>(&notes_);
    Tell(machine, std::move(events));
    return machine;
  }
  void Tell(Ref<Machine> machine, std::vector<std::string> events) {
    for (std::string& event : events) machine[&Machine::event].Tell(std::move(event));
    system().RunUntilIdle();
  }
};

// An actor whose start ends in the way that `how` says.
class Starting final : public Actor {
 public:
  Mailbox<"unused", int> unused{this};
  explicit Starting(std::string how) : how_(std::move(how)) {}
  StartResult Start() override {
    if (how_ == "too long") return StartResult::Starting(running_);
    if (how_ == "stop") context().Stop(DiskFailed());
    return running_;
  }

 private:
  const std::string how_;
  Behavior running_{"running", On(unused, [] {})};
};

// OTP FSM-03, FSM-05, FSM-06
TEST_F(FsmTest, AStartIsBoundedMayStopAndIsLinked) {
  Ref<Script> parent = NewScript(TrapOthers);
  Ref<Starting> child;
  const auto start = [&](const std::string& how) {
    Step(parent, [&](Script& self) {
      const SpawnOptions options{.start_within = absl::Milliseconds(100)};
      child = self.context().Spawn<Starting>(SpawnOptions(options).OnOutcome([&self](const SpawnOutcome& outcome) {
        self.Note(outcome.kind == SpawnOutcome::Kind::kStarted ? "started" : "failed " + outcome.reason.ToString());
      }),
                                             how);
    });
    system().Advance(absl::Seconds(1));
    return Notes();
  };
  EXPECT_THAT(start("too long"), ElementsAre("failed StartTimeout", "exit StartTimeout"));
  EXPECT_THAT(start("stop"), ElementsAre("failed Failed(DATA_LOSS: disk)", "exit Failed(DATA_LOSS: disk)"));
  EXPECT_THAT(start("well"), ElementsAre("started"));
  system().Exit(child.pid(), DiskFailed());
  system().RunUntilIdle();
  EXPECT_THAT(Notes(), ElementsAre("exit Failed(DATA_LOSS: disk)"));
}

// OTP FSM-13
TEST_F(FsmTest, InjectedEventsComeInOrderBeforeAnythingFromOutside) {
  Ref<Machine> machine = NewMachine({"go", "change", "e1"});
  EXPECT_THAT(Notes(), ElementsAre("go", "i1", "i2", "i3", "change", "i1", "i2", "e1", "zero 1", "zero 2"));
  EXPECT_TRUE(machine[&Machine::event].Send("e2").ok());
}

// OTP FSM-30
TEST_F(FsmTest, AShutdownWithACauseIsSeenByLinkedPeersAndLaterCallsFindNobody) {
  const ExitReason reason = ExitReason::Shutdown().CausedBy(DiskFailed());
  ExitReason trapped;
  Ref<Script> server = NewScript();
  Ref<Script> plain = NewScript([&](Script& self) { Link(self, server.pid()); });
  Ref<Script> trapping = NewScript([&](Script& self) {
    self.context().TrapExits([&trapped](const ExitEvent& event) { trapped = event.reason; });
    Link(self, server.pid());
  });
  Watch(trapping, plain.pid());
  End(server, reason);
  EXPECT_EQ(trapped, reason);
  EXPECT_EQ(trapped.depth(), 2);
  EXPECT_THAT(Notes(), ElementsAre("down " + reason.ToString()));
  AskAndNote(trapping, server[&Script::ask]);
  EXPECT_THAT(Notes(), ElementsAre("NoProcess"));
}

// OTP FSM-31
TEST_F(FsmTest, RepliesThatGoWithAStopComeBeforeTheExit) {
  Ref<Script> server = NewScript();
  for (int i = 0; i < 3; ++i) {
    Ref<Script> asker = NewScript([&](Script& self) {
      TrapOthers(self);
      Link(self, server.pid());
    });
    AskAndNote(asker, server[&Script::ask]);
  }
  EXPECT_THAT(Notes(), IsEmpty());
  Do(server, [](Script& self) {
    for (Replier<int>& replier : self.repliers) replier.Reply(7);
    self.context().Stop(DiskFailed());
  });
  system().RunUntilIdle();
  const std::vector<std::string> notes = Notes();
  // Each asker notes its answer before the exit. The askers run in any order.
  int answers = 0;
  int exits = 0;
  for (const std::string& note : notes) {
    ++(note == "7" ? answers : exits);
    EXPECT_GE(answers, exits);
  }
  EXPECT_EQ(answers, 3);
  EXPECT_EQ(exits, 3);
}

// OTP FSM-33
TEST_F(FsmTest, AfterAChangeComeInjectedThenPostponedThenNewEvents) {
  Ref<Machine> machine = NewMachine({"p1", "p2", "change", "n1"});
  EXPECT_THAT(Notes(), ElementsAre("change", "i1", "i2", "p1", "p2", "n1", "zero 1", "zero 2"));
  // Events that were postponed again also arrive in order.
  Tell(machine, {"back", "p3", "p4"});
  EXPECT_THAT(Notes(), ElementsAre("back"));
  Tell(machine, {"change"});
  EXPECT_THAT(Notes(), ElementsAre("change", "i1", "i2", "p3", "p4", "zero 1", "zero 2"));
}

// OTP FSM-34
TEST_F(FsmTest, AStatesTimersEndWithItAndThoseOfZeroFireInOrderAfterInjectedEvents) {
  Ref<Machine> machine = NewMachine({"change"});
  EXPECT_THAT(Notes(), ElementsAre("change", "i1", "i2", "zero 1", "zero 2"));
  system().Advance(absl::Seconds(4));
  Tell(machine, {"back"});
  EXPECT_THAT(Notes(), ElementsAre("back"));
  system().Advance(absl::Minutes(1));
  EXPECT_THAT(Notes(), IsEmpty());
  Tell(machine, {"change"});
  (void)Notes();
  system().Advance(absl::Seconds(5));
  EXPECT_THAT(Notes(), ElementsAre("timeout"));
}

// An actor that causes an event of each kind itself.
class Everything final : public Actor {
 public:
  Mailbox<"begin", int> begin{this};
  Mailbox<"tell", int> tell{this};
  Mailbox<"call", Call<int, int>> call{this};
  explicit Everything(std::vector<std::string>* notes) : notes_(*notes) {}
  StartResult Start() override {
    context().TrapExits([this] { Note("exit"); });
    context().TrapStops([this] { Note("stop"); });
    absl::Status watched = context().WatchName(
        "me", [this](const NameChange& change) { Note(change.pid.is_null() ? "no name" : "name"); });
    if (!watched.ok()) return watched;
    return running_;
  }

 private:
  void Note(std::string what) { notes_.push_back(std::move(what)); }
  Task<> Begin(int) {
    const Ref<Everything> self(context().Self());
    self[&Everything::tell].Tell(1);
    context().Exit(self, DiskFailed());
    context().RequestStop(self);
    EXPECT_TRUE(context().Register("me").ok());
    EXPECT_TRUE(context().StartTimer("timer", absl::ZeroDuration(), [this] { Note("timer"); }).ok());
    const auto on_outcome = [this] { Note("outcome"); };
    const Ref<Starting> child = context().Spawn<Starting>(
        SpawnOptions{.link = SpawnLink::kUnlinked}.OnOutcome(on_outcome), std::string("stop"));
    (void)context().Monitor(child, [this] { Note("down"); }).Keep();
    const auto asked = self[&Everything::call].Ask(1, absl::Seconds(1));
    const absl::StatusOr<int> answer = co_await asked;
    Note("answer " + AnswerText(answer));
  }
  std::vector<std::string>& notes_;
  Behavior running_{"running", On(begin, &Everything::Begin).Interleaved(), On(tell, [this] { Note("tell"); }),
                    On(call, [](int n) { return n + 1; })};
};

// OTP FSM-36
TEST_F(FsmTest, EveryKindOfEventCanBeCausedByTheActorItself) {
  Ref<Everything> everything = system().Spawn<Everything>(&notes_);
  everything[&Everything::begin].Tell(1);
  system().RunUntilIdle();
  EXPECT_THAT(Notes(),
              testing::UnorderedElementsAre("tell", "exit", "stop", "name", "timer", "outcome", "down", "answer 2"));
}

// OTP FSM-37
TEST_F(FsmTest, NamedTimersAreIndependentAreReplacedAndEndedByInfinity) {
  Ref<Script> script = NewScript();
  const auto set = [&](const std::string& name, absl::Duration delay, const std::string& note) {
    Step(script, [=](Script& self) {
      EXPECT_TRUE(self.context().StartTimer(name, delay, [&self, note] { self.Note(note); }).ok());
    });
  };
  set("a", absl::Seconds(1), "a");
  set("b", absl::Seconds(2), "b");
  set("c", absl::Seconds(3), "c");
  set("b", absl::Seconds(4), "b again");
  set("c", absl::InfiniteDuration(), "never");
  system().Advance(absl::Seconds(3));
  EXPECT_THAT(Notes(), ElementsAre("a"));
  system().Advance(absl::Hours(1000));
  EXPECT_THAT(Notes(), ElementsAre("b again"));
  Step(script, [](Script& self) {
    EXPECT_TRUE(self.context().CancelTimer("c")) << "a timer of infinite duration exists until it is cancelled";
  });
}

// Waits for a time of the wall clock.
class Alarm final : public Actor {
 public:
  Alarm(absl::Time time, std::vector<std::string>* notes) : notes_(*notes), time_(time) {}
  StartResult Start() override {
    return Behavior("waiting", At(time_, [this] { notes_.push_back("rings"); }));
  }

 private:
  std::vector<std::string>& notes_;
  const absl::Time time_;
};

// OTP FSM-37
TEST_F(FsmTest, ATimerMayBeAbsolute) {
  system().Spawn<Alarm>(system().WallNow() + absl::Seconds(10), &notes_);
  system().Advance(absl::Seconds(9));
  EXPECT_THAT(Notes(), IsEmpty());
  system().Advance(absl::Seconds(1));
  EXPECT_THAT(Notes(), ElementsAre("rings"));
  system().Spawn<Alarm>(system().WallNow() - absl::Seconds(10), &notes_);
  system().RunUntilIdle();
  EXPECT_THAT(Notes(), ElementsAre("rings"));
}

// OTP FSM-44
TEST_F(FsmTest, MessagesToASuspendedActorWaitInOrder) {
  Ref<Machine> machine = NewMachine({"go"});
  (void)Notes();
  machine[&Machine::hold].Tell(true);
  Tell(machine, {"go", "change", "e1"});
  system().Advance(absl::Minutes(1));
  EXPECT_THAT(Notes(), IsEmpty());
  machine[&Machine::hold].Tell(false);
  system().RunUntilIdle();
  EXPECT_THAT(Notes(), ElementsAre("go", "i1", "i2", "i3", "change", "i1", "i2", "e1", "zero 1", "zero 2"));
}

}  // namespace
}  // namespace understudy
