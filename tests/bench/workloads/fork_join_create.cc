// An actor spawns many children, each of which does one thing and ends.
#include "understudy/tests/bench/workload.h"

namespace understudy::bench {
namespace {

class Child final : public Actor {
 public:
  Mailbox<"work", int64_t> work{this};

  explicit Child(Channel<int64_t> join) : join_(join) {}

  StartResult Start() override { return working_; }

 private:
  void Work(int64_t amount) {
    SendOrDie(join_, amount);
    context().Stop();
  }

  const Channel<int64_t> join_;
  Behavior working_{"working", On(work, &Child::Work)};
};

class Parent final : public Actor {
 public:
  Mailbox<"start", int64_t> start{this};
  Mailbox<"done", int64_t> done{this, {.capacity_messages = kLargeCapacity}};

  explicit Parent(Finish* finish) : finish_(finish) {}

  StartResult Start() override { return joining_; }

 private:
  void Fork(int64_t children) {
    children_left_ = children;
    const Channel<int64_t> join = context().ChannelTo(done);
    for (int64_t i = 0; i < children; ++i) {
      const Ref<Child> child = context().Spawn<Child>(SpawnOptions{.link = SpawnLink::kUnlinked}, join);
      SendOrDie(child[&Child::work], int64_t{1});
    }
  }
  void Join(int64_t amount) {
    sum_ += amount;
    if (--children_left_ == 0) finish_->Report(sum_);
  }

  Finish* const finish_;
  int64_t children_left_ = 0;
  int64_t sum_ = 0;
  Behavior joining_{"joining", On(start, &Parent::Fork), On(done, &Parent::Join)};
};

}  // namespace

Measurement RunForkJoinCreate(ActorSystem& system, int64_t operations) {
  Finish finish(system);
  const Ref<Parent> parent = system.Spawn<Parent>(&finish);
  const Stopwatch stopwatch;
  SendOrDie(parent[&Parent::start], operations);
  Measurement measured{.count = finish.Await()};
  measured.seconds = stopwatch.Seconds();
  AwaitActorsLeft(system, 1);
  EndActors(system, {parent.pid()});
  return measured;
}

}  // namespace understudy::bench
