// The ledger of messages: each disposition of semantics 0 is counted, mailbox by mailbox.
#include "understudy/actors/ledger.h"

#include <map>
#include <memory>
#include <string>
#include <utility>
#include <vector>

#include "absl/status/status.h"
#include "absl/time/time.h"
#include "gmock/gmock.h"
#include "gtest/gtest.h"
#include "understudy/actors/actor.h"
#include "understudy/actors/actor_system.h"
#include "understudy/actors/error.h"
#include "understudy/actors/internal/system/ledger_book.h"
#include "understudy/actors/log_sink.h"
#include "understudy/actors/message.h"
#include "understudy/actors/random.h"
#include "understudy/actors/test_system.h"
#include "understudy/actors/testing/actor_test.h"
#include "understudy/actors/testing/seeds.h"
#include "understudy/tests/actors/script.h"

namespace understudy {
namespace {

using ::testing::HasSubstr;
using ::testing::IsEmpty;
using ::testing::SizeIs;

// The expected counts of a ledger, under the names that its text has.
struct Dispositions {
  int64_t accepted = 0, handled = 0, rejected = 0, failed = 0, expired = 0, cancelled = 0, dropped = 0, dead_letter = 0,
          forwarded = 0, waiting = 0;
};
MessageLedger Are(const Dispositions& dispositions) {
  return {
      .accepted = dispositions.accepted,
      .dispositions = {dispositions.handled, dispositions.rejected, dispositions.failed, dispositions.expired,
                       dispositions.cancelled, dispositions.dropped, dispositions.dead_letter, dispositions.forwarded},
      .waiting = dispositions.waiting};
}

// A mailbox for each disposition.
class Disposing final : public Actor {
 public:
  Mailbox<"plain", int> plain{this};
  Mailbox<"closed", int> closed{this, {.time_to_live = absl::Seconds(1)}};
  Mailbox<"newest", int> newest{this, {.capacity_messages = 1, .overflow = Overflow::kDropOldest}};
  Mailbox<"dropped", int> dropped{this};
  Mailbox<"refused", Call<int, int>> refused{this};
  Mailbox<"sorted", int> sorted{this};
  Mailbox<"small", int> small{this, {.capacity_messages = 1}};
  Mailbox<"waits", int> waits{this};
  Mailbox<"call", Call<int, int>> call{this};

  StartResult Start() override { return first_; }

 private:
  absl::Status Plain(int n) {
    if (n == 1) return absl::InvalidArgumentError("1 is not welcome");
    if (n == 2) Fail(absl::InternalError("2 is fatal"));
    if (n == 3) Become(second_);
    return absl::OkStatus();
  }
  void Sort(int n) { context().Forward(small, n); }
  Task<> Wait(int n) {
    auto asked = me_[&Disposing::call].Ask(n, absl::Seconds(10));
    (void)co_await asked;
  }

