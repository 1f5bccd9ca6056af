// Servers: OTP's gen_server_SUITE.
#include <memory>
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
#include "understudy/actors/actor_system.h"
#include "understudy/actors/named.h"
#include "understudy/actors/testing/probe.h"
#include "understudy/tests/conformance/rounds.h"
#include "understudy/tests/conformance/scene.h"

namespace understudy {
namespace {

using ::testing::ElementsAre;
using ::testing::IsEmpty;
using ::testing::SizeIs;

// Does what each call or tell says, and notes what happens to it.
class Server final : public Actor {
 public:
  Mailbox<"call", Call<std::string, int>> call{this};
  Mailbox<"cast", std::string> cast{this};
  Mailbox<"info", std::string> info{this};
  explicit Server(std::vector<std::string>* notes) : notes_(*notes) {}
  StartResult Start() override { return serving_; }
  void OnExit(const ExitReason& reason) override { notes_.push_back("exit " + reason.ToString()); }

 private:
  void Serve(const std::string& what, Replier<int> replier) {
    if (what == "now") replier.Reply(1);
    if (what == "later") {
      later_.push_back(std::move(replier));
      (void)context().StartTimer("later", absl::Seconds(2), [this] {
        later_.back().Reply(2);
        later_.pop_back();
      });
    }
    if (what == "never") later_.push_back(std::move(replier));
    if (what == "crash") Fail(absl::DataLossError("disk"));
    if (what == "stop") {
      replier.Reply(3);
      context().Stop(ExitReason::Shutdown());
    }
    if (what == "watch idle") {
      replier.Reply(4);
      Become(idling_);
    }
  }
  Task<> Told(const std::string& what) {
    if (what == "delayed") {
      const Channel<Call<int, int>> nobody;
      const auto asked = nobody.Ask(1, absl::Seconds(1));
      (void)co_await asked;
    }
    notes_.push_back(what);
    if (what == "stop") context().Stop(ExitReason::Shutdown());
    if (what == "crash") Fail(absl::DataLossError("disk"));
  }
  std::vector<std::string>& notes_;
  std::vector<Replier<int>> later_;
  Behavior serving_{"serving", On(call, &Server::Serve), On(cast, &Server::Told), On(info, &Server::Told)};
  Behavior idling_{"idling", On(call, &Server::Serve), Idle(absl::Seconds(3), [this] { notes_.push_back("idle"); })};
};

class GsTest : public ConformanceTest {
 protected:
  Ref<Server> NewServer(SpawnOptions options = {}) {
    Ref<Server> server = system().Spawn<Server>(std::move(options), &notes_);
    system().RunUntilIdle();
    return server;
  }
  std::string Call(Channel<understudy::Call<std::string, int>> to, std::string what) {
    return AnswerText(Ask(to, std::move(what), absl::Seconds(5)));
  }
};

// OTP GS-03
TEST_F(GsTest, ACallIsAnsweredAtOnceOrLaterOrExpiresOrTellsTheCrash) {
  Ref<Server> server = NewServer();
  EXPECT_EQ(Call(server[&Server::call], "now"), "1");
  const MonotonicTime before = system().Now();
  EXPECT_EQ(Call(server[&Server::call], "later"), "2");
  EXPECT_EQ(system().Now() - before, absl::Seconds(2));
  EXPECT_EQ(Call(server[&Server::call], "never"), "Expired");
  EXPECT_EQ(system().Now() - before, absl::Seconds(7));
  EXPECT_EQ(Call(server[&Server::call], "watch idle"), "4");
  system().Advance(absl::Seconds(3));
  EXPECT_THAT(Notes(), ElementsAre("idle"));
  EXPECT_EQ(Call(server[&Server::call], "crash"), "CalleeExited Failed(DATA_LOSS: disk)");
  EXPECT_THAT(Notes(), ElementsAre("exit Failed(DATA_LOSS: disk)"));
  EXPECT_EQ(Call(server[&Server::call], "now"), "NoProcess");
}

// OTP GS-05
TEST_F(GsTest, ATellIsHandledInEachFormAndHarmlessWithoutATarget) {
  Ref<Server> server = NewServer();
  for (const char* what : {"plain", "delayed", "stop"}) server[&Server::cast].Tell(what);
  system().RunUntilIdle();
  system().Advance(absl::Seconds(1));
  EXPECT_THAT(Notes(), ElementsAre("plain", "delayed", "stop", "exit Shutdown"));
  server = NewServer();
  server[&Server::cast].Tell("crash");
  system().RunUntilIdle();
  EXPECT_THAT(Notes(), ElementsAre("crash", "exit Failed(DATA_LOSS: disk)"));
  server[&Server::cast].Tell("to the dead");
  Ref<Server>()[&Server::cast].Tell("to nobody");
  Named<Ref<Server>>(system(), "free").Resolve()[&Server::cast].Tell("to a free name");
  system().RunUntilIdle();
  EXPECT_THAT(Notes(), IsEmpty());
  EXPECT_GE(dead_letters().size(), 1U);
}

// OTP GS-07: One message has a mailbox of its own, and one has no mailbox in the server.
TEST_F(GsTest, WhatIsNotOfTheProtocolIsHandledToo) {
  Ref<Server> server = NewServer();
  for (const char* what : {"delayed", "plain"}) server[&Server::info].Tell(what);
  Ref<Script>(server.pid())[&Script::note].Tell("it has no such mailbox");
  server[&Server::info].Tell("stop");
  system().Advance(absl::Seconds(1));
  ASSERT_THAT(dead_letters(), SizeIs(1));
  EXPECT_TRUE(IsNoMailbox(dead_letters()[0].why)) << dead_letters()[0].why;
  EXPECT_THAT(Notes(), ElementsAre("delayed", "plain", "stop", "exit Shutdown"));
}

// Continues its work after Start, and after each message, before it takes the next message.
class Continuing final : public Actor {
 public:
  Mailbox<"go", std::string> go{this};
  Continuing(Channel<understudy::Call<int, int>> oracle, std::vector<std::string>* notes)
      : oracle_(oracle), notes_(*notes) {}
  StartResult Start() override { return Begin(); }

