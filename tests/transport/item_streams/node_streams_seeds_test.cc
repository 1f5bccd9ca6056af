// Streams between three nodes whose connections are cut, stalled and lost, over seeds: each reader gets a prefix of the
// written items without gaps and then one end with the true cause, and each writer is told of the end.
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
#include "understudy/tests/transport/item_streams/feed.h"

namespace understudy {
namespace {

struct Pair {
  std::string home;
  int64_t wanted = 0;
  Ref<Feed> feed{Pid()};
  Ref<FeedReader> reader{Pid()};
  std::shared_ptr<Feed::Log> written = std::make_shared<Feed::Log>();
  std::shared_ptr<FeedReader::Log> read = std::make_shared<FeedReader::Log>();
};

class NodeStreamsSeedsTest : public ClusterTest {
 protected:
  void Check(const Pair& pair, bool sessions_ended) {
    for (size_t i = 0; i < pair.read->items.size(); ++i) EXPECT_EQ(pair.read->items[i], static_cast<int64_t>(i) + 1);
    const auto taken = static_cast<int64_t>(pair.read->items.size());
    EXPECT_LE(taken, pair.written->written);
    ASSERT_TRUE(pair.read->end.has_value()) << "the stream from " << pair.home << " has no end";
    if (pair.read->end->ok()) {
      EXPECT_EQ(taken, pair.wanted);
    } else {
      EXPECT_TRUE(IsNoConnection(*pair.read->end)) << *pair.read->end;
      EXPECT_TRUE(sessions_ended);
      EXPECT_TRUE(pair.written->written == pair.wanted || pair.written->written == 0 ||
                  IsNoConnection(pair.written->last))
          << pair.written->last;
    }
  }
};

TEST_F(NodeStreamsSeedsTest, EveryStreamEndsTrulyWhateverTheConnectionsDo) {
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
      pair.feed = cluster().system(there).Spawn<Feed>(pair.written);
      pair.reader = cluster().system(pair.home).Spawn<FeedReader>(pair.read, absl::Milliseconds(random.Below(10)));
      Run(absl::Milliseconds(20));
      net_testing::Note request = NoteOf(pair.wanted);
      request.set_text(std::string(random.Below(20'000), 'x'));
      ASSERT_TRUE(pair.reader[&FeedReader::open]
                      .Send({.feed = Known(pair.home, pair.feed.pid(), there), .request = request})
                      .ok());
      ASSERT_TRUE(pair.reader[&FeedReader::take].Send(-1).ok());
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
      ended += pair.read->end.has_value() && !pair.read->end->ok() ? 1 : 0;
      whole += pair.read->end.has_value() && pair.read->end->ok() ? 1 : 0;
    }
    for (const std::string& node : nodes) ExpectLedgersBalance(cluster().system(node));
  });
  if (SeedFromEnvironment().has_value()) return;
  EXPECT_GT(ended, 0) << "no session ended under a stream";
  EXPECT_GT(whole, 0);
}

}  // namespace
}  // namespace understudy
