// TopScans: answers to TopActors from scans in slices that callers share.
#include "understudy/transport/ops/top_scans.h"

#include "absl/status/statusor.h"
#include "absl/time/time.h"
#include "absl/types/optional.h"
#include "gmock/gmock.h"
#include "gtest/gtest.h"
#include "understudy/actors/actor.h"
#include "understudy/actors/actor_system.h"
#include "understudy/actors/clock.h"
#include "understudy/actors/log_sink.h"
#include "understudy/actors/seeded_executor.h"
#include "understudy/proto/ops.pb.h"
#include "understudy/transport/ops/ops_limits.h"
#include "understudy/transport/ops/ops_reads.h"

namespace understudy {
namespace {

using internal::TopScans;
using ::testing::SizeIs;

// Takes nothing out of `shut`.
class Shut final : public Actor {
 public:
  Mailbox<"shut", int> shut{this};
  Mailbox<"open", int> open{this};
  StartResult Start() override { return working_; }

 private:
  Behavior working_{"working", On(open, [](int) {})};
};

// Goes on by `step` with each look at it.
class SteppingClock final : public Clock {
 public:
  MonotonicTime Now() override { return now_ = now_ + step; }
  absl::Time WallNow() override { return absl::UnixEpoch(); }
  void Advance(absl::Duration by) { now_ = now_ + by; }
  absl::Duration step = absl::Milliseconds(1);

 private:
  MonotonicTime now_;
};

class TopScansTest : public ::testing::Test {
 protected:
  // Spawns an actor with that number of waiting messages.
  Ref<Shut> Spawn(int waiting) {
    const Ref<Shut> actor = system_.Spawn<Shut>();
    executor_.RunUntilIdle();
    for (int i = 0; i < waiting; ++i) actor[&Shut::shut].Tell(i);
    return actor;
  }
  proto::ListActorsReply Answer(const proto::TopActorsRequest& request) {
    TopScans::Share share;
    absl::optional<proto::ListActorsReply> answer;
    while (!answer.has_value()) answer = scans_.Look(request, share);
    return *answer;
  }
  static proto::TopActorsRequest Top(uint32_t at_most, proto::TopOrder by = proto::BY_WAITING) {
    proto::TopActorsRequest request;
    request.set_at_most(at_most);
    request.set_by(by);
    return request;
  }

  SeededExecutor executor_{1};
  ActorSystem system_{{.name = "desk",
                       .executor = &executor_,
                       .seed = 1,
                       .log = &LogSink::Null(),
                       .closed_mail_limit = absl::InfiniteDuration()}};
  SteppingClock clock_;
  TopScans scans_{system_, clock_};
};

TEST_F(TopScansTest, TheAgeOfTheOldestMessageIsToldAndOrdersActors) {
  const Ref<Shut> older = Spawn(1);
  executor_.Advance(absl::Seconds(60));
  const Ref<Shut> fuller = Spawn(3);
  executor_.Advance(absl::Seconds(3));
  EXPECT_EQ(Answer(Top(0)).actors(0).pid(), internal::TextOf(fuller.pid()));
  const proto::ListActorsReply top = Answer(Top(0, proto::BY_AGE));
  ASSERT_THAT(top.actors(), SizeIs(2));
  EXPECT_EQ(top.actors(0).pid(), internal::TextOf(older.pid()));
  EXPECT_NEAR(static_cast<double>(top.actors(0).oldest_age_nanos()), 63e9, 1e8);
  proto::GetActorRequest actor;
  actor.set_actor(top.actors(0).pid());
  const absl::StatusOr<proto::ActorDetails> details = internal::ReadActor(system_, actor);
  ASSERT_TRUE(details.ok()) << details.status();
  EXPECT_EQ(details->mailboxes(0).oldest_age_nanos(), details->oldest_age_nanos());
  EXPECT_EQ(details->mailboxes(1).oldest_age_nanos(), 0);
}

TEST_F(TopScansTest, AScanOfManyActorsIsMadeInSlicesAndSharedByItsCallers) {
  for (size_t i = 0; i < 2 * limits::kTopSlicePlaces; ++i) (void)system_.Spawn<Shut>();
  const Ref<Shut> last = Spawn(2);
  TopScans::Share one;
  TopScans::Share other;
  EXPECT_FALSE(scans_.Look(Top(5), one).has_value());
  EXPECT_FALSE(scans_.Look(Top(5), other).has_value()) << "another caller goes on with the scan";
  one = nullptr;
  const absl::optional<proto::ListActorsReply> answer = scans_.Look(Top(5), other);
  ASSERT_TRUE(answer.has_value());
  ASSERT_THAT(answer->actors(), SizeIs(1));
  EXPECT_EQ(answer->actors(0).pid(), internal::TextOf(last.pid()));
  EXPECT_TRUE(scans_.Look(Top(5), one).has_value());
  EXPECT_EQ(scans_.begun(), 1);
}

TEST_F(TopScansTest, AScanThatAllItsCallersHaveLeftIsNotGoneOnWith) {
  const Ref<Shut> first = Spawn(0);
  for (size_t i = 0; i < limits::kTopSlicePlaces; ++i) (void)system_.Spawn<Shut>();
  executor_.RunUntilIdle();
  TopScans::Share left;
  EXPECT_FALSE(scans_.Look(Top(5), left).has_value());
  left = nullptr;
  first[&Shut::shut].Tell(1);
  const proto::ListActorsReply top = Answer(Top(5));
  ASSERT_THAT(top.actors(), SizeIs(1));
  EXPECT_EQ(top.actors(0).pid(), internal::TextOf(first.pid()));
}

TEST_F(TopScansTest, AnAnswerServesTwentyTimesTheTimeOfItsScanAndAtMostASecond) {
  const Ref<Shut> actor = Spawn(1);
  (void)Answer(Top(5));
  actor[&Shut::shut].Tell(2);
  clock_.Advance(limits::kTopAgePerCost * clock_.step - 4 * clock_.step);
  EXPECT_EQ(Answer(Top(5)).actors(0).waiting(), 1) << "from the scan before";
  clock_.Advance(4 * clock_.step);
  EXPECT_EQ(Answer(Top(5)).actors(0).waiting(), 2);
  EXPECT_EQ(scans_.begun(), 2);
  clock_.step = absl::Milliseconds(300);
  clock_.Advance(absl::Seconds(1));
  (void)Answer(Top(5));
  EXPECT_EQ(scans_.begun(), 3);
  (void)Answer(Top(5));
  EXPECT_EQ(scans_.begun(), 3);
  clock_.Advance(absl::Milliseconds(500));
  (void)Answer(Top(5));
  EXPECT_EQ(scans_.begun(), 4) << "the second is over";
}

TEST_F(TopScansTest, AnAnswerWithMoreActorsServesFewerAndNoOtherOrder) {
  for (const int waiting : {1, 3, 2}) (void)Spawn(waiting);
  EXPECT_THAT(Answer(Top(3)).actors(), SizeIs(3));
  const proto::ListActorsReply two = Answer(Top(2));
  ASSERT_THAT(two.actors(), SizeIs(2));
  EXPECT_EQ(two.actors(0).waiting(), 3);
  EXPECT_EQ(two.actors(1).waiting(), 2);
  EXPECT_EQ(scans_.begun(), 1);
  EXPECT_THAT(Answer(Top(1000)).actors(), SizeIs(3));
  EXPECT_EQ(scans_.begun(), 2);
  EXPECT_THAT(Answer(Top(2, proto::BY_AGE)).actors(), SizeIs(2));
  EXPECT_EQ(scans_.begun(), 3);
}

}  // namespace
}  // namespace understudy
