// Unhandled mail while actors end at random: no accepted message is lost, handled twice or overtaken by a later one of
// its sender (semantics 6.1).
#include <atomic>
#include <functional>
#include <map>
#include <memory>
#include <set>
#include <string>
#include <utility>
#include <vector>

#include "absl/base/thread_annotations.h"
#include "absl/status/status.h"
#include "absl/strings/match.h"
#include "absl/synchronization/mutex.h"
#include "absl/time/time.h"
#include "gtest/gtest.h"
#include "understudy/actors/actor.h"
#include "understudy/actors/actor_system.h"
#include "understudy/actors/dead_letters.h"
#include "understudy/actors/error.h"
#include "understudy/actors/log_sink.h"
#include "understudy/actors/random.h"
#include "understudy/actors/test_system.h"
#include "understudy/actors/testing/actor_test.h"
#include "understudy/actors/testing/seeds.h"
#include "understudy/actors/unhandled_mail.h"

namespace understudy {
namespace {

// A sender's message. A fatal one ends its receiver.
struct Letter {
  int sender = 0;
  int number = 0;
  bool is_fatal = false;
};

// Shared by all. Any thread.
class Record {
 public:
  void Accepted(const Letter& letter) {
    absl::MutexLock lock(&mu_);
    accepted_.insert({letter.sender, letter.number});
  }
  void Handled(const Letter& letter) {
    absl::MutexLock lock(&mu_);
    EXPECT_GT(letter.number, last_[letter.sender]) << "sender " << letter.sender << ": doubled or overtaken";
    last_[letter.sender] = letter.number;
    handled_.insert({letter.sender, letter.number});
  }
  // A letter was accepted, and came to its actor after the end: its sender was
  // slow. It never waited, and so is in no unhandled mail.
  void CameTooLate() {
    absl::MutexLock lock(&mu_);
    ++too_late_;
  }
  void ExpectAllHandled() {
    absl::MutexLock lock(&mu_);
    EXPECT_EQ(accepted_.size(), handled_.size() + too_late_);
    for (const auto& letter : handled_) EXPECT_EQ(accepted_.count(letter), 1U) << letter.first << ", " << letter.second;
  }
  // All that was accepted has been handled, as far as senders have said.
  bool IsOver() {
    absl::MutexLock lock(&mu_);
    return accepted_.size() == handled_.size() + too_late_;
  }
  size_t size() {
    absl::MutexLock lock(&mu_);
    return handled_.size();
  }
  void Inherited(size_t messages) { inherited_.fetch_add(messages); }
  size_t inherited() const { return inherited_.load(); }

 private:
  absl::Mutex mu_;
  std::set<std::pair<int, int>> accepted_ ABSL_GUARDED_BY(mu_);
  std::set<std::pair<int, int>> handled_ ABSL_GUARDED_BY(mu_);
  size_t too_late_ ABSL_GUARDED_BY(mu_) = 0;
  std::map<int, int> last_ ABSL_GUARDED_BY(mu_);
  std::atomic<size_t> inherited_{0};
};

// Opens and closes, and dies of fatal letters; every third life cannot start.
class Mortal final : public Actor {
 public:
  // The mailboxes have room for all letters that are ever sent, because a letter for which a successor has no room
  // becomes a dead letter.
  Mailbox<"letter", Letter> letter{this, {.capacity_messages = 10000, .on_restart = OnRestart::kKeep}};
  Mailbox<"open", bool> open{this};
  Mailbox<"other", Letter> other{this, {.capacity_messages = 10000, .on_restart = OnRestart::kKeep}};
  Mortal(std::shared_ptr<Record> record, int life) : record_(std::move(record)), life_(life) {}
  StartResult Start() override {
    if (life_ % 3 == 2) return absl::UnavailableError("not this time");
    return life_ % 2 == 0 ? open_ : closed_;
  }

 private:
  void Note(const Letter& got) {
    record_->Handled(got);
    if (got.is_fatal) Fail(absl::InternalError("fatal"));
  }
  void SetOpen(bool is_open) { Become(is_open ? open_ : closed_); }

