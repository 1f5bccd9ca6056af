// limits.h bounds the number of different sets of mailboxes in a process. An actor with one more fails its start with
// an error that says so.
#include <algorithm>
#include <cstdint>
#include <random>
#include <string>
#include <utility>
#include <vector>

#include "absl/strings/str_cat.h"
#include "gmock/gmock.h"
#include "gtest/gtest.h"
#include "understudy/actors/actor.h"
#include "understudy/actors/limits.h"
#include "understudy/actors/testing/actor_test.h"
#include "understudy/tests/actors/script.h"

namespace understudy {
namespace {

using ::testing::HasSubstr;

// Returns one label less than an actor may have mailboxes, in a random order, so that the first labels of each order
// are a different set.
std::vector<std::string> Labels(uint32_t order) {
  std::vector<std::string> labels = {"a", "b"};
  for (int i = 2; i < limits::kMailboxesPerActorMax - 1; ++i) labels.push_back(absl::StrCat("source-", i));
  std::mt19937 random(order);
  std::shuffle(labels.begin(), labels.end(), random);
  return labels;
}

// Labels from data: each element of its array makes a set.
class Joining final : public Actor {
 public:
  MailboxArray<"in", int> in;
  Mailbox<"after", int> after{this};
  explicit Joining(const std::vector<std::string>& labels) : in(this, labels) {}
  StartResult Start() override { return joining_; }

 private:
  Behavior joining_{"joining", On(in, [](int) {}), On(after, [](int) {})};
};

class MailboxSetsTest : public ActorTest {};

TEST_F(MailboxSetsTest, ASetBeyondTheLimitFailsItsActorAndSaysSo) {
  const Ref<Script> parent = system().Spawn<Script>();
  system().RunUntilIdle();
  uint32_t order = 0;
  for (; order * (limits::kMailboxesPerActorMax - 8) < limits::kMailboxLayoutsMax; ++order) {
    const Ref<Joining> joining = system().Spawn<Joining>(Labels(order));
    system().RunUntilIdle();
    system().Kill(joining.pid());
  }
  std::vector<ExitReason> ends;
  Do(parent, [&](Script& self) {
    self.context().TrapExits([](const ExitEvent&) {});
    SpawnOptions told = SpawnOptions().OnDown([&](const Down& down) { ends.push_back(down.reason); });
    self.context().Spawn<Joining>(std::move(told), Labels(order))[&Joining::after].Tell(1);
  });
  system().RunUntilIdle();
  ASSERT_EQ(ends.size(), 1U);
  const ExitReason end = ends[0];
  EXPECT_EQ(end.kind(), ExitReason::Kind::kFailed);
  EXPECT_THAT(end.ToString(), HasSubstr("Joining: no room for mailbox in["));
  EXPECT_THAT(end.ToString(), HasSubstr("this process has 65536 different sets of mailboxes"));
  // Actors with a known set of mailboxes still start.
  const Ref<Joining> known = system().Spawn<Joining>(Labels(0));
  system().RunUntilIdle();
  EXPECT_TRUE(known[&Joining::after].Send(1).ok());
}

}  // namespace
}  // namespace understudy
