// Waiting for room in a mailbox: co_await channel.SendWhenRoom(m, timeout) (semantics 3.9).
#include <cstdint>
#include <memory>
#include <string>
#include <utility>
#include <vector>

#include "absl/status/status.h"
#include "absl/status/statusor.h"
#include "absl/strings/str_cat.h"
#include "absl/time/time.h"
#include "absl/types/optional.h"
#include "gmock/gmock.h"
#include "gtest/gtest.h"
#include "understudy/actors/actor.h"
#include "understudy/actors/actor_system.h"
#include "understudy/actors/error.h"
#include "understudy/actors/internal/turn/actor_core.h"
#include "understudy/actors/limits.h"
#include "understudy/actors/message.h"
#include "understudy/actors/pending_group.h"
#include "understudy/actors/pid.h"
#include "understudy/actors/random.h"
#include "understudy/actors/room.h"
#include "understudy/actors/router.h"
#include "understudy/actors/test_system.h"
#include "understudy/actors/testing/actor_test.h"
#include "understudy/actors/testing/seeds.h"
#include "understudy/tests/actors/script.h"

namespace understudy {
namespace {

using ::testing::ElementsAre;
using ::testing::HasSubstr;
using ::testing::IsEmpty;
using ::testing::SizeIs;
using ::testing::UnorderedElementsAre;

using Box = std::unique_ptr<int>;  // cannot be copied: it is here or there

// Takes from `box` only as often as it was told by `take`.
class Receiver final : public Actor {
 public:
  Mailbox<"box", Box> box;
  Mailbox<"other", Box> other{this, {.capacity_messages = 1}};
  Mailbox<"take", int> take{this};
  explicit Receiver(std::vector<int>* taken, MailboxOptions options = {.capacity_messages = 1})
      : box(this, options), taken_(taken) {}
  StartResult Start() override { return open_; }

 private:
  void Take(int n) { left_ += n; }
  void Open(Box opened) {
    --left_;
    taken_->push_back(*opened);
  }
  bool MayTake() const { return left_ > 0; }
  int left_ = 0;
  std::vector<int>* taken_;
  Behavior open_{"open", On(box, &Receiver::Open).When(&Receiver::MayTake), On(take, &Receiver::Take)};
};

class SendWhenRoomTest : public ActorTest {
 protected:
  SendWhenRoomTest() { system().RunUntilIdle(); }
  // A new actor sends `value` and notes what became of it.
  Ref<Script> Send(int value, absl::Duration timeout = absl::Hours(1)) {
    return SendTo(receiver_[&Receiver::box], value, timeout);
  }
  Ref<Script> SendTo(Channel<Box> to, int value, absl::Duration timeout) {
    Ref<Script> sender = system().Spawn<Script>(nullptr, nullptr, &notes_);
    RunTask(sender, [=](Script& self) -> Task<> {
      auto sending = to.SendWhenRoom(std::make_unique<int>(value), timeout);
      absl::Status sent = co_await sending;
      std::string note = absl::StrCat(value, " ", absl::StatusCodeToString(sent.code()));
      if (!sent.ok()) absl::StrAppend(&note, ", has ", *std::move(sending).TakeMessage());
      self.Note(std::move(note));
      EXPECT_EQ(internal::ActorCore::OfThisTurn().parts().asks().size(), 0U);
    });
    system().RunUntilIdle();
    return sender;
  }
  void Take(int n) {
    receiver_[&Receiver::take].Tell(n);
    system().RunUntilIdle();
  }

