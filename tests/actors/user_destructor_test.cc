// Destructors of messages, answers, handlers and behaviors run as user code everywhere in the kernel. While a
// destructor does not return, other actors go on, and its actor can be fenced. The destructor is held by the seeded
// executor, which CHECKs that it runs as user code, or on one real thread.
#include <atomic>
#include <functional>
#include <memory>
#include <ostream>
#include <string>
#include <utility>
#include <vector>

#include "absl/status/status.h"
#include "absl/status/statusor.h"
#include "absl/synchronization/notification.h"
#include "absl/time/time.h"
#include "gtest/gtest.h"
#include "understudy/actors/actor.h"
#include "understudy/actors/actor_system.h"
#include "understudy/actors/error.h"
#include "understudy/actors/log_sink.h"
#include "understudy/actors/test_system.h"
#include "understudy/actors/testing/actor_test.h"

namespace understudy {
namespace {

// Calls `hold` when it is destroyed.
class Slow {
 public:
  explicit Slow(const std::function<void()>* hold) : hold_(hold) {}
  Slow(Slow&& other) noexcept : hold_(std::exchange(other.hold_, nullptr)) {}
  Slow& operator=(Slow&&) = delete;
  ~Slow() {
    if (hold_ != nullptr) (*hold_)();
  }

 private:
  const std::function<void()>* hold_;
};

class Owner;

// What Owner does with a Slow whose destructor calls `hold`.
struct Deed {
  void (Owner::*act)(const std::function<void()>* hold) = nullptr;
  const std::function<void()>* hold = nullptr;
};

class Owner final : public Actor {
 public:
  Mailbox<"handled", Slow> handled{this};
  Mailbox<"awaited", Slow> awaited{this};
  Mailbox<"put back", Slow> put_back{this};
  Mailbox<"refused", Slow> refused{this};
  Mailbox<"dropped", Slow> dropped{this};
  Mailbox<"asked", Call<Slow, int>> asked{this};
  Mailbox<"answers", Call<const std::function<void()>*, Slow>> answers{this};
  Mailbox<"newest", Slow> newest{this, {.capacity_messages = 1, .overflow = Overflow::kDropOldest}};
  Mailbox<"full", Slow> full{this, {.capacity_messages = 1}};
  Mailbox<"classified", Slow> classified{this};
  Mailbox<"deed", Deed> deed{this};
  StartResult Start() override { return owning_; }

  void CancelATimer(const std::function<void()>* hold) {
    const auto slow = std::make_shared<Slow>(hold);
    EXPECT_TRUE(context().StartTimer("t", absl::Hours(1), [slow] {}).ok());
    Self()[&Owner::deed].Tell({.act = &Owner::CancelIt});
  }
  void CancelIt(const std::function<void()>* /*hold*/) { EXPECT_TRUE(context().CancelTimer("t")); }
  void EndAMonitor(const std::function<void()>* hold) {
    const auto slow = std::make_shared<Slow>(hold);
    watch_ = context().Monitor(context().Self(), [slow](const Down&) {});
    Self()[&Owner::deed].Tell({.act = &Owner::EndIt});
  }
  void EndIt(const std::function<void()>* /*hold*/) { watch_.End(); }
  void ReplaceABehavior(const std::function<void()>* hold) {
    const auto slow = std::make_shared<Slow>(hold);
    Become(Behavior("with it", On(deed, [this, slow](const Deed&) { Become(owning_); })));
    Self()[&Owner::deed].Tell({});
  }
  void AskAndForget(const std::function<void()>* hold) {
    (void)Self()[&Owner::answers].Ask(hold, absl::Milliseconds(5));
  }
  void EndWithAHandler(const std::function<void()>* hold) {
    const auto slow = std::make_shared<Slow>(hold);
    EXPECT_TRUE(context().StartTimer("t", absl::Hours(1), [slow] {}).ok());
    context().Stop();
  }

 private:
  Ref<Owner> Self() { return Ref<Owner>(context().Self()); }
  Task<> Await(const Slow& /*slow*/) { co_return; }
  Failure PutBack(const Slow& /*slow*/) {
    context().Postpone();
    return Fail(absl::InternalError("it fails with it"));
  }
  absl::StatusOr<int> Answer(const Slow& /*slow*/) { return absl::InvalidArgumentError("no"); }
  Slow Give(const std::function<void()>* hold) { return Slow(hold); }
  void Classify(Slow slow) { context().Forward(full, std::move(slow)); }
  void Do(const Deed& one) { (this->*one.act)(one.hold); }

  MonitorHandle watch_;
  Behavior owning_{"owning",
                   On(handled, [](const Slow&) {}),
                   On(awaited, &Owner::Await),
                   On(put_back, &Owner::PutBack),
                   Refuse(refused, absl::FailedPreconditionError("refused")),
                   Drop(dropped),
                   On(asked, &Owner::Answer),
                   On(answers, &Owner::Give),
                   On(classified, &Owner::Classify),
                   On(deed, &Owner::Do)};
};

class Asker final : public Actor {
 public:
  Mailbox<"ask", Slow> ask{this};
  explicit Asker(Ref<Owner> owner) : owner_(owner) {}
  StartResult Start() override { return asking_; }

