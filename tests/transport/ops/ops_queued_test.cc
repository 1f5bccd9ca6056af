// Tests of what the operator's service shows of actors that wait for a worker.
#include <string>

#include "absl/status/statusor.h"
#include "absl/time/time.h"
#include "gmock/gmock.h"
#include "gtest/gtest.h"
#include "understudy/actors/actor.h"
#include "understudy/actors/actor_system.h"
#include "understudy/actors/log_sink.h"
#include "understudy/actors/seeded_executor.h"
#include "understudy/proto/ops.pb.h"
#include "understudy/transport/ops/ops_reads.h"

namespace understudy {
namespace {

using ::testing::HasSubstr;
using ::testing::SizeIs;

// Becomes busy with its first message.
class Cashier final : public Actor {
 public:
  Mailbox<"pay", int> pay{this};
  Mailbox<"close", int> close{this};
  StartResult Start() override { return free_; }

 private:
  Behavior busy_{"busy", On(pay, [](int) {})};
  Behavior free_{"free", On(pay, [this](int) { Become(busy_); }), On(close, [](int) {})};
};

TEST(OpsQueuedTest, AQueuedActorIsToldWithItsBehaviorAndTheAgeOfTheNote) {
  SeededExecutor executor(1);
  ActorSystem system({.name = "desk", .executor = &executor, .seed = 1, .log = &LogSink::Null()});
  const Ref<Cashier> cashier = system.Spawn<Cashier>();
  executor.RunUntilIdle();
  executor.Advance(absl::Seconds(10));
  cashier[&Cashier::pay].Tell(1);
  executor.RunUntilIdle();
  executor.Advance(absl::Seconds(3));
  cashier[&Cashier::pay].Tell(2);  // waits for a turn, which nobody runs
  proto::GetActorRequest request;
  request.set_actor(internal::TextOf(cashier.pid()));
  const absl::StatusOr<proto::ActorDetails> actor = internal::ReadActor(system, request);
  ASSERT_TRUE(actor.ok()) << actor.status();
  EXPECT_EQ(actor->state(), proto::QUEUED);
  EXPECT_FALSE(actor->is_complete());
  EXPECT_EQ(actor->behavior(), "busy");
  EXPECT_THAT(actor->class_name(), HasSubstr("Cashier"));
  EXPECT_NEAR(static_cast<double>(actor->noted_within_nanos()), 3e9, 1e8);
  ASSERT_THAT(actor->mailboxes(), SizeIs(2));
  EXPECT_EQ(actor->mailboxes(0).closed_by(), "open");
  EXPECT_EQ(actor->mailboxes(1).closed_by(), "behavior");
  executor.RunUntilIdle();
}

}  // namespace
}  // namespace understudy
