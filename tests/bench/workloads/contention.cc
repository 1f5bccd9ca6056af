// Many producers send to one actor.
#include <vector>

#include "understudy/tests/bench/workload.h"

namespace understudy::bench {
namespace {

class Sink final : public Actor {
 public:
  Mailbox<"add", int64_t> add{this, {.capacity_messages = kLargeCapacity}};
  Mailbox<"sum", Call<int, int64_t>> sum{this};

  Sink(int64_t expected, Finish* finish) : expected_(expected), finish_(finish) {}

  StartResult Start() override { return counting_; }

 private:
  void Add(int64_t amount) {
    sum_ += amount;
    if (--expected_ == 0) finish_->Report(sum_);
  }

  int64_t Sum(int) { return sum_; }

  int64_t expected_;
  Finish* const finish_;
  int64_t sum_ = 0;
  Behavior counting_{"counting", On(add, &Sink::Add), On(sum, &Sink::Sum)};
};

class Producer final : public Actor {
 public:
  Mailbox<"start", int64_t> start{this};

  explicit Producer(Channel<int64_t> sink) : sink_(sink) {}

  StartResult Start() override { return producing_; }

 private:
  void Produce(int64_t messages) {
    for (int64_t i = 0; i < messages; ++i) SendOrDie(sink_, int64_t{1});
  }

  const Channel<int64_t> sink_;
  Behavior producing_{"producing", On(start, &Producer::Produce)};
};

}  // namespace

Measurement RunContention(ActorSystem& system, int64_t operations) {
  Finish finish(system);
  const Ref<Sink> sink = system.Spawn<Sink>(operations, &finish);
  std::vector<Ref<Producer>> producers;
  std::vector<Pid> pids{sink.pid()};
  for (int i = 0; i < kProducers; ++i) {
    producers.push_back(system.Spawn<Producer>(sink[&Sink::add]));
    pids.push_back(producers.back().pid());
  }
  AwaitStarted(system, sink[&Sink::sum]);
  const Stopwatch stopwatch;
  for (const Ref<Producer>& producer : producers) SendOrDie(producer[&Producer::start], operations / kProducers);
  Measurement measured{.count = finish.Await()};
  measured.seconds = stopwatch.Seconds();
  EndActors(system, pids);
  return measured;
}

}  // namespace understudy::bench
