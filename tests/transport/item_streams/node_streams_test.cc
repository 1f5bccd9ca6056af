// Tests of streams between actors of two nodes: the promises of local streams, and those that a session adds.
#include <cstdint>
#include <memory>
#include <string>
#include <utility>
#include <vector>

#include "absl/status/status.h"
#include "absl/status/statusor.h"
#include "absl/time/time.h"
#include "gmock/gmock.h"
#include "gtest/gtest.h"
#include "understudy/actors/error.h"
#include "understudy/actors/exit_reason.h"
#include "understudy/actors/limits.h"
#include "understudy/proto/envelope.pb.h"
#include "understudy/tests/transport/cluster_test.h"
#include "understudy/tests/transport/item_streams/feed.h"
#include "understudy/tests/transport/stranger.h"
#include "understudy/transport/codec/frame_codec.h"
#include "understudy/transport/session/handshake.h"

namespace understudy {
namespace {

using ::testing::Contains;
using ::testing::HasSubstr;

class NodeStreamsTest : public ClusterTest {
 protected:
  // A feed on b and a reader on a, of which each Write and each Next lasts for `within` at most.
  void Begin(int64_t items, std::string text = "", absl::Duration pause = absl::ZeroDuration(),
             absl::Duration within = absl::Hours(1)) {
    Join();
    feed_ = cluster().system("b").Spawn<Feed>(written_, within);
    reader_ = cluster().system("a").Spawn<FeedReader>(read_, pause, within);
    Run();
    Open(items, std::move(text));
  }
  void Open(int64_t items, std::string text = "") {
    net_testing::Note request = NoteOf(items);
    request.set_text(std::move(text));
    ASSERT_TRUE(reader_[&FeedReader::open].Send({.feed = Known("a", feed_.pid(), "b"), .request = request}).ok());
    Run();
  }
  void Take(int64_t items) {
    ASSERT_TRUE(reader_[&FeedReader::take].Send(items).ok());
    Run();
  }
  void ExpectItems(int64_t items) {
    ASSERT_EQ(read_->items.size(), static_cast<size_t>(items));
    for (int64_t i = 0; i < items; ++i) EXPECT_EQ(read_->items[static_cast<size_t>(i)], i + 1);
  }