 private:
  Task<StartResult> Begin() {
    const auto asked = oracle_.Ask(1, absl::Minutes(1));
    (void)co_await asked;
    notes_.push_back("start goes on");
    co_return going_;
  }
  Task<> Go(const std::string& what) {
    notes_.push_back(what);
    const auto asked = oracle_.Ask(2, absl::Minutes(1));
    (void)co_await asked;
    notes_.push_back(what + " goes on");
  }
  Channel<understudy::Call<int, int>> oracle_;
  std::vector<std::string>& notes_;
  Behavior going_{"going", On(go, &Continuing::Go)};
};

// OTP GS-09
TEST_F(GsTest, WhatAStartOrAHandlerHasLeftToDoComesBeforeQueuedMessages) {
  Probe<understudy::Call<int, int>> oracle(system());
  Ref<Continuing> continuing = system().Spawn<Continuing>(oracle.channel(), &notes_);
  for (const char* what : {"a", "b"}) continuing[&Continuing::go].Tell(what);
  for (int i = 0; i < 3; ++i) {
    auto asked = oracle.Receive();
    ASSERT_TRUE(asked.has_value());
    asked->replier.Reply(1);
  }
  system().RunUntilIdle();
  EXPECT_THAT(Notes(), ElementsAre("start goes on", "a", "a goes on", "b", "b goes on"));
}

// OTP GS-12, GS-13, GS-14: Here on this node, by name and by pid.
TEST_F(GsTest, ACallByNameOrByPidNeverHangsWhenItsServerCrashes) {
  Ref<Server> server = NewServer({.registered_as = "server"});
  const Named<Ref<Server>> named(system(), "server");
  EXPECT_EQ(Call(named.Resolve()[&Server::call], "now"), "1");
  EXPECT_EQ(Call(server[&Server::call], "now"), "1");
  EXPECT_EQ(Call(named.Resolve()[&Server::call], "crash"), "CalleeExited Failed(DATA_LOSS: disk)");
  EXPECT_EQ(Call(named.Resolve()[&Server::call], "now"), "NoName");
  EXPECT_EQ(Call(server[&Server::call], "now"), "NoProcess");
}

// OTP GS-15, GS-17: Here for a node with which this node has no session.
TEST_F(GsTest, ACallToAnUnreachableNodeAnswersAtOnce) {
  const Pid gone(*system().InternPeer("gone", NodeIncarnation{5}), 3, 4);
  const MonotonicTime before = system().Now();
  EXPECT_EQ(Call(Ref<Server>(gone)[&Server::call], "now"), "NoConnection");
  EXPECT_EQ(system().Now(), before);
}

// OTP GS-19
TEST_F(GsTest, AServerWhoseParentEndsCleansUpAndEnds) {
  for (const bool is_named : {false, true}) {
    Ref<Server> server;
    Ref<Script> parent = NewScript(is_named ? SpawnOptions{.registered_as = "parent"} : SpawnOptions{},
                                   [&](Script& self) { server = self.context().Spawn<Server>(&notes_); });
    End(parent, DiskFailed());
    EXPECT_THAT(Notes(), ElementsAre("exit Failed(DATA_LOSS: disk)"));
    EXPECT_TRUE(IsNoProcess(server[&Server::info].Send("x")));
  }
}

// OTP GS-28: An actor reports its state on request if it declares a mailbox for that, here one of a higher rank.
TEST_F(GsTest, AStateIsToldByACallThatPassesOtherMail) {
  class Counting final : public Actor {
   public:
    Mailbox<"add", int> add{this};
    Mailbox<"state", understudy::Call<int, int>> state{this};
    StartResult Start() override { return counting_; }

   private:
    int sum_ = 0;
    Behavior counting_{"counting", On(add, [this](int n) { sum_ += n; }),
                       On(state, [this](int) { return sum_; }).Rank(1)};
  };
  Ref<Counting> counting = system().Spawn<Counting>();
  Ref<Script> asker = system().Spawn<Script>();
  int before = 99;
  RunTask(asker, [&](Script&) -> Task<> {
    for (int i = 0; i < 10; ++i) counting[&Counting::add].Tell(1);
    const auto asked = counting[&Counting::state].Ask(0, absl::Seconds(1));
    const absl::StatusOr<int> answer = co_await asked;
    before = answer.value_or(99);
  });
  system().RunUntilIdle();
  EXPECT_LT(before, 10);
  EXPECT_EQ(Ask(counting[&Counting::state], 0).value_or(0), 10);
}

// OTP GS-35
TEST_F(GsTest, AReplyThroughAReplierThatTravelledReachesItsAskerAlone) {
  Ref<Script> callee = NewScript();
  Ref<Script> holder = NewScript();
  std::vector<Ref<Script>> askers = {NewScript(), NewScript()};
  for (const Ref<Script>& asker : askers) AskAndNote(asker, callee[&Script::ask], absl::Minutes(1));
  Step(callee, [&](Script& self) {
    auto moved = std::make_shared<std::vector<Replier<int>>>(std::move(self.repliers));
    self.repliers.clear();
    Do(holder, [moved](Script& other) { other.repliers = std::move(*moved); });
  });
  Step(holder, [](Script& self) { self.repliers[1].Reply(20); });
  EXPECT_THAT(Notes(), ElementsAre("20"));
  Step(holder, [](Script& self) { self.repliers[0].Reply(10); });
  EXPECT_THAT(Notes(), ElementsAre("10"));
}

// OTP GS-36, GS-39, GS-41: By pid, by a name registered on the node and by a name published in the cluster.
TEST_F(GsTest, AStopByPidOrByNameEndsTheServerWithItsReason) {
  Ref<Server> server = NewServer();
  system().RequestStop(server.pid(), ExitReason::Normal());
  system().RunUntilIdle();
  EXPECT_THAT(Notes(), ElementsAre("exit Normal"));
  server = NewServer({.registered_as = "server", .published_as = "cluster/server"});
  for (const char* name : {"server", "cluster/server"}) EXPECT_EQ(system().WhereIs(name), server.pid());
  system().RequestStop(*system().WhereIs("server"));
  system().RunUntilIdle();
  EXPECT_THAT(Notes(), ElementsAre("exit Shutdown"));
  server = NewServer({.registered_as = "server", .published_as = "cluster/server"});
  system().RequestStop(*system().WhereIs("cluster/server"), DiskFailed());
  system().RunUntilIdle();
  EXPECT_THAT(Notes(), ElementsAre("exit Failed(DATA_LOSS: disk)"));
  for (const char* name : {"server", "cluster/server"}) EXPECT_EQ(system().WhereIs(name), absl::nullopt);
}

// OTP GS-38
TEST_F(GsTest, AWaitThatIsOverBeforeItBeginsLeavesTheServerAlone) {
  Ref<Server> server = NewServer();
  EXPECT_TRUE(IsExpired(system().AwaitEnd(server.pid(), -absl::Seconds(1)).status()));
  EXPECT_EQ(AnswerText(Ask(server[&Server::call], std::string("never"), -absl::Seconds(1))), "Expired");
  EXPECT_EQ(Call(server[&Server::call], "now"), "1");
  EXPECT_THAT(Notes(), IsEmpty());
}

// OTP GS-43, GS-44: Here for a node with which this node has no session.
TEST_F(GsTest, AStopOnAnUnreachableNodeTellsNoConnection) {
  const Pid gone(*system().InternPeer("gone", NodeIncarnation{5}), 3, 4);
  system().RequestStop(gone);
  const absl::StatusOr<ExitReason> ended = system().AwaitEnd(gone, absl::Seconds(1));
  ASSERT_TRUE(ended.ok()) << ended.status();
  EXPECT_EQ(ended->kind(), ExitReason::Kind::kNoConnection);
}

// OTP GS-48
TEST_F(GsTest, WhatNoMailboxTakesIsADeadLetterAndItsTargetLivesOn) {
  Ref<Server> server = NewServer();
  Ref<Script>(server.pid())[&Script::note].Tell("it has no such mailbox");
  system().RunUntilIdle();
  ASSERT_THAT(dead_letters(), SizeIs(1));
  EXPECT_TRUE(IsNoMailbox(dead_letters()[0].why)) << dead_letters()[0].why;
  EXPECT_EQ(Call(server[&Server::call], "now"), "1");
}

// An actor whose start declines or fails.
class Unwilling final : public Actor {
 public:
  explicit Unwilling(bool declines) : declines_(declines) {}
  StartResult Start() override {
    if (declines_) return StartResult::Ignore();
    return absl::DataLossError("disk");
  }

