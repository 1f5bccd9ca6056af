// Messages and signals to other nodes leave through the Router; those from other nodes come in through Inbound
// (semantics 7.4, 7.5, 7.14).
#include "understudy/actors/router.h"

#include <functional>
#include <memory>
#include <string>
#include <utility>
#include <vector>

#include "absl/status/status.h"
#include "absl/strings/str_cat.h"
#include "absl/time/time.h"
#include "gmock/gmock.h"
#include "gtest/gtest.h"
#include "understudy/actors/actor.h"
#include "understudy/actors/testing/actor_test.h"
#include "understudy/actors/testing/null_router.h"
#include "understudy/actors/testing/probe.h"
#include "understudy/tests/actors/letter.h"
#include "understudy/tests/actors/script.h"

namespace understudy {
namespace {

using ::testing::ElementsAre;
using ::testing::IsEmpty;

// Notes each call; accepts all messages but those of more than 10 bytes.
class NotingRouter final : public NullRouter {
 public:
  absl::Status Send(const OutboundMessage& message) override {
    if (!message.type->is_wire) return absl::InvalidArgumentError("does not cross nodes");
    std::string bytes;
    (void)message.type->serialize(message.value, &bytes);
    if (bytes.size() > 10) return MakeError(ErrorKind::kFull, "too long");
    notes.push_back(absl::StrCat("send ", bytes, message.ask == 0 ? "" : " asked"));
    last_ask = message.ask;
    return absl::OkStatus();
  }
  void Post(Signal signal) override {
    notes.push_back(absl::StrCat(SignalKindName(signal.kind)));
    last = std::move(signal);
  }
  void Released(const ReleasedMessages& messages) override {
    released += messages.amount.messages;
    if (messages.admission == Admission::kAllowance) released_beside += messages.amount.messages;
  }
  void AskBack(Pid /*receiver*/, uint32_t /*mailbox*/) override { ++asked_back; }

  std::vector<std::string> notes;
  Signal last;
  uint64_t last_ask = 0;
  int64_t released = 0;
  int64_t released_beside = 0;
  int64_t asked_back = 0;
};

class Office final : public Actor {
 public:
  Mailbox<"letter", Letter> letter{this, {.capacity_messages = 2}};
  Mailbox<"query", Call<Letter, Letter>> query{this};
  Mailbox<"local", int> local{this};
  Mailbox<"open", int> open{this};
  explicit Office(Channel<std::string> out) : out_(out) {}
  StartResult Start() override { return closed_; }

 private:
  void Later(const Letter&) { context().Postpone(); }
  void Take(const Letter& taken) { out_.Tell(taken.text); }
  Letter Answer(const Letter& asked) {
    Letter answer;
    answer.text = asked.text + "!";
    return answer;
  }
  Behavior Open(int n) { return n == 0 ? postponing_ : open_; }
  Channel<std::string> out_;
  Behavior closed_{"closed", On(open, &Office::Open)};
  Behavior postponing_{"postponing", On(open, &Office::Open), On(letter, &Office::Later)};
  Behavior open_{"open", On(letter, &Office::Take), On(query, &Office::Answer), On(local, [] {})};
};

class RouterTest : public ActorTest {
 protected:
  RouterTest() {
    system().InstallRouter(&router_);
    system().RunUntilIdle();
  }
  void TearDown() override {
    (void)out_.ReceiveAll();
    ActorTest::TearDown();
    system().InstallRouter(nullptr);
  }
  template <class M>
  absl::Status Deliver(const Channel<M>& channel, std::string bytes, uint64_t ask = 0,
                       Admission admission = Admission::kAllowance) {
    internal::Message message;
    message.from = stranger_;
    message.to = channel.pid();
    message.mailbox = channel.mailbox();
    message.ask = ask;
    message.admission = admission;
    message.payload = internal::Payload::OfWireBytes(std::move(bytes));
    return system().Deliver(std::move(message));
  }
  RoomRequest Room(int64_t messages, int64_t bytes) {
    return {.node = peer_,
            .to = office_.pid(),
            .mailbox = office_[&Office::letter].mailbox(),
            .amount = {.messages = messages, .bytes = bytes}};
  }

