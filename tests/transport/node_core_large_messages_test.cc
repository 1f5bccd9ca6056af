// NodeCore: messages that are larger than the bytes of a mailbox's first allowance (codec/credit.h), before and after
// small ones, and peers by whose terms they must come first.
#include <cstddef>
#include <cstdint>
#include <memory>
#include <string>
#include <vector>

#include "absl/status/status.h"
#include "absl/strings/str_cat.h"
#include "absl/time/time.h"
#include "gmock/gmock.h"
#include "gtest/gtest.h"
#include "understudy/actors/error.h"
#include "understudy/actors/limits.h"
#include "understudy/actors/message.h"
#include "understudy/actors/node_table.h"
#include "understudy/actors/pid.h"
#include "understudy/actors/ref.h"
#include "understudy/actors/test_system.h"
#include "understudy/proto/envelope.pb.h"
#include "understudy/tests/transport/cluster_test.h"
#include "understudy/tests/transport/puppet.h"
#include "understudy/tests/transport/puppet.pb.h"
#include "understudy/tests/transport/stranger.h"
#include "understudy/transport/codec/credit.h"
#include "understudy/transport/codec/frame_codec.h"
#include "understudy/transport/session/frame_stream.h"
#include "understudy/transport/session/handshake.h"

namespace understudy {
namespace {

using ::testing::AllOf;
using ::testing::Contains;
using ::testing::ElementsAre;
using ::testing::HasSubstr;
using ::testing::Not;
using ::testing::SizeIs;
using ::testing::UnorderedElementsAre;

constexpr size_t kLarge = 1'000'000;
static_assert(kLarge > kCreditTerms.first_allowance.bytes);

class LargeMessagesTest : public ClusterTest {
 protected:
  // A puppet of node a asks a puppet of node b once for each of `texts`, without waiting in between; the asks are
  // numbered 1, 2, ...
  std::shared_ptr<Diary> AskWith(const std::vector<std::string>& texts) {
    Join();
    const Puppeteer there = Make("b");
    const Puppeteer here = Make("a");
    int64_t number = 0;
    for (const std::string& text : texts) {
      EXPECT_TRUE(
          here.ref[&Puppet::go_ask].Send({.callee = Seen("a", there, "b"), .number = ++number, .text = text}).ok());
    }
    Run(absl::Seconds(1));
    return here.diary;
  }
  // Sends notes with these texts to `to` in one turn of a puppet of node a. Returns the status of each send.
  std::vector<absl::Status> TellWith(Pid to, const std::vector<std::string>& texts) {
    std::vector<absl::Status> sent;
    Do(Make("a"), [&, to](Puppet&) {
      for (const std::string& text : texts) {
        net_testing::Note note = NoteOf(1);
        note.set_text(text);
        sent.push_back(Ref<Puppet>(to)[&Puppet::note].Send(note));
      }
    });
    Run(absl::Seconds(1));
    return sent;
  }
};

TEST_F(LargeMessagesTest, ALargeAskIsAnsweredAsTheFirstMessage) {
  EXPECT_THAT(*AskWith({std::string(kLarge, 'x')}), ElementsAre("answer 2"));
}

TEST_F(LargeMessagesTest, ALargeAskRightAfterSmallOnesIsAnswered) {
  EXPECT_THAT(*AskWith({"a", "b", "c", std::string(kLarge, 'x')}),
              UnorderedElementsAre("answer 2", "answer 3", "answer 4", "answer 5"));
}

TEST_F(LargeMessagesTest, ALargeTellRightAfterSmallOnesIsHandled) {
  Join();
  const Puppeteer there = Make("b");
  const std::vector<absl::Status> sent = TellWith(Seen("a", there, "b"), {"a", std::string(kLarge, 'x')});
  EXPECT_THAT(sent, ElementsAre(absl::OkStatus(), absl::OkStatus()));
  EXPECT_THAT(*there.diary, SizeIs(2));
}

TEST_F(LargeMessagesTest, ASecondLargeMessageIsFullUntilTheFirstHasBeenHandled) {
  Join();
  const Puppeteer there = Make("b");
  const Pid to = Seen("a", there, "b");
  const std::string large(kLarge, 'x');
  std::vector<absl::Status> sent = TellWith(to, {"a", large, large});
  EXPECT_TRUE(sent[1].ok()) << sent[1];
  EXPECT_TRUE(IsFull(sent[2])) << sent[2];
  sent = TellWith(to, {large});
  EXPECT_TRUE(sent[0].ok()) << sent[0];
  EXPECT_THAT(*there.diary, SizeIs(3));
}

TEST_F(LargeMessagesTest, AMessageBeyondTheBoundOfMessagesIsRefusedForGoodAndSaysTheBound) {
  Join();
  const Puppeteer there = Make("b");
  for (const bool is_first : {true, false}) {
    SCOPED_TRACE(is_first);
    const std::vector<absl::Status> sent =
        TellWith(Seen("a", there, "b"), {std::string(limits::kMessageBytesMax + 1, 'x'), "a"});
    EXPECT_EQ(sent[0].code(), absl::StatusCode::kInvalidArgument) << sent[0];
    EXPECT_THAT(sent[0].message(), HasSubstr(absl::StrCat(limits::kMessageBytesMax, " are allowed between nodes")));
    EXPECT_TRUE(sent[1].ok()) << sent[1];
  }
}

// ---- Peers with the feature and without it ----

// A visitor that begins a session with node a, with these features. Of its messages of kMedium bytes, two leave few
// bytes of an allowance.
class LargeMessagesVisitorTest : public LargeMessagesTest {
 protected:
  static constexpr size_t kMedium = 30'000;
  static_assert(2 * kMedium < kCreditTerms.first_allowance.bytes && 3 * kMedium > kCreditTerms.first_allowance.bytes);