 private:
  const bool declines_;
};

// A start declines or fails. When its outcome is told, its names must be free, so that another actor can take them.
void NamesOfAStartThatFailed(ActorSystem& system, Random& random) {
  Tally over(system);
  int still_named = 0;
  int refused = 0;
  const bool declines = random.Below(2) == 0;
  Ref<Script> parent = system.Spawn<Script>([&](Script& self) {
    self.context().TrapExits([](const ExitEvent&) {});
    const SpawnOptions names{.registered_as = "desk", .published_as = "cluster/desk"};
    const auto on_next = [&](const SpawnOutcome& outcome) {
      if (outcome.kind != SpawnOutcome::Kind::kStarted) ++refused;
      over.Add();
    };
    const auto on_outcome = [&, names, on_next](const SpawnOutcome& outcome) {
      const auto wanted = declines ? SpawnOutcome::Kind::kIgnored : SpawnOutcome::Kind::kFailed;
      EXPECT_EQ(outcome.kind, wanted);
      for (const char* name : {"desk", "cluster/desk"}) {
        if (system.WhereIs(name).has_value()) ++still_named;
      }
      self.context().Spawn<Script>(SpawnOptions(names).OnOutcome(on_next));
    };
    self.context().Spawn<Unwilling>(SpawnOptions(names).OnOutcome(on_outcome), declines);
  });
  over.Await(1);
  system.Kill(parent.pid());
  ExpectAllEnded(system);
  EXPECT_EQ(still_named, 0);
  EXPECT_EQ(refused, 0);
}

// OTP GS-24
TEST(GsRaceTest, TheNamesOfAStartThatFailedAreFreeWhenItIsToldWithEverySeed) { WithEverySeed(NamesOfAStartThatFailed); }
// OTP GS-24
TEST(GsRaceTest, TheNamesOfAStartThatFailedAreFreeWhenItIsToldOnThreads) { OnThreads(NamesOfAStartThatFailed); }

}  // namespace
}  // namespace understudy