 private:
  Task<> Ask(Slow slow) {
    auto asked = owner_[&Owner::asked].Ask(std::move(slow), absl::Hours(1));
    EXPECT_FALSE((co_await asked).ok());
  }
  const Ref<Owner> owner_;
  Behavior asking_{"asking", On(ask, &Asker::Ask)};
};

using Hold = const std::function<void()>*;

template <auto kMailbox>
void Tell(ActorSystem& /*system*/, Ref<Owner> owner, Hold hold) {
  owner[kMailbox].Tell(Slow(hold));
}
template <auto kDeed>
void Do(ActorSystem& /*system*/, Ref<Owner> owner, Hold hold) {
  owner[&Owner::deed].Tell({.act = kDeed, .hold = hold});
}

// How its destructor comes to run in a turn of the actor.
struct Way {
  std::string name;
  void (*begin)(ActorSystem& system, Ref<Owner> owner, Hold hold);
};
void PrintTo(const Way& way, std::ostream* out) { *out << way.name; }

const std::vector<Way>& Ways() {
  static const auto* const ways = new std::vector<Way>{
      {"OfAMessageThatWasHandled", Tell<&Owner::handled>},
      {"OfAMessageWhoseCoroutineHasEnded", Tell<&Owner::awaited>},
      {"OfAMessageThatWasPostponedByAHandlerThatFailed", Tell<&Owner::put_back>},
      {"OfAMessageThatIsRefused", Tell<&Owner::refused>},
      {"OfAMessageThatIsDropped", Tell<&Owner::dropped>},
      {"OfACallThatIsAnswered", [](ActorSystem& system, Ref<Owner> owner,
                                   Hold hold) { system.Spawn<Asker>(owner)[&Asker::ask].Tell(Slow(hold)); }},
      {"OfTheOldestInAFullMailbox",
       [](ActorSystem& /*system*/, Ref<Owner> owner, Hold hold) {
         owner[&Owner::newest].Tell(Slow(hold));
         owner[&Owner::newest].Tell(Slow(nullptr));
       }},
      {"OfAMessageThatIsForwardedToAFullMailbox",
       [](ActorSystem& /*system*/, Ref<Owner> owner, Hold hold) {
         owner[&Owner::full].Tell(Slow(nullptr));
         owner[&Owner::classified].Tell(Slow(hold));
       }},
      {"OfTheHandlerOfATimerThatIsCancelled", Do<&Owner::CancelATimer>},
      {"OfTheHandlerOfAMonitorThatIsEnded", Do<&Owner::EndAMonitor>},
      {"OfABehaviorThatIsReplaced", Do<&Owner::ReplaceABehavior>},
      {"OfAnAnswerThatNobodyAwaits", Do<&Owner::AskAndForget>},
      {"OfAHandlerAtTheEnd", Do<&Owner::EndWithAHandler>},
  };
  return *ways;
}

class Other final : public Actor {
 public:
  Mailbox<"go_on", absl::Notification*> go_on{this};
  StartResult Start() override { return going_on_; }

