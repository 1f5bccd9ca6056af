// Supervisors restart children that crash again and again, all at once or one at a time.
#include <deque>
#include <vector>

#include "understudy/supervision/builders.h"
#include "understudy/supervision/limits.h"
#include "understudy/tests/bench/workload.h"

namespace understudy::bench {
namespace {

// The number of supervisors, as in the Erlang program. OTP's supervisor walks through all restarts of its last period
// at each restart, so each of many supervisors has few of them.
constexpr int64_t kSupervisors = 600;

struct Crash {};

// Sends its channel once it has started, and fails when it is told to.
class Child final : public Actor {
 public:
  Mailbox<"crash", Crash> crash{this};

  explicit Child(Channel<Channel<Crash>> up) : up_(up) {}

  StartResult Start() override {
    SendOrDie(up_, context().ChannelTo(crash));
    return living_;
  }

 private:
  void DoCrash(const Crash&) { context().Stop(ExitReason::Failed(absl::InternalError("crashed"))); }

  const Channel<Channel<Crash>> up_;
  Behavior living_{"living", On(crash, &Child::DoCrash)};
};

// Crashes `at_once` children. Whenever a child has been restarted, it crashes the next child that runs, until it has
// seen all restarts. With `latencies`, which needs `at_once` to be 1, it records how long each restart takes.
class Breaker final : public Actor {
 public:
  Mailbox<"up", Channel<Crash>> up{this, {.capacity_messages = kLargeCapacity}};
  Mailbox<"start", int64_t> start{this};

  Breaker(Finish* all_up, Finish* finish, int64_t at_once, std::vector<absl::Duration>* latencies)
      : all_up_(all_up), finish_(finish), at_once_(at_once), latencies_(latencies) {}

  StartResult Start() override { return breaking_; }

 private:
  void Begin(int64_t restarts) {
    to_crash_ = to_see_ = restarts;
    for (int64_t i = 0; i < at_once_; ++i) CrashOne();
  }
  void Up(const Channel<Crash>& child) {
    children_.push_back(child);
    if (to_see_ == 0) {
      if (static_cast<int64_t>(children_.size()) == kSupervisors) all_up_->Report(kSupervisors);
      return;
    }
    if (latencies_ != nullptr) latencies_->push_back(Clock::Real().Now() - crashed_);
    ++seen_;
    CrashOne();
    if (seen_ == to_see_) finish_->Report(seen_);
  }
  // Crashes the child that has been running longest.
  void CrashOne() {
    if (to_crash_ == 0) return;
    --to_crash_;
    if (latencies_ != nullptr) crashed_ = Clock::Real().Now();
    SendOrDie(children_.front(), Crash());
    children_.pop_front();
  }

  Finish* const all_up_;
  Finish* const finish_;
  const int64_t at_once_;
  std::vector<absl::Duration>* const latencies_;
  std::deque<Channel<Crash>> children_;  // the running children, in the order of their starts
  MonotonicTime crashed_;
  int64_t to_crash_ = 0;
  int64_t to_see_ = 0;
  int64_t seen_ = 0;
  Behavior breaking_{"breaking", On(up, &Breaker::Up), On(start, &Breaker::Begin)};
};

Measurement RunRestarts(ActorSystem& system, int64_t operations, int64_t at_once, bool has_latencies) {
  Finish all_up(system);
  Finish finish(system);
  Measurement measured;
  if (has_latencies) measured.latencies.reserve(static_cast<size_t>(operations));
  const Ref<Breaker> breaker =
      system.Spawn<Breaker>(&all_up, &finish, at_once, has_latencies ? &measured.latencies : nullptr);
  // The largest intensity that a supervisor can have, so that none gives up.
  const auto tree = OneForOne()
                        .Intensity(limits::kRestartIntensityMax, absl::Seconds(1))
                        .Child("child", Of<Child>(breaker[&Breaker::up]));
  std::vector<Pid> actors;
  for (int64_t i = 0; i < kSupervisors; ++i) actors.push_back(system.Spawn(tree).pid());
  (void)all_up.Await();
  const Stopwatch stopwatch;
  SendOrDie(breaker[&Breaker::start], operations);
  measured.count = finish.Await();
  measured.seconds = stopwatch.Seconds();
  for (const Pid supervisor : actors) system.RequestStop(supervisor);
  AwaitActorsLeft(system, 1);
  EndActors(system, {breaker.pid()});
  return measured;
}

}  // namespace

Measurement RunRestart(ActorSystem& system, int64_t operations) {
  return RunRestarts(system, operations, kSupervisors, /*has_latencies=*/false);
}
Measurement RunRestartLatency(ActorSystem& system, int64_t operations) {
  return RunRestarts(system, operations, /*at_once=*/1, /*has_latencies=*/true);
}

}  // namespace understudy::bench
