// Classifiers: mailboxes whose handlers forward messages to other mailboxes of their actor (semantics 2.9).
#include <functional>
#include <memory>
#include <string>
#include <utility>
#include <vector>

#include "absl/status/status.h"
#include "absl/status/statusor.h"
#include "absl/strings/str_cat.h"
#include "absl/time/time.h"
#include "gmock/gmock.h"
#include "gtest/gtest.h"
#include "understudy/actors/actor.h"
#include "understudy/actors/actor_system.h"
#include "understudy/actors/error.h"
#include "understudy/actors/router.h"
#include "understudy/actors/testing/actor_test.h"
#include "understudy/actors/testing/null_router.h"
#include "understudy/actors/testing/probe.h"
#include "understudy/tests/actors/letter.h"
#include "understudy/tests/actors/script.h"

namespace understudy {
namespace {

using ::testing::ElementsAre;
using ::testing::HasSubstr;
using ::testing::IsEmpty;

// Forwards each message in `any` to another mailbox by its first letter, and each call in `query` by its text. `later`
// is closed until `open` comes.
class Sorter final : public Actor {
 public:
  Mailbox<"any", Letter> any{this};
  Mailbox<"number", int> number{this, {.capacity_messages = 2}};
  Mailbox<"text", std::string> text{this};
  Mailbox<"later", std::string> later{this, {.capacity_messages = 2, .time_to_live = absl::Seconds(5)}};
  Mailbox<"newest", std::string> newest{this, {.capacity_messages = 2, .overflow = Overflow::kDropOldest}};
  Mailbox<"query", Call<std::string, std::string>> query{this};
  Mailbox<"quick", Call<std::string, std::string>> quick{this};
  Mailbox<"slow", Call<std::string, std::string>> slow{this, {.capacity_messages = 1}};
  Mailbox<"open", int> open{this};

  explicit Sorter(Channel<std::string> out) : out_(out) {}
  StartResult Start() override { return sorting_; }

 private:
  absl::Status Classify(const Letter& letter) {
    const std::string& word = letter.text;
    switch (word.empty() ? '?' : word[0]) {
      case '1':
        context().Forward(number, static_cast<int>(word.size()));
        return absl::OkStatus();
      case 'l':
        context().Forward(later, word);
        return absl::OkStatus();
      case 'n':
        context().Forward(newest, word);
        return absl::OkStatus();
      case 's':
        context().Tell(text, "sent before");
        context().Forward(text, word);
        return absl::OkStatus();
      case '2':
        context().Forward(text, word);
        context().Forward(text, word);
        return absl::OkStatus();
      case 'f':
        context().Forward(text, word);
        return Fail(absl::InternalError("after passing on"));
      case 'r':
        return absl::InvalidArgumentError("not forwarded, and refused");
      default:
        context().Forward(text, word);
        return absl::OkStatus();
    }
  }
  void ClassifyQuery(std::string asked, Replier<std::string> replier) {
    if (asked == "keep") {
      kept_.push_back(std::move(replier));
    } else if (asked == "mixed up") {
      context().Forward(quick, asked, std::move(kept_.back()));
    } else if (asked == "slow") {
      context().Forward(slow, asked, std::move(replier));
    } else {
      context().Forward(quick, std::move(asked), std::move(replier));
    }
  }
  void Say(const std::string& what) { out_.Tell(what); }
  void Open() { is_open_ = true; }
  bool IsOpen() const { return is_open_; }

  Channel<std::string> out_;
  bool is_open_ = false;
  std::vector<Replier<std::string>> kept_;
  Behavior sorting_{"sorting",
                    On(any, &Sorter::Classify),
                    On(number, [this](int n) { out_.Tell(absl::StrCat("number ", n)); }),
                    On(text, &Sorter::Say),
                    On(later, &Sorter::Say).When(&Sorter::IsOpen),
                    On(newest, &Sorter::Say).When(&Sorter::IsOpen),
                    On(query, &Sorter::ClassifyQuery),
                    On(quick, [](const std::string& asked) { return "quick " + asked; }),
                    On(slow, [](const std::string& asked) { return "slow " + asked; }).When(&Sorter::IsOpen),
                    On(open, &Sorter::Open)};
};

class ClassifierTest : public ActorTest {
 protected:
  ClassifierTest() : out_(system()), sorter_(system().Spawn<Sorter>(out_.channel())) {}
  void Send(const char* word) {
    Letter letter;
    letter.text = word;
    sorter_[&Sorter::any].Tell(std::move(letter));
  }

