// Supervisors on real threads.
#include <cstdint>
#include <memory>
#include <string>
#include <thread>
#include <utility>
#include <vector>

#include "absl/base/thread_annotations.h"
#include "absl/status/status.h"
#include "absl/status/statusor.h"
#include "absl/strings/str_cat.h"
#include "absl/synchronization/mutex.h"
#include "absl/synchronization/notification.h"
#include "absl/time/time.h"
#include "gmock/gmock.h"
#include "gtest/gtest.h"
#include "understudy/actors/actor.h"
#include "understudy/actors/actor_system.h"
#include "understudy/actors/error.h"
#include "understudy/actors/exit_reason.h"
#include "understudy/actors/log_sink.h"
#include "understudy/actors/mailbox.h"
#include "understudy/actors/pid.h"
#include "understudy/actors/random.h"
#include "understudy/supervision/builders.h"
#include "understudy/supervision/child_spec.h"
#include "understudy/supervision/limits.h"
#include "understudy/supervision/supervision_event.h"
#include "understudy/supervision/supervisor.h"
#include "understudy/tests/supervision/workers.h"

namespace understudy {
namespace {

constexpr absl::Duration kDeadline = absl::Seconds(60);

// Records the starts of children, and counts their exits.
class Starts {
 public:
  void Hear(const SupervisionEvent& event) {
    absl::MutexLock lock(&mu_);
    if (event.kind == SupervisionEvent::Kind::kStarted) pids_.push_back(event.pid);
    if (event.kind == SupervisionEvent::Kind::kExited) ++exits_;
  }
  // Returns the pid of start number `n`, counted from 1, or null if that start does not happen in time.
  Pid Await(int n) {
    absl::MutexLock lock(&mu_);
    const auto is_there = [&] {
      mu_.AssertReaderHeld();
      return static_cast<int>(pids_.size()) >= n;
    };
    return mu_.AwaitWithTimeout(absl::Condition(&is_there), kDeadline) ? pids_[static_cast<size_t>(n - 1)] : Pid();
  }
  bool AwaitExits(int n) {
    absl::MutexLock lock(&mu_);
    const auto is_there = [&] {
      mu_.AssertReaderHeld();
      return exits_ >= n;
    };
    return mu_.AwaitWithTimeout(absl::Condition(&is_there), kDeadline);
  }
  // Returns the pid of the start that is `age` starts before the last one.
  Pid Latest(uint64_t age) {
    absl::MutexLock lock(&mu_);
    return age < pids_.size() ? pids_[pids_.size() - 1 - age] : Pid();
  }

 private:
  absl::Mutex mu_;
  std::vector<Pid> pids_ ABSL_GUARDED_BY(mu_);
  int exits_ ABSL_GUARDED_BY(mu_) = 0;
};

class SupervisorThreadsTest : public testing::Test {
 protected:
  std::shared_ptr<Starts> starts_ = std::make_shared<Starts>();
  std::shared_ptr<Journal> journal_ = std::make_shared<Journal>();
  ActorSystem system_{{.log = &LogSink::Null()}};
};

TEST_F(SupervisorThreadsTest, ACrashingChildIsRestartedAgainAndAgain) {
  constexpr int kRestarts = 500;
  const SupervisorRef root =
      system_.Spawn(OneForOne()
                        .Intensity(kRestarts, absl::Hours(1))
                        .OnEvent([starts = starts_](const SupervisionEvent& e) { starts->Hear(e); })
                        .Child("a", Of<Worker>("a", journal_)));
  for (int i = 1; i <= kRestarts; ++i) {
    const Pid pid = starts_->Await(i);
    ASSERT_FALSE(pid.is_null());
    Ref<Worker>(pid)[&Worker::crash].Tell(Crash());
  }
  const Pid last = starts_->Await(kRestarts + 1);
  ASSERT_FALSE(last.is_null());
  const absl::StatusOr<Children> children = system_.Ask(root.which_children(), WhichChildren(), kDeadline);
  ASSERT_TRUE(children.ok()) << children.status();
  EXPECT_EQ(children->children[0].restarts, kRestarts);
  EXPECT_EQ(children->children[0].pid, last);
}

TEST_F(SupervisorThreadsTest, SpentIntensityEndsTheTree) {
  auto life = std::make_shared<RootLife>();
  const Ref<Launcher> launcher =
      system_.Spawn<Launcher>(OneForAll()
                                  .Intensity(3, absl::Hours(1))
                                  .OnEvent([starts = starts_](const SupervisionEvent& e) { starts->Hear(e); })
                                  .Child("a", Of<Worker>("a", journal_)),
                              life);
  for (int i = 1; i <= 4; ++i) {
    const Pid pid = starts_->Await(i);
    ASSERT_FALSE(pid.is_null());
    Ref<Worker>(pid)[&Worker::crash].Tell(Crash());
  }
  ASSERT_TRUE(system_.AwaitEnd(launcher.pid(), kDeadline).ok());
  EXPECT_EQ(life->end().kind(), ExitReason::Kind::kRestartsExhausted) << life->end();
}

// Blocks its thread in its constructor or in Start until the gate opens, so it does not react to exits and kills.
class Blocker final : public Actor {
 public:
  Blocker(std::shared_ptr<absl::Notification> gate, bool in_constructor)
      : gate_(std::move(gate)), waits_in_start_(!in_constructor) {
    if (in_constructor) gate_->WaitForNotification();
  }
  Mailbox<"nothing", int> nothing{this};
  StartResult Start() override {
    if (waits_in_start_) gate_->WaitForNotification();
    return blocking_;
  }