  Ref<Disposing> me_{context().Self()};
  Behavior first_{"first",
                  On(plain, &Disposing::Plain),
                  Drop(dropped),
                  Refuse(refused, absl::PermissionDeniedError("no")),
                  On(sorted, &Disposing::Sort),
                  On(waits, &Disposing::Wait).Interleaved()};
  Behavior second_{"second", On(closed, [] {}), On(newest, [] {}), On(small, [] {}), On(plain, &Disposing::Plain)};
};

class LedgerTest : public ActorTest {
 protected:
  // Returns the ledger of a mailbox of one actor, or of all actors that have ended (a null pid); all zero if there is
  // none.
  MessageLedger Of(Pid actor, const std::string& mailbox) {
    for (const MailboxLedger& ledger : system().MailboxLedgers()) {
      if (ledger.actor == actor && ledger.mailbox == mailbox) return ledger.messages;
    }
    return {};
  }
  MessageLedger OfEnded(const std::string& mailbox) { return Of(Pid(), mailbox); }
};

TEST_F(LedgerTest, EachFateIsCountedInTheMailboxOfItsMessage) {
  const Ref<Disposing> fated = system().Spawn<Disposing>();
  const Pid pid = fated.pid();
  system().RunUntilIdle();
  for (const int n : {0, 1, 1}) fated[&Disposing::plain].Tell(n);
  for (int n = 0; n < 4; ++n) fated[&Disposing::closed].Tell(n);
  for (int n = 0; n < 2; ++n) fated[&Disposing::newest].Tell(n);  // beyond twice its capacity the newest is refused
  for (int n = 0; n < 5; ++n) fated[&Disposing::dropped].Tell(n);
  EXPECT_FALSE(Ask(fated[&Disposing::refused], 1).ok());
  for (int n = 0; n < 3; ++n) fated[&Disposing::sorted].Tell(n);
  EXPECT_TRUE(IsExpired(Ask(fated[&Disposing::call], 1, absl::Milliseconds(1)).status()));
  const Ref<Script> asker = system().Spawn<Script>();
  RunTask(asker, [fated](Script&) -> Task<> {
    auto given_up = fated[&Disposing::call].Ask(1, absl::Hours(1));
    given_up.Cancel();
    (void)co_await given_up;
  });
  fated[&Disposing::waits].Tell(1);
  system().RunUntilIdle();
  EXPECT_EQ(Of(pid, "plain"), Are({.accepted = 3, .handled = 1, .rejected = 2}));
  EXPECT_EQ(Of(pid, "closed"), Are({.accepted = 4, .waiting = 4}));
  EXPECT_EQ(Of(pid, "newest"), Are({.accepted = 2, .dropped = 1, .waiting = 1}));
  EXPECT_EQ(Of(pid, "dropped"), Are({.accepted = 5, .dropped = 5}));
  EXPECT_EQ(Of(pid, "refused"), Are({.accepted = 1, .rejected = 1}));
  // The mailbox to which a message is forwarded is full, so the message in hand becomes a dead letter.
  EXPECT_EQ(Of(pid, "sorted"), Are({.accepted = 3, .dead_letter = 2, .forwarded = 1}));
  EXPECT_EQ(Of(pid, "small"), Are({.accepted = 1, .waiting = 1}));
  EXPECT_EQ(Of(pid, "waits"), Are({.accepted = 1, .waiting = 1})) << "its handler awaits";
  EXPECT_EQ(Of(pid, "call"), Are({.accepted = 3, .expired = 1, .cancelled = 1, .waiting = 1}));
  ExpectLedgersBalance(system());
  // The mail of two mailboxes expires or is handled when they open, and the end finds the rest.
  system().Advance(absl::Seconds(1));
  for (const int n : {3, 2}) fated[&Disposing::plain].Tell(n);
  system().RunUntilIdle();
  EXPECT_THAT(system().MailboxLedgers(pid), IsEmpty()) << "it has ended";
  EXPECT_EQ(OfEnded("plain"), Are({.accepted = 5, .handled = 2, .rejected = 2, .failed = 1}));
  EXPECT_EQ(OfEnded("waits"), Are({.accepted = 1, .failed = 1}));
  EXPECT_EQ(OfEnded("call"), Are({.accepted = 3, .expired = 1, .cancelled = 1, .dead_letter = 1}));
  MessageLedger closed = OfEnded("closed");
  EXPECT_EQ(closed.accepted, 4);
  EXPECT_EQ(closed.of(Disposition::kExpired) + closed.of(Disposition::kDeadLetter), 4);
}

TEST_F(LedgerTest, AMailboxThatOpensLateExpiresItsMail) {
  const Ref<Disposing> fated = system().Spawn<Disposing>();
  fated[&Disposing::closed].Tell(1);
  system().Advance(absl::Seconds(2));
  fated[&Disposing::closed].Tell(2);
  fated[&Disposing::plain].Tell(3);
  system().RunUntilIdle();
  EXPECT_EQ(Of(fated.pid(), "closed"), Are({.accepted = 2, .handled = 1, .expired = 1}));
}

TEST_F(LedgerTest, EndedActorsAreTogetherByMailboxAndLivingOnesApart) {
  std::vector<Ref<Disposing>> all;
  for (int i = 0; i < 3; ++i) {
    all.push_back(system().Spawn<Disposing>());
    for (int n = 0; n <= i; ++n) all.back()[&Disposing::plain].Tell(0);
  }
  system().RunUntilIdle();
  for (int i = 0; i < 2; ++i) system().Kill(all[static_cast<size_t>(i)].pid());
  system().RunUntilIdle();
  ASSERT_THAT(system().MailboxLedgers(), SizeIs(2));
  EXPECT_EQ(system().MailboxLedgers()[0].actor, all[2].pid());
  EXPECT_THAT(system().MailboxLedgers(all[2].pid()), SizeIs(1));
  EXPECT_EQ(Of(all[2].pid(), "plain"), Are({.accepted = 3, .handled = 3}));
  EXPECT_EQ(OfEnded("plain"), Are({.accepted = 3, .handled = 3}));
  EXPECT_THAT(system().MailboxLedgers()[1].ToString(),
              HasSubstr("plain (int) of ended actors: accepted 3 = handled 3"));
}

// Messages that come before an actor has declared its mailboxes, and messages for a mailbox that it does not declare.
TEST_F(LedgerTest, MessagesInNoMailboxAreCountedApart) {
  const Ref<Disposing> fated = system().Spawn<Disposing>();
  fated[&Disposing::plain].Tell(0);
  EXPECT_EQ(Of(fated.pid(), ""), Are({.accepted = 1, .waiting = 1}));
  ExpectLedgersBalance(system());
  Channel<std::string>(fated.pid(), internal::MailboxNames::Intern("nobody has it")).Tell("early");
  system().RunUntilIdle();
  EXPECT_EQ(Of(fated.pid(), "plain"), Are({.accepted = 1, .handled = 1}));
  EXPECT_EQ(Of(fated.pid(), ""), MessageLedger());
  EXPECT_EQ(OfEnded(""), Are({.accepted = 1, .dead_letter = 1}));
}

// Holds its thread when it is destroyed, as a member of a frame.
class HoldsOn {
 public:
  HoldsOn(TestSystem& system, absl::Duration duration) : system_(system), duration_(duration) {}
  ~HoldsOn() { system_.seeded_executor().HoldHere(duration_); }
  HoldsOn(const HoldsOn&) = delete;
  HoldsOn& operator=(const HoldsOn&) = delete;