  // Asks, and does not wait for the answer.
  void AskApart(const char* what) {
    using Answer = absl::StatusOr<std::string>;
    auto ask = [channel = sorter_[&Sorter::query], what](Context&, absl::Duration left) {
      return channel.Ask(std::string(what), left);
    };
    using Asker = internal::ThreadWaiter<Answer, decltype(ask)>;
    system().Spawn<Asker>(std::move(ask), system().Now() + absl::Seconds(50),
                          Asker::Result(std::make_shared<internal::Handover<Answer>>(system().executor()),
                                        absl::CancelledError("closed")));
    system().RunUntilIdle();
  }

  Probe<std::string> out_;
  Ref<Sorter> sorter_;
};

TEST_F(ClassifierTest, PassesOnByContentInTheOrderOfArrival) {
  for (const char* word : {"a", "12", "b", "1", "c"}) Send(word);
  EXPECT_THAT(out_.ReceiveAll(), ElementsAre("a", "number 2", "b", "number 1", "c"));
  // Five were forwarded, and five accepted anew and handled; and five of the probe's.
  EXPECT_EQ(Ledger().of(Disposition::kForwarded), 5);
  EXPECT_EQ(Ledger().of(Disposition::kHandled), 10);
  EXPECT_EQ(Ledger().accepted, 15);
  EXPECT_TRUE(Ledger().balances()) << Ledger().ToString();
}

TEST_F(ClassifierTest, PassesOnBehindWhatHasArrived) {
  Send("s");
  EXPECT_THAT(out_.ReceiveAll(), ElementsAre("sent before", "s"));
}

// Awaits an answer before it forwards a call.
class SlowSorter final : public Actor {
 public:
  Mailbox<"query", Call<int, int>> query{this};
  Mailbox<"later", Call<int, int>> later{this};
  SlowSorter(Channel<int> out, Channel<Call<int, int>> silent) : out_(out), silent_(silent) {}
  StartResult Start() override { return sorting_; }

 private:
  Task<> Classify(int n, Replier<int> replier) {
    auto asked = silent_.Ask(n, absl::Seconds(1));
    (void)co_await asked;
    context().Forward(later, n, std::move(replier));
  }
  const Channel<int> out_;
  const Channel<Call<int, int>> silent_;
  Behavior sorting_{"sorting", On(query, &SlowSorter::Classify), On(later, [this](int n) {
                      out_.Tell(n);
                      return n;
                    })};
};

TEST_F(ClassifierTest, ACallWhoseAskerEndedMeanwhileIsCancelled) {
  Probe<int> handled(system());
  Probe<Call<int, int>> silent(system());
  Ref<SlowSorter> slow = system().Spawn<SlowSorter>(handled.channel(), silent.channel());
  Ref<Script> asker = system().Spawn<Script>();
  RunTask(asker, [&](Script&) -> Task<> {
    auto asked = slow[&SlowSorter::query].Ask(1, absl::Hours(1));
    (void)co_await asked;
  });
  system().RunUntilIdle();
  system().Kill(asker.pid());
  system().Advance(absl::Seconds(1));
  handled.ExpectNothing();
  EXPECT_EQ(Ledger().of(Disposition::kCancelled), 1);
}

// Holds its worker before it passes a call on to a closed mailbox.
class HeldSorter final : public Actor {
 public:
  Mailbox<"query", Call<int, int>> query{this};
  Mailbox<"later", Call<int, int>> later{this};
  explicit HeldSorter(std::function<void()> hold) : hold_(std::move(hold)) {}
  StartResult Start() override { return sorting_; }

