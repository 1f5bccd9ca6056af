// Uploads between three nodes whose connections are cut, stalled and lost, over seeds: each reader gets a prefix of the
// written items without gaps and then one end with the true cause, and each writer gets one answer.
#include <cstdint>
#include <memory>
#include <string>
#include <utility>
#include <vector>

#include "absl/status/status.h"
#include "absl/strings/str_cat.h"
#include "absl/time/time.h"
#include "absl/types/optional.h"
#include "gtest/gtest.h"
#include "understudy/actors/error.h"
#include "understudy/actors/random.h"
#include "understudy/actors/testing/actor_test.h"
#include "understudy/actors/testing/seeds.h"
#include "understudy/tests/transport/cluster_test.h"
#include "understudy/tests/transport/item_streams/depot.h"

namespace understudy {
namespace {

struct Pair {
  std::string home;
  int64_t wanted = 0;
  Ref<Depot> depot{Pid()};
  Ref<Courier> courier{Pid()};
  std::shared_ptr<Depot::Log> read = std::make_shared<Depot::Log>();
  std::shared_ptr<Courier::Log> sent = std::make_shared<Courier::Log>();
};

class NodeUploadsSeedsTest : public ClusterTest {
 protected:
  void Check(const Pair& pair, bool sessions_ended) {
    for (size_t i = 0; i < pair.read->items.size(); ++i) EXPECT_EQ(pair.read->items[i], static_cast<int64_t>(i) + 1);
    const auto taken = static_cast<int64_t>(pair.read->items.size());
    EXPECT_LE(taken, pair.sent->written);
    ASSERT_TRUE(pair.sent->answer.has_value()) << "the upload from " << pair.home << " has no answer";
    if (pair.sent->answer->ok()) {
      EXPECT_EQ(pair.sent->written, pair.wanted);
      EXPECT_EQ(taken, pair.wanted);
      EXPECT_EQ(**pair.sent->answer, pair.wanted);
      EXPECT_TRUE(pair.read->end.has_value() && pair.read->end->ok());
      return;
    }
    EXPECT_TRUE(IsNoConnection(pair.sent->answer->status())) << pair.sent->answer->status();
    EXPECT_TRUE(sessions_ended);
    if (pair.sent->written < pair.wanted) {
      EXPECT_TRUE(IsNoConnection(pair.sent->last)) << pair.sent->last;
    }
    // A call that has not come, or was taken back, has no reader.
    ASSERT_TRUE(pair.read->end.has_value() || taken == 0) << "the upload from " << pair.home << " has no end";
    if (pair.read->end.has_value() && !pair.read->end->ok()) {
      EXPECT_TRUE(IsNoConnection(*pair.read->end)) << *pair.read->end;
    }
  }
};

TEST_F(NodeUploadsSeedsTest, EveryUploadEndsTrulyWhateverTheConnectionsDo) {
  int ended = 0;
  int whole = 0;
  ForEachSeed(50, [&](uint64_t seed) {
    Random random(seed);
    const std::vector<std::string> nodes = {"a", "b", "c"};
    Join({.seed = seed, .nodes = nodes});
    std::vector<Pair> pairs(9);
    for (size_t i = 0; i < pairs.size(); ++i) {
      Pair& pair = pairs[i];
      const std::string& there = nodes[i % 3];
      pair.home = nodes[(i + 1 + i / 3 % 2) % 3];
      pair.wanted = static_cast<int64_t>(random.Below(400));
      pair.depot = cluster().system(there).Spawn<Depot>(pair.read, absl::Milliseconds(random.Below(10)));
      pair.courier = cluster().system(pair.home).Spawn<Courier>(pair.sent);
      Run(absl::Milliseconds(20));
      ASSERT_TRUE(pair.depot[&Depot::take].Send(-1).ok());
      ASSERT_TRUE(pair.courier[&Courier::send]
                      .Send({.depot = Known(pair.home, pair.depot.pid(), there),
                             .items = pair.wanted,
                             .text = std::string(random.Below(20'000), 'x')})
                      .ok());
    }
    bool sessions_ended = false;
    for (int step = 0; step < 12; ++step) {
      Run(absl::Milliseconds(random.Below(200)));
      const std::string& one = nodes[random.Below(3)];
      const std::string& other = nodes[random.Below(3)];
      if (one == other) continue;
      if (random.Below(8) == 0) {
        cluster().network().Partition(one, other);
        Run(absl::Seconds(random.Below(20)));
        cluster().network().Heal(one, other);
        sessions_ended = true;
      } else {
        cluster().network().Cut(one, other);
      }
    }
    Run(absl::Minutes(2));
    for (const Pair& pair : pairs) {
      Check(pair, sessions_ended);
      if (!pair.sent->answer.has_value()) continue;
      ++(pair.sent->answer->ok() ? whole : ended);
    }
    for (const std::string& node : nodes) ExpectLedgersBalance(cluster().system(node));
  });
  if (SeedFromEnvironment().has_value()) return;
  EXPECT_GT(ended, 0) << "no session ended under an upload";
  EXPECT_GT(whole, 0);
}

}  // namespace
}  // namespace understudy
