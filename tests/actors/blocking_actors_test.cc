// Actors that block in their handlers, on real threads and under the seeded executor. A handler blocks until the test
// notifies it.
#include <memory>
#include <string>
#include <vector>

#include "absl/status/statusor.h"
#include "absl/strings/string_view.h"
#include "absl/synchronization/blocking_counter.h"
#include "absl/synchronization/mutex.h"
#include "absl/synchronization/notification.h"
#include "absl/time/time.h"
#include "gmock/gmock.h"
#include "gtest/gtest.h"
#include "understudy/actors/actor.h"
#include "understudy/actors/actor_system.h"
#include "understudy/actors/error.h"
#include "understudy/actors/log_sink.h"
#include "understudy/actors/test_system.h"
#include "understudy/actors/thread_pool.h"

namespace understudy {
namespace {

using ::testing::ElementsAre;
using ::testing::HasSubstr;

// Keeps a ball going with its peer, then says so.
class Player final : public Actor {
 public:
  Mailbox<"ball", int> ball{this};
  Mailbox<"peer", Ref<Player>> peer{this};
  explicit Player(absl::Notification* over) : over_(over) {}
  StartResult Start() override { return playing_; }

 private:
  void Meet(Ref<Player> one) { peer_ = one; }
  void Play(int left) {
    if (left == 0) {
      over_->Notify();
    } else {
      peer_[&Player::ball].Tell(left - 1);
    }
  }
  absl::Notification* over_;
  Ref<Player> peer_;
  Behavior playing_{"playing", On(ball, &Player::Play), On(peer, &Player::Meet)};
};

void PlayRoundTrips(ActorSystem& system, int round_trips) {
  absl::Notification over;
  const Ref<Player> a = system.Spawn<Player>(&over);
  const Ref<Player> b = system.Spawn<Player>(&over);
  a[&Player::peer].Tell(b);
  b[&Player::peer].Tell(a);
  a[&Player::ball].Tell(2 * round_trips);
  over.WaitForNotification();
}

struct Gate {
  explicit Gate(int blockers) : blocked(blockers), returned(blockers) {}
  absl::BlockingCounter blocked;
  absl::Notification opens;
  absl::BlockingCounter returned;
};

// Blocks until the test opens the gate.
class Blocker final : public Actor {
 public:
  Mailbox<"block", int> block{this};
  explicit Blocker(Gate* gate) : gate_(gate) {}
  StartResult Start() override { return waiting_; }

 private:
  void Block(int) {
    gate_->blocked.DecrementCount();
    gate_->opens.WaitForNotification();
    gate_->returned.DecrementCount();
  }
  Gate* gate_;
  Behavior waiting_{"waiting", On(block, &Blocker::Block)};
};

// The gate is opened when they have given up: a wait beyond its timeout would never end.
TEST(BlockingActorsTest, PlainThreadsWaitNoLongerThanTheyWouldThoughNoWorkerIsLeft) {
  ThreadPool pool({.threads = 1, .surplus_threads_max = 0});
  ActorSystem system({.executor = &pool});
  class Answering final : public Actor {
   public:
    Mailbox<"call", Call<int, int>> call{this};
    StartResult Start() override { return answering_; }

   private:
    Behavior answering_{"answering", On(call, [](int n) { return n + 1; })};
  };
  Gate gate(1);
  const Ref<Answering> answering = system.Spawn<Answering>();
  const Ref<Answering> ended = system.Spawn<Answering>();
  system.Kill(ended.pid());
  EXPECT_TRUE(system.AwaitEnd(ended.pid(), absl::InfiniteDuration()).ok());
  const auto ask = [&] { return system.Ask(answering[&Answering::call], 1, absl::Milliseconds(20)); };
  const Ref<Blocker> blocker = system.Spawn<Blocker>(&gate);
  blocker[&Blocker::block].Tell(1);
  gate.blocked.Wait();
  EXPECT_EQ(ask().status().message(), "Expired: no answer within the deadline");
  const absl::StatusOr<ExitReason> end = system.AwaitEnd(blocker.pid(), absl::Milliseconds(20));
  EXPECT_TRUE(IsExpired(end.status())) << end.status();
  EXPECT_THAT(std::string(end.status().message()), HasSubstr(" has not ended within 20ms"));
  EXPECT_EQ(system.AwaitEnd(ended.pid(), absl::ZeroDuration()).value_or(ExitReason::Normal()), ExitReason::NoProcess());
  gate.opens.Notify();
  gate.returned.Wait();
  EXPECT_EQ(system.Ask(answering[&Answering::call], 1, absl::InfiniteDuration()).value_or(0), 2);
}

// EBA 17
TEST(BlockingActorsTest, TwentyThatBlockOnTwoWorkersHoldUpNobody) {
  ThreadPool pool({.threads = 2});
  ActorSystem system({.executor = &pool});
  Gate gate(20);
  for (int i = 0; i < 20; ++i) system.Spawn<Blocker>(&gate)[&Blocker::block].Tell(1);
  PlayRoundTrips(system, 10000);
  gate.blocked.Wait();
  PlayRoundTrips(system, 10000);
  EXPECT_GE(pool.stats().takeovers, 1);
  EXPECT_LE(pool.stats().workers, 2 + 21);
  gate.opens.Notify();
  gate.returned.Wait();
}

// EBA 17
TEST(BlockingActorsTest, OnesWithThreadsOfTheirOwnCostThePoolNoWorker) {
  ThreadPool pool({.threads = 1});
  ActorSystem system({.executor = &pool});
  Gate gate(8);
  std::vector<Ref<Blocker>> blockers;
  for (int i = 0; i < 8; ++i) {
    blockers.push_back(system.Spawn<Blocker>(SpawnOptions{.thread = SpawnThread::kOwn}, &gate));
    blockers.back()[&Blocker::block].Tell(1);
  }
  gate.blocked.Wait();
  EXPECT_EQ(pool.stats().own_threads, 8);
  PlayRoundTrips(system, 1000);
  EXPECT_EQ(pool.stats().stuck, 0);
  gate.opens.Notify();
  gate.returned.Wait();
  for (const Ref<Blocker>& blocker : blockers) {
    system.Exit(blocker.pid(), ExitReason::Shutdown());
    EXPECT_TRUE(system.AwaitEnd(blocker.pid(), absl::Seconds(50)).ok());
  }
  EXPECT_EQ(pool.stats().own_threads, 0) << "a thread lives as long as its actor";
}

class FirstLine final : public LogSink {
 public:
  void Put(const LogLine& line) override {
    absl::MutexLock lock(&mu_);
    if (!line_.empty()) return;
    line_ = std::string(line.text);
    written.Notify();
  }
  std::string line() {
    absl::MutexLock lock(&mu_);
    return line_;
  }
  absl::Notification written;

