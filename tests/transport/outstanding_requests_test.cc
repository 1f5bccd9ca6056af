#include "understudy/transport/core/outstanding_requests.h"

#include <cstdint>
#include <string>
#include <vector>

#include "absl/status/status.h"
#include "absl/strings/str_cat.h"
#include "absl/types/optional.h"
#include "gmock/gmock.h"
#include "gtest/gtest.h"
#include "understudy/actors/error.h"
#include "understudy/actors/exit_reason.h"
#include "understudy/actors/message.h"
#include "understudy/actors/pid.h"
#include "understudy/transport/codec/frame_codec.h"
#include "understudy/transport/limits.h"

namespace understudy {
namespace {

using ::testing::ElementsAre;
using ::testing::IsEmpty;
using Verdict = OutstandingRequests::Verdict;

constexpr Pid kHere(1, 1, 1);
constexpr Pid kThere(2, 1, 1);
constexpr Pid kAlsoThere(2, 2, 2);

Signal Out(SignalKind kind, uint64_t id = 0) { return {.kind = kind, .from = kHere, .to = kThere, .id = id}; }
Signal In(SignalKind kind, uint64_t id = 0) { return {.kind = kind, .from = kThere, .to = kHere, .id = id}; }
Signal LinkExit(const Signal& addressed) {
  Signal exit{.kind = SignalKind::kExit, .from = addressed.from, .to = addressed.to, .is_link = true};
  return exit;
}

class OutstandingRequestsTest : public ::testing::Test {
 protected:
  void Posted(const Signal& signal) { EXPECT_TRUE(ties_.OnPosted(signal)); }
  Verdict Granted(const Signal& signal) { return ties_.OnArrived(signal, true); }
  Verdict Ungranted(const Signal& signal) { return ties_.OnArrived(signal, false); }
  // "down 1", "reply 2 Unavailable"
  std::vector<std::string> End() {
    std::vector<std::string> told;
    for (const Signal& signal : ties_.End("over")) {
      told.push_back(absl::StrCat(SignalKindName(signal.kind), " ", signal.id));
      if (signal.kind == SignalKind::kReply) {
        EXPECT_TRUE(IsNoConnection(signal.status));
      } else if (signal.kind == SignalKind::kDown || signal.kind == SignalKind::kExit) {
        EXPECT_EQ(signal.reason.kind(), ExitReason::Kind::kNoConnection);
      }
    }
    return told;
  }

