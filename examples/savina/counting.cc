// Counting: a producer sends increments as fast as it can, then asks for their sum. The
// counter's mailbox holds 1,000 messages, so the producer waits for room in it. Its ask
// arrives behind the increments and is answered after them.
// Oracle: the sum.
#include "understudy/examples/savina/programs.h"

namespace understudy::savina {
namespace {

struct GetTotal {};

class Counter final : public Actor {
 public:
  Mailbox<"add", int64_t> add{this};
  Mailbox<"total", Call<GetTotal, int64_t>> total{this};

  StartResult Start() override { return counting_; }

 private:
  void Add(int64_t increment) { total_ += increment; }
  int64_t Total(const GetTotal& /*request*/) { return total_; }

  int64_t total_ = 0;
  Behavior counting_{"counting", On(add, &Counter::Add), On(total, &Counter::Total)};
};

class Producer final : public Program {
 public:
  explicit Producer(int64_t messages) : messages_(messages) {}

  StartResult Start() override { return Produce(); }

 private:
  Task<StartResult> Produce() {
    const Ref<Counter> counter = context().Spawn<Counter>();
    for (int64_t i = 0; i < messages_; ++i) {
      auto sending = counter[&Counter::add].SendWhenRoom(1, kPatience);
      absl::Status sent = co_await sending;
      if (!sent.ok()) co_return sent;
    }
    auto asked = counter[&Counter::total].Ask(GetTotal(), kPatience);
    absl::StatusOr<int64_t> total = co_await asked;
    if (!total.ok()) co_return total.status();
    co_return Done(Checked("messages counted", *total, messages_));
  }

  const int64_t messages_;
};

}  // namespace

std::unique_ptr<Actor> MakeCounting(int64_t messages) { return std::make_unique<Producer>(messages); }

}  // namespace understudy::savina
