// In the steady state nothing is allocated. Each case runs until everything that is kept has been allocated, and then
// counts every malloc of the process over many messages.
#include <array>
#include <new>
#include <ostream>
#include <string>
#include <utility>

#include "absl/status/statusor.h"
#include "absl/types/optional.h"
#include "gtest/gtest.h"
#include "understudy/actors/actor_system.h"
#include "understudy/actors/log_sink.h"
#include "understudy/actors/test_system.h"
#include "understudy/tests/bench/allocations.h"
#include "understudy/tests/bench/workload.h"

namespace understudy::bench {
namespace {

// Enough steps to also allocate what grows with time: a cancelled deadline keeps its memory until the next tick.
constexpr int64_t kWarmUp = 50000;
constexpr int64_t kCounted = 20000;

// Counts the allocations between the kWarmUp-th step and kCounted steps later.
class Meter {
 public:
  explicit Meter(Finish* finish) : finish_(finish) {}
  // Records that a step is done. Returns false after the last step.
  bool Step() {
    ++steps_;
    if (steps_ == kWarmUp) before_ = AllocationCount();
    if (steps_ < kWarmUp + kCounted) return true;
    finish_->Report(AllocationCount() - before_);
    return false;
  }

 private:
  Finish* const finish_;
  int64_t steps_ = 0;
  int64_t before_ = 0;
};

struct Small {
  int64_t number = 0;
};
struct Large {
  std::array<int64_t, 10> numbers{};
};

// Gives back each message that comes.
template <class M>
class Wall final : public Actor {
 public:
  Mailbox<"ball", M> ball{this};
  Mailbox<"call", Call<M, M>> call{this};
  Mailbox<"back", Channel<M>> back{this};
  StartResult Start() override { return bouncing_; }

 private:
  void Bounce(const M& message) { SendOrDie(back_, message); }
  M Answer(const M& message) { return message; }
  void SetBack(const Channel<M>& channel) { back_ = channel; }

  Channel<M> back_;
  Behavior bouncing_{"bouncing", On(ball, &Wall::Bounce), On(call, &Wall::Answer), On(back, &Wall::SetBack)};
};

template <class M>
class Thrower final : public Actor {
 public:
  Mailbox<"start", int> start{this};
  Mailbox<"ball", M> ball{this};
  Thrower(Ref<Wall<M>> wall, Finish* finish) : wall_(wall), meter_(finish) {}
  StartResult Start() override { return throwing_; }

 private:
  void Begin() {
    SendOrDie(wall_[&Wall<M>::back], context().ChannelTo(ball));
    SendOrDie(wall_[&Wall<M>::ball], M());
  }
  void Catch(const M& message) {
    if (meter_.Step()) SendOrDie(wall_[&Wall<M>::ball], message);
  }

  const Ref<Wall<M>> wall_;
  Meter meter_;
  Behavior throwing_{"throwing", On(start, &Thrower::Begin), On(ball, &Thrower::Catch)};
};

template <class M>
void PingPong(ActorSystem& system, Finish* finish) {
  const auto wall = system.Spawn<Wall<M>>();
  SendOrDie(system.Spawn<Thrower<M>>(wall, finish)[&Thrower<M>::start], 0);
}

// Asks one after the other in one coroutine.
class Asker final : public Actor {
 public:
  Mailbox<"start", int> start{this};
  Asker(Channel<Call<Small, Small>> callee, Finish* finish) : callee_(callee), meter_(finish) {}
  StartResult Start() override { return asking_; }

 private:
  Task<> Run(int) {
    do {
      const auto asked = callee_.Ask(Small(), kAskTimeout);
      const absl::StatusOr<Small> answer = co_await asked;
      UNDERSTUDY_CHECK(answer.ok(), answer.status().ToString());
    } while (meter_.Step());
  }

  const Channel<Call<Small, Small>> callee_;
  Meter meter_;
  Behavior asking_{"asking", On(start, &Asker::Run)};
};

void AskAgainAndAgain(ActorSystem& system, Channel<Call<Small, Small>> callee, Finish* finish) {
  SendOrDie(system.Spawn<Asker>(callee, finish)[&Asker::start], 0);
}

void Asks(ActorSystem& system, Finish* finish) {
  AskAgainAndAgain(system, system.Spawn<Wall<Small>>()[&Wall<Small>::call], finish);
}

// Answers calls by their Repliers: at once, or through another desk, which keeps the Replier for one turn.
class Desk final : public Actor {
 public:
  struct Slip {
    Replier<Small> replier;
  };
  Mailbox<"now", Call<Small, Small>> now{this};
  Mailbox<"later", Call<Small, Small>> later{this};
  Mailbox<"slip", Slip> slip{this};
  Mailbox<"due", Small> due{this};
  explicit Desk(Ref<Desk> other) : other_(other) {}
  StartResult Start() override { return open_; }

 private:
  void Now(const Small& message, Replier<Small> replier) { replier.Reply(message); }
  void Later(const Small&, Replier<Small> replier) { SendOrDie(other_[&Desk::slip], Slip{std::move(replier)}); }
  void Keep(Slip passed) {
    kept_.emplace(std::move(passed));
    SendOrDie(context().ChannelTo(due), Small());
  }
  void Answer(const Small& message) {
    kept_->replier.Reply(message);
    kept_.reset();
  }

