// Supervisors restart children that crash, again and again.
#include <vector>

#include "understudy/supervision/builders.h"
#include "understudy/supervision/limits.h"
#include "understudy/tests/bench/workload.h"

namespace understudy::bench {
namespace {

// As many as in Erlang's program, whose supervisors have few restarts each in
// their period because of it.
constexpr int64_t kSupervisors = 600;

struct Crash {};

// Says that it is up, and ends with a failure when it is told to.
class Child final : public Actor {
 public:
  Mailbox<"crash", Crash> crash{this};

  explicit Child(Channel<Channel<Crash>> up) : up_(up) {}

  Next Start() override {
    SendOrDie(up_, Ref<Child>(context().Self())[&Child::crash]);
    return living_;
  }

 private:
  void DoCrash(const Crash&) { context().Stop(ExitReason::Failed(absl::InternalError("crashed"))); }

  const Channel<Channel<Crash>> up_;
  Behavior living_{"living", On(crash, &Child::DoCrash)};
};

// Crashes each child that comes up, until so many restarts have been seen.
class Breaker final : public Actor {
 public:
  Mailbox<"up", Channel<Crash>> up{this, {.capacity_messages = kLargeCapacity}};
  Mailbox<"start", int64_t> start{this};

  explicit Breaker(Finish* all_up, Finish* finish) : all_up_(all_up), finish_(finish) {}

  Next Start() override { return breaking_; }

 private:
  void Begin(int64_t restarts) {
    to_crash_ = to_see_ = restarts;
    for (const Channel<Crash>& child : first_) CrashOne(child);
  }
  void Up(const Channel<Crash>& child) {
    if (static_cast<int64_t>(first_.size()) < kSupervisors) {
      first_.push_back(child);
      if (static_cast<int64_t>(first_.size()) == kSupervisors) all_up_->Report(kSupervisors);
      return;
    }
    ++seen_;
    CrashOne(child);
    if (seen_ == to_see_) finish_->Report(seen_);
  }
  void CrashOne(const Channel<Crash>& child) {
    if (to_crash_ == 0) return;
    --to_crash_;
    SendOrDie(child, Crash());
  }

  Finish* const all_up_;
  Finish* const finish_;
  std::vector<Channel<Crash>> first_;
  int64_t to_crash_ = 0;
  int64_t to_see_ = 0;
  int64_t seen_ = 0;
  Behavior breaking_{"breaking", On(up, &Breaker::Up), On(start, &Breaker::Begin)};
};

}  // namespace

Measurement RunRestart(ActorSystem& system, int64_t operations) {
  Finish all_up(system);
  Finish finish(system);
  const Ref<Breaker> breaker = system.Spawn<Breaker>(&all_up, &finish);
  // As many restarts as there are within a second are allowed.
  const auto tree = OneForOne()
                        .Intensity(limits::kRestartIntensityMax, absl::Seconds(1))
                        .Child("child", Permanent<Child>(breaker[&Breaker::up]));
  std::vector<Pid> actors;
  for (int64_t i = 0; i < kSupervisors; ++i) actors.push_back(system.Spawn(tree).pid());
  (void)all_up.Await();
  const Stopwatch stopwatch;
  SendOrDie(breaker[&Breaker::start], operations);
  Measurement measured{.count = finish.Await()};
  measured.seconds = stopwatch.Seconds();
  for (const Pid supervisor : actors) system.RequestStop(supervisor);
  AwaitActorsLeft(system, 1);
  EndActors(system, {breaker.pid()});
  return measured;
}

}  // namespace understudy::bench
