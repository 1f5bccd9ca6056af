// Fencing: the kill of an actor whose handler does not return (semantics 5.11). The handler is held by the seeded
// executor, or on a real thread until the test releases it.
#include <atomic>
#include <functional>
#include <memory>
#include <optional>
#include <string>
#include <utility>
#include <vector>

#include "absl/status/status.h"
#include "absl/status/statusor.h"
#include "absl/strings/str_cat.h"
#include "absl/synchronization/notification.h"
#include "absl/time/time.h"
#include "gmock/gmock.h"
#include "gtest/gtest.h"
#include "understudy/actors/actor.h"
#include "understudy/actors/actor_system.h"
#include "understudy/actors/dead_letters.h"
#include "understudy/actors/error.h"
#include "understudy/actors/log_sink.h"
#include "understudy/actors/test_system.h"
#include "understudy/actors/testing/probe.h"

namespace understudy {
namespace {

using ::testing::HasSubstr;

struct Work {};

// Notes of the hog's handler after it went on, and of other actors about the hog.
struct Seen {
  std::vector<std::string> notes;
  void Note(std::string note) { notes.push_back(std::move(note)); }
};

// The handler blocks in `hold`, and then sends, registers, starts a timer and spawns.
class Hog final : public Actor {
 public:
  Mailbox<"work", Call<Work, int>> work{this};
  Mailbox<"tell", int> tell{this};
  Hog(std::function<void()> hold, Channel<int> out, std::shared_ptr<Seen> seen)
      : hold_(std::move(hold)), out_(out), seen_(std::move(seen)) {}
  ~Hog() override { seen_->Note("destroyed"); }
  StartResult Start() override {
    if (absl::Status taken = context().Register("hog"); !taken.ok()) return taken;
    return hogging_;
  }
  void OnExit(const ExitReason& /*reason*/) override { seen_->Note("OnExit"); }

 private:
  int DoWork(const Work& /*work*/) {
    hold_();
    seen_->Note(absl::StrCat("send: ", absl::StatusCodeToString(out_.Send(1).code())));
    seen_->Note(absl::StrCat("register: ", absl::StatusCodeToString(context().Register("another").code())));
    seen_->Note(
        absl::StrCat("timer: ", absl::StatusCodeToString(context().StartTimer("t", absl::Seconds(1), [] {}).code())));
    seen_->Note(context().Spawn<Hog>(hold_, out_, seen_).pid().is_null() ? "spawn: nobody" : "spawn: somebody");
    return 7;
  }
  void Tell(int /*n*/) { seen_->Note("handled after its death"); }

  const std::function<void()> hold_;
  const Channel<int> out_;
  const std::shared_ptr<Seen> seen_;
  Behavior hogging_{"hogging", On(work, &Hog::DoWork), On(tell, &Hog::Tell)};
};

// Asks the hog, and watches it.
class Client final : public Actor {
 public:
  Mailbox<"from_hog", int> from_hog{this};
  Mailbox<"ask", Ref<Hog>> ask{this};
  Client(std::shared_ptr<Seen> seen, absl::Notification* told) : seen_(std::move(seen)), told_(told) {}
  StartResult Start() override { return asking_; }

 private:
  Task<> Ask(Ref<Hog> hog) {
    watch_ = context().Monitor(hog, &Client::HogDown);
    auto asked = hog[&Hog::work].Ask({}, absl::Hours(1));
    absl::StatusOr<int> answer = co_await asked;
    seen_->Note(absl::StrCat("answer: ", answer.ok() ? "7" : std::string(answer.status().message())));
  }
  void HogDown(const Down& down) {
    seen_->Note(absl::StrCat("down: ", down.reason.ToString()));
    EXPECT_TRUE(down.reason.handler_running());
    if (told_ != nullptr) told_->Notify();
  }