  const Ref<Desk> other_;
  absl::optional<Slip> kept_;
  Behavior open_{"open", On(now, &Desk::Now), On(later, &Desk::Later), On(slip, &Desk::Keep), On(due, &Desk::Answer)};
};

void RepliesAtOnce(ActorSystem& system, Finish* finish) {
  AskAgainAndAgain(system, system.Spawn<Desk>(Ref<Desk>())[&Desk::now], finish);
}
void RepliesLater(ActorSystem& system, Finish* finish) {
  const auto other = system.Spawn<Desk>(Ref<Desk>());
  AskAgainAndAgain(system, system.Spawn<Desk>(other)[&Desk::later], finish);
}

// Sends itself messages; becomes the other behaviour with each.
class Toggle final : public Actor {
 public:
  Mailbox<"tick", Small> tick{this};
  explicit Toggle(Finish* finish) : meter_(finish) {}
  StartResult Start() override {
    own_tick_ = context().ChannelTo(tick);
    return even_;
  }

 private:
  void ByCall(const Small& message) {
    Become(odd_);
    if (meter_.Step()) SendOrDie(own_tick_, message);
  }
  Behavior ByResult(const Small& message) {
    if (meter_.Step()) SendOrDie(own_tick_, message);
    return even_;
  }

  Meter meter_;
  Channel<Small> own_tick_;
  Behavior even_{"even", On(tick, &Toggle::ByCall)};
  Behavior odd_{"odd", On(tick, &Toggle::ByResult)};
};

void Becomes(ActorSystem& system, Finish* finish) { SendOrDie(system.Spawn<Toggle>(finish)[&Toggle::tick], Small()); }

// Fills its guarded mailbox, opens it, and begins again when it is empty.
class Gate final : public Actor {
 public:
  static constexpr int kFill = 100;
  Mailbox<"fill", Small> fill{this};
  Mailbox<"held", Small> held{this};
  explicit Gate(Finish* finish) : meter_(finish) {}
  StartResult Start() override {
    const Ref<Gate> self(context().Self());
    own_fill_ = self[&Gate::fill];
    own_held_ = self[&Gate::held];
    return guarded_;
  }

 private:
  bool IsOpen() const { return waiting_ == kFill || is_emptying_; }
  void Fill(const Small& message) {
    ++waiting_;
    SendOrDie(own_held_, message);
    if (waiting_ < kFill) SendOrDie(own_fill_, message);
  }
  void Take(const Small& message) {
    is_emptying_ = --waiting_ > 0;
    const bool goes_on = meter_.Step();
    if (waiting_ == 0 && goes_on) SendOrDie(own_fill_, message);
  }

  Meter meter_;
  Channel<Small> own_fill_;
  Channel<Small> own_held_;
  int waiting_ = 0;
  bool is_emptying_ = false;
  Behavior guarded_{"guarded", On(fill, &Gate::Fill), On(held, &Gate::Take).When(&Gate::IsOpen)};
};

void Guards(ActorSystem& system, Finish* finish) { SendOrDie(system.Spawn<Gate>(finish)[&Gate::fill], Small()); }

struct Case {
  std::string name;
  void (*begin)(ActorSystem& system, Finish* finish);
  bool asks = false;

  friend void PrintTo(const Case& self, std::ostream* out) { *out << self.name; }
};

class SteadyState : public testing::TestWithParam<Case> {
 protected:
  void SetUp() override {
    if (!CountsAllocations()) GTEST_SKIP() << "a sanitizer has its own malloc";
  }
  void ExpectAllocations(ActorSystem& system, int64_t allocations_max) {
    Finish finish(system);
    GetParam().begin(system, &finish);
    EXPECT_LE(finish.Await(), allocations_max) << "allocations in " << kCounted << " steps";
  }
};

TEST_P(SteadyState, AllocatesNothingUnderTheSeededExecutor) {
  if (GetParam().asks) GTEST_SKIP() << "this executor keeps deadlines in a map";
  TestSystem system(/*seed=*/3);
  ExpectAllocations(system, 0);
}

TEST_P(SteadyState, AllocatesNothingOnOneThread) {
  ActorSystemOptions options;
  options.threads.threads = 1;
  options.threads.surplus_threads_max = 0;       // on a busy machine a handler may look stuck,
  options.log = &LogSink::Null();                // and a line that says so be made meanwhile
  options.call_cycles = FindCallCycles::kNever;  // debug builds keep a graph of waits
  ActorSystem system(options);
  ExpectAllocations(system, 0);
}

// An actor may move to the other worker after the warm-up. That worker then allocates its own structures once, however
// many messages follow.
TEST_P(SteadyState, AllocatesNoMoreThanAWorkerKeepsOnTwoThreads) {
  ActorSystemOptions options;
  options.threads.threads = 2;
  options.threads.surplus_threads_max = 0;
  options.log = &LogSink::Null();
  options.call_cycles = FindCallCycles::kNever;
  ActorSystem system(options);
  ExpectAllocations(system, 8);
}

INSTANTIATE_TEST_SUITE_P(Cases, SteadyState,
                         testing::Values(Case{"TellPingPong", &PingPong<Small>},
                                         Case{"TellPingPong80", &PingPong<Large>},
                                         Case{"BecomeMemberBehaviours", &Becomes}, Case{"GuardedMailbox", &Guards},
                                         Case{"AskAndAwait", &Asks, /*asks=*/true},
                                         Case{"AskAndReply", &RepliesAtOnce, /*asks=*/true},
                                         Case{"AskAndReplyLater", &RepliesLater, /*asks=*/true}),
                         [](const auto& info) { return info.param.name; });

TEST(AllocationCountTest, CountsNewAndMalloc) {
  if (!CountsAllocations()) GTEST_SKIP() << "a sanitizer has its own malloc";
  const int64_t before = AllocationCount();
  // This calls the function, because a compiler may leave out a new-expression.
  void* const memory = ::operator new(4000);
  EXPECT_EQ(AllocationCount(), before + 1);
  ::operator delete(memory);
}

}  // namespace
}  // namespace understudy::bench