  NotingRouter router_;
  const NodePlace peer_ = *system().InternPeer("far", NodeIncarnation{99});
  const Pid stranger_{peer_, 3, 5};
  Probe<std::string> out_{system()};
  Ref<Office> office_ = system().Spawn<Office>(out_.channel());
};

TEST_F(RouterTest, ARemoteSendIsSerialisedOnTheSendersTurnOrRefused) {
  const Channel<Letter> far(stranger_, office_[&Office::letter].mailbox());
  Letter letter;
  letter.text = "short";
  EXPECT_TRUE(far.Send(letter).ok());
  letter.text = "much too long";
  EXPECT_TRUE(IsFull(far.Send(std::move(letter))));
  EXPECT_EQ(letter.text, "much too long");  // NOLINT: refused, and so unchanged
  EXPECT_EQ(Channel<int>(stranger_, 1).Send(1).code(), absl::StatusCode::kInvalidArgument);
  EXPECT_THAT(router_.notes, ElementsAre("send Lshort"));
}

TEST_F(RouterTest, WithoutARouterEveryRemoteTargetAnswersNoConnection) {
  system().InstallRouter(nullptr);
  EXPECT_TRUE(IsNoConnection(Channel<Letter>(stranger_, 1).Send(Letter())));
  std::vector<std::string> notes;
  Ref<Script> script = system().Spawn<Script>(nullptr, nullptr, &notes);
  Do(script, [&](Script& self) {
    self.context().TrapExits([&](const ExitEvent& event) { self.Note(event.reason.ToString()); });
    self.context().Link(stranger_);
    self.monitors.push_back(
        self.context().Monitor(stranger_, [&](const Down& down) { self.Note(down.reason.ToString()); }));
  });
  system().RunUntilIdle();
  const std::string no_connection =
      "NoConnection(this system has no Node, so it reaches no other node; start one with Node::Start)";
  EXPECT_THAT(notes, ElementsAre(no_connection, no_connection));
  system().Kill(script.pid());
  system().RunUntilIdle();
}

TEST_F(RouterTest, SignalsToOtherNodesGoThroughIt) {
  Ref<Script> script = system().Spawn<Script>();
  Do(script, [&](Script& self) {
    self.context().TrapExits([](const ExitEvent&) {});
    self.context().Link(stranger_);
    self.monitors.push_back(self.context().Monitor(stranger_, [](const Down&) {}));
    self.monitors.clear();
    self.context().Unlink(stranger_);
    self.context().Exit(stranger_, ExitReason::Shutdown());
    self.context().Kill(stranger_);
    self.context().RequestStop(stranger_);
  });
  system().RunUntilIdle();
  EXPECT_THAT(router_.notes, ElementsAre("link", "monitor", "demonitor", "unlink", "exit", "kill", "request_stop"));
}

TEST_F(RouterTest, AnActorsEndIsToldToItsRemoteLinksAndWatchers) {
  Ref<Script> script = system().Spawn<Script>();
  system().RunUntilIdle();
  system().Deliver(Signal{.kind = SignalKind::kLink, .from = stranger_, .to = script.pid()});
  system().Deliver(Signal{.kind = SignalKind::kMonitor, .from = stranger_, .to = script.pid(), .id = 8});
  system().Exit(script.pid(), ExitReason::OsExit(1));
  system().RunUntilIdle();
  EXPECT_THAT(router_.notes, ElementsAre("exit", "down"));
  EXPECT_EQ(router_.last.id, 8U);
  EXPECT_EQ(router_.last.reason, ExitReason::OsExit(1));
  system().Deliver(Signal{.kind = SignalKind::kMonitor, .from = stranger_, .to = script.pid(), .id = 9});
  EXPECT_EQ(router_.last.reason, ExitReason::NoProcess());
}

TEST_F(RouterTest, AMessageFromAnotherNodeIsParsedOnTheReceiversTurn) {
  office_[&Office::open].Tell(1);
  system().RunUntilIdle();
  EXPECT_TRUE(Deliver(office_[&Office::letter], "Lhello").ok());
  out_.Expect("hello");
  EXPECT_TRUE(Deliver(office_[&Office::query], "Lwhy", 77).ok());
  system().RunUntilIdle();
  EXPECT_THAT(router_.notes, ElementsAre("reply"));
  EXPECT_EQ(router_.last.id, 77U);
  EXPECT_EQ(router_.last.payload.As<Letter>().text, "why!");
}

TEST_F(RouterTest, ABadPayloadIsDroppedCountedAndAnswered) {
  // semantics 7.4
  office_[&Office::open].Tell(1);
  system().RunUntilIdle();
  EXPECT_TRUE(Deliver(office_[&Office::letter], "junk").ok());
  EXPECT_TRUE(Deliver(office_[&Office::query], "junk", 78).ok());
  system().RunUntilIdle();
  EXPECT_EQ(Ledger().of(Disposition::kDropped), 2);
  EXPECT_EQ(router_.last.status.code(), absl::StatusCode::kInvalidArgument);
  EXPECT_TRUE(IsNoMailbox(Deliver(office_[&Office::local], "L"))) << "no message of the wire";
  EXPECT_TRUE(IsNoMailbox(Deliver(Channel<Letter>(office_.pid(), 12345), "L")));
  EXPECT_TRUE(IsNoProcess(Deliver(Channel<Letter>(Pid(system().node(), 0xffffffff, 1), 1), "L")));
}

TEST_F(RouterTest, CreditComesBackOnceWhenAMessageLeavesItsMailbox) {
  // semantics 7.5
  EXPECT_TRUE(Deliver(office_[&Office::letter], "La").ok());
  EXPECT_TRUE(Deliver(office_[&Office::letter], "Lb").ok());
  system().RunUntilIdle();
  EXPECT_EQ(router_.released, 0);
  office_[&Office::open].Tell(0);  // takes each, and postpones it
  system().RunUntilIdle();
  EXPECT_EQ(router_.released, 2);
  EXPECT_EQ(Ledger().waiting, 2);
  office_[&Office::open].Tell(1);
  EXPECT_THAT(out_.ReceiveAll(), ElementsAre("a", "b"));
  EXPECT_EQ(router_.released, 2);
}

TEST_F(RouterTest, CreditOfEarlyMailComesBackOnceWhateverBecomesOfIt) {
  // semantics 7.5
  Ref<Office> early = system().Spawn<Office>(out_.channel());
  for (const char* bytes : {"La", "Lb", "Lc"}) EXPECT_TRUE(Deliver(early[&Office::letter], bytes).ok());
  EXPECT_TRUE(Deliver(Channel<Letter>(early.pid(), 12345), "Ld").ok());
  system().RunUntilIdle();
  EXPECT_EQ(router_.released, 1) << "one had no mailbox";
  early[&Office::open].Tell(1);
  EXPECT_THAT(out_.ReceiveAll(), ElementsAre("a", "b", "c")) << "beside the capacity of two";
  EXPECT_EQ(router_.released, 4);
  Ref<Office> killed = system().Spawn<Office>(out_.channel());
  EXPECT_TRUE(Deliver(killed[&Office::letter], "La").ok());
  system().Kill(killed.pid());
  system().RunUntilIdle();
  EXPECT_EQ(router_.released, 5);
}

TEST_F(RouterTest, ReservedRoomIsTakenOutOfTheMailboxAndGoesBack) {
  // semantics 7.5
  Letter letter;
  EXPECT_EQ(system().Reserve(Room(5, 50)).amount, (RoomAmount{.messages = 1, .bytes = 50})) << "its fair share";
  EXPECT_EQ(Ledger().accepted, 0) << "reserved is not accepted";
  EXPECT_TRUE(office_[&Office::letter].Send(letter).ok());
  EXPECT_EQ(router_.asked_back, 0);
  EXPECT_TRUE(IsFull(office_[&Office::letter].Send(letter)));
  EXPECT_TRUE(IsFull(office_[&Office::letter].Send(letter)));
  EXPECT_EQ(router_.asked_back, 1) << "once";
  system().GiveBack(Room(1, 50));
  EXPECT_TRUE(office_[&Office::letter].Send(letter).ok());
  EXPECT_EQ(system().Reserve(Room(1, 10)).amount, RoomAmount());
  EXPECT_EQ(Ledger().waiting, 2);
}

TEST_F(RouterTest, AReservedMessageUsesItsRoomAndNoMore) {
  ASSERT_EQ(system().Reserve(Room(1, 2)).amount, (RoomAmount{.messages = 1, .bytes = 2}));
  EXPECT_TRUE(Deliver(office_[&Office::letter], "La", 0, Admission::kReserved).ok());
  system().RunUntilIdle();
  EXPECT_EQ(Ledger().waiting, 1);
  EXPECT_TRUE(office_[&Office::letter].Send(Letter()).ok());
  EXPECT_TRUE(IsFull(office_[&Office::letter].Send(Letter())));
  office_[&Office::open].Tell(1);
  EXPECT_THAT(out_.ReceiveAll(), ElementsAre("a", ""));
  EXPECT_EQ(router_.released, 1);
  EXPECT_EQ(router_.released_beside, 0);
  EXPECT_TRUE(Ledger().balances());
}

TEST_F(RouterTest, MessagesByAllowanceAreBesideTheCapacityAndInTheLedger) {
  for (const char* bytes : {"La", "Lb", "Lc"}) EXPECT_TRUE(Deliver(office_[&Office::letter], bytes).ok());
  system().RunUntilIdle();
  EXPECT_EQ(Ledger().waiting, 3);
  EXPECT_TRUE(Ledger().balances());
  EXPECT_TRUE(office_[&Office::letter].Send(Letter()).ok());
  EXPECT_TRUE(office_[&Office::letter].Send(Letter()).ok());
  EXPECT_TRUE(IsFull(office_[&Office::letter].Send(Letter())));
  office_[&Office::open].Tell(1);
  EXPECT_THAT(out_.ReceiveAll(), ElementsAre("a", "b", "c", "", ""));
  EXPECT_EQ(router_.released_beside, 3);
  EXPECT_EQ(Ledger().waiting, 0);
  EXPECT_TRUE(Ledger().balances());
  EXPECT_TRUE(office_[&Office::letter].Send(Letter()).ok());
}

TEST_F(RouterTest, AReservationEndsWithItsActorOnce) {
  ASSERT_EQ(system().Reserve(Room(1, 2)).amount.messages, 1);
  system().Kill(office_.pid());
  system().RunUntilIdle();
  EXPECT_EQ(system().Reserve(Room(1, 2)).amount, RoomAmount());
  const RoomRequest of_the_dead = Room(1, 2);
  // The cell's next life has all its room.
  office_ = system().Spawn<Office>(out_.channel());
  system().RunUntilIdle();
  ASSERT_EQ(office_.pid().cell(), of_the_dead.to.cell());
  system().GiveBack(of_the_dead);
  EXPECT_TRUE(
      IsNoProcess(Deliver(Channel<Letter>(of_the_dead.to, of_the_dead.mailbox), "La", 0, Admission::kReserved)));
  EXPECT_TRUE(office_[&Office::letter].Send(Letter()).ok());
  EXPECT_TRUE(office_[&Office::letter].Send(Letter()).ok());
  EXPECT_TRUE(IsFull(office_[&Office::letter].Send(Letter())));
}

// Takes nothing, and drops its oldest beyond two.
class Hoarder final : public Actor {
 public:
  Mailbox<"letter", Letter> letter{this, {.capacity_messages = 2, .overflow = Overflow::kDropOldest}};
  Mailbox<"strict", Letter> strict{this, {.capacity_messages = 2, .overflow = Overflow::kFailActor}};
  StartResult Start() override {
    return Behavior("closed", After(absl::InfiniteDuration(), [] {}));
  }
};

TEST_F(RouterTest, ReservedRoomDropsNothingAndMessagesBesideTheCapacityDo) {
  const Ref<Hoarder> hoarder = system().Spawn<Hoarder>();
  system().RunUntilIdle();
  const Channel<Letter> letter = hoarder[&Hoarder::letter];
  const RoomRequest room{
      .node = peer_, .to = hoarder.pid(), .mailbox = letter.mailbox(), .amount = {.messages = 2, .bytes = 20}};
  ASSERT_EQ(system().Reserve(room).amount.messages, 2) << "of twice the capacity";
  EXPECT_TRUE(letter.Send(Letter()).ok());
  EXPECT_TRUE(letter.Send(Letter()).ok());
  system().RunUntilIdle();
  EXPECT_EQ(Ledger().of(Disposition::kDropped), 0);
  EXPECT_TRUE(Deliver(letter, "La").ok());
  system().RunUntilIdle();
  EXPECT_EQ(Ledger().of(Disposition::kDropped), 1);
  EXPECT_TRUE(Deliver(letter, "Lb", 0, Admission::kReserved).ok());
  system().RunUntilIdle();
  EXPECT_EQ(Ledger().of(Disposition::kDropped), 2);
  EXPECT_EQ(Ledger().waiting, 2);
}

TEST_F(RouterTest, BeyondTheCapacityAMessageOfAnotherNodeFailsAnActorThatFailsOnOverflow) {
  const Ref<Hoarder> hoarder = system().Spawn<Hoarder>();
  system().RunUntilIdle();
  for (const char* bytes : {"La", "Lb"}) EXPECT_TRUE(Deliver(hoarder[&Hoarder::strict], bytes).ok());
  system().RunUntilIdle();
  EXPECT_TRUE(hoarder[&Hoarder::letter].Send(Letter()).ok());
  EXPECT_TRUE(Deliver(hoarder[&Hoarder::strict], "Lc").ok());
  system().RunUntilIdle();
  EXPECT_TRUE(IsNoProcess(hoarder[&Hoarder::letter].Send(Letter())));
}

TEST_F(RouterTest, ARemoteAskIsAnsweredByAReplySignalAndCancelledAtItsDeadline) {
  std::vector<std::string> notes;
  Ref<Script> script = system().Spawn<Script>(nullptr, nullptr, &notes);
  const Channel<Call<Letter, Letter>> far(stranger_, office_[&Office::query].mailbox());
  const auto ask = [&] {
    RunTask(script, [far](Script& self) -> Task<> {
      auto asked = far.Ask(Letter(), absl::Seconds(1));
      absl::StatusOr<Letter> answer = co_await asked;
      self.Note(answer.ok() ? answer->text : std::string(answer.status().message()));
    });
    system().RunUntilIdle();
  };
  ask();
  Signal reply{.kind = SignalKind::kReply, .from = stranger_, .to = script.pid(), .id = router_.last_ask};
  reply.payload = internal::Payload::OfWireBytes("Lfine");
  system().Deliver(std::move(reply));
  system().RunUntilIdle();
  EXPECT_THAT(notes, ElementsAre("fine"));
  ask();
  system().Advance(absl::Seconds(1));
  EXPECT_EQ(router_.last.kind, SignalKind::kCancel);
  EXPECT_EQ(router_.last.id, router_.last_ask);
  system().Kill(script.pid());
  system().RunUntilIdle();
}

// A message whose parsing at the receiver sends another message.
class ChainLetter {
 public:
  struct Descriptor {
    std::string full_name() const { return "post.ChainLetter"; }
  };
  static const Descriptor* descriptor() {
    static const Descriptor descriptor;
    return &descriptor;
  }
  bool SerializeToString(std::string* /*out*/) const { return true; }
  bool ParseFromArray(const void* /*data*/, int /*size*/) {
    on_arrival();
    return true;
  }
  size_t ByteSizeLong() const { return 1; }

