// Pools on real threads, with ten thousand children at once.
#include <cstddef>
#include <cstdint>
#include <set>
#include <string>
#include <thread>
#include <utility>
#include <vector>

#include "absl/status/status.h"
#include "absl/status/statusor.h"
#include "absl/strings/str_cat.h"
#include "absl/time/time.h"
#include "gtest/gtest.h"
#include "understudy/actors/actor.h"
#include "understudy/actors/actor_system.h"
#include "understudy/actors/exit_reason.h"
#include "understudy/actors/log_sink.h"
#include "understudy/actors/pending_group.h"
#include "understudy/actors/pid.h"
#include "understudy/supervision/child_spec.h"
#include "understudy/supervision/internal/child_info.h"
#include "understudy/supervision/pool.h"
#include "understudy/supervision/supervisor.h"

namespace understudy {
namespace {

constexpr absl::Duration kDeadline = absl::Seconds(120);

class Idler final : public Actor {
 public:
  explicit Idler(int number) : number_(number) {}
  Mailbox<"number", Call<int, int>> number{this};
  Mailbox<"crash", int> crash{this};
  StartResult Start() override { return idling_; }

 private:
  int Tell(int) { return number_; }
  void Crash(int) { context().Stop(ExitReason::Failed(absl::InternalError("told to"))); }
  const int number_;
  Behavior idling_{"idling", On(number, &Idler::Tell), On(crash, &Idler::Crash)};
};
using Idlers = Pool<Idler(int)>;

// Batch has the requests that a client sends at once; Answers has their results.
struct Batch {
  std::vector<int> starts;
  std::vector<Pid> terminations;
};
struct Answers {
  std::vector<Ref<Idler>> started;
  int terminated = 0;
};
class Client final : public Actor {
 public:
  explicit Client(Idlers::Ref pool) : pool_(pool) {}
  Mailbox<"ask", Call<Batch, Answers>> ask{this};
  StartResult Start() override { return asking_; }

