// Tests of uploads between actors of two nodes: the promises of local uploads, and those that a session adds.
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
#include "understudy/tests/transport/item_streams/depot.h"
#include "understudy/tests/transport/stranger.h"
#include "understudy/transport/codec/frame_codec.h"
#include "understudy/transport/session/handshake.h"

namespace understudy {
namespace {

using ::testing::Contains;
using ::testing::ElementsAre;
using ::testing::HasSubstr;

class NodeUploadsTest : public ClusterTest {
 protected:
  // A depot on b and a courier on a, which sends it so many items. Each Write and each Next lasts for `within` at most.
  void Begin(int64_t items, std::string text = "", absl::Duration pause = absl::ZeroDuration(),
             absl::Duration within = kPatience) {
    Join();
    depot_ = cluster().system("b").Spawn<Depot>(read_, pause, within);
    courier_ = cluster().system("a").Spawn<Courier>(sent_, within);
    Run();
    Send(items, std::move(text));
  }
  void Send(int64_t items, std::string text = "") {
    ASSERT_TRUE(courier_[&Courier::send]
                    .Send({.depot = Known("a", depot_.pid(), "b"), .items = items, .text = std::move(text)})
                    .ok());
    Run();
  }
  void Take(int64_t items) {
    ASSERT_TRUE(depot_[&Depot::take].Send(items).ok());
    Run(absl::Seconds(1));
  }
  void ExpectItems(int64_t items) {
    ASSERT_EQ(read_->items.size(), static_cast<size_t>(items));
    for (int64_t i = 0; i < items; ++i) EXPECT_EQ(read_->items[static_cast<size_t>(i)], i + 1);
  }
  void ExpectReceipt(int64_t items) {
    ExpectItems(items);
    ASSERT_TRUE(read_->end.has_value());
    EXPECT_TRUE(read_->end->ok()) << *read_->end;
    ASSERT_TRUE(sent_->answer.has_value());
    ASSERT_TRUE(sent_->answer->ok()) << sent_->answer->status();
    EXPECT_EQ(**sent_->answer, items);
  }