  Ref<Feed> feed_{Pid()};
  Ref<FeedReader> reader_{Pid()};
  const std::shared_ptr<Feed::Log> written_ = std::make_shared<Feed::Log>();
  const std::shared_ptr<FeedReader::Log> read_ = std::make_shared<FeedReader::Log>();
};

TEST_F(NodeStreamsTest, EveryItemArrivesInOrderAndThenTheEnd) {
  Begin(1000, "some text");
  Take(-1);
  Run(absl::Seconds(2));
  ExpectItems(1000);
  ASSERT_TRUE(read_->end.has_value());
  EXPECT_TRUE(read_->end->ok()) << *read_->end;
}

TEST_F(NodeStreamsTest, ASlowReaderHoldsUpItsWriterAtItsCredit) {
  Begin(100);
  Run(absl::Seconds(1));
  EXPECT_EQ(written_->written, static_cast<int64_t>(limits::kStreamItemsMax));
  Take(limits::kStreamItemsMax / 2);
  Run(absl::Seconds(1));
  EXPECT_EQ(written_->written, static_cast<int64_t>(limits::kStreamItemsMax + limits::kStreamItemsMax / 2));
  Take(-1);
  Run(absl::Seconds(1));
  ExpectItems(100);
}

TEST_F(NodeStreamsTest, AWriteAndANextThatExpireEndNothing) {
  Begin(100, "", absl::ZeroDuration(), absl::Milliseconds(100));
  const int64_t expired = written_->expired;
  Run(absl::Seconds(1));  // the reader takes nothing
  EXPECT_EQ(written_->written, static_cast<int64_t>(limits::kStreamItemsMax));
  EXPECT_EQ(written_->expired, expired + 10);
  cluster().network().Partition("a", "b");
  Take(-1);
  Run(absl::Seconds(1));
  ExpectItems(static_cast<int64_t>(limits::kStreamItemsMax));
  EXPECT_GE(read_->expired, 9);
  EXPECT_FALSE(read_->end.has_value());
  cluster().network().Heal("a", "b");
  Run(absl::Seconds(5));
  ExpectItems(100);
  EXPECT_TRUE(read_->end.has_value() && read_->end->ok());
}

TEST_F(NodeStreamsTest, LargeItemsCountInBytesAndTravelInParts) {
  Begin(10, std::string(200'000, 'x'));
  Run(absl::Seconds(1));
  EXPECT_EQ(written_->written, 2);
  Take(-1);
  Run(absl::Seconds(2));
  ExpectItems(10);
  EXPECT_TRUE(read_->end.has_value() && read_->end->ok());
}

TEST_F(NodeStreamsTest, TheEndOfTheWritersActorIsToldBehindItsItems) {
  Begin(100);
  cluster().system("b").Kill(feed_.pid());
  Run();
  Take(-1);
  ExpectItems(static_cast<int64_t>(limits::kStreamItemsMax));
  ASSERT_TRUE(read_->end.has_value());
  EXPECT_TRUE(IsCalleeExited(*read_->end)) << *read_->end;
  EXPECT_EQ(ExitReasonOf(*read_->end), ExitReason::Killed());
}

TEST_F(NodeStreamsTest, DestroyingItAndTheEndOfTheAskerAreToldToTheWriter) {
  Begin(100);
  ASSERT_TRUE(reader_[&FeedReader::close].Send(true).ok());
  Run();
  EXPECT_TRUE(understudy::IsCancelled(written_->last)) << written_->last;
  EXPECT_FALSE(ExitReasonOf(written_->last).has_value());
  Open(100);
  EXPECT_TRUE(written_->last.ok());
  cluster().system("a").Exit(reader_.pid(), ExitReason::Failed(absl::DataLossError("reader")));
  Run();
  EXPECT_TRUE(understudy::IsCancelled(written_->last)) << written_->last;
  EXPECT_EQ(ExitReasonOf(written_->last), ExitReason::Failed(absl::DataLossError("reader")));
}

TEST_F(NodeStreamsTest, ACutConnectionLosesNothing) {
  Begin(500, "text", absl::Milliseconds(1));
  Take(-1);
  for (int i = 0; i < 5; ++i) {
    Run(absl::Milliseconds(60));
    cluster().network().Cut("a", "b");
  }
  Run(absl::Seconds(10));
  ExpectItems(500);
  EXPECT_TRUE(read_->end.has_value() && read_->end->ok());
}

TEST_F(NodeStreamsTest, TheEndOfTheSessionIsToldToBothEnds) {
  Begin(100);
  cluster().network().Partition("a", "b");
  Run(absl::Seconds(20));
  EXPECT_TRUE(IsNoConnection(written_->last)) << written_->last;
  Take(-1);
  ExpectItems(static_cast<int64_t>(limits::kStreamItemsMax));
  ASSERT_TRUE(read_->end.has_value());
  EXPECT_TRUE(IsNoConnection(*read_->end)) << *read_->end;
}

// A visitor that begins a session with node a, with these features.
class StreamVisitorTest : public NodeStreamsTest {
 protected:
  void Visit(uint64_t features) {
    Join();
    feed_ = cluster().system("a").Spawn<Feed>(written_);
    reader_ = cluster().system("a").Spawn<FeedReader>(read_);
    stream_ = BeginStrangersSession(cluster(), visitor_, features);
  }

  Visitor visitor_;
  std::unique_ptr<FrameStream> stream_;
};

TEST_F(StreamVisitorTest, ANodeWithoutTheFeatureIsAskedForNoStream) {
  Visit(kFeatureFingerprints);
  const Pid there = StrangersActor(cluster());
  ASSERT_TRUE(reader_[&FeedReader::open].Send({.feed = there, .request = NoteOf(1)}).ok());
  Run();
  Take(-1);
  ASSERT_TRUE(read_->end.has_value());
  EXPECT_EQ(read_->end->code(), absl::StatusCode::kUnimplemented) << *read_->end;
  EXPECT_THAT(read_->end->message(), HasSubstr("without streams"));
}

// Envelopes of a hostile peer, which exceeds its credit or names streams that do not exist.
class HostileVisitorTest : public StreamVisitorTest {
 protected:
  // Writes these envelopes as the next slots of the session.
  void Say(const std::vector<std::string>& bodies) {
    for (const std::string& body : bodies) {
      FramePacker packer(1, 0);
      ASSERT_TRUE(packer.Add(++last_slot_, {.body = body}, nullptr));
      stream_->Write(packer.Encode());
    }
    Run();
  }
  NodePair Nodes() { return {.local = {kStrangersIncarnation}, .peer = cluster().system("a").incarnation()}; }
  std::string Item(Pid to, uint64_t ask) {
    return EncodeSignal(Nodes(), {.kind = SignalKind::kItem,
                                  .from = kGuest,
                                  .to = to,
                                  .id = ask,
                                  .payload = internal::Payload::OfWireBytes("x")});
  }
  std::string Credit(Pid to, uint64_t ask, uint64_t items) {
    return EncodeSignal(Nodes(), {.kind = SignalKind::kStreamCredit,
                                  .from = kGuest,
                                  .to = to,
                                  .id = ask,
                                  .payload = internal::Payload::Of(internal::StreamCredit{.items = items})});
  }
  // The visitor asks a's feed for a stream.
  void AskFeed(const net_testing::Note& request) {
    const MailboxDefinition read{.hash = internal::Fnv1a("feed/read"), .name = "feed/read"};
    const absl::StatusOr<std::string> call = EncodeMessage(Nodes(), kGuest, feed_.pid(), read.hash, kAsk,
                                                           request.SerializeAsString(), Admission::kAllowance);
    ASSERT_TRUE(call.ok()) << call.status();
    FramePacker packer(1, 0);
    ASSERT_TRUE(packer.Add(++last_slot_, {.body = *call}, &read));
    stream_->Write(packer.Encode());
    Run();
  }
  bool IsLive() { return !visitor_.closed; }

  static constexpr uint64_t kAsk = internal::kStreamAsk | 5;
  static constexpr Pid kGuest{1, 1, 1};
  uint64_t last_slot_ = 0;
};

TEST_F(HostileVisitorTest, ItemsOfNoStreamAreDroppedAndCounted) {
  Visit(kFeatureFingerprints | kFeatureStreams);
  const int64_t late = cluster().core("a").counters().late;
  Say({Item(reader_.pid(), kAsk), Item(reader_.pid(), 5), Credit(feed_.pid(), kAsk, 1), Credit(reader_.pid(), 0, 9)});
  EXPECT_TRUE(IsLive());
  EXPECT_EQ(cluster().core("a").counters().late, late + 4);
}

TEST_F(HostileVisitorTest, ItemsAndCreditBeyondWhatWasGrantedEndTheSession) {
  Visit(kFeatureFingerprints | kFeatureStreams);
  AskFeed(NoteOf(50));
  const auto written = static_cast<int64_t>(limits::kStreamItemsMax);
  EXPECT_EQ(written_->written, written) << "the visitor's own stream is written";
  Say({Credit(feed_.pid(), kAsk, limits::kStreamItemsMax + 1)});
  EXPECT_THAT(cluster().peer_events("a"), Contains(HasSubstr("beyond what was granted")));
}

TEST_F(HostileVisitorTest, ANodeWithoutTheFeatureMayAskForNone) {
  Visit(kFeatureFingerprints);
  AskFeed(NoteOf(5));
  EXPECT_THAT(cluster().peer_events("a"), Contains(HasSubstr("the session does not have that feature")));
  EXPECT_EQ(written_->written, 0);
}

}  // namespace
}  // namespace understudy
