// Which thread polls the process's EventSource: an idle worker, a busy pool, the watchdog, or the source's own thread.
#include "understudy/actors/event_source.h"

#include <atomic>
#include <cstdint>
#include <deque>
#include <functional>
#include <map>
#include <memory>
#include <thread>
#include <utility>
#include <vector>

#include "absl/base/thread_annotations.h"
#include "absl/functional/any_invocable.h"
#include "absl/synchronization/blocking_counter.h"
#include "absl/synchronization/mutex.h"
#include "absl/synchronization/notification.h"
#include "absl/time/time.h"
#include "gtest/gtest.h"
#include "understudy/actors/executor.h"
#include "understudy/actors/internal/scheduling/polling.h"
#include "understudy/actors/thread_pool.h"

namespace understudy {
namespace {

// Events are closures.
class Events final : public EventSource {
 public:
  // The process's.
  static Events& Get() {
    static Events* const events = [] {
      auto* const made = new Events;
      InstallEventSource(*made);
      return made;
    }();
    return *events;
  }

  void Post(absl::AnyInvocable<void()> event) {
    absl::MutexLock lock(&mu_);
    events_.push_back(std::move(event));
  }
  bool Poll(Wait wait) override {
    EXPECT_FALSE(is_polled_.exchange(true)) << "two threads are in the source";
    absl::AnyInvocable<void()> event;
    {
      absl::MutexLock lock(&mu_);
      if (wait == Wait::kUntil) mu_.Await(absl::Condition(this, &Events::HasSome));
      if (is_woken_) {
        is_woken_ = false;
        event = [] {};
      } else if (!events_.empty()) {
        event = std::move(events_.front());
        events_.pop_front();
      }
    }
    const bool has_one = event != nullptr;
    if (has_one) event();
    is_polled_.store(false);
    return has_one;
  }
  void Wake() override {
    absl::MutexLock lock(&mu_);
    is_woken_ = true;
  }
  void StartThread(absl::AnyInvocable<void()> body) override {
    std::thread([body = std::make_shared<absl::AnyInvocable<void()>>(std::move(body))] { (*body)(); }).detach();
  }

 private:
  bool HasSome() const ABSL_EXCLUSIVE_LOCKS_REQUIRED(mu_) { return is_woken_ || !events_.empty(); }

  std::atomic<bool> is_polled_{false};
  absl::Mutex mu_;
  bool is_woken_ ABSL_GUARDED_BY(mu_) = false;
  std::deque<absl::AnyInvocable<void()>> events_ ABSL_GUARDED_BY(mu_);
};

class Turn final : public Runnable {
 public:
  explicit Turn(absl::AnyInvocable<void()> run) : run_(std::move(run)) {}
  void Run() override { run_(); }

 private:
  absl::AnyInvocable<void()> run_;
};

// An event that is handled in time ends this.
void AwaitEvent() {
  absl::Notification handled;
  Events::Get().Post([&] { handled.Notify(); });
  handled.WaitForNotification();
}

TEST(EventSourceTest, AnIdleWorkerPollsAndRunsWhatAnEventMakesRunnableItself) {
  Events& events = Events::Get();
  ThreadPool pool({.threads = 2});
  int ran_where_it_was_polled = 0;
  for (int i = 0; i < 100; ++i) {
    absl::Notification done;
    std::thread::id polled_by;
    std::thread::id run_by;
    Turn turn([&] {
      run_by = std::this_thread::get_id();
      done.Notify();
    });
    events.Post([&] {
      polled_by = std::this_thread::get_id();
      pool.Schedule(&turn);
    });
    done.WaitForNotification();
    ran_where_it_was_polled += polled_by == run_by ? 1 : 0;
  }
  // On a loaded machine the watchdog may have polled now and then.
  EXPECT_GE(ran_where_it_was_polled, 50);
}

TEST(EventSourceTest, APollingWorkerIsWokenForWhatAPlainThreadSchedules) {
  Events::Get();
  ThreadPool pool({.threads = 1});
  for (int i = 0; i < 200; ++i) {
    if (i % 2 == 0) AwaitEvent();  // the worker polls now, or goes back to polling
    absl::Notification done;
    Turn turn([&] { done.Notify(); });
    pool.Schedule(&turn);
    done.WaitForNotification();
  }
}

TEST(EventSourceTest, ActorsThatOneEventMakesRunnableRunOnAllWorkers) {
  Events& events = Events::Get();
  ThreadPool pool({.threads = 2});
  for (int i = 0; i < 100; ++i) {
    // Each turn goes on until the other runs too.
    std::atomic<int> met{0};
    absl::Notification over;
    const auto run = [&] {
      met.fetch_add(1);
      while (met.load() < 2) std::this_thread::yield();
      if (met.fetch_add(1) == 3) over.Notify();
    };
    Turn first(run);
    Turn second(run);
    events.Post([&] {
      pool.Schedule(&first);
      pool.Schedule(&second);
    });
    over.WaitForNotification();
  }
}

// Schedules itself until it is told to stop.
class Busy final : public Runnable {
 public:
  explicit Busy(ThreadPool& pool) : pool_(pool) {}
  void Run() override {
    if (stops.load(std::memory_order_relaxed)) {
      stopped.Notify();
    } else {
      pool_.Schedule(this);
    }
  }
  std::atomic<bool> stops{false};
  absl::Notification stopped;

