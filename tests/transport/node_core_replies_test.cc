// Replies between nodes: they never end a session.
#include <cstdint>
#include <memory>
#include <string>
#include <utility>
#include <vector>

#include "absl/status/statusor.h"
#include "absl/time/time.h"
#include "gmock/gmock.h"
#include "gtest/gtest.h"
#include "understudy/actors/actor.h"
#include "understudy/actors/error.h"
#include "understudy/actors/mailbox.h"
#include "understudy/actors/pid.h"
#include "understudy/actors/ref.h"
#include "understudy/actors/replier.h"
#include "understudy/actors/task.h"
#include "understudy/tests/transport/cluster_test.h"
#include "understudy/tests/transport/puppet.pb.h"

namespace understudy {
namespace {

using ::testing::Contains;
using ::testing::HasSubstr;
using ::testing::IsEmpty;
using ::testing::Not;

// Keeps its callers waiting, and then answers them all with so many bytes.
class Library : public Actor {
 public:
  Mailbox<"library/fetch", Call<net_testing::Note, net_testing::Note>> fetch{this};
  Mailbox<"library/answer", int64_t> answer{this};

  StartResult Start() override { return open_; }

 private:
  void Keep(const net_testing::Note&, Replier<net_testing::Note> replier) { kept_.push_back(std::move(replier)); }
  void AnswerAll(int64_t bytes) {
    net_testing::Note reply;
    reply.set_text(std::string(static_cast<size_t>(bytes), 'b'));
    for (Replier<net_testing::Note>& replier : std::exchange(kept_, {})) replier.Reply(reply);
  }

  std::vector<Replier<net_testing::Note>> kept_;
  Behavior open_{"open", On(fetch, &Library::Keep), On(answer, &Library::AnswerAll)};
};

// Asks as often as it is told to, and counts the answers by kind.
class Reader : public Actor {
 public:
  struct Count {
    int64_t replies = 0;
    int64_t without_room = 0;
    std::vector<std::string> other_errors;
  };
  Mailbox<"reader/ask", Pid> ask{this};

  explicit Reader(std::shared_ptr<Count> count) : count_(std::move(count)) {}
  StartResult Start() override { return open_; }

 private:
  Task<> Ask(Pid library) {
    const Ref<Library> callee(library);
    auto asked = callee[&Library::fetch].Ask(net_testing::Note(), absl::Minutes(5));
    const absl::StatusOr<net_testing::Note> reply = co_await asked;
    if (reply.ok()) {
      ++count_->replies;
    } else if (IsFull(reply.status())) {
      ++count_->without_room;
    } else {
      count_->other_errors.push_back(reply.status().ToString());
    }
  }

  const std::shared_ptr<Count> count_;
  Behavior open_{"open", On(ask, &Reader::Ask).Interleaved()};
};

class RepliesTest : public ClusterTest {
 protected:
  static constexpr size_t kLibraries = 7;

  void SetUp() override {
    Join();
    for (size_t i = 0; i < kLibraries; ++i) libraries_.push_back(cluster().system("b").Spawn<Library>());
    reader_ = cluster().system("a").Spawn<Reader>(count_);
    Run();
  }
  // Four calls of each library, which all wait for their answers then.
  void AskAll() {
    for (const Ref<Library>& library : libraries_) {
      for (int i = 0; i < 4; ++i) ASSERT_TRUE(reader_[&Reader::ask].Send(Known("a", library.pid(), "b")).ok());
    }
    Run();
  }
  void AnswerAll(int64_t bytes) {
    for (const Ref<Library>& library : libraries_) ASSERT_TRUE(library[&Library::answer].Send(bytes).ok());
    Run();
  }

  std::vector<Ref<Library>> libraries_;
  Ref<Reader> reader_;
  const std::shared_ptr<Reader::Count> count_ = std::make_shared<Reader::Count>();
};

TEST_F(RepliesTest, RepliesThatAreNotAcknowledgedEndNoSessionAndThoseWithoutRoomAreToldToTheirAskers) {
  for (int i = 0; i < 25; ++i) AskAll();
  cluster().network().Stall("a", "b");
  AnswerAll(100000);
  Run(absl::Seconds(60));
  EXPECT_EQ(count_->replies + count_->without_room, 700);
  EXPECT_GT(count_->replies, 600);
  EXPECT_GT(count_->without_room, 0);
  EXPECT_THAT(count_->other_errors, IsEmpty());
  EXPECT_THAT(cluster().peer_events("b"), Not(Contains(HasSubstr("ended"))));
  EXPECT_THAT(cluster().peer_events("a"), Not(Contains(HasSubstr("ended"))));
}

TEST_F(RepliesTest, AReplyNearTheLargestMessageArrives) {
  ASSERT_TRUE(reader_[&Reader::ask].Send(Known("a", libraries_[0].pid(), "b")).ok());
  Run();
  ASSERT_TRUE(libraries_[0][&Library::answer].Send(int64_t{60} << 20).ok());
  Run(absl::Seconds(10));
  EXPECT_EQ(count_->replies, 1);
  EXPECT_THAT(cluster().peer_events("b"), Not(Contains(HasSubstr("ended"))));
}

}  // namespace
}  // namespace understudy
