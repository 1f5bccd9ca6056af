// A tree of actors in which each inner actor has ten children. Each leaf sends its number to its parent; each inner
// actor sends the sum of its children's numbers to its parent, and ends.
#include "understudy/tests/bench/workload.h"

namespace understudy::bench {
namespace {

class Node final : public Actor {
 public:
  Mailbox<"sum", int64_t> sum{this};

  // The leaves below are those from `first` on.
  Node(Channel<int64_t> above, int64_t first, int64_t leaves) : above_(above), first_(first), leaves_(leaves) {}

  StartResult Start() override {
    if (leaves_ == 1) {
      SendOrDie(above_, first_);
      return StartResult::Ignore();
    }
    const Channel<int64_t> own = context().ChannelTo(sum);
    for (int64_t i = 0; i < kSkynetChildren; ++i) {
      const int64_t begin = leaves_ * i / kSkynetChildren;
      const int64_t end = leaves_ * (i + 1) / kSkynetChildren;
      if (begin == end) continue;  // fewer leaves than children
      (void)context().Spawn<Node>(SpawnOptions{.link = SpawnLink::kUnlinked}, own, first_ + begin, end - begin);
      ++children_left_;
    }
    return adding_;
  }

 private:
  void Add(int64_t below) {
    sum_ += below;
    if (--children_left_ > 0) return;
    SendOrDie(above_, sum_);
    context().Stop();
  }

  const Channel<int64_t> above_;
  const int64_t first_;
  const int64_t leaves_;
  int64_t children_left_ = 0;
  int64_t sum_ = 0;
  Behavior adding_{"adding", On(sum, &Node::Add)};
};

class Root final : public Actor {
 public:
  Mailbox<"start", int64_t> start{this};
  Mailbox<"sum", int64_t> sum{this};

  explicit Root(Finish* finish) : finish_(finish) {}

  StartResult Start() override { return waiting_; }

 private:
  void Begin(int64_t leaves) {
    (void)context().Spawn<Node>(SpawnOptions{.link = SpawnLink::kUnlinked}, context().ChannelTo(sum), 0, leaves);
  }
  void Report(int64_t total) { finish_->Report(total); }

  Finish* const finish_;
  Behavior waiting_{"waiting", On(start, &Root::Begin), On(sum, &Root::Report)};
};

}  // namespace

Measurement RunSkynet(ActorSystem& system, int64_t operations) {
  Finish finish(system);
  const Ref<Root> root = system.Spawn<Root>(&finish);
  const Stopwatch stopwatch;
  SendOrDie(root[&Root::start], operations);
  const int64_t sum = finish.Await();
  Measurement measured{.count = operations};
  measured.seconds = stopwatch.Seconds();
  UNDERSTUDY_CHECK(sum == operations * (operations - 1) / 2, "the leaves' sum is ", sum);
  AwaitActorsLeft(system, 1);
  EndActors(system, {root.pid()});
  return measured;
}

}  // namespace understudy::bench
