// Exits, trapping, spawns and reply addresses: OTP's process_SUITE. Its races are in otp_prc_race_test.cc and
// otp_prc_spawn_race_test.cc.
#include <atomic>
#include <memory>
#include <string>
#include <utility>
#include <vector>

#include "absl/status/status.h"
#include "absl/strings/str_cat.h"
#include "absl/time/time.h"
#include "gmock/gmock.h"
#include "gtest/gtest.h"
#include "understudy/actors/actor.h"
#include "understudy/actors/mailbox_signature.h"
#include "understudy/actors/named.h"
#include "understudy/actors/testing/probe.h"
#include "understudy/tests/conformance/scene.h"
#include "understudy/tests/conformance/starter.h"

namespace understudy {
namespace {

using ::testing::ElementsAre;
using ::testing::IsEmpty;
using ::testing::SizeIs;
using ::testing::StartsWith;
using ::testing::UnorderedElementsAre;

using PrcTest = ConformanceTest;

// OTP PRC-03
TEST_F(PrcTest, ALargeReasonArrivesIntact) {
  const ExitReason large = ExitReason::Failed(absl::DataLossError(std::string(30000, 'x')));
  ExitReason trapped;
  ExitReason seen;
  Ref<Script> trapping = NewScript(
      [&](Script& self) { self.context().TrapExits([&trapped](const ExitEvent& event) { trapped = event.reason; }); });
  Ref<Script> plain = NewScript();
  Ref<Script> sender = NewScript([&](Script& self) {
    (void)self.context().Monitor(plain, [&seen](const Down& down) { seen = down.reason; }).Keep();
    self.context().Exit(trapping, large);
    self.context().Exit(plain, large);
  });
  EXPECT_EQ(large.status().message().size(), 30000U) << "the reason must not be truncated when it is created";
  EXPECT_EQ(trapped, large);
  EXPECT_EQ(seen, large);
  EXPECT_FALSE(seen.causes_cut());
  EXPECT_TRUE(IsAlive(sender));
}

// OTP PRC-04
TEST_F(PrcTest, ANormalExitFromAnotherEndsNobody) {
  Ref<Script> plain = NewScript();
  Ref<Script> trapping = NewScript(TrapOthers);
  Ref<Script> other = NewScript();
  Step(other, [&](Script& self) {
    self.context().Exit(plain, ExitReason::Normal());
    self.context().Exit(trapping, ExitReason::Normal());
  });
  EXPECT_TRUE(IsAlive(plain));
  EXPECT_TRUE(IsAlive(trapping));
  EXPECT_THAT(Notes(), ElementsAre("exit Normal"));
}

// OTP PRC-05
TEST_F(PrcTest, ATrappingActorGetsItsOwnExitAsAnEvent) {
  Ref<Script> trapping = NewScript(TrapOthers);
  Step(trapping, [](Script& self) { self.context().Exit(self.context().Self(), DiskFailed()); });
  EXPECT_THAT(Notes(), ElementsAre("exit Failed(DATA_LOSS: disk)"));
  EXPECT_TRUE(IsAlive(trapping));
}

// OTP PRC-06
TEST_F(PrcTest, ANormalExitToOneselfEndsAnActorThatDoesNotTrap) {
  Ref<Script> watcher = NewScript();
  Ref<Script> plain = NewScript();
  Watch(watcher, plain.pid());
  Step(plain, [](Script& self) { self.context().Exit(self.context().Self(), ExitReason::Normal()); });
  EXPECT_THAT(Notes(), ElementsAre("down Normal"));
}

#if defined(__cpp_exceptions)
// OTP PRC-08
TEST_F(PrcTest, ACatchInTheHandlerDoesNotSwallowAnExit) {
  const std::vector<Script::Step> ways = {
      [](Script& self) { self.context().Exit(self.context().Self(), DiskFailed()); },
      [](Script& self) { self.context().Stop(DiskFailed()); },
      [](Script& self) { self.Fail(absl::DataLossError("disk")); },
  };
  for (const Script::Step& exit : ways) {
    Ref<Script> watcher = NewScript();
    Ref<Script> catching = NewScript();
    Watch(watcher, catching.pid());
    bool went_on = false;
    Step(catching, [&](Script& self) {
      try {
        exit(self);
      } catch (...) {
        ADD_FAILURE() << "an exit must not be an exception";
      }
      went_on = true;
    });
    EXPECT_TRUE(went_on) << "the exit must take effect when the handler returns";
    EXPECT_THAT(Notes(), ElementsAre("down Failed(DATA_LOSS: disk)"));
  }
}
#endif

// OTP PRC-12
TEST_F(PrcTest, TheFirstOfTwoExitsWins) {
  Ref<Script> watcher = NewScript();
  Ref<Script> other = NewScript();
  Ref<Script> one = NewScript();
  Watch(watcher, one.pid());
  Step(other, [&](Script& self) {
    self.context().Exit(one, DiskFailed());
    self.context().Exit(one, ExitReason::Shutdown());
    self.context().Kill(one);
  });
  EXPECT_THAT(Notes(), ElementsAre("down Failed(DATA_LOSS: disk)"));
  Ref<Script> two = NewScript();
  Watch(watcher, two.pid());
  Step(two, [](Script& self) {
    self.context().Stop(ExitReason::Shutdown());
    self.context().Stop(DiskFailed());
  });
  EXPECT_THAT(Notes(), ElementsAre("down Shutdown"));
}

// OTP PRC-13
TEST_F(PrcTest, AnActorKnowsItselfItsParentAndItsMailboxes) {
  Ref<Script> child;
  Ref<Script> parent = NewScript([&](Script& self) {
    EXPECT_TRUE(self.context().Parent().is_null()) << "an actor that a thread outside actors spawned has no parent";
    child = self.context().Spawn<Script>(
        [spawner = self.context().Self()](Script& born) { EXPECT_EQ(born.context().Parent(), spawner); });
  });
  Step(child, [&](Script& self) {
    EXPECT_EQ(self.context().Self(), child.pid());
    EXPECT_EQ(self.context().Parent(), parent.pid());
    EXPECT_EQ(self.context().Now(), system().Now());
    EXPECT_EQ(self.context().WallNow(), system().WallNow());
    std::vector<std::string> names;
    for (const MailboxSignature& mailbox : self.context().Mailboxes()) {
      names.push_back(mailbox.name);
      EXPECT_EQ(mailbox.is_call, mailbox.name == "ask");
    }
    EXPECT_THAT(names, ElementsAre("do", "run", "note", "ask"));
  });
  End(child, ExitReason::Normal());
}

// Two mailbox ranks: eight messages of the higher are handled for each message of the lower.
class Ranked final : public Actor {
 public:
  Mailbox<"high", int> high{this};
  Mailbox<"low", int> low{this};
  explicit Ranked(std::string* trace) : trace_(*trace) {}
  StartResult Start() override { return serving_; }