 private:
  Behavior going_on_{"going on", On(go_on, [](absl::Notification* done) { done->Notify(); })};
};

class UserDestructorTest : public ::testing::TestWithParam<Way> {};

TEST_P(UserDestructorTest, IsUserCodeAndItsActorIsFenced) {
  TestSystem system;
  std::atomic<int> held{0};
  const std::function<void()> hold = [&] {
    if (++held == 1) system.seeded_executor().HoldHere(absl::Seconds(1));
  };
  const Ref<Other> other = system.Spawn<Other>();
  const Ref<Owner> owner = system.Spawn<Owner>();
  system.RunUntilIdle();
  const MonotonicTime begin = system.Now();
  absl::Notification goes_on;
  system.seeded_executor().RunAt(begin + absl::Milliseconds(10), [&] {
    EXPECT_EQ(held, 1) << "it runs";
    other[&Other::go_on].Tell(&goes_on);
    system.Kill(owner.pid());
  });
  system.seeded_executor().RunAt(begin + absl::Milliseconds(200), [&] {
    EXPECT_TRUE(goes_on.HasBeenNotified());
    EXPECT_EQ(system.fenced_actors(), 1);
    EXPECT_TRUE(IsNoProcess(owner[&Owner::handled].Send(Slow(nullptr))));
  });
  GetParam().begin(system, owner, &hold);
  system.Advance(absl::Seconds(2));
  EXPECT_EQ(held, 1);
  EXPECT_EQ(system.fenced_actors(), 0);
  ExpectLedgersBalance(system);
}

TEST_P(UserDestructorTest, HoldsUpNobodyOnItsThread) {
  absl::Notification runs;
  absl::Notification may_end;
  absl::Notification goes_on;
  const std::function<void()> hold = [&] {
    runs.Notify();
    may_end.WaitForNotification();
  };
  ActorSystem system({.threads = {.threads = 1}, .log = &LogSink::Null()});
  const Ref<Other> other = system.Spawn<Other>();
  const Ref<Owner> owner = system.Spawn<Owner>();
  GetParam().begin(system, owner, &hold);
  runs.WaitForNotification();
  other[&Other::go_on].Tell(&goes_on);
  EXPECT_TRUE(goes_on.WaitForNotificationWithTimeout(absl::Seconds(20)));
  system.Kill(owner.pid());
  const absl::StatusOr<ExitReason> end = system.AwaitEnd(owner.pid(), absl::Seconds(20));
  EXPECT_TRUE(end.ok() && end->handler_running()) << (end.ok() ? end->ToString() : end.status().ToString());
  may_end.Notify();
  EXPECT_TRUE(system.Shutdown(absl::Minutes(1)));
  ExpectLedgersBalance(system);
}

INSTANTIATE_TEST_SUITE_P(Destructor, UserDestructorTest, ::testing::ValuesIn(Ways()),
                         [](const auto& info) { return info.param.name; });

// Messages that wait for an actor that ends are destroyed after the others were told of its end.
TEST(UserDestructorAtTheEndTest, DestructorsOfWaitingMessagesDelayNobodyWhoIsToldOfTheEnd) {
  TestSystem system;
  int held = 0;
  const std::function<void()> hold = [&] {
    ++held;
    system.seeded_executor().HoldHere(absl::Seconds(1));
  };
  const Ref<Owner> owner = system.Spawn<Owner>();
  owner[&Owner::full].Tell(Slow(&hold));
  system.RunUntilIdle();
  const MonotonicTime begin = system.Now();
  system.Kill(owner.pid());
  system.seeded_executor().RunAt(begin + absl::Milliseconds(1), [&] {
    EXPECT_EQ(held, 1) << "it runs";
    EXPECT_TRUE(IsNoProcess(owner[&Owner::handled].Send(Slow(nullptr))));
    EXPECT_EQ(system.fenced_actors(), 0) << "its end came first";
    EXPECT_EQ(system.dead_letters(), 1);
  });
  const absl::StatusOr<ExitReason> end = system.AwaitEnd(owner.pid(), absl::Minutes(1));
  system.RunUntilIdle();
  EXPECT_EQ(held, 1);
}

// Makes a handler when it is destroyed.
class MakesAtTheEnd final : public Actor {
 public:
  explicit MakesAtTheEnd(std::shared_ptr<int> captured) : captured_(std::move(captured)) {}
  ~MakesAtTheEnd() override {
    (void)context().StartTimer("t", absl::Hours(1), [captured = std::move(captured_)] {});
  }
  StartResult Start() override { return StartResult::Ignore(); }

 private:
  std::shared_ptr<int> captured_;
};

TEST(UserDestructorAtTheEndTest, AHandlerThatTheObjectMakesInItsOwnIsDestroyedToo) {
  TestSystem system;
  auto captured = std::make_shared<int>(1);
  const std::weak_ptr<int> is_there = captured;
  system.Spawn<MakesAtTheEnd>(std::move(captured));
  system.RunUntilIdle();
  EXPECT_EQ(system.live_actors(), 0);
  EXPECT_TRUE(is_there.expired());
}

// Calls Become when it is too late for the new behavior: in a handler that hangs, and in OnExit.
class BecomesTooLate final : public Actor {
 public:
  Mailbox<"go", std::function<void()>> go{this};
  explicit BecomesTooLate(std::shared_ptr<int> captured) : captured_(std::move(captured)) {}
  StartResult Start() override { return waiting_; }
  void OnExit(const ExitReason& /*reason*/) override { BecomeLate(); }

 private:
  void Go(const std::function<void()>& hang) {
    BecomeLate();
    hang();
  }
  void BecomeLate() {
    Become(Behavior("late", On(go, [captured = captured_](const std::function<void()>&) {})));
    captured_ = nullptr;
  }
  std::shared_ptr<int> captured_;
  Behavior waiting_{"waiting", On(go, &BecomesTooLate::Go)};
};

TEST(UserDestructorAtTheEndTest, ABehaviourThatItWasAboutToBecomeIsDestroyedToo) {
  for (const bool hangs : {true, false}) {
    TestSystem system;
    auto captured = std::make_shared<int>(1);
    const std::weak_ptr<int> is_there = captured;
    const Ref<BecomesTooLate> late = system.Spawn<BecomesTooLate>(std::move(captured));
    system.RunUntilIdle();
    if (hangs) {
      late[&BecomesTooLate::go].Tell([&] { system.seeded_executor().HoldHere(absl::Seconds(1)); });
      system.seeded_executor().RunAt(system.Now() + absl::Milliseconds(1), [&] { system.Kill(late.pid()); });
    } else {
      system.RequestStop(late.pid());
    }
    system.Advance(absl::Seconds(2));
    EXPECT_EQ(system.live_actors(), 0);
    EXPECT_TRUE(is_there.expired()) << hangs;
  }
}

}  // namespace
}  // namespace understudy
