#include "understudy/transport/core/peer_credit.h"

#include <cstddef>
#include <cstdint>
#include <utility>
#include <variant>
#include <vector>

#include "absl/status/status.h"
#include "absl/time/time.h"
#include "absl/types/optional.h"
#include "gmock/gmock.h"
#include "gtest/gtest.h"
#include "understudy/actors/clock.h"
#include "understudy/actors/error.h"
#include "understudy/actors/message.h"
#include "understudy/actors/pid.h"
#include "understudy/actors/room.h"
#include "understudy/transport/codec/credit.h"
#include "understudy/transport/codec/frame_codec.h"
#include "understudy/transport/limits.h"
#include "understudy/transport/session/handshake.h"

namespace understudy::internal {
namespace {

using ::testing::ElementsAre;
using ::testing::IsEmpty;
using ::testing::SizeIs;

using Backlog = PeerCredit::Backlog;
using Kind = CreditChange::Kind;
using LineChange = PeerCredit::LineChange;

constexpr MailboxAddress kThere{Pid(2, 1, 1), 7};  // a mailbox of the peer
constexpr MailboxAddress kHere{Pid(1, 1, 1), 7};
constexpr PeerCredit::Waiter kWaiter{Pid(1, 2, 1), 5};
constexpr PeerCredit::Waiter kOther{Pid(1, 2, 1), 6};
constexpr absl::Duration kDelay = absl::Milliseconds(50);
constexpr uint64_t kSession = 3;

class PeerCreditTest : public ::testing::Test {
 protected:
  PeerCreditTest() { credit_.Begin(kThere.first.place(), kSession, kFeatureLargeAfterSmall); }

  // Returns the kinds of the changes that the peer is to be told.
  std::vector<Kind> Told() {
    std::vector<Kind> kinds;
    for (const CreditChange& change : credit_.TakeTold()) kinds.push_back(change.kind);
    return kinds;
  }
  // The work of one kind; there must be no other.
  template <class T>
  std::vector<T> Work() {
    std::vector<T> all;
    for (PeerCredit::Work& work : credit_.TakeWork()) {
      EXPECT_TRUE(std::holds_alternative<T>(work)) << "work of kind " << work.index();
      if (auto* of_kind = std::get_if<T>(&work)) all.push_back(std::move(*of_kind));
    }
    return all;
  }
  // Lets `waiter` wait for room for 10 bytes. Returns the change that the peer is told.
  CreditChange Wait(const PeerCredit::Waiter& waiter) {
    EXPECT_TRUE(credit_.Wait(kThere, 10, waiter).ok());
    const CreditChanges told = credit_.TakeTold();
    EXPECT_THAT(told, SizeIs(1));
    return told.at(0);
  }
  // The peer answers that want with room for it.
  void Grant(CreditChange want) {
    want.kind = Kind::kGrant;
    EXPECT_TRUE(credit_.OnChange(want, now_).ok());
  }
  // A sender of the peer waits for room for 10 bytes here.
  static CreditChange PeersWant(uint64_t number) {
    return {.kind = Kind::kWant,
            .to = kHere.first,
            .mailbox = kHere.second,
            .granted = {.messages = 1, .bytes = 10},
            .want = number};
  }
  bool Arrive(int64_t bytes) { return credit_.OnArrived(kHere, bytes, Admission::kAllowance, now_); }

