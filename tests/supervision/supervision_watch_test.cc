// The events of all supervisors of one system (supervision/supervision_watch.h).
#include "understudy/supervision/supervision_watch.h"

#include <memory>
#include <string>
#include <vector>

#include "absl/time/time.h"
#include "gmock/gmock.h"
#include "gtest/gtest.h"
#include "understudy/actors/actor.h"
#include "understudy/actors/actor_system.h"
#include "understudy/actors/log_sink.h"
#include "understudy/actors/seeded_executor.h"
#include "understudy/actors/test_system.h"
#include "understudy/actors/testing/kept_log.h"
#include "understudy/supervision/builders.h"
#include "understudy/supervision/supervision_event.h"

namespace understudy {
namespace {

using ::testing::ElementsAre;

class Idler final : public Actor {
 public:
  StartResult Start() override { return idling_; }

 private:
  Behavior idling_{"idling", Every(absl::Hours(1), [](const TimerEvent&) {})};
};

class Heard {
 public:
  SupervisionWatch::Listener Listener() {
    return [this](const SupervisionEvent& event) {
      lines_.push_back(event.child + " " + std::string(SupervisionEventName(event.kind)));
    };
  }
  const std::vector<std::string>& lines() const { return lines_; }

 private:
  std::vector<std::string> lines_;
};

TEST(SupervisionWatchTest, ItHearsAllSupervisorsOfItsSystemAndNoOther) {
  TestSystem system(1, "one");
  TestSystem other(1, "two");
  Heard heard;
  const SupervisionWatch watch(system.node(), heard.Listener());
  system.Spawn(OneForOne().Child("outer", Of(OneForOne().Child("inner", Of<Idler>()))));
  other.Spawn(OneForOne().Child("elsewhere", Of<Idler>()));
  system.RunUntilIdle();
  other.RunUntilIdle();
  EXPECT_THAT(heard.lines(), ElementsAre("inner started", "outer started"));
}

TEST(SupervisionWatchTest, ASupervisorThatWasStartedBeforeIsHeardUntilTheWatchEnds) {
  SeededExecutor executor(1);
  KeptLog log;
  ActorSystem system({.executor = &executor, .seed = 1, .log = &log});
  Heard heard;
  system.Spawn(OneForOne().Child("child", Of<Idler>().RegisteredAs("child")));
  executor.RunUntilIdle();
  auto watch = std::make_unique<SupervisionWatch>(system.node(), heard.Listener());
  system.Kill(*system.WhereIs("child"));
  executor.RunUntilIdle();
  EXPECT_THAT(heard.lines(), ElementsAre("child exited", "child is restarted", "child started"));
  watch = nullptr;
  system.Kill(*system.WhereIs("child"));
  executor.RunUntilIdle();
  EXPECT_EQ(heard.lines().size(), 3U);
}

TEST(SupervisionWatchTest, WithALogThatDiscardsAllLinesASupervisorThatIsStartedLaterIsHeard) {
  SeededExecutor executor(1);
  ActorSystem system({.executor = &executor, .seed = 1, .log = &LogSink::Null()});
  Heard heard;
  const SupervisionWatch watch(system.node(), heard.Listener());
  system.Spawn(OneForOne().Child("child", Of<Idler>()));
  executor.RunUntilIdle();
  EXPECT_THAT(heard.lines(), ElementsAre("child started"));
}

}  // namespace
}  // namespace understudy