  const std::shared_ptr<Seen> seen_;
  absl::Notification* const told_;
  MonitorHandle watch_;
  Behavior asking_{"asking", On(from_hog, [] {}), On(ask, &Client::Ask)};
};

std::string DownText() { return absl::StrCat("down: ", ExitReason::KilledHandlerRunning().ToString()); }

// The notes that follow after other actors were told of the hog's end.
std::vector<std::string> AfterItsDeath() {
  return {"send: CANCELLED", "register: CANCELLED", "timer: CANCELLED", "spawn: nobody", "destroyed"};
}

TEST(FenceTest, AKilledHandlerThatGoesOnIsFencedAHundredMillisecondsLaterAndFreedWhenItReturns) {
  TestSystem system;
  auto seen = std::make_shared<Seen>();
  const Ref<Client> client = system.Spawn<Client>(seen, nullptr);
  const Ref<Hog> hog =
      system.Spawn<Hog>([&] { system.seeded_executor().HoldHere(absl::Seconds(1)); }, client[&Client::from_hog], seen);
  system.RunUntilIdle();
  client[&Client::ask].Tell(hog);
  const MonotonicTime begin = system.Now();
  system.seeded_executor().RunAt(begin + absl::Milliseconds(10), [&] {
    hog[&Hog::tell].Tell(1);
    system.Kill(hog.pid());
  });
  system.seeded_executor().RunAt(begin + absl::Milliseconds(109), [&] {
    seen->Note("109 ms");
    EXPECT_EQ(system.fenced_actors(), 0);
    EXPECT_TRUE(hog[&Hog::tell].Send(1).ok()) << "it lives";
  });
  system.seeded_executor().RunAt(begin + absl::Milliseconds(500), [&] {
    EXPECT_EQ(system.fenced_actors(), 1);
    EXPECT_TRUE(IsNoProcess(hog[&Hog::tell].Send(1)));
    EXPECT_FALSE(system.registry().Find("hog").has_value()) << "its name is free";
    const MessageLedger ledger = system.Ledger();
    EXPECT_TRUE(ledger.balances()) << ledger.ToString();
    EXPECT_EQ(ledger.of(Disposition::kDeadLetter), 2) << "what waited";
    EXPECT_GE(ledger.of(Disposition::kFailed), 1) << "what was in hand";
  });
  system.RunUntilIdle();
  ASSERT_GE(seen->notes.size(), 3U);
  EXPECT_EQ(seen->notes[0], "109 ms");
  EXPECT_THAT(std::vector<std::string>(seen->notes.begin() + 1, seen->notes.begin() + 3),
              ::testing::UnorderedElementsAre(DownText(), HasSubstr("CalleeExited")));
  EXPECT_THAT(std::vector<std::string>(seen->notes.begin() + 3, seen->notes.end()),
              ::testing::ElementsAreArray(AfterItsDeath()));
  EXPECT_EQ(system.fenced_actors(), 0);
  EXPECT_TRUE(system.Ledger().balances()) << system.Ledger().ToString();
}

// An actor whose handler returns before the fence ends in the ordinary way, and is not killed a second time.
TEST(FenceTest, AHandlerThatReturnsInTimeIsNotFenced) {
  TestSystem system;
  auto seen = std::make_shared<Seen>();
  class Watcher final : public Actor {
   public:
    Watcher(Pid target, std::shared_ptr<Seen> seen) : target_(target), seen_(std::move(seen)) {}
    StartResult Start() override {
      watch_ = context().Monitor(target_, &Watcher::Ended);
      return Behavior("watching", After(absl::Hours(1), [] {}));
    }

   private:
    void Ended(const Down& down) {
      EXPECT_FALSE(down.reason.handler_running());
      seen_->Note(down.reason.ToString());
    }
    const Pid target_;
    const std::shared_ptr<Seen> seen_;
    MonitorHandle watch_;
  };
  const Ref<Client> client = system.Spawn<Client>(seen, nullptr);
  const Ref<Hog> hog = system.Spawn<Hog>([&] { system.seeded_executor().HoldHere(absl::Milliseconds(50)); },
                                         client[&Client::from_hog], seen);
  system.Spawn<Watcher>(hog.pid(), seen);
  system.RunUntilIdle();
  const MonotonicTime begin = system.Now();
  system.seeded_executor().RunAt(begin + absl::Milliseconds(10), [&] { system.Kill(hog.pid()); });
  (void)system.Ask(hog[&Hog::work], Work(), absl::Seconds(1));
  system.RunUntilIdle();
  EXPECT_THAT(seen->notes, ::testing::Contains(ExitReason::Killed().ToString()));
  EXPECT_THAT(seen->notes, ::testing::Contains("send: OK"));
  EXPECT_EQ(system.fenced_actors(), 0);
}

// The handler is a coroutine that does not await. The handler and the destructor both take long.
class SlowToGo final : public Actor {
 public:
  Mailbox<"work", int> work{this};
  SlowToGo(TestSystem* system, Channel<int> out) : system_(system), out_(out) {}
  ~SlowToGo() override { system_->seeded_executor().HoldHere(absl::Seconds(3)); }
  StartResult Start() override { return working_; }