 private:
  TestSystem& system_;
  const absl::Duration duration_;
};

// The fence comes when the message in hand is in no list of the actor's any more.
TEST_F(LedgerTest, AFenceWhileTheFrameOfAHandlerIsDestroyedCountsItsMessageOnce) {
  for (const bool is_complete : {true, false}) {
    SCOPED_TRACE(is_complete);
    const Ref<Script> script = system().Spawn<Script>();
    RunTask(script, [this, is_complete](Script& self) -> Task<> {
      const HoldsOn holds(system(), absl::Seconds(1));
      if (is_complete) co_return;
      auto asked = self.context().ChannelTo(self.ask).Ask(1, absl::Hours(1));
      (void)co_await asked;
    });
    system().seeded_executor().RunAt(system().Now() + absl::Milliseconds(10), [script, this] {
      system().RequestStop(script.pid());  // it has a turn to run when the kill comes
      system().Kill(script.pid());
    });
    system().RunUntilIdle();
    system().Advance(absl::Milliseconds(10));
    ExpectLedgersBalance(system());
  }
  EXPECT_EQ(OfEnded("run"), Are({.accepted = 2, .failed = 2}));
}

// In the process style a handler that is no coroutine passes on.
class Sorter final : public Actor {
 public:
  Mailbox<"all", int> all{this};
  Mailbox<"even", int> even{this};
  StartResult Start() override { return Run(); }