  const std::shared_ptr<Record> record_;
  const int life_;
  Behavior open_{"open", On(letter, &Mortal::Note), On(other, &Mortal::Note), On(open, &Mortal::SetOpen)};
  Behavior closed_{"closed", On(open, &Mortal::SetOpen)};
};

// Starts each successor of the Mortal, with the unhandled mail of the last one.
class Keeper final : public Actor {
 public:
  Mailbox<"stop", bool> stop{this};
  Keeper(std::shared_ptr<Record> record, std::function<void(Ref<Mortal>)> tell)
      : record_(std::move(record)), tell_(std::move(tell)) {}
  StartResult Start() override {
    context().TrapExits([](const ExitEvent&) {});
    Spawn({});
    return Behavior("keeping", On(stop, [this] { context().Stop(); }));
  }

 private:
  void Spawn(UnhandledMail unhandled_mail) {
    record_->Inherited(unhandled_mail.size());
    tell_(context().Spawn<Mortal>(
        SpawnOptions().OnDown(&Keeper::MortalDown).WithUnhandledMail(std::move(unhandled_mail)), record_, life_++));
  }
  void MortalDown(Down down) {
    EXPECT_NE(down.reason.kind(), ExitReason::Kind::kNoProcess);
    Spawn(std::move(down.unhandled_mail));
  }

  const std::shared_ptr<Record> record_;
  const std::function<void(Ref<Mortal>)> tell_;
  int life_ = 0;
};

// The present life of the Mortal, to which senders send. Any thread.
class Place {
 public:
  void Set(Ref<Mortal> ref) {
    absl::MutexLock lock(&mu_);
    ref_ = ref;
  }
  Ref<Mortal> Get() {
    absl::MutexLock lock(&mu_);
    return ref_;
  }

 private:
  absl::Mutex mu_;
  Ref<Mortal> ref_ ABSL_GUARDED_BY(mu_);
};

// Sends as many letters as each message in `send` says.
class Sender final : public Actor {
 public:
  Mailbox<"send", int> send{this};
  Sender(int id, std::shared_ptr<Record> record, std::shared_ptr<Place> place)
      : id_(id), record_(std::move(record)), place_(std::move(place)) {}
  StartResult Start() override { return Behavior("sending", On(send, &Sender::Send)); }

 private:
  void Send(int letters) {
    for (int i = 0; i < letters; ++i) {
      const Letter letter{.sender = id_, .number = ++number_, .is_fatal = context().Random().Below(10) == 0};
      const Ref<Mortal> to = place_->Get();
      const bool is_other = context().Random().Below(2) == 0;
      if ((is_other ? to[&Mortal::other] : to[&Mortal::letter]).Send(letter).ok()) record_->Accepted(letter);
    }
  }