 private:
  Task<> Work(int) {
    system_->seeded_executor().HoldHere(absl::Milliseconds(300));
    out_.Tell(1);
    co_return;
  }
  TestSystem* const system_;
  const Channel<int> out_;
  Behavior working_{"working", On(work, &SlowToGo::Work)};
};

TEST(FenceTest, WhatAFencedActorDestroysIsNamedAndNoHandlerThatIsGone) {
  TestSystem system;
  const Ref<SlowToGo> slow = system.Spawn<SlowToGo>(&system, Channel<int>());
  system.RunUntilIdle();
  slow[&SlowToGo::work].Tell(1);
  system.seeded_executor().RunAt(system.Now() + absl::Milliseconds(10), [&] { system.Kill(slow.pid()); });
  system.RunUntilIdle();
  EXPECT_EQ(system.fenced_actors(), 0);
  ASSERT_FALSE(system.seeded_executor().long_handlers().empty());
  EXPECT_THAT(system.seeded_executor().long_handlers().back(), HasSubstr("a destructor or its end"));
}

TEST(FenceTest, AListenerForDeadLettersMaySendWhateverTheTurnThatMadeThem) {
  TestSystem system;
  Probe<std::string> dead(system);
  const uint64_t id = system.SubscribeDeadLetters(
      [channel = dead.channel()](const DeadLetter& letter) { channel.Tell(std::string(letter.why.message())); });
  Probe<int> out(system);
  const Ref<SlowToGo> slow = system.Spawn<SlowToGo>(&system, out.channel());
  system.RunUntilIdle();
  slow[&SlowToGo::work].Tell(1);
  system.seeded_executor().RunAt(system.Now() + absl::Milliseconds(10), [&] { system.Kill(slow.pid()); });
  system.RunUntilIdle();
  dead.Expect(HasSubstr("the actor was killed, and its handler has not returned since"));
  out.ExpectNothing();
  system.UnsubscribeDeadLetters(id);
}

TEST(FenceTest, OnRealThreadsToo) {
  auto seen = std::make_shared<Seen>();
  absl::Notification holds;
  absl::Notification go_on;
  absl::Notification told;
  {
    ActorSystem system;
    const Ref<Client> client = system.Spawn<Client>(seen, &told);
    const Ref<Hog> hog = system.Spawn<Hog>(
        [&] {
          holds.Notify();
          go_on.WaitForNotification();
        },
        client[&Client::from_hog], seen);
    client[&Client::ask].Tell(hog);
    holds.WaitForNotification();
    system.Kill(hog.pid());
    EXPECT_TRUE(told.WaitForNotificationWithTimeout(absl::Seconds(30)));
    EXPECT_EQ(system.fenced_actors(), 1);
    EXPECT_TRUE(IsNoProcess(hog[&Hog::tell].Send(1)));
    go_on.Notify();
    EXPECT_TRUE(system.Shutdown(absl::Minutes(1)));
    EXPECT_EQ(system.fenced_actors(), 0);
    EXPECT_TRUE(system.Ledger().balances()) << system.Ledger().ToString();
  }
  ASSERT_GE(seen->notes.size(), 2U);
  EXPECT_THAT(seen->notes, ::testing::Contains(DownText()));
  EXPECT_THAT(seen->notes, ::testing::IsSupersetOf(AfterItsDeath()));
}

// Has not answered yet.
class Silent final : public Actor {
 public:
  Mailbox<"work", Call<Work, int>> work{this};
  explicit Silent(absl::Notification* asked) : asked_(asked) {}
  StartResult Start() override { return keeping_silent_; }

 private:
  void DoWork(const Work& /*work*/, Replier<int> replier) {
    replier_ = std::move(replier);
    asked_->Notify();
  }

  absl::Notification* const asked_;
  std::optional<Replier<int>> replier_;
  Behavior keeping_silent_{"keeping silent", On(work, &Silent::DoWork)};
};

// Waits for ever, with what does not let go in its frame.
class Keeper final : public Actor {
 public:
  Mailbox<"wait", Ref<Silent>> wait{this};
  explicit Keeper(std::function<void()> let_go) : let_go_(std::move(let_go)) {}
  StartResult Start() override { return keeping_; }

 private:
  struct Kept {
    ~Kept() { let_go(); }
    const std::function<void()> let_go;
  };
  Task<> Wait(Ref<Silent> silent) {
    const Kept kept{let_go_};
    auto asked = silent[&Silent::work].Ask({}, absl::Hours(1));
    (void)co_await asked;
  }