 private:
  Task<> Run() {
    for (;;) {
      auto received = Receive(On(all, [this](int n) { context().Forward(even, n); }));
      co_await received;
    }
  }
};

TEST_F(LedgerTest, AReceiveThatPassesOnLeavesNothingInHand) {
  const Ref<Sorter> sorter = system().Spawn<Sorter>();
  for (int n = 0; n < 3; ++n) sorter[&Sorter::all].Tell(n);
  system().RunUntilIdle();
  EXPECT_EQ(Of(sorter.pid(), "all"), Are({.accepted = 3, .forwarded = 3}));
  EXPECT_EQ(Of(sorter.pid(), "even"), Are({.accepted = 3, .waiting = 3}));
  ExpectLedgersBalance(system());
}

// Random sends and kills: each mailbox has accepted as many messages as its senders have counted, and its ledger
// balances whenever no actor runs.
TEST(LedgerSeedsTest, EachMailboxHasAcceptedWhatItsSendersSayAndBalances) {
  int64_t rare = 0;
  ForEachSeed(200, [&](uint64_t seed) {
    TestSystem system(seed);
    Random random(seed);
    std::vector<Ref<Disposing>> living;
    std::map<std::string, int64_t> accepted;
    const auto tell = [&](const Channel<int>& channel, const std::string& name, int n) {
      if (channel.Send(n).ok()) ++accepted[name];
    };
    for (int step = 0; step < 60; ++step) {
      if (living.size() < 3) {
        living.push_back(system.Spawn<Disposing>());
        system.RunUntilIdle();  // early mail has no mailbox
      }
      const size_t which = random.Below(living.size());
      const Ref<Disposing> fated = living[which];
      const auto n = static_cast<int>(random.Below(step % 8 == 0 ? 4 : 2));
      switch (random.Below(7)) {
        case 0:
          tell(fated[&Disposing::plain], "plain", n);
          break;
        case 1:
          tell(fated[&Disposing::closed], "closed", n);
          break;
        case 2:
          tell(fated[&Disposing::newest], "newest", n);
          break;
        case 3:
          tell(fated[&Disposing::sorted], "sorted", n);
          break;
        case 4:
          tell(fated[&Disposing::waits], "waits", n);
          break;
        case 5:
          system.Advance(absl::Milliseconds(random.Below(600)));
          break;
        default:
          if (random.Below(4) == 0) system.Kill(fated.pid());
          living.erase(living.begin() + static_cast<std::ptrdiff_t>(which));
          break;
      }
      if (random.Below(3) == 0) {
        system.RunUntilIdle();
        ExpectLedgersBalance(system);
      }
    }
    ExpectNothingLost(system);
    for (const MailboxLedger& ledger : system.MailboxLedgers()) {
      EXPECT_TRUE(ledger.actor.is_null());
      rare += ledger.messages.accepted - ledger.messages.of(Disposition::kHandled);
      // Forwarded messages, and calls of an actor to itself, are not in the senders' counts.
      if (ledger.mailbox != "small" && ledger.mailbox != "call") {
        EXPECT_EQ(ledger.messages.accepted, accepted[ledger.mailbox]) << ledger;
      }
    }
  });
  if (!SeedFromEnvironment()) {
    EXPECT_GT(rare, 1000);
  }
}

TEST(LedgerThreadsTest, EachMailboxBalancesWhenActorsDieUnderLoad) {
  ActorSystem system({.threads = {.threads = 4}, .seed = 1, .log = &LogSink::Null()});
  for (int round = 0; round < 50; ++round) {
    std::vector<Ref<Disposing>> all;
    for (int i = 0; i < 8; ++i) all.push_back(system.Spawn<Disposing>());
    const Ref<Script> sender = system.Spawn<Script>();
    Do(sender, [all](Script&) {
      for (int n = 0; n < 50; ++n) {
        for (const Ref<Disposing>& fated : all) {
          (void)fated[&Disposing::plain].Send(n % 2);
          (void)fated[&Disposing::waits].Send(n);
          (void)fated[&Disposing::newest].Send(n);
        }
      }
    });
    for (const Ref<Disposing>& fated : all) fated[&Disposing::plain].Tell(round % 4);
    for (const Ref<Disposing>& fated : all) system.Kill(fated.pid());
    system.RequestStop(sender.pid());
  }
  EXPECT_TRUE(
      system.executor().BlockUntil([&] { return system.live_actors() == 0; }, system.clock().Now() + absl::Minutes(1)));
  EXPECT_TRUE(system.Shutdown(absl::Minutes(1)));
  ExpectLedgersBalance(system);
  EXPECT_EQ(system.Ledger().waiting, 0);
  EXPECT_GT(system.Ledger().accepted, 0);
}

TEST(LedgerBookTest, BalancesWhenTheCountsOfACellBeginAgain) {
  constexpr int64_t kAll = int64_t{1} << 32;
  // 10 were rejected, 3 wait, one is in hand; all others were handled.
  for (const int64_t handled : {kAll - 20, kAll - 12, kAll - 10, kAll - 1, kAll, kAll + 5}) {
    MessageLedger messages{.waiting = 1};
    messages.dispositions[static_cast<size_t>(Disposition::kRejected)] = 10;
    internal::LedgerBook::AddCounted(
        {.accepted = (handled + 14) % kAll, .left = (handled + 11) % kAll, .handled = handled % kAll}, messages);
    EXPECT_TRUE(messages.balances()) << messages.ToString();
    EXPECT_EQ(messages.waiting, 4);
    EXPECT_EQ(messages.of(Disposition::kHandled), handled % kAll);
  }
  MessageLedger lost;
  internal::LedgerBook::AddCounted({.accepted = 5, .left = 5, .handled = 4}, lost);
  EXPECT_FALSE(lost.balances()) << "one has no disposition";
  EXPECT_EQ(lost.accepted, 5);
}

}  // namespace
}  // namespace understudy
