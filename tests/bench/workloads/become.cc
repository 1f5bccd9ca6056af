// An actor becomes its other behaviour with each message that a producer sends.
#include "understudy/tests/bench/workload.h"

namespace understudy::bench {
namespace {

class Toggle final : public Actor {
 public:
  Mailbox<"tick", int64_t> tick{this, {.capacity_messages = kLargeCapacity}};
  Mailbox<"sum", Call<int, int64_t>> sum{this};

  Toggle(int64_t expected, Finish* finish) : expected_(expected), finish_(finish) {}

  StartResult Start() override { return even_; }

 private:
  void Even(int64_t amount) {
    evens_ += amount;
    Become(odd_);
    Count();
  }
  void Odd(int64_t amount) {
    odds_ += amount;
    Become(even_);
    Count();
  }
  void Count() {
    if (evens_ + odds_ < expected_) return;
    UNDERSTUDY_CHECK(evens_ == odds_, evens_, " in the one behaviour, ", odds_, " in the other");
    finish_->Report(evens_ + odds_);
  }

  int64_t Sum(int) { return evens_ + odds_; }

  const int64_t expected_;
  Finish* const finish_;
  int64_t evens_ = 0;
  int64_t odds_ = 0;
  Behavior even_{"even", On(tick, &Toggle::Even), On(sum, &Toggle::Sum)};
  Behavior odd_{"odd", On(tick, &Toggle::Odd), On(sum, &Toggle::Sum)};
};

class Producer final : public Actor {
 public:
  Mailbox<"start", int64_t> start{this};

  explicit Producer(Channel<int64_t> toggle) : toggle_(toggle) {}

  StartResult Start() override { return producing_; }

 private:
  void Produce(int64_t messages) {
    for (int64_t i = 0; i < messages; ++i) SendOrDie(toggle_, int64_t{1});
  }

  const Channel<int64_t> toggle_;
  Behavior producing_{"producing", On(start, &Producer::Produce)};
};

}  // namespace

Measurement RunBecome(ActorSystem& system, int64_t operations) {
  Finish finish(system);
  const Ref<Toggle> toggle = system.Spawn<Toggle>(operations, &finish);
  const Ref<Producer> producer = system.Spawn<Producer>(toggle[&Toggle::tick]);
  AwaitStarted(system, toggle[&Toggle::sum]);
  const Stopwatch stopwatch;
  SendOrDie(producer[&Producer::start], operations);
  Measurement measured{.count = finish.Await()};
  measured.seconds = stopwatch.Seconds();
  EndActors(system, {toggle.pid(), producer.pid()});
  return measured;
}

}  // namespace understudy::bench