 private:
  ThreadPool& pool_;
};

TEST(EventSourceTest, ABusyPoolPollsToo) {
  Events::Get();
  ThreadPool pool({.threads = 2});
  std::vector<std::unique_ptr<Busy>> busy;
  for (int i = 0; i < 4; ++i) busy.push_back(std::make_unique<Busy>(pool));
  for (const auto& turn : busy) pool.Schedule(turn.get());
  for (int i = 0; i < 100; ++i) AwaitEvent();
  for (const auto& turn : busy) turn->stops.store(true);
  for (const auto& turn : busy) turn->stopped.WaitForNotification();
}

TEST(EventSourceTest, WhileEveryWorkerIsStuckTheWatchdogPolls) {
  Events::Get();
  ThreadPool pool({.threads = 2, .surplus_threads_max = 0});
  absl::BlockingCounter running(2);
  absl::Notification go_on;
  absl::BlockingCounter done(2);
  const auto block = [&] {
    running.DecrementCount();
    go_on.WaitForNotification();
    done.DecrementCount();
  };
  Turn first(block);
  Turn second(block);
  pool.Schedule(&first);
  pool.Schedule(&second);
  running.Wait();
  for (int i = 0; i < 10; ++i) AwaitEvent();
  go_on.Notify();
  done.Wait();
}

// Events without end do not keep the watchdog from its other work.
TEST(EventSourceTest, TheWatchdogHandlesABoundedNumberOfEventsInOneLook) {
  Events& events = Events::Get();
  ThreadPool pool({.threads = 1, .surplus_threads_max = 0});
  absl::Notification running;
  absl::Notification go_on;
  absl::Notification done;
  Turn block([&] {
    running.Notify();
    go_on.WaitForNotification();
    done.Notify();
  });
  pool.Schedule(&block);
  running.WaitForNotification();
  constexpr int kEvents = 5 * ThreadPool::kEventsPerLook;
  std::map<uint64_t, int> handled_in;  // that turn of the one who polls
  int left = kEvents;
  std::function<void()> next = [&] {
    ++handled_in[internal::Polling::Process().turns()];
    if (--left > 0) {
      events.Post([&] { next(); });
    } else {
      go_on.Notify();
    }
  };
  events.Post([&] { next(); });
  done.WaitForNotification();
  for (const auto& [turn, handled] : handled_in) EXPECT_LE(handled, ThreadPool::kEventsPerLook) << turn;
  EXPECT_GE(handled_in.size(), 5U);
}

TEST(EventSourceTest, WhenThePollingWorkerIsStuckAnIdleOnePolls) {
  Events& events = Events::Get();
  ThreadPool pool({.threads = 2, .surplus_threads_max = 0});
  absl::Notification running;
  absl::Notification go_on;
  absl::Notification done;
  Turn block([&] {
    running.Notify();
    go_on.WaitForNotification();
    done.Notify();
  });
  events.Post([&] { pool.Schedule(&block); });
  running.WaitForNotification();
  for (int i = 0; i < 10; ++i) AwaitEvent();
  go_on.Notify();
  done.WaitForNotification();
}

TEST(EventSourceTest, WhenAPoolEndsAnotherOnePollsAndWithoutAnyTheSourcesThread) {
  Events::Get();
  for (int i = 0; i < 50; ++i) {
    auto first = std::make_unique<ThreadPool>(ThreadPoolOptions{.threads = 1});
    auto second = std::make_unique<ThreadPool>(ThreadPoolOptions{.threads = 2});
    AwaitEvent();
    if (i % 2 == 0) first.swap(second);
    first.reset();
    AwaitEvent();
    second.reset();
    AwaitEvent();
  }
}

}  // namespace
}  // namespace understudy
