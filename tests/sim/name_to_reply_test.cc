// The path from a name to a reply, between nodes in one process on virtual time: look up, monitor, ask, reply. Faults
// are cut streams, a partition, and a node that restarts.
#include <algorithm>
#include <cstdint>
#include <memory>
#include <string>
#include <utility>
#include <vector>

#include "absl/status/status.h"
#include "absl/status/statusor.h"
#include "absl/strings/str_cat.h"
#include "absl/strings/string_view.h"
#include "absl/time/time.h"
#include "gmock/gmock.h"
#include "gtest/gtest.h"
#include "understudy/actors/actor.h"
#include "understudy/actors/actor_spec.h"
#include "understudy/actors/context.h"
#include "understudy/actors/events.h"
#include "understudy/actors/exit_reason.h"
#include "understudy/actors/named.h"
#include "understudy/actors/ref.h"
#include "understudy/actors/task.h"
#include "understudy/actors/test_system.h"
#include "understudy/tests/transport/puppet.pb.h"
#include "understudy/transport/testing/simulated_cluster.h"
#include "understudy/transport/testing/simulated_network.h"

namespace understudy {
namespace {

using ::testing::ElementsAre;

using Diary = std::shared_ptr<std::vector<std::string>>;

// Answers each number plus `step`. The tests give each life of the adder its own step, so an answer shows which life
// computed it.
class Adder : public Actor {
 public:
  Mailbox<"adder/add", Call<net_testing::Note, net_testing::Answer>> add{this};
  explicit Adder(int64_t step) : step_(step) {}
  StartResult Start() override { return adding_; }

 private:
  net_testing::Answer Add(const net_testing::Note& note) {
    net_testing::Answer answer;
    answer.set_number(note.number() + step_);
    return answer;
  }
  const int64_t step_;
  Behavior adding_{"adding", On(add, &Adder::Add)};
};

// Looks up the adder, monitors it and sends it each question in turn, and looks it up again after a Down. Each question
// is repeated until it is answered.
class Client : public Actor {
 public:
  Client(Diary diary, int64_t questions) : diary_(std::move(diary)), questions_(questions) {}
  StartResult Start() override { return AskAll(); }

 private:
  Task<> AskAll() {
    while (next_ <= questions_) {
      auto lookup = context().Lookup<Ref<Adder>>("adder", absl::Minutes(10));
      absl::StatusOr<Ref<Adder>> adder = co_await lookup;
      if (!adder.ok()) continue;
      diary_->push_back("found");
      auto watch = context().Monitor(*adder, [](const Down&) {});
      auto asking = AskWhileItAnswers(*adder);
      co_await asking;
    }
    diary_->push_back("done");
  }
  Task<> AskWhileItAnswers(Ref<Adder> adder) {
    while (next_ <= questions_) {
      net_testing::Note note;
      note.set_number(next_);
      auto asked = adder[&Adder::add].Ask(note, absl::Seconds(100));
      absl::StatusOr<net_testing::Answer> answer = co_await asked;
      if (!answer.ok()) {
        diary_->push_back(absl::StrCat("lost at ", next_, ": ", absl::StatusCodeToString(answer.status().code())));
        co_return;
      }
      diary_->push_back(absl::StrCat(next_, " -> ", answer->number()));
      ++next_;
    }
  }

  const Diary diary_;
  const int64_t questions_;
  int64_t next_ = 1;
};

class NameToReplyTest : public ::testing::Test {
 protected:
  void SpawnAdder(int64_t step) {
    SpawnOptions options;
    options.published_as = "adder";
    cluster_.system("server").Spawn<Adder>(std::move(options), step);
  }
  void SpawnClient(int64_t questions) { cluster_.system("client").Spawn<Client>(diary_, questions); }
  bool RunUntilDone() {
    return cluster_.RunUntil([&] { return !diary_->empty() && diary_->back() == "done"; }, absl::Minutes(9));
  }

  const Diary diary_ = std::make_shared<std::vector<std::string>>();
  SimulatedCluster cluster_{{.seed = 5, .nodes = {"client", "server"}}};
};

TEST_F(NameToReplyTest, ANameLeadsToARefAndItsAnswers) {
  SpawnAdder(10);
  SpawnClient(3);
  ASSERT_TRUE(RunUntilDone());
  EXPECT_THAT(*diary_, ElementsAre("found", "1 -> 11", "2 -> 12", "3 -> 13", "done"));
}

TEST_F(NameToReplyTest, ALookupWaitsForTheName) {
  SpawnClient(1);
  cluster_.RunFor(absl::Seconds(5));
  EXPECT_THAT(*diary_, ElementsAre());
  SpawnAdder(10);
  ASSERT_TRUE(RunUntilDone());
  EXPECT_THAT(*diary_, ElementsAre("found", "1 -> 11", "done"));
}

TEST_F(NameToReplyTest, CutStreamsAreInvisibleToTheAsker) {
  SpawnAdder(0);
  SpawnClient(60);
  std::vector<std::string> expected = {"found"};
  for (int i = 1; i <= 60; ++i) expected.push_back(absl::StrCat(i, " -> ", i));
  expected.push_back("done");
  for (int i = 0; i < 60; ++i) {
    cluster_.RunFor(absl::Milliseconds(3));
    cluster_.network().Cut("client", "server");
  }
  ASSERT_TRUE(RunUntilDone());
  EXPECT_EQ(*diary_, expected);
}

TEST_F(NameToReplyTest, APartitionEndsTheAskWithNoConnectionAndHealingFindsTheActorAgain) {
  SpawnAdder(10);
  SpawnClient(2000);
  ASSERT_TRUE(cluster_.RunUntil([&] { return diary_->size() > 3; }, absl::Seconds(10)));
  cluster_.network().Partition("client", "server");
  cluster_.RunFor(absl::Seconds(60));
  EXPECT_THAT(diary_->back(), ::testing::HasSubstr("UNAVAILABLE"));
  cluster_.network().Heal("client", "server");
  ASSERT_TRUE(RunUntilDone());
  EXPECT_EQ((*diary_)[diary_->size() - 2], "2000 -> 2010");
  EXPECT_EQ(std::count(diary_->begin(), diary_->end(), "found"), 2);
}

TEST_F(NameToReplyTest, ARestartedNodeIsFoundByTheSameName) {
  SpawnAdder(10);
  SpawnClient(2000);
  ASSERT_TRUE(cluster_.RunUntil([&] { return diary_->size() > 3; }, absl::Seconds(10)));
  cluster_.Crash("server");
  cluster_.RunFor(absl::Milliseconds(100));
  cluster_.Start("server");
  SpawnAdder(20);
  ASSERT_TRUE(RunUntilDone());
  EXPECT_EQ((*diary_)[diary_->size() - 2], "2000 -> 2020");
  EXPECT_EQ(std::count(diary_->begin(), diary_->end(), "found"), 2);
}

}  // namespace
}  // namespace understudy