 private:
  void Classify(int n, Replier<int> replier) {
    hold_();
    context().Forward(later, n, std::move(replier));
  }
  const std::function<void()> hold_;
  Behavior sorting_{"sorting", On(query, &HeldSorter::Classify)};
};

TEST_F(ClassifierTest, ACallIsCancelledThatItsAskerGaveUpWhileItWasSorted) {
  // The cancellation has arrived before the call is forwarded.
  Probe<Call<int, int>> silent(system());
  Ref<HeldSorter> held =
      system().Spawn<HeldSorter>([this] { system().seeded_executor().HoldHere(absl::Milliseconds(10)); });
  Ref<Script> asker = system().Spawn<Script>();
  RunTask(asker, [&](Script&) -> Task<> {
    auto asked = held[&HeldSorter::query].Ask(1, absl::Hours(1));
    auto brief = silent.channel().Ask(1, absl::Milliseconds(5));
    (void)co_await brief;
    asked.Cancel();
  });
  system().RunUntilIdle();
  system().Advance(absl::Seconds(1));
  EXPECT_EQ(Ledger().of(Disposition::kForwarded), 1);
  EXPECT_EQ(Ledger().of(Disposition::kCancelled), 1);
  (void)silent.ReceiveAll();
  EXPECT_EQ(Ledger().waiting, 0);
}

// Awaits `silent` after it has passed the call on, whose handler awaits it too and then postpones.
class Lingering final : public Actor {
 public:
  Mailbox<"query", Call<int, int>> query{this};
  Mailbox<"later", Call<int, int>> later{this};
  Lingering(std::function<void()> hold, Channel<Call<int, int>> silent, bool opens, int* handled)
      : hold_(std::move(hold)), silent_(silent), opens_(opens), handled_(*handled) {}
  StartResult Start() override { return opens_ ? open_ : sorting_; }

