// The classes generated from counter.proto, used between two simulated nodes.
#include <cstdint>
#include <vector>

#include "absl/status/status.h"
#include "absl/status/statusor.h"
#include "absl/time/time.h"
#include "gtest/gtest.h"
#include "understudy/actors/actor_spec.h"
#include "understudy/actors/error.h"
#include "understudy/actors/test_system.h"
#include "understudy/tests/tools/protoc_gen_understudy/counter.ref.h"
#include "understudy/tests/tools/protoc_gen_understudy/counters.h"
#include "understudy/transport/testing/simulated_cluster.h"

namespace counter {
namespace {

using understudy::SpawnOptions;

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

TEST(ServiceClusterTest, AStreamCrossesNodes) {
  understudy::SimulatedCluster cluster({.seed = 7, .nodes = {"home", "away"}});
  cluster.RunFor(absl::Seconds(1));
  cluster.system("home").Spawn<Crier>(SpawnOptions{.published_as = "home/crier"});
  understudy::TestSystem& away = cluster.system("away");
  const absl::StatusOr<CrierRef> crier = away.Lookup<CrierRef>("home/crier", absl::Seconds(5));
  ASSERT_TRUE(crier.ok()) << crier.status();
  std::vector<int64_t> heard;
  absl::Status end = absl::UnknownError("none yet");
  away.Spawn<Listener>(*crier, &heard, &end);
  cluster.RunFor(absl::Seconds(1));
  EXPECT_TRUE(end.ok()) << end;
  EXPECT_EQ(heard.size(), 100U);
}

TEST(ServiceClusterTest, AnUploadCrossesNodes) {
  understudy::SimulatedCluster cluster({.seed = 7, .nodes = {"home", "away"}});
  cluster.RunFor(absl::Seconds(1));
  cluster.system("home").Spawn<Summer>(SpawnOptions{.published_as = "home/summer"});
  understudy::TestSystem& away = cluster.system("away");
  const absl::StatusOr<SummerRef> summer = away.Lookup<SummerRef>("home/summer", absl::Seconds(5));
  ASSERT_TRUE(summer.ok()) << summer.status();
  std::vector<int64_t> heard;
  absl::Status end = absl::UnknownError("none yet");
  away.Spawn<Teller>(*summer, &heard, &end);
  cluster.RunFor(absl::Seconds(10));
  EXPECT_TRUE(end.ok()) << end;
  EXPECT_EQ(heard.size(), 101U);
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

}  // namespace
}  // namespace counter
