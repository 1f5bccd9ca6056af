#include "understudy/actors/mailbox.h"

#include <array>
#include <memory>
#include <string>
#include <string_view>
#include <utility>
#include <vector>

#include "absl/status/status.h"
#include "absl/status/statusor.h"
#include "absl/strings/str_cat.h"
#include "absl/strings/string_view.h"
#include "absl/time/time.h"
#include "gmock/gmock.h"
#include "gtest/gtest.h"
#include "understudy/actors/actor.h"
#include "understudy/actors/limits.h"
#include "understudy/actors/mailbox_signature.h"
#include "understudy/actors/testing/actor_test.h"
#include "understudy/actors/testing/probe.h"
#include "understudy/tests/actors/script.h"

namespace understudy {

// A message that says how many bytes it holds.
struct Parcel {
  std::string content;
};
size_t MessageBytes(const Parcel& parcel) { return parcel.content.size(); }

namespace {

using ::testing::ElementsAre;
using ::testing::HasSubstr;
using ::testing::IsEmpty;
using ::testing::UnorderedElementsAre;

using MailboxTest = ActorTest;

// The mailbox `put` is closed until `open` comes. Tells `out` what it handles.
class Shelf final : public Actor {
 public:
  Mailbox<"put", Parcel> put;
  Mailbox<"ask", Call<Parcel, int>> ask;
  Mailbox<"open", int> open{this};

  explicit Shelf(Channel<std::string> out, MailboxOptions options = {})
      : put(this, options), ask(this, options), out_(out) {}
  StartResult Start() override { return closed_; }

 private:
  void Put(const Parcel& parcel) { out_.Tell(parcel.content); }
  int Answer(const Parcel& parcel) { return static_cast<int>(parcel.content.size()); }
  Behavior Open() { return open_; }

  Channel<std::string> out_;
  Behavior closed_{"closed", On(open, &Shelf::Open)};
  Behavior open_{"open", On(put, &Shelf::Put), On(ask, &Shelf::Answer)};
};

// Asks `shelf` for each thing that it is told to want, and tells `out` the answer or the error.
class Customer final : public Actor {
 public:
  Mailbox<"want", std::string> want{this};
  Customer(Channel<Call<Parcel, int>> shelf, Channel<std::string> out) : shelf_(shelf), out_(out) {}
  StartResult Start() override { return wanting_; }

