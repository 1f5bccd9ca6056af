// Mail for a closed mailbox schedules no turn (semantics 2.5), whether an actor or a plain thread sends it. The test
// counts the turns that are scheduled.
#include <atomic>
#include <cstdint>
#include <functional>
#include <ostream>
#include <string>
#include <thread>
#include <utility>

#include "absl/functional/any_invocable.h"
#include "absl/functional/function_ref.h"
#include "absl/status/statusor.h"
#include "absl/time/time.h"
#include "absl/types/optional.h"
#include "gtest/gtest.h"
#include "understudy/actors/actor.h"
#include "understudy/actors/actor_system.h"
#include "understudy/actors/executor.h"
#include "understudy/actors/thread_pool.h"

namespace understudy {
namespace {

// A thread pool that counts how often an actor is scheduled, that is once for each turn.
class CountingExecutor final : public Executor {
 public:
  int64_t scheduled() const { return scheduled_.load(); }

  Clock& clock() override { return pool_.clock(); }
  void Schedule(Runnable* runnable) override {
    scheduled_.fetch_add(1);
    pool_.Schedule(runnable);
  }
  bool WhileInUserCode(Runnable* turn, absl::FunctionRef<bool()> is_meant, absl::FunctionRef<void()> action) override {
    return pool_.WhileInUserCode(turn, is_meant, action);
  }
  absl::StatusOr<uint32_t> NewOwnThread() override { return pool_.NewOwnThread(); }
  void EndOwnThread(uint32_t id) override { pool_.EndOwnThread(id); }
  uint64_t RunAt(MonotonicTime time, absl::AnyInvocable<void()> callback) override {
    return pool_.RunAt(time, std::move(callback));
  }
  bool Cancel(uint64_t timer) override { return pool_.Cancel(timer); }
  bool BlockUntil(absl::FunctionRef<bool()> done, MonotonicTime deadline) override {
    return pool_.BlockUntil(done, deadline);
  }
  void Notify() override { pool_.Notify(); }

 private:
  std::atomic<int64_t> scheduled_{0};
  ThreadPool pool_{{.threads = 2}};
};

// How `mail` is closed.
enum class By { kBehavior, kGuard, kScopedClose };

class Closed final : public Actor {
 public:
  Mailbox<"mail", int64_t> mail{this, {.capacity_messages = 2'000'000}};
  Mailbox<"open", Call<int, int>> open{this};
  Mailbox<"sum", Call<int, int64_t>> sum{this};
  explicit Closed(By by) : by_(by) {}
  StartResult Start() override {
    if (by_ == By::kScopedClose) close_.emplace(context().Close(mail));
    return by_ == By::kBehavior ? unnamed_ : named_;
  }

 private:
  bool IsOpen() const { return by_ != By::kGuard || is_open_; }
  int Open(int) {
    is_open_ = true;
    close_.reset();
    Become(named_);
    return 0;
  }
  void Take(int64_t number) { sum_ += number; }
  int64_t Sum(int) { return sum_; }

  const By by_;
  bool is_open_ = false;
  absl::optional<ScopedClose> close_;
  int64_t sum_ = 0;
  Behavior unnamed_{"unnamed", On(open, &Closed::Open), On(sum, &Closed::Sum)};
  Behavior named_{"named", On(mail, &Closed::Take).When(&Closed::IsOpen), On(open, &Closed::Open),
                  On(sum, &Closed::Sum)};
};

struct Case {
  std::string name;
  By by = By::kBehavior;
  int64_t sends = 0;

  friend void PrintTo(const Case& self, std::ostream* out) { *out << self.name; }
};

// Runs the function that it gets, within one handler.
class Sender final : public Actor {
 public:
  Mailbox<"call", Call<std::function<void()>, int>> call{this};
  StartResult Start() override { return sending_; }

 private:
  int Run(const std::function<void()>& what) {
    what();
    return 0;
  }
  Behavior sending_{"sending", On(call, &Sender::Run)};
};

class ClosedMailboxTest : public testing::TestWithParam<Case> {
 protected:
  static constexpr absl::Duration kLong = absl::Minutes(2);

  void Send(Channel<int64_t> mail, int64_t times) {
    const int64_t before = executor_.scheduled();
    int64_t refused = 0;
    for (int64_t i = 1; i <= times; ++i) refused += mail.Send(i).ok() ? 0 : 1;
    EXPECT_EQ(refused, 0);
    EXPECT_EQ(executor_.scheduled(), before) << "turns for mail of a closed mailbox";
  }

  CountingExecutor executor_;
  ActorSystem system_{{.executor = &executor_, .closed_mail_limit = absl::InfiniteDuration()}};
};

TEST_P(ClosedMailboxTest, ItsMailWakesNobody) {
  const Ref<Closed> closed = system_.Spawn<Closed>(GetParam().by);
  const Ref<Sender> sender = system_.Spawn<Sender>();
  // The actor has started, and its last turn is over: it is idle, and a sender that wakes it must schedule it.
  ASSERT_TRUE(system_.Ask(closed[&Closed::sum], 0, kLong).ok());
  const auto asker_has_ended = [&] { return system_.live_actors() == 2; };
  ASSERT_TRUE(executor_.BlockUntil(asker_has_ended, executor_.clock().Now() + kLong));
  const int64_t each = GetParam().sends / 4;
  const auto send = [&] { Send(closed[&Closed::mail], each); };
  // Two plain threads, and then two times an actor.
  std::thread other(send);
  send();
  other.join();
  for (int i = 0; i < 2; ++i) ASSERT_TRUE(system_.Ask(sender[&Sender::call], send, kLong).ok());
  EXPECT_EQ(system_.Ledger().waiting, 4 * each);
  // All of it is there.
  ASSERT_TRUE(system_.Ask(closed[&Closed::open], 0, kLong).ok());
  const absl::StatusOr<int64_t> sum = system_.Ask(closed[&Closed::sum], 0, kLong);
  EXPECT_EQ(sum.value_or(0), 4 * each * (each + 1) / 2) << sum.status();
}

INSTANTIATE_TEST_SUITE_P(WhenClosed, ClosedMailboxTest,
                         testing::Values(Case{"AMillionByItsBehaviour", By::kBehavior, 1'000'000},
                                         Case{"ByAGuard", By::kGuard, 100'000},
                                         Case{"ByAScopedClose", By::kScopedClose, 100'000}),
                         [](const auto& info) { return info.param.name; });

}  // namespace
}  // namespace understudy
