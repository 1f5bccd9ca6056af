// Subscribers to a supervisor's events that are its own children. They end before their siblings do, or while an event
// is being sent to them.
#include <cstdint>
#include <memory>
#include <string>
#include <utility>
#include <vector>

#include "absl/status/statusor.h"
#include "absl/time/time.h"
#include "gmock/gmock.h"
#include "gtest/gtest.h"
#include "understudy/actors/actor.h"
#include "understudy/actors/dead_letter.h"
#include "understudy/actors/events.h"
#include "understudy/actors/exit_reason.h"
#include "understudy/actors/test_system.h"
#include "understudy/supervision/builders.h"
#include "understudy/supervision/supervision_event.h"
#include "understudy/supervision/supervisor.h"
#include "understudy/tests/supervision/workers.h"

namespace understudy {
namespace {

using ::testing::Each;
using ::testing::ElementsAre;
using ::testing::HasSubstr;
using ::testing::IsEmpty;

constexpr absl::Duration kSoon = absl::Seconds(1);

// Subscribes to `supervisor`, or to its parent if that is null, and records the events that it gets.
class Reporter final : public Actor {
 public:
  explicit Reporter(std::vector<std::string>* heard, SupervisorRef supervisor = SupervisorRef())
      : heard_(heard), supervisor_(supervisor) {}
  StartResult Start() override { return SubscribeFirst(); }

  Mailbox<"event", SupervisionEvent> event{this};

 private:
  Task<StartResult> SubscribeFirst() {
    // Traps exits, so that the parent's exit ends this actor only after it has handled the events sent before.
    context().TrapExits([](const ExitEvent&) {});
    const SupervisorRef supervisor = supervisor_.pid().is_null() ? SupervisorRef(context().Parent()) : supervisor_;
    auto asked = supervisor.subscribe().Ask({context().ChannelTo(event)}, kSoon);
    const absl::StatusOr<Subscribed> subscribed = co_await asked;
    if (!subscribed.ok()) co_return subscribed.status();
    co_return reporting_;
  }

  std::vector<std::string>* const heard_;
  const SupervisorRef supervisor_;
  Behavior reporting_{"reporting", On(event, [this](const SupervisionEvent& told) {
                        heard_->push_back(told.child + ": " + std::string(SupervisionEventName(told.kind)));
                      })};
};

class SubscribersTest : public testing::TestWithParam<uint64_t> {
 protected:
  SubscribersTest() {
    system_.SubscribeDeadLetters([this](const DeadLetter& letter) { dead_letters_.push_back(letter.ToString()); });
  }
  ChildBuilder ReporterChild() { return Of<Reporter>(&heard_); }
  ChildBuilder Other() { return Of<Worker>("other", journal_); }
  void StartAndStop(const SupervisorBuilder& tree) {
    const SupervisorRef root = system_.Spawn(tree);
    system_.RunUntilIdle();
    system_.Exit(root.pid(), ExitReason::Shutdown());
    system_.Advance(kSoon);
  }

  std::vector<std::string> heard_;
  std::vector<std::string> dead_letters_;
  std::shared_ptr<Journal> journal_ = std::make_shared<Journal>();
  TestSystem system_{GetParam()};
};

TEST_P(SubscribersTest, TheSubscriberThatStopsLastHearsOfAllStopsBeforeIt) {
  StartAndStop(OneForOne().Child("reporter", ReporterChild()).Child("a", Other()).Child("b", Other()));
  EXPECT_THAT(heard_, ElementsAre("reporter: started", "a: started", "b: started", ": stops its children",
                                  "b: was stopped", "a: was stopped"));
  EXPECT_THAT(dead_letters_, IsEmpty());
}

TEST_P(SubscribersTest, ASubscriberThatIsStoppedTogetherWithItsSiblingsHearsNothingOfTheirStop) {
  SupervisorBuilder tree = OneForOne();
  tree.StopTogether().Child("reporter", ReporterChild());
  for (int i = 0; i < 20; ++i) tree.Child("child-" + std::to_string(i), Other());
  StartAndStop(tree);
  EXPECT_EQ(heard_.size(), 22u);
  EXPECT_EQ(heard_.back(), ": stops its children");
  EXPECT_THAT(dead_letters_, IsEmpty());
}

TEST_P(SubscribersTest, AnEventForASubscriberThatHasJustEndedIsNoDeadLetter) {
  const SupervisorRef root = system_.Spawn(OneForOne().Intensity(9, kSoon).Child("a", Other()));
  system_.RunUntilIdle();
  for (int i = 0; i < 5; ++i) {
    const Ref<Reporter> reporter = system_.Spawn<Reporter>(&heard_, root);
    system_.RunUntilIdle();
    const Pid child = system_.Ask(root.which_children(), WhichChildren(), kSoon)->children[0].pid;
    system_.Kill(child);
    system_.Kill(reporter.pid());
    system_.RunUntilIdle();
  }
  EXPECT_THAT(dead_letters_, Each(HasSubstr("ended before it answered")))
      << "only events that had been accepted may become dead letters";
}

INSTANTIATE_TEST_SUITE_P(Seeds, SubscribersTest, testing::Range<uint64_t>(1, 30));

}  // namespace
}  // namespace understudy