  const int id_;
  const std::shared_ptr<Record> record_;
  const std::shared_ptr<Place> place_;
  int number_ = 0;
};

struct Cast {
  explicit Cast(ActorSystem& system) {
    keeper = system.Spawn<Keeper>(record, [place = place](Ref<Mortal> ref) { place->Set(ref); });
    for (int i = 0; i < 4; ++i) senders.push_back(system.Spawn<Sender>(i, record, place));
  }
  std::shared_ptr<Record> record = std::make_shared<Record>();
  std::shared_ptr<Place> place = std::make_shared<Place>();
  Ref<Keeper> keeper;
  std::vector<Ref<Sender>> senders;
};

TEST(UnhandledMailSeedsTest, NothingAcceptedIsLostDoubledOrOvertaken) {
  size_t inherited = 0;
  ForEachSeed(300, [&](uint64_t seed) {
    TestSystem system(seed);
    Random random(seed);
    Cast cast(system);
    system.RunUntilIdle();
    for (int step = 0; step < 40; ++step) {
      cast.senders[random.Below(4)][&Sender::send].Tell(static_cast<int>(random.Below(5)));
      if (random.Below(3) == 0) cast.place->Get()[&Mortal::open].Tell(random.Below(2) == 0);
      if (random.Below(6) == 0) system.Kill(cast.place->Get().pid());
      if (random.Below(2) == 0) system.RunUntilIdle();
      if (random.Below(4) == 0) {
        system.RunUntilIdle();
        ExpectLedgersBalance(system);
      }
    }
    system.RunUntilIdle();
    // Until all is open and nothing fatal is left.
    for (int i = 0; i < 200 && system.Ledger().waiting > 0; ++i) {
      cast.place->Get()[&Mortal::open].Tell(true);
      system.RunUntilIdle();
    }
    cast.record->ExpectAllHandled();
    inherited += cast.record->inherited();
    ExpectNothingLost(system);
  });
  if (!SeedFromEnvironment()) {
    EXPECT_GT(inherited, 1000U) << "the unhandled mail were empty";
  }
}

// Looks each millisecond.
bool BlockUntil(ActorSystem& system, const std::function<bool()>& is_over) {
  Executor& executor = system.executor();  // the last timer may come when the system is being destroyed
  return executor.BlockUntil(
      [&] {
        if (is_over()) return true;
        executor.RunAt(executor.clock().Now() + absl::Milliseconds(1), [&executor] { executor.Notify(); });
        return false;
      },
      executor.clock().Now() + absl::Minutes(1));
}

TEST(UnhandledMailThreadsTest, NothingAcceptedIsLostDoubledOrOvertaken) {
  ActorSystem system({.threads = {.threads = 4}, .seed = 1, .log = &LogSink::Null()});
  Random random(1);
  Cast cast(system);
  // Not those that unhandled mail or a successor has lost: they say otherwise.
  system.SubscribeDeadLetters([record = cast.record](const DeadLetter& letter) {
    if (absl::StrContains(letter.type, "Letter") && IsNoProcess(letter.why)) record->CameTooLate();
  });
  ASSERT_TRUE(BlockUntil(system, [&] { return !cast.place->Get().pid().is_null(); }));
  for (int step = 0; step < 2000; ++step) {
    cast.senders[random.Below(4)][&Sender::send].Tell(static_cast<int>(random.Below(5)));
    if (random.Below(2) == 0) cast.place->Get()[&Mortal::open].Tell(random.Below(3) != 0);
    if (random.Below(40) == 0) system.Kill(cast.place->Get().pid());
  }
  for (const Ref<Sender>& sender : cast.senders) {
    system.RequestStop(sender.pid());  // behind what it has to do
    (void)system.AwaitEnd(sender.pid(), absl::Minutes(1));
  }
  // In the end all mailboxes are opened, and each Mortal that a fatal letter ends has a successor. Each check sends
  // `open` to the present one.
  EXPECT_TRUE(BlockUntil(system, [&] {
    (void)cast.place->Get()[&Mortal::open].Send(true);
    return cast.record->IsOver();
  }));
  EXPECT_TRUE(system.Shutdown(absl::Minutes(1)));
  ExpectLedgersBalance(system);
  cast.record->ExpectAllHandled();
  EXPECT_GT(cast.record->size(), 0U);
  EXPECT_GT(cast.record->inherited(), 0U);
}

// A monitor by OnDown is there however soon the child ends.
TEST(UnhandledMailThreadsTest, ADownByOnDownAlwaysHasTheReason) {
  class Brief final : public Actor {
   public:
    StartResult Start() override { return absl::DataLossError("brief"); }
  };
  class Parent final : public Actor {
   public:
    explicit Parent(std::atomic<int>* left) : left_(left) {}
    StartResult Start() override {
      context().TrapExits([](const ExitEvent&) {});
      for (int i = 0; i < 4; ++i) Again();
      return Behavior("parent", After(absl::InfiniteDuration(), [] {}));
    }

   private:
    void Again() { context().Spawn<Brief>(SpawnOptions().OnDown(&Parent::BriefDown)); }
    void BriefDown(const Down& down) {
      EXPECT_EQ(down.reason.status(), absl::DataLossError("brief"));
      if (left_->fetch_sub(1) > 4) {
        Again();
      } else if (left_->load() == 0) {
        context().Stop();
      }
    }
    std::atomic<int>* const left_;
  };
  ActorSystem system({.threads = {.threads = 4}, .seed = 1, .log = &LogSink::Null()});
  std::atomic<int> left{5000};
  const Ref<Parent> parent = system.Spawn<Parent>(&left);
  EXPECT_TRUE(system.AwaitEnd(parent.pid(), absl::Minutes(1)).ok());
  EXPECT_EQ(left.load(), 0);
}

}  // namespace
}  // namespace understudy
