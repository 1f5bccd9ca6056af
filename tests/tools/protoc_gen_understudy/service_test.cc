// The generated classes of counter.proto in use: one process, then two simulated nodes.

#include <sstream>
#include <string>
#include <unordered_set>
#include <vector>

#include "absl/status/status.h"
#include "absl/status/statusor.h"
#include "absl/time/time.h"
#include "google/protobuf/empty.pb.h"
#include "gtest/gtest.h"
#include "understudy/actors/actor.h"
#include "understudy/actors/error.h"
#include "understudy/actors/test_system.h"
#include "understudy/actors/testing/actor_test.h"
#include "understudy/proto/ref.pb.h"
#include "understudy/tests/tools/protoc_gen_understudy/counter.actor.h"
#include "understudy/tests/tools/protoc_gen_understudy/counter.pb.h"
#include "understudy/transport/testing/simulated_cluster.h"

namespace counter {
namespace {

using understudy::Behavior;
using understudy::SpawnOptions;
using understudy::StartResult;

class Counter : public CounterActor {
 protected:
  StartResult Start() override { return counting_; }

  TotalReply Now() const {
    TotalReply reply;
    reply.set_total(total_);
    return reply;
  }
  void Add(const AddRequest& request) {
    total_ += request.number();
    for (const WatcherRef& watcher : watchers_) watcher.changed().Tell(Now());
  }
  google::protobuf::Empty Flush(const FlushRequest&) { return {}; }
  absl::Status AddWatcher(const WatchRequest& request) {
    absl::StatusOr<WatcherRef> watcher = WatcherRef::FromProto(request.watcher(), context().Self());
    if (!watcher.ok()) return watcher.status();
    watchers_.push_back(*watcher);
    watcher->changed().Tell(Now());
    return absl::OkStatus();
  }
  TotalReply Total(const TotalRequest&) { return Now(); }

  int64_t total_ = 0;
  std::vector<WatcherRef> watchers_;
  Behavior counting_{"counting", On(add, &Counter::Add), On(total, &Counter::Total), On(flush, &Counter::Flush),
                     On(watch, &Counter::AddWatcher)};
};

// Serves the optional rpc too.
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

class Watcher final : public WatcherActor {
 public:
  explicit Watcher(std::vector<int64_t>* seen) : seen_(*seen) {}

 private:
  StartResult Start() override { return watching_; }

  std::vector<int64_t>& seen_;
  Behavior watching_{"watching", On(changed, [this](const TotalReply& reply) { seen_.push_back(reply.total()); })};
};

AddRequest Number(int64_t number) {
  AddRequest request;
  request.set_number(number);
  return request;
}

WatchRequest WatchBy(const WatcherRef& watcher) {
  WatchRequest request;
  *request.mutable_watcher() = watcher.ToProto();
  return request;
}

class ServiceTest : public understudy::ActorTest {};

TEST_F(ServiceTest, ACastIsATellAndAnRpcThatReturnsEmptyIsACall) {
  const CounterRef counter = system().Spawn<Counter>();
  counter.add().Tell(Number(3));
  const absl::StatusOr<google::protobuf::Empty> flushed = Ask(counter.flush(), FlushRequest());
  EXPECT_TRUE(flushed.ok()) << flushed.status();
  EXPECT_EQ(Ask(counter.total(), TotalRequest())->total(), 3);
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

TEST(ServiceClusterTest, AsksTellsAndRefsCrossNodes) {
  understudy::SimulatedCluster cluster({.seed = 7, .nodes = {"home", "away"}});
  cluster.RunFor(absl::Seconds(1));
  cluster.system("home").Spawn<Counter>(SpawnOptions{.published_as = "home/counter"});
  understudy::TestSystem& away = cluster.system("away");
  const absl::StatusOr<CounterRef> counter = away.Lookup<CounterRef>("home/counter", absl::Seconds(5));
  ASSERT_TRUE(counter.ok()) << counter.status();

  std::vector<int64_t> seen;
  counter->watch().Tell(WatchBy(away.Spawn<Watcher>(&seen)));
  counter->add().Tell(Number(3));
  EXPECT_TRUE(away.Ask(counter->flush(), FlushRequest(), absl::Seconds(5)).ok());
  const absl::StatusOr<TotalReply> total = away.Ask(counter->total(), TotalRequest(), absl::Seconds(5));
  ASSERT_TRUE(total.ok()) << total.status();
  EXPECT_EQ(total->total(), 3);
  EXPECT_TRUE(understudy::IsNoMailbox(away.Ask(counter->reset(), ResetRequest(), absl::Seconds(5)).status()));
  cluster.RunFor(absl::Seconds(1));
  EXPECT_EQ(seen, (std::vector<int64_t>{0, 3}));
}

// A lookup compares the mailboxes of the ref with those of the actor.
TEST(ServiceClusterTest, ALookupRefusesAnActorOfAnotherService) {
  understudy::SimulatedCluster cluster({.seed = 7, .nodes = {"home", "away"}});
  cluster.RunFor(absl::Seconds(1));
  cluster.system("home").Spawn<Counter>(SpawnOptions{.published_as = "home/counter"});
  cluster.RunFor(absl::Seconds(1));
  const absl::StatusOr<WatcherRef> wrong = cluster.system("away").Lookup<WatcherRef>("home/counter", absl::Seconds(5));
  EXPECT_TRUE(absl::IsFailedPrecondition(wrong.status())) << wrong.status();
}

// Compiled with -Wshadow -Werror: no option's name is a variable of namespace understudy.
TEST(OptionNamesTest, AreFreeForTheUsersOfTheNamespace) {
  using namespace understudy;  // NOLINT(google-build-using-namespace)
  const int cast = 1, overflow = 2, capacity_messages = 3, time_to_live = 4, redacted = 5;
  EXPECT_EQ(cast + overflow + capacity_messages + time_to_live + redacted, 15);
}

}  // namespace
}  // namespace counter
