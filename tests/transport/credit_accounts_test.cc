// The two ends of credit, each alone: CreditSender and CreditReceiver.
#include <algorithm>
#include <cstdint>
#include <utility>
#include <vector>

#include "absl/status/status.h"
#include "absl/status/statusor.h"
#include "absl/types/optional.h"
#include "gmock/gmock.h"
#include "gtest/gtest.h"
#include "understudy/actors/clock.h"
#include "understudy/actors/error.h"
#include "understudy/actors/pid.h"
#include "understudy/actors/room.h"
#include "understudy/transport/credit.h"
#include "understudy/transport/credit_receiver.h"
#include "understudy/transport/credit_sender.h"
#include "understudy/transport/limits.h"

namespace understudy {
namespace {

using ::testing::ElementsAre;
using ::testing::IsEmpty;
using ::testing::SizeIs;

constexpr MailboxAddress kBox{Pid(1, 1, 1), 7};
constexpr MailboxAddress kOther{Pid(1, 1, 1), 8};
constexpr MonotonicTime kStart = MonotonicTime();
constexpr CreditTerms kTerms{.first_allowance = {.messages = 4, .bytes = 64 << 10}, .first_window_messages = 8};

CreditChange Grant(RoomAmount granted, RoomAmount allowance = {}) {
  return {.to = kBox.first, .mailbox = kBox.second, .granted = granted, .allowance = allowance};
}

// ---- The sending end ----

class CreditSenderTest : public ::testing::Test {
 protected:
  absl::optional<Admission> Send(const MailboxAddress& to, int64_t bytes) {
    const absl::optional<Admission> admission = sender_.Find(to, bytes);
    if (admission.has_value()) sender_.OnSent(to, bytes, *admission);
    return admission;
  }
  CreditSender sender_{kTerms};
};

TEST_F(CreditSenderTest, TheFirstMessagesNeedNoCreditAndEachMailboxHasItsOwnAllowance) {
  for (int64_t i = 0; i < kTerms.first_allowance.messages; ++i) EXPECT_EQ(Send(kBox, 10), Admission::kAllowance);
  EXPECT_EQ(Send(kBox, 10), absl::nullopt);
  EXPECT_EQ(Send(kOther, 10), Admission::kAllowance);
  EXPECT_EQ(sender_.allowance_in_use(), (RoomAmount{.messages = 5, .bytes = 50}));
}

TEST_F(CreditSenderTest, GrantedRoomIsUsedBeforeTheAllowanceAndOnlyIfItIsEnough) {
  ASSERT_TRUE(sender_.OnGrant(Grant({.messages = 2, .bytes = 100})).ok());
  EXPECT_EQ(Send(kBox, 101), Admission::kAllowance);
  EXPECT_EQ(Send(kBox, 60), Admission::kReserved);
  EXPECT_EQ(Send(kBox, 60), Admission::kAllowance);
  EXPECT_EQ(Send(kBox, 40), Admission::kReserved);
  EXPECT_EQ(sender_.granted(), RoomAmount());
}

TEST_F(CreditSenderTest, ALargeMessageUsesAWholeAllowanceThatIsUntouched) {
  EXPECT_EQ(Send(kBox, kTerms.first_allowance.bytes + 1), Admission::kAllowance);
  EXPECT_EQ(Send(kBox, 0), absl::nullopt);
  EXPECT_EQ(Send(kOther, 1), Admission::kAllowance);
  EXPECT_EQ(Send(kOther, kTerms.first_allowance.bytes), absl::nullopt);
  ASSERT_TRUE(sender_.OnGrant(Grant({}, {.messages = 1, .bytes = kTerms.first_allowance.bytes + 1})).ok());
  EXPECT_EQ(Send(kBox, 10), Admission::kAllowance);
}

TEST_F(CreditSenderTest, ALargeMessageKeepsNobodyFromAFirstContactAndASecondOneWaits) {
  const int64_t large = kTerms.first_allowance.bytes + kSessionAllowanceMax.bytes;
  EXPECT_EQ(Send(kBox, large + 1), Admission::kAllowance) << "one of any size";
  EXPECT_EQ(Send(kOther, kTerms.first_allowance.bytes), Admission::kAllowance);
  const MailboxAddress third{Pid(1, 2, 1), 7};
  EXPECT_EQ(Send(third, kTerms.first_allowance.bytes + 1), absl::nullopt);
  ASSERT_TRUE(sender_.OnGrant(Grant({}, {.messages = 1, .bytes = large + 1})).ok());
  EXPECT_EQ(Send(third, kTerms.first_allowance.bytes + 1), Admission::kAllowance);
  EXPECT_EQ(Send(kBox, large), absl::nullopt);
  EXPECT_EQ(Send(kBox, large - 1), Admission::kAllowance);
}

TEST_F(CreditSenderTest, TheBytesUnderAllAllowancesAreBounded) {
  const int64_t boxes = kSessionAllowanceMax.bytes / kTerms.first_allowance.bytes;
  for (int64_t i = 0; i < boxes; ++i) {
    const MailboxAddress box{Pid(1, static_cast<uint32_t>(i), 1), 7};
    ASSERT_EQ(Send(box, kTerms.first_allowance.bytes), Admission::kAllowance);
  }
  EXPECT_EQ(Send({Pid(1, 1, 2), 7}, 1), absl::nullopt);
}

TEST_F(CreditSenderTest, TheMessagesUnderAllAllowancesAreBounded) {
  for (int64_t i = 0; i < kSessionAllowanceMax.messages; ++i) {
    ASSERT_TRUE(Send({Pid(1, static_cast<uint32_t>(i), 1), 7}, 0).has_value());
  }
  EXPECT_EQ(Send({Pid(1, 1, 2), 7}, 0), absl::nullopt);
}

TEST_F(CreditSenderTest, ThePeerIsAskedOnceUntilItAnswers) {
  EXPECT_TRUE(sender_.Asks(kBox));
  EXPECT_FALSE(sender_.Asks(kBox));
  EXPECT_TRUE(sender_.Asks(kOther));
  ASSERT_TRUE(sender_.OnGrant(Grant({})).ok()) << "no room now";
  EXPECT_TRUE(sender_.Asks(kBox));
}

TEST_F(CreditSenderTest, NonsenseInAGrantIsAnError) {
  EXPECT_TRUE(absl::IsInvalidArgument(sender_.OnGrant(Grant({}, {.messages = 1}))));
  sender_ = CreditSender(kTerms);
  EXPECT_TRUE(absl::IsInvalidArgument(sender_.OnGrant(Grant({}, {.bytes = 1}))));
  sender_ = CreditSender(kTerms);
  ASSERT_TRUE(sender_.OnGrant(Grant(kGrantedMax)).ok());
  EXPECT_TRUE(absl::IsInvalidArgument(sender_.OnGrant(Grant({.messages = 1}))));
}

TEST_F(CreditSenderTest, WhatIsTakenBackIsWhatWasNotUsed) {
  ASSERT_TRUE(sender_.OnGrant(Grant({.messages = 5, .bytes = 100})).ok());
  ASSERT_EQ(Send(kBox, 30), Admission::kReserved);
  EXPECT_EQ(sender_.OnTakeBack(Grant({.messages = 1, .bytes = 20})), (RoomAmount{.messages = 1, .bytes = 20}));
  EXPECT_EQ(sender_.OnTakeBack(Grant({.messages = 5, .bytes = 100})), (RoomAmount{.messages = 3, .bytes = 50}));
  EXPECT_EQ(sender_.OnTakeBack(Grant({.messages = 5, .bytes = 100})), RoomAmount());
  EXPECT_EQ(sender_.mailboxes(), 0U) << "an account that is as at first takes no memory";
  EXPECT_EQ(Send(kBox, 30), Admission::kAllowance);
}

// ---- Senders that wait, at the sending end ----

constexpr CreditSender::Waiter kWaiter{Pid(2, 1, 1), 5};

CreditChange AnswerTo(const CreditChange& want, CreditChange::Kind kind) {
  CreditChange answer = want;
  answer.kind = kind;
  if (kind == CreditChange::Kind::kRefuse) answer.granted = {};
  return answer;
}

TEST_F(CreditSenderTest, AWaitingSenderHasRoomOfItsOwnWhichNoOtherMessageUses) {
  const CreditChange want = *sender_.Wants(kBox, 30, kWaiter);
  EXPECT_EQ(want.kind, CreditChange::Kind::kWant);
  EXPECT_NE(want.want, 0U);
  EXPECT_TRUE(sender_.IsAwaited(kBox));
  EXPECT_FALSE(sender_.IsAwaited(kOther));
  EXPECT_FALSE(sender_.HasRoom(kWaiter));
  const auto answered = sender_.OnWantAnswered(AnswerTo(want, CreditChange::Kind::kGrant));
  ASSERT_TRUE(answered.ok()) << answered.status();
  EXPECT_EQ(answered->waiter, kWaiter);
  EXPECT_FALSE(sender_.IsAwaited(kBox));
  EXPECT_TRUE(sender_.HasRoom(kWaiter));
  EXPECT_EQ(Send(kBox, 30), Admission::kAllowance);
  EXPECT_EQ(sender_.OnTakeBack(Grant(kGrantedMax)), RoomAmount());
  EXPECT_EQ(sender_.granted(), (RoomAmount{.messages = 1, .bytes = 30}));
  sender_.OnSentInRoom(kWaiter);
  EXPECT_EQ(sender_.granted(), RoomAmount());
  EXPECT_EQ(sender_.wants(), 0U);
}

TEST_F(CreditSenderTest, ARefusedWantLeavesNothingBehind) {
  const CreditChange want = *sender_.Wants(kBox, 30, kWaiter);
  EXPECT_EQ(sender_.OnWantAnswered(AnswerTo(want, CreditChange::Kind::kRefuse))->waiter, kWaiter);
  EXPECT_FALSE(sender_.GiveUp(kWaiter).has_value());
  EXPECT_EQ(sender_.wants(), 0U);
  EXPECT_EQ(sender_.mailboxes(), 0U);
}

TEST_F(CreditSenderTest, AWantThatIsGivenUpIsWithdrawnAndItsLaterGrantIsReturned) {
  const CreditChange want = *sender_.Wants(kBox, 30, kWaiter);
  const CreditChange told = *sender_.GiveUp(kWaiter);
  EXPECT_EQ(told.kind, CreditChange::Kind::kReturn);
  EXPECT_EQ(told.want, want.want);
  EXPECT_EQ(told.granted, RoomAmount());
  EXPECT_FALSE(sender_.IsAwaited(kBox));
  EXPECT_EQ(sender_.wants(), 1U) << "its number is not free before the peer has answered";
  const auto answered = sender_.OnWantAnswered(AnswerTo(want, CreditChange::Kind::kGrant));
  ASSERT_TRUE(answered.ok()) << answered.status();
  EXPECT_FALSE(answered->waiter.has_value());
  ASSERT_TRUE(answered->told.has_value());
  EXPECT_EQ(answered->told->kind, CreditChange::Kind::kReturn);
  EXPECT_EQ(answered->told->granted, (RoomAmount{.messages = 1, .bytes = 30}));
  EXPECT_EQ(answered->told->want, 0U);
  EXPECT_EQ(sender_.wants(), 0U);
  EXPECT_EQ(sender_.mailboxes(), 0U);
}

TEST_F(CreditSenderTest, RoomThatIsGivenUpIsReturned) {
  const CreditChange want = *sender_.Wants(kBox, 30, kWaiter);
  ASSERT_TRUE(sender_.OnWantAnswered(AnswerTo(want, CreditChange::Kind::kGrant)).ok());
  EXPECT_EQ(sender_.GiveUp(kWaiter)->granted, (RoomAmount{.messages = 1, .bytes = 30}));
  EXPECT_EQ(sender_.granted(), RoomAmount());
  EXPECT_EQ(sender_.wants(), 0U);
}

TEST_F(CreditSenderTest, NonsenseInAnAnswerToAWantIsAnError) {
  const CreditChange want = *sender_.Wants(kBox, 30, kWaiter);
  CreditChange answer = AnswerTo(want, CreditChange::Kind::kGrant);
  ++answer.want;
  EXPECT_TRUE(absl::IsInvalidArgument(sender_.OnWantAnswered(answer).status())) << "an unknown number";
  answer = AnswerTo(want, CreditChange::Kind::kGrant);
  ++answer.granted.bytes;
  EXPECT_TRUE(absl::IsInvalidArgument(sender_.OnWantAnswered(answer).status())) << "another amount";
  answer = AnswerTo(want, CreditChange::Kind::kGrant);
  answer.mailbox = kOther.second;
  EXPECT_TRUE(absl::IsInvalidArgument(sender_.OnWantAnswered(answer).status())) << "another mailbox";
  answer = AnswerTo(want, CreditChange::Kind::kGrant);
  ASSERT_TRUE(sender_.OnWantAnswered(answer).ok());
  EXPECT_TRUE(absl::IsInvalidArgument(sender_.OnWantAnswered(answer).status())) << "a second answer";
}

TEST_F(CreditSenderTest, TheWantsOfASessionAreBoundedThoseGivenUpIncluded) {
  for (uint64_t i = 0; i < limits::kWantsPerSessionMax; ++i) {
    ASSERT_TRUE(sender_.Wants(kBox, 1, {Pid(2, 1, 1), i + 1}).has_value());
    ASSERT_TRUE(sender_.GiveUp({Pid(2, 1, 1), i + 1}).has_value());
  }
  EXPECT_FALSE(sender_.Wants(kBox, 1, kWaiter).has_value());
}

TEST_F(CreditSenderTest, AtTheEndThoseThatWaitAreNamedAndNothingIsLeft) {
  const CreditChange want = *sender_.Wants(kBox, 30, {Pid(2, 1, 1), 1});
  (void)sender_.Wants(kBox, 30, {Pid(2, 1, 1), 2});
  (void)sender_.Wants(kBox, 30, kWaiter);
  (void)sender_.GiveUp({Pid(2, 1, 1), 2});
  ASSERT_TRUE(sender_.OnWantAnswered(AnswerTo(want, CreditChange::Kind::kGrant)).ok());
  EXPECT_THAT(sender_.End(), ElementsAre(std::pair(kWaiter, kBox)));
  EXPECT_FALSE(sender_.HasRoom({Pid(2, 1, 1), 1}));
  EXPECT_EQ(sender_.wants(), 0U);
  EXPECT_EQ(sender_.granted(), RoomAmount());
}

// ---- The receiving end ----

class CreditReceiverTest : public ::testing::Test {
 protected:
  bool Arrive(Admission admission, int64_t bytes = 10) { return receiver_.OnArrived(kBox, bytes, admission, now_); }
  void Leave(Admission admission, int64_t bytes = 10) {
    receiver_.OnReleased(kBox, admission, {.messages = 1, .bytes = bytes});
  }
  // Does what is due, with a mailbox that has so much room; what is granted.
  absl::optional<CreditChange> Work(RoomAmount room, bool is_awaited = false) {
    absl::optional<CreditChange> told;
    for (const auto& [to, wish] : receiver_.TakeDue()) {
      wish_ = wish;
      const RoomAmount got{.messages = std::min(wish.messages, room.messages),
                           .bytes = std::min(wish.bytes, room.bytes)};
      told = receiver_.OnReserved(to, {.amount = is_awaited ? RoomAmount() : got, .is_awaited = is_awaited});
    }
    return told;
  }

