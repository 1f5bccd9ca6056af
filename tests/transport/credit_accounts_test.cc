// The two ends of credit, each alone: CreditSender and CreditReceiver.
#include <algorithm>
#include <cstdint>
#include <utility>
#include <vector>

#include "absl/status/status.h"
#include "absl/types/optional.h"
#include "gmock/gmock.h"
#include "gtest/gtest.h"
#include "understudy/actors/clock.h"
#include "understudy/actors/pid.h"
#include "understudy/actors/room.h"
#include "understudy/transport/credit.h"
#include "understudy/transport/credit_receiver.h"
#include "understudy/transport/credit_sender.h"

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

TEST_F(CreditSenderTest, AllAllowancesTogetherAreBoundedButForOneMessageOfAnySize) {
  EXPECT_EQ(Send(kBox, kSessionAllowanceMax.bytes + 1), Admission::kAllowance);
  EXPECT_EQ(Send(kOther, 1), absl::nullopt);
  ASSERT_TRUE(sender_.OnGrant(Grant({}, {.messages = 1, .bytes = kSessionAllowanceMax.bytes + 1})).ok());
  EXPECT_EQ(Send(kOther, 1), Admission::kAllowance);
  EXPECT_EQ(Send(kBox, kSessionAllowanceMax.bytes), absl::nullopt);
  EXPECT_EQ(Send(kBox, kSessionAllowanceMax.bytes - 1), Admission::kAllowance);
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

// ---- The receiving end ----

class CreditReceiverTest : public ::testing::Test {
 protected:
  bool Arrive(Admission admission, int64_t bytes = 10) { return receiver_.OnArrived(kBox, bytes, admission, now_); }
  void Leave(Admission admission, int64_t bytes = 10) { receiver_.OnReleased(kBox, admission, bytes); }
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
