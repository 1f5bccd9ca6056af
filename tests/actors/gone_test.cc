// Monitors until gone: their Down comes when the object and frames of the actor are destroyed and nothing holds its
// life.
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
#include "understudy/actors/test_system.h"
#include "understudy/actors/testing/actor_test.h"
#include "understudy/tests/actors/script.h"

namespace understudy {
namespace {

using ::testing::ElementsAre;
using ::testing::IsEmpty;

// Says when it is destroyed, and what of.
class Trace {
 public:
  Trace(std::vector<std::string>* notes, std::string what) : notes_(notes), what_(std::move(what)) {}
  ~Trace() { notes_->push_back(absl::StrCat(what_, " destroyed")); }
  Trace(const Trace&) = delete;
  Trace& operator=(const Trace&) = delete;

 private:
  std::vector<std::string>* const notes_;
  const std::string what_;
};

// An actor with a suspended handler and one that blocks.
class Hog final : public Actor {
 public:
  Hog(TestSystem* system, std::vector<std::string>* notes) : system_(system), notes_(notes), trace_(notes, "object") {}
  Mailbox<"suspend", int> suspend{this};
  Mailbox<"hold", absl::Duration> hold{this};
  StartResult Start() override { return hogging_; }

 private:
  Task<> Suspend(int) {
    const Trace trace(notes_, "frame");
    auto pause = context().Sleep(absl::Hours(1));
    (void)co_await pause;
  }
  void Hold(const absl::Duration& time) {
    system_->seeded_executor().HoldHere(time);
    notes_->push_back("handler returns");
  }

  TestSystem* const system_;
  std::vector<std::string>* const notes_;
  const Trace trace_;
  Behavior hogging_{"hogging", On(suspend, &Hog::Suspend).Interleaved(), On(hold, &Hog::Hold)};
};

class GoneTest : public ActorTest {
 protected:
  void Watch(Pid target) {
    Do(watcher_, [this, target](Script& self) {
      self.monitors.push_back(self.context().Monitor(target, [this, &self](const Down& down) {
        Note(absl::StrCat("down", self.context().IsGone(down.pid) ? " and gone" : ""));
      }));
      WatchUntilGone(self, target);
    });
  }
  void WatchUntilGone(Script& self, Pid target) {
    self.monitors.push_back(self.context().MonitorUntilGone(target, [this, &self](const Down& down) {
      EXPECT_TRUE(self.context().IsGone(down.pid));
      Note(absl::StrCat("gone: ", down.reason.ToString()));
    }));
  }
  void Note(std::string what) { notes_.push_back(std::move(what)); }
  std::vector<std::string> Take() { return std::exchange(notes_, {}); }

  std::vector<std::string> notes_;
  Ref<Script> watcher_ = system().Spawn<Script>();
};

TEST_F(GoneTest, TheDownOfAFencedActorComesWhenItsHandlerHasReturnedAndItsObjectAndFramesAreDestroyed) {
  const Ref<Hog> hog = system().Spawn<Hog>(&system(), &notes_);
  Watch(hog.pid());
  hog[&Hog::suspend].Tell(1);
  system().RunUntilIdle();
  const MonotonicTime begin = system().Now();
  auto& executor = system().seeded_executor();
  executor.RunAt(begin + absl::Milliseconds(10), [&] { system().Kill(hog.pid()); });
  executor.RunAt(begin + absl::Seconds(1), [&] {
    EXPECT_THAT(Take(), ElementsAre("down"));
    Do(watcher_, [&](Script& self) { WatchUntilGone(self, hog.pid()); });  // late
  });
  hog[&Hog::hold].Tell(absl::Seconds(2));
  system().RunUntilIdle();
  const std::string told = absl::StrCat("gone: ", ExitReason::KilledHandlerRunning().ToString());
  EXPECT_THAT(Take(), ElementsAre("handler returns", "frame destroyed", "object destroyed", told,
                                  absl::StrCat("gone: ", ExitReason::NoProcess().ToString())));
  EXPECT_EQ(system().Now(), begin + absl::Seconds(2)) << "at once, without a look now and then";
}

TEST_F(GoneTest, OfAnActorThatEndsInOrderOrHasEndedItComesAtOnce) {
  const Ref<Script> script = system().Spawn<Script>();
  Watch(script.pid());
  system().RunUntilIdle();
  EXPECT_THAT(Take(), IsEmpty());
  Do(script, [](Script& self) { self.context().Stop(ExitReason::Shutdown()); });
  system().RunUntilIdle();
  EXPECT_THAT(Take(), ElementsAre("down and gone", absl::StrCat("gone: ", ExitReason::Shutdown().ToString())));
  Do(watcher_, [&](Script& self) { WatchUntilGone(self, script.pid()); });
  system().RunUntilIdle();
  EXPECT_THAT(Take(), ElementsAre(absl::StrCat("gone: ", ExitReason::NoProcess().ToString())));
}

TEST_F(GoneTest, AHandleThatIsDestroyedEndsTheMonitorAlsoAfterTheActorsEnd) {
  const Ref<Script> script = system().Spawn<Script>();
  LifeHold hold;
  Do(script, [&](Script& self) {
    hold = self.context().HoldLife();
    self.context().Stop(ExitReason::Shutdown());
  });
  Watch(script.pid());
  system().RunUntilIdle();
  EXPECT_THAT(Take(), ElementsAre("down"));
  Do(watcher_, [](Script& self) { self.monitors.clear(); });
  system().RunUntilIdle();
  hold = nullptr;
  system().RunUntilIdle();
  EXPECT_THAT(Take(), IsEmpty());
}

TEST_F(GoneTest, AnActorWhoseLifeIsHeldIsGoneWhenTheLastCopyIsLetGoOnAnyThread) {
  const Ref<Script> script = system().Spawn<Script>();
  std::vector<LifeHold> holds;
  Do(script, [&](Script& self) {
    holds.push_back(self.context().HoldLife());
    holds.push_back(self.context().HoldLife());
    holds.push_back(holds.front());
  });
  Watch(script.pid());
  system().RunUntilIdle();
  system().Kill(script.pid());
  system().RunUntilIdle();
  EXPECT_THAT(Take(), ElementsAre("down"));
  holds.pop_back();
  holds.pop_back();
  system().RunUntilIdle();
  EXPECT_THAT(Take(), IsEmpty());
  std::thread([&] { holds.clear(); }).join();
  system().RunUntilIdle();
  EXPECT_THAT(Take(), ElementsAre(absl::StrCat("gone: ", ExitReason::Killed().ToString())));
}

TEST(LifeHoldTest, OutlivesItsSystemHarmlessly) {
  LifeHold hold;
  {
    TestSystem system;
    const Ref<Script> script = system.Spawn<Script>([&](Script& self) { hold = self.context().HoldLife(); });
    system.Spawn<Script>([&](Script& self) {
      self.monitors.push_back(self.context().MonitorUntilGone(script, [](const Down&) { FAIL(); }));
    });
    system.RunUntilIdle();
    system.Kill(script.pid());
    system.RunUntilIdle();
  }
  hold = nullptr;
}

}  // namespace
}  // namespace understudy