  static constexpr RoomAmount kMuch{.messages = 1'000'000, .bytes = int64_t{1} << 40};
  CreditReceiver receiver_{kTerms};
  MonotonicTime now_ = kStart;
  RoomAmount wish_;
};

TEST_F(CreditReceiverTest, MoreThanTheAllowanceIsABadFrame) {
  for (int64_t i = 0; i < kTerms.first_allowance.messages; ++i) EXPECT_TRUE(Arrive(Admission::kAllowance));
  EXPECT_FALSE(Arrive(Admission::kAllowance));
  EXPECT_FALSE(Arrive(Admission::kReserved)) << "nothing was granted";
}

TEST_F(CreditReceiverTest, AnAskAndItsAnswerGrantNothingAndTheAllowanceComesBack) {
  EXPECT_TRUE(Arrive(Admission::kAllowance));
  EXPECT_FALSE(receiver_.is_due());
  Leave(Admission::kAllowance);
  EXPECT_TRUE(receiver_.is_due());
  EXPECT_FALSE(receiver_.is_urgent());
  const absl::optional<CreditChange> told = Work(kMuch);
  ASSERT_TRUE(told.has_value());
  EXPECT_EQ(told->granted, RoomAmount());
  EXPECT_EQ(told->allowance, (RoomAmount{.messages = 1, .bytes = 10}));
  EXPECT_EQ(receiver_.mailboxes(), 0U) << "an account that is as at first takes no memory";
}

TEST_F(CreditReceiverTest, AWindowDoublesWhileItIsUsedUp) {
  EXPECT_TRUE(Arrive(Admission::kAllowance));
  EXPECT_TRUE(Arrive(Admission::kAllowance));
  EXPECT_TRUE(receiver_.is_urgent()) << "half of the allowance is used";
  int64_t window = kTerms.first_window_messages;
  for (int doublings = 0; doublings < 4; ++doublings, window *= 2) {
    ASSERT_TRUE(Work(kMuch).has_value());
    EXPECT_EQ(receiver_.granted().messages, window);
    EXPECT_GE(receiver_.granted().bytes, window * 10);
    for (int64_t i = 0; i < window; ++i) {
      EXPECT_TRUE(Arrive(Admission::kReserved));
      Leave(Admission::kReserved);
    }
  }
}

TEST_F(CreditReceiverTest, AWindowThatIsNotUsedUpDoesNotGrow) {
  for (int i = 0; i < 2; ++i) ASSERT_TRUE(Arrive(Admission::kAllowance));
  (void)Work(kMuch);
  for (int rounds = 0; rounds < 100; ++rounds) {
    ASSERT_TRUE(Arrive(Admission::kReserved));
    Leave(Admission::kReserved);
    (void)Work(kMuch);
  }
  EXPECT_EQ(receiver_.granted().messages, kTerms.first_window_messages);
}

TEST_F(CreditReceiverTest, WhatAFullMailboxCannotGiveIsNotGranted) {
  for (int i = 0; i < 2; ++i) ASSERT_TRUE(Arrive(Admission::kAllowance));
  EXPECT_FALSE(Work({}).has_value());
  EXPECT_FALSE(receiver_.is_urgent()) << "it is not tried again until something leaves or is asked for";
  receiver_.OnWanted(kBox, 10, now_);
  EXPECT_TRUE(receiver_.is_urgent());
  const absl::optional<CreditChange> answer = Work({});
  ASSERT_TRUE(answer.has_value()) << "the peer may ask again";
  EXPECT_TRUE(answer->granted.is_zero());
  Leave(Admission::kAllowance);
  EXPECT_EQ(Work({.messages = 3, .bytes = 1000})->granted.messages, 3);
}

TEST_F(CreditReceiverTest, WhileSendersWaitThereTheAllowanceIsWithheldUntilTheyDoNot) {
  ASSERT_TRUE(Arrive(Admission::kAllowance));
  Leave(Admission::kAllowance);
  EXPECT_FALSE(Work(kMuch, /*is_awaited=*/true).has_value());
  EXPECT_TRUE(receiver_.needs_look());
  EXPECT_THAT(receiver_.Look(now_ + kCreditIdle), IsEmpty());
  EXPECT_TRUE(receiver_.is_urgent());
  EXPECT_EQ(Work(kMuch)->allowance.messages, 1);
  EXPECT_FALSE(receiver_.needs_look());
}

TEST_F(CreditReceiverTest, GrantedRoomThatIsIdleOrWantedIsAskedBackOnce) {
  for (int i = 0; i < 2; ++i) ASSERT_TRUE(Arrive(Admission::kAllowance));
  (void)Work(kMuch);
  EXPECT_TRUE(receiver_.needs_look());
  EXPECT_THAT(receiver_.Look(now_ + kCreditIdle / 2), IsEmpty());
  const std::vector<CreditChange> told = receiver_.Look(now_ + kCreditIdle);
  ASSERT_THAT(told, SizeIs(1));
  EXPECT_EQ(told[0].kind, CreditChange::Kind::kTakeBack);
  EXPECT_EQ(told[0].granted, receiver_.granted());
  EXPECT_FALSE(receiver_.AskBack(kBox).has_value());
  ASSERT_TRUE(Arrive(Admission::kReserved));  // meanwhile
  const CreditChange back = Grant({.messages = kTerms.first_window_messages - 1, .bytes = receiver_.granted().bytes});
  ASSERT_TRUE(receiver_.OnReturned(back).ok());
  EXPECT_EQ(receiver_.granted(), RoomAmount());
  EXPECT_FALSE(receiver_.needs_look());
  EXPECT_TRUE(absl::IsInvalidArgument(receiver_.OnReturned(Grant({.messages = 1}))));
}

// ---- Senders that wait, at the receiving end ----

CreditChange Want(uint64_t number, int64_t bytes = 30, const MailboxAddress& to = kBox) {
  return {.kind = CreditChange::Kind::kWant,
          .to = to.first,
          .mailbox = to.second,
          .granted = {.messages = 1, .bytes = bytes},
          .want = number};
}

TEST_F(CreditReceiverTest, AWaitingSenderIsGrantedWhatItAskedForWithItsNumber) {
  ASSERT_TRUE(receiver_.OnWaits(Want(3)).ok());
  EXPECT_FALSE(receiver_.is_due()) << "its line gives it room, and no window";
  EXPECT_THAT(receiver_.waiting(), ElementsAre(std::pair(uint64_t{3}, kBox)));
  const absl::optional<CreditChange> told = receiver_.OnTurn(3, absl::OkStatus(), now_);
  ASSERT_TRUE(told.has_value());
  EXPECT_EQ(told->kind, CreditChange::Kind::kGrant);
  EXPECT_EQ(told->want, 3U);
  EXPECT_EQ(told->granted, (RoomAmount{.messages = 1, .bytes = 30}));
  EXPECT_THAT(receiver_.waiting(), IsEmpty());
  EXPECT_TRUE(Arrive(Admission::kReserved, 30));
  EXPECT_EQ(receiver_.granted(), RoomAmount());
}

TEST_F(CreditReceiverTest, ASenderThatNeverHasRoomIsToldWhyAndLeavesNothingBehind) {
  ASSERT_TRUE(receiver_.OnWaits(Want(3)).ok());
  const absl::optional<CreditChange> told = receiver_.OnTurn(3, absl::NotFoundError("it ended"), now_);
  ASSERT_TRUE(told.has_value());
  EXPECT_EQ(told->kind, CreditChange::Kind::kRefuse);
  EXPECT_EQ(told->want, 3U);
  EXPECT_TRUE(absl::IsNotFound(told->status));
  EXPECT_EQ(receiver_.mailboxes(), 0U);
}

TEST_F(CreditReceiverTest, ASenderThatGaveUpLeavesItsLineAndTheRoomOfALateTurnIsNotGranted) {
  ASSERT_TRUE(receiver_.OnWaits(Want(3)).ok());
  EXPECT_EQ(receiver_.OnGaveUp(Want(3)), kBox);
  EXPECT_FALSE(receiver_.OnGaveUp(Want(3)).has_value());
  EXPECT_FALSE(receiver_.OnGaveUp(Want(4)).has_value()) << "never heard of";
  EXPECT_FALSE(receiver_.OnTurn(3, absl::OkStatus(), now_).has_value());
  EXPECT_EQ(receiver_.granted(), RoomAmount());
  EXPECT_EQ(receiver_.mailboxes(), 0U);
}

TEST_F(CreditReceiverTest, ANumberInUseIsABadFrameAndTheWaitingAreBounded) {
  for (uint64_t i = 1; i <= limits::kWantsPerSessionMax; ++i) {
    ASSERT_TRUE(receiver_.OnWaits(Want(i, 1, {Pid(1, static_cast<uint32_t>(i), 1), 7})).ok());
  }
  EXPECT_TRUE(absl::IsInvalidArgument(receiver_.OnWaits(Want(1))));
  EXPECT_TRUE(IsFull(receiver_.OnWaits(Want(limits::kWantsPerSessionMax + 1))));
  EXPECT_LE(receiver_.mailboxes(), limits::kWantsPerSessionMax);
}

TEST_F(CreditReceiverTest, AWantForMoreThanAnyMessageIsABadFrame) {
  EXPECT_TRUE(receiver_.OnWaits(Want(1, static_cast<int64_t>(limits::kMessageBytesMax))).ok());
  EXPECT_TRUE(absl::IsInvalidArgument(receiver_.OnWaits(Want(2, static_cast<int64_t>(limits::kMessageBytesMax) + 1))));
}

TEST_F(CreditReceiverTest, TheBytesThatSendersWaitForAreBounded) {
  constexpr int64_t kHalf = int64_t{8} << 20;
  ASSERT_TRUE(receiver_.OnWaits(Want(1, kHalf)).ok());
  ASSERT_TRUE(receiver_.OnWaits(Want(2, kHalf)).ok());
  EXPECT_TRUE(IsFull(receiver_.OnWaits(Want(3, 1))));
  EXPECT_TRUE(receiver_.OnWaits(Want(4, 2 * kHalf + 1, kOther)).ok()) << "one message may be of any size";
}

TEST_F(CreditReceiverTest, RoomOfAnEarlierSessionsMessagesIsNotOwed) {
  Leave(Admission::kAllowance);
  Leave(Admission::kReserved);
  EXPECT_FALSE(receiver_.is_due());
  ASSERT_TRUE(Arrive(Admission::kAllowance));
  Leave(Admission::kAllowance);
  Leave(Admission::kAllowance);
  EXPECT_EQ(Work(kMuch)->allowance.messages, 1);
}

TEST_F(CreditReceiverTest, AMailboxThatDoesNotKnowItsBytesGivesThemAllBack) {
  ASSERT_TRUE(Arrive(Admission::kAllowance, 7));
  ASSERT_TRUE(Arrive(Admission::kAllowance, 30));
  Leave(Admission::kAllowance, -1);
  Leave(Admission::kAllowance, -1);
  EXPECT_EQ(Work({})->allowance, (RoomAmount{.messages = 2, .bytes = 37}));
}

TEST_F(CreditReceiverTest, AtTheEndAllThatIsUnusedIsGivenBackOnce) {
  for (int i = 0; i < 2; ++i) ASSERT_TRUE(Arrive(Admission::kAllowance));
  (void)Work(kMuch);
  ASSERT_TRUE(Arrive(Admission::kReserved));
  const RoomAmount unused = receiver_.granted();
  EXPECT_THAT(receiver_.End(), ElementsAre(std::pair(kBox, unused)));
  EXPECT_THAT(receiver_.End(), IsEmpty());
}

}  // namespace
}  // namespace understudy