 private:
  Task<> Classify(int n, Replier<int> replier) {
    hold_();
    context().Forward(later, n, std::move(replier));
    auto asked = silent_.Ask(n, absl::Hours(1));
    (void)co_await asked;
  }
  Task<int> Handle(const int& n) {
    ++handled_;
    auto asked = silent_.Ask(n, absl::Seconds(10));
    (void)co_await asked;
    context().Postpone();
    co_return n;
  }
  const std::function<void()> hold_;
  const Channel<Call<int, int>> silent_;
  const bool opens_;
  int& handled_;
  Behavior sorting_{"sorting", On(query, &Lingering::Classify).Interleaved()};
  Behavior open_{"open", On(query, &Lingering::Classify).Interleaved(), On(later, &Lingering::Handle).Interleaved()};
};

TEST_F(ClassifierTest, ACallIsCancelledThoughItsClassifierStillAwaits) {
  for (const bool opens : {false, true}) {
    int handled = 0;
    Probe<Call<int, int>> silent(system());
    // The closed one is held before it passes on, so that the cancellation is there first.
    Ref<Lingering> lingering = system().Spawn<Lingering>(
        [this, opens] {
          if (!opens) system().seeded_executor().HoldHere(absl::Milliseconds(10));
        },
        silent.channel(), opens, &handled);
    Ref<Script> asker = system().Spawn<Script>();
    RunTask(asker, [&](Script&) -> Task<> {
      auto asked = lingering[&Lingering::query].Ask(1, absl::Hours(1));
      auto brief = silent.channel().Ask(1, absl::Milliseconds(5));
      (void)co_await brief;
      asked.Cancel();
    });
    system().RunUntilIdle();
    system().Advance(absl::Seconds(20));
    EXPECT_EQ(handled, opens ? 1 : 0);
    int64_t cancelled = 0;
    for (const MailboxLedger& its : system().MailboxLedgers(lingering.pid())) {
      cancelled += its.messages.of(Disposition::kCancelled);
    }
    EXPECT_EQ(cancelled, 1) << opens;
    (void)silent.ReceiveAll();
    EXPECT_EQ(Ledger().waiting, 0) << opens;
    system().Kill(lingering.pid());
    system().RunUntilIdle();
  }
}

TEST_F(ClassifierTest, ACallExpiresWhoseTimeIsOverWhileItIsSorted) {
  // The asker has told so before the call is forwarded.
  Ref<HeldSorter> held =
      system().Spawn<HeldSorter>([this] { system().seeded_executor().HoldHere(absl::Milliseconds(10)); });
  Ref<Script> asker = system().Spawn<Script>();
  RunTask(asker, [&](Script&) -> Task<> {
    auto asked = held[&HeldSorter::query].Ask(1, absl::Milliseconds(5));
    (void)co_await asked;
  });
  system().RunUntilIdle();
  system().Advance(absl::Seconds(1));
  EXPECT_EQ(Ledger().of(Disposition::kForwarded), 1);
  EXPECT_EQ(Ledger().of(Disposition::kExpired), 1);
  EXPECT_EQ(Ledger().waiting, 0);
}

TEST_F(ClassifierTest, AMessageThatItDoesNotForwardHasItsOwnDisposition) {
  Send("r");
  out_.ExpectNothing();
  EXPECT_EQ(Ledger().of(Disposition::kForwarded), 0);
  EXPECT_EQ(Ledger().of(Disposition::kRejected), 1);
}

TEST_F(ClassifierTest, WaitsInAClosedTargetUntilItOpens) {
  for (const char* word : {"l1", "a", "l2"}) Send(word);
  EXPECT_THAT(out_.ReceiveAll(), ElementsAre("a"));
  EXPECT_EQ(Ledger().waiting, 2);
  EXPECT_TRUE(Ledger().balances()) << Ledger().ToString();
  sorter_[&Sorter::open].Tell(1);
  EXPECT_THAT(out_.ReceiveAll(), ElementsAre("l1", "l2"));
}

TEST_F(ClassifierTest, AFullTargetMakesADeadLetterThatSaysSo) {
  for (const char* word : {"l1", "l2", "l3"}) Send(word);
  out_.ExpectNothing();
  ASSERT_EQ(dead_letters().size(), 1U);
  EXPECT_TRUE(IsFull(dead_letters()[0].why)) << dead_letters()[0].why;
  EXPECT_EQ(dead_letters()[0].mailbox, "later");
  EXPECT_EQ(dead_letters()[0].to, sorter_.pid());
  EXPECT_EQ(Ledger().of(Disposition::kForwarded), 2);
  EXPECT_EQ(Ledger().of(Disposition::kDeadLetter), 1);
  EXPECT_EQ(Ledger().accepted, 5);
  EXPECT_TRUE(Ledger().balances()) << Ledger().ToString();
  sorter_[&Sorter::open].Tell(1);
  EXPECT_THAT(out_.ReceiveAll(), ElementsAre("l1", "l2"));
}

TEST_F(ClassifierTest, ATargetThatDropsTheOldestDropsIt) {
  for (const char* word : {"n1", "n2", "n3"}) Send(word);
  out_.ExpectNothing();
  EXPECT_EQ(Ledger().of(Disposition::kForwarded), 3);
  EXPECT_EQ(Ledger().of(Disposition::kDropped), 1);
  sorter_[&Sorter::open].Tell(1);
  EXPECT_THAT(out_.ReceiveAll(), ElementsAre("n2", "n3"));
  EXPECT_THAT(dead_letters(), IsEmpty());
}

TEST_F(ClassifierTest, TheTimeToLiveOfTheTargetCountsFromPassingOn) {
  system().Advance(absl::Seconds(60));
  Send("l1");
  system().Advance(absl::Seconds(4));
  Send("l2");
  system().Advance(absl::Seconds(2));
  sorter_[&Sorter::open].Tell(1);
  EXPECT_THAT(out_.ReceiveAll(), ElementsAre("l2"));
  EXPECT_EQ(Ledger().of(Disposition::kExpired), 1);
}

TEST_F(ClassifierTest, AHandlerThatFailsAfterwardsLeavesADeadLetterInTheTarget) {
  EXPECT_EQ(EndOf(sorter_.pid(), [&] { Send("f"); }), ExitReason::Failed(absl::InternalError("after passing on")));
  out_.ExpectNothing();
  EXPECT_EQ(Ledger().of(Disposition::kForwarded), 1);
  EXPECT_EQ(Ledger().of(Disposition::kFailed), 0);
  ASSERT_EQ(dead_letters().size(), 1U);
  EXPECT_EQ(dead_letters()[0].mailbox, "text");
}

TEST_F(ClassifierTest, ACallGoesWithItsRightToAnswer) {
  EXPECT_EQ(*Ask(sorter_[&Sorter::query], std::string("me")), "quick me");
  EXPECT_EQ(Ledger().of(Disposition::kForwarded), 1);
  EXPECT_EQ(Ledger().of(Disposition::kHandled), 1);
}

TEST_F(ClassifierTest, ACallKeepsItsDeadlineAndItsAskerMayCancelIt) {
  EXPECT_TRUE(IsExpired(Ask(sorter_[&Sorter::query], std::string("slow"), absl::Seconds(1)).status()));
  system().RunUntilIdle();
  EXPECT_EQ(Ledger().waiting, 0);
  EXPECT_EQ(Ledger().of(Disposition::kForwarded), 1);
  EXPECT_EQ(Ledger().of(Disposition::kExpired), 1);
  Ref<Script> asker = system().Spawn<Script>();
  RunTask(asker, [&](Script&) -> Task<> {
    auto asked = sorter_[&Sorter::query].Ask("slow", absl::Hours(1));
    (void)co_await asked;
  });
  system().RunUntilIdle();
  system().Kill(asker.pid());
  system().RunUntilIdle();
  EXPECT_EQ(Ledger().waiting, 0);
  EXPECT_EQ(Ledger().of(Disposition::kForwarded), 2);
  EXPECT_EQ(Ledger().of(Disposition::kCancelled), 1);
}

TEST_F(ClassifierTest, TheAskerOfACallToAFullTargetIsToldAtOnce) {
  AskApart("slow");
  const MonotonicTime before = system().Now();
  const absl::Status full = Ask(sorter_[&Sorter::query], std::string("slow"), absl::Seconds(50)).status();
  EXPECT_TRUE(IsFull(full)) << full;
  EXPECT_THAT(std::string(full.message()), HasSubstr("slow"));
  EXPECT_EQ(system().Now(), before);
  EXPECT_EQ(dead_letters().size(), 1U);
}

TEST_F(ClassifierTest, TheActorsEndAnswersACallThatWasForwarded) {
  AskApart("slow");
  EXPECT_EQ(system().live_actors(), 3) << "probe, sorter, asker";
  system().Kill(sorter_.pid());
  system().RunUntilIdle();
  EXPECT_EQ(system().live_actors(), 1) << "the asker had its answer and ended";
  EXPECT_EQ(Ledger().of(Disposition::kDeadLetter), 1);
}

// Records each release of a message's room that is reported for remote senders.
class CountingRouter final : public NullRouter {
 public:
  void Released(const ReleasedMessages& messages) override {
    released.emplace_back(internal::MailboxNames::Find(messages.mailbox));
  }
  std::vector<std::string> released;
};

TEST_F(ClassifierTest, TheCreditOfARemoteSenderComesBackOnce) {
  CountingRouter router;
  system().InstallRouter(&router);
  const Pid stranger(*system().InternPeer("far", NodeIncarnation{7}), 1, 1);
  internal::Message message{.from = stranger, .to = sorter_.pid(), .mailbox = sorter_[&Sorter::any].mailbox()};
  message.payload = internal::Payload::OfWireBytes("Lhello");
  EXPECT_TRUE(system().Deliver(std::move(message)).ok());
  EXPECT_THAT(out_.ReceiveAll(), ElementsAre("hello"));
  EXPECT_THAT(router.released, ElementsAre("any"));
  system().InstallRouter(nullptr);
}

using ClassifierDeathTest = ClassifierTest;

TEST_F(ClassifierDeathTest, PassingOnTwiceIsAnError) {
  EXPECT_DEATH(
      {
        Send("2");
        system().RunUntilIdle();
      },
      "Forward twice: the message in hand has been forwarded already");
}

TEST_F(ClassifierDeathTest, ACallGoesOnWithItsOwnReplierOnly) {
  AskApart("keep");
  EXPECT_DEATH((void)Ask(sorter_[&Sorter::query], std::string("mixed up")),
               "Forward of a call in hand goes with its own Replier");
}

}  // namespace
}  // namespace understudy