 private:
  const std::shared_ptr<absl::Notification> gate_;
  const bool waits_in_start_;
  Behavior blocking_{"blocking", On(nothing, [](int) {})};
};

TEST_F(SupervisorThreadsTest, AStartOrConstructorThatDoesNotReturnIsBoundedByStartWithin) {
  for (const bool in_constructor : {false, true}) {
    auto gate = std::make_shared<absl::Notification>();
    auto life = std::make_shared<RootLife>();
    const Ref<Launcher> launcher = system_.Spawn<Launcher>(
        OneForOne().Child("a", Of<Blocker>(gate, in_constructor).StartWithin(absl::Milliseconds(50))), life);
    EXPECT_TRUE(system_.AwaitEnd(launcher.pid(), kDeadline).ok());
    EXPECT_THAT(life->end().ToString(), testing::HasSubstr("child 'a' could not start); because of StartTimeout"));
    gate->Notify();
  }
  EXPECT_TRUE(system_.Shutdown(kDeadline));
}

TEST_F(SupervisorThreadsTest, ShutdownOfTheSystemStopsATreeInOrder) {
  auto tree = OneForOne().OnEvent([starts = starts_](const SupervisionEvent& e) { starts->Hear(e); });
  for (const std::string name : {"a", "b", "c", "d"}) tree.Child(name, Of<Worker>(name, journal_));
  system_.Spawn(tree);
  ASSERT_FALSE(starts_->Await(4).is_null());
  journal_->Take();
  EXPECT_TRUE(system_.Shutdown(kDeadline));
  EXPECT_EQ(journal_->Take(), "end d Shutdown, end c Shutdown, end b Shutdown, end a Shutdown");
  EXPECT_EQ(system_.live_actors(), 0);
}

TEST_F(SupervisorThreadsTest, RequestsFromManyThreadsAreEachAnswered) {
  const SupervisorRef root = system_.Spawn(OneForOne());
  constexpr int kThreads = 4;
  constexpr int kEach = 25;
  std::vector<std::thread> threads;
  for (int t = 0; t < kThreads; ++t) {
    threads.emplace_back([&, t] {
      for (int i = 0; i < kEach; ++i) {
        const std::string id = absl::StrCat(t, "-", i);
        const auto started =
            system_.Ask(root.start_child(), StartChild{Of<Worker>(id, journal_).Temporary().Spec(id)}, kDeadline);
        EXPECT_TRUE(started.ok()) << started.status();
        if (i % 2 == 0) {
          EXPECT_TRUE(system_.Ask(root.terminate_child(), TerminateChild{id}, kDeadline).ok());
        }
      }
    });
  }
  for (std::thread& thread : threads) thread.join();
  const absl::StatusOr<ChildCounts> counts = system_.Ask(root.count_children(), CountChildren(), kDeadline);
  ASSERT_TRUE(counts.ok()) << counts.status();
  EXPECT_EQ(counts->active, kThreads * (kEach / 2));
  EXPECT_TRUE(system_.Shutdown(kDeadline));
}

TEST_F(SupervisorThreadsTest, AnyoneMayBeKilledAtAnyTimeAndNobodyIsLeft) {
  const auto tree = [&](RestartStrategy strategy) {
    SupervisorBuilder builder(strategy);
    builder.Intensity(limits::kRestartIntensityMax, absl::Hours(1));
    for (const std::string name : {"x", "y", "z"}) builder.Child(name, Of<Worker>(name, journal_));
    return builder;
  };
  SupervisorBuilder root = tree(RestartStrategy::kOneForOne);
  root.OnEvent([starts = starts_](const SupervisionEvent& e) { starts->Hear(e); })
      .Child("rest", Of(tree(RestartStrategy::kRestForOne)))
      .Child("all", Of(tree(RestartStrategy::kOneForAll)));
  system_.Spawn(root);
  ASSERT_FALSE(starts_->Await(11).is_null());
  std::vector<std::thread> killers;
  for (uint64_t t = 0; t < 3; ++t) {
    killers.emplace_back([&, t] {
      Random random(t);
      for (int i = 0; i < 300; ++i) {
        const Pid pid = starts_->Latest(random.Below(12));
        if (random.Below(2) == 0) {
          system_.Kill(pid);
          (void)system_.AwaitEnd(pid, kDeadline);  // other actors run meanwhile
        } else {
          Ref<Worker>(pid)[&Worker::crash].Tell(Crash());
        }
      }
    });
  }
  for (std::thread& killer : killers) killer.join();
  EXPECT_TRUE(system_.Shutdown(kDeadline));
  EXPECT_EQ(system_.live_actors(), 0);
}

// OTP SUP-52
TEST_F(SupervisorThreadsTest, CountsOfThousandsOfChildrenAreExact) {
  const SupervisorRef root =
      system_.Spawn(OneForOne().OnEvent([starts = starts_](const SupervisionEvent& e) { starts->Hear(e); }));
  const auto add = [&](int from, int to) {
    for (int i = from; i < to; ++i) {
      const std::string id = absl::StrCat(i);
      ASSERT_TRUE(
          system_.Ask(root.start_child(), StartChild{Of<Worker>(id, journal_).Temporary().Spec(id)}, kDeadline).ok());
    }
  };
  const auto count = [&] { return system_.Ask(root.count_children(), CountChildren(), kDeadline).value(); };
  add(0, 1000);
  EXPECT_EQ(count().active, 1000);
  add(1000, 2000);
  EXPECT_EQ(count().active, 2000);
  EXPECT_EQ(count().specs, 2000);
  for (uint64_t after = 0, page = 0; page < 2; ++page) {
    const Children children = system_.Ask(root.which_children(), WhichChildren{after}, kDeadline).value();
    for (const ChildInfo& child : children.children) system_.Kill(child.pid);
    after = children.next;
  }
  ASSERT_TRUE(starts_->AwaitExits(2000));
  EXPECT_EQ(count().specs, 0);
}

// An actor whose start always fails.
class Locked final : public Actor {
 public:
  StartResult Start() override { return absl::UnavailableError("the file is locked"); }
};
class Idle final : public Actor {
 public:
  StartResult Start() override {
    return Behavior("idle", After(absl::Hours(1), [] {}));
  }
};

TEST_F(SupervisorThreadsTest, APlainThreadWaitsUntilATreeHasStartedOrIsToldWhyItCouldNot) {
  const SupervisorRef good =
      system_.Spawn(OneForOne().Child("a", Of<Idle>()).Child("b", Of(OneForOne().Child("c", Of<Idle>()))));
  EXPECT_EQ(system_.AwaitStart(good.pid(), kDeadline), absl::OkStatus());
  EXPECT_EQ(system_.Ask(good.count_children(), {}, kDeadline)->active, 2);
  const SupervisorRef bad = system_.Spawn(OneForOne().Child("a", Of<Idle>()).Child("b", Of<Locked>()));
  const absl::Status failed = system_.AwaitStart(bad.pid(), kDeadline);
  EXPECT_TRUE(IsCalleeExited(failed)) << failed;
  EXPECT_THAT(std::string(failed.message()), ::testing::HasSubstr("the file is locked"));
}

}  // namespace
}  // namespace understudy