 private:
  Task<> Want(std::string what) {
    auto asked = shelf_.Ask({what}, absl::Seconds(10));
    absl::StatusOr<int> answer = co_await asked;
    out_.Tell(what + ": " + (answer.ok() ? "OK" : std::string(answer.status().message())));
  }
  Channel<Call<Parcel, int>> shelf_;
  Channel<std::string> out_;
  Behavior wanting_{"wanting", On(want, &Customer::Want).Interleaved()};
};

TEST_F(MailboxTest, AClosedMailboxAcceptsUpToItsCapacityInMessages) {
  // semantics 1.1, 2.3
  Probe<std::string> out(system());
  Ref<Shelf> shelf = system().Spawn<Shelf>(out.channel(), MailboxOptions{.capacity_messages = 2});
  system().RunUntilIdle();
  EXPECT_TRUE(shelf[&Shelf::put].Send({"a"}).ok());
  EXPECT_TRUE(shelf[&Shelf::put].Send({"b"}).ok());
  const absl::Status full = shelf[&Shelf::put].Send({"c"});
  EXPECT_TRUE(IsFull(full)) << full;
  EXPECT_THAT(std::string(full.message()), HasSubstr("mailbox put holds 2 messages"));
  out.ExpectNothing();
  shelf[&Shelf::open].Tell(1);
  EXPECT_THAT(out.ReceiveAll(), ElementsAre("a", "b"));
  EXPECT_TRUE(shelf[&Shelf::put].Send({"d"}).ok());
  out.Expect("d");
  EXPECT_EQ(Ledger().refused, 1);
}

TEST_F(MailboxTest, CapacityIsInBytesToo) {
  // semantics 2.6
  Probe<std::string> out(system());
  Ref<Shelf> shelf = system().Spawn<Shelf>(out.channel(), MailboxOptions{.capacity_bytes = 10});
  system().RunUntilIdle();
  EXPECT_TRUE(shelf[&Shelf::put].Send({"123456"}).ok());
  const absl::Status full = shelf[&Shelf::put].Send({"12345"});
  EXPECT_TRUE(IsFull(full)) << full;
  EXPECT_THAT(std::string(full.message()), HasSubstr("6 bytes, and 5 more exceed its capacity of 10"));
  EXPECT_TRUE(shelf[&Shelf::put].Send({"1234"}).ok());
  shelf[&Shelf::open].Tell(1);
  EXPECT_EQ(out.ReceiveAll().size(), 2U);
  EXPECT_TRUE(shelf[&Shelf::put].Send({"1234567890"}).ok());
  EXPECT_TRUE(IsFull(shelf[&Shelf::put].Send({"12345678901"}))) << "it is not empty";
}

// A mailbox for what cannot be copied.
class Vault final : public Actor {
 public:
  Mailbox<"keep", std::unique_ptr<int>> keep{this, {.capacity_messages = 1}};
  Mailbox<"text", std::string> text{this, {.capacity_messages = 1}};
  StartResult Start() override {
    return Behavior("closed", After(absl::InfiniteDuration(), [] {}));
  }
};

TEST_F(MailboxTest, ARefusedMessageIsStillTheSenders) {
  // semantics 1.1
  Ref<Vault> vault = system().Spawn<Vault>();
  system().RunUntilIdle();
  auto first = std::make_unique<int>(1);
  EXPECT_TRUE(vault[&Vault::keep].Send(std::move(first)).ok());
  EXPECT_EQ(first, nullptr);  // NOLINT: accepted, and so moved from
  auto second = std::make_unique<int>(2);
  EXPECT_TRUE(IsFull(vault[&Vault::keep].Send(std::move(second))));
  ASSERT_NE(second, nullptr);  // NOLINT: refused, and so unchanged
  EXPECT_EQ(*second, 2);

  std::string text(100, 'x');
  EXPECT_TRUE(vault[&Vault::text].Send(text).ok());
  EXPECT_EQ(text.size(), 100U);
  EXPECT_TRUE(IsFull(vault[&Vault::text].Send(std::move(text))));
  EXPECT_EQ(text.size(), 100U);  // NOLINT: refused, and so unchanged
  system().Kill(vault.pid());
  system().RunUntilIdle();
  EXPECT_TRUE(IsNoProcess(vault[&Vault::keep].Send(std::move(second))));
  EXPECT_NE(second, nullptr);  // NOLINT: refused, and so unchanged
}

TEST_F(MailboxTest, DropOldestKeepsTheNewestAndRefusesAtTwiceTheCapacity) {
  // semantics 2.6
  Probe<std::string> out(system());
  Ref<Shelf> shelf =
      system().Spawn<Shelf>(out.channel(), MailboxOptions{.capacity_messages = 2, .overflow = Overflow::kDropOldest});
  system().RunUntilIdle();
  for (const char* content : {"a", "b", "c", "d"}) EXPECT_TRUE(shelf[&Shelf::put].Send({content}).ok());
  const absl::Status full = shelf[&Shelf::put].Send({"e"});
  EXPECT_TRUE(IsFull(full)) << full << ": the receiver has had no turn";
  EXPECT_THAT(std::string(full.message()), HasSubstr("holds 4 messages, twice its capacity"));
  system().RunUntilIdle();  // a full one wakes its closed actor
  EXPECT_EQ(Ledger().of(Disposition::kDropped), 2);
  EXPECT_TRUE(shelf[&Shelf::put].Send({"f"}).ok());
  shelf[&Shelf::open].Tell(1);
  EXPECT_THAT(out.ReceiveAll(), ElementsAre("d", "f"));
}

TEST_F(MailboxTest, DropOldestBoundsBytesToo) {
  Probe<std::string> out(system());
  Ref<Shelf> shelf =
      system().Spawn<Shelf>(out.channel(), MailboxOptions{.capacity_bytes = 4, .overflow = Overflow::kDropOldest});
  system().RunUntilIdle();
  EXPECT_TRUE(shelf[&Shelf::put].Send({"aaa"}).ok());
  EXPECT_TRUE(IsFull(shelf[&Shelf::put].Send({"12345"}))) << "it fits only an empty one";
  EXPECT_TRUE(shelf[&Shelf::put].Send({"bbb"}).ok());
  EXPECT_TRUE(IsFull(shelf[&Shelf::put].Send({"ccc"}))) << "twice the capacity, and no turn";
  system().RunUntilIdle();
  EXPECT_EQ(Ledger().of(Disposition::kDropped), 1);
  shelf[&Shelf::open].Tell(1);
  EXPECT_THAT(out.ReceiveAll(), ElementsAre("bbb"));
}

// An actor like Shelf, of which for a second no mailbox is open, or the only handler awaits.
class Sleeper final : public Actor {
 public:
  Mailbox<"put", Parcel> put{this, {.capacity_messages = 2, .overflow = Overflow::kDropOldest}};
  Mailbox<"ask", Call<int, int>> ask{this, {.capacity_messages = 1, .overflow = Overflow::kDropOldest}};
  Mailbox<"sleep", int> sleep{this};
  Sleeper(Channel<std::string> out, Channel<Call<int, int>> silent) : out_(out), silent_(silent) {}
  StartResult Start() override { return awake_; }

