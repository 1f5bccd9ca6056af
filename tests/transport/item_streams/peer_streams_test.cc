// PeerStreams without a session.
#include "understudy/transport/core/peer_streams.h"

#include <cstddef>
#include <cstdint>
#include <string>
#include <utility>
#include <vector>

#include "absl/status/status.h"
#include "absl/types/optional.h"
#include "gtest/gtest.h"
#include "understudy/actors/error.h"
#include "understudy/actors/limits.h"
#include "understudy/actors/message.h"
#include "understudy/actors/pid.h"

namespace understudy {
namespace {

using Verdict = PeerStreams::Verdict;

constexpr Pid kHere(1, 1, 1);
constexpr Pid kThere(2, 1, 1);
constexpr Pid kAlsoThere(2, 2, 2);
constexpr uint64_t kAsk = internal::kStreamAsk | 5;

Signal Item(Pid from, Pid to, size_t bytes = 10) {
  return {.kind = SignalKind::kItem,
          .from = from,
          .to = to,
          .id = kAsk,
          .payload = internal::Payload::OfWireBytes(std::string(bytes, 'x'))};
}
Signal Credit(Pid from, Pid to, uint64_t items) {
  return {.kind = SignalKind::kStreamCredit,
          .from = from,
          .to = to,
          .id = kAsk,
          .payload = internal::Payload::Of(internal::StreamCredit{.items = items})};
}
Signal Plain(SignalKind kind, Pid from, Pid to) { return {.kind = kind, .from = from, .to = to, .id = kAsk}; }

TEST(PeerStreamsTest, DeliversTheItemsOfAStreamThatWasAskedFor) {
  PeerStreams streams;
  EXPECT_EQ(streams.OnArrived(Item(kThere, kHere)), Verdict::kDrop);
  streams.OnSent(kHere, kAsk, kThere);
  EXPECT_EQ(streams.OnArrived(Item(kThere, kHere)), Verdict::kDeliver);
  EXPECT_EQ(streams.OnArrived(Item(kAlsoThere, kHere)), Verdict::kDrop) << "it is not of the callee";
  EXPECT_EQ(streams.OnArrived(Plain(SignalKind::kReply, kThere, kHere)), Verdict::kDeliver);
  EXPECT_EQ(streams.OnArrived(Item(kThere, kHere)), Verdict::kDrop) << "it comes after the end";
  EXPECT_EQ(streams.asked(), 0U);
}

TEST(PeerStreamsTest, AnItemBeyondTheCreditIsBad) {
  PeerStreams streams;
  streams.OnSent(kHere, kAsk, kThere);
  for (size_t i = 0; i < limits::kStreamItemsMax; ++i) {
    EXPECT_EQ(streams.OnArrived(Item(kThere, kHere)), Verdict::kDeliver);
  }
  EXPECT_TRUE(streams.OnPosted(Credit(kHere, kThere, 1)));
  EXPECT_EQ(streams.OnArrived(Item(kThere, kHere)), Verdict::kDeliver);
  EXPECT_EQ(streams.OnArrived(Item(kThere, kHere)), Verdict::kBad);
}

TEST(PeerStreamsTest, CreditForNoItemIsBad) {
  PeerStreams streams;
  streams.OnCalled(kThere, kAsk, kHere);
  EXPECT_EQ(streams.OnArrived(Credit(kThere, kHere, 0)), Verdict::kBad);
}

TEST(PeerStreamsTest, BytesBeyondTheCreditAreBad) {
  PeerStreams streams;
  streams.OnSent(kHere, kAsk, kThere);
  EXPECT_EQ(streams.OnArrived(Item(kThere, kHere, limits::kStreamBytesMax)), Verdict::kDeliver);
  EXPECT_EQ(streams.OnArrived(Item(kThere, kHere, 0)), Verdict::kBad);
}

TEST(PeerStreamsTest, CreditBeyondWhatWasSentIsBadAndForAnotherStreamIsDropped) {
  PeerStreams streams;
  EXPECT_EQ(streams.OnArrived(Credit(kThere, kHere, 1)), Verdict::kDrop);
  streams.OnCalled(kThere, kAsk, kHere);
  EXPECT_TRUE(streams.OnPosted(Item(kHere, kThere)));
  EXPECT_EQ(streams.OnArrived(Credit(kAlsoThere, kHere, 1)), Verdict::kDrop);
  EXPECT_EQ(streams.OnArrived(Credit(kThere, kHere, 1)), Verdict::kDeliver);
  EXPECT_EQ(streams.OnArrived(Credit(kThere, kHere, 1)), Verdict::kBad);
}

TEST(PeerStreamsTest, SendsNothingOfAStreamThatIsOver) {
  PeerStreams streams;
  EXPECT_FALSE(streams.OnPosted(Item(kHere, kThere)));
  streams.OnCalled(kThere, kAsk, kHere);
  EXPECT_TRUE(streams.OnPosted(Item(kHere, kThere)));
  EXPECT_EQ(streams.OnArrived(Plain(SignalKind::kCancel, kThere, kHere)), Verdict::kDeliver);
  EXPECT_FALSE(streams.OnPosted(Item(kHere, kThere)));
  streams.OnSent(kHere, kAsk, kThere);
  streams.OnAnswered(kHere, kAsk);
  EXPECT_FALSE(streams.OnPosted(Credit(kHere, kThere, 0)));
}

TEST(PeerStreamsTest, AnItemWithoutRoomEndsItsStreamOnce) {
  PeerStreams streams;
  streams.OnCalled(kThere, kAsk, kHere);
  const Signal item = Item(kHere, kThere);
  const absl::optional<PeerStreams::NoRoom> told = streams.OnNoRoom(item, absl::ResourceExhaustedError("full"));
  ASSERT_TRUE(told.has_value());
  EXPECT_EQ(told->to_writer.kind, SignalKind::kCancel);
  EXPECT_EQ(told->to_writer.to, kHere);
  EXPECT_EQ(told->to_reader.kind, SignalKind::kReply);
  EXPECT_EQ(told->to_reader.to, kThere);
  EXPECT_EQ(told->to_reader.status, absl::ResourceExhaustedError("full"));
  EXPECT_FALSE(streams.OnNoRoom(item, absl::ResourceExhaustedError("full")).has_value());
}

TEST(PeerStreamsTest, TheWritersAreToldOfTheSessionsEnd) {
  PeerStreams streams;
  streams.OnSent(kHere, kAsk, kThere);
  streams.OnCalled(kThere, kAsk, kHere);
  const std::vector<Signal> told = streams.End("cut");
  ASSERT_EQ(told.size(), 1U);
  EXPECT_EQ(told[0].kind, SignalKind::kCancel);
  EXPECT_EQ(told[0].from, kThere);
  EXPECT_EQ(told[0].to, kHere);
  EXPECT_EQ(told[0].id, kAsk);
  EXPECT_TRUE(IsNoConnection(told[0].status));
  EXPECT_EQ(streams.asked() + streams.called(), 0U);
}

// ---- Uploads ----

constexpr uint64_t kUpload = internal::kUploadAsk | 6;

Signal OfUpload(SignalKind kind, Pid from, Pid to) {
  Signal signal{.kind = kind, .from = from, .to = to, .id = kUpload};
  if (kind == SignalKind::kUploadItem) signal.payload = internal::Payload::OfWireBytes("x");
  if (kind == SignalKind::kUploadCredit) signal.payload = internal::Payload::Of(internal::StreamCredit());
  return signal;
}

TEST(PeerUploadsTest, CarriesItemsOnceAReaderIsThere) {
  PeerStreams here;
  PeerStreams there;
  here.OnSent(kHere, kUpload, kThere);
  there.OnCalled(kHere, kUpload, kThere);
  EXPECT_FALSE(here.OnPosted(OfUpload(SignalKind::kUploadItem, kHere, kThere)));
  EXPECT_TRUE(there.OnPosted(OfUpload(SignalKind::kUploadCredit, kThere, kHere)));
  EXPECT_EQ(here.OnArrived(OfUpload(SignalKind::kUploadCredit, kAlsoThere, kHere)), Verdict::kDrop);
  EXPECT_EQ(here.OnArrived(OfUpload(SignalKind::kUploadCredit, kThere, kHere)), Verdict::kDeliver);
  EXPECT_TRUE(here.OnPosted(OfUpload(SignalKind::kUploadItem, kHere, kThere)));
  EXPECT_EQ(there.OnArrived(OfUpload(SignalKind::kUploadItem, kHere, kThere)), Verdict::kDeliver);
  EXPECT_TRUE(here.OnPosted(OfUpload(SignalKind::kUploadEnd, kHere, kThere)));
  EXPECT_EQ(there.OnArrived(OfUpload(SignalKind::kUploadEnd, kHere, kThere)), Verdict::kDeliver);
  EXPECT_FALSE(here.OnPosted(OfUpload(SignalKind::kUploadItem, kHere, kThere))) << "it is over";
  EXPECT_EQ(there.OnArrived(OfUpload(SignalKind::kUploadItem, kHere, kThere)), Verdict::kDrop);
  EXPECT_FALSE(there.OnAnswers(kHere, kUpload).has_value()) << "its reader knows the end";
  EXPECT_EQ(there.called(), 0U);
}

TEST(PeerUploadsTest, AnItemBeforeAReaderIsThereIsBad) {
  PeerStreams there;
  there.OnCalled(kHere, kUpload, kThere);
  EXPECT_EQ(there.OnArrived(OfUpload(SignalKind::kUploadItem, kHere, kThere)), Verdict::kBad);
}

TEST(PeerUploadsTest, AnItemBeyondTheCreditAndACreditBeyondTheItemsAreBad) {
  PeerStreams there;
  there.OnCalled(kHere, kUpload, kThere);
  EXPECT_TRUE(there.OnPosted(OfUpload(SignalKind::kUploadCredit, kThere, kHere)));
  for (size_t i = 0; i < limits::kStreamItemsMax; ++i) {
    EXPECT_EQ(there.OnArrived(OfUpload(SignalKind::kUploadItem, kHere, kThere)), Verdict::kDeliver);
  }
  EXPECT_EQ(there.OnArrived(OfUpload(SignalKind::kUploadItem, kHere, kThere)), Verdict::kBad);
  PeerStreams here;
  here.OnSent(kHere, kUpload, kThere);
  Signal credit = OfUpload(SignalKind::kUploadCredit, kThere, kHere);
  credit.payload = internal::Payload::Of(internal::StreamCredit{.items = 1});
  EXPECT_EQ(here.OnArrived(credit), Verdict::kBad);
}

TEST(PeerUploadsTest, TheAnswerTellsAReaderThatIsThere) {
  PeerStreams there;
  there.OnCalled(kHere, kUpload, kThere);
  EXPECT_FALSE(there.OnAnswers(kHere, kUpload).has_value()) << "no handler reads it";
  there.OnCalled(kHere, kUpload, kThere);
  EXPECT_TRUE(there.OnPosted(OfUpload(SignalKind::kUploadCredit, kThere, kHere)));
  const absl::optional<Signal> told = there.OnAnswers(kHere, kUpload);
  ASSERT_TRUE(told.has_value());
  EXPECT_EQ(told->kind, SignalKind::kUploadEnd);
  EXPECT_EQ(told->to, kThere);
  EXPECT_TRUE(understudy::IsCancelled(told->status));
}

TEST(PeerUploadsTest, AReaderThatWantsNoMoreEndsItAndTheCallGoesOn) {
  PeerStreams here;
  here.OnSent(kHere, kUpload, kThere);
  EXPECT_EQ(here.OnArrived(OfUpload(SignalKind::kUploadCancel, kThere, kHere)), Verdict::kDeliver);
  EXPECT_FALSE(here.OnPosted(OfUpload(SignalKind::kUploadEnd, kHere, kThere)));
  EXPECT_EQ(here.asked(), 1U);
}

TEST(PeerUploadsTest, AnItemWithoutRoomEndsItAtBothEnds) {
  PeerStreams here;
  here.OnSent(kHere, kUpload, kThere);
  EXPECT_EQ(here.OnArrived(OfUpload(SignalKind::kUploadCredit, kThere, kHere)), Verdict::kDeliver);
  const Signal item = OfUpload(SignalKind::kUploadItem, kHere, kThere);
  const absl::optional<PeerStreams::NoRoom> told = here.OnNoRoom(item, absl::ResourceExhaustedError("full"));
  ASSERT_TRUE(told.has_value());
  EXPECT_EQ(told->to_writer.kind, SignalKind::kUploadCancel);
  EXPECT_EQ(told->to_writer.to, kHere);
  EXPECT_EQ(told->to_reader.kind, SignalKind::kUploadEnd);
  EXPECT_EQ(told->to_reader.to, kThere);
  EXPECT_FALSE(here.OnNoRoom(item, absl::ResourceExhaustedError("full")).has_value());
  EXPECT_EQ(here.asked(), 1U) << "the call goes on";
}

TEST(PeerUploadsTest, AnEndOfItemsBeforeTheUploadIsReadIsBad) {
  PeerStreams there;
  there.OnCalled(kHere, kUpload, kThere);
  EXPECT_EQ(there.OnArrived(OfUpload(SignalKind::kUploadEnd, kHere, kThere)), Verdict::kBad);
}

TEST(PeerUploadsTest, CreditForNoItemIsGoodOnlyWhenTheReadingBegins) {
  PeerStreams here;
  here.OnSent(kHere, kUpload, kThere);
  EXPECT_EQ(here.OnArrived(OfUpload(SignalKind::kUploadCredit, kThere, kHere)), Verdict::kDeliver);
  EXPECT_EQ(here.OnArrived(OfUpload(SignalKind::kUploadCredit, kThere, kHere)), Verdict::kBad);
}

TEST(PeerUploadsTest, TheSessionsEndCancelsTheCallsWhoseUploadsAreNotOver) {
  PeerStreams there;
  there.OnCalled(kHere, kUpload, kThere);
  there.OnCalled(kHere, kUpload | 1, kThere);
  EXPECT_TRUE(there.OnPosted(OfUpload(SignalKind::kUploadCredit, kThere, kHere)));
  EXPECT_EQ(there.OnArrived(OfUpload(SignalKind::kUploadEnd, kHere, kThere)), Verdict::kDeliver);
  const std::vector<Signal> told = there.End("cut");
  ASSERT_EQ(told.size(), 1U);
  EXPECT_EQ(told[0].kind, SignalKind::kCancel);
  EXPECT_EQ(told[0].id, kUpload | 1);
  EXPECT_TRUE(IsNoConnection(told[0].status));
}

}  // namespace
}  // namespace understudy
