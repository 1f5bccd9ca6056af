// Tests of what the suspended handlers of an ending actor may do while they are destroyed (semantics 5.4): they may
// release the objects that they own. Sends, asks, spawns, timers and the like are refused.
#include <functional>
#include <memory>
#include <string>
#include <utility>
#include <vector>

#include "absl/status/status.h"
#include "absl/strings/str_cat.h"
#include "absl/time/time.h"
#include "absl/types/optional.h"
#include "gmock/gmock.h"
#include "gtest/gtest.h"
#include "understudy/actors/actor.h"
#include "understudy/actors/error.h"
#include "understudy/actors/pending.h"
#include "understudy/actors/replier.h"
#include "understudy/actors/testing/actor_test.h"
#include "understudy/actors/testing/probe.h"
#include "understudy/tests/actors/script.h"

namespace understudy {
namespace {

using ::testing::HasSubstr;
using ::testing::IsEmpty;
using ::testing::SizeIs;

// Does something when it is destroyed, as a part of a frame.
class AtItsEnd {
 public:
  explicit AtItsEnd(std::function<void()> what) : what_(std::move(what)) {}
  ~AtItsEnd() { what_(); }
  AtItsEnd(const AtItsEnd&) = delete;
  AtItsEnd& operator=(const AtItsEnd&) = delete;

 private:
  const std::function<void()> what_;
};

class LettingGoTest : public ActorTest {
 protected:
  // A script whose handler awaits for ever, and does `what` when its frame goes.
  Ref<Script> Suspended(std::function<void(Script&)> what,
                        std::function<void(Script&, const ExitReason&)> at_exit = nullptr) {
    Ref<Script> script = system().Spawn<Script>(nullptr, std::move(at_exit), &notes_);
    RunTask(script, [this, what](Script& self) -> Task<> {
      const AtItsEnd end([what, &self] { what(self); });
      auto asked = nobody_.channel().Ask(1, absl::Hours(1));
      (void)co_await asked;
    });
    system().RunUntilIdle();
    return script;
  }
  void End(Ref<Script> script) {
    system().Exit(script.pid(), ExitReason::Shutdown());
    system().RunUntilIdle();
  }
  void TearDown() override {
    (void)nobody_.ReceiveAll();
    ActorTest::TearDown();
  }

  Probe<Call<int, int>> nobody_{system()};
  std::vector<std::string> notes_;
};

TEST_F(LettingGoTest, RequestsOfDestroyedHandlersAreCancelled) {
  Probe<std::string> other(system());
  std::vector<absl::Status> refused;
  Pid spawned = other.pid();
  Ref<Script> script = Suspended([&](Script& self) {
    refused.push_back(other.channel().Send("from a frame"));
    refused.push_back(self.context().Register("late"));
    refused.push_back(self.context().StartTimer("late", absl::Seconds(1), [] {}));
    spawned = self.context().Spawn<Script>().pid();
    (void)nobody_.channel().Ask(2, absl::Seconds(1));
    self.context().Kill(other.pid());
    self.context().Exit(other.pid(), ExitReason::Shutdown());
    self.context().RequestStop(other.pid());
  });
  (void)nobody_.ReceiveAll();
  End(script);
  ASSERT_THAT(refused, SizeIs(3));
  for (const absl::Status& status : refused) {
    EXPECT_TRUE(understudy::IsCancelled(status)) << status;
    EXPECT_THAT(std::string(status.message()), HasSubstr("the actor ends"));
  }
  EXPECT_TRUE(spawned.is_null());
  EXPECT_THAT(nobody_.ReceiveAll(), IsEmpty());
  EXPECT_TRUE(other.channel().Send("it lives").ok());
  other.Expect("it lives");
  EXPECT_EQ(system().WhereIs("late"), absl::nullopt);
}

TEST_F(LettingGoTest, ACancelledAskMayBeCancelledAgain) {
  absl::optional<Pending<int>> late;
  Ref<Script> script = Suspended(
      [&](Script&) {
        late = nobody_.channel().Ask(2, absl::Seconds(1));
        late->Cancel();
      },
      [&](Script& self, const ExitReason&) {
        late->Cancel();
        const ScopedClose close = self.context().Close(self.note, *late);
        self.Note("ended");
      });
  End(script);
  EXPECT_THAT(notes_, ::testing::ElementsAre("ended"));
}

TEST_F(LettingGoTest, ThenOnExitMaySend) {
  Probe<std::string> other(system());
  absl::Status from_frame;
  Ref<Script> script = Suspended([&](Script&) { from_frame = other.channel().Send("from a frame"); },
                                 [&](Script&, const ExitReason&) { other.channel().Tell("last words"); });
  End(script);
  EXPECT_TRUE(understudy::IsCancelled(from_frame));
  other.Expect("last words");
  other.ExpectNothing();
}

// The destructors of a Replier, monitor and scoped close in the frame still have their effect.
class Keeper final : public Actor {
 public:
  Mailbox<"ask", Call<int, int>> ask{this};
  Mailbox<"closed", int> closed{this};
  explicit Keeper(Channel<Call<int, int>> nobody, Pid watched) : nobody_(nobody), watched_(watched) {}
  StartResult Start() override { return keeping_; }

