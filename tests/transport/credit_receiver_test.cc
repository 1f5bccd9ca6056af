#include "understudy/transport/core/credit_receiver.h"

#include <algorithm>
#include <cstdint>
#include <utility>
#include <vector>

#include "absl/status/status.h"
#include "absl/types/optional.h"
#include "gmock/gmock.h"
#include "gtest/gtest.h"
#include "understudy/actors/clock.h"
#include "understudy/actors/error.h"
#include "understudy/actors/pid.h"
#include "understudy/actors/room.h"
#include "understudy/transport/codec/credit.h"
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

class CreditReceiverTest : public ::testing::Test {
 protected:
  bool Arrive(Admission admission, int64_t bytes = 10) { return receiver_.OnArrived(kBox, bytes, admission, now_); }
  void Leave(Admission admission, int64_t bytes = 10) {
    receiver_.OnReleased(kBox, admission, {.messages = 1, .bytes = bytes});
  }
  // Serves all mailboxes that are due as a mailbox with this much room would. Returns the change that the peer is told.
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

  // The numbers of those that enter their lines now.
  std::vector<uint64_t> Entering() {
    std::vector<uint64_t> numbers;
    for (const CreditReceiver::Waiting& waiting : receiver_.TakeEntering()) numbers.push_back(waiting.want);
    return numbers;
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

TEST_F(CreditReceiverTest, AWindowOfWhichHalfHasLeftTheMailboxIsReservedAnewAtOnceAndDoubles) {
  for (int i = 0; i < 2; ++i) ASSERT_TRUE(Arrive(Admission::kAllowance));
  (void)Work(kMuch);
  for (int64_t i = 1; i <= kTerms.first_window_messages / 2; ++i) {
    EXPECT_FALSE(receiver_.is_urgent());
    ASSERT_TRUE(Arrive(Admission::kReserved));
    Leave(Admission::kReserved);
  }
  EXPECT_TRUE(receiver_.is_urgent());
  (void)Work(kMuch);
  EXPECT_EQ(receiver_.granted().messages, 2 * kTerms.first_window_messages);
}

TEST_F(CreditReceiverTest, WhenHalfOfWhatFilledAMailboxHasLeftRoomIsReservedAtOnce) {
  for (int i = 0; i < 2; ++i) ASSERT_TRUE(Arrive(Admission::kAllowance));
  EXPECT_FALSE(Work({}).has_value()) << "it is full";
  EXPECT_FALSE(receiver_.is_urgent());
  Leave(Admission::kAllowance);
  EXPECT_TRUE(receiver_.is_urgent());
  EXPECT_EQ(Work({.messages = 1, .bytes = 10})->granted.messages, 1);
  ASSERT_TRUE(Arrive(Admission::kReserved));
  EXPECT_FALSE(Work({}).has_value()) << "it is full again";
  Leave(Admission::kReserved);
  EXPECT_TRUE(receiver_.is_urgent());
}

TEST_F(CreditReceiverTest, APeerWhoseCreditHasNoBytesForAMessageIsToldAtOnceOfMore) {
  ASSERT_TRUE(Arrive(Admission::kAllowance, kTerms.first_allowance.bytes - 10));
  (void)Work({});
  ASSERT_TRUE(Arrive(Admission::kAllowance, 10));
  (void)Work({});
  Leave(Admission::kAllowance, 10);
  EXPECT_TRUE(receiver_.is_urgent());
}

TEST_F(CreditReceiverTest, AllowancesOfManyMailboxesAreToldAtOnceWhenTheyAreMuch) {
  const int64_t mailboxes = kSessionAllowanceMax.messages / 4;
  for (int64_t i = 0; i < mailboxes; ++i) {
    EXPECT_FALSE(receiver_.is_urgent()) << i;
    const MailboxAddress to{Pid(1, 1, 1), static_cast<uint32_t>(i)};
    ASSERT_TRUE(receiver_.OnArrived(to, 10, Admission::kAllowance, now_));
    receiver_.OnReleased(to, Admission::kAllowance, {.messages = 1, .bytes = 10});
  }
  EXPECT_TRUE(receiver_.is_urgent());
}

TEST_F(CreditReceiverTest, HalfOfTheAllowancesBytesCountAsHalfOfItsMessages) {
  ASSERT_TRUE(Arrive(Admission::kAllowance, kTerms.first_allowance.bytes / 2));
  EXPECT_TRUE(receiver_.is_urgent());
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

TEST_F(CreditReceiverTest, RoomThatAFullMailboxCannotGiveIsNotGranted) {
  for (int i = 0; i < 2; ++i) ASSERT_TRUE(Arrive(Admission::kAllowance));
  EXPECT_FALSE(Work({}).has_value());
  EXPECT_FALSE(receiver_.is_urgent()) << "it is not tried again until something leaves or is asked for";
  ASSERT_TRUE(receiver_.OnWanted(kBox, 10, now_).ok());
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
  EXPECT_THAT(Entering(), ElementsAre(3));
  EXPECT_THAT(receiver_.waiting(), SizeIs(1));
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
  EXPECT_THAT(Entering(), ElementsAre(3));
  const absl::optional<CreditReceiver::Waiting> gave_up = receiver_.OnGaveUp(Want(3));
  ASSERT_TRUE(gave_up.has_value());
  EXPECT_EQ(gave_up->to, kBox);
  EXPECT_TRUE(gave_up->is_in_line);
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
  EXPECT_TRUE(receiver_.OnWanted(kBox, static_cast<int64_t>(limits::kMessageBytesMax), now_).ok());
  EXPECT_TRUE(
      absl::IsInvalidArgument(receiver_.OnWanted(kBox, static_cast<int64_t>(limits::kMessageBytesMax) + 1, now_)));
  EXPECT_TRUE(receiver_.OnWaits(Want(1, static_cast<int64_t>(limits::kMessageBytesMax))).ok());
  EXPECT_TRUE(absl::IsInvalidArgument(receiver_.OnWaits(Want(2, static_cast<int64_t>(limits::kMessageBytesMax) + 1))));
}

TEST_F(CreditReceiverTest, BeyondTheBytesThatAPeerMayHaveInAMailboxItsSendersWaitBeforeTheLine) {
  constexpr int64_t kHalf = int64_t{8} << 20;
  ASSERT_TRUE(receiver_.OnWaits(Want(1, kHalf)).ok());
  ASSERT_TRUE(receiver_.OnWaits(Want(2, kHalf)).ok());
  ASSERT_TRUE(receiver_.OnWaits(Want(3, kHalf)).ok());
  ASSERT_TRUE(receiver_.OnWaits(Want(4, 1)).ok());
  ASSERT_TRUE(receiver_.OnWaits(Want(5, 2 * kHalf + 1, kOther)).ok());
  EXPECT_THAT(Entering(), ElementsAre(1, 2, 5)) << "in another mailbox one message may be of any size";
  ASSERT_TRUE(receiver_.OnTurn(1, absl::OkStatus(), now_).has_value());
  ASSERT_TRUE(Arrive(Admission::kReserved, kHalf));
  EXPECT_THAT(Entering(), IsEmpty()) << "the message is there";
  Leave(Admission::kReserved, kHalf);
  EXPECT_THAT(Entering(), ElementsAre(3)) << "none overtakes";
  ASSERT_TRUE(receiver_.OnTurn(2, absl::NotFoundError("it ended"), now_).has_value());
  EXPECT_THAT(Entering(), ElementsAre(4));
}

TEST_F(CreditReceiverTest, ASenderThatGivesUpBeforeTheLineLeavesNothingBehindAndThoseBehindItEnter) {
  constexpr int64_t kAll = int64_t{16} << 20;
  ASSERT_TRUE(receiver_.OnWaits(Want(1, kAll)).ok());
  ASSERT_TRUE(receiver_.OnWaits(Want(2, 1)).ok());
  ASSERT_TRUE(receiver_.OnWaits(Want(3, kAll)).ok());
  EXPECT_THAT(Entering(), ElementsAre(1));
  EXPECT_FALSE(receiver_.OnGaveUp(Want(2))->is_in_line);
  EXPECT_THAT(Entering(), IsEmpty());
  EXPECT_TRUE(receiver_.OnGaveUp(Want(1))->is_in_line);
  EXPECT_THAT(Entering(), ElementsAre(3));
  EXPECT_TRUE(receiver_.OnGaveUp(Want(3)).has_value());
  EXPECT_EQ(receiver_.mailboxes(), 0U);
}

TEST_F(CreditReceiverTest, WhileSendersWaitBeforeTheLineNoWindowIsWished) {
  constexpr int64_t kAll = int64_t{16} << 20;
  ASSERT_TRUE(receiver_.OnWaits(Want(1, kAll)).ok());
  ASSERT_TRUE(receiver_.OnWaits(Want(2, 1)).ok());
  ASSERT_TRUE(receiver_.OnWanted(kBox, 10, now_).ok());
  (void)Work(kMuch);
  EXPECT_EQ(wish_, RoomAmount());
}

TEST_F(CreditReceiverTest, NoMoreMailboxesAreGrantedRoomThanMayHaveIt) {
  for (uint32_t cell = 1; cell <= limits::kMailboxesWithGrantsMax + 1; ++cell) {
    ASSERT_TRUE(receiver_.OnWanted({Pid(1, cell, 1), 7}, 10, now_).ok());
  }
  int with_grants = 0;
  for (const auto& [to, wish] : receiver_.TakeDue()) {
    const absl::optional<CreditChange> told = receiver_.OnReserved(to, {.amount = wish});
    ASSERT_TRUE(told.has_value()) << "each is answered, so that it may be asked for again";
    if (!told->granted.is_zero()) ++with_grants;
  }
  EXPECT_EQ(with_grants, static_cast<int>(limits::kMailboxesWithGrantsMax));
}

// A peer that acknowledges nothing keeps its wants from being answered.
TEST_F(CreditReceiverTest, WantsForMoreMailboxesThanMayWaitForAnAnswerAreABadFrame) {
  for (uint32_t cell = 1; cell <= limits::kCreditAccountsMax; ++cell) {
    ASSERT_TRUE(receiver_.OnWanted({Pid(1, cell, 1), 7}, 10, now_).ok());
  }
  EXPECT_TRUE(receiver_.OnWanted(kBox, 10, now_).ok()) << "that mailbox waits already";
  EXPECT_EQ(receiver_.OnWanted(kOther, 10, now_),
            absl::InvalidArgumentError("a peer wants room in more than 262144 mailboxes at once"));
  EXPECT_EQ(receiver_.mailboxes(), limits::kCreditAccountsMax);

  const auto [answered, wish] = receiver_.TakeDue().front();
  ASSERT_TRUE(receiver_.OnReserved(answered, {.amount = wish}).has_value());
  EXPECT_TRUE(receiver_.OnWanted(kOther, 10, now_).ok());
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