 private:
  absl::Mutex mu_;
  std::string line_;
};

TEST(BlockingActorsTest, TheLogOfItsSystemNamesAnActorThatBlocks) {
  FirstLine log;
  ActorSystemOptions options{.log = &log};
  options.threads.threads = 1;
  options.threads.name_after = absl::Milliseconds(10);
  ActorSystem system(options);
  Gate gate(1);
  const Ref<Blocker> blocker = system.Spawn<Blocker>(&gate);
  blocker[&Blocker::block].Tell(1);
  log.written.WaitForNotification();
  EXPECT_THAT(log.line(), HasSubstr("a handler has been running for"));
  EXPECT_THAT(log.line(), HasSubstr(blocker.pid().ToString()));
  gate.opens.Notify();
  gate.returned.Wait();
}

// Holds its worker for a virtual while, and notes when it goes on.
class Hog final : public Actor {
 public:
  Mailbox<"work", int> work{this};
  Hog(TestSystem* system, std::vector<std::string>* notes) : system_(system), notes_(notes) {}
  ~Hog() override { notes_->push_back("destroyed"); }
  StartResult Start() override { return working_; }

 private:
  void Work(int) {
    system_->seeded_executor().HoldHere(absl::Seconds(1));
    notes_->push_back("returned");
  }
  TestSystem* system_;
  std::vector<std::string>* notes_;
  Behavior working_{"working", On(work, &Hog::Work)};
};

// Notes when the one it watches ends, and the ticks of a timer.
class Watcher final : public Actor {
 public:
  Watcher(Pid target, std::vector<std::string>* notes) : target_(target), notes_(notes) {}
  StartResult Start() override {
    watch_ = context().Monitor(target_, &Watcher::Ended);
    return Behavior("watching", After(absl::Milliseconds(50), &Watcher::Tick));
  }

 private:
  void Ended(const Down& down) {
    notes_->push_back(down.reason.kind() == ExitReason::Kind::kKilled ? "killed" : "other");
  }
  void Tick() { notes_->push_back("tick"); }
  Pid target_;
  std::vector<std::string>* notes_;
  MonitorHandle watch_;
};

TEST(BlockingActorsTest, OthersAndTimersGoOnWhileOneIsHeldAndAKillFencesIt) {
  std::vector<std::string> notes;
  TestSystem system;
  const Ref<Hog> hog = system.Spawn<Hog>(&system, &notes);
  system.Spawn<Watcher>(hog.pid(), &notes);
  system.RunUntilIdle();
  hog[&Hog::work].Tell(1);
  const MonotonicTime begin = system.Now();
  system.seeded_executor().RunAt(begin + absl::Milliseconds(10), [&] { system.Kill(hog.pid()); });
  system.seeded_executor().RunAt(begin + absl::Milliseconds(109), [&] { notes.push_back("109 ms"); });
  system.seeded_executor().RunAt(begin + absl::Milliseconds(120), [&] { notes.push_back("120 ms"); });
  system.RunUntilIdle();
  EXPECT_THAT(notes, ElementsAre("tick", "109 ms", "killed", "120 ms", "returned", "destroyed"));
  EXPECT_EQ(system.seeded_executor().takeovers(), 1);
}

}  // namespace
}  // namespace understudy