  void Visit(uint64_t features) {
    Join();
    puppet_ = Make("a");
    stream_ = BeginStrangersSession(cluster(), visitor_, features);
  }
  // The visitor sends node a's puppet notes, each in a frame of its own, for a mailbox that is closed.
  void Say(size_t notes) {
    const NodePair nodes{.local = {kStrangersIncarnation}, .peer = cluster().system("a").incarnation()};
    const MailboxDefinition closed{.hash = internal::Fnv1a("puppet/closed"), .name = "puppet/closed"};
    for (size_t i = 0; i < notes; ++i) {
      ++last_slot_;
      const absl::StatusOr<std::string> body =
          EncodeMessage(nodes, Pid(1, 1, 1), puppet_.ref.pid(), closed.hash, /*ask=*/0, std::string(kMedium, 'x'),
                        Admission::kAllowance);
      ASSERT_TRUE(body.ok()) << body.status();
      FramePacker packer(1, 0);
      ASSERT_TRUE(packer.Add(last_slot_, {.body = *body}, last_slot_ == 1 ? &closed : nullptr));
      stream_->Write(packer.Encode());
      Run();
    }
  }

  Puppeteer puppet_{Ref<Puppet>(Pid()), nullptr};
  std::unique_ptr<FrameStream> stream_;
  uint64_t last_slot_ = 0;
};

TEST_F(LargeMessagesVisitorTest, APeerWithTheFeatureIsSentALargeMessageAfterSmallOnes) {
  Visit(kFeatureLargeAfterSmall);
  const std::string text(kMedium, 'x');
  const std::vector<absl::Status> sent = TellWith(StrangersActor(cluster()), {text, text, text, text});
  EXPECT_TRUE(sent[2].ok()) << sent[2];
  EXPECT_TRUE(IsFull(sent[3])) << sent[3];
}

TEST_F(LargeMessagesVisitorTest, APeerWithoutTheFeatureIsSentNoLargeMessageAfterSmallOnes) {
  Visit(kFeatureFingerprints);
  const std::string text(kMedium, 'x');
  const std::vector<absl::Status> sent = TellWith(StrangersActor(cluster()), {text, text, text, "a"});
  EXPECT_TRUE(sent[1].ok()) << sent[1];
  EXPECT_TRUE(IsFull(sent[2])) << sent[2];
  EXPECT_TRUE(sent[3].ok()) << sent[3];
}

TEST_F(LargeMessagesVisitorTest, APeerWithTheFeatureMaySendALargeMessageAfterSmallOnesAndNoSecondOne) {
  Visit(kFeatureLargeAfterSmall);
  const auto ended = AllOf(HasSubstr("ended stranger"), HasSubstr("no credit"));
  Say(3);
  EXPECT_THAT(cluster().peer_events("a"), Not(Contains(ended)));
  Say(1);
  EXPECT_THAT(cluster().peer_events("a"), Contains(ended));
}

TEST_F(LargeMessagesVisitorTest, APeerWithoutTheFeatureMaySendNoLargeMessageAfterSmallOnes) {
  Visit(kFeatureFingerprints);
  const auto ended = AllOf(HasSubstr("ended stranger"), HasSubstr("no credit"));
  Say(2);
  EXPECT_THAT(cluster().peer_events("a"), Not(Contains(ended)));
  Say(1);
  EXPECT_THAT(cluster().peer_events("a"), Contains(ended));
}

}  // namespace
}  // namespace understudy