  OutstandingRequests ties_;
};

TEST_F(OutstandingRequestsTest, CallsWithoutAnAnswerAreBounded) {
  for (uint64_t ask = 1; ask <= limits::kAsksPerSessionMax; ++ask) {
    ASSERT_TRUE(ties_.MayAsk());
    ties_.OnSent(kHere, kThere, ask);
  }
  EXPECT_FALSE(ties_.MayAsk());
  EXPECT_EQ(Ungranted(In(SignalKind::kReply, 7)), Verdict::kDeliver);
  EXPECT_TRUE(ties_.MayAsk());
}

TEST_F(OutstandingRequestsTest, APeerWithMoreCallsThanItMayHaveIsABadPeer) {
  for (uint64_t ask = 1; ask <= 2 * limits::kAsksPerSessionMax; ++ask) ASSERT_TRUE(ties_.OnCalled(kThere, ask, kHere));
  EXPECT_FALSE(ties_.OnCalled(kAlsoThere, 1, kHere));
}

TEST_F(OutstandingRequestsTest, APeerThatUsesTheNumberOfACallWithoutAnAnswerAgainIsABadPeer) {
  ASSERT_TRUE(ties_.OnCalled(kThere, 1, kHere));
  EXPECT_FALSE(ties_.OnCalled(kThere, 1, kHere));
}

TEST_F(OutstandingRequestsTest, ACallIsAnsweredOnceAndNotAfterItWasGivenUp) {
  ASSERT_TRUE(ties_.OnCalled(kThere, 1, kHere));
  ASSERT_TRUE(ties_.OnCalled(kThere, 2, kHere));
  EXPECT_TRUE(ties_.OnAnswers(kThere, 1));
  EXPECT_FALSE(ties_.OnAnswers(kThere, 1));
  EXPECT_EQ(Ungranted(In(SignalKind::kCancel, 2)), Verdict::kDeliver);
  EXPECT_FALSE(ties_.OnAnswers(kThere, 2));
}

TEST_F(OutstandingRequestsTest, ACancelOfACallThatThePeerDoesNotHaveReachesNoActor) {
  EXPECT_EQ(Ungranted(In(SignalKind::kCancel, 3)), Verdict::kDrop);  // never made
  ASSERT_TRUE(ties_.OnCalled(kThere, 1, kHere));
  EXPECT_EQ(Ungranted(In(SignalKind::kCancel, 1)), Verdict::kDeliver);
  EXPECT_EQ(Ungranted(In(SignalKind::kCancel, 1)), Verdict::kDrop);  // once
}

TEST_F(OutstandingRequestsTest, AnAnsweredAskIsNotToldOfTheEnd) {
  ties_.OnSent(kHere, kThere, 7);
  ties_.OnSent(kHere, kThere, 8);
  EXPECT_EQ(Ungranted(In(SignalKind::kReply, 7)), Verdict::kDeliver);
  EXPECT_EQ(Ungranted(In(SignalKind::kReply, 7)), Verdict::kDrop);  // once
  EXPECT_EQ(Ungranted(In(SignalKind::kReply, 9)), Verdict::kDrop);  // never asked
  EXPECT_THAT(End(), ElementsAre("reply 8"));
  EXPECT_THAT(End(), IsEmpty());
}

TEST_F(OutstandingRequestsTest, ACancelledAskIsDoneWith) {
  ties_.OnSent(kHere, kThere, 7);
  Posted(Out(SignalKind::kCancel, 7));
  EXPECT_EQ(Ungranted(In(SignalKind::kReply, 7)), Verdict::kDrop);
  EXPECT_THAT(End(), IsEmpty());
}

TEST_F(OutstandingRequestsTest, ARefusedCallIsAnsweredAndARefusedTellIsNot) {
  ties_.OnSent(kHere, kThere, 7);
  ties_.OnSent(kHere, kThere, 0);
  const absl::Status full = MakeError(ErrorKind::kFull, "full");
  const absl::optional<Signal> reply =
      ties_.OnRefused({.from = kHere, .to = kThere, .mailbox = 1, .ask = 7, .status = full});
  ASSERT_TRUE(reply.has_value());
  EXPECT_EQ(reply->to, kHere);
  EXPECT_EQ(reply->id, 7U);
  EXPECT_TRUE(IsFull(reply->status));
  EXPECT_FALSE(ties_.OnRefused({.from = kHere, .to = kThere, .mailbox = 1, .ask = 0, .status = full}).has_value());
}

TEST_F(OutstandingRequestsTest, AMonitorFiresOnceOrIsRemoved) {
  Posted(Out(SignalKind::kMonitor, 1));
  Posted(Out(SignalKind::kMonitor, 2));
  Posted(Out(SignalKind::kMonitor, 3));
  Posted(Out(SignalKind::kDemonitor, 2));
  EXPECT_EQ(Ungranted(In(SignalKind::kDown, 1)), Verdict::kDeliver);
  EXPECT_EQ(Ungranted(In(SignalKind::kDown, 1)), Verdict::kDrop);
  EXPECT_EQ(Ungranted(In(SignalKind::kDown, 2)), Verdict::kDrop);
  Signal forged = In(SignalKind::kDown, 3);
  forged.from = kAlsoThere;
  EXPECT_EQ(Ungranted(forged), Verdict::kDrop);  // of another actor than the one monitored
  EXPECT_THAT(End(), ElementsAre("down 3"));
}

TEST_F(OutstandingRequestsTest, AWatcherThereIsDemonitoredAtTheEnd) {
  EXPECT_EQ(Ungranted(In(SignalKind::kMonitor, 1)), Verdict::kDeliver);
  EXPECT_EQ(Ungranted(In(SignalKind::kMonitor, 2)), Verdict::kDeliver);
  EXPECT_EQ(Ungranted(In(SignalKind::kMonitor, 3)), Verdict::kDeliver);
  EXPECT_EQ(Ungranted(In(SignalKind::kDemonitor, 1)), Verdict::kDeliver);
  EXPECT_EQ(Ungranted(In(SignalKind::kDemonitor, 1)), Verdict::kDrop);
  Posted(Out(SignalKind::kDown, 2));
  EXPECT_THAT(End(), ElementsAre("demonitor 3"));
}

TEST_F(OutstandingRequestsTest, ALinkEndsWithTheExitOfEitherSideAndElseWithTheSession) {
  Posted(Out(SignalKind::kLink));
  EXPECT_EQ(Ungranted(LinkExit(In(SignalKind::kExit))), Verdict::kDeliver);
  EXPECT_EQ(Ungranted(LinkExit(In(SignalKind::kExit))), Verdict::kDrop);
  EXPECT_EQ(Granted(In(SignalKind::kLink)), Verdict::kDeliver);
  Posted(LinkExit(Out(SignalKind::kExit)));
  EXPECT_THAT(End(), IsEmpty());
  EXPECT_EQ(Granted(In(SignalKind::kLink)), Verdict::kDeliver);
  EXPECT_THAT(End(), ElementsAre("exit 0"));
}

TEST_F(OutstandingRequestsTest, AnUnlinkIsAcknowledgedByThePeerOrByTheEnd) {
  Posted(Out(SignalKind::kLink));
  Posted(Out(SignalKind::kUnlink, 5));
  EXPECT_EQ(Ungranted(LinkExit(In(SignalKind::kExit))), Verdict::kDrop);
  EXPECT_EQ(Ungranted(In(SignalKind::kUnlinkAck, 4)), Verdict::kDrop);
  EXPECT_EQ(Ungranted(In(SignalKind::kUnlinkAck, 5)), Verdict::kDeliver);
  Posted(Out(SignalKind::kUnlink, 6));
  EXPECT_THAT(End(), ElementsAre("unlink_ack 6"));
}

TEST_F(OutstandingRequestsTest, UnlinksThatThePeerDoesNotAnswerAreBounded) {
  const auto post = [&](SignalKind kind, uint64_t life) {
    return ties_.OnPosted({.kind = kind, .from = Pid(1, 1, life), .to = kThere, .id = life});
  };
  for (uint64_t life = 1; life <= limits::kUnlinksPerSessionMax; ++life) {
    ASSERT_TRUE(post(SignalKind::kLink, life));
    ASSERT_TRUE(post(SignalKind::kUnlink, life));
  }
  EXPECT_TRUE(post(SignalKind::kLink, limits::kUnlinksPerSessionMax + 1));
  EXPECT_FALSE(post(SignalKind::kUnlink, limits::kUnlinksPerSessionMax + 1));
  EXPECT_EQ(ties_.End("over").size(), limits::kUnlinksPerSessionMax + 1) << "the actors are told of the last one too";
}

TEST_F(OutstandingRequestsTest, AnUnlinkOfWhatIsNotLinkedIsOnlyAcknowledged) {
  EXPECT_EQ(Ungranted(In(SignalKind::kUnlink, 5)), Verdict::kRefuse);
  const absl::optional<Signal> answer =
      OutstandingRequests::AnswerTo(In(SignalKind::kUnlink, 5), ExitReason::NotPermitted());
  ASSERT_TRUE(answer.has_value());
  EXPECT_EQ(answer->kind, SignalKind::kUnlinkAck);
  EXPECT_EQ(answer->id, 5U);
  EXPECT_EQ(answer->to, kThere);
}

TEST_F(OutstandingRequestsTest, WhatNeedsAGrantIsRefusedWithoutOne) {
  for (const SignalKind kind : {SignalKind::kExit, SignalKind::kKill, SignalKind::kRequestStop, SignalKind::kLink}) {
    EXPECT_EQ(Ungranted(In(kind)), Verdict::kRefuse) << SignalKindName(kind);
    EXPECT_EQ(Granted(In(kind)), Verdict::kDeliver) << SignalKindName(kind);
  }
}

TEST_F(OutstandingRequestsTest, AStreamEndsWithTheAnswerToItsAsk) {
  constexpr uint64_t kAsk = internal::kStreamAsk | 7;
  Signal item = In(SignalKind::kItem, kAsk);
  item.payload = internal::Payload::OfWireBytes("x");
  EXPECT_EQ(Ungranted(item), Verdict::kDrop);
  ties_.OnSent(kHere, kThere, kAsk);
  EXPECT_EQ(Ungranted(item), Verdict::kDeliver);
  EXPECT_EQ(Ungranted(In(SignalKind::kReply, kAsk)), Verdict::kDeliver);
  EXPECT_EQ(Ungranted(item), Verdict::kDrop);
  ties_.OnSent(kHere, kThere, kAsk);
  Posted(Out(SignalKind::kCancel, kAsk));
  EXPECT_EQ(Ungranted(item), Verdict::kDrop);
}

TEST_F(OutstandingRequestsTest, ItemsAreSentOnlyWhileThePeersCallIsOpen) {
  constexpr uint64_t kAsk = internal::kStreamAsk | 7;
  Signal item = Out(SignalKind::kItem, kAsk);
  item.payload = internal::Payload::OfWireBytes("x");
  EXPECT_FALSE(ties_.OnStreamPosted(item));
  ASSERT_TRUE(ties_.OnCalled(kThere, kAsk, kHere));
  EXPECT_TRUE(ties_.OnStreamPosted(item));
  EXPECT_FALSE(ties_.OnStreamsAnswered(kThere, kAsk).has_value());
  EXPECT_TRUE(ties_.OnAnswers(kThere, kAsk));
  EXPECT_FALSE(ties_.OnStreamPosted(item));
  ASSERT_TRUE(ties_.OnCalled(kThere, kAsk, kHere));
  EXPECT_THAT(End(), ElementsAre(absl::StrCat("cancel ", kAsk)));
}

}  // namespace
}  // namespace understudy