 private:
  Task<> Sleep(int) {
    auto asked = silent_.Ask(1, absl::Seconds(1));
    (void)co_await asked;
  }
  Behavior Doze(int) { return dozing_; }
  const Channel<std::string> out_;
  const Channel<Call<int, int>> silent_;
  Behavior awake_{"awake", On(put, [this](const Parcel& parcel) { out_.Tell(parcel.content); }),
                  On(ask, [](int n) { return n; }), On(sleep, &Sleeper::Sleep).If([](int n) { return n == 1; }),
                  On(sleep, &Sleeper::Doze)};
  Behavior dozing_{"dozing", After(absl::Seconds(1), [this] { return awake_; })};
};

TEST_F(MailboxTest, AFullOneThatDropsTheOldestWakesAnActorThatHasNothingOpen) {
  // semantics 2.5
  for (const int how : {1, 2}) {
    Probe<std::string> out(system());
    Probe<Call<int, int>> silent(system());
    Ref<Sleeper> sleeper = system().Spawn<Sleeper>(out.channel(), silent.channel());
    sleeper[&Sleeper::sleep].Tell(how);
    system().RunUntilIdle();
    for (const char* content : {"a", "b", "c", "d", "e", "f"}) {
      EXPECT_TRUE(sleeper[&Sleeper::put].Send({content}).ok()) << content;
      system().RunUntilIdle();
    }
    system().Advance(absl::Seconds(1));
    EXPECT_THAT(out.ReceiveAll(), ElementsAre("e", "f"));
  }
}

TEST_F(MailboxTest, TheAskerOfACallThatIsDroppedIsToldWhileNothingIsOpen) {
  Probe<std::string> out(system());
  Probe<Call<int, int>> silent(system());
  Ref<Sleeper> sleeper = system().Spawn<Sleeper>(out.channel(), silent.channel());
  sleeper[&Sleeper::sleep].Tell(1);
  for (int i = 1; i <= 2; ++i) {
    RunTask(system().Spawn<Script>(), [&, i](Script&) -> Task<> {
      auto asked = sleeper[&Sleeper::ask].Ask(i, absl::Hours(1));
      const absl::StatusOr<int> answer = co_await asked;
      out.channel().Tell(answer.ok() ? absl::StrCat(*answer) : std::string(answer.status().message()));
    });
    system().RunUntilIdle();
  }
  out.Expect(HasSubstr("Full: dropped from full mailbox ask"));
  system().Advance(absl::Seconds(1));
  out.Expect("2");
}

TEST_F(MailboxTest, TheAskerOfADroppedCallIsToldAtOnce) {
  // semantics 1.5
  Probe<std::string> out(system());
  Probe<std::string> shelf_out(system());
  Ref<Shelf> shelf = system().Spawn<Shelf>(shelf_out.channel(),
                                           MailboxOptions{.capacity_messages = 1, .overflow = Overflow::kDropOldest});
  Ref<Customer> customer = system().Spawn<Customer>(shelf[&Shelf::ask], out.channel());
  system().RunUntilIdle();
  customer[&Customer::want].Tell("a");
  customer[&Customer::want].Tell("b");
  out.Expect(HasSubstr("a: Full: dropped from full mailbox ask"));
  shelf[&Shelf::open].Tell(1);
  out.Expect("b: OK");
}

TEST_F(MailboxTest, AFullMailboxMayFailItsActor) {
  Probe<std::string> out(system());
  Ref<Shelf> shelf =
      system().Spawn<Shelf>(out.channel(), MailboxOptions{.capacity_messages = 1, .overflow = Overflow::kFailActor});
  system().RunUntilIdle();
  const ExitReason reason = EndOf(shelf.pid(), [&] {
    EXPECT_TRUE(shelf[&Shelf::put].Send({"a"}).ok());
    EXPECT_TRUE(IsFull(shelf[&Shelf::put].Send({"b"})));
    EXPECT_TRUE(shelf[&Shelf::put].Send({"c"}).code() != absl::StatusCode::kNotFound) << "it ends in its own turn";
  });
  EXPECT_EQ(reason.kind(), ExitReason::Kind::kOverflow);
  EXPECT_TRUE(IsNoProcess(shelf[&Shelf::put].Send({"c"})));
}

TEST_F(MailboxTest, AMessageExpiresAfterItsTimeToLive) {
  Probe<std::string> out(system());
  Ref<Shelf> shelf = system().Spawn<Shelf>(out.channel(), MailboxOptions{.time_to_live = absl::Seconds(2)});
  system().RunUntilIdle();
  shelf[&Shelf::put].Tell({"old"});
  system().Advance(absl::Seconds(1));
  shelf[&Shelf::put].Tell({"new"});
  system().Advance(absl::Seconds(1));
  shelf[&Shelf::open].Tell(1);
  EXPECT_THAT(out.ReceiveAll(), ElementsAre("new"));
  EXPECT_EQ(Ledger().of(Disposition::kExpired), 1);
}

TEST_F(MailboxTest, ACallThatHasOutlivedItsTimeInAClosedMailboxIsAnsweredExpiredAtOnce) {
  // semantics 1.5
  Probe<std::string> out(system());
  Probe<std::string> shelf_out(system());
  Ref<Shelf> shelf = system().Spawn<Shelf>(shelf_out.channel(), MailboxOptions{.time_to_live = absl::Seconds(2)});
  Ref<Customer> customer = system().Spawn<Customer>(shelf[&Shelf::ask], out.channel());
  customer[&Customer::want].Tell("a");
  system().Advance(absl::Seconds(1));
  customer[&Customer::want].Tell("b");
  system().Advance(absl::Milliseconds(999));
  EXPECT_THAT(out.ReceiveAll(), IsEmpty());
  system().Advance(absl::Milliseconds(1));
  out.Expect(HasSubstr("a: Expired: the message waited in mailbox ask longer than its time to live of 2s"));
  system().Advance(absl::Seconds(1));
  out.Expect(HasSubstr("b: Expired"));
}

// Two closed mailboxes that hold a call each.
class TwoCalls final : public Actor {
 public:
  static constexpr MailboxOptions kOptions = {.capacity_messages = 1, .time_to_live = absl::Seconds(1)};
  Mailbox<"left", Call<int, int>> left{this, kOptions};
  Mailbox<"right", Call<int, int>> right{this, kOptions};
  StartResult Start() override {
    return Behavior("closed", After(absl::InfiniteDuration(), [] {}));
  }
};

TEST_F(MailboxTest, ExpiredCallsLeaveEachFullMailboxThatACallFindsFull) {
  Ref<TwoCalls> calls = system().Spawn<TwoCalls>();
  system().RunUntilIdle();
  std::vector<std::string> answers;
  for (const auto& channel : {calls[&TwoCalls::left], calls[&TwoCalls::right]}) {
    RunTask(system().Spawn<Script>(), [&answers, channel](Script&) -> Task<> {
      auto asked = channel.Ask(1, absl::Hours(1));
      const absl::StatusOr<int> answer = co_await asked;
      answers.emplace_back(answer.status().message());
    });
  }
  system().Advance(absl::Seconds(2));
  // Both in one turn: the callee has none between them.
  Do(system().Spawn<Script>(), [&](Script&) {
    (void)calls[&TwoCalls::left].Ask(1, absl::Seconds(1));
    (void)calls[&TwoCalls::right].Ask(1, absl::Seconds(1));
  });
  system().RunUntilIdle();
  EXPECT_THAT(answers, UnorderedElementsAre(HasSubstr("Expired: the message waited in mailbox left"),
                                            HasSubstr("Expired: the message waited in mailbox right")));
}

TEST_F(MailboxTest, MailForAClosedMailboxDoesNotWakeItsActor) {
  // semantics 2.5
  Probe<std::string> out(system());
  Ref<Shelf> shelf = system().Spawn<Shelf>(out.channel());
  system().RunUntilIdle();
  shelf[&Shelf::put].Tell({"a"});
  EXPECT_FALSE(system().seeded_executor().RunOne());
  EXPECT_EQ(Ledger().waiting, 1);
  shelf[&Shelf::open].Tell(1);
  EXPECT_TRUE(system().seeded_executor().RunOne());
  out.Expect("a");
}

TEST_F(MailboxTest, AChannelOfAnotherNameOrTypeIsRefusedWithNoMailbox) {
  Probe<std::string> out(system());
  Ref<Shelf> shelf = system().Spawn<Shelf>(out.channel());
  system().RunUntilIdle();
  const Pid pid = shelf.pid();
  const uint32_t put = shelf[&Shelf::put].mailbox();
  const uint32_t ask = shelf[&Shelf::ask].mailbox();
  const absl::Status unknown = Channel<Parcel>(pid, internal::MailboxNames::Intern("get")).Send({"a"});
  EXPECT_TRUE(IsNoMailbox(unknown)) << unknown;
  EXPECT_THAT(std::string(unknown.message()), HasSubstr("no mailbox get that takes understudy::Parcel"));
  EXPECT_TRUE(IsNoMailbox(Channel<int>(pid, put).Send(1))) << "another type";
  EXPECT_TRUE(IsNoMailbox(Channel<Parcel>(pid, ask).Send({"a"}))) << "a tell to a call's mailbox";
  const absl::Status call = Ask(Channel<Call<Parcel, int>>(pid, put), Parcel{"a"}).status();
  EXPECT_TRUE(IsNoMailbox(call)) << call;
}

TEST_F(MailboxTest, NobodysChannelsAreRefused) {
  EXPECT_TRUE(IsNoProcess(Channel<int>().Send(1)));
  EXPECT_TRUE(IsNoProcess(Ref<Vault>()[&Vault::text].Send("x")));
  EXPECT_TRUE(IsNoName(Channel<int>(Pid::Unnamed(), 1).Send(1)));
  EXPECT_TRUE(IsNoProcess(Channel<int>(Pid(system().node(), 100000, 9), 1).Send(1))) << "a cell that never was";
  EXPECT_TRUE(IsNoProcess(Ask(Channel<Call<int, int>>(), 1).status()));
}

TEST_F(MailboxTest, AChannelOutlivesItsSystemHarmlessly) {
  Channel<std::string> channel;
  {
    TestSystem other(2, "other");
    channel = other.Spawn<Vault>()[&Vault::text];
    EXPECT_TRUE(channel.Send("x").ok());
  }
  EXPECT_TRUE(IsNoProcess(channel.Send("x")));
  channel.Tell("x");
}

TEST_F(MailboxTest, AChannelOfAnotherSystemIsRefusedInsideATurn) {
  TestSystem other(2, "other");
  Probe<std::string> theirs(other);
  Ref<Shelf> shelf = system().Spawn<Shelf>(theirs.channel());
  shelf[&Shelf::open].Tell(1);
  shelf[&Shelf::put].Tell({"a"});
  system().RunUntilIdle();
  ASSERT_EQ(dead_letters().size(), 1U);
  EXPECT_TRUE(IsNoProcess(dead_letters()[0].why)) << dead_letters()[0].why;
  theirs.ExpectNothing();
  ExpectNothingLost(other);
}

// Sends to itself while it ends.
class Stubborn final : public Actor {
 public:
  Mailbox<"text", std::string> text{this};
  explicit Stubborn(std::shared_ptr<absl::Status> sent) : sent_(std::move(sent)) {}
  StartResult Start() override {
    return Behavior("working", On(text, [] {}));
  }
  void OnExit(const ExitReason&) override { *sent_ = context().Send(text, "x"); }

