// A producer sends increments to a counter, and then asks for the total.
#include "understudy/tests/bench/workload.h"

namespace understudy::bench {
namespace {

class Counter final : public Actor {
 public:
  Mailbox<"add", int64_t> add{this, {.capacity_messages = kLargeCapacity}};
  Mailbox<"total", Call<int, int64_t>> total{this};

  StartResult Start() override { return counting_; }

 private:
  void Add(int64_t amount) { sum_ += amount; }
  int64_t Total(int) { return sum_; }

  int64_t sum_ = 0;
  Behavior counting_{"counting", On(add, &Counter::Add), On(total, &Counter::Total)};
};

class Producer final : public Actor {
 public:
  Mailbox<"start", int64_t> start{this};

  Producer(Ref<Counter> counter, Finish* finish) : counter_(counter), finish_(finish) {}

  StartResult Start() override { return producing_; }

 private:
  Task<> Produce(int64_t messages) {
    const Channel<int64_t> add = counter_[&Counter::add];
    for (int64_t i = 0; i < messages; ++i) SendOrDie(add, int64_t{1});
    const auto asked = counter_[&Counter::total].Ask(0, absl::Minutes(1));
    const absl::StatusOr<int64_t> total = co_await asked;
    UNDERSTUDY_CHECK(total.ok(), "the counter does not answer: ", total.status().ToString());
    finish_->Report(*total);
  }

  const Ref<Counter> counter_;
  Finish* const finish_;
  Behavior producing_{"producing", On(start, &Producer::Produce)};
};

}  // namespace

Measurement RunCounting(ActorSystem& system, int64_t operations) {
  Finish finish(system);
  const Ref<Counter> counter = system.Spawn<Counter>();
  const Ref<Producer> producer = system.Spawn<Producer>(counter, &finish);
  AwaitStarted(system, counter[&Counter::total]);
  const Stopwatch stopwatch;
  SendOrDie(producer[&Producer::start], operations);
  Measurement measured{.count = finish.Await()};
  measured.seconds = stopwatch.Seconds();
  EndActors(system, {counter.pid(), producer.pid()});
  return measured;
}

}  // namespace understudy::bench
