// The classes generated from counter.proto, used in one process; service_cluster_test uses two nodes.

#include <sstream>
#include <string>
#include <unordered_set>
#include <vector>

#include "absl/status/status.h"
#include "absl/status/statusor.h"
#include "absl/time/time.h"
#include "gmock/gmock.h"
#include "google/protobuf/descriptor.h"
#include "google/protobuf/empty.pb.h"
#include "gtest/gtest.h"
#include "understudy/actors/actor.h"
#include "understudy/actors/error.h"
#include "understudy/actors/exit_reason.h"
#include "understudy/actors/test_system.h"
#include "understudy/actors/testing/actor_test.h"
#include "understudy/proto/ref.pb.h"
#include "understudy/tests/tools/protoc_gen_understudy/counter.actor.h"
#include "understudy/tests/tools/protoc_gen_understudy/counter.pb.h"
#include "understudy/tests/tools/protoc_gen_understudy/counters.h"
#include "understudy/transport/protocol/fingerprint.h"

namespace counter {
namespace {

using testing::HasSubstr;
using understudy::Behavior;
using understudy::SpawnOptions;
using understudy::StartResult;

// A counter that also serves the optional rpc.
class ResettableCounter final : public Counter {
  StartResult Start() override { return resettable_; }

  TotalReply Reset(const ResetRequest&) {
    const TotalReply before = Now();
    total_ = 0;
    return before;
  }

  ResetMailbox reset{this};
  Behavior resettable_{"resettable", On(add, &ResettableCounter::Add), On(reset, &ResettableCounter::Reset)};
};

// A counter that serves two services.
class KeptCounter final : public Counter, public KeeperActor {
  StartResult Start() override { return counting_; }

  TotalReply Freeze(const FreezeRequest&) {
    Become(frozen_);
    return Now();
  }