 private:
  std::shared_ptr<absl::Status> sent_;
};

TEST_F(MailboxTest, AnEndingActorAnswersStopping) {
  auto sent = std::make_shared<absl::Status>();
  Ref<Stubborn> stubborn = system().Spawn<Stubborn>(sent);
  system().Exit(stubborn.pid(), ExitReason::Shutdown());
  system().RunUntilIdle();
  EXPECT_TRUE(IsStopping(*sent)) << *sent;
}

class Twins final : public Actor {
 public:
  Mailbox<"same", int> one{this};
  Mailbox<"same", int> other{this};
  StartResult Start() override {
    return Behavior("x", On(one, [] {}));
  }
};

class Hoarder final : public Actor {
 public:
  struct Box : Mailbox<"box", int> {
    explicit Box(Hoarder* owner) : Mailbox(owner) {}
  };
  Mailbox<"first", int> first{this};
  // Each of another name.
  template <size_t... kNumbers>
  explicit Hoarder(std::index_sequence<kNumbers...>) {
    (boxes_.push_back(std::make_shared<Mailbox<kName<kNumbers>, int>>(this)), ...);
  }
  StartResult Start() override {
    return Behavior("x", On(first, [] {}));
  }

 private:
  template <size_t kNumber>
  static constexpr internal::FixedString<3> kName{
      {static_cast<char>('a' + kNumber / 8), static_cast<char>('a' + kNumber % 8), '\0'}};
  std::vector<std::shared_ptr<void>> boxes_;
};

TEST_F(MailboxTest, AnActorHasAtMostSixtyFourMailboxes) {
  Ref<Hoarder> hoarder = system().Spawn<Hoarder>(std::make_index_sequence<63>());
  EXPECT_TRUE(hoarder[&Hoarder::first].Send(1).ok());
  system().RunUntilIdle();
  EXPECT_EQ(system().live_actors(), 1);
}

TEST(MailboxDeathTest, AProgrammersErrorsAreChecks) {
  EXPECT_DEATH(Vault(), "made by Spawn, not directly");
  EXPECT_DEATH(
      {
        TestSystem system;
        system.Spawn<Twins>();
        system.RunUntilIdle();
      },
      "two mailboxes same");
  EXPECT_DEATH(
      {
        TestSystem system;
        system.Spawn<Hoarder>(std::make_index_sequence<64>());
        system.RunUntilIdle();
      },
      "one too many: an actor has at most 64");
}

class Post : public Actor {
 public:
  static constexpr std::string_view kService = "city.Post";  // not Abseil's own type
  Mailbox<"Deliver", int> deliver{this};
  StartResult Start() override {
    return Behavior("x", On(deliver, [] {}));
  }
};

TEST_F(MailboxTest, TheWireNameBeginsWithTheService) {
  // semantics 2.10
  EXPECT_EQ(SignatureOf(&Post::deliver).name, "city.Post/Deliver");
  EXPECT_EQ(SignatureOf(&Vault::text).name, "text");
  EXPECT_EQ(Ref<Post>()[&Post::deliver].mailbox(), internal::Fnv1a("city.Post/Deliver"));
}

}  // namespace
}  // namespace understudy