 private:
  void High(int) { trace_ += 'h'; }
  void Low(int) { trace_ += 'l'; }
  std::string& trace_;
  Behavior serving_{"serving", On(high, &Ranked::High).Rank(1).Quota(8), On(low, &Ranked::Low).Rank(0).Quota(1)};
};

// OTP PRC-26
TEST_F(PrcTest, TheLowRankIsMixedInAndNeverStarved) {
  std::string trace;
  std::string wanted;
  Ref<Ranked> ranked = system().Spawn<Ranked>(&trace);
  for (int i = 0; i < 5; ++i) {
    ranked[&Ranked::low].Tell(i);
    wanted += "hhhhhhhhl";
  }
  for (int i = 0; i < 40; ++i) ranked[&Ranked::high].Tell(i);
  system().RunUntilIdle();
  EXPECT_EQ(trace, wanted);
}

// Sends itself a message each turn until `done`.
void Spin(Script& self, std::atomic<bool>* done, std::atomic<int>* turns) {
  turns->fetch_add(1);
  if (done->load()) return;
  Do(Ref<Script>(self.context().Self()), [done, turns](Script& again) { Spin(again, done, turns); });
}

// OTP PRC-27
TEST_F(PrcTest, AnActorThatAlwaysHasMailGivesOthersTheirTurn) {
  std::atomic<bool> done{false};
  std::atomic<int> turns{0};
  {
    ActorSystemOptions options;
    options.threads.threads = 1;
    ActorSystem one_thread(options);
    Ref<Script> spinning = one_thread.Spawn<Script>();
    Do(spinning, [&](Script& self) { Spin(self, &done, &turns); });
    Ref<Script> other = one_thread.Spawn<Script>();
    Do(other, [&](Script& self) {
      done = true;
      self.context().Stop();
    });
    EXPECT_TRUE(one_thread.AwaitEnd(other.pid(), absl::Minutes(1)).ok());
    EXPECT_TRUE(one_thread.Shutdown(absl::Minutes(1)));
  }
  EXPECT_TRUE(done);
  EXPECT_GT(turns, 0);
}

// OTP PRC-63: Signals and events do not wait behind messages of any rank.
TEST_F(PrcTest, ABusyActorStillHearsSignalsAndEvents) {
  std::atomic<bool> done{false};
  std::atomic<int> turns{0};
  Ref<Script> other = NewScript();
  Ref<Script> busy = NewScript([&](Script& self) { WatchFrom(self, other.pid()); });
  Do(busy, [&](Script& self) { Spin(self, &done, &turns); });
  Do(other, [&](Script& self) { self.context().Stop(); });
  while (notes_.empty() && turns < 1000000) system().seeded_executor().RunOne();
  EXPECT_THAT(Notes(), ElementsAre("down Normal"));
  system().Kill(busy.pid());
  system().RunUntilIdle();
  EXPECT_LT(turns, 1000000);
  EXPECT_FALSE(done);
}

// Has a mailbox that a Script lacks.
class Lacking final : public Actor {
 public:
  Mailbox<"missing", int> missing{this};
  StartResult Start() override { return StartResult::Ignore(); }
};
class LackingRef : public Ref<Lacking> {
 public:
  using Ref<Lacking>::Ref;
  static std::vector<MailboxSignature> Mailboxes() { return {SignatureOf(&Lacking::missing)}; }
};

// OTP PRC-30
TEST_F(PrcTest, ABadNameIsRefusedAndSoIsTheWrongTypeBehindAName) {
  Ref<Script> owner = NewScript({.registered_as = "taken"}, nullptr);
  Ref<Script> one = NewScript();
  Step(one, [](Script& self) {
    EXPECT_TRUE(absl::IsInvalidArgument(self.context().Register("")));
    EXPECT_TRUE(absl::IsInvalidArgument(self.context().Register("new\nline")));
    EXPECT_TRUE(absl::IsInvalidArgument(self.context().Register(std::string(256, 'n'))));
    EXPECT_TRUE(absl::IsAlreadyExists(self.context().Register("taken")));
  });
  absl::Status looked_up;
  RunTask(one, [&](Script& self) -> Task<> {
    const auto looking = self.context().Lookup<LackingRef>("taken", absl::Seconds(1));
    const absl::StatusOr<LackingRef> found = co_await looking;
    looked_up = found.status();
  });
  system().RunUntilIdle();
  EXPECT_TRUE(absl::IsFailedPrecondition(looked_up)) << looked_up;
  // The end of an actor unregisters its name.
  End(owner, ExitReason::Normal());
  EXPECT_EQ(system().WhereIs("taken"), absl::nullopt);
  EXPECT_TRUE(IsNoName(Named<Ref<Script>>(system(), "taken").Resolve()[&Script::note].Send("x")));
}

class SpawnTest : public ConformanceTest {
 protected:
  // Returns a step that spawns a child and notes the child's outcome and, if it is monitored, its Down.
  Script::Step Spawning(std::string how, SpawnOptions options = {}) {
    return [this, how, options](Script& self) {
      child_ = self.context().Spawn<Starter>(SpawnOptions(options).OnOutcome([&self](const SpawnOutcome& outcome) {
        const char* kinds[] = {"started", "ignored", "failed"};
        self.Note(absl::StrCat(kinds[static_cast<int>(outcome.kind)], " ", outcome.reason.ToString()));
      }),
                                             how, oracle_.channel(), &lives_);
    };
  }
  Probe<Call<int, int>> oracle_{system()};
  Ref<Starter> child_;
  std::atomic<int> lives_{0};
};

// OTP PRC-39
TEST_F(SpawnTest, ASpawnReturnsAtOnceAndItsOutcomeComesBeforeDownAndExit) {
  Ref<Script> parent = NewScript(TrapOthers);
  Step(parent, [&](Script& self) {
    Spawning("fail")(self);
    EXPECT_EQ(lives_, 0) << "nothing of the child runs in its parent's turn";
    EXPECT_FALSE(child_.pid().is_null());
    WatchFrom(self, child_.pid());
  });
  std::vector<std::string> notes = Notes();
  ASSERT_THAT(notes, SizeIs(3));
  EXPECT_EQ(notes[0], "failed Failed(DATA_LOSS: disk)");
  notes.erase(notes.begin());
  EXPECT_THAT(notes, UnorderedElementsAre("down Failed(DATA_LOSS: disk)", "exit Failed(DATA_LOSS: disk)"));
  // Invalid options are refused by the spawn outcome.
  Step(parent, Spawning("run", {.registered_as = "new\nline"}));
  EXPECT_THAT(Notes(), ElementsAre(StartsWith("failed Failed(INVALID_ARGUMENT"), StartsWith("exit Failed(INVALID")));
  Step(parent, Spawning("run"));
  EXPECT_THAT(Notes(), ElementsAre("started Normal"));
}

// OTP PRC-40
TEST_F(SpawnTest, DemonitorOfASpawnStillUnderWayLeavesNoDown) {
  Ref<Script> parent = NewScript(TrapOthers);
  for (const char* how : {"fail", "run", "wait"}) {
    Step(parent, [&](Script& self) {
      Spawning(how)(self);
      WatchFrom(self, child_.pid());
      self.monitors.clear();
    });
    system().Kill(child_.pid());
    system().RunUntilIdle();
    for (const std::string& note : Notes()) EXPECT_THAT(note, testing::Not(StartsWith("down"))) << how;
  }
  (void)oracle_.ReceiveAll();
}

// OTP PRC-44: The parent's end abandons its spawns.
TEST_F(SpawnTest, ASpawnWhoseParentEndsLeavesNeitherReplyNorOrphan) {
  Ref<Script> watcher = NewScript();
  Ref<Script> parent = NewScript(Spawning("wait"));
  Watch(watcher, child_.pid());
  EXPECT_THAT(Notes(), IsEmpty()) << "the start is in progress";
  End(parent, DiskFailed());
  EXPECT_THAT(Notes(), ElementsAre("down Failed(DATA_LOSS: disk)"));
  EXPECT_EQ(lives_, 1);
  (void)oracle_.ReceiveAll();
}

// OTP PRC-45: Here on this node.
TEST_F(SpawnTest, AMonitorMadeWithTheSpawnSeesTheRealReason) {
  Ref<Script> parent = NewScript(TrapOthers);
  Step(parent, [&](Script& self) {
    Spawning("fail", {.link = SpawnLink::kUnlinked})(self);
    WatchFrom(self, child_.pid());
  });
  EXPECT_THAT(Notes(), ElementsAre("failed Failed(DATA_LOSS: disk)", "down Failed(DATA_LOSS: disk)"));
}

// OTP PRC-22: Here with all requests that can be made about any target.
TEST_F(SpawnTest, AskingAboutATargetInAnyStateIsHarmless) {
  Ref<Script> watcher = NewScript(TrapOthers);
  const auto ask_about = [&](Pid target, const char* state) {
    Step(watcher, [target](Script& self) {
      const MonitorHandle monitor = self.context().Monitor(target, [](const Down&) {});
      self.context().Link(target);
      self.context().Unlink(target);
    });
    (void)system().AwaitEnd(target, absl::ZeroDuration());
    for (const NameRecord& record : system().registry().List("")) EXPECT_EQ(system().WhereIs(record.name), record.pid);
    EXPECT_TRUE(Ledger().balances()) << state;
    EXPECT_TRUE(IsAlive(watcher)) << state;
  };
  ask_about(Pid(), "never there");
  Ref<Script> parent = NewScript(TrapOthers);
  Do(parent, Spawning("wait", {.registered_as = "target"}));
  ask_about(child_.pid(), "about to begin");
  system().RunUntilIdle();
  ask_about(child_.pid(), "starting");
  oracle_.Receive()->replier.Reply(1);
  ask_about(child_.pid(), "started");
  Ref<Script> awaiting = NewScript();
  AskAndNote(awaiting, oracle_.channel(), absl::Hours(1));
  ask_about(awaiting.pid(), "awaiting");
  system().Exit(awaiting.pid(), DiskFailed());
  ask_about(awaiting.pid(), "ending");
  system().Kill(child_.pid());
  ask_about(child_.pid(), "being killed");
  ask_about(child_.pid(), "ended");
  ask_about(NewScript().pid(), "in a cell that was used before");
  (void)oracle_.ReceiveAll();
}

// Asks `callee`, cancels the call, and notes the answer.
void AskAndCancel(Ref<Script> asker, Channel<Call<int, int>> callee) {
  RunTask(asker, [callee](Script& self) -> Task<> {
    const auto asked = callee.Ask(1, absl::Minutes(1));
    const auto other = callee.Ask(2, absl::Minutes(1));
    (void)co_await other;  // the test answers it when both calls have been handled
    asked.Cancel();
    const absl::StatusOr<int> answer = co_await asked;
    self.Note(AnswerText(answer));
  });
}

// OTP PRC-72
TEST_F(PrcTest, AReplyAddressCanBeRevokedAndIsUsedUpByItsFirstUse) {
  Probe<Call<int, int>> callee(system());
  Ref<Script> asker = NewScript();
  AskAndCancel(asker, callee.channel());
  auto revoked = callee.Receive();
  callee.Receive()->replier.Reply(1);
  system().RunUntilIdle();
  EXPECT_THAT(Notes(), ElementsAre("Cancelled"));
  revoked->replier.Reply(7);
  system().RunUntilIdle();
  EXPECT_THAT(Notes(), IsEmpty());

  AskAndNote(asker, callee.channel());
  auto asked = callee.Receive();
  EXPECT_TRUE(asked->replier.is_open());
  asked->replier.Reply(8);
  EXPECT_FALSE(asked->replier.is_open());
  system().RunUntilIdle();
  EXPECT_THAT(Notes(), ElementsAre("8"));
}

// OTP PRC-73
TEST_F(PrcTest, AnAskAndItsWatchEndTogetherByReplyDownOrCancel) {
  Ref<Script> asker = NewScript();
  // The ask ends by the first reply, so the callee's end is not reported.
  Ref<Script> callee = NewScript();
  AskAndNote(asker, callee[&Script::ask]);
  Step(callee, [](Script& self) {
    self.repliers.back().Reply(7);
    self.context().Stop(DiskFailed());
  });
  EXPECT_THAT(Notes(), ElementsAre("7"));
  // The ask ends by the callee's end, while the callee handles the call or while the call is queued.
  callee = NewScript();
  AskAndNote(asker, callee[&Script::ask]);
  End(callee, DiskFailed());
  EXPECT_THAT(Notes(), ElementsAre("CalleeExited Failed(DATA_LOSS: disk)"));
  callee = NewScript();
  RunTask(asker, [callee](Script& self) -> Task<> {
    Do(callee, [](Script& other) { other.context().Stop(DiskFailed()); });
    const auto asked = callee[&Script::ask].Ask(1, absl::Seconds(1));
    const absl::StatusOr<int> answer = co_await asked;
    self.Note(AnswerText(answer));
  });
  system().RunUntilIdle();
  EXPECT_THAT(Notes(), ElementsAre("CalleeExited Failed(DATA_LOSS: disk)"));
  // After the Replier has moved to another holder, the callee's end does not end the ask; the watch has moved, too.
  callee = NewScript();
  Ref<Script> holder = NewScript();
  AskAndNote(asker, callee[&Script::ask]);
  Step(callee, [&](Script& self) {
    auto moved = std::make_shared<Replier<int>>(std::move(self.repliers.back()));
    self.repliers.clear();
    Do(holder, [moved](Script& other) { other.repliers.push_back(std::move(*moved)); });
  });
  End(callee, DiskFailed());
  EXPECT_THAT(Notes(), IsEmpty());
  End(holder, ExitReason::Shutdown());
  EXPECT_THAT(Notes(), ElementsAre("CalleeExited Shutdown"));
  // The ask ends by Cancel, so neither the reply nor the callee's end is reported.
  callee = NewScript();
  AskAndCancel(asker, callee[&Script::ask]);
  system().RunUntilIdle();
  Step(callee, [](Script& self) { self.repliers[1].Reply(1); });
  EXPECT_THAT(Notes(), ElementsAre("Cancelled"));
  End(callee, DiskFailed());
  EXPECT_THAT(Notes(), IsEmpty());
}

}  // namespace
}  // namespace understudy