  Behavior counting_{"counting",
                     On(add, &KeptCounter::Add),
                     On(total, &KeptCounter::Total),
                     On(flush, &KeptCounter::Flush),
                     On(watch, &KeptCounter::AddWatcher),
                     On(freeze, &KeptCounter::Freeze)};
  Behavior frozen_{"frozen", Drop(add), On(total, &KeptCounter::Total)};
};

// A counter without handlers for rpcs that are not optional.
class Adder final : public CounterActor {
  StartResult Start() override { return adding_; }
  Behavior adding_{"adding", On(add, [] {}), Drop(watch)};
};

class ServiceTest : public understudy::ActorTest {};

TEST_F(ServiceTest, ACastIsATellAndAnRpcThatReturnsEmptyIsACall) {
  const CounterRef counter = system().Spawn<Counter>();
  counter.add().Tell(Number(3));
  const absl::StatusOr<google::protobuf::Empty> flushed = Ask(counter.flush(), FlushRequest());
  EXPECT_TRUE(flushed.ok()) << flushed.status();
  EXPECT_EQ(Ask(counter.total(), TotalRequest())->total(), 3);
}

TEST_F(ServiceTest, AnRpcThatReturnsAStreamIsOne) {
  std::vector<int64_t> heard;
  absl::Status end = absl::UnknownError("none yet");
  const CrierRef crier = system().Spawn<Crier>();
  system().Spawn<Listener>(crier, &heard, &end);
  system().RunUntilIdle();
  EXPECT_TRUE(end.ok()) << end;
  ASSERT_EQ(heard.size(), 100U);
  EXPECT_EQ(heard.back(), 100);
}

TEST_F(ServiceTest, AnRpcThatTakesAStreamIsAnUpload) {
  std::vector<int64_t> heard;
  absl::Status end = absl::UnknownError("none yet");
  const SummerRef summer = system().Spawn<Summer>();
  system().Spawn<Teller>(summer, &heard, &end);
  system().RunUntilIdle();
  EXPECT_TRUE(end.ok()) << end;
  ASSERT_EQ(heard.size(), 101U);
  EXPECT_EQ(heard.front(), 5050);
  EXPECT_EQ(heard.back(), 5050);
}

TEST_F(ServiceTest, AMailboxHasTheCapacityThatItsOptionGives) {
  const CounterRef counter = system().Spawn<Counter>();
  system().RunUntilIdle();
  EXPECT_TRUE(counter.add().Send(Number(1)).ok());
  EXPECT_TRUE(counter.add().Send(Number(1)).ok());
  EXPECT_TRUE(understudy::IsFull(counter.add().Send(Number(1))));
  system().RunUntilIdle();
}

TEST_F(ServiceTest, AnActorThatLeavesOutAnOptionalRpcAnswersNoMailbox) {
  const CounterRef without = system().Spawn<Counter>();
  EXPECT_TRUE(understudy::IsNoMailbox(Ask(without.reset(), ResetRequest()).status()));
  const CounterRef with(system().Spawn<ResettableCounter>().pid());
  with.add().Tell(Number(4));
  const absl::StatusOr<TotalReply> reset = Ask(with.reset(), ResetRequest());
  ASSERT_TRUE(reset.ok()) << reset.status();
  EXPECT_EQ(reset->total(), 4);
}

TEST_F(ServiceTest, AnActorThatLeavesOutAnotherRpcDoesNotStartAndNamesIt) {
  const CounterRef adder = system().Spawn<Adder>();
  const absl::Status started = system().AwaitStart(adder.pid(), absl::Seconds(1));
  ASSERT_TRUE(understudy::ExitReasonOf(started).has_value()) << started;
  EXPECT_TRUE(absl::IsFailedPrecondition(understudy::ExitReasonOf(started)->status())) << started;
  EXPECT_THAT(std::string(started.message()),
              HasSubstr("counter::(anonymous namespace)::Adder does not handle counter.Counter/Total, "
                        "counter.Counter/Flush: expected a clause"));
}

TEST_F(ServiceTest, AnActorOfTwoServicesHasARefOfEach) {
  const understudy::Ref<KeptCounter> kept = system().Spawn<KeptCounter>();
  const CounterRef counter = kept;
  const KeeperRef keeper = kept;
  counter.add().Tell(Number(2));
  EXPECT_EQ(Ask(keeper.freeze(), FreezeRequest())->total(), 2);
  counter.add().Tell(Number(2));
  EXPECT_EQ(Ask(counter.total(), TotalRequest())->total(), 2);
}

// The plugin computes the fingerprint from the .proto file, and a node from the descriptors that are linked into the
// program.
TEST(FingerprintOfARefTest, IsThatOfItsService) {
  const auto fingerprint_of = [](const std::string& service) {
    return understudy::actor_protocol::ServiceFingerprint(
        *google::protobuf::DescriptorPool::generated_pool()->FindServiceByName(service));
  };
  EXPECT_EQ(CounterRef::kFingerprint, fingerprint_of("counter.Counter"));
  EXPECT_EQ(SummerRef::kFingerprint, fingerprint_of("counter.Summer"));
  EXPECT_NE(CounterRef::kFingerprint, SummerRef::kFingerprint);
}

TEST_F(ServiceTest, ARefComparesHashesAndPrintsAsItsPid) {
  const CounterRef one = system().Spawn<Counter>();
  const CounterRef two = system().Spawn<Counter>();
  EXPECT_EQ(one, CounterRef(one.pid()));
  EXPECT_NE(one, two);
  EXPECT_EQ((std::unordered_set<CounterRef>{one, two, one}.size()), 2U);
  std::ostringstream ref, pid;
  ref << one;
  pid << one.pid();
  EXPECT_EQ(ref.str(), pid.str());
}

TEST_F(ServiceTest, ARefTravelsInAMessage) {
  std::vector<int64_t> seen;
  const CounterRef counter = system().Spawn<Counter>();
  counter.watch().Tell(WatchBy(system().Spawn<Watcher>(&seen)));
  system().RunUntilIdle();
  counter.add().Tell(Number(5));
  system().RunUntilIdle();
  EXPECT_EQ(seen, (std::vector<int64_t>{0, 5}));
}

TEST_F(ServiceTest, AMalformedRefIsRefused) {
  const CounterRef counter = system().Spawn<Counter>();
  understudy::proto::Ref malformed;
  malformed.set_node("not a DNS label");
  malformed.set_incarnation(1);
  EXPECT_TRUE(absl::IsInvalidArgument(WatcherRef::FromProto(malformed, counter.pid()).status()));
  EXPECT_EQ(*WatcherRef::FromProto(WatcherRef().ToProto(), counter.pid()), WatcherRef());
}

// Compiled with -Wshadow -Werror, so this test shows that no option has the name of a variable in namespace understudy.
TEST(OptionNamesTest, AreFreeForTheUsersOfTheNamespace) {
  using namespace understudy;  // NOLINT(google-build-using-namespace)
  const int cast = 1, overflow = 2, capacity_messages = 3, time_to_live = 4, redacted = 5;
  EXPECT_EQ(cast + overflow + capacity_messages + time_to_live + redacted, 15);
}

}  // namespace
}  // namespace counter
