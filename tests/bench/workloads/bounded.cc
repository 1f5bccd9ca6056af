// Producers send faster than the receiver handles, to a mailbox of 100 messages, and wait for room.
#include <vector>

#include "understudy/tests/bench/workload.h"

namespace understudy::bench {
namespace {

class Counter final : public Actor {
 public:
  Mailbox<"add", int64_t> add{this, {.capacity_messages = kBoundedCapacity}};
  Mailbox<"expect", Call<int64_t, bool>> expect{this};

  explicit Counter(Finish* finish) : finish_(finish) {}

  StartResult Start() override { return counting_; }

 private:
  bool Expect(int64_t messages) {
    left_ = messages;
    return true;
  }
  void Add(int64_t amount) {
    sum_ += amount;
    if (--left_ == 0) finish_->Report(sum_);
  }

  Finish* const finish_;
  int64_t left_ = 0;
  int64_t sum_ = 0;
  Behavior counting_{"counting", On(add, &Counter::Add), On(expect, &Counter::Expect)};
};

class Producer final : public Actor {
 public:
  Mailbox<"start", int64_t> start{this};

  explicit Producer(Ref<Counter> counter) : counter_(counter) {}

  StartResult Start() override { return producing_; }

 private:
  Task<> Produce(int64_t messages) {
    const Channel<int64_t> add = counter_[&Counter::add];
    for (int64_t i = 0; i < messages; ++i) {
      auto sent = add.SendWhenRoom(1, absl::Minutes(1));
      const absl::Status status = co_await sent;
      if (!status.ok()) EndRefused(status);
    }
  }

  const Ref<Counter> counter_;
  Behavior producing_{"producing", On(start, &Producer::Produce)};
};

Measurement Run(ActorSystem& system, int64_t operations, int producer_count) {
  Finish finish(system);
  const Ref<Counter> counter = system.Spawn<Counter>(&finish);
  std::vector<Ref<Producer>> producers;
  std::vector<Pid> pids{counter.pid()};
  for (int i = 0; i < producer_count; ++i) {
    producers.push_back(system.Spawn<Producer>(counter));
    pids.push_back(producers.back().pid());
  }
  (void)AskOrDie(system, counter[&Counter::expect], operations);
  const Stopwatch stopwatch;
  for (const Ref<Producer>& producer : producers) {
    SendOrDie(producer[&Producer::start], operations / producer_count);
  }
  Measurement measured{.count = finish.Await()};
  measured.seconds = stopwatch.Seconds();
  EndActors(system, pids);
  return measured;
}

}  // namespace

Measurement RunCountingBounded(ActorSystem& system, int64_t operations) { return Run(system, operations, 1); }
Measurement RunContentionBounded(ActorSystem& system, int64_t operations) {
  return Run(system, operations, kProducers);
}

}  // namespace understudy::bench
