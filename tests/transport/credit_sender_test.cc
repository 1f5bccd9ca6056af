#include "understudy/transport/core/credit_sender.h"

#include <cstdint>
#include <utility>

#include "absl/status/status.h"
#include "absl/types/optional.h"
#include "gmock/gmock.h"
#include "gtest/gtest.h"
#include "understudy/actors/pid.h"
#include "understudy/actors/room.h"
#include "understudy/transport/codec/credit.h"
#include "understudy/transport/limits.h"

namespace understudy {
namespace {

using ::testing::ElementsAre;

constexpr MailboxAddress kBox{Pid(1, 1, 1), 7};
constexpr MailboxAddress kOther{Pid(1, 1, 1), 8};
constexpr CreditTerms kTerms{.first_allowance = {.messages = 4, .bytes = 64 << 10}, .first_window_messages = 8};

CreditChange Grant(RoomAmount granted, RoomAmount allowance = {}) {
  return {.to = kBox.first, .mailbox = kBox.second, .granted = granted, .allowance = allowance};
}

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

TEST_F(CreditSenderTest, ALargeMessageUsesAnAllowanceThatHasBytesLeft) {
  EXPECT_EQ(Send(kBox, 1), Admission::kAllowance);
  EXPECT_EQ(Send(kBox, kTerms.first_allowance.bytes), Admission::kAllowance);
  EXPECT_EQ(Send(kBox, 0), absl::nullopt);
  ASSERT_TRUE(sender_.OnGrant(Grant({}, {.messages = 1, .bytes = 1})).ok());
  EXPECT_EQ(Send(kBox, 1), absl::nullopt) << "no bytes are left";
  ASSERT_TRUE(sender_.OnGrant(Grant({}, {.messages = 1, .bytes = kTerms.first_allowance.bytes})).ok());
  EXPECT_EQ(sender_.allowance_in_use(), RoomAmount());
}

TEST_F(CreditSenderTest, WhereTheTermsSayItALargeMessageNeedsAnUntouchedAllowance) {
  CreditTerms terms = kTerms;
  terms.large_messages = CreditTerms::LargeMessages::kNeedUntouched;
  sender_ = CreditSender(terms);
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

TEST_F(CreditSenderTest, GrantsForMoreMailboxesThanMayHaveThemAreAnError) {
  const auto grant = [&](uint32_t cell) {
    return sender_.OnGrant({.to = Pid(1, cell, 1), .mailbox = 7, .granted = {.messages = 1, .bytes = 10}});
  };
  for (uint32_t cell = 1; cell <= limits::kMailboxesWithGrantsMax; ++cell) ASSERT_TRUE(grant(cell).ok());
  EXPECT_TRUE(absl::IsInvalidArgument(grant(0)));
  sender_ = CreditSender(kTerms);
  for (uint32_t cell = 1; cell <= limits::kMailboxesWithGrantsMax; ++cell) ASSERT_TRUE(grant(cell).ok());
  ASSERT_EQ(Send({Pid(1, 1, 1), 7}, 10), Admission::kReserved);
  const CreditChange back{.to = Pid(1, 2, 1), .mailbox = 7, .granted = {.messages = 1, .bytes = 10}};
  ASSERT_FALSE(sender_.OnTakeBack(back).is_zero());
  EXPECT_TRUE(grant(1).ok()) << "what was used or returned made a place";
  EXPECT_TRUE(grant(2).ok());
}

TEST_F(CreditSenderTest, GrantsThatTogetherAreMoreThanAnyNodeHasRoomForAreAnError) {
  const auto grant = [&](uint32_t cell, int64_t bytes) {
    return sender_.OnGrant({.to = Pid(1, cell, 1), .mailbox = 7, .granted = {.messages = 1, .bytes = bytes}});
  };
  ASSERT_TRUE(grant(1, kGrantedInAllMax.bytes / 2).ok());
  ASSERT_TRUE(grant(2, kGrantedInAllMax.bytes / 2).ok());
  EXPECT_TRUE(absl::IsInvalidArgument(grant(3, 1)));
}

TEST_F(CreditSenderTest, MailboxesForWhoseSendersThePeerWasAskedAreBounded) {
  for (uint32_t cell = 1; cell <= limits::kCreditAccountsMax; ++cell) {
    ASSERT_TRUE(sender_.Asks({Pid(1, cell, 1), 7}));
  }
  EXPECT_FALSE(sender_.Asks(kOther)) << "its sender is refused, and asks again later";
  EXPECT_EQ(sender_.mailboxes(), limits::kCreditAccountsMax);
}

TEST_F(CreditSenderTest, OnlyUnusedRoomIsTakenBack) {
  ASSERT_TRUE(sender_.OnGrant(Grant({.messages = 5, .bytes = 100})).ok());
  ASSERT_EQ(Send(kBox, 30), Admission::kReserved);
  EXPECT_EQ(sender_.OnTakeBack(Grant({.messages = 1, .bytes = 20})), (RoomAmount{.messages = 1, .bytes = 20}));
  EXPECT_EQ(sender_.OnTakeBack(Grant({.messages = 5, .bytes = 100})), (RoomAmount{.messages = 3, .bytes = 50}));
  EXPECT_EQ(sender_.OnTakeBack(Grant({.messages = 5, .bytes = 100})), RoomAmount());
  EXPECT_EQ(sender_.mailboxes(), 0U) << "an account that is as at first takes no memory";
  EXPECT_EQ(Send(kBox, 30), Admission::kAllowance);
}

TEST_F(CreditSenderTest, BytesWithoutMessagesAreTakenBackToo) {
  ASSERT_TRUE(sender_.OnGrant(Grant({.messages = 5, .bytes = 100})).ok());
  EXPECT_EQ(sender_.OnTakeBack(Grant({.messages = 5, .bytes = 40})), (RoomAmount{.messages = 5, .bytes = 100}));
  EXPECT_EQ(sender_.granted(), RoomAmount());
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

}  // namespace
}  // namespace understudy
