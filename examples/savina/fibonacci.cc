// Fibonacci: each actor starts one for each of the two numbers before its own, and adds.
// Oracle: the number.
#include "understudy/examples/savina/programs.h"

namespace understudy::savina {
namespace {

class Adder final : public Actor {
 public:
  Mailbox<"part", int64_t> part{this};

  Adder(int64_t n, Channel<int64_t> sum) : n_(n), sum_to_(sum) {}

  StartResult Start() override {
    if (n_ <= 2) {
      sum_to_.Tell(1);
      return StartResult::Ignore();
    }
    context().Spawn<Adder>(n_ - 1, context().ChannelTo(part));
    context().Spawn<Adder>(n_ - 2, context().ChannelTo(part));
    return adding_;
  }

 private:
  void Add(int64_t number) {
    sum_ += number;
    if (++parts_ < 2) return;
    sum_to_.Tell(sum_);
    context().Stop();
  }

  const int64_t n_;
  const Channel<int64_t> sum_to_;
  int parts_ = 0;
  int64_t sum_ = 0;
  Behavior adding_{"adding", On(part, &Adder::Add)};
};

class Fibonacci final : public Program {
 public:
  Mailbox<"sum", int64_t> sum{this};

  explicit Fibonacci(int64_t n) : n_(n) {}

  StartResult Start() override {
    context().Spawn<Adder>(n_, context().ChannelTo(sum));
    return waiting_;
  }

 private:
  Behavior Check(int64_t number) {
    int64_t before = 0, expected = 1;
    for (int64_t i = 1; i < n_; ++i) before = std::exchange(expected, before + expected);
    return Done(Checked("is the Fibonacci number", number, expected));
  }

  const int64_t n_;
  Behavior waiting_{"waiting", On(sum, &Fibonacci::Check)};
};

}  // namespace

std::unique_ptr<Actor> MakeFibonacci(int64_t n) { return std::make_unique<Fibonacci>(n); }

}  // namespace understudy::savina