  static inline std::function<void()> on_arrival;
};

// Reads none of them.
class Unread final : public Actor {
 public:
  Mailbox<"chain", ChainLetter> chain{this, {.capacity_messages = 2, .overflow = Overflow::kDropOldest}};
  StartResult Start() override {
    return Behavior("closed", After(absl::InfiniteDuration(), [] {}));
  }
};

TEST_F(RouterTest, MessagesThatAreOnlySortedAndDroppedEndATurnInTimeToo) {
  constexpr int kAll = 10'000;
  const Ref<Unread> unread = system().Spawn<Unread>();
  system().RunUntilIdle();
  int arrived = 0;
  ChainLetter::on_arrival = [&] {
    if (++arrived < kAll) EXPECT_TRUE(Deliver(unread[&Unread::chain], "next").ok());
  };
  EXPECT_TRUE(Deliver(unread[&Unread::chain], "first").ok());
  EXPECT_TRUE(Deliver(unread[&Unread::chain], "second").ok());
  EXPECT_TRUE(Deliver(unread[&Unread::chain], "third").ok()) << "one too many: it wakes";
  EXPECT_TRUE(system().seeded_executor().RunOne());
  EXPECT_GT(arrived, 3);
  EXPECT_LT(arrived, 500) << "in one turn";
  system().RunUntilIdle();
  EXPECT_GE(arrived, kAll);
  ChainLetter::on_arrival = nullptr;
}

}  // namespace
}  // namespace understudy
