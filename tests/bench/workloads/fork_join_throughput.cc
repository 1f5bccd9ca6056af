// An actor sends to each of 60 workers, round after round, and does not wait for them.
#include <vector>

#include "understudy/tests/bench/workload.h"

namespace understudy::bench {
namespace {

class Worker final : public Actor {
 public:
  Mailbox<"work", int64_t> work{this, {.capacity_messages = kLargeCapacity}};
  Mailbox<"expect", Call<int64_t, bool>> expect{this};

  explicit Worker(Channel<int64_t> join) : join_(join) {}

  StartResult Start() override { return working_; }

 private:
  bool Expect(int64_t messages) {
    left_ = messages;
    return true;
  }
  void Work(int64_t amount) {
    sum_ += amount;
    if (--left_ == 0) SendOrDie(join_, sum_);
  }

  const Channel<int64_t> join_;
  int64_t left_ = 0;
  int64_t sum_ = 0;
  Behavior working_{"working", On(work, &Worker::Work), On(expect, &Worker::Expect)};
};

class Director final : public Actor {
 public:
  Mailbox<"meet", std::vector<Channel<int64_t>>> meet{this};
  Mailbox<"start", int64_t> start{this};
  Mailbox<"done", int64_t> done{this};

  explicit Director(Finish* finish) : finish_(finish) {}

  StartResult Start() override { return directing_; }

 private:
  void Meet(std::vector<Channel<int64_t>> workers) { workers_ = std::move(workers); }
  void Fork(int64_t rounds) {
    for (int64_t round = 0; round < rounds; ++round) {
      for (const Channel<int64_t>& worker : workers_) SendOrDie(worker, int64_t{1});
    }
  }
  void Join(int64_t handled) {
    sum_ += handled;
    if (++workers_done_ == kForkJoinWorkers) finish_->Report(sum_);
  }

  Finish* const finish_;
  std::vector<Channel<int64_t>> workers_;
  int workers_done_ = 0;
  int64_t sum_ = 0;
  Behavior directing_{"directing", On(meet, &Director::Meet), On(start, &Director::Fork), On(done, &Director::Join)};
};

}  // namespace

Measurement RunForkJoinThroughput(ActorSystem& system, int64_t operations) {
  Finish finish(system);
  const Ref<Director> director = system.Spawn<Director>(&finish);
  std::vector<Pid> pids{director.pid()};
  std::vector<Channel<int64_t>> workers;
  const int64_t rounds = operations / kForkJoinWorkers;
  for (int i = 0; i < kForkJoinWorkers; ++i) {
    const Ref<Worker> worker = system.Spawn<Worker>(director[&Director::done]);
    pids.push_back(worker.pid());
    workers.push_back(worker[&Worker::work]);
    (void)AskOrDie(system, worker[&Worker::expect], rounds);
  }
  SendOrDie(director[&Director::meet], std::move(workers));
  const Stopwatch stopwatch;
  SendOrDie(director[&Director::start], rounds);
  Measurement measured{.count = finish.Await()};
  measured.seconds = stopwatch.Seconds();
  EndActors(system, pids);
  return measured;
}

}  // namespace understudy::bench