  std::vector<std::string> notes_;
  std::vector<int> taken_;
  Ref<Receiver> receiver_ = system().Spawn<Receiver>(&taken_);
};

TEST_F(SendWhenRoomTest, WhereThereIsRoomItSendsAtOnce) {
  Send(1);
  EXPECT_THAT(notes_, ElementsAre("1 OK"));
  Take(1);
  EXPECT_THAT(taken_, ElementsAre(1));
}

TEST_F(SendWhenRoomTest, WaitsUntilThereIsRoomAndComesInOrder) {
  for (int i = 1; i <= 4; ++i) Send(i);
  EXPECT_THAT(notes_, ElementsAre("1 OK"));
  Take(1);
  EXPECT_THAT(notes_, ElementsAre("1 OK", "2 OK"));
  Take(2);
  EXPECT_THAT(notes_, UnorderedElementsAre("1 OK", "2 OK", "3 OK", "4 OK"));
  Take(2);
  EXPECT_THAT(taken_, ElementsAre(1, 2, 3, 4));
}

TEST_F(SendWhenRoomTest, AWaitingSenderIsNotPolled) {
  const auto steps_of_half_an_hour = [&] {
    const int64_t before = system().seeded_executor().steps();
    system().Advance(absl::Minutes(30));
    return system().seeded_executor().steps() - before;
  };
  Send(1);
  const int64_t idle = steps_of_half_an_hour();
  Send(2);
  Send(3);
  EXPECT_EQ(steps_of_half_an_hour(), idle) << "nobody polls";
  Take(3);
  EXPECT_THAT(taken_, ElementsAre(1, 2, 3));
}

TEST_F(SendWhenRoomTest, AnotherMailboxIsAnotherQueue) {
  Send(1);
  Send(2);
  SendTo(receiver_[&Receiver::other], 3, absl::Hours(1));
  EXPECT_THAT(notes_, ElementsAre("1 OK", "3 OK"));
}

// A message whose size is `bytes`.
struct Load {
  size_t bytes = 0;
};
size_t MessageBytes(const Load& load) { return load.bytes; }
class Hold final : public Actor {
 public:
  Mailbox<"load", Load> load{this, {.capacity_bytes = 100}};
  Mailbox<"open", int> open{this};
  StartResult Start() override { return closed_; }

