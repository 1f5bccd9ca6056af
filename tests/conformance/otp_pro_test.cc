// Starts and stops for which the actor that requested them waits: OTP's proc_lib_SUITE, with its races.
#include <functional>
#include <string>
#include <utility>
#include <vector>

#include "absl/status/status.h"
#include "absl/strings/str_cat.h"
#include "absl/time/time.h"
#include "gmock/gmock.h"
#include "gtest/gtest.h"
#include "understudy/actors/actor.h"
#include "understudy/actors/actor_system.h"
#include "understudy/actors/limits.h"
#include "understudy/tests/conformance/rounds.h"
#include "understudy/tests/conformance/scene.h"

namespace understudy {
namespace {

using ::testing::ElementsAre;
using ::testing::IsEmpty;
using ::testing::StartsWith;
using ::testing::UnorderedElementsAre;

// Completes its start when it is told to, and then calls `ready`.
class Slow final : public Actor {
 public:
  Mailbox<"finish", int> finish{this};
  Mailbox<"end", ExitReason> end{this};
  explicit Slow(std::function<void()> ready = nullptr) : ready_(std::move(ready)) {}
  StartResult Start() override { return StartResult::Starting(starting_); }

 private:
  void Finish() {
    context().FinishStart();
    if (ready_ != nullptr) ready_();
  }
  void End(const ExitReason& reason) { context().Stop(reason); }
  std::function<void()> ready_;
  Behavior starting_{"starting", On(finish, &Slow::Finish), On(end, &Slow::End)};
};

class ProTest : public ConformanceTest {
 protected:
  // Starts a child of `parent_`, which monitors it.
  void StartChild(SpawnOptions options = {}) {
    Step(parent_, [this, options](Script& self) {
      child_ = self.context().Spawn<Slow>(SpawnOptions(options).OnOutcome([&self](const SpawnOutcome& outcome) {
        const char* kinds[] = {"started", "ignored", "failed"};
        self.Note(absl::StrCat(kinds[static_cast<int>(outcome.kind)], " ", outcome.reason.ToString()));
      }));
      WatchFrom(self, child_.pid());
    });
  }
  // Equivalent to OTP's stop: monitors the target and requests its stop.
  void Stop(Pid target, const ExitReason& reason) {
    Step(stopper_, [target, reason](Script& self) {
      self.monitors.clear();
      WatchFrom(self, target, "stopped");
      self.context().RequestStop(target, reason);
    });
  }
  Ref<Script> parent_ = NewScript(TrapOthers);
  Ref<Script> stopper_ = NewScript();
  Ref<Slow> child_;
};

// OTP PRO-05
TEST_F(ProTest, TheOutcomeComesWhenTheStartIsOverAndADownWhenTheChildEnds) {
  StartChild({.link = SpawnLink::kUnlinked});
  EXPECT_THAT(Notes(), IsEmpty());
  child_[&Slow::finish].Tell(1);
  system().RunUntilIdle();
  EXPECT_THAT(Notes(), ElementsAre("started Normal"));
  child_[&Slow::end].Tell(DiskFailed());
  system().RunUntilIdle();
  EXPECT_THAT(Notes(), ElementsAre("down Failed(DATA_LOSS: disk)"));
}

// OTP PRO-06
TEST_F(ProTest, AParentThatIsLinkedAndWatchesGetsExitAndDown) {
  StartChild();
  child_[&Slow::finish].Tell(1);
  child_[&Slow::end].Tell(DiskFailed());
  system().RunUntilIdle();
  std::vector<std::string> notes = Notes();
  ASSERT_FALSE(notes.empty());
  EXPECT_EQ(notes[0], "started Normal");
  notes.erase(notes.begin());
  EXPECT_THAT(notes, UnorderedElementsAre("down Failed(DATA_LOSS: disk)", "exit Failed(DATA_LOSS: disk)"));
}

// OTP PRO-09
TEST_F(ProTest, AStartThatTakesTooLongIsToldByOneOutcomeOneExitAndOneDown) {
  StartChild({.start_within = absl::Milliseconds(5)});
  system().Advance(absl::Milliseconds(5));
  std::vector<std::string> notes = Notes();
  ASSERT_FALSE(notes.empty());
  EXPECT_EQ(notes[0], "failed StartTimeout");
  notes.erase(notes.begin());
  EXPECT_THAT(notes, UnorderedElementsAre("down StartTimeout", "exit StartTimeout"));
  EXPECT_TRUE(IsNoProcess(child_[&Slow::finish].Send(1)));
  system().Advance(absl::Minutes(1));
  EXPECT_THAT(Notes(), IsEmpty());
}

// OTP PRO-12
TEST_F(ProTest, AStopWaitsForTheEndWithItsReason) {
  for (const ExitReason& reason : {ExitReason::Normal(), ExitReason::Shutdown(), DiskFailed()}) {
    Ref<Script> target = NewScript();
    Stop(target.pid(), reason);
    EXPECT_THAT(Notes(), ElementsAre("stopped " + reason.ToString()));
    Stop(target.pid(), reason);
    EXPECT_THAT(Notes(), ElementsAre("stopped NoProcess")) << "the target has already ended";
  }
  // The target ends with another reason.
  Ref<Script> other = NewScript([](Script& self) {
    self.context().TrapStops([&self](const StopRequest&) { self.context().Stop(DiskFailed()); });
  });
  Stop(other.pid(), ExitReason::Shutdown());
  EXPECT_THAT(Notes(), ElementsAre("stopped Failed(DATA_LOSS: disk)"));
  // The target does not stop.
  Ref<Script> hanging = NewScript([](Script& self) { self.context().TrapStops([](const StopRequest&) {}); });
  Stop(hanging.pid(), ExitReason::Shutdown());
  EXPECT_TRUE(IsExpired(system().AwaitEnd(hanging.pid(), absl::Seconds(5)).status()));
  EXPECT_THAT(Notes(), IsEmpty());
  // There is no such name, and no such node.
  EXPECT_EQ(system().WhereIs("nobody"), absl::nullopt);
  Stop(Pid::Unnamed(), ExitReason::Shutdown());
  EXPECT_THAT(Notes(), ElementsAre("stopped NoProcess"));
  Stop(Pid(*system().InternPeer("gone", NodeIncarnation{5}), 3, 4), ExitReason::Shutdown());
  EXPECT_THAT(Notes(), ElementsAre(StartsWith("stopped NoConnection")));
}

// OTP PRO-15: The exit reason that others are told is bounded in depth and in bytes.
TEST_F(ProTest, WhatIsToldOfAnEndIsBoundedInDepthAndBytes) {
  ExitReason reason = DiskFailed();
  for (int i = 0; i < 40; ++i) reason = ExitReason::RestartsExhausted(std::string(10000, 'x')).CausedBy(reason);
  ExitReason told;
  Ref<Script> target = NewScript();
  Step(stopper_, [&](Script& self) {
    (void)self.context().Monitor(target, [&told](const Down& down) { told = down.reason; }).Keep();
  });
  End(target, reason);
  EXPECT_EQ(told.kind(), ExitReason::Kind::kRestartsExhausted);
  EXPECT_LE(told.depth(), limits::kExitCausesMax + 1);
  EXPECT_GT(told.depth(), 1);
  EXPECT_LE(told.bytes(), limits::kExitReasonBytesMax);
  EXPECT_LE(told.ToString().size(), 2 * limits::kExitReasonBytesMax);
  EXPECT_TRUE(told.causes_cut());
}

// What a parent is told of one spawn. It is used on the parent's turn.
struct Told {
  int started = 0;
  int failed = 0;
  int downs = 0;
  int ready = 0;
  int misplaced = 0;  // a Down before the outcome, or anything after the Down
  ExitReason outcome;
  ExitReason down;
};

// Spawns a parent that starts a Slow child and counts what it is told. `meanwhile` runs in the parent's turn after the
// spawn.
Ref<Script> SpawnParent(ActorSystem& system, Told& told, Tally& over, SpawnOptions options,
                        std::function<void(Script&, Ref<Slow>)> meanwhile) {
  return system.Spawn<Script>([&told, &over, options, meanwhile](Script& self) {
    self.context().TrapExits([](const ExitEvent&) {});
    const Pid parent = self.context().Self();
    const auto ready = [&told, parent] {
      Do(Ref<Script>(parent), [&told](Script&) {
        ++told.ready;
        if (told.downs > 0) ++told.misplaced;
      });
    };
    const auto on_outcome = [&told](const SpawnOutcome& outcome) {
      ++(outcome.kind == SpawnOutcome::Kind::kStarted ? told.started : told.failed);
      told.outcome = outcome.reason;
      if (told.downs > 0) ++told.misplaced;
    };
    Ref<Slow> child = self.context().Spawn<Slow>(SpawnOptions(options).OnOutcome(on_outcome), ready);
    const auto on_down = [&told, &over](const Down& down) {
      if (++told.downs > 1 || told.started + told.failed != 1) ++told.misplaced;
      told.down = down.reason;
      over.Add();
    };
    (void)self.context().Monitor(child, on_down).Keep();
    meanwhile(self, child);
  });
}

// A start is told to finish when its timeout expires. Either it succeeds, or it fails and nothing else is reported.
void FinishAgainstTimeout(ActorSystem& system, Random& random) {
  const absl::Duration due = absl::Microseconds(random.Below(3));
  Told told;
  Tally over(system);
  const auto finish_when_due = [due](Script& self, Ref<Slow> child) {
    EXPECT_TRUE(self.context()
                    .StartTimer("finish", due,
                                [child] {
                                  child[&Slow::finish].Tell(1);
                                  child[&Slow::end].Tell(ExitReason::Shutdown());
                                })
                    .ok());
  };
  Ref<Script> parent = SpawnParent(system, told, over, {.start_within = due}, finish_when_due);
  over.Await(1);
  Do(parent, [](Script& self) { self.context().Stop(); });
  ExpectAllEnded(system);
  EXPECT_EQ(told.started + told.failed, 1);
  EXPECT_EQ(told.downs, 1);
  EXPECT_EQ(told.misplaced, 0);
  EXPECT_EQ(told.ready, told.started) << "a start that failed must not report that it is ready";
  // NoProcess means that the child had ended before its parent monitored it.
  const ExitReason wanted = told.failed == 1 ? ExitReason::StartTimeout() : ExitReason::Shutdown();
  EXPECT_TRUE(told.down == wanted || told.down == ExitReason::NoProcess()) << told.down;
  if (told.failed == 1) {
    EXPECT_EQ(told.outcome, ExitReason::StartTimeout());
  }
}

// OTP PRO-07
TEST(ProRaceTest, AStartAgainstItsTimeoutLeavesNoStrayMessageWithEverySeed) { WithEverySeed(FinishAgainstTimeout); }
// OTP PRO-07
TEST(ProRaceTest, AStartAgainstItsTimeoutLeavesNoStrayMessageOnThreads) { OnThreads(FinishAgainstTimeout); }

// A child is killed before, while or after it finishes its start. Its parent must get exactly one outcome.
void DeathAgainstFinish(ActorSystem& system, Random& random) {
  const bool exits = random.Below(2) == 0;
  Told told;
  Tally over(system);
  Ref<Script> killer = system.Spawn<Script>();
  const auto kill = [killer, exits](Script&, Ref<Slow> child) {
    Do(killer, [child, exits](Script& self) {
      if (exits) {
        self.context().Exit(child, DiskFailed());
      } else {
        self.context().Kill(child);
      }
      self.context().Stop();
    });
    child[&Slow::finish].Tell(1);
  };
  Ref<Script> parent = SpawnParent(system, told, over, {}, kill);
  over.Await(1);
  Do(parent, [](Script& self) { self.context().Stop(); });
  ExpectAllEnded(system);
  EXPECT_EQ(told.started + told.failed, 1);
  EXPECT_EQ(told.downs, 1);
  EXPECT_EQ(told.misplaced, 0);
  const ExitReason wanted = exits ? DiskFailed() : ExitReason::Killed();
  EXPECT_TRUE(told.down == wanted || told.down == ExitReason::NoProcess()) << told.down;
  if (told.failed == 1) {
    EXPECT_EQ(told.outcome, wanted);
  }
}

// OTP PRO-17
TEST(ProRaceTest, ADeathBeforeTheStartIsOverIsToldAndNobodyHangsWithEverySeed) { WithEverySeed(DeathAgainstFinish); }
// OTP PRO-17
TEST(ProRaceTest, ADeathBeforeTheStartIsOverIsToldAndNobodyHangsOnThreads) { OnThreads(DeathAgainstFinish); }

}  // namespace
}  // namespace understudy