 private:
  Task<absl::StatusOr<Answers>> Do(Batch request) {
    std::vector<Pending<Ref<Idler>>> starting;
    for (const int number : request.starts) starting.push_back(pool_.start().Ask(number, kDeadline));
    std::vector<Pending<ChildDone>> ending;
    for (const Pid pid : request.terminations) {
      TerminateChild terminate{.pid = pid};
      ending.push_back(pool_.terminate_child().Ask(terminate, kDeadline));
    }
    Answers answers;
    auto all_started = All(starting);
    const std::vector<absl::StatusOr<Ref<Idler>>> started = co_await all_started;
    for (const auto& one : started) {
      if (!one.ok()) co_return one.status();
      answers.started.push_back(*one);
    }
    auto all_ended = All(ending);
    const std::vector<absl::StatusOr<ChildDone>> ended = co_await all_ended;
    for (const auto& one : ended) {
      if (!one.ok()) co_return one.status();
      ++answers.terminated;
    }
    co_return answers;
  }
  const Idlers::Ref pool_;
  Behavior asking_{"asking", On(ask, &Client::Do)};
};

class PoolThreadsTest : public testing::TestWithParam<int> {
 protected:
  ActorSystem system_{{.log = &LogSink::Null()}};
  ChildCounts CountOf(Idlers::Ref pool) {
    const absl::StatusOr<ChildCounts> counts = system_.Ask(pool.count_children(), {}, kDeadline);
    EXPECT_TRUE(counts.ok()) << counts.status();
    return counts.value_or(ChildCounts());
  }
};

INSTANTIATE_TEST_SUITE_P(Shards, PoolThreadsTest, testing::Values(1, 4));

// OTP SUP-52
TEST_P(PoolThreadsTest, TenThousandStartAndStopAtOnceAndTheCountsAreExact) {
  constexpr int kChildren = 10000;
  const Idlers::Ref pool = system_.Spawn<Idlers>(PoolOptions{.shards = GetParam()});
  const Ref<Client> client = system_.Spawn<Client>(pool);
  Batch starts;
  for (int i = 0; i < kChildren; ++i) starts.starts.push_back(i);
  const absl::StatusOr<Answers> started = system_.Ask(client[&Client::ask], starts, kDeadline);
  ASSERT_TRUE(started.ok()) << started.status();
  std::set<Pid> pids;
  for (const Ref<Idler>& one : started->started) pids.insert(one.pid());
  EXPECT_EQ(pids.size(), size_t{kChildren});
  EXPECT_EQ(CountOf(pool).active, kChildren);
  EXPECT_EQ(CountOf(pool).specs, kChildren);
  EXPECT_EQ(system_.Ask(started->started[4711][&Idler::number], 0, kDeadline).value(), 4711);
  std::set<Pid> listed;
  uint64_t after = 0;
  do {
    const Children page = system_.Ask(pool.which_children(), {.after = after}, kDeadline).value();
    for (const ChildInfo& child : page.children) listed.insert(child.pid);
    after = page.next;
  } while (after != 0);
  EXPECT_EQ(listed, pids);

  // Half of the children end while as many start.
  Batch both;
  for (int i = 0; i < kChildren / 2; ++i) {
    both.starts.push_back(kChildren + i);
    both.terminations.push_back(started->started[static_cast<size_t>(2 * i)].pid());
  }
  const absl::StatusOr<Answers> changed = system_.Ask(client[&Client::ask], both, kDeadline);
  ASSERT_TRUE(changed.ok()) << changed.status();
  EXPECT_EQ(changed->terminated, kChildren / 2);
  EXPECT_EQ(CountOf(pool).active, kChildren);
  EXPECT_EQ(CountOf(pool).specs, kChildren);

  Batch rest;
  for (int i = 0; i < kChildren; i += 2) {
    rest.terminations.push_back(started->started[static_cast<size_t>(i + 1)].pid());
    rest.terminations.push_back(changed->started[static_cast<size_t>(i / 2)].pid());
  }
  ASSERT_TRUE(system_.Ask(client[&Client::ask], rest, kDeadline).ok());
  EXPECT_EQ(CountOf(pool).specs, 0);
}

TEST_P(PoolThreadsTest, ThousandsOfChildrenEndWithTheSystem) {
  const Idlers::Ref pool = system_.Spawn<Idlers>(PoolOptions{.restart = RestartType::kPermanent, .shards = GetParam()});
  const Ref<Client> client = system_.Spawn<Client>(pool);
  Batch starts;
  for (int i = 0; i < 10000; ++i) starts.starts.push_back(i);
  ASSERT_TRUE(system_.Ask(client[&Client::ask], starts, kDeadline).ok());
  EXPECT_TRUE(system_.Shutdown(kDeadline));
  EXPECT_EQ(system_.live_actors(), 0);
}

TEST_P(PoolThreadsTest, ChildrenCrashStartAndStopFromManyThreads) {
  const Idlers::Ref pool =
      system_.Spawn<Idlers>(PoolOptions{.restart = RestartType::kPermanent, .intensity = 100000, .shards = GetParam()});
  constexpr int kThreads = 4;
  constexpr int kEach = 200;
  std::vector<std::thread> threads;
  for (int t = 0; t < kThreads; ++t) {
    threads.emplace_back([&, t] {
      for (int i = 0; i < kEach; ++i) {
        const std::string id = absl::StrCat(t, "-", i);
        const auto started = system_.Ask(pool.start_as(), {id, i}, kDeadline);
        ASSERT_TRUE(started.ok()) << started.status();
        (*started)[&Idler::crash].Tell(0);
        if (i % 2 == 0) {
          EXPECT_TRUE(system_.Ask(pool.terminate_child(), {.id = id}, kDeadline).ok());
        }
        if (i % 4 == 1) {
          EXPECT_TRUE(system_.Ask(pool.terminate_child(), {.pid = started->pid()}, kDeadline).ok());
        }
      }
    });
  }
  for (std::thread& thread : threads) thread.join();
  // A pid may have been replaced before it was terminated, but an id remains valid.
  EXPECT_GE(CountOf(pool).specs, kThreads * kEach / 4);
  EXPECT_LE(CountOf(pool).specs, kThreads * kEach / 2);
  EXPECT_TRUE(system_.Shutdown(kDeadline));
  EXPECT_EQ(system_.live_actors(), 0);
}

}  // namespace
}  // namespace understudy