 private:
  Behavior closed_{"closed", On(open, [this](int) { return open_; })};
  Behavior open_{"open", On(load, [] {})};
};

class SendLoadWhenRoomTest : public SendWhenRoomTest {
 protected:
  SendLoadWhenRoomTest() { system().RunUntilIdle(); }
  void Send(size_t bytes, absl::Duration timeout = absl::Hours(1)) {
    RunTask(system().Spawn<Script>(nullptr, nullptr, &notes_), [=, this](Script& self) -> Task<> {
      auto sending = hold_[&Hold::load].SendWhenRoom(Load{bytes}, timeout);
      const absl::Status sent = co_await sending;
      self.Note(absl::StrCat(bytes, " ", absl::StatusCodeToString(sent.code())));
    });
    system().RunUntilIdle();
  }
  Ref<Hold> hold_ = system().Spawn<Hold>();
};

TEST_F(SendLoadWhenRoomTest, AMessageLargerThanTheCapacityWaitsUntilTheMailboxIsEmpty) {
  Send(200);
  EXPECT_THAT(notes_, ElementsAre("200 OK"));
  Send(20);   // waits
  Send(201);  // behind it
  Send(30);
  EXPECT_THAT(notes_, ElementsAre("200 OK"));
  hold_[&Hold::open].Tell(1);
  system().RunUntilIdle();
  EXPECT_THAT(notes_, UnorderedElementsAre("200 OK", "20 OK", "201 OK", "30 OK"));
}

TEST_F(SendLoadWhenRoomTest, WhenALargeMessageGivesUpThoseBehindItThatFitAreSent) {
  Send(60);
  Send(90, absl::Seconds(1));  // waits
  Send(30);                    // behind it
  EXPECT_THAT(notes_, ElementsAre("60 OK"));
  system().Advance(absl::Seconds(1));
  EXPECT_THAT(notes_, UnorderedElementsAre("60 OK", "90 DEADLINE_EXCEEDED", "30 OK"));
}

TEST_F(SendWhenRoomTest, ExpiresAndGivesTheMessageBack) {
  Send(1);
  Send(2, absl::Seconds(5));
  system().Advance(absl::Milliseconds(4999));
  EXPECT_THAT(notes_, ElementsAre("1 OK"));
  system().Advance(absl::Milliseconds(1));
  EXPECT_THAT(notes_, ElementsAre("1 OK", "2 DEADLINE_EXCEEDED, has 2"));
  Take(2);
  EXPECT_THAT(taken_, ElementsAre(1)) << "it was never sent";
}

TEST_F(SendWhenRoomTest, WhoGivesUpDoesNotHoldUpTheOthers) {
  Send(1);
  Send(2, absl::Seconds(5));
  Ref<Script> ends = Send(3);
  Send(4);
  system().Advance(absl::Seconds(5));
  system().Kill(ends.pid());
  system().RunUntilIdle();
  Take(2);
  EXPECT_THAT(taken_, ElementsAre(1, 4));
}

TEST_F(SendWhenRoomTest, TheReceiversEndIsToldAtOnce) {
  Send(1);
  Send(2);
  Send(3);
  const MonotonicTime before = system().Now();
  system().Kill(receiver_.pid());
  system().RunUntilIdle();
  EXPECT_EQ(system().Now(), before);
  EXPECT_THAT(notes_, UnorderedElementsAre("1 OK", "2 NOT_FOUND, has 2", "3 NOT_FOUND, has 3"));
  Send(4);
  EXPECT_EQ(notes_.back(), "4 NOT_FOUND, has 4");
  EXPECT_EQ(Ledger().accepted, 1 + 4) << "the box that was sent, and four scripts";
}

TEST_F(SendWhenRoomTest, TheHandlersDeadlineIsTheLatest) {
  class Caller final : public Actor {
   public:
    Mailbox<"ask", Call<int, int>> ask{this};
    explicit Caller(Channel<Box> box) : box_(box) {}
    StartResult Start() override { return open_; }

   private:
    Task<absl::StatusOr<int>> Answer(int n) {
      auto sending = box_.SendWhenRoom(std::make_unique<int>(n), absl::Hours(1));
      absl::Status sent = co_await sending;
      sent_ = sent;
      co_return sent;
    }
    Channel<Box> box_;
    absl::Status sent_;
    Behavior open_{"open", On(ask, &Caller::Answer)};
  };
  Send(1);
  Ref<Caller> caller = system().Spawn<Caller>(receiver_[&Receiver::box]);
  EXPECT_TRUE(IsExpired(Ask(caller[&Caller::ask], 2, absl::Seconds(2)).status()));
  system().RunUntilIdle();
  EXPECT_EQ(Ledger().waiting, 1) << "its handler is over too";
}

TEST_F(SendWhenRoomTest, WaitingIsNoOverflow) {
  std::vector<int> taken;
  Ref<Receiver> strict =
      system().Spawn<Receiver>(&taken, MailboxOptions{.capacity_messages = 1, .overflow = Overflow::kFailActor});
  system().RunUntilIdle();
  SendTo(strict[&Receiver::box], 1, absl::Hours(1));
  SendTo(strict[&Receiver::box], 2, absl::Hours(1));
  EXPECT_EQ(Ledger().refused, 0);
  strict[&Receiver::take].Tell(2);
  system().RunUntilIdle();
  EXPECT_THAT(taken, ElementsAre(1, 2));
}

TEST_F(SendWhenRoomTest, ItWaitsAlsoForAnActorThatHasNotStarted) {
  std::vector<int> taken;
  Ref<Receiver> late = system().Spawn<Receiver>(&taken);
  for (int64_t i = 0; i < limits::kStartingMessagesMax; ++i) ASSERT_TRUE(late[&Receiver::take].Send(1).ok());
  // The sender's turn may come before the receiver's first: then all places are taken.
  SendTo(late[&Receiver::box], 1, absl::Hours(1));
  system().RunUntilIdle();
  EXPECT_THAT(notes_, ElementsAre("1 OK"));
  EXPECT_THAT(taken, ElementsAre(1));
}

// A node out there that has no room until the test says so.
class FullRouter final : public Router {
 public:
  absl::Status Send(const OutboundMessage&) override { return MakeError(ErrorKind::kFull, "the window is used up"); }
  void Post(Signal) override {}
  void Released(const ReleasedMessages&) override {}
  void AskBack(Pid, uint32_t) override {}
  absl::optional<absl::Status> SendOrWait(const OutboundMessage& message, uint64_t wait) override {
    waiting.push_back({.kind = SignalKind::kReply, .from = message.to, .to = message.from, .id = wait});
    return absl::nullopt;
  }
  absl::Status SendInRoom(const OutboundMessage& message, uint64_t wait) override {
    EXPECT_EQ(wait, waiting.at(0).id);
    sent.push_back(**static_cast<const Box*>(message.value));
    return absl::OkStatus();
  }
  void StopWaiting(Pid from, uint64_t wait) override {
    EXPECT_EQ(from, waiting.at(0).to);
    EXPECT_EQ(wait, waiting.at(0).id);
    ++given_up;
  }
  void EndWait(const RoomWait&, absl::Status) override {}