  PeerCredit credit_{"b", kDelay};
  MonotonicTime now_;
};

// ---- What actors of this node send ----

TEST_F(PeerCreditTest, ASendWithoutCreditIsFullAndThePeerIsAskedOnce) {
  ASSERT_EQ(credit_.Find(kThere, kCreditTerms.first_allowance.bytes), Admission::kAllowance);
  credit_.OnSent(kThere, kCreditTerms.first_allowance.bytes, Admission::kAllowance);
  ASSERT_EQ(credit_.Find(kThere, 1), absl::nullopt);
  EXPECT_TRUE(IsFull(credit_.OnFull(kThere, 1, Backlog::kLarge)));
  EXPECT_THAT(Told(), IsEmpty()) << "that can wait";
  EXPECT_TRUE(IsFull(credit_.OnFull(kThere, 1, Backlog::kSmall)));
  EXPECT_TRUE(IsFull(credit_.OnFull(kThere, 1, Backlog::kSmall)));
  EXPECT_THAT(Told(), ElementsAre(Kind::kWant));
  EXPECT_EQ(credit_.refused(), 3);
}

TEST_F(PeerCreditTest, AWaitingSenderIsToldToSendWhenTheSessionHasRoomToo) {
  Grant(Wait(kWaiter));
  EXPECT_EQ(credit_.FindInTurn(kThere, 1), absl::nullopt) << "it would overtake the one that waits";
  credit_.ServeLine([](size_t) { return false; });
  EXPECT_THAT(Work<Signal>(), IsEmpty());
  size_t kept = 0;
  credit_.ServeLine([&](size_t bytes) {
    kept += bytes;
    return true;
  });
  EXPECT_EQ(kept, 10 + limits::kEnvelopeOverheadBytesMax);
  EXPECT_EQ(credit_.KeptBytes(kWaiter), kept);
  const std::vector<Signal> told = Work<Signal>();
  ASSERT_THAT(told, SizeIs(1));
  EXPECT_EQ(told[0].kind, SignalKind::kReply);
  EXPECT_EQ(PeerCredit::Waiter(told[0].to, told[0].id), kWaiter);
  EXPECT_TRUE(told[0].status.ok());
  EXPECT_TRUE(credit_.HasRoom(kWaiter));
  credit_.OnSentInRoom(kWaiter);
  EXPECT_FALSE(credit_.HasRoom(kWaiter));
  EXPECT_EQ(credit_.KeptBytes(kWaiter), 0U);
  EXPECT_EQ(credit_.FindInTurn(kThere, 1), Admission::kAllowance);
}

TEST_F(PeerCreditTest, ASenderThatGivesUpReturnsItsRoomAndWhatTheSessionKeeps) {
  EXPECT_EQ(credit_.GiveUp(kWaiter), absl::nullopt);
  Grant(Wait(kWaiter));
  Grant(Wait(kOther));
  EXPECT_EQ(credit_.GiveUp(kOther), 0U) << "the session keeps nothing for it yet";
  credit_.ServeLine([](size_t) { return true; });
  EXPECT_THAT(Work<Signal>(), SizeIs(1)) << "the one that gave up is passed over";
  EXPECT_EQ(credit_.GiveUp(kWaiter), 10 + limits::kEnvelopeOverheadBytesMax);
  EXPECT_THAT(Told(), ElementsAre(Kind::kReturn, Kind::kReturn));
  EXPECT_EQ(credit_.held(), RoomAmount());
}

TEST_F(PeerCreditTest, ARefusedWaitIsToldItsSenderWithTheReason) {
  CreditChange answer = Wait(kWaiter);
  answer.kind = Kind::kRefuse;
  answer.granted = {};
  answer.status = MakeError(ErrorKind::kStopping, "it ends");
  ASSERT_TRUE(credit_.OnChange(answer, now_).ok());
  const std::vector<Signal> told = Work<Signal>();
  ASSERT_THAT(told, SizeIs(1));
  EXPECT_EQ(told[0].status, answer.status);
}

// ---- What the peer sends ----

TEST_F(PeerCreditTest, ASenderOfThePeerEntersItsLineAndItsTurnIsTold) {
  ASSERT_TRUE(credit_.OnChange(PeersWant(1), now_).ok());
  const std::vector<LineChange> changes = Work<LineChange>();
  ASSERT_THAT(changes, SizeIs(1));
  EXPECT_EQ(changes[0].kind, LineChange::Kind::kEnters);
  EXPECT_EQ(changes[0].wait.session, kSession);
  EXPECT_EQ(changes[0].wait.room.node, kThere.first.place());
  credit_.OnTurn(changes[0].wait, absl::OkStatus(), now_);
  EXPECT_THAT(Told(), ElementsAre(Kind::kGrant));
  EXPECT_EQ(credit_.given(), (RoomAmount{.messages = 1, .bytes = 10}));
}

TEST_F(PeerCreditTest, ASenderOfThePeerThatGivesUpLeavesItsLineAndALateTurnGivesItsRoomBack) {
  ASSERT_TRUE(credit_.OnChange(PeersWant(1), now_).ok());
  const RoomWait wait = Work<LineChange>().at(0).wait;
  ASSERT_TRUE(
      credit_.OnChange({.kind = Kind::kReturn, .to = kHere.first, .mailbox = kHere.second, .want = 1}, now_).ok());
  EXPECT_THAT(Told(), ElementsAre(Kind::kRefuse));
  const std::vector<LineChange> changes = Work<LineChange>();
  ASSERT_THAT(changes, SizeIs(1));
  EXPECT_EQ(changes[0].kind, LineChange::Kind::kLeaves);
  credit_.OnTurn(wait, absl::OkStatus(), now_);
  EXPECT_THAT(Work<PeerCredit::RoomReturn>(), SizeIs(1));
}

TEST_F(PeerCreditTest, NonsenseIsAnError) {
  ASSERT_TRUE(credit_.OnChange(PeersWant(1), now_).ok());
  EXPECT_TRUE(absl::IsInvalidArgument(credit_.OnChange(PeersWant(1), now_))) << "a number in use";
  EXPECT_TRUE(absl::IsInvalidArgument(credit_.OnChange(
      {.kind = Kind::kReturn, .to = kHere.first, .mailbox = kHere.second, .granted = {.messages = 1}}, now_)))
      << "room that was not granted";
}

// ---- What is due ----

TEST_F(PeerCreditTest, UrgentCreditIsWorkAtOnceAndOnce) {
  ASSERT_TRUE(Arrive(kCreditTerms.first_allowance.bytes));
  credit_.Schedule(now_);
  credit_.Schedule(now_);
  EXPECT_THAT(Work<PeerCredit::ReserveDue>(), SizeIs(1));
  const std::vector<RoomRequest> due = credit_.TakeDue(now_, Backlog::kSmall);
  ASSERT_THAT(due, SizeIs(1));
  EXPECT_EQ(MailboxAddress(due[0].to, due[0].mailbox), kHere);
  EXPECT_EQ(due[0].node, kThere.first.place());
  credit_.OnReserved(due[0], {.amount = due[0].amount});
  EXPECT_THAT(Told(), ElementsAre(Kind::kGrant));
  EXPECT_EQ(credit_.given(), due[0].amount);
}

TEST_F(PeerCreditTest, CreditThatIsNotUrgentIsDueAfterTheDelay) {
  ASSERT_TRUE(Arrive(10));
  credit_.OnReleased(kHere, Admission::kAllowance, {.messages = 1, .bytes = 10});
  credit_.Schedule(now_);
  EXPECT_THAT(credit_.TakeWork(), IsEmpty());
  EXPECT_EQ(credit_.NextDeadline(), now_ + kDelay);
  credit_.Tick(now_ + kDelay / 2, Backlog::kSmall);
  EXPECT_THAT(credit_.TakeWork(), IsEmpty());
  credit_.Tick(now_ + kDelay, Backlog::kSmall);
  EXPECT_THAT(Work<PeerCredit::ReserveDue>(), SizeIs(1));
  EXPECT_TRUE(credit_.NextDeadline().is_infinite());
  EXPECT_THAT(credit_.TakeDue(now_, Backlog::kLarge), IsEmpty());
  EXPECT_EQ(credit_.NextDeadline(), now_ + kDelay) << "the peer is told when less waits";
}

TEST_F(PeerCreditTest, RoomThatLiesUnusedIsAskedBack) {
  ASSERT_TRUE(Arrive(kCreditTerms.first_allowance.bytes));
  for (const RoomRequest& request : credit_.TakeDue(now_, Backlog::kSmall)) {
    credit_.OnReserved(request, {.amount = request.amount});
  }
  credit_.Schedule(now_);
  (void)credit_.TakeTold();
  EXPECT_EQ(credit_.NextDeadline(), now_ + kCreditIdle);
  credit_.Tick(now_ + kCreditIdle, Backlog::kSmall);
  EXPECT_THAT(Told(), ElementsAre(Kind::kTakeBack));
}

// ---- Sessions ----

TEST_F(PeerCreditTest, AtTheEndOfTheSessionAllWhoWaitAreToldAndAllRoomIsGivenBack) {
  Grant(Wait(kWaiter));
  (void)Wait(kOther);
  ASSERT_TRUE(credit_.OnChange(PeersWant(1), now_).ok());
  ASSERT_TRUE(credit_.OnChange(PeersWant(2), now_).ok());
  credit_.OnTurn(Work<LineChange>().at(0).wait, absl::OkStatus(), now_);
  credit_.Schedule(now_);
  (void)credit_.TakeWork();
  credit_.End();
  EXPECT_THAT(Told(), IsEmpty()) << "there is no session to tell it in";
  std::vector<PeerCredit::Work> work = credit_.TakeWork();
  ASSERT_THAT(work, SizeIs(4));
  for (const size_t i : {0, 1}) {
    ASSERT_TRUE(std::holds_alternative<Signal>(work[i]));
    EXPECT_TRUE(IsNoConnection(std::get<Signal>(work[i]).status)) << std::get<Signal>(work[i]).status;
  }
  ASSERT_TRUE(std::holds_alternative<LineChange>(work[2]));
  EXPECT_EQ(std::get<LineChange>(work[2]).kind, LineChange::Kind::kLeaves);
  ASSERT_TRUE(std::holds_alternative<PeerCredit::RoomReturn>(work[3]));
  EXPECT_EQ(std::get<PeerCredit::RoomReturn>(work[3]).room.amount, (RoomAmount{.messages = 1, .bytes = 10}));
  EXPECT_TRUE(credit_.NextDeadline().is_infinite());
  EXPECT_FALSE(credit_.HasRoom(kWaiter));
}

TEST_F(PeerCreditTest, TheFeaturesOfTheSessionSayWhetherALargeMessageMayFollowASmallOne) {
  const int64_t large = kCreditTerms.first_allowance.bytes;
  credit_.OnSent(kThere, 1, Admission::kAllowance);
  EXPECT_TRUE(credit_.Find(kThere, large).has_value());
  ASSERT_TRUE(Arrive(1));
  EXPECT_TRUE(Arrive(large));
  credit_.End();
  credit_.Begin(kThere.first.place(), kSession + 1, kFeatureFingerprints);
  credit_.OnSent(kThere, 1, Admission::kAllowance);
  EXPECT_FALSE(credit_.Find(kThere, large).has_value());
  ASSERT_TRUE(Arrive(1));
  EXPECT_FALSE(Arrive(large));
}

}  // namespace
}  // namespace understudy::internal
