// Replay of a failing seed: a fault point injects a bug, a search finds a seed that shows the bug, and two runs of that
// seed have traces that are equal byte for byte.
#include <cstdint>
#include <iostream>
#include <memory>
#include <string>
#include <vector>

#include "absl/status/status.h"
#include "absl/strings/str_cat.h"
#include "absl/strings/str_join.h"
#include "absl/time/time.h"
#include "gmock/gmock.h"
#include "gtest/gtest.h"
#include "understudy/actors/actor_spec.h"
#include "understudy/actors/error.h"
#include "understudy/actors/fault_point.h"
#include "understudy/actors/random.h"
#include "understudy/actors/ref.h"
#include "understudy/actors/test_system.h"
#include "understudy/tests/transport/puppet.h"
#include "understudy/tests/transport/puppet.pb.h"
#include "understudy/tests/transport/seeds.h"
#include "understudy/transport/testing/simulated_cluster.h"
#include "understudy/transport/testing/simulated_network.h"

namespace understudy {
namespace {

constexpr int kNotes = 100;

struct Outcome {
  // Empty, or a description of the message that was lost, duplicated or out of order.
  std::string wrong;
  std::vector<std::string> trace;
};

// Runs a cluster of two nodes. An actor on one node sends numbered notes to a name on the other, while their streams
// are cut at times that follow from the seed.
Outcome RunSeed(uint64_t seed) {
  Random random(seed);
  SimulatedCluster cluster({.seed = seed, .nodes = {"sender", "receiver"}});
  auto diary = std::make_shared<Diary>();
  SpawnOptions options;
  options.published_as = "notes";
  cluster.system("receiver").Spawn<Puppet>(std::move(options), diary);
  if (!cluster.RunUntil([&] { return cluster.system("sender").WhereIs("notes").has_value(); }, absl::Seconds(10))) {
    return {.wrong = "the name did not arrive", .trace = cluster.trace()};
  }
  const Ref<Puppet> notes(*cluster.system("sender").WhereIs("notes"));
  for (int i = 1; i <= kNotes; ++i) {
    net_testing::Note note;
    note.set_number(i);
    absl::Status sent = notes[&Puppet::note].Send(note);
    while (IsFull(sent)) {  // credit is not granted while there is no stream
      cluster.RunFor(absl::Milliseconds(1));
      sent = notes[&Puppet::note].Send(note);
    }
    if (!sent.ok()) return {.wrong = "a note was refused", .trace = cluster.trace()};
    if (random.Below(500) == 0) cluster.network().Cut("sender", "receiver");
    cluster.RunFor(absl::Microseconds(random.Below(5000)));
  }
  cluster.RunFor(absl::Seconds(10));
  std::string wrong;
  for (size_t i = 0; i < kNotes && wrong.empty(); ++i) {
    const std::string expected = absl::StrCat("note ", i + 1);
    const std::string got = i < diary->size() ? (*diary)[i] : "nothing";
    if (got != expected) wrong = absl::StrCat("expected ", expected, ", got ", got);
  }
  return {.wrong = wrong, .trace = cluster.trace()};
}

TEST(ReplayTest, WithoutTheBugNoSeedFails) {
  for (const uint64_t seed : SeedsOf(40)) {
    const Outcome run = RunSeed(seed);
    ASSERT_EQ(run.wrong, "") << "seed " << seed << "\n" << absl::StrJoin(run.trace, "\n");
  }
}

TEST(ReplayTest, ASeedThatShowsThePlantedBugIsFoundAndReplaysByteForByte) {
  FaultPoint::Scope broken("session_forgets_one_unacknowledged");
  uint64_t failing = 0;
  for (const uint64_t seed : SeedsOf(200)) {
    if (failing == 0 && !RunSeed(seed).wrong.empty()) failing = seed;
  }
  ASSERT_NE(failing, 0U) << "no seed shows the bug";
  const Outcome first = RunSeed(failing);
  const Outcome second = RunSeed(failing);
  std::cout << "seed " << failing << ": " << first.wrong << "; " << first.trace.size() << " lines of trace\n";
  EXPECT_NE(first.wrong, "");
  EXPECT_EQ(first.wrong, second.wrong);
  ASSERT_GT(first.trace.size(), 100U);
  EXPECT_EQ(absl::StrJoin(first.trace, "\n"), absl::StrJoin(second.trace, "\n"));
  // Another seed gives another run.
  EXPECT_NE(absl::StrJoin(first.trace, "\n"), absl::StrJoin(RunSeed(failing + 1).trace, "\n"));
}

}  // namespace
}  // namespace understudy