  std::vector<Signal> waiting;
  std::vector<int> sent;
  int given_up = 0;
};

class SendWhenRoomThereTest : public SendWhenRoomTest {
 protected:
  SendWhenRoomThereTest() { system().InstallRouter(&router_); }
  void TearDown() override {
    SendWhenRoomTest::TearDown();
    system().InstallRouter(nullptr);
  }
  void Answer(absl::Status status) {
    Signal reply{.kind = SignalKind::kReply,
                 .from = router_.waiting.at(0).from,
                 .to = router_.waiting.at(0).to,
                 .id = router_.waiting.at(0).id};
    reply.status = std::move(status);
    system().Deliver(std::move(reply));
    system().RunUntilIdle();
  }

  FullRouter router_;
  const Channel<Box> there_{Pid(*system().InternPeer("peer", NodeIncarnation{7}), 1, 1), 1};
};

TEST_F(SendWhenRoomThereTest, TheMessageStaysWithItsSenderUntilThereIsRoom) {
  SendTo(there_, 5, absl::Hours(1));
  EXPECT_THAT(router_.waiting, SizeIs(1));
  EXPECT_THAT(notes_, IsEmpty());
  EXPECT_THAT(router_.sent, IsEmpty());
  Answer(absl::OkStatus());
  EXPECT_THAT(router_.sent, ElementsAre(5));
  EXPECT_THAT(notes_, ElementsAre("5 OK"));
  EXPECT_EQ(router_.given_up, 0);
}

TEST_F(SendWhenRoomThereTest, AnErrorGivesTheMessageBack) {
  SendTo(there_, 5, absl::Hours(1));
  Answer(MakeError(ErrorKind::kNoProcess, "it ended"));
  EXPECT_THAT(notes_, ElementsAre(HasSubstr("has 5")));
  EXPECT_EQ(router_.given_up, 0);
}

TEST_F(SendWhenRoomThereTest, AWaitThatExpiresIsGivenUpAndGivesTheMessageBack) {
  SendTo(there_, 5, absl::Seconds(1));
  system().Advance(absl::Seconds(2));
  EXPECT_THAT(notes_, ElementsAre("5 DEADLINE_EXCEEDED, has 5"));
  EXPECT_EQ(router_.given_up, 1);
  Answer(absl::OkStatus());
  EXPECT_THAT(router_.sent, IsEmpty()) << "the answer came too late";
}

TEST_F(SendWhenRoomThereTest, ASenderThatEndsGivesUp) {
  Ref<Script> sender = SendTo(there_, 5, absl::Hours(1));
  system().Kill(sender.pid());
  system().RunUntilIdle();
  EXPECT_EQ(router_.given_up, 1);
}

TEST(SendWhenRoomDeathTest, APlainThreadDoesNotWaitForRoom) {
  EXPECT_DEATH(
      {
        internal::PendingId waits;
        absl::Status outcome;
        internal::SendOrWait(Channel<int>(Pid(), 1), internal::TypeOf<int>(), nullptr, absl::Seconds(1), waits,
                             outcome);
      },
      "SendWhenRoom on a plain thread; use Send there");
}

TEST(SendWhenRoomDeathTest, TakingBackAMessageThatWasSentDies) {
  TestSystem system;
  Ref<Script> script = system.Spawn<Script>();
  RunTask(script, [channel = script[&Script::note]](Script&) -> Task<> {
    auto sending = channel.SendWhenRoom("a note", absl::Seconds(1));
    if ((co_await sending).ok()) (void)std::move(sending).TakeMessage();
  });
  EXPECT_DEATH(system.RunUntilIdle(), "TakeMessage of a Sending whose message was accepted");
}

// Sends `count` numbers, each when there is room, and counts the refused ones.
Task<> Produce(Script& self, Channel<Box> to, int first, int count, absl::Duration timeout) {
  int refused = 0;
  for (int i = 0; i < count; ++i) {
    auto sending = to.SendWhenRoom(std::make_unique<int>(first + i), timeout);
    absl::Status sent = co_await sending;
    if (!sent.ok()) {
      EXPECT_TRUE(IsExpired(sent) || IsNoProcess(sent)) << sent;
      EXPECT_EQ(*std::move(sending).TakeMessage(), first + i);
      ++refused;
    }
  }
  self.Note(std::to_string(refused));
}

TEST(SendWhenRoomSeedsTest, EachMessageIsSentOnceInOrderOrGivenBack) {
  ForEachSeed(300, [](uint64_t seed) {
    TestSystem system(seed);
    Random random(seed);
    std::vector<int> taken;
    std::vector<std::string> notes;
    Ref<Receiver> receiver =
        system.Spawn<Receiver>(&taken, MailboxOptions{.capacity_messages = static_cast<int64_t>(1 + random.Below(3))});
    constexpr int kSenders = 4;
    constexpr int kEach = 10;
    std::vector<Ref<Script>> senders;
    for (int i = 0; i < kSenders; ++i) {
      senders.push_back(system.Spawn<Script>(nullptr, nullptr, &notes));
      RunTask(senders.back(), [=, box = receiver[&Receiver::box]](Script& self) {
        return Produce(self, box, i * 100, kEach, absl::Milliseconds(40));
      });
    }
    const bool kills = random.Below(3) == 0;
    for (int i = 0; i < 30; ++i) {
      receiver[&Receiver::take].Tell(static_cast<int>(random.Below(3)));
      system.Advance(absl::Milliseconds(random.Below(30)));
      if (kills && i == 10) system.Kill(senders[0].pid());
      if (kills && i == 20) system.Kill(receiver.pid());
    }
    receiver[&Receiver::take].Tell(1000);
    system.Advance(absl::Seconds(10));
    int refused = 0;
    for (const std::string& note : notes) refused += std::stoi(note);
    if (!kills) {
      EXPECT_EQ(notes.size(), 4U) << "each sender has come to its end";
      EXPECT_EQ(static_cast<int>(taken.size()) + refused, kSenders * kEach) << system.Ledger().ToString();
    }
    std::vector<int> last(kSenders, -1);
    for (const int value : taken) {
      EXPECT_GT(value % 100, last[static_cast<size_t>(value / 100)]) << "out of order";
      last[static_cast<size_t>(value / 100)] = value % 100;
    }
    ExpectNothingLost(system);
  });
}

TEST(SendWhenRoomThreadsTest, NoWakeUpIsLostOnThreads) {
  for (int round = 0; round < 10; ++round) {
    ActorSystem system({.threads = {.threads = 4}});
    class Sink final : public Actor {
     public:
      Mailbox<"box", Box> box{this, {.capacity_messages = 2}};
      Mailbox<"count", Call<int, int>> count{this};
      StartResult Start() override { return open_; }

     private:
      void Open(Box) { ++count_; }
      int count_ = 0;
      Behavior open_{"open", On(box, &Sink::Open), On(count, [this](int) { return count_; })};
    };
    class Source final : public Actor {
     public:
      Mailbox<"go", Call<int, int>> go{this};
      explicit Source(Channel<Box> to) : to_(to) {}
      StartResult Start() override { return open_; }

     private:
      Task<absl::StatusOr<int>> Go(int n) {
        for (int i = 0; i < n; ++i) {
          auto sending = to_.SendWhenRoom(std::make_unique<int>(i), absl::Minutes(5));
          absl::Status sent = co_await sending;
          if (!sent.ok()) co_return sent;
        }
        co_return n;
      }
      Channel<Box> to_;
      Behavior open_{"open", On(go, &Source::Go)};
    };
    // Asks all sources at once, so that they wait for room together.
    class Starter final : public Actor {
     public:
      Mailbox<"go", Call<int, int>> go{this};
      explicit Starter(std::vector<Channel<Call<int, int>>> sources) : sources_(std::move(sources)) {}
      StartResult Start() override { return open_; }

     private:
      Task<absl::StatusOr<int>> Go(int n) {
        auto asked = AskAll(sources_, n, absl::Minutes(5));
        auto all = All(asked);
        auto answers = co_await all;
        int sum = 0;
        for (const absl::StatusOr<int>& answer : answers) {
          if (!answer.ok()) co_return answer.status();
          sum += *answer;
        }
        co_return sum;
      }
      std::vector<Channel<Call<int, int>>> sources_;
      Behavior open_{"open", On(go, &Starter::Go)};
    };
    Ref<Sink> sink = system.Spawn<Sink>();
    std::vector<Channel<Call<int, int>>> sources;
    for (int i = 0; i < 6; ++i) sources.push_back(system.Spawn<Source>(sink[&Sink::box])[&Source::go]);
    Ref<Starter> starter = system.Spawn<Starter>(sources);
    absl::StatusOr<int> sent = system.Ask(starter[&Starter::go], 300, absl::Minutes(5));
    ASSERT_TRUE(sent.ok()) << sent.status();
    EXPECT_EQ(*sent, 1800);
    EXPECT_EQ(*system.Ask(sink[&Sink::count], 0, absl::Minutes(5)), 1800);
  }
}

}  // namespace
}  // namespace understudy
