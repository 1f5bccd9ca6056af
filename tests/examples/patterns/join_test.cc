#include "understudy/examples/patterns/join.h"

#include <cstdint>
#include <string>
#include <utility>
#include <vector>

#include "absl/strings/match.h"
#include "absl/strings/str_cat.h"
#include "gtest/gtest.h"
#include "understudy/actors/test_system.h"
#include "understudy/actors/testing/actor_test.h"
#include "understudy/actors/testing/probe.h"
#include "understudy/actors/testing/seeds.h"

namespace understudy::patterns {
namespace {

constexpr size_t kSources = 8;
constexpr int kRows = 10'000;

// An item: the number of its source, and its number in that source.
using Item = std::pair<size_t, int>;

struct Begin {};

// Sends its items in bursts. The size of a burst is the source's rate: the last of eight sources is eight times as fast
// as the first.
class Source final : public Actor {
 public:
  Mailbox<"begin", Begin> begin{this};
  Source(Channel<Item> out, size_t source) : out_(out), source_(source) {}
  StartResult Start() override { return sending_; }

 private:
  void Send() {
    for (size_t i = 0; i <= source_ && sent_ < kRows; ++i) out_.Tell({source_, sent_++});
    if (sent_ < kRows) context().Tell(begin, {});
  }
  Channel<Item> out_;
  size_t source_;
  int sent_ = 0;
  Behavior sending_{"sending", On(begin, &Source::Send)};
};

template <class Joining>
std::vector<std::vector<Item>> JoinAll(TestSystem& system) {
  Probe<std::vector<Item>> rows(system, {.capacity_messages = kRows});
  Ref<Joining> join = system.Spawn<Joining>(kSources, rows.channel());
  for (size_t source = 0; source < kSources; ++source) {
    Ref<Source> sender = system.Spawn<Source>(join.At(&Joining::sources, source), source);
    sender[&Source::begin].Tell({});
  }
  return rows.ReceiveAll();
}

using JoinTest = ActorTest;

// SEL 10
// Eight sources with rates from 1 to 8 send 10,000 items each. The k-th row holds the k-th item of each source.
TEST_F(JoinTest, InAnyOrderTheKthRowHoldsTheKthItemOfEachSource) {
  const std::vector<std::vector<Item>> rows = JoinAll<Join<Item>>(system());
  ASSERT_EQ(rows.size(), static_cast<size_t>(kRows));
  for (int k = 0; k < kRows; ++k) {
    const std::vector<Item>& row = rows[static_cast<size_t>(k)];
    ASSERT_EQ(row.size(), kSources);
    for (size_t source = 0; source < kSources; ++source) ASSERT_EQ(row[source], Item(source, k));
  }
}

// SEL 10
TEST_F(JoinTest, InTurnTheSourcesAreHandledStrictlyOneAfterAnother) {
  system().StartTrace();
  const std::vector<std::vector<Item>> rows = JoinAll<RoundRobinJoin<Item>>(system());
  ASSERT_EQ(rows.size(), static_cast<size_t>(kRows));
  for (int k = 0; k < kRows; ++k) {
    for (size_t source = 0; source < kSources; ++source) {
      ASSERT_EQ(rows[static_cast<size_t>(k)].at(source), Item(source, k));
    }
  }
  size_t handled = 0;
  for (const std::string& line : system().trace()) {
    if (!absl::StrContains(line, "handles source[")) continue;
    ASSERT_TRUE(absl::StrContains(line, absl::StrCat("source[", handled % kSources, "]"))) << line;
    ++handled;
  }
  EXPECT_EQ(handled, kRows * kSources);
}

}  // namespace
}  // namespace understudy::patterns