  Ref<Depot> depot_{Pid()};
  Ref<Courier> courier_{Pid()};
  const std::shared_ptr<Depot::Log> read_ = std::make_shared<Depot::Log>();
  const std::shared_ptr<Courier::Log> sent_ = std::make_shared<Courier::Log>();
};

TEST_F(NodeUploadsTest, EveryItemArrivesInOrderAndThenTheAnswer) {
  Begin(1000, "some text");
  Take(-1);
  Run(absl::Seconds(5));
  ExpectReceipt(1000);
}

TEST_F(NodeUploadsTest, ASlowReaderHoldsUpItsWriterAtItsCredit) {
  Begin(100);
  Run(absl::Seconds(1));
  EXPECT_EQ(sent_->written, static_cast<int64_t>(limits::kStreamItemsMax));
  Take(limits::kStreamItemsMax / 2);
  EXPECT_EQ(sent_->written, static_cast<int64_t>(limits::kStreamItemsMax + limits::kStreamItemsMax / 2));
  Take(-1);
  ExpectReceipt(100);
}

TEST_F(NodeUploadsTest, AWriteAndANextThatExpireEndNothing) {
  Begin(100, "", absl::ZeroDuration(), absl::Milliseconds(100));
  const int64_t expired = sent_->expired;
  Run(absl::Seconds(1));  // the depot takes nothing
  EXPECT_EQ(sent_->written, static_cast<int64_t>(limits::kStreamItemsMax));
  EXPECT_EQ(sent_->expired, expired + 10);
  cluster().network().Partition("a", "b");
  Take(-1);
  Run(absl::Seconds(1));
  ExpectItems(static_cast<int64_t>(limits::kStreamItemsMax));
  EXPECT_GE(read_->expired, 9);
  EXPECT_FALSE(read_->end.has_value());
  cluster().network().Heal("a", "b");
  Run(absl::Seconds(5));
  ExpectReceipt(100);
}

TEST_F(NodeUploadsTest, LargeItemsCountInBytesAndTravelInParts) {
  Begin(10, std::string(200'000, 'x'));
  Run(absl::Seconds(1));
  EXPECT_EQ(sent_->written, 2);
  Take(-1);
  Run(absl::Seconds(2));
  ExpectReceipt(10);
}

TEST_F(NodeUploadsTest, BothDirectionsGoOnAtOnce) {
  Begin(0);
  ASSERT_TRUE(courier_[&Courier::talk].Send({.depot = Known("a", depot_.pid(), "b"), .items = 3, .text = ""}).ok());
  Run(absl::Seconds(1));
  EXPECT_THAT(sent_->heard, ElementsAre(-1, -2, -3));
  EXPECT_TRUE(sent_->last.ok()) << sent_->last;
}

TEST_F(NodeUploadsTest, TheEndOfTheReadersActorIsToldToTheWriter) {
  Begin(100);
  cluster().system("b").Exit(depot_.pid(), ExitReason::Failed(absl::DataLossError("depot")));
  Run();
  EXPECT_TRUE(IsCalleeExited(sent_->last)) << sent_->last;
  EXPECT_EQ(ExitReasonOf(sent_->last), ExitReason::Failed(absl::DataLossError("depot")));
  ASSERT_TRUE(sent_->answer.has_value());
  EXPECT_TRUE(IsCalleeExited(sent_->answer->status())) << sent_->answer->status();
}

TEST_F(NodeUploadsTest, CancellingItIsToldToTheReaderBehindTheItems) {
  Begin(100);
  ASSERT_TRUE(courier_[&Courier::cancel].Send(true).ok());
  Run();
  Take(-1);
  ExpectItems(static_cast<int64_t>(limits::kStreamItemsMax));
  ASSERT_TRUE(read_->end.has_value());
  EXPECT_TRUE(understudy::IsCancelled(*read_->end)) << *read_->end;
  EXPECT_FALSE(ExitReasonOf(*read_->end).has_value());
}

TEST_F(NodeUploadsTest, TheEndOfTheAskerIsToldToTheReaderBehindTheItems) {
  Begin(100);
  cluster().system("a").Exit(courier_.pid(), ExitReason::Failed(absl::DataLossError("courier")));
  Run();
  Take(-1);
  ExpectItems(static_cast<int64_t>(limits::kStreamItemsMax));
  ASSERT_TRUE(read_->end.has_value());
  EXPECT_TRUE(understudy::IsCancelled(*read_->end)) << *read_->end;
  EXPECT_EQ(ExitReasonOf(*read_->end), ExitReason::Failed(absl::DataLossError("courier")));
}

TEST_F(NodeUploadsTest, ACutConnectionLosesNothing) {
  Begin(500, "text", absl::Milliseconds(1));
  ASSERT_TRUE(depot_[&Depot::take].Send(-1).ok());
  for (int i = 0; i < 5; ++i) {
    Run(absl::Milliseconds(60));
    cluster().network().Cut("a", "b");
  }
  Run(absl::Seconds(10));
  ExpectReceipt(500);
}

TEST_F(NodeUploadsTest, TheEndOfTheSessionIsToldToBothEnds) {
  Begin(100);
  cluster().network().Partition("a", "b");
  Run(absl::Seconds(20));
  EXPECT_TRUE(IsNoConnection(sent_->last)) << sent_->last;
  ASSERT_TRUE(sent_->answer.has_value());
  EXPECT_TRUE(IsNoConnection(sent_->answer->status())) << sent_->answer->status();
  Take(-1);
  ExpectItems(static_cast<int64_t>(limits::kStreamItemsMax));
  ASSERT_TRUE(read_->end.has_value());
  EXPECT_TRUE(IsNoConnection(*read_->end)) << *read_->end;
}

// A visitor that begins a session with node a, with these features.
class UploadVisitorTest : public NodeUploadsTest {
 protected:
  void Visit(uint64_t features) {
    Join();
    depot_ = cluster().system("a").Spawn<Depot>(read_);
    courier_ = cluster().system("a").Spawn<Courier>(sent_);
    stream_ = BeginStrangersSession(cluster(), visitor_, features);
  }
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
  std::string Of(SignalKind kind, internal::Payload payload = {}) {
    return EncodeSignal(Nodes(),
                        {.kind = kind, .from = kGuest, .to = depot_.pid(), .id = kAsk, .payload = std::move(payload)});
  }
  // The visitor opens an upload to a's depot.
  void Open(Pid from = kGuest) {
    const MailboxDefinition write{.hash = internal::Fnv1a("depot/write"), .name = "depot/write"};
    const absl::StatusOr<std::string> call =
        EncodeMessage(Nodes(), from, depot_.pid(), write.hash, kAsk, "", Admission::kAllowance);
    ASSERT_TRUE(call.ok()) << call.status();
    FramePacker packer(1, 0);
    ASSERT_TRUE(packer.Add(++last_slot_, {.body = *call}, &write));
    stream_->Write(packer.Encode());
    Run();
  }
  std::string Item() { return Of(SignalKind::kUploadItem, internal::Payload::OfWireBytes("")); }

  static constexpr uint64_t kAll = kFeatureFingerprints | kFeatureStreams | kFeatureUploads;
  static constexpr uint64_t kAsk = internal::kUploadAsk | 5;
  static constexpr Pid kGuest{1, 1, 1};
  uint64_t last_slot_ = 0;
  Visitor visitor_;
  std::unique_ptr<FrameStream> stream_;
};

TEST_F(UploadVisitorTest, ANodeWithoutTheFeatureIsOfferedNoUpload) {
  Visit(kFeatureFingerprints | kFeatureStreams);
  const Pid there = StrangersActor(cluster());
  ASSERT_TRUE(courier_[&Courier::send].Send({.depot = there, .items = 1, .text = ""}).ok());
  Run();
  EXPECT_EQ(sent_->last.code(), absl::StatusCode::kUnimplemented) << sent_->last;
  EXPECT_THAT(sent_->last.message(), HasSubstr("without uploads"));
  ASSERT_TRUE(sent_->answer.has_value());
  EXPECT_EQ(sent_->answer->status(), sent_->last);
}

TEST_F(UploadVisitorTest, ANodeWithoutTheFeatureMayOpenNone) {
  Visit(kFeatureFingerprints | kFeatureStreams);
  Open();
  EXPECT_THAT(cluster().peer_events("a"), Contains(HasSubstr("the session does not have that feature")));
}

TEST_F(UploadVisitorTest, ItsItemsAreReadAndItsEndIsTold) {
  Visit(kAll);
  Open();
  Take(-1);
  Say({Item(), Item(), Of(SignalKind::kUploadEnd)});
  EXPECT_EQ(read_->items.size(), 2U);
  ASSERT_TRUE(read_->end.has_value());
  EXPECT_TRUE(read_->end->ok()) << *read_->end;
}

TEST_F(UploadVisitorTest, ItemsAndEndsOfNoUploadAreDroppedAndCounted) {
  Visit(kAll);
  const int64_t late = cluster().core("a").counters().late;
  Say({Item(), Of(SignalKind::kUploadEnd), Of(SignalKind::kUploadCancel)});
  EXPECT_FALSE(visitor_.closed);
  EXPECT_EQ(cluster().core("a").counters().late, late + 3);
}

TEST_F(UploadVisitorTest, ItemsBeyondTheCreditEndTheSession) {
  Visit(kAll);
  Open();
  Say(std::vector<std::string>(limits::kStreamItemsMax + 1, Item()));
  EXPECT_THAT(cluster().peer_events("a"), Contains(HasSubstr("beyond what was granted")));
}

TEST_F(UploadVisitorTest, AnUploadOfNoActorEndsTheSession) {
  Visit(kAll);
  Open(Pid());
  EXPECT_THAT(cluster().peer_events("a"), Contains(HasSubstr("a call with a stream has no sender")));
}

}  // namespace
}  // namespace understudy