 private:
  Task<> Keep(int n, Replier<int> replier) {
    const MonitorHandle monitor = context().Monitor(watched_, [](const Down&) {});
    const ScopedClose close = context().Close(closed);
    const AtItsEnd end([&] {
      if (n == 1) replier.Reply(7);
    });
    auto asked = nobody_.Ask(1, absl::Hours(1));
    (void)co_await asked;
  }

  const Channel<Call<int, int>> nobody_;
  const Pid watched_;
  Behavior keeping_{"keeping", On(ask, &Keeper::Keep).Interleaved(), On(closed, [] {})};
};

TEST_F(LettingGoTest, RepliersMonitorsAndScopedClosesStillWork) {
  Ref<Script> watched = system().Spawn<Script>();
  Ref<Keeper> keeper = system().Spawn<Keeper>(nobody_.channel(), watched.pid());
  for (const int n : {1, 2}) {
    RunTask(system().Spawn<Script>(nullptr, nullptr, &notes_), [keeper, n](Script& self) -> Task<> {
      auto asked = keeper[&Keeper::ask].Ask(n, absl::Hours(1));
      const absl::StatusOr<int> answer = co_await asked;
      self.Note(answer.ok() ? absl::StrCat(*answer) : std::string(answer.status().message()));
    });
  }
  system().RunUntilIdle();
  system().Exit(keeper.pid(), ExitReason::Shutdown());
  system().RunUntilIdle();
  EXPECT_THAT(notes_, ::testing::UnorderedElementsAre("7", HasSubstr("CalleeExited")));
}

// The frame forwards its call when it is destroyed, which is too late.
class LatePasser final : public Actor {
 public:
  Mailbox<"ask", Call<int, int>> ask{this};
  Mailbox<"other", Call<int, int>> other{this};
  explicit LatePasser(Channel<Call<int, int>> nobody) : nobody_(nobody) {}
  StartResult Start() override { return passing_; }

 private:
  Task<> Pass(int n, Replier<int> replier) {
    const AtItsEnd end([&] { context().Forward(other, n, std::move(replier)); });
    auto asked = nobody_.Ask(1, absl::Hours(1));
    (void)co_await asked;
  }

  const Channel<Call<int, int>> nobody_;
  Behavior passing_{"passing", On(ask, &LatePasser::Pass)};
};

TEST_F(LettingGoTest, ACallThatIsForwardedThenIsAnsweredWithTheReason) {
  Ref<LatePasser> passer = system().Spawn<LatePasser>(nobody_.channel());
  RunTask(system().Spawn<Script>(nullptr, nullptr, &notes_), [passer](Script& self) -> Task<> {
    auto asked = passer[&LatePasser::ask].Ask(1, absl::Hours(1));
    const absl::StatusOr<int> answer = co_await asked;
    self.Note(answer.status().ToString());
  });
  system().RunUntilIdle();
  system().Exit(passer.pid(), ExitReason::Shutdown());
  system().RunUntilIdle();
  EXPECT_THAT(notes_, ::testing::ElementsAre(AllOf(HasSubstr("CalleeExited"), HasSubstr("Shutdown"))));
}

}  // namespace
}  // namespace understudy