  const std::function<void()> let_go_;
  Behavior keeping_{"keeping", On(wait, &Keeper::Wait)};
};

TEST(FenceTest, AnIdleActorThatIsKilledIsFencedWhenWhatItDestroysDoesNotEnd) {
  absl::Notification asked;
  absl::Notification let_keeper_go;
  {
    ActorSystem system;
    const Ref<Silent> silent = system.Spawn<Silent>(&asked);
    const Ref<Keeper> keeper = system.Spawn<Keeper>([&] { let_keeper_go.WaitForNotification(); });
    keeper[&Keeper::wait].Tell(silent);
    asked.WaitForNotification();  // the keeper awaits the answer, or is about to
    system.Kill(keeper.pid());
    const absl::StatusOr<ExitReason> ended = system.AwaitEnd(keeper.pid(), absl::Minutes(1));
    EXPECT_TRUE(ended.ok() && ended->handler_running()) << (ended.ok() ? ended->ToString() : ended.status().ToString());
    EXPECT_EQ(system.fenced_actors(), 1);
    let_keeper_go.Notify();
    EXPECT_TRUE(system.Shutdown(absl::Minutes(1)));
    EXPECT_EQ(system.fenced_actors(), 0);
    EXPECT_TRUE(system.Ledger().balances()) << system.Ledger().ToString();
  }
}

// Tells the dead.
class Teller final : public Actor {
 public:
  Mailbox<"tell", Channel<int>> tell{this};
  StartResult Start() override { return telling_; }

 private:
  Behavior telling_{"telling", On(tell, [](Channel<int> to) { to.Tell(1); })};
};

TEST(FenceTest, ADeadLetterListenerThatRunsInTheHandlerHoldsUpNoFence) {
  absl::Notification listens;
  absl::Notification go_on;
  std::atomic<int> heard{0};
  ActorSystem system({.threads = {.threads = 1}, .log = &LogSink::Null()});
  const Ref<Teller> ended = system.Spawn<Teller>();
  system.Kill(ended.pid());
  (void)system.AwaitEnd(ended.pid(), absl::Minutes(1));
  system.SubscribeDeadLetters([&](const DeadLetter&) {
    if (++heard > 1) return;
    listens.Notify();
    go_on.WaitForNotification();
    EXPECT_TRUE(IsNoProcess(ended[&Teller::tell].Send(Channel<int>()))) << "it is not the fenced actor's";
  });
  const Ref<Teller> teller = system.Spawn<Teller>();
  teller[&Teller::tell].Tell(Channel<int>(ended.pid(), 1));
  listens.WaitForNotification();
  for (int i = 0; i < 3; ++i) teller[&Teller::tell].Tell(Channel<int>());
  system.Kill(teller.pid());
  const absl::StatusOr<ExitReason> end = system.AwaitEnd(teller.pid(), absl::Minutes(1));
  EXPECT_TRUE(end.ok() && end->handler_running()) << (end.ok() ? end->ToString() : end.status().ToString());
  EXPECT_EQ(heard, 1);
  go_on.Notify();
  EXPECT_TRUE(system.Shutdown(absl::Minutes(1)));
  EXPECT_EQ(heard, 4) << "what waited for it";
}

// An object whose destructor waits for `may_go`.
struct Slow {
  explicit Slow(absl::Notification* it_may) : may_go(it_may) {}
  Slow(Slow&& other) noexcept : may_go(std::exchange(other.may_go, nullptr)) {}
  Slow& operator=(Slow&&) = delete;
  ~Slow() {
    if (may_go != nullptr) may_go->WaitForNotification();
  }
  absl::Notification* may_go;
};

class Holding final : public Actor {
 public:
  Mailbox<"hold", absl::Notification*> hold{this};
  Mailbox<"slow", Slow> slow{this};
  explicit Holding(absl::Notification* holds) : holds_(holds) {}
  StartResult Start() override { return holding_; }

 private:
  void Hold(absl::Notification* let_go) {
    holds_->Notify();
    let_go->WaitForNotification();
  }
  absl::Notification* const holds_;
  Behavior holding_{"holding", On(hold, &Holding::Hold)};
};

TEST(FenceTest, AMessageThatIsSlowToDestroyHoldsUpNeitherTheFenceNorTimers) {
  absl::Notification holds;
  absl::Notification go_on;
  ActorSystem system({.threads = {.threads = 1}, .log = &LogSink::Null()});
  const Ref<Holding> holding = system.Spawn<Holding>(&holds);
  holding[&Holding::slow].Tell(Slow(&go_on));
  holding[&Holding::hold].Tell(&go_on);
  holds.WaitForNotification();
  system.Kill(holding.pid());
  const absl::StatusOr<ExitReason> end = system.AwaitEnd(holding.pid(), absl::Minutes(1));
  EXPECT_TRUE(end.ok() && end->handler_running()) << (end.ok() ? end->ToString() : end.status().ToString());
  absl::Notification fired;
  system.executor().RunAt(system.clock().Now(), [&] { fired.Notify(); });
  fired.WaitForNotification();
  go_on.Notify();
  EXPECT_TRUE(system.Shutdown(absl::Minutes(1)));
  EXPECT_EQ(system.dead_letters(), 1);
}

}  // namespace
}  // namespace understudy
