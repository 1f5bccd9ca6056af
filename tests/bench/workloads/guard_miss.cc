// A producer sends to a mailbox whose guard does not hold, and then the message that lets the guard hold; the receiver
// then handles all of them.
#include "understudy/tests/bench/workload.h"

namespace understudy::bench {
namespace {

class Gate final : public Actor {
 public:
  Mailbox<"add", int64_t> add{this, {.capacity_messages = kLargeCapacity}};
  Mailbox<"open", int64_t> open{this};
  Mailbox<"handled", Call<int, int64_t>> handled{this};

  explicit Gate(Finish* finish) : finish_(finish) {}

  StartResult Start() override { return guarded_; }

 private:
  bool IsOpen() const { return is_open_; }
  void Open(int64_t expected) {
    UNDERSTUDY_CHECK(handled_ == 0, handled_, " messages passed the guard");
    is_open_ = true;
    expected_ = expected;
  }
  void Add(int64_t amount) {
    handled_ += amount;
    if (handled_ == expected_) finish_->Report(handled_);
  }

  int64_t Handled(int) { return handled_; }

  Finish* const finish_;
  bool is_open_ = false;
  int64_t expected_ = 0;
  int64_t handled_ = 0;
  Behavior guarded_{"guarded", On(add, &Gate::Add).When(&Gate::IsOpen), On(open, &Gate::Open),
                    On(handled, &Gate::Handled)};
};

class Producer final : public Actor {
 public:
  Mailbox<"start", int64_t> start{this};

  explicit Producer(Ref<Gate> gate) : gate_(gate) {}

  StartResult Start() override { return producing_; }

 private:
  void Produce(int64_t messages) {
    const Channel<int64_t> add = gate_[&Gate::add];
    for (int64_t i = 0; i < messages; ++i) SendOrDie(add, int64_t{1});
    SendOrDie(gate_[&Gate::open], messages);
  }

  const Ref<Gate> gate_;
  Behavior producing_{"producing", On(start, &Producer::Produce)};
};

}  // namespace

Measurement RunGuardMiss(ActorSystem& system, int64_t operations) {
  Finish finish(system);
  const Ref<Gate> gate = system.Spawn<Gate>(&finish);
  const Ref<Producer> producer = system.Spawn<Producer>(gate);
  AwaitStarted(system, gate[&Gate::handled]);
  const Stopwatch stopwatch;
  SendOrDie(producer[&Producer::start], operations);
  Measurement measured{.count = finish.Await()};
  measured.seconds = stopwatch.Seconds();
  EndActors(system, {gate.pid(), producer.pid()});
  return measured;
}

}  // namespace understudy::bench
